//! Keys of the shapes that occur, each from its number.

use crate::contract::key_hash;

/// The seed of all hashes of the kit.
pub(super) const SEED: u64 = 0x0C04_F04A_9CE5_EED5;

/// A number that looks random, the same for the same arguments.
pub(super) fn mix(stream: u64, no: u64) -> u64 {
    key_hash(SEED ^ stream, &no.to_le_bytes())
}

/// What keys look like.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shape {
    /// 8 random bytes.
    Uniform8,
    /// 20 random bytes.
    Uniform20,
    /// `user:000000000042:profile`.
    Decimal,
    /// Addresses of web pages, most of them of a few hosts.
    Url,
    /// Paths of files, a few folders deep.
    Path,
    /// 20 bytes of a contract, zeros, a slot; contract c owns N/(8(c+1)) slots, which are
    /// consecutive or hashed.
    ContractSlot,
}

impl Shape {
    pub(super) const ALL: [Self; 6] =
        [Self::Uniform8, Self::Uniform20, Self::Decimal, Self::Url, Self::Path, Self::ContractSlot];

    /// So many keys, in order, no two alike.
    pub(super) fn keys(self, count: u64) -> Vec<Vec<u8>> {
        let mut keys: Vec<Vec<u8>> = match self {
            Self::ContractSlot => contract_slots(count),
            _ => (0..count).map(|no| self.key(no)).collect(),
        };
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    fn key(self, no: u64) -> Vec<u8> {
        let pick = |stream, end| mix(stream, no) % end;
        match self {
            Self::Uniform8 => mix(1, no).to_be_bytes().to_vec(),
            Self::Uniform20 => {
                let words = [mix(1, no), mix(2, no), mix(3, no)].map(u64::to_be_bytes);
                words.as_flattened()[..20].to_vec()
            }
            Self::Decimal => format!("user:{:012}:profile", no * 7).into_bytes(),
            Self::Url => {
                // Host h comes about as often as 1/h.
                let host = (1 << pick(1, 12)) + pick(2, 5);
                format!("https://www.shop{host}.example.com/{}/item?id={no}&lang=en", pick(3, 30))
                    .into_bytes()
            }
            Self::Path => {
                let folders = (0..=pick(1, 5)).map(|depth| format!("/folder-{}", mix(depth + 2, no) % 8));
                format!("/home{}/file-{no}.txt", folders.collect::<String>()).into_bytes()
            }
            Self::ContractSlot => contract_slot(no, no),
        }
    }
}

fn contract_slots(count: u64) -> Vec<Vec<u8>> {
    let slots_of = |contract: u64| (count / (8 * (contract + 1))).max(1);
    let all =
        (0..).flat_map(|contract| (0..slots_of(contract)).map(move |slot| contract_slot(contract, slot)));
    all.take(count as usize).collect()
}

fn contract_slot(contract: u64, slot: u64) -> Vec<u8> {
    let mut key = Shape::Uniform20.key(contract);
    key.resize(20 + 24, 0);
    let slot = if contract.is_multiple_of(2) { slot } else { mix(9, slot) };
    key.extend_from_slice(&slot.to_be_bytes());
    key
}

/// Keys next to this one: longer, shorter, before, behind.
pub(super) fn neighbours(key: &[u8]) -> Vec<Vec<u8>> {
    let mut near = vec![[key, &[0]].concat()];
    if let Some((last, start)) = key.split_last() {
        near.push(start.to_vec());
        near.extend([last.wrapping_add(1), last.wrapping_sub(1)].map(|last| [start, &[last]].concat()));
    }
    near
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_every_shape_are_as_many_as_asked_for() {
        for shape in Shape::ALL {
            for count in [0, 1, 300, 5_000] {
                assert_eq!(shape.keys(count).len() as u64, count, "{shape:?}");
            }
        }
    }
}
