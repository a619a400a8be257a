//! The floor: read, check and copy a record whose address is known. No engine that copies
//! records and checks them can be faster on the same data, so p50 / floor says what finding a
//! record costs.
//!
//! ```text
//! record: crc32 of key and value u32 LE | fingerprint u32 LE | key bytes | value bytes
//! ```
//!
//! A miss has no record. Its floor hashes the key, reads one cache line at a known address, and
//! finds that the fingerprint there, of the record that the key looks like, is another: less
//! cannot show an absence.

use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64;

use super::{Engine, FLOOR, MakeReader};
use crate::answers::Answers;
use crate::keys::KeySet;
use crate::plan::{Plan, Stage, Target};

const CRC_BYTES: usize = 4;
const HEAD_BYTES: usize = 8;

/// All records, in rising key order, in one buffer.
#[derive(Clone, Debug)]
pub(crate) struct Floor {
    bytes: Arc<Vec<u8>>,
    /// Addresses of all records, by rank.
    records: Arc<Vec<Address>>,
    /// Addresses in the order of the plan, so that reading them costs next to nothing.
    planned: Vec<Planned>,
    /// For each call the end of its addresses in `planned`.
    ends: Vec<usize>,
}

/// Where the answer to a key is, or is seen not to be.
#[derive(Clone, Copy, Debug)]
struct Planned {
    at: Address,
    is_there: bool,
}

/// Where a record lies, in a buffer or in a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Address {
    pub(super) start: usize,
    key_len: u32,
    value_len: u32,
}

impl Address {
    /// Bytes of the record.
    pub(super) fn len(self) -> usize {
        HEAD_BYTES + self.key_len as usize + self.value_len as usize
    }
}

/// Replaces `record` by the record of a rank; its address begins at 0.
pub(super) fn encode(set: &dyn KeySet, rank: usize, record: &mut Vec<u8>) -> Address {
    record.clear();
    record.resize(HEAD_BYTES, 0);
    set.key(rank, record);
    let key_len = record.len() - HEAD_BYTES;
    set.value(rank, record);
    let value_len = record.len() - HEAD_BYTES - key_len;
    let payload = &record[HEAD_BYTES..];
    let (crc, fingerprint) = (crc32fast::hash(payload), fingerprint(&payload[..key_len]));
    record[..CRC_BYTES].copy_from_slice(&crc.to_le_bytes());
    record[CRC_BYTES..HEAD_BYTES].copy_from_slice(&fingerprint.to_le_bytes());
    Address { start: 0, key_len: key_len as u32, value_len: value_len as u32 }
}

/// The key and the value of a record's bytes.
#[inline]
pub(super) fn checked(record: &[u8], at: Address) -> Result<(&[u8], &[u8]), String> {
    let (head, payload) = record.split_at(HEAD_BYTES);
    let (key, value) = payload.split_at(at.key_len as usize);
    if crc32fast::hash(payload).to_le_bytes() == head[..CRC_BYTES] {
        Ok((key, value))
    } else {
        Err(format!("the crc of {key:?} differs"))
    }
}

impl Floor {
    pub(crate) fn new(set: &dyn KeySet) -> Self {
        let (mut bytes, mut records, mut record) = (Vec::new(), Vec::new(), Vec::new());
        for rank in 0..set.len() {
            let address = Address { start: bytes.len(), ..encode(set, rank, &mut record) };
            records.push(address);
            bytes.extend_from_slice(&record);
        }
        let (bytes, records) = (Arc::new(bytes), Arc::new(records));
        Self { bytes, records, planned: Vec::new(), ends: Vec::new() }
    }

    /// The key and the value at an address, which comes from `new`.
    #[inline]
    fn checked(&self, at: Address) -> Result<(&[u8], &[u8]), String> {
        checked(&self.bytes[at.start..][..at.len()], at)
    }

    /// Whether the record at an address has the fingerprint of `key`.
    #[inline]
    fn may_be(&self, at: Address, key: &[u8]) -> bool {
        fingerprint(key).to_le_bytes() == self.bytes[at.start + CRC_BYTES..][..HEAD_BYTES - CRC_BYTES]
    }

    /// The value if the record at an address has this key.
    #[inline]
    fn value_of(&self, at: Address, asked: &[u8]) -> Result<Option<&[u8]>, String> {
        let (key, value) = self.checked(at)?;
        Ok((key == asked).then_some(value))
    }

    #[inline]
    fn planned(&self, call: usize) -> &[Planned] {
        let start = if call == 0 { 0 } else { self.ends[call - 1] };
        &self.planned[start..self.ends[call]]
    }
}

impl Engine for Floor {
    fn name(&self) -> &str {
        FLOOR
    }

    fn prepare(&mut self, plan: &Plan) {
        self.planned.clear();
        self.ends.clear();
        for call in 0..plan.len() {
            let records = &self.records;
            let planned = |target: &Target| Planned { at: records[target.rank], is_there: target.is_there };
            self.planned.extend(plan.targets(call).iter().map(planned));
            self.ends.push(self.planned.len());
        }
    }

    fn for_thread(&self) -> Result<MakeReader, String> {
        let floor = self.clone();
        Ok(Box::new(move || Ok(Box::new(floor))))
    }

    #[inline]
    fn call(&mut self, plan: &Plan, call: usize, answers: &mut Answers) -> Result<(), String> {
        let planned = self.planned(call);
        match plan.stage {
            Stage::Miss | Stage::Point | Stage::Multiget => {
                for (&Planned { at, is_there }, asked) in planned.iter().zip(plan.keys(call)) {
                    if !is_there && !self.may_be(at, asked) {
                        answers.push_absent();
                        continue;
                    }
                    match self.value_of(at, asked)? {
                        Some(value) => answers.push_value(value),
                        None => answers.push_absent(),
                    }
                }
            }
            Stage::Latest | Stage::Scan => {
                for Planned { at, .. } in planned {
                    let (key, value) = self.checked(*at)?;
                    answers.push_pair(key, value);
                }
            }
        }
        Ok(())
    }
}

#[inline]
fn fingerprint(key: &[u8]) -> u32 {
    xxh3_64(key) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::W1;

    fn answers_of(floor: &mut Floor, plan: &Plan, call: usize) -> Result<Answers, String> {
        let mut answers = Answers::default();
        floor.call(plan, call, &mut answers)?;
        Ok(answers)
    }

    #[test]
    fn the_floor_gives_the_right_answers() {
        let set = W1::new(250, 1);
        let mut floor = Floor::new(&set);
        for stage in Stage::ALL {
            let plan = Plan::new(&set, stage, 40, 1);
            floor.prepare(&plan);
            for call in 0..plan.len() {
                let mut right = Answers::default();
                plan.right_answers(&set, call, &mut right);
                assert_eq!(answers_of(&mut floor, &plan, call).unwrap(), right, "{stage:?}");
            }
        }
    }

    #[test]
    fn the_floor_checks_what_it_reads() {
        let set = W1::new(250, 1);
        let mut floor = Floor::new(&set);
        let plan = Plan::new(&set, Stage::Point, 1, 1);
        floor.prepare(&plan);
        let last_of_value = floor.planned(0)[0].at.start + HEAD_BYTES + 38 + 255;
        Arc::make_mut(&mut floor.bytes)[last_of_value] ^= 1;
        assert!(answers_of(&mut floor, &plan, 0).is_err());
    }

    #[test]
    fn equal_fingerprints_are_told_apart_by_the_key() {
        let set = W1::new(250, 1);
        let mut floor = Floor::new(&set);
        let plan = Plan::new(&set, Stage::Miss, 1, 1);
        floor.prepare(&plan);
        let at = floor.planned(0)[0].at.start + CRC_BYTES;
        Arc::make_mut(&mut floor.bytes)[at..at + 4]
            .copy_from_slice(&fingerprint(&plan.keys(0)[0]).to_le_bytes());
        let mut absent = Answers::default();
        absent.push_absent();
        assert_eq!(answers_of(&mut floor, &plan, 0), Ok(absent));
    }
}
