//! What an engine answered, copied into buffers that are used again: no side pays for an
//! allocation that the other does not.

/// The answers of one call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Answers {
    bytes: Vec<u8>,
    items: Vec<Item>,
}

/// Where one answer ends in the bytes; it begins where the one before ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Item {
    Absent,
    Value { end: usize },
    Pair { key_end: usize, end: usize },
}

/// One answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer<'a> {
    /// The key has no value.
    Absent,
    /// The value of the key asked for.
    Value(&'a [u8]),
    /// A record of a scan.
    Pair(&'a [u8], &'a [u8]),
}

impl Answers {
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.items.clear();
    }

    #[inline]
    pub(crate) fn push_absent(&mut self) {
        self.items.push(Item::Absent);
    }

    /// Copies a value.
    #[inline]
    pub(crate) fn push_value(&mut self, value: &[u8]) {
        self.bytes.extend_from_slice(value);
        self.items.push(Item::Value { end: self.bytes.len() });
    }

    /// Copies a record.
    #[inline]
    pub(crate) fn push_pair(&mut self, key: &[u8], value: &[u8]) {
        self.bytes.extend_from_slice(key);
        let key_end = self.bytes.len();
        self.bytes.extend_from_slice(value);
        self.items.push(Item::Pair { key_end, end: self.bytes.len() });
    }

    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    /// The answers in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Answer<'_>> {
        let mut start = 0;
        self.items.iter().map(move |item| match *item {
            Item::Absent => Answer::Absent,
            Item::Value { end } => Answer::Value(&self.bytes[std::mem::replace(&mut start, end)..end]),
            Item::Pair { key_end, end } => {
                let key_start = std::mem::replace(&mut start, end);
                Answer::Pair(&self.bytes[key_start..key_end], &self.bytes[key_end..end])
            }
        })
    }

    /// A cheap word over all answers, for the check inside the timed loop. Differs where a
    /// length, an absence, the order, or one of the sampled bytes differs.
    #[inline]
    pub(crate) fn word(&self) -> u64 {
        self.iter().fold(self.items.len() as u64, |word, answer| {
            let of_this = match answer {
                Answer::Absent => 1,
                Answer::Value(value) => sample(value),
                Answer::Pair(key, value) => sample(key).rotate_left(32) ^ sample(value),
            };
            word.rotate_left(7).wrapping_add(of_this)
        })
    }
}

/// Mixes the length and three words: the first, the middle and the last.
#[inline]
fn sample(bytes: &[u8]) -> u64 {
    let len = bytes.len();
    let words = match len {
        0..8 => bytes.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)),
        _ => {
            word_at(bytes, 0)
                ^ word_at(bytes, (len - 8) / 2).rotate_left(21)
                ^ word_at(bytes, len - 8).rotate_left(42)
        }
    };
    (words ^ len as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[inline]
fn word_at(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(all: &[Answer<'_>]) -> Answers {
        let mut answers = Answers::default();
        for answer in all {
            match answer {
                Answer::Absent => answers.push_absent(),
                Answer::Value(value) => answers.push_value(value),
                Answer::Pair(key, value) => answers.push_pair(key, value),
            }
        }
        answers
    }

    #[test]
    fn answers_come_back_as_they_were_pushed() {
        let all = [Answer::Value(b"one"), Answer::Absent, Answer::Pair(b"k", b""), Answer::Value(b"")];
        assert_eq!(answers(&all).iter().collect::<Vec<_>>(), all);
    }

    #[test]
    fn the_cheap_word_sees_length_absence_order_and_sampled_bytes() {
        let (one, two) = (Answer::Value(b"a value of more than a few bytes"), Answer::Value(b"short"));
        let word = |all: &[Answer<'_>]| answers(all).word();
        let right = word(&[one, two]);
        assert_eq!(right, word(&[one, two]));
        let wrong: [&[Answer<'_>]; 6] = [
            &[one],
            &[two, one],
            &[one, Answer::Absent],
            &[Answer::Value(b"a value of more than a few byteS"), two],
            &[Answer::Value(b"a value of MORE than a few bytes"), two],
            &[one, Answer::Value(b"shorts")],
        ];
        for wrong in wrong {
            assert_ne!(right, word(wrong), "{wrong:?}");
        }
    }
}
