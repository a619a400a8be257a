use proptest::prelude::*;

use super::*;

fn option(format: Option<&str>, residency: Residency, bytes: u64, cost: f64) -> PlanOption {
    PlanOption { format: format.map(str::to_owned), residency, bytes, cost }
}

fn table(no: u64, weight: f64, options: Vec<PlanOption>) -> TableFacts {
    TableFacts { table: FileNo(no), weight, options }
}

/// Sorted paged and resident, `ph4` mapped and resident, of a table of so many keys.
fn usual(no: u64, keys: u64) -> TableFacts {
    let options = vec![
        option(None, Residency::Mapped, 0, 900.0),
        option(None, Residency::Resident, keys * 2 / 5, 600.0),
        option(Some("ph4"), Residency::Mapped, 0, 500.0),
        option(Some("ph4"), Residency::Resident, keys * 5, 300.0),
    ];
    table(no, 1.0, options)
}

fn taken(decisions: &[Decision]) -> Vec<Option<usize>> {
    decisions.iter().map(|decision| decision.option).collect()
}

fn cost(tables: &[TableFacts], decisions: &[Decision]) -> f64 {
    let of = |(table, decision): (&TableFacts, &Decision)| {
        table.weight * table.options[decision.option.expect("an option of 0 bytes is there")].cost
    };
    tables.iter().zip(decisions).map(of).sum()
}

/// The least cost there is, by trying every combination.
fn optimum(tables: &[TableFacts], left: u64) -> f64 {
    let Some((table, rest)) = tables.split_first() else { return 0.0 };
    let fitting = table.options.iter().filter(|option| option.bytes <= left);
    let costs = fitting.map(|option| table.weight * option.cost + optimum(rest, left - option.bytes));
    costs.fold(f64::INFINITY, f64::min)
}

#[test]
fn small_tables_come_first_and_one_that_does_not_fit_stands_one_step_lower() {
    let tables = [usual(1, 1_000_000), usual(2, 100_000), usual(3, 600_000)];
    let decided = |bytes| plan(&tables, Budget { bytes });
    assert_eq!(taken(&decided(0)), [Some(2), Some(2), Some(2)], "mapped asks for nothing");
    assert_eq!(taken(&decided(500_000)), [Some(2), Some(3), Some(2)]);
    assert_eq!(taken(&decided(3_500_000)), [Some(2), Some(3), Some(3)]);
    assert_eq!(taken(&decided(8_500_000)), [Some(3), Some(3), Some(3)]);
    let reasons: Vec<_> = decided(3_600_000).into_iter().map(|decision| decision.reason).collect();
    assert_eq!(
        reasons,
        [
            "ph4 mapped: 5.0 MB asked, 100.0 kB left",
            "ph4 resident: 500.0 kB, none is cheaper",
            "ph4 resident: 3.0 MB, none is cheaper",
        ]
    );
}

#[test]
fn a_table_that_is_read_more_goes_before_a_smaller_one() {
    let tables = [usual(1, 100_000), TableFacts { weight: 20.0, ..usual(2, 1_000_000) }];
    assert_eq!(taken(&plan(&tables, Budget { bytes: 5_000_000 })), [Some(2), Some(3)]);
}

#[test]
fn a_reason_names_the_option_that_asked_and_never_two_equal_numbers() {
    let steps = vec![
        option(None, Residency::Mapped, 0, 900.0),
        option(None, Residency::Resident, 1_000, 600.0),
        option(Some("btree"), Residency::Resident, 5_640_000, 400.0),
    ];
    let reason = |bytes| plan(&[table(1, 1.0, steps.clone())], Budget { bytes })[0].reason.clone();
    assert_eq!(reason(812), "sorted paged: 1.0 kB asked, 812 B left");
    assert_eq!(reason(2_001_000), "sorted resident: 5.6 MB more asked by btree resident, 2.0 MB left");
    assert_eq!(reason(5_639_999), "sorted resident: 5639000 B more asked by btree resident, 5638999 B left");
    assert_eq!(reason(u64::MAX), "btree resident: 5.6 MB, none is cheaper");
}

#[test]
fn odd_facts_are_passed_over_and_never_panic() {
    let odd = [
        table(1, f64::NAN, vec![option(None, Residency::Mapped, 0, 1.0)]),
        table(2, 1.0, vec![]),
        table(
            3,
            1.0,
            vec![option(None, Residency::Mapped, 0, f64::NAN), option(None, Residency::Mapped, 0, 2.0)],
        ),
        table(
            4,
            f64::MAX,
            vec![option(None, Residency::Mapped, 0, f64::MAX), option(None, Residency::Resident, 1, 0.0)],
        ),
        table(5, 1.0, vec![option(None, Residency::Resident, u64::MAX, 1.0)]),
    ];
    let decisions = plan(&odd, Budget { bytes: 1 });
    assert_eq!(taken(&decisions), [Some(0), None, Some(1), Some(1), None]);
    assert!(
        decisions[4].reason.starts_with("no option: 18446744073.7 GB asked by sorted resident, 0 B left")
    );
    assert_eq!(plan(&[], Budget { bytes: 1 }), []);
}

#[test]
fn many_tables_are_planned_close_to_the_bound() {
    let tables: Vec<_> = (0..5_000).map(|no| usual(no, 1_000 + no * 7_919 % 1_000_000)).collect();
    let decisions = plan(&tables, Budget { bytes: 2_000_000_000 });
    let ladders: Vec<_> = tables.iter().map(Ladder::new).collect();
    let bound = relaxed::Relaxed::new(ladders.iter()).bound(2_000_000_000).cost;
    let found = cost(&tables, &decisions);
    assert!(bound <= found && found <= bound * 1.001, "{found} where the bound is {bound}");
}

#[test]
fn an_hull_step_has_a_lower_rate_than_the_one_before() {
    let costs = [(0, 100.0), (10, 90.0), (20, 50.0), (30, 49.0), (40, 10.0), (40, 5.0), (50, 60.0)];
    let options = costs.map(|(bytes, cost)| option(None, Residency::Resident, bytes, cost));
    let ladder = Ladder::new(&table(1, 1.0, options.to_vec()));
    let bytes: Vec<_> = ladder.rungs.iter().map(|rung| rung.bytes).collect();
    assert_eq!(
        bytes,
        [0, 10, 20, 30, 40],
        "the dearer of two equal sizes and the one that costs more are out"
    );
    let hull: Vec<_> = ladder.hull.iter().map(|&rung| ladder.rungs[rung].bytes).collect();
    assert_eq!(hull, [0, 20, 40]);
}

/// Tables as they come: options of any size and cost, the first one paged.
fn any_table() -> impl Strategy<Value = TableFacts> {
    let options = prop::collection::vec((0..1_000_u64, 1..1_000_u32), 1..=4);
    (options, 1..100_u32, 1..1_000_u32).prop_map(|(options, weight, paged)| {
        let paged = option(None, Residency::Mapped, 0, f64::from(paged));
        let others = options
            .into_iter()
            .map(|(bytes, cost)| option(Some("ph4"), Residency::Resident, bytes, f64::from(cost)));
        table(1, f64::from(weight), std::iter::once(paged).chain(others).collect())
    })
}

/// The plan is inside the budget, says the bytes of its options, and leaves no room for a better one.
fn check(tables: &[TableFacts], budget: Budget, decisions: &[Decision]) -> Result<(), TestCaseError> {
    let asked: u64 = decisions.iter().map(|decision| decision.bytes).sum();
    prop_assert!(asked <= budget.bytes, "{} of {}", asked, budget.bytes);
    for (table, decision) in tables.iter().zip(decisions) {
        let option = &table.options[decision.option.expect("one asks for nothing")];
        prop_assert_eq!(option.bytes, decision.bytes);
        let room = decision.bytes + (budget.bytes - asked);
        let better = table.options.iter().find(|other| other.bytes <= room && other.cost < option.cost);
        prop_assert_eq!(better, None, "there was room for it");
    }
    prop_assert_eq!(&plan(tables, budget)[..], decisions, "the same facts, another plan");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, ..ProptestConfig::default() })]

    #[test]
    fn a_plan_is_within_two_percent_of_the_optimum(
        tables in prop::collection::vec(any_table(), 1..=8),
        bytes in 0..4_000_u64,
    ) {
        let decisions = plan(&tables, Budget { bytes });
        check(&tables, Budget { bytes }, &decisions)?;
        let (found, best) = (cost(&tables, &decisions), optimum(&tables, bytes));
        prop_assert!(found <= best * 1.02, "{} where {} was to be had", found, best);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    #[test]
    fn plans_of_more_tables_than_are_searched_leave_nothing_that_fits(
        tables in prop::collection::vec(any_table(), 11..=60),
        bytes in 0..20_000_u64,
    ) {
        let decisions = plan(&tables, Budget { bytes });
        check(&tables, Budget { bytes }, &decisions)?;
        let ladders: Vec<_> = tables.iter().map(Ladder::new).collect();
        let bound = relaxed::Relaxed::new(ladders.iter()).bound(bytes).cost;
        let found = cost(&tables, &decisions);
        prop_assert!(bound * (1.0 - 1e-9) <= found, "{found} is below the bound {bound}");
    }
}
