//! The shapes of W5: how their keys are drawn.
//!
//! | shape | a key |
//! |---|---|
//! | `uniform` | 20 random bytes |
//! | `uniform8` | 8 random bytes |
//! | `decimal` | `user:%012d:profile`; numbers rise by 1 to 4 |
//! | `url` | host, section and words, each zipf-like, and a number |
//! | `path` | a file's path of two to six parts, the upper ones shared by many |
//! | `contract-slot` | 20 bytes of contract c, which owns n / (8 (c + 1)) of n keys; 24 zeros; slot as u64, from 0 |
//! | `contract-hashed` | the same with a hash in the place of the slot |

use crate::rng::{SplitMix, mix};

/// Parts of the seed: what is drawn for one thing is not drawn for another.
const KEY_PART: u64 = 0x006b_6579;
const CONTRACT_PART: u64 = 0x636f_6e74;
/// Contract c owns the n / (8 (c + 1))th part.
const CONTRACT_SHARE: usize = 8;
/// Numbers of `decimal` rise by up to this.
const DECIMAL_STEP: usize = 4;
/// First bytes of a number in `user:%012d:profile`, and digits.
const DECIMAL_HEAD: usize = 5;
const DECIMAL_DIGITS: usize = 12;

const WORDS: [&str; 24] = [
    "about", "account", "archive", "assets", "bin", "blog", "cache", "config", "data", "docs", "home",
    "images", "index", "lib", "local", "logs", "media", "news", "products", "reports", "share", "src",
    "static", "users",
];
const ENDINGS: [&str; 6] = ["html", "json", "jpg", "md", "rs", "txt"];

/// Appends the next key.
pub(super) type NextKey = Box<dyn FnMut(&mut Vec<u8>)>;

/// What keys look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyShape {
    Uniform,
    Uniform8,
    Decimal,
    Url,
    Path,
    ContractSlot,
    ContractHashed,
}

impl KeyShape {
    pub(crate) const ALL: [Self; 7] = [
        Self::Uniform,
        Self::Uniform8,
        Self::Decimal,
        Self::Url,
        Self::Path,
        Self::ContractSlot,
        Self::ContractHashed,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Uniform8 => "uniform8",
            Self::Decimal => "decimal",
            Self::Url => "url",
            Self::Path => "path",
            Self::ContractSlot => "contract-slot",
            Self::ContractHashed => "contract-hashed",
        }
    }

    /// Appends one key a call, of a set of `len`. Some may come twice.
    pub(super) fn keys(self, len: usize, seed: u64) -> NextKey {
        let mut draw = SplitMix::part(seed, KEY_PART ^ self as u64);
        match self {
            Self::Uniform => Box::new(move |key| random_bytes(&mut draw, 20, key)),
            Self::Uniform8 => Box::new(move |key| random_bytes(&mut draw, 8, key)),
            Self::Decimal => {
                let mut number = 0;
                Box::new(move |key| {
                    number += 1 + draw.below(DECIMAL_STEP);
                    key.extend_from_slice(format!("user:{number:012}:profile").as_bytes());
                })
            }
            Self::Url => Box::new(move |key| key.extend_from_slice(url(&mut draw, len).as_bytes())),
            Self::Path => Box::new(move |key| key.extend_from_slice(path(&mut draw, len).as_bytes())),
            Self::ContractSlot => contracts(len, seed, |slot| slot),
            Self::ContractHashed => contracts(len, seed, mix),
        }
    }

    /// Which byte of a key of `len` bytes another key is likely to differ in, and no more.
    pub(super) const fn varied_byte(self, len: usize) -> usize {
        match self {
            Self::Decimal => DECIMAL_HEAD + DECIMAL_DIGITS - 1,
            _ => len - 1,
        }
    }
}

fn random_bytes(draw: &mut SplitMix, count: usize, into: &mut Vec<u8>) {
    let end = into.len() + count;
    while into.len() < end {
        into.extend_from_slice(&draw.next().to_be_bytes());
    }
    into.truncate(end);
}

/// A rank below `count`, small ones more often: the probability falls as 1 / rank, as zipf's law with
/// exponent 1 has it.
fn zipf(draw: &mut SplitMix, count: usize) -> usize {
    let part = draw.next() as f64 / u64::MAX as f64;
    (((count as f64 + 1.0).powf(part) - 1.0) as usize).min(count - 1)
}

fn word(draw: &mut SplitMix) -> &'static str {
    WORDS[zipf(draw, WORDS.len())]
}

fn url(draw: &mut SplitMix, len: usize) -> String {
    let host = zipf(draw, 1 + len / 50);
    let (section, first, second) = (word(draw), word(draw), word(draw));
    let number = draw.below(4 * len + 4);
    format!("https://www.{}{host}.example/{section}/{first}-{second}-{number}", WORDS[host % WORDS.len()])
}

fn path(draw: &mut SplitMix, len: usize) -> String {
    let mut path = format!("/{}", word(draw));
    for depth in 0..zipf(draw, 5) {
        let many = 1 + len / 200;
        path += &format!("/{}{}", word(draw), zipf(draw, if depth == 0 { many } else { 8 }));
    }
    let number = draw.below(4 * len + 4);
    format!("{path}/{}{number}.{}", word(draw), ENDINGS[draw.below(ENDINGS.len())])
}

/// Keys of contracts, one contract after the other.
fn contracts(len: usize, seed: u64, place: fn(u64) -> u64) -> NextKey {
    let (mut contract, mut slot) = (0, 0);
    Box::new(move |key| {
        let mut draw = SplitMix::part(seed, CONTRACT_PART ^ contract as u64);
        random_bytes(&mut draw, 20, key);
        key.extend_from_slice(&[0; 24]);
        key.extend_from_slice(&place(slot).to_be_bytes());
        slot += 1;
        if slot as usize >= len / (CONTRACT_SHARE * (contract + 1)) {
            (contract, slot) = (contract + 1, 0);
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(shape: KeyShape, len: usize) -> Vec<Vec<u8>> {
        let mut next = shape.keys(len, 1);
        let key = |_| {
            let mut key = Vec::new();
            next(&mut key);
            key
        };
        (0..len).map(key).collect()
    }

    #[test]
    fn keys_look_as_their_shape_says() {
        assert!(keys(KeyShape::Uniform, 50).iter().all(|key| key.len() == 20));
        assert!(keys(KeyShape::Uniform8, 50).iter().all(|key| key.len() == 8));
        for key in keys(KeyShape::Decimal, 50) {
            let text = String::from_utf8(key).unwrap();
            let number = text.strip_prefix("user:").and_then(|rest| rest.strip_suffix(":profile")).unwrap();
            assert!(number.len() == DECIMAL_DIGITS && number.parse::<u64>().unwrap() <= 200, "{text}");
        }
        assert!(keys(KeyShape::Url, 50).iter().all(|key| key.starts_with(b"https://www.")));
        assert!(keys(KeyShape::Path, 50).iter().all(|key| key[0] == b'/'));
    }

    #[test]
    fn a_contract_owns_its_share_of_slots_from_0() {
        let (slots, hashed) = (keys(KeyShape::ContractSlot, 8_000), keys(KeyShape::ContractHashed, 8_000));
        let owned = |keys: &[Vec<u8>], of: &[u8]| keys.iter().filter(|key| key[..20] == *of).count();
        let (first, second) = (&slots[0][..20], &slots[1_000][..20]);
        assert_eq!((owned(&slots, first), owned(&slots, second), owned(&hashed, first)), (1_000, 500, 1_000));
        assert_eq!(slots[1_007][20..44], [0; 24]);
        assert_eq!(slots[1_007][44..], 7_u64.to_be_bytes());
        assert_eq!(hashed[1_007][44..], mix(7).to_be_bytes());
    }

    #[test]
    fn small_ranks_are_drawn_more_often() {
        let mut draw = SplitMix::part(1, 1);
        let mut seen = [0_u32; 100];
        (0..100_000).for_each(|_| seen[zipf(&mut draw, 100)] += 1);
        // 1 / (r + 1) of 100 ranks, integrated: ln 2 / ln 101 and ln(101 / 51) / ln 101.
        assert!((14_000..16_000).contains(&seen[0]), "{}", seen[0]);
        assert!((13_000..16_500).contains(&seen[50..].iter().sum::<u32>()), "{seen:?}");
    }
}
