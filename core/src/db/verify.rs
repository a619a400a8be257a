//! Checking every byte of a store.

use kiban_formats::KeyspaceId;
use kiban_formats::footer::FOOTER_BYTES;
use serde::Serialize;

use super::Db;
use crate::error::{Error, ErrorKind, Result};
use crate::files;
use crate::log::Replay;
use crate::manifest::ManifestStore;
use crate::store::Store;
use crate::sync::lock;
use crate::table::TableHandle;

/// What [`Db::verify`] found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct VerifyReport {
    /// Files that were read.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// What is wrong, file by file.
    pub problems: Vec<VerifyProblem>,
}

/// Something that is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct VerifyProblem {
    /// The file's name in the store's directory.
    pub file: String,
    /// The part of the file; empty if that is not known.
    pub section: String,
    /// Byte offset in the file; 0 if that is not known.
    pub offset: u64,
    /// What is wrong.
    pub what: String,
}

impl VerifyReport {
    /// Nothing is wrong.
    pub fn is_clean(&self) -> bool {
        self.problems.is_empty()
    }

    fn add(&mut self, file: &str, section: &str, offset: u64, what: String) {
        let (file, section) = (file.to_owned(), section.to_owned());
        self.problems.push(VerifyProblem { file, section, offset, what });
    }

    fn count(&mut self, len: u64) {
        self.files += 1;
        self.bytes += len;
    }

    /// Takes note of damage, by default of `file`; other errors end the check.
    fn check<T>(&mut self, file: &str, result: Result<T>) -> Result<Option<T>> {
        match result {
            Ok(checked) => Ok(Some(checked)),
            Err(error) if matches!(error.kind(), ErrorKind::Corruption | ErrorKind::Unsupported) => {
                let (section, offset) = error.place().unwrap_or_default();
                self.add(error.file().unwrap_or(file), section, offset, error.to_string());
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

impl Db {
    /// Reads every file of the store and checks every checksum and every invariant; of an index that
    /// it says of each key what a scan of its table says. Writers wait while the log is read. Indexes
    /// that a power cut left unfinished are derived data, and built anew first.
    ///
    /// # Errors
    /// Only what keeps a file from being read; damage is in the report.
    pub fn verify(&self) -> Result<VerifyReport> {
        let store = self.store();
        store.check_open()?;
        let mut report = VerifyReport::default();
        store.verify_manifest(&mut report)?;
        store.verify_log(&mut report)?;
        store.wait_for_indexes()?;
        let sidecars = store.sidecars()?;
        for space in store.spaces() {
            for table in space.view_owned().tables() {
                store.verify_table(space.id, table, &mut report)?;
                let formats = sidecars.get(&table.meta.no).map_or(&[][..], Vec::as_slice);
                store.verify_indexes(table, formats, &mut report)?;
            }
        }
        Ok(report)
    }
}

impl Store {
    fn verify_manifest(&self, report: &mut VerifyReport) -> Result<()> {
        let manifest = lock(&self.manifest);
        let name = files::manifest(manifest.current());
        let read = ManifestStore::open(self.storage.clone(), &self.dir);
        for file in [files::CURRENT, &name] {
            report.count(self.file_len(file)?);
        }
        if let Some(read) = report.check(&name, read)?
            && read.state() != manifest.state()
        {
            report.add(&name, "manifest", 0, "it does not say what the open store knows".to_owned());
        }
        Ok(())
    }

    fn verify_log(&self, report: &mut VerifyReport) -> Result<()> {
        // Held on to, so that no flush lets a log go that these say is needed.
        let manifest = lock(&self.manifest);
        let state = manifest.state();
        let commit = lock(&self.commit);
        let logs = commit.journal.files();
        let replay = Replay {
            storage: &*self.storage,
            dir: &self.dir,
            store_id: self.id,
            files: &logs,
            live: state.logs,
            end: state.log_end,
            last_seq: state.last_seq,
            mode: self.settings.recovery,
        };
        let read = replay.run(|_, _| Ok(()));
        for no in &logs {
            report.count(self.file_len(&files::log(*no))?);
        }
        let newest = logs.last().map(|no| files::log(*no)).unwrap_or_default();
        let read = report.check(&newest, read)?;
        if read.is_some_and(|read| read.last_seq != commit.last_seq() && commit.check_halted().is_ok()) {
            report.add(&newest, "log", 0, "it does not hold all operations".to_owned());
        }
        Ok(())
    }

    fn verify_table(
        &self,
        keyspace: KeyspaceId,
        table: &TableHandle,
        report: &mut VerifyReport,
    ) -> Result<()> {
        let name = files::table(table.meta.no);
        let problems = table.get(&self.tables).and_then(|table| Ok((table.keyspace(), table.verify()?)));
        report.count(table.meta.bytes);
        let problems = report.check(&name, problems)?.map(|(owner, problems)| {
            if owner != keyspace {
                let what = format!("it is of keyspace {owner}, the manifest has it in {keyspace}");
                report.add(&name, "footer", table.meta.bytes - FOOTER_BYTES as u64, what);
            }
            problems
        });
        for problem in problems.unwrap_or_default() {
            report.add(&name, &problem.section, problem.offset, problem.what);
        }
        Ok(())
    }

    /// The indexes beside a table. Where the table itself is damaged that is said already.
    fn verify_indexes(
        &self,
        table: &TableHandle,
        formats: &[String],
        report: &mut VerifyReport,
    ) -> Result<()> {
        let checked = match self.verify_sidecars(table, formats) {
            Err(error) if error.kind() == ErrorKind::Corruption => return Ok(()),
            checked => checked?,
        };
        for sidecar in checked {
            report.count(sidecar.bytes);
            for problem in sidecar.problems {
                report.check::<()>("", Err(problem))?;
            }
        }
        Ok(())
    }

    fn file_len(&self, name: &str) -> Result<u64> {
        let path = self.dir.join(name);
        let len = self.storage.open(&path).and_then(|file| file.len());
        len.map_err(|source| Error::io("open", &path, source))
    }
}
