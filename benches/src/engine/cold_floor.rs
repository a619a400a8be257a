//! The floor of cold reads: one `pread` of a record whose address in a file is known, then what the
//! [floor](super::Floor) does. No record of up to a page lies in two pages.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::floor::{Address, checked, encode};
use super::{Engine, FLOOR, MakeReader, Opening};
use crate::answers::Answers;
use crate::keys::KeySet;
use crate::plan::Plan;

const PAGE_BYTES: usize = 4096;

/// All records in a file.
#[derive(Debug)]
pub(crate) struct ColdFloor {
    path: PathBuf,
    /// Addresses of all records, by rank.
    records: Arc<Vec<Address>>,
}

/// The file, open.
#[derive(Clone, Debug)]
struct Reader {
    file: Arc<File>,
    records: Arc<Vec<Address>>,
    record: Vec<u8>,
}

impl ColdFloor {
    /// Writes the records into a new directory.
    pub(crate) fn new(dir: &Path, set: &dyn KeySet) -> io::Result<Self> {
        std::fs::create_dir_all(dir)?;
        let path = dir.join("records");
        let mut file = BufWriter::new(File::create(&path)?);
        let (mut records, mut record, mut end) = (Vec::with_capacity(set.len()), Vec::new(), 0);
        for rank in 0..set.len() {
            let mut address = encode(set, rank, &mut record);
            let left = PAGE_BYTES - end % PAGE_BYTES;
            if record.len() > left {
                file.write_all(&vec![0; left])?;
                end += left;
            }
            address.start = end;
            records.push(address);
            file.write_all(&record)?;
            end += record.len();
        }
        file.flush()?;
        Ok(Self { path, records: Arc::new(records) })
    }

    /// Opens the file.
    pub(crate) fn open(&self, opening: Opening) -> io::Result<Box<dyn Engine>> {
        let file = File::open(&self.path)?;
        #[cfg(target_os = "linux")]
        if opening.warmth.is_advised() {
            rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::Random)?;
        }
        let (file, records) = (Arc::new(file), self.records.clone());
        Ok(Box::new(Reader { file, records, record: Vec::new() }))
    }
}

impl Engine for Reader {
    fn name(&self) -> &str {
        FLOOR
    }

    #[inline]
    fn call(&mut self, plan: &Plan, call: usize, answers: &mut Answers) -> Result<(), String> {
        for (target, asked) in plan.targets(call).iter().zip(plan.keys(call)) {
            let at = self.records[target.rank];
            self.record.resize(at.len(), 0);
            let read = self.file.read_exact_at(&mut self.record, at.start as u64);
            read.map_err(|error| error.to_string())?;
            match checked(&self.record, at)? {
                (key, value) if *key == **asked => answers.push_value(value),
                _ => answers.push_absent(),
            }
        }
        Ok(())
    }

    fn for_thread(&self) -> Result<MakeReader, String> {
        let reader = self.clone();
        Ok(Box::new(move || Ok(Box::new(reader))))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Warmth;
    use super::*;
    use crate::keys::W1;
    use crate::trial::check;

    #[test]
    fn records_are_read_back_and_lie_in_one_page_each() {
        let (dir, set) = (tempfile::tempdir().unwrap(), W1::new(500, 1));
        let floor = ColdFloor::new(&dir.path().join("floor"), &set).unwrap();
        let pages = |at: &Address| (at.start / PAGE_BYTES, (at.start + at.len() - 1) / PAGE_BYTES);
        assert!(floor.records.iter().map(pages).all(|(first, last)| first == last));
        let opening = Opening {
            cache_bytes: 0,
            is_mapped: false,
            durability: kiban::Durability::Buffered,
            warmth: Warmth::Cold { read_ahead: true },
        };
        let plan = Plan::different_hits(&set, 300, 1);
        let mut reader = floor.open(opening).unwrap();
        assert_eq!(check(&mut *reader, &plan, &set), Ok(300));
    }
}
