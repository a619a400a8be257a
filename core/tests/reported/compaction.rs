//! Deleted keys that come back, snapshots that change, keys that vanish while tables are replaced.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use kiban::{Db, Durability, Iter, Keyspace, Settings, Snapshot};

use crate::rng::Rng;
use crate::{MODES, Mode, Model, check, pairs};

/// How long writers and compactions run beside each other.
const RUN: Duration = Duration::from_secs(2);

#[test]
fn h02_a_large_value_that_is_deleted_beside_compactions_stays_deleted() {
    for mode in MODES {
        let dir = tempfile::tempdir().unwrap();
        let large = Settings {
            memtable_bytes: 1 << 20,
            memtables_total_bytes: 8 << 20,
            table_bytes: 1 << 20,
            ..mode.settings()
        };
        let open = || Db::builder(dir.path()).settings(large.clone()).open().unwrap();
        let db = open();
        let ks = db.default_keyspace();
        let stop = AtomicBool::new(false);
        let model = thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    ks.flush().unwrap();
                    ks.compact().unwrap();
                }
            });
            let written = put_and_delete(&ks, mode);
            stop.store(true, Ordering::Relaxed);
            written
        });
        for _ in 0..2 {
            ks.compact().unwrap();
        }
        let deleted: Vec<Vec<u8>> = (0..40_u8).map(|key| vec![key]).collect();
        check(&ks, &model, &deleted, "compacted twice");
        db.close().unwrap();
        check(&open().default_keyspace(), &model, &deleted, "reopened");
    }
}

/// Random keys with large values, about half of them deleted again.
fn put_and_delete(ks: &Keyspace, mode: Mode) -> Model {
    let mut rng = Rng::new(2);
    let mut model = Model::new();
    let began = Instant::now();
    for round in 0_u64.. {
        if began.elapsed() > RUN {
            assert!(round > 20, "{mode:?}: {round} rounds");
            break;
        }
        let key = vec![rng.below(40) as u8];
        let value = round.to_le_bytes().repeat((64 << 10) / 8 + rng.below(64 << 10));
        ks.put(&key, &value).unwrap();
        if rng.percent(50) {
            ks.delete(&key).unwrap();
            model.remove(&key);
        } else {
            model.insert(key, value);
        }
    }
    model
}

/// How many pages are looked at to read so many pairs from `p/` on.
fn pages_of_scan(db: &Db, items: Iter, expected: usize) -> u64 {
    let before = db.stats().pages.data_reads;
    assert_eq!(pairs(items).count(), expected, "a deleted key is seen");
    db.stats().pages.data_reads - before
}

fn time_of_seeks(ks: &Keyspace) -> Duration {
    let began = Instant::now();
    for _ in 0..200 {
        assert!(!ks.cursor_in("p/".."p0").seek("p/").unwrap(), "a deleted key is seen");
    }
    began.elapsed()
}

#[test]
fn h04_a_seek_over_deleted_keys_stays_inside_its_bounds_and_is_quick_after_compaction() {
    let dir = tempfile::tempdir().unwrap();
    let mode = Mode { mapped: true, durability: Durability::Buffered };
    let large = Settings { memtable_bytes: 1 << 20, memtables_total_bytes: 4 << 20, ..mode.settings() };
    let db = Db::builder(dir.path()).settings(large).open().unwrap();
    let ks = db.default_keyspace();
    (0..100_000).for_each(|no| ks.put(format!("p/{no:08}"), "").unwrap());
    assert_eq!(ks.prefix("p/").next().unwrap().unwrap().0, b"p/00000000");
    (0..20_000).for_each(|no| ks.put(format!("q/{no:08}"), [1; 100]).unwrap());
    (0..100_000).for_each(|no| ks.delete(format!("p/{no:08}")).unwrap());
    db.flush().unwrap();
    db.wait_idle().unwrap();
    let bounded = || ks.range("p/".."p0");
    let to_the_bound = pages_of_scan(&db, bounded(), 0);
    let past_it = pages_of_scan(&db, ks.range("p/"..), 20_000);
    assert!(past_it > to_the_bound + 300, "{past_it} pages behind the bound show nothing");
    let mut neighbour = db.stats().pages.data_reads;
    assert_eq!(ks.range("p/"..).next().unwrap().unwrap().0, b"q/00000000");
    neighbour = db.stats().pages.data_reads - neighbour;
    assert!(
        to_the_bound <= neighbour,
        "{to_the_bound} pages up to the bound, {neighbour} to the key behind it"
    );

    ks.compact().unwrap();
    let levels = &db.stats().keyspaces[0].levels;
    assert_eq!(levels.iter().map(|level| level.tombstones).sum::<u64>(), 0);
    assert!(pages_of_scan(&db, bounded(), 0) <= 2);
    let empty = time_of_seeks(&db.keyspace("empty").unwrap());
    let emptied = time_of_seeks(&ks);
    let allowed = 10 * empty + Duration::from_millis(20);
    assert!(emptied <= allowed, "200 seeks: {emptied:?}, {empty:?} in an empty store");
}

fn dump(snapshot: &Snapshot, spaces: &[Keyspace; 2]) -> [Vec<(Vec<u8>, Vec<u8>)>; 2] {
    spaces.each_ref().map(|space| pairs(snapshot.iter(space)).collect())
}

#[test]
fn h06_a_snapshot_reads_the_same_after_its_tables_are_replaced_and_dropped() {
    for mode in MODES {
        let dir = tempfile::tempdir().unwrap();
        let db = mode.open(dir.path());
        let spaces = [db.default_keyspace(), db.keyspace("other").unwrap()];
        let key = |no: u32| format!("{no:04}");
        for (space, value) in spaces.iter().zip(["one", "other"]) {
            let put = |no| {
                space.put_with(key(no), format!("{value} {no}").repeat(9), Durability::Buffered).unwrap()
            };
            (0..1000).for_each(put);
        }
        let snapshot = db.snapshot();
        let first = dump(&snapshot, &spaces);
        assert_eq!(first.each_ref().map(Vec::len), [1000, 1000]);
        for space in &spaces {
            (0..1000).for_each(|no| space.delete_with(key(no), Durability::Buffered).unwrap());
            space.flush().unwrap();
            space.compact().unwrap();
            (0..2000).for_each(|no| space.put_with(key(no), "new", Durability::Buffered).unwrap());
            space.flush().unwrap();
        }
        assert!(dump(&snapshot, &spaces) == first, "{mode:?}: the snapshot changed");
        spaces[0].clear().unwrap();
        db.drop_keyspace("other").unwrap();
        spaces[0].put("0000", "newer").unwrap();
        spaces[0].compact().unwrap();
        assert!(dump(&snapshot, &spaces) == first, "{mode:?}: the snapshot changed after clear and drop");
        assert_eq!(pairs(spaces[0].iter()).count(), 1);
    }
}
