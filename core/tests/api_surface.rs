//! The public names and shapes that programs outside this repository compile against.

use std::ops::Deref;
use std::sync::Arc;

use kiban::{
    Cursor, Db, DbBuilder, Durability, Error, ErrorKind, Event, IndexPolicy, Iter, Key, Keyspace,
    KeyspaceOptions, ReindexReport, Residency, Result, Rule, Settings, Snapshot, Stats, TableIndexReport,
    Value, VerifyReport, WriteBatch,
};

fn is_handle<T: Clone + Send + Sync + 'static>() {}
fn is_bytes<T>()
where
    T: Deref<Target = [u8]> + AsRef<[u8]> + Into<Vec<u8>> + std::fmt::Debug + Clone + Send + Sync + 'static,
    T: Ord + PartialEq<[u8]> + PartialOrd<[u8]> + for<'a> PartialEq<&'a [u8]>,
{
}
fn is_report<T: serde::Serialize + std::fmt::Debug + Clone>() {}

#[test]
fn handles_bytes_and_reports_are_what_they_are_said_to_be() {
    is_handle::<Db>();
    is_handle::<Keyspace>();
    is_handle::<Snapshot>();
    is_bytes::<Key>();
    is_bytes::<Value>();
    is_report::<Stats>();
    is_report::<VerifyReport>();
    is_report::<TableIndexReport>();
    is_report::<ReindexReport>();
    is_report::<Event>();
    is_report::<Settings>();
    fn is_iter<I: DoubleEndedIterator<Item = Result<(Key, Value)>> + Send + 'static>() {}
    is_iter::<Iter>();
    fn is_send<T: Send>() {}
    is_send::<Cursor>();
    is_send::<WriteBatch>();
    assert_eq!(size_of::<Error>(), size_of::<usize>());
}

/// Of what may have more fields and variants, those that programs name.
#[test]
fn reports_events_and_errors_have_the_fields_that_programs_read() -> Result<()> {
    fn fields(report: &VerifyReport, table: &TableIndexReport, event: &Event) -> usize {
        let VerifyReport { files: _, bytes: _, problems, .. } = report;
        let places = problems.iter().map(|problem| (&problem.file, &problem.section, problem.offset));
        let TableIndexReport { keyspace: _, level: _, table: _, bytes: _, keys: _, rule, active, .. } = table;
        let sidecars = table.sidecars.iter().map(|one| (&one.format, one.bytes, one.residency, &one.state));
        let told = match event {
            Event::Flush { .. } | Event::Compaction { .. } | Event::AccessorBuilt { .. } => 0,
            Event::AccessorRefused { file, reason, .. } => file.as_os_str().len() + reason.len(),
            Event::Recovered { records, truncated_bytes, .. } => (records + truncated_bytes) as usize,
            Event::WriteStall { .. } | Event::BackgroundError { .. } => 1,
            _ => 2,
        };
        places.count() + sidecars.count() + rule.len() + active.len() + table.reason.len() + told
    }
    let _: fn(&VerifyReport, &TableIndexReport, &Event) -> usize = fields;
    let kinds = [
        ErrorKind::NotFound,
        ErrorKind::InvalidArgument,
        ErrorKind::Locked,
        ErrorKind::Unsupported,
        ErrorKind::Corruption,
        ErrorKind::Io,
        ErrorKind::WritesHalted,
        ErrorKind::Conflict,
        ErrorKind::ReadOnly,
        ErrorKind::Closed,
    ];
    assert!(kinds.iter().enumerate().all(|(no, kind)| !kinds[..no].contains(kind)));
    let dir = tempfile::tempdir().unwrap();
    let db = Db::builder(dir.path()).index_policy(IndexPolicy::always("ph4")).open()?;
    for counts in db.stats().accessors.values() {
        let asked = [counts.tables, counts.lookups, counts.hits, counts.absent, counts.false_positives];
        let rest = [counts.refuted, counts.unknown, counts.fallbacks];
        let bytes = [counts.resident_bytes, counts.mapped_bytes];
        assert!(asked.iter().chain(&rest).chain(&bytes).all(|count| *count == 0));
    }
    Ok(())
}

/// Flat, with these names and defaults; what programs and stored bench results rely on.
#[test]
fn settings_have_the_names_and_defaults_of_the_api_page() {
    let json = serde_json::to_value(Settings::default()).unwrap();
    let mebi = 1_u64 << 20;
    for (name, default) in [
        ("cache_bytes", serde_json::json!(64 * mebi)),
        ("memtable_bytes", serde_json::json!(16 * mebi)),
        ("memtables_total_bytes", serde_json::json!(64 * mebi)),
        ("table_bytes", serde_json::json!(64 * mebi)),
        ("level_ratio", serde_json::json!(10)),
        ("level0_tables", serde_json::json!(4)),
        ("level0_stall_tables", serde_json::json!(20)),
        ("mmap_max_level", serde_json::Value::Null),
        ("read_ahead", serde_json::json!(true)),
        ("filter_bits_per_key", serde_json::json!(10)),
        ("durability", serde_json::json!("Buffered")),
        ("recovery", serde_json::json!("Strict")),
        ("log_bytes_max", serde_json::json!(256 * mebi)),
        ("build_bytes", serde_json::json!(32 * mebi)),
        ("absent_check_every", serde_json::json!(64)),
    ] {
        assert_eq!(json.get(name), Some(&default), "{name}");
    }
    for name in ["background_threads", "open_files_max"] {
        assert!(json.get(name).is_some_and(|value| value.as_u64().is_some_and(|value| value >= 1)), "{name}");
    }
}

#[test]
fn every_call_of_the_api_page_compiles_and_works() -> Result<()> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store");
    drop(Db::open(&path)?);
    let builder: DbBuilder = Db::builder(&path);
    let db = builder
        .cache_bytes(32 << 20)
        .memtable_bytes(4 << 20)
        .mmap_max_level(Some(u32::MAX))
        .index_policy(IndexPolicy::sorted_only())
        .durability(Durability::Buffered)
        .on_event(Arc::new(|_: &Event| {}))
        .create_if_missing(true)
        .read_only(false)
        .settings(Settings { cache_bytes: 1 << 20, ..Settings::default() })
        .open()?;
    let ks = db.keyspace("name")?;
    db.keyspace_with("other", KeyspaceOptions::default().index_policy(IndexPolicy::sorted_only()))?;
    let _: Keyspace = db.default_keyspace();
    let _: Vec<String> = db.keyspaces()?;

    ks.put("k", b"v")?;
    ks.delete(b"gone")?;
    ks.put_with("durable", vec![1], Durability::Sync)?;
    ks.delete_with("gone", Durability::Sync)?;
    let mut b = WriteBatch::new();
    b.expect(&ks, "k", Some(b"v"));
    b.expect(&ks, "none", None);
    b.put(&ks, "k", "w");
    b.delete(&ks, "durable");
    assert_eq!((b.len(), b.is_empty(), b.byte_len() > 0), (2, false, true));
    let mut cleared = b.clone();
    cleared.clear();
    db.write(cleared)?;
    db.write(b.clone())?;
    assert_eq!(db.write_with(b, Durability::Sync).unwrap_err().kind(), ErrorKind::Conflict);
    db.sync()?;

    let _: Option<Value> = ks.get("k")?;
    let _: bool = ks.contains("k")?;
    let _: Vec<Option<Value>> = ks.multi_get(&["k", "l"])?;
    let _: Vec<_> = ks.iter().chain(ks.range("a".."z")).chain(ks.prefix("k")).collect::<Result<_>>()?;
    ks.ingest([("x", "1"), ("y", "2")])?;
    let mut cursor: Cursor = ks.cursor_in("a".."z");
    let moved: [bool; 8] = [
        cursor.seek("k")?,
        cursor.seek_for_prev("k")?,
        cursor.next()?,
        cursor.prev()?,
        cursor.first()?,
        cursor.last()?,
        cursor.seek_lt("y")?,
        cursor.valid(),
    ];
    assert!(moved.iter().all(|moved| *moved));
    let (_, _): (&[u8], &[u8]) = (cursor.key(), cursor.value());
    let (_, _): (Key, Value) = cursor.to_owned();
    let _: Cursor = ks.cursor();
    let snap = db.snapshot();
    let _ = (snap.get(&ks, "k")?, snap.contains(&ks, "k")?, snap.multi_get(&ks, &["k"])?);
    let _: (Iter, Iter, Iter) = (snap.iter(&ks), snap.range(&ks, "a".."b"), snap.prefix(&ks, "k"));
    let _: (Cursor, Cursor) = (snap.cursor(&ks), snap.cursor_in(&ks, "a".."b"));

    ks.flush()?;
    db.flush()?;
    ks.compact()?;
    ks.compact_range("a".."z")?;
    db.wait_idle()?;
    db.checkpoint(dir.path().join("copy"))?;
    let report: VerifyReport = db.verify()?;
    assert!(report.is_clean() && report.files > 0 && report.bytes > 0 && report.problems.is_empty());
    let report: ReindexReport = ks.reindex(IndexPolicy::sorted_only())?;
    assert_eq!((report.built, report.kept, report.dropped, report.declined), (0, 0, 0, 0));
    let tables: Vec<TableIndexReport> = ks.explain()?;
    assert_eq!(tables[0].active, "sorted");
    let _: (u64, u64) = (ks.approximate_len()?, ks.approximate_bytes("a".."z")?);
    let stats: Stats = db.stats();
    let _ = (stats.keyspaces, stats.memory, stats.accessors, stats.pages, stats.log_bytes);

    let policy = IndexPolicy::from_toml("[[rule]]\nlevels = \"0-1\"\nbuild = []\n")?;
    let _ = policy.to_toml();
    let rule = Rule::levels(0..=1).max_table_bytes(64 << 20).build("ph4").residency(Residency::Auto);
    let _: IndexPolicy = IndexPolicy::builder().rule(rule).build()?;
    let _ = (IndexPolicy::auto(), IndexPolicy::always("ph4"));
    ks.clear()?;
    db.drop_keyspace("other")?;
    let error: Error = db.drop_keyspace("other").unwrap_err();
    assert!(!error.is_disk_full() && std::error::Error::source(&error).is_none());
    db.close()
}
