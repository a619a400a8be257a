//! The simulator's own laws: what it may take away in a power cut, and what it must not.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use kiban::storage::{Effect, Fault, Op, SimStorage, Storage};

const SEEDS: u64 = 400;

fn dir() -> &'static Path {
    Path::new("/store")
}

fn file(name: &str) -> PathBuf {
    dir().join(name)
}

fn disk() -> SimStorage {
    let sim = SimStorage::new(1);
    sim.create_dir_all(dir()).unwrap();
    sim
}

/// A durable file of these bytes.
fn durable(sim: &SimStorage, name: &str, bytes: &[u8]) {
    let mut writer = sim.create(&file(name)).unwrap();
    writer.append(&[bytes]).unwrap();
    writer.sync().unwrap();
    sim.sync_dir(dir()).unwrap();
}

fn names(sim: &SimStorage) -> BTreeSet<String> {
    sim.list(dir()).unwrap().into_iter().map(|entry| entry.name).collect()
}

/// Bytes that tell their offset and are never zero.
fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at % 251) as u8 + 1).collect()
}

/// All outcomes of power cuts over many seeds.
fn outcomes<T: Ord>(sim: &SimStorage, look: impl Fn(&SimStorage) -> T) -> BTreeSet<T> {
    (0..SEEDS).map(|seed| look(&sim.reboot(seed))).collect()
}

#[test]
fn synced_bytes_under_synced_names_survive_every_power_cut() {
    let sim = disk();
    durable(&sim, "a", &pattern(5000));
    assert_eq!(outcomes(&sim, |left| left.bytes(&file("a")).unwrap()), BTreeSet::from([pattern(5000)]));
}

#[test]
fn unsynced_bytes_survive_in_any_length_and_any_sector_but_never_changed() {
    let sim = disk();
    durable(&sim, "a", &pattern(700));
    let mut writer = sim.create(&file("b")).unwrap();
    writer.append(&[&pattern(700)]).unwrap();
    writer.sync().unwrap();
    sim.sync_dir(dir()).unwrap();
    for end in [900, 1000, 1700, 3000] {
        let so_far = sim.bytes(&file("b")).unwrap().len();
        writer.append(&[&pattern(end)[so_far..]]).unwrap();
    }

    let (mut whole, mut none, mut cut, mut hole, mut half_sector) = (0, 0, 0, 0, 0);
    for seed in 0..SEEDS {
        let left = sim.reboot(seed).bytes(&file("b")).unwrap();
        let expect = pattern(3000);
        assert!((700..=3000).contains(&left.len()), "seed {seed}");
        assert_eq!(left[..700], expect[..700], "seed {seed}: a synced byte changed");
        for (at, byte) in left.iter().enumerate() {
            assert!([0, expect[at]].contains(byte), "seed {seed}: byte {at} was never written so");
        }
        whole += usize::from(left == expect);
        none += usize::from(left.len() == 700);
        cut += usize::from(
            !left.len().is_multiple_of(512) && !left.contains(&0) && (701..3000).contains(&left.len()),
        );
        let first_zero = left.iter().position(|byte| *byte == 0);
        hole += usize::from(first_zero.is_some_and(|zero| left[zero..].iter().any(|byte| *byte != 0)));
        half_sector += usize::from(first_zero.is_some_and(|zero| [900, 1000].contains(&zero)));
    }
    for (what, count) in
        [("whole", whole), ("none", none), ("cut", cut), ("hole", hole), ("half sector", half_sector)]
    {
        assert!(count > 0, "{what} never happened");
    }
}

/// The length is durable, and says nothing of what was appended.
#[test]
fn bytes_appended_into_synced_room_are_kept_or_zeros_in_any_order() {
    let sim = disk();
    let mut writer = sim.create(&file("a")).unwrap();
    writer.append(&[&pattern(700)]).unwrap();
    writer.reserve(4000).unwrap();
    writer.sync().unwrap();
    sim.sync_dir(dir()).unwrap();
    for (start, end) in [(700, 900), (900, 1700), (1700, 3000)] {
        writer.append(&[&pattern(end)[start..]]).unwrap();
    }
    let (mut whole, mut none, mut hole) = (0, 0, 0);
    for seed in 0..SEEDS {
        let left = sim.reboot(seed).bytes(&file("a")).unwrap();
        assert_eq!(left.len(), 4700, "seed {seed}: the length was synced");
        assert_eq!(left[..700], pattern(700), "seed {seed}: a synced byte changed");
        assert!(left[3000..].iter().all(|byte| *byte == 0), "seed {seed}");
        for (at, expect) in pattern(3000).into_iter().enumerate() {
            assert!([0, expect].contains(&left[at]), "seed {seed}: byte {at} was never written so");
        }
        whole += usize::from(left[..3000] == pattern(3000));
        none += usize::from(left[700..].iter().all(|byte| *byte == 0));
        let first_zero = left.iter().position(|byte| *byte == 0).unwrap();
        hole += usize::from(left[first_zero..].iter().any(|byte| *byte != 0));
    }
    for (what, count) in [("whole", whole), ("none", none), ("hole", hole)] {
        assert!(count > 0, "{what} never happened");
    }
}

#[test]
fn room_and_its_trim_are_kept_or_lost_until_a_sync() {
    let lens = |sim: &SimStorage| outcomes(sim, |left| left.bytes(&file("a")).unwrap().len());
    let sim = disk();
    let mut writer = sim.create(&file("a")).unwrap();
    sim.sync_dir(dir()).unwrap();
    writer.reserve(100).unwrap();
    let (reserved, sim) = (lens(&sim), sim.kill());
    assert!(reserved.contains(&0) && reserved.contains(&100), "{reserved:?}");
    sim.open_sync(&file("a")).unwrap().sync().unwrap();
    assert_eq!(lens(&sim), BTreeSet::from([100]));

    let sim = disk();
    let mut writer = sim.create(&file("a")).unwrap();
    writer.append(&[b"x"]).unwrap();
    writer.reserve(100).unwrap();
    writer.sync().unwrap();
    sim.sync_dir(dir()).unwrap();
    writer.trim().unwrap();
    let (trimmed, sim) = (lens(&sim), sim.kill());
    assert!(trimmed.contains(&1) && trimmed.contains(&101), "{trimmed:?}");
    sim.open_sync(&file("a")).unwrap().sync().unwrap();
    assert_eq!(lens(&sim), BTreeSet::from([1]));
}

#[test]
fn room_counts_on_a_full_disk_and_appends_into_it_succeed() {
    let sim = disk();
    sim.set_capacity(Some(1000));
    let mut writer = sim.create(&file("a")).unwrap();
    writer.append(&[&pattern(100)]).unwrap();
    assert_eq!(writer.reserve(901).unwrap_err().kind(), ErrorKind::StorageFull);
    writer.reserve(900).unwrap();
    let mut other = sim.create(&file("b")).unwrap();
    assert_eq!(other.append(&[b"x"]).unwrap_err().kind(), ErrorKind::StorageFull);
    writer.append(&[&pattern(900)]).unwrap();
    assert_eq!(writer.append(&[b"x"]).unwrap_err().kind(), ErrorKind::StorageFull);
}

#[test]
fn an_unsynced_name_is_kept_or_lost_and_a_synced_file_goes_with_it() {
    let sim = disk();
    let mut writer = sim.create(&file("new")).unwrap();
    writer.append(&[b"synced"]).unwrap();
    writer.sync().unwrap();
    let seen = outcomes(&sim, |left| left.bytes(&file("new")).ok());
    assert_eq!(seen, BTreeSet::from([None, Some(b"synced".to_vec())]));
}

#[test]
fn names_of_one_directory_are_kept_out_of_order() {
    let sim = disk();
    for name in ["1", "2", "3"] {
        sim.create(&file(name)).unwrap();
    }
    let subsets = outcomes(&sim, names);
    assert_eq!(subsets.len(), 8, "{subsets:?}");
}

#[test]
fn a_moved_directory_is_at_the_old_or_the_new_place_until_its_parent_is_synced() {
    let sim = disk();
    durable(&sim, "kept", b"1");
    sim.create_dir_all(Path::new("/other")).unwrap();
    sim.rename_dir(dir(), Path::new("/moved")).unwrap();
    let place = |left: &SimStorage| {
        let at = |dir: &str| left.bytes(&Path::new(dir).join("kept")).is_ok();
        (at("/store"), at("/moved"))
    };
    assert_eq!(outcomes(&sim, place), BTreeSet::from([(true, false), (false, true)]));

    let sim = disk();
    durable(&sim, "kept", b"1");
    sim.rename_dir(dir(), Path::new("/moved")).unwrap();
    sim.sync_dir(Path::new("/moved")).unwrap();
    assert_eq!(outcomes(&sim, place).len(), 2, "its own sync says nothing of its name");
    let sim = disk();
    durable(&sim, "kept", b"1");
    sim.rename_dir(dir(), Path::new("/moved")).unwrap();
    sim.sync_dir(Path::new("/")).unwrap();
    assert_eq!(outcomes(&sim, place), BTreeSet::from([(false, true)]));
}

#[test]
fn a_removed_directory_may_come_back_until_its_parent_is_synced() {
    let removed = |sync: bool| {
        let sim = disk();
        durable(&sim, "kept", b"1");
        sim.remove(&file("kept")).unwrap();
        sim.remove_dir(dir()).unwrap();
        if sync {
            sim.sync_dir(Path::new("/")).unwrap();
        }
        outcomes(&sim, |left| left.list(dir()).ok().map(|names| names.len()))
    };
    assert_eq!(removed(false), BTreeSet::from([None, Some(0), Some(1)]));
    assert_eq!(removed(true), BTreeSet::from([None]));
}

#[test]
fn a_renamed_target_is_the_old_or_the_new_file_and_never_missing() {
    let sim = disk();
    durable(&sim, "CURRENT", b"old");
    let mut writer = sim.create(&file("CURRENT.tmp")).unwrap();
    writer.append(&[b"new"]).unwrap();
    writer.sync().unwrap();
    sim.rename(&file("CURRENT.tmp"), &file("CURRENT")).unwrap();
    let seen = outcomes(&sim, |left| left.bytes(&file("CURRENT")).unwrap());
    assert_eq!(seen, BTreeSet::from([b"old".to_vec(), b"new".to_vec()]));
    let sim = sim.kill();
    sim.sync_dir(dir()).unwrap();
    assert_eq!(
        outcomes(&sim, |left| left.bytes(&file("CURRENT")).unwrap()),
        BTreeSet::from([b"new".to_vec()])
    );
    assert_eq!(outcomes(&sim, names), BTreeSet::from([BTreeSet::from(["CURRENT".to_owned()])]));
}

#[test]
fn an_unsynced_removal_may_come_back_and_a_synced_one_never_does() {
    let sim = disk();
    durable(&sim, "a", b"a");
    sim.remove(&file("a")).unwrap();
    assert_eq!(outcomes(&sim, |left| left.bytes(&file("a")).is_ok()), BTreeSet::from([false, true]));
    let sim = sim.kill();
    sim.sync_dir(dir()).unwrap();
    assert_eq!(outcomes(&sim, |left| left.bytes(&file("a")).is_ok()), BTreeSet::from([false]));
}

#[test]
fn a_power_cut_after_a_power_cut_takes_nothing_more() {
    let sim = disk();
    sim.create(&file("a")).unwrap().append(&[&pattern(3000)]).unwrap();
    for seed in 0..SEEDS {
        let once = sim.reboot(seed);
        let state = (names(&once), once.bytes(&file("a")).ok());
        let twice = once.reboot(seed + 1);
        assert_eq!((names(&twice), twice.bytes(&file("a")).ok()), state, "seed {seed}");
    }
}

#[test]
fn a_killed_process_leaves_every_byte_and_a_power_cut_may_still_take_them() {
    let sim = disk();
    sim.create(&file("a")).unwrap().append(&[b"unsynced"]).unwrap();
    let next = sim.kill();
    assert_eq!(next.bytes(&file("a")).unwrap(), b"unsynced");
    assert!(outcomes(&next, |left| left.bytes(&file("a")).is_err()).contains(&true));
    assert!(sim.is_off());
    assert!(sim.create(&file("b")).is_err());
    assert!(next.bytes(&file("b")).is_err());
}

#[test]
fn a_failed_sync_that_drops_its_data_lets_later_syncs_lie() {
    let sim = disk();
    let mut writer = sim.create(&file("a")).unwrap();
    writer.append(&[&pattern(1000)]).unwrap();
    writer.sync().unwrap();
    sim.sync_dir(dir()).unwrap();
    writer.append(&[&pattern(3000)[1000..]]).unwrap();
    sim.inject(Fault::at_op(Op::Sync, 1, Effect::SyncDrops));
    assert!(writer.sync().is_err());
    assert_eq!(sim.bytes(&file("a")).unwrap(), pattern(3000), "the running process reads it still");
    writer.append(&[&pattern(4000)[3000..]]).unwrap();
    writer.sync().unwrap();

    let mut lost = 0;
    for seed in 0..SEEDS {
        let left = sim.reboot(seed).bytes(&file("a")).unwrap();
        assert_eq!(left[..1000], pattern(1000));
        assert_eq!(left[3000..], pattern(4000)[3000..], "seed {seed}: appended after, synced well");
        lost += usize::from(left[1000..3000].contains(&0));
    }
    assert!(lost > SEEDS as usize / 2, "{lost}");
}

#[test]
fn a_failed_sync_that_keeps_its_data_is_made_good_by_the_next() {
    let sim = disk();
    let mut writer = sim.create(&file("a")).unwrap();
    sim.sync_dir(dir()).unwrap();
    writer.append(&[&pattern(3000)]).unwrap();
    sim.inject(Fault::at_op(Op::Sync, 1, Effect::Eio));
    assert!(writer.sync().is_err());
    assert!(outcomes(&sim.kill(), |left| left.bytes(&file("a")).unwrap().len()).len() > 1);

    let sim = disk();
    durable(&sim, "b", b"");
    let mut writer = sim.create(&file("a")).unwrap();
    writer.append(&[&pattern(3000)]).unwrap();
    sim.inject(Fault::at_op(Op::Sync, 1, Effect::Eio));
    assert!(writer.sync().is_err());
    writer.sync().unwrap();
    sim.sync_dir(dir()).unwrap();
    assert_eq!(outcomes(&sim, |left| left.bytes(&file("a")).unwrap()), BTreeSet::from([pattern(3000)]));
}

#[test]
fn a_short_append_lands_a_prefix_and_says_the_disk_is_full() {
    let mut landed = BTreeSet::new();
    for seed in 0..50 {
        let sim = SimStorage::new(seed);
        let path = Path::new("/a");
        let mut writer = sim.create(path).unwrap();
        writer.append(&[b"xy"]).unwrap();
        sim.inject(Fault::at_op(Op::Append, 2, Effect::ShortAppend));
        writer.append(&[b"z"]).unwrap();
        let error = writer.append(&[&pattern(300), &pattern(300)]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StorageFull);
        let bytes = sim.bytes(path).unwrap();
        assert_eq!(bytes[3..], [pattern(300), pattern(300)].concat()[..bytes.len() - 3], "seed {seed}");
        landed.insert(bytes.len());
    }
    assert!(landed.len() > 10, "{landed:?}");
}

#[test]
fn faults_strike_at_the_operation_they_name_once_or_for_good() {
    let sim = disk();
    let before = sim.operations();
    sim.inject(Fault::at(2, Effect::NoSpace));
    sim.inject(Fault::at_op(Op::Remove, 1, Effect::Eio).for_good());
    sim.create(&file("a")).unwrap();
    assert_eq!(sim.create(&file("b")).unwrap_err().kind(), ErrorKind::StorageFull);
    sim.create(&file("b")).unwrap();
    assert!(sim.remove(&file("a")).is_err());
    assert!(sim.remove(&file("a")).is_err());
    sim.clear_faults();
    sim.remove(&file("a")).unwrap();
    assert_eq!(sim.operations() - before, 6);
    assert_eq!((sim.operations_of(Op::Create), sim.operations_of(Op::Remove)), (3, 3));
    assert_eq!(names(&sim), BTreeSet::from(["b".to_owned()]));
}

#[test]
fn a_fault_on_a_name_lets_other_files_be() {
    let sim = disk();
    let mut log = sim.create(&file("1.log")).unwrap();
    let mut table = sim.create(&file("2.sst.tmp")).unwrap();
    sim.inject(Fault::at_op(Op::Append, 2, Effect::Eio).on(".sst"));
    for _ in 0..3 {
        log.append(&[b"x"]).unwrap();
    }
    table.append(&[b"x"]).unwrap();
    assert!(table.append(&[b"x"]).is_err());
    log.append(&[b"x"]).unwrap();
}

#[test]
fn a_crash_stops_the_machine_and_its_operation_may_have_happened() {
    let mut seen = BTreeSet::new();
    for seed in 0..50 {
        let sim = SimStorage::new(seed);
        sim.create_dir_all(dir()).unwrap();
        durable(&sim, "a", b"");
        sim.inject(Fault::at_op(Op::Remove, 1, Effect::Crash));
        assert!(sim.remove(&file("a")).is_err());
        assert!(sim.is_off());
        assert!(sim.list(dir()).is_err());
        seen.insert(names(&sim.kill()).len());
    }
    assert_eq!(seen, BTreeSet::from([0, 1]));
}

#[test]
fn a_full_disk_refuses_what_does_not_fit_until_space_comes_back() {
    let sim = disk();
    sim.set_capacity(Some(1000));
    durable(&sim, "ballast", &pattern(800));
    let mut writer = sim.create(&file("a")).unwrap();
    writer.append(&[&pattern(150)]).unwrap();
    assert_eq!(writer.append(&[&pattern(100)]).unwrap_err().kind(), ErrorKind::StorageFull);
    assert_eq!(sim.bytes(&file("a")).unwrap().len(), 200, "what fits lands");
    sim.remove(&file("ballast")).unwrap();
    writer.append(&[&pattern(100)]).unwrap();
}

#[test]
fn the_same_seed_leaves_the_same_disk() {
    let run = |seed| {
        let sim = disk();
        for name in ["a", "b", "c", "d"] {
            sim.create(&file(name)).unwrap().append(&[&pattern(2000)]).unwrap();
        }
        let left = sim.reboot(seed);
        names(&left).into_iter().map(|name| (left.bytes(&file(&name)).unwrap(), name)).collect::<Vec<_>>()
    };
    for seed in 0..20 {
        assert_eq!(run(seed), run(seed));
    }
    assert_ne!((0..20).map(run).collect::<BTreeSet<_>>().len(), 1);
}
