//! What was written, and what must be read.

use std::collections::BTreeMap;

use crate::db::Db;
use crate::error::Result;
use crate::keyspace::Keyspace;
use crate::snapshot::Snapshot;
use crate::value::Value;

/// Rounds of writes; a snapshot is taken after each.
const ROUNDS: u32 = 6;
const KEYS: u32 = 500;
/// Keys that are written many times in each round.
const HOT_KEYS: u32 = 6;
const HOT_WRITES: u32 = 12;

/// A value, or that there is none.
type Answer = Option<Vec<u8>>;

/// Every key that was ever written, with what it was after each round, and some that never were.
#[derive(Default)]
pub(super) struct Model {
    round: u32,
    /// Of each key, the rounds in which it changed, and what to.
    keys: BTreeMap<Vec<u8>, Vec<(u32, Answer)>>,
}

impl Model {
    /// Fills a store: the snapshot after each round.
    pub(super) fn fill(&mut self, db: &Db) -> std::result::Result<Vec<Snapshot>, String> {
        self.write_all(db).map_err(|error| format!("a write failed: {error}"))
    }

    fn write_all(&mut self, db: &Db) -> Result<Vec<Snapshot>> {
        let space = db.default_keyspace();
        let mut snapshots = Vec::new();
        for round in 0..ROUNDS {
            self.round = round;
            self.write_round(&space)?;
            if round % 3 == 1 {
                self.ingest(&space)?;
            }
            snapshots.push(db.snapshot());
            db.flush()?;
            if round == 2 {
                space.compact()?;
            }
        }
        Ok(snapshots)
    }

    fn write_round(&mut self, space: &Keyspace) -> Result<()> {
        let round = self.round;
        for no in (0..KEYS).filter(|no| round == 0 || (no + round).is_multiple_of(5)) {
            self.write(space, numbered(no), value(no, round))?;
        }
        for write in 0..HOT_WRITES {
            for no in 0..HOT_KEYS {
                let value = value(no, round * HOT_WRITES + write);
                self.write(space, format!("hot-{no}").into_bytes(), value)?;
            }
        }
        for len in 0..30 {
            self.write(space, vec![b'k'; len], value(len as u32, round))?;
        }
        if round.is_multiple_of(2) {
            self.write(space, vec![b'L'; 65_536], value(round, 1))?;
            self.write(space, b"jumbo".to_vec(), Some(vec![round as u8; 70_000]))?;
        }
        Ok(())
    }

    /// Tables that were never in a memtable, whose entries all have one sequence.
    fn ingest(&mut self, space: &Keyspace) -> Result<()> {
        let keys = (0..KEYS).step_by(4).map(numbered).chain((0..50).map(|no| vec![b'i', no]));
        let pairs: BTreeMap<_, _> = (0..).zip(keys).map(|(no, key)| (key, [no as u8; 90].to_vec())).collect();
        space.ingest(&pairs)?;
        for (key, value) in pairs {
            self.keys.entry(key).or_default().push((self.round, Some(value)));
        }
        Ok(())
    }

    fn write(&mut self, space: &Keyspace, key: Vec<u8>, value: Answer) -> Result<()> {
        match &value {
            Some(value) => space.put(&key, value)?,
            None => space.delete(&key)?,
        }
        self.keys.entry(key).or_default().push((self.round, value));
        Ok(())
    }

    /// Compares every answer with what was written.
    pub(super) fn check(&self, db: &Db, snapshots: &[Snapshot]) -> std::result::Result<(), String> {
        let space = db.default_keyspace();
        let keys = self.asked();
        let expected = |round| keys.iter().map(move |key| (key, self.at(key, round)));
        let now = Reads::Now(&space).compare(expected(ROUNDS));
        now.map_err(|what| format!("now: {what}"))?;
        for (round, snapshot) in (0..).zip(snapshots) {
            let then = Reads::Then(snapshot, &space).compare(expected(round));
            then.map_err(|what| format!("at the snapshot of round {round}: {what}"))?;
        }
        Ok(())
    }

    /// All keys, and absent ones next to them.
    fn asked(&self) -> Vec<Vec<u8>> {
        let near = self.keys.keys().flat_map(|key| {
            let shorter = key.split_last().map(|(_, start)| start.to_vec());
            shorter.into_iter().chain([[key.as_slice(), &[0]].concat()])
        });
        let mut asked: Vec<_> = self.keys.keys().cloned().chain(near).chain([vec![0xFF; 40]]).collect();
        asked.sort_unstable();
        asked.dedup();
        asked
    }

    /// What a key was after a round.
    fn at(&self, key: &[u8], round: u32) -> Option<&[u8]> {
        let changes = self.keys.get(key)?;
        let last = changes.iter().rev().find(|(changed, _)| *changed <= round)?;
        last.1.as_deref()
    }
}

/// The point reads of a store or of a snapshot.
#[derive(Clone, Copy)]
enum Reads<'a> {
    Now(&'a Keyspace),
    Then(&'a Snapshot, &'a Keyspace),
}

impl Reads<'_> {
    fn get(self, key: &[u8]) -> Result<Option<Value>> {
        match self {
            Self::Now(space) => space.get(key),
            Self::Then(snapshot, space) => snapshot.get(space, key),
        }
    }

    fn contains(self, key: &[u8]) -> Result<bool> {
        match self {
            Self::Now(space) => space.contains(key),
            Self::Then(snapshot, space) => snapshot.contains(space, key),
        }
    }

    fn multi_get(self, keys: &[&[u8]]) -> Result<Vec<Option<Value>>> {
        match self {
            Self::Now(space) => space.multi_get(keys),
            Self::Then(snapshot, space) => snapshot.multi_get(space, keys),
        }
    }

    fn compare<'k>(
        self,
        expected: impl Iterator<Item = (&'k Vec<u8>, Option<&'k [u8]>)>,
    ) -> std::result::Result<(), String> {
        let (keys, expected): (Vec<&[u8]>, Vec<_>) = expected.map(|(key, value)| (&**key, value)).unzip();
        let failed = |error| format!("a read failed: {error}");
        let many = self.multi_get(&keys).map_err(failed)?;
        for ((key, expected), many) in keys.into_iter().zip(expected).zip(many) {
            let (get, contains) = (self.get(key).map_err(failed)?, self.contains(key).map_err(failed)?);
            let found = (get.as_deref(), many.as_deref(), contains);
            if found != (expected, expected, expected.is_some()) {
                let shown = String::from_utf8_lossy(&key[..key.len().min(40)]);
                let [get, many, expected] = [get.as_deref(), many.as_deref(), expected].map(show);
                return Err(format!(
                    "key {shown:?}: get {get}, multi_get {many}, contains {contains}; expected {expected}"
                ));
            }
        }
        Ok(())
    }
}

fn show(value: Option<&[u8]>) -> String {
    value.map_or("none".to_owned(), |value| {
        format!("{} bytes {:?}", value.len(), &value[..value.len().min(8)])
    })
}

fn numbered(no: u32) -> Vec<u8> {
    format!("key-{:08x}", no.wrapping_mul(0x9E37_79B9)).into_bytes()
}

/// Now and then a delete.
fn value(no: u32, round: u32) -> Answer {
    let mixed = (no + 1).wrapping_mul(0x85EB_CA6B) ^ (round + 1).wrapping_mul(0xC2B2_AE35);
    let len = 4 + mixed as usize % 250;
    (!mixed.is_multiple_of(7)).then(|| mixed.to_le_bytes().into_iter().cycle().take(len).collect())
}
