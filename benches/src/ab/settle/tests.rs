//! Options as they come out, and the refusals.

use super::*;
use crate::input::Records;

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn refusal(options: &AbOptions) -> String {
    match options.settle() {
        Err(AbError::Usage(message)) => message,
        other => panic!("a usage error was expected, found {other:?}"),
    }
}

#[test]
fn defaults_are_the_file_and_w1_with_all_stages() {
    let settled = AbOptions::default().settle().unwrap();
    assert_eq!(settled.shapes, [Shape::File, Shape::W1]);
    assert_eq!(settled.stages, Stages::Reads { warm: Stage::DEFAULT.to_vec(), cold: Vec::new() });
    assert_eq!((settled.n, settled.layouts), (N_DEFAULT, vec![Layout::Bulk]));
    let names: Vec<&str> = settled.families.iter().map(Family::name).collect();
    assert_eq!(names, ACCESSORS_DEFAULT);
}

#[test]
fn an_input_of_ones_own_is_measured_alone() {
    let input = Some(Records::new("mine", [("a", "1")]).unwrap());
    let settled = AbOptions { input, ..AbOptions::default() }.settle().unwrap();
    assert_eq!(settled.shapes, [Shape::File]);
}

#[test]
fn what_is_not_built_is_refused_by_the_name_of_its_option() {
    let standard = AbOptions::default;
    let bad = [
        ("--accessors: `ph3` is not built", AbOptions { accessors: names(&["sorted", "ph3"]), ..standard() }),
        ("--accessors: `x` is not known", AbOptions { accessors: names(&["x"]), ..standard() }),
        ("--layout: `bulk` is named twice", AbOptions { layouts: names(&["bulk", "bulk"]), ..standard() }),
        ("--shape: `urls` is not known", AbOptions { shapes: names(&["urls"]), ..standard() }),
        ("--layout: `sorted` is not known", AbOptions { layouts: names(&["sorted"]), ..standard() }),
        ("--workload: `w4` is not built", AbOptions { workload: Some("w4".to_owned()), ..standard() }),
        ("--controls: `rocksdb` is not built", AbOptions { controls: names(&["rocksdb"]), ..standard() }),
        ("--stages: `scans` is not known", AbOptions { stages: names(&["scans"]), ..standard() }),
        (
            "--read: `direct` is not known; built: mmap, pread",
            AbOptions { reads: names(&["direct"]), ..standard() },
        ),
        ("--threads: 65 is not possible; allowed: 1 to 64", AbOptions { threads: vec![65], ..standard() }),
        ("--n: 0", AbOptions { n: Some(0), ..standard() }),
        ("--trials: 4", AbOptions { trials: Trials::Pairs(4), ..standard() }),
        ("--cache-mib:", AbOptions { cache_mib: vec![u64::MAX], ..standard() }),
    ];
    for (expected, options) in bad {
        let message = refusal(&options);
        assert!(message.starts_with(expected), "{message}");
    }
}

#[test]
fn w1_is_its_shape_and_w6_writes() {
    let workload = |name: &str| AbOptions { workload: Some(name.to_owned()), ..AbOptions::default() };
    let reads = workload("w1").settle().unwrap();
    assert_eq!(
        (reads.shapes, reads.stages),
        (vec![Shape::W1], Stages::Reads { warm: Stage::DEFAULT.to_vec(), cold: Vec::new() })
    );
    let writes = workload("w6").settle().unwrap();
    assert_eq!(writes.stages, Stages::Writes(WriteStage::ALL.to_vec()));
    assert_eq!((writes.shapes, writes.reads), (vec![Shape::W1], vec![ReadMode::Mmap]));
    let message = refusal(&AbOptions { stages: names(&["point"]), ..workload("w6") });
    assert!(message.starts_with("--stages: `point` is not known; built: write_buffered"), "{message}");
    let message = refusal(&AbOptions { shapes: names(&["file"]), ..workload("w1") });
    assert!(message.starts_with("--workload: `w1`"), "{message}");
}

#[test]
fn cold_is_two_stages_with_each_advice_and_only_if_it_is_named() {
    let cold = |stages: &[&str], advice: &[&str]| AbOptions {
        stages: names(stages),
        advice: names(advice),
        ..AbOptions::default()
    };
    let both = |advice| ColdStage::ALL.map(|stage| (advice, stage));
    let settled = cold(&["cold", "miss"], &[]).settle().unwrap();
    assert_eq!(
        settled.stages,
        Stages::Reads { warm: vec![Stage::Miss], cold: both(Advice::Random).to_vec() }
    );
    let settled = cold(&["cold"], &["default", "random"]).settle().unwrap();
    let cold_stages = [both(Advice::Default), both(Advice::Random)].concat();
    assert_eq!(settled.stages, Stages::Reads { warm: Vec::new(), cold: cold_stages });
    assert_eq!(settled.stages_an_input(), 8);
    assert!(refusal(&cold(&["point"], &["random"])).starts_with("--advice: it is for the stage `cold`"));
}

#[test]
fn a_pinned_thread_reads_alone() {
    let pinned = |threads: &[u32]| AbOptions { pin: true, threads: threads.into(), ..AbOptions::default() };
    assert!(refusal(&pinned(&[1, 4])).starts_with("--pin: "));
    assert!(pinned(&[1]).settle().is_ok() && pinned(&[]).settle().is_ok());
}

#[test]
fn shapes_are_named_one_by_one_or_all() {
    let shapes = |shapes: &[&str]| AbOptions { shapes: names(shapes), ..AbOptions::default() }.settle();
    assert_eq!(shapes(&["path", "w1"]).unwrap().shapes, [Shape::Keys(KeyShape::Path), Shape::W1]);
    assert_eq!(shapes(&["all"]).unwrap().shapes.len(), 2 + KeyShape::ALL.len());
}

#[test]
fn w3_has_layouts_and_threads_of_its_own_and_no_other_stores() {
    let w3 = || AbOptions { workload: Some("w3".to_owned()), ..AbOptions::default() };
    let settled = w3().settle().unwrap();
    assert_eq!(settled.stages, Stages::Upkeep(UpkeepStage::ALL.to_vec()));
    assert_eq!((settled.n, &*settled.threads, settled.stages_an_input()), (N_UPKEEP, &[1, 2][..], 4));
    let one = AbOptions { threads: vec![3], stages: names(&["compact"]), n: Some(7), ..w3() };
    assert_eq!(one.settle().unwrap().stages_an_input(), 1);
    let bad = [
        ("--layout: w3 has layouts of its own", AbOptions { layouts: names(&["bulk"]), ..w3() }),
        ("--threads: 0 is not possible", AbOptions { threads: vec![1, 0], ..w3() }),
        ("--threads: 2 is named twice", AbOptions { threads: vec![2, 2], ..w3() }),
        (
            "--stages: `point` is not known; built: flush, compact",
            AbOptions { stages: names(&["point"]), ..w3() },
        ),
    ];
    for (expected, options) in bad {
        let message = refusal(&options);
        assert!(message.starts_with(expected), "{message}");
    }
    #[cfg(feature = "controls")]
    assert!(refusal(&AbOptions { controls: names(&["lmdb"]), ..w3() }).starts_with("--controls: w3"));
}

#[test]
fn options_that_no_shape_asks_for_are_refused() {
    let input = || Some(Records::new("mine", [("a", "1")]).unwrap());
    let unread = AbOptions { input: input(), shapes: names(&["w1"]), ..AbOptions::default() };
    assert!(refusal(&unread).starts_with("--input: it is not read"));
    let uncounted = AbOptions { input: input(), n: Some(5), ..AbOptions::default() };
    assert!(refusal(&uncounted).starts_with("--n: it is for generated shapes"));
    let shipped = AbOptions { shapes: names(&["file"]), n: Some(5), ..AbOptions::default() };
    assert!(refusal(&shipped).starts_with("--n: "));
    let both =
        AbOptions { input: input(), n: Some(5), shapes: names(&["file", "w1"]), ..AbOptions::default() };
    assert_eq!(both.settle().unwrap().n, 5);
}

#[cfg(feature = "controls")]
#[test]
fn lmdb_is_read_in_two_ways_and_written_in_one() {
    let named = |workload: &str| {
        let workload = Some(workload.to_owned());
        let options = AbOptions { controls: names(&["lmdb", "fjall"]), workload, ..AbOptions::default() };
        let families = options.settle().unwrap().families;
        families.iter().map(|family| family.name().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(named("w1"), ["sorted", "ph4", "control:lmdb", "control:lmdb-reused-txn", "control:fjall"]);
    assert_eq!(named("w6"), ["sorted", "control:lmdb", "control:fjall"]);
}

#[cfg(not(feature = "controls"))]
#[test]
fn a_control_that_is_not_built_in_is_refused_with_its_feature() {
    let message = refusal(&AbOptions { controls: names(&["lmdb"]), ..AbOptions::default() });
    assert_eq!(
        message,
        "--controls: `lmdb` is not built into this program; build it with `--features controls`"
    );
}
