use std::sync::Arc;

use kiban_formats::{FormatError, Level};
use proptest::prelude::*;

use super::*;
use crate::contract::*;
use crate::{Accessor, AccessorFormat, Registry};

/// A format with one parameter; it builds nothing.
#[derive(Debug)]
struct Named(&'static str);

impl AccessorFormat for Named {
    fn id(&self) -> FormatId {
        FormatId::of_name(self.0)
    }

    fn name(&self) -> &str {
        self.0
    }

    fn check_params(&self, params: &Params) -> Result<(), String> {
        match params.keys().find(|name| *name != "interpolation") {
            None => Ok(()),
            Some(name) => Err(format!("format `{}` has no parameter `{name}`", self.0)),
        }
    }

    fn plan(&self, _: &TableShape, _: &Params) -> Plan {
        Plan::Decline("a name only".into())
    }

    fn builder(&self, _: &TableShape, _: &Params, _: u64) -> Result<Box<dyn AccessorBuilder>, Declined> {
        Err(Declined::new("a name only"))
    }

    fn open(&self, file: AccessorFile, _: Residency) -> Result<Accessor, FormatError> {
        Err(file.section("none").expect_err("a file without sections"))
    }
}

/// Two formats of somebody else.
fn registry() -> Registry {
    let mut registry = Registry::default();
    registry.register(Arc::new(Named("hash"))).unwrap();
    registry.register(Arc::new(Named("tree"))).unwrap();
    registry
}

fn shape(level: u8, table_bytes: u64, keys: u64) -> TableShape {
    TableShape { level: Level(level), table_bytes, keys, ..TableShape::default() }
}

/// The error of a text, as it is shown.
fn error(text: &str) -> String {
    IndexPolicy::from_toml(text).expect_err(text).to_string()
}

#[test]
fn the_first_rule_that_matches_wins() {
    let policy = IndexPolicy::from_toml(
        r#"
        [[rule]]
        levels = "0-1"
        max_table_bytes = "64MiB"
        build = ["ph4", { format = "btree", interpolation = "auto" }]
        require = true
        [[rule]]
        min_level = 1
        min_keys = 10
        max_keys = 20
        build = ["btree"]
        residency = "mapped"
        "#,
    )
    .unwrap();
    let rule = |level, bytes, keys| policy.wanted(&shape(level, bytes, keys)).rule;
    assert_eq!(rule(0, 0, 0), Some(1));
    assert_eq!(rule(1, 64 << 20, 15), Some(1), "the bounds belong to the range, the first rule wins");
    assert_eq!(rule(1, (64 << 20) + 1, 15), Some(2));
    assert_eq!(
        (rule(2, 0, 9), rule(2, 0, 10), rule(2, 0, 20), rule(2, 0, 21)),
        (None, Some(2), Some(2), None)
    );
    assert_eq!(rule(0, (64 << 20) + 1, 15), None);

    let first = policy.wanted(&shape(0, 1, 1));
    let params = Params::from([("interpolation".to_owned(), ParamValue::from("auto"))]);
    assert_eq!(first.formats, [("ph4".to_owned(), Params::new()), ("btree".to_owned(), params)]);
    assert!(first.require && first.residency == Residency::Auto);
    assert_eq!(
        first.rule_text,
        "levels 0-1, tables up to 64 MiB: build ph4 + btree { interpolation = \"auto\" }, residency auto, \
         required"
    );
    let second = policy.wanted(&shape(2, 1, 10));
    assert_eq!((second.residency, second.require), (Residency::Mapped, false));
    assert_eq!(second.rule_text, "levels from 1, keys 10-20: build btree, residency mapped");
    assert_eq!(policy.wanted(&shape(2, 0, 9)).rule_text, "no rule matches: build nothing");
}

#[test]
fn the_ready_made_policies_say_what_their_names_say() {
    let formats = |policy: IndexPolicy, bytes| policy.wanted(&shape(3, bytes, 1_000)).formats;
    let ph4 = vec![("ph4".to_owned(), Params::new())];
    assert_eq!(formats(IndexPolicy::auto(), 65 << 20), ph4, "a full table of the default size");
    assert_eq!(formats(IndexPolicy::auto(), 256 << 20), []);
    assert_eq!(formats(IndexPolicy::sorted_only(), 1), []);
    assert_eq!(formats(IndexPolicy::always("ph4"), u64::MAX), ph4);
    assert_eq!(IndexPolicy::default(), IndexPolicy::auto());
    assert_eq!(IndexPolicy::from_toml("").unwrap(), IndexPolicy::sorted_only());
}

#[test]
fn the_builder_says_the_same_as_text() {
    let rule = Rule::levels(0..=1).max_table_bytes(64 << 20).build("ph4").residency(Residency::Auto);
    let built = IndexPolicy::builder().rule(rule).rule(Rule::levels(2..4).build("btree")).build().unwrap();
    let text = r#"
        rule = [
            { levels = "0-1", max_table_bytes = "64MiB", build = ["ph4"], residency = "auto" },
            { min_level = 2, max_level = 3, build = [{ format = "btree" }], require = false },
        ]"#;
    assert_eq!(IndexPolicy::from_toml(text).unwrap(), built);
    assert_eq!(
        built.to_toml(),
        "allow_unknown_formats = false\n\n\
         [[rule]]\nlevels = \"0-1\"\nmax_table_bytes = \"64MiB\"\nbuild = [\"ph4\"]\nresidency = \"auto\"\n\
         require = false\n\n\
         [[rule]]\nlevels = \"2-3\"\nbuild = [\"btree\"]\nresidency = \"auto\"\nrequire = false\n\n\
         [admission]\nmax_fraction_of_cache = 0.5\nhysteresis = 0.2\n"
    );
    let impossible =
        |rule| IndexPolicy::builder().rule(Rule::any()).rule(rule).build().unwrap_err().to_string();
    #[expect(clippy::reversed_empty_ranges, reason = "what is refused")]
    let backwards = Rule::levels(3..=2);
    for rule in [backwards, Rule::levels(0..0), Rule::any().min_keys(2).max_keys(1)] {
        assert!(impossible(rule).starts_with("rule 2, min_"));
    }
    assert!(impossible(Rule::any().max_keys(u64::MAX)).starts_with("rule 2, max_keys: 184467"));
}

#[test]
fn every_error_names_the_rule_the_field_and_what_is_allowed() {
    let rule = |fields: &str| error(&format!("[[rule]]\nbuild = []\n[[rule]]\n{fields}"));
    for (fields, place, allowed) in [
        ("build = []\nbiuld = []", "rule 2, biuld: there is no such field", "`require`"),
        ("", "rule 2, build: it is missing", "[] for none"),
        ("build = 'ph4'", "rule 2, build: \"ph4\" is no list", "allowed"),
        ("build = ['ph4', 4]", "rule 2, build[1]: 4 is no format", "a format's name"),
        ("build = ['ph4', 'ph4']", "rule 2, build[1]: format `ph4` is there twice", "once"),
        ("build = [{ x = 1 }]", "rule 2, build[0].format: it is missing", "a format's name"),
        ("build = [{ format = 1 }]", "rule 2, build[0].format: 1 is no name", "in quotes"),
        ("build = [{ format = 'a', x = 1.5 }]", "rule 2, build[0].x: 1.5 is no parameter", "whole numbers"),
        ("build = []\nlevels = '1-0'", "rule 2, levels: \"1-0\" is no range", "0 to 255"),
        ("build = []\nlevels = '0-256'", "rule 2, levels: \"0-256\"", "0 to 255"),
        ("build = []\nlevels = '0'\nmax_level = 1", "rule 2, levels: it is there beside", "or the other"),
        ("build = []\nmin_level = 3\nmax_level = 2", "rule 2, min_level: 3 is above", "0 to 2"),
        ("build = []\nmax_table_bytes = '64MB'", "rule 2, max_table_bytes: \"64MB\" is no size", "MiB"),
        ("build = []\nmin_table_bytes = '1025TiB'", "rule 2, min_table_bytes: \"1025TiB\"", "1024TiB"),
        ("build = []\nmin_table_bytes = 2\nmax_table_bytes = 1", "rule 2, min_table_bytes: 2", "0 to 1"),
        ("build = []\nmax_keys = 1e3", "rule 2, max_keys: 1000.0 is no count of keys", "whole numbers"),
        ("build = []\nresidency = 'heap'", "rule 2, residency: \"heap\" is no residency", "\"mapped\""),
        ("build = []\nrequire = 1", "rule 2, require: 1 is neither", "true and false"),
    ] {
        let shown = rule(fields);
        assert!(shown.starts_with(place), "{shown}");
        assert!(shown.contains("allowed"), "{shown}");
        assert!(shown.contains(allowed), "{shown}");
    }
    assert!(error("rules = []").starts_with("rules: there is no such field; allowed are"));
    assert!(error("rule = 1").starts_with("rule: 1 is no list"));
    assert!(error("rule = [1]").starts_with("rule 1: 1 is no table"));
    assert!(error("[admission]\nhysteresis = 1.5").starts_with("admission.hysteresis: 1.5 is no fraction"));
    assert!(error("[admission]\nmax_fraction_of_cache = nan").contains("NaN is no fraction"));
    assert!(error("[admission]\nfraction = 1").starts_with("admission.fraction: there is no such field"));
    assert!(error("\n\nrule = [").starts_with("the text is no TOML, line 3: "));
    let json = serde_json::from_str::<IndexPolicy>(r#"{ "rule": [], "rule": [] }"#);
    assert!(json.unwrap_err().to_string().starts_with("`rule` is there twice"));
}

#[test]
fn text_that_is_nested_deep_is_refused() {
    for (open, inner, close) in [("[", "", "]"), ("{ a = ", "1", "}")] {
        error(&format!("rule = {}{inner}{}", open.repeat(50_000), close.repeat(50_000)));
        error(&format!("rule = {}", open.repeat(50_000)));
    }
    error(&format!("{}a = 1", "a.".repeat(50_000)));
    error(&format!("[{}a]", "a.".repeat(50_000)));
    let json = format!("{}{}", "[".repeat(50_000), "]".repeat(50_000));
    serde_json::from_str::<IndexPolicy>(&json).unwrap_err();
}

#[test]
fn formats_and_their_parameters_are_looked_up_when_a_store_asks() {
    let checked =
        |text: &str| IndexPolicy::from_toml(text).unwrap().check(&registry()).map_err(|it| it.to_string());
    let known = "[[rule]]\nbuild = ['hash', { format = 'tree', interpolation = 'auto' }]\n";
    assert_eq!(checked(known), Ok(()));
    let unknown = format!("{known}[[rule]]\nbuild = ['ph5']");
    assert_eq!(checked(&unknown), Err("rule 2, build[0]: no format `ph5` is registered".into()));
    assert_eq!(checked(&format!("allow_unknown_formats = true\n{unknown}")), Ok(()));
    let wrong = format!(
        "allow_unknown_formats = true\n{known}[[rule]]\nbuild = ['tree', {{ format = 'hash', x = 1 }}]"
    );
    assert_eq!(checked(&wrong), Err("rule 2, build[1]: format `hash` has no parameter `x`".into()));
}

#[test]
fn sizes_are_read_in_powers_of_two_and_written_in_the_largest_unit() {
    let sizes = [("64MiB", 64 << 20), ("64 MiB", 64 << 20), ("3KiB", 3072), ("0B", 0), ("1TiB", 1 << 40)];
    assert_eq!(sizes.map(|(text, _)| size::parse(text)), sizes.map(|(_, bytes)| Some(bytes)));
    for wrong in ["", "64", "MiB", "-1B", "1.5MiB", "64mib", "1  KiB", "99999999999999999999B", "99999999TiB"]
    {
        assert_eq!(size::parse(wrong), None, "{wrong}");
    }
    assert_eq!(
        [0, 1, 1024, 1025, 5 << 30].map(size::exact),
        [(0, "B"), (1, "B"), (1, "KiB"), (1025, "B"), (5, "GiB")]
    );
}

#[test]
fn the_budget_is_a_part_of_the_cache() {
    let admission = |max_fraction_of_cache| Admission { max_fraction_of_cache, ..Admission::default() };
    assert_eq!(admission(0.5).budget(33 << 20).bytes, 33 << 19);
    assert_eq!(admission(0.0).budget(u64::MAX).bytes, 0);
    assert_eq!(admission(1.0).budget(u64::MAX).bytes, u64::MAX);
}

prop_compose! {
    fn bounds(most: u64)(a in prop::option::of(0..=most), b in prop::option::of(0..=most)) -> bounds::Bounds {
        match (a, b) {
            (Some(a), Some(b)) => bounds::Bounds { min: Some(a.min(b)), max: Some(a.max(b)) },
            (min, max) => bounds::Bounds { min, max },
        }
    }
}

fn any_param() -> impl Strategy<Value = ParamValue> {
    prop_oneof![
        any::<bool>().prop_map(ParamValue::Bool),
        any::<i64>().prop_map(ParamValue::Int),
        any::<String>().prop_map(ParamValue::Text),
    ]
}

fn any_builds() -> impl Strategy<Value = Vec<Build>> {
    let name = prop_oneof!["[a-z][a-z0-9_]{1,15}", any::<String>()];
    let params = prop::collection::btree_map(any::<String>(), any_param(), 0..3).prop_map(|mut params| {
        params.remove("format");
        params
    });
    prop::collection::btree_map(name, params, 0..3)
        .prop_map(|builds| builds.into_iter().map(|(format, params)| Build { format, params }).collect())
}

prop_compose! {
    fn any_rule()(
        levels in bounds(rule::LEVEL_MAX),
        table_bytes in bounds(rule::BYTES_MAX),
        keys in bounds(rule::KEYS_MAX),
        builds in any_builds(),
        residency in prop::sample::select(vec![
            Residency::Auto, Residency::Resident, Residency::Mapped, Residency::Off,
        ]),
        require in any::<bool>(),
    ) -> Rule {
        Rule { levels, table_bytes, keys, builds, residency, require }
    }
}

prop_compose! {
    /// Fractions are thousandths: JSON's reader rounds long ones.
    fn any_policy()(
        rules in prop::collection::vec(any_rule(), 0..4),
        fraction in 0..=1000_u32,
        hysteresis in 0..=1000_u32,
        allow in any::<bool>(),
    ) -> IndexPolicy {
        let thousandths = |count: u32| f64::from(count) / 1000.0;
        let admission =
            Admission { max_fraction_of_cache: thousandths(fraction), hysteresis: thousandths(hysteresis) };
        let policy = IndexPolicy::builder().admission(admission).allow_unknown_formats(allow);
        rules.into_iter().fold(policy, |policy, rule| policy.rule(rule)).build().unwrap()
    }
}

/// Text that is often nearly a policy.
fn any_text() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "[[rule]]\n",
        "[rule]\n",
        "[admission]\n",
        "rule = [",
        "build = [",
        "]",
        "{",
        "}",
        ", ",
        "\n",
        " = ",
        "levels = \"0-",
        "\"",
        "min_level = ",
        "max_table_bytes = ",
        "\"64MiB\"\n",
        "format = \"ph4\"",
        "build = []\n",
        "residency = \"auto\"\n",
        "hysteresis = ",
        "nan",
        "-",
        "9",
        "99999999999",
        ".",
        "1979-05-27T07:32:00Z",
        "'''",
    ]);
    prop_oneof![any::<String>(), prop::collection::vec(words, 0..24).prop_map(|words| words.concat())]
}

proptest! {
    #[test]
    fn a_policy_is_the_same_after_toml_and_json(policy in any_policy()) {
        let text = policy.to_toml();
        prop_assert_eq!(IndexPolicy::from_toml(&text), Ok(policy.clone()), "{}", text);
        let through_serde: IndexPolicy = toml::from_str(&toml::to_string(&policy).unwrap()).unwrap();
        prop_assert_eq!(&through_serde, &policy);
        let json = serde_json::to_string(&policy).unwrap();
        prop_assert_eq!(&serde_json::from_str::<IndexPolicy>(&json).unwrap(), &policy, "{}", json);
    }

    #[test]
    fn no_text_makes_it_panic_and_what_is_read_is_written_back(text in any_text()) {
        if let Ok(policy) = IndexPolicy::from_toml(&text) {
            prop_assert_eq!(IndexPolicy::from_toml(&policy.to_toml()), Ok(policy));
        }
        let _ = serde_json::from_str::<IndexPolicy>(&text);
    }

    #[test]
    fn a_text_cut_or_changed_anywhere_is_refused_or_read(policy in any_policy(), at in any::<prop::sample::Index>()) {
        let text: Vec<char> = policy.to_toml().chars().collect();
        let at = at.index(text.len());
        let cut: String = text[..at].iter().collect();
        let changed: String = text[..at].iter().chain(&['9']).chain(&text[at + 1..]).collect();
        for text in [cut, changed] {
            if let Ok(read) = IndexPolicy::from_toml(&text) {
                prop_assert_eq!(IndexPolicy::from_toml(&read.to_toml()), Ok(read));
            }
        }
    }
}
