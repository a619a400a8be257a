//! What stands beside the numbers: how to read them, what is wrong, what they answer.

use super::figures::Answer;
use super::{Cell, Report, Status};

/// What is written, where something is.
const WRITES: &str = "write_buffered: puts that reach the operating system before they return; write_sync: puts \
that reach the device; both of different keys in random order into an empty store. mixed: nine gets, then on \
average one buffered put over a value, in a copy of the loaded store. Every trial has a store of its own, which \
is closed, opened again and compared in full.";
/// What upkeep is, where it is measured.
const UPKEEP: &str = "flush: all records, in one memtable with the log synced, become tables of level 0; compact: all \
records, in eight parts of level 0 that overlap, become one sorted run. Nothing else runs, and nothing holds it \
back. publish: until the call returns; idle: until the store is at rest with an index beside every table, which is \
checked, and so are answers. CPU: processor time of the process until then; written: bytes handed to the system. \
threads are background threads. Ratios are ours / theirs: median of paired trials with their least and greatest. \
The first accessor's ratio to itself is from A/A pairs. Verdicts are on idle, against the first accessor; none is \
given inside the noise floor (+-).";
/// What cold reads are, where they are measured.
const COLD: &str = "cold_all, cold_index_warm: every file is made durable and dropped from the page cache, which mincore \
proves, the store is opened and what that read is dropped too; in cold_index_warm the files of the index are read back; \
then come hits of different records in random order. Indexes of Kiban are mapped, not copied to the heap. An index \
that is part of the table, and the indexes of other stores, are cold in both. Random advice: the system is told not to \
read ahead, by madvise, MDB_NORDAHEAD or posix_fadvise, SQLite by reading instead of mapping. floor: one pread of the \
record at a known address. Device bytes are of the whole process.";
/// How other stores are used, where one is.
const CONTROLS: &str = "control:lmdb: one read transaction a call, one write transaction a put, buffered with \
MDB_NOSYNC; control:lmdb-reused-txn: one read transaction for all calls. control:fjall: cache as given; a buffered \
put is its insert, which hands its journal to the system by itself, a durable one is followed by persist(SyncData). \
control:sqlite: one table WITHOUT ROWID, statements prepared once, memory map and cache, a log with synchronous=NORMAL \
or FULL, one read transaction until the first put. control:redb: cache as given, one read transaction until the first \
put, a buffered put commits with Durability::None, which does not outlive the process. Each control has its own copy \
of the data; memory maps and caches of LMDB are its own.";

impl Report {
    /// Sentences below a table: how to read it, where it comes from, what it answers, what is wrong.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = self.about();
        notes.push(self.origin());
        notes.push(format!("Answers checked in full: {}.", self.checked()));
        notes.extend(self.answered());
        notes.extend(self.troubles());
        notes.extend(self.cells.iter().filter_map(Cell::trouble));
        notes.extend(self.provenance.warnings.iter().map(|warning| format!("warning: {warning}")));
        notes
    }

    /// The answers to figures, and how many are only a hint.
    fn answered(&self) -> Vec<String> {
        let (hints, answers): (Vec<Answer<'_>>, Vec<Answer<'_>>) =
            self.answers().into_iter().partition(|answer| answer.other_size().is_some());
        let mut told: Vec<String> = answers.iter().map(Answer::sentence).collect();
        if !hints.is_empty() {
            told.push(format!(
                "{} more figures are of another number of records; the page in HTML has these numbers as hints.",
                hints.len()
            ));
        }
        told
    }

    /// How to read the numbers.
    pub(super) fn about(&self) -> Vec<String> {
        let clock = &self.provenance.clock;
        let has = |is_so: fn(&Cell) -> bool| self.cells.iter().any(is_so);
        let upkeep = has(Cell::is_upkeep).then(|| UPKEEP.to_owned());
        if self.cells.iter().all(Cell::is_upkeep) && upkeep.is_some() {
            return upkeep.into_iter().collect();
        }
        let mut about = vec![
            "Ratios are ours / theirs: median of paired trials with their least and greatest. The first \
             accessor's ratio to itself is from A/A pairs. Verdicts are on p50, against the first accessor; \
             none is given inside the noise floor (+-)."
                .to_owned(),
            "Times of multiget are per key, of scan per 100 records. floor: read, check and copy the record, its address known; \
             of a miss: hash the key and compare one fingerprint."
                .to_owned(),
            format!(
                "Clock: {}, steps of {:.1} ns, adds {:.1} ns to each timed call (not taken off).",
                clock.name, clock.step_ns, clock.cost_ns
            ),
        ];
        if has(|cell| cell.stage.starts_with("write_") || cell.stage == "mixed") {
            about.push(WRITES.to_owned());
        }
        if has(|cell| cell.advice.is_some()) {
            about.push(COLD.to_owned());
        }
        if has(Cell::is_control) {
            about.push(CONTROLS.to_owned());
        }
        about.extend(upkeep);
        about
    }

    /// The machine and the program.
    fn origin(&self) -> String {
        let p = &self.provenance;
        let or_unknown = |text: &Option<String>| text.clone().unwrap_or("unknown".to_owned());
        format!(
            "CPU {}, {} cores; kernel {}; file system {}; allocator {}; seed {}; commit {}{}.",
            or_unknown(&p.cpu),
            p.cores.map_or("unknown".to_owned(), |cores| cores.to_string()),
            or_unknown(&p.kernel),
            or_unknown(&p.file_system),
            p.allocator,
            p.seed,
            or_unknown(&p.commit),
            if p.dirty == Some(true) { " with changes" } else { "" },
        )
    }

    /// Answers of all cells that were compared in full.
    pub(super) fn checked(&self) -> u64 {
        self.cells.iter().filter_map(|cell| cell.checked).fold(0, u64::saturating_add)
    }

    /// How many cells failed, and how many are partial; nothing if none.
    pub(super) fn troubles(&self) -> Vec<String> {
        let count = |status, word: &str| {
            let count = self.cells.iter().filter(|cell| cell.status == status).count();
            (count > 0).then(|| format!("{count} of {} cells {word}", self.cells.len()))
        };
        let failed = count(Status::Failed, "FAILED: their numbers must not be used");
        let partial = count(Status::Partial, "PARTIAL: they have fewer trials than asked for");
        failed.into_iter().chain(partial).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::report::{Report, Status, sample};

    fn rendered(report: &Report) -> [String; 4] {
        [report.table(), report.markdown(), report.csv(), report.html()]
    }

    #[test]
    fn failed_and_partial_cells_are_told_with_their_reason_in_every_form() {
        for (status, word) in [(Status::Failed, "failed"), (Status::Partial, "partial")] {
            let mut report = sample::report();
            for text in rendered(&report) {
                assert!(!text.to_lowercase().contains(&format!("1 of 2 cells {word}")));
            }
            report.cells[1].status = status;
            report.cells[1].error = Some("key k17: expected absent, got ghost".to_owned());
            for text in rendered(&report) {
                assert!(text.to_lowercase().contains(word), "{word}: {text}");
                assert!(text.contains("key k17: expected absent, got ghost"), "{text}");
            }
            for text in [report.table(), report.markdown(), report.html()] {
                assert!(text.contains(&format!("1 of 2 cells {}", word.to_uppercase())), "{text}");
            }
        }
    }

    #[test]
    fn a_failed_cell_shows_no_number_that_could_be_used() {
        let mut report = sample::report();
        report.cells[1].status = Status::Failed;
        for cell in &mut report.cells[1].trials {
            cell.p50_ns = Some(438.0);
        }
        for text in [report.table(), report.markdown(), report.html()] {
            assert!(!text.contains("438"), "{text}");
        }
    }

    #[test]
    fn answers_stand_below_a_table_and_hints_are_counted() {
        let mut report = sample::wide();
        let told = "figure: W1 misses p50: w1, 1,000,000 records, bulk, mmap, cache 64 MiB: p50 ratio to lmdb of ph4: \
                    0.113 [0.107 to 0.117], bar \u{2264} 0.3: met (published: fjall: 0.26-0.50 of LMDB)";
        assert!(report.table().contains(told), "{}", report.table());
        report.cells.iter_mut().for_each(|cell| cell.n = 1_000);
        let table = report.table();
        assert!(
            !table.contains("figure: ") && table.contains("14 more figures are of another number"),
            "{table}"
        );
    }

    #[test]
    fn a_cell_without_a_reason_is_told_too() {
        let mut report = sample::report();
        (report.cells[1].status, report.cells[1].error) = (Status::Failed, None);
        assert!(report.table().contains("point: floor: no reason is given"));
    }
}
