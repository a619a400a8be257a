//! Random versions, snapshots, bounds and walks, against an ordered map.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::select;

use super::fake::{List, Version, View};
use crate::error::Result;
use crate::iter::{Bounds, Cursor};

type Pair = (Vec<u8>, Vec<u8>);

/// Few keys, so that some have many versions; neighbours in every sense of byte order.
const KEYS: [&[u8]; 10] =
    [b"", b"\0", b"\0\0", b"a", b"a\0", b"a\xff", b"b", b"\xff", b"\xff\0", b"\xff\xff"];

fn key() -> impl Strategy<Value = Vec<u8>> {
    select(&KEYS[..]).prop_map(<[u8]>::to_vec)
}

fn bound() -> impl Strategy<Value = Bound<Vec<u8>>> {
    prop_oneof![
        2 => Just(Bound::Unbounded),
        1 => key().prop_map(Bound::Included),
        1 => key().prop_map(Bound::Excluded),
    ]
}

/// A store and a question.
#[derive(Clone, Debug)]
struct Case {
    /// In the order of writing, with the place it ended up in (0 is the memtable).
    versions: Vec<(Version, usize)>,
    /// Versions that a replay brought into the memtable too.
    twins: Vec<usize>,
    snapshot: u64,
    bounds: (Bound<Vec<u8>>, Bound<Vec<u8>>),
    /// An entry of a list that cannot be read.
    bad: Option<(usize, usize)>,
}

const LISTS: usize = 3;

fn case(damaged: bool) -> impl Strategy<Value = Case> {
    let version = (key(), any::<bool>(), 0..=LISTS);
    let bad = match damaged {
        true => (0..LISTS, 0..30_usize).prop_map(Some).boxed(),
        false => Just(None).boxed(),
    };
    let versions = proptest::collection::vec(version, 0..120);
    let twins = proptest::collection::vec(0..120_usize, 0..5);
    (versions, twins, 0..130_u64, (bound(), bound()), bad).prop_map(
        |(versions, twins, snapshot, bounds, bad)| {
            let version = |(number, (key, put, place)): (usize, (Vec<u8>, bool, usize))| {
                let seq = number as u64 + 1;
                (if put { Version::put(&key, seq) } else { Version::delete(&key, seq) }, place)
            };
            let versions = versions.into_iter().enumerate().map(version).collect();
            Case { versions, twins, snapshot, bounds, bad }
        },
    )
}

impl Case {
    fn view(&self) -> Arc<View> {
        let in_place = |wanted: usize| {
            let here = self.versions.iter().filter(move |(_, place)| *place == wanted);
            here.map(|(version, _)| version.clone()).collect::<Vec<_>>()
        };
        let mut memtable = in_place(0);
        memtable.extend(self.twins.iter().filter_map(|&at| Some(self.versions.get(at)?.0.clone())));
        let mut lists: Vec<List> = (1..=LISTS).map(|place| List::new(in_place(place))).collect();
        if let Some((list, entry)) = self.bad {
            lists[list].bad = Some(entry);
        }
        Arc::new(View::new(lists, self.snapshot).with_memtable(&memtable))
    }

    fn bounds(&self) -> Bounds {
        Bounds::of(self.bounds.clone())
    }

    /// What the snapshot sees inside the bounds.
    fn pairs(&self) -> Vec<Pair> {
        let mut seen = BTreeMap::new();
        for (version, _) in &self.versions {
            if version.seq <= self.snapshot {
                seen.insert(version.key.clone(), version.value.clone());
            }
        }
        let inside = |key: &Vec<u8>| {
            let after = match &self.bounds.0 {
                Bound::Included(lower) => key >= lower,
                Bound::Excluded(lower) => key > lower,
                Bound::Unbounded => true,
            };
            let before = match &self.bounds.1 {
                Bound::Included(upper) => key <= upper,
                Bound::Excluded(upper) => key < upper,
                Bound::Unbounded => true,
            };
            after && before
        };
        seen.into_iter()
            .filter(|(key, _)| inside(key))
            .filter_map(|(key, value)| Some((key, value?)))
            .collect()
    }
}

#[derive(Clone, Debug)]
enum Move {
    Seek(Vec<u8>),
    SeekForPrev(Vec<u8>),
    SeekLt(Vec<u8>),
    First,
    Last,
    Next,
    Prev,
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let one = prop_oneof![
        1 => key().prop_map(Move::Seek),
        1 => key().prop_map(Move::SeekForPrev),
        1 => key().prop_map(Move::SeekLt),
        1 => Just(Move::First),
        1 => Just(Move::Last),
        5 => Just(Move::Next),
        5 => Just(Move::Prev),
    ];
    proptest::collection::vec(one, 1..60)
}

impl Move {
    fn apply(&self, cursor: &mut Cursor) -> Result<bool> {
        match self {
            Self::Seek(key) => cursor.seek(key),
            Self::SeekForPrev(key) => cursor.seek_for_prev(key),
            Self::SeekLt(key) => cursor.seek_lt(key),
            Self::First => cursor.first(),
            Self::Last => cursor.last(),
            Self::Next => cursor.next(),
            Self::Prev => cursor.prev(),
        }
    }

    fn is_step(&self) -> bool {
        matches!(self, Self::Next | Self::Prev)
    }
}

/// Where the model's cursor stands: the number of a pair; -1 and the count are the two ends.
#[derive(Clone, Copy, Debug)]
enum At {
    Fresh,
    Place(isize),
}

fn model_move(pairs: &[Pair], at: At, step: &Move) -> isize {
    let count = pairs.len() as isize;
    let before = |key: &Vec<u8>| pairs.partition_point(|(k, _)| k < key) as isize;
    let through = |key: &Vec<u8>| pairs.partition_point(|(k, _)| k <= key) as isize;
    match (step, at) {
        (Move::Seek(key), _) => before(key),
        (Move::SeekForPrev(key), _) => through(key) - 1,
        (Move::SeekLt(key), _) => before(key) - 1,
        (Move::First, _) | (Move::Next, At::Fresh) => 0,
        (Move::Last, _) | (Move::Prev, At::Fresh) => count - 1,
        (Move::Next, At::Place(place)) => (place + 1).min(count),
        (Move::Prev, At::Place(place)) => (place - 1).max(-1),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn a_cursor_walks_like_an_ordered_map(case in case(false), moves in moves()) {
        let (view, pairs) = (case.view(), case.pairs());
        let mut cursor = view.cursor(case.bounds());
        let mut at = At::Fresh;
        for step in &moves {
            let place = model_move(&pairs, at, step);
            at = At::Place(place);
            let expected = usize::try_from(place).ok().and_then(|place| pairs.get(place));
            let standing = step.apply(&mut cursor).unwrap();
            prop_assert_eq!(standing, expected.is_some(), "{:?}", step);
            prop_assert_eq!(cursor.valid(), standing);
            if let Some((key, value)) = expected {
                prop_assert_eq!((cursor.key(), cursor.value()), (&key[..], &value[..]), "{:?}", step);
                let (owned_key, owned_value) = cursor.to_owned();
                prop_assert_eq!((&owned_key[..], &owned_value[..]), (&key[..], &value[..]));
            }
        }
    }

    #[test]
    fn a_cursor_over_damage_is_right_or_says_so(case in case(true), moves in moves()) {
        let (view, pairs) = (case.view(), case.pairs());
        let mut cursor = view.cursor(case.bounds());
        let mut at = At::Fresh;
        let mut failed = false;
        for step in &moves {
            match step.apply(&mut cursor) {
                Err(_) => failed = true,
                Ok(standing) => {
                    prop_assert!(!(failed && step.is_step()), "a step after an error: {:?}", step);
                    failed = false;
                    let place = model_move(&pairs, at, step);
                    at = At::Place(place);
                    let expected = usize::try_from(place).ok().and_then(|place| pairs.get(place));
                    let shown = standing.then(|| (cursor.key().to_vec(), cursor.value().to_vec()));
                    prop_assert_eq!(shown.as_ref(), expected, "{:?}", step);
                }
            }
            prop_assert!(!(failed && cursor.valid()));
        }
    }

    #[test]
    fn front_and_back_meet_and_give_each_key_once(
        case in case(false),
        ends in proptest::collection::vec(any::<bool>(), 1..30),
    ) {
        let view = case.view();
        let mut iter = view.iter(case.bounds());
        let mut pairs: VecDeque<Pair> = case.pairs().into();
        for front in ends {
            let expected = if front { pairs.pop_front() } else { pairs.pop_back() };
            let item = if front { iter.next() } else { iter.next_back() };
            let item = item.map(|item| item.unwrap()).map(|(key, value)| (key.to_vec(), value.to_vec()));
            prop_assert_eq!(item, expected);
        }
    }
}
