//! The floor: read, check and copy a record whose address is known. No engine that copies
//! records and checks them can be faster on the same data, so p50 / floor says what finding a
//! record costs.
//!
//! ```text
//! record: crc32 of key and value u32 LE | key bytes | value bytes
//! ```
//!
//! A miss reads and compares the key that the absent one looks like: that is the least look at
//! the data that shows an absence.

use super::{Engine, FLOOR};
use crate::answers::Answers;
use crate::keys::KeySet;
use crate::plan::{Plan, Stage};

const CRC_BYTES: usize = 4;

/// All records, in rising key order, in one buffer.
#[derive(Debug)]
pub(crate) struct Floor {
    bytes: Vec<u8>,
    /// Addresses of all records, by rank.
    records: Vec<Address>,
    /// Addresses in the order of the plan, so that reading them costs next to nothing.
    planned: Vec<Address>,
    /// For each call the end of its addresses in `planned`.
    ends: Vec<usize>,
}

#[derive(Clone, Copy, Debug)]
struct Address {
    start: usize,
    key_len: u32,
    value_len: u32,
}

impl Floor {
    pub(crate) fn new(set: &dyn KeySet) -> Self {
        let mut floor =
            Self { bytes: Vec::new(), records: Vec::new(), planned: Vec::new(), ends: Vec::new() };
        let mut payload = Vec::new();
        for rank in 0..set.len() {
            payload.clear();
            set.key(rank, &mut payload);
            let key_len = payload.len() as u32;
            set.value(rank, &mut payload);
            let value_len = payload.len() as u32 - key_len;
            floor.records.push(Address { start: floor.bytes.len(), key_len, value_len });
            floor.bytes.extend_from_slice(&crc32fast::hash(&payload).to_le_bytes());
            floor.bytes.extend_from_slice(&payload);
        }
        floor
    }

    /// The key and the value at an address; the address comes from `new`.
    #[inline]
    fn record(&self, at: Address) -> (&[u8], &[u8], u32) {
        let (crc, payload) = self.bytes[at.start..].split_at(CRC_BYTES);
        let (key, rest) = payload.split_at(at.key_len as usize);
        (key, &rest[..at.value_len as usize], u32::from_le_bytes([crc[0], crc[1], crc[2], crc[3]]))
    }

    #[inline]
    fn checked(&self, at: Address) -> Result<(&[u8], &[u8]), String> {
        let (key, value, crc) = self.record(at);
        let payload = &self.bytes[at.start + CRC_BYTES..][..key.len() + value.len()];
        if crc32fast::hash(payload) == crc {
            Ok((key, value))
        } else {
            Err(format!("crc of {key:?} differs"))
        }
    }

    #[inline]
    fn planned(&self, call: usize) -> &[Address] {
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
            self.planned.extend(plan.ranks(call).iter().map(|rank| self.records[*rank]));
            self.ends.push(self.planned.len());
        }
    }

    #[inline]
    fn call(&mut self, plan: &Plan, call: usize, answers: &mut Answers) -> Result<(), String> {
        let addresses = self.planned(call);
        match plan.stage {
            Stage::Miss => {
                let (key, value, _) = self.record(addresses[0]);
                if *key == *plan.keys(call)[0] { answers.push_value(value) } else { answers.push_absent() }
            }
            Stage::Point | Stage::Multiget => {
                for (address, asked) in addresses.iter().zip(plan.keys(call)) {
                    let (key, value) = self.checked(*address)?;
                    if *key == **asked { answers.push_value(value) } else { answers.push_absent() }
                }
            }
            Stage::Latest => {
                for address in addresses {
                    let (key, value) = self.checked(*address)?;
                    answers.push_pair(key, value);
                }
            }
        }
        Ok(())
    }
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
        let last_of_value = floor.planned(0)[0].start + CRC_BYTES + 38 + 255;
        floor.bytes[last_of_value] ^= 1;
        assert!(answers_of(&mut floor, &plan, 0).is_err());
    }
}
