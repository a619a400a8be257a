//! A cursor that walks at random, beside the keys it may show.

use kiban::Cursor;

use crate::Pair;
use crate::history::{KEYS, key};
use crate::rng::Rng;

/// Where a cursor stands among the keys it may show.
#[derive(Clone, Copy, Debug)]
enum At {
    Fresh,
    Key(usize),
    BeforeFirst,
    AfterLast,
}

pub(crate) struct CursorWalk {
    cursor: Cursor,
    keys: Vec<Pair>,
    at: At,
}

impl CursorWalk {
    /// A cursor that has not moved yet, and what it may show.
    pub(crate) fn new(cursor: Cursor, keys: Vec<Pair>) -> Self {
        Self { cursor, keys, at: At::Fresh }
    }

    /// All keys, forward and back again.
    pub(crate) fn sweep(&mut self) {
        let mut found = Vec::new();
        while self.cursor.next().unwrap() {
            found.push((self.cursor.key().to_vec(), self.cursor.value().to_vec()));
        }
        assert!(found == self.keys, "a cursor forward");
        found.clear();
        while self.cursor.prev().unwrap() {
            found.push((self.cursor.key().to_vec(), self.cursor.value().to_vec()));
        }
        found.reverse();
        assert!(found == self.keys, "a cursor back");
    }

    /// A dozen moves.
    pub(crate) fn walk(&mut self, rng: &mut Rng) {
        for _ in 0..12 {
            let target = key(rng.below(KEYS));
            let at_least = self.keys.partition_point(|(key, _)| *key < target);
            let beyond = self.keys.partition_point(|(key, _)| *key <= target);
            let (step, moved, at) = match rng.below(8) {
                0 => ("seek", self.cursor.seek(&target), self.forward_to(at_least)),
                1 => ("seek_for_prev", self.cursor.seek_for_prev(&target), backward_to(beyond)),
                2 => ("seek_lt", self.cursor.seek_lt(&target), backward_to(at_least)),
                3 => ("first", self.cursor.first(), self.forward_to(0)),
                4 => ("last", self.cursor.last(), backward_to(self.keys.len())),
                5 | 6 => ("next", self.cursor.next(), self.next()),
                _ => ("prev", self.cursor.prev(), self.prev()),
            };
            assert_eq!(moved.unwrap(), matches!(at, At::Key(_)), "{step} from {:?}", self.at);
            self.at = at;
            assert_eq!(self.cursor.valid(), matches!(at, At::Key(_)), "{step}");
            if let At::Key(no) = at {
                let found = (self.cursor.key().to_vec(), self.cursor.value().to_vec());
                assert!(found == self.keys[no], "{step} stands on {}", found.0.escape_ascii());
            }
        }
    }

    fn forward_to(&self, no: usize) -> At {
        if no < self.keys.len() { At::Key(no) } else { At::AfterLast }
    }

    fn next(&self) -> At {
        match self.at {
            At::Fresh | At::BeforeFirst => self.forward_to(0),
            At::Key(no) => self.forward_to(no + 1),
            At::AfterLast => At::AfterLast,
        }
    }

    fn prev(&self) -> At {
        match self.at {
            At::Fresh | At::AfterLast => backward_to(self.keys.len()),
            At::Key(no) => backward_to(no),
            At::BeforeFirst => At::BeforeFirst,
        }
    }
}

/// The key before the `end`-th.
fn backward_to(end: usize) -> At {
    end.checked_sub(1).map_or(At::BeforeFirst, At::Key)
}
