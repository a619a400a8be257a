//! The README's table of ratios is what a run of `kiban ab` said: it is rendered from `benches/data/readme.json`,
//! which is made from that run's report.
//!
//! `just readme` measures, and writes both again: `KIBAN_README_FROM` names the report, `KIBAN_README_DATE` the day.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

const BEGIN: &str = "<!-- measured: benches/data/readme.json -->\n";
const END: &str = "<!-- end of measured -->\n";
const STAGES: [&str; 4] = ["point", "miss", "multiget", "latest"];
const INPUTS: [(&str, &str); 2] = [("file", "places"), ("w1", "W1")];
const READS: [&str; 2] = ["mmap", "pread"];

/// What the README tells of a report.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Measured {
    date: String,
    commit: String,
    cpu: String,
    cores: u64,
    kernel: String,
    file_system: String,
    command: String,
    rows: Vec<Row>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Row {
    shape: String,
    read: String,
    accessor: String,
    bytes_per_key: Option<f64>,
    /// In the order of [`STAGES`].
    cells: Vec<Cell>,
}

/// A p50 as a multiple of the floor's.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Cell {
    median: f64,
    min: f64,
    max: f64,
    noise_floor: f64,
}

impl Measured {
    fn of(report: &Value, date: String) -> Self {
        let told = &report["provenance"];
        let text = |name: &str| told[name].as_str().unwrap_or("unknown").to_owned();
        assert_eq!(told["dirty"], Value::Bool(false), "a report of a commit");
        let accessors = ["sorted", "ph4"];
        let mut rows = Vec::new();
        for (shape, _) in INPUTS {
            for read in READS {
                rows.extend(accessors.map(|accessor| Row::of(report, shape, read, accessor)));
            }
        }
        Self {
            date,
            commit: text("commit")[..7].to_owned(),
            cpu: text("cpu"),
            cores: told["cores"].as_u64().unwrap(),
            kernel: text("kernel").split('.').take(2).collect::<Vec<_>>().join("."),
            file_system: text("file_system"),
            command: "cargo run --release -p kiban-cli -- ab".to_owned(),
            rows,
        }
    }

    fn render(&self) -> String {
        let Self { date, commit, cpu, cores, kernel, file_system, command, rows } = self;
        let mut text = format!(
            "`{command}` on {date}, commit {commit}, {cpu}, {cores} cores, Linux {kernel}, {file_system}:\n\n\
             | input, read by | index | hit | miss | 100 keys by `multi_get`, a key | ten greatest keys of a group |\n\
             |---|---|---|---|---|---|\n"
        );
        for row in rows {
            let (_, input) = INPUTS.iter().find(|(shape, _)| *shape == row.shape).unwrap();
            let first =
                if row.accessor == "sorted" { format!("{input}, {}", row.read) } else { String::new() };
            let name = if row.accessor == "sorted" { "sorted" } else { &format!("`{}`", row.accessor) };
            write!(text, "| {first} | {name} |").unwrap();
            for Cell { median, min, max, .. } in &row.cells {
                write!(text, " {} [{}-{}] |", short(*median), short(*min), short(*max)).unwrap();
            }
            text.push('\n');
        }
        let floors = rows.iter().flat_map(|row| &row.cells).map(|cell| cell.noise_floor * 100.0);
        let (least, most) =
            floors.fold((f64::MAX, 0.0_f64), |(least, most), one| (least.min(one), most.max(one)));
        let sizes: Vec<String> = rows
            .iter()
            .filter(|row| row.read == "mmap")
            .filter_map(|row| row.bytes_per_key)
            .map(short)
            .collect();
        writeln!(
            text,
            "\nNoise floors: {} to {} %. `ph4` takes {} bytes a key.",
            short(least),
            short(most),
            sizes.join(" and ")
        )
        .unwrap();
        text
    }
}

impl Row {
    fn of(report: &Value, shape: &str, read: &str, accessor: &str) -> Self {
        let cells = report["cells"].as_array().unwrap();
        let cell = |stage: &str| {
            let is_it = |cell: &&Value| {
                [("shape", shape), ("read", read), ("accessor", accessor), ("stage", stage)]
                    .iter()
                    .all(|(field, wanted)| cell[field] == *wanted)
            };
            cells.iter().find(is_it).unwrap_or_else(|| panic!("no cell {shape} {read} {accessor} {stage}"))
        };
        let number = |value: &Value| value.as_f64().unwrap();
        let of_stage = |stage: &str| {
            let ratio = &cell(stage)["ratio_to"]["floor"]["p50"];
            Cell {
                median: number(&ratio["median"]),
                min: number(&ratio["min"]),
                max: number(&ratio["max"]),
                noise_floor: number(&cell(stage)["noise_floor"]),
            }
        };
        Self {
            shape: shape.to_owned(),
            read: read.to_owned(),
            accessor: accessor.to_owned(),
            bytes_per_key: cell("point")["bytes_per_key"].as_f64(),
            cells: STAGES.iter().map(|stage| of_stage(stage)).collect(),
        }
    }
}

/// Two digits.
fn short(number: f64) -> String {
    if number < 0.995 { format!("{number:.2}") } else { format!("{number:.1}") }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

#[test]
fn the_readme_tells_what_was_measured() {
    let (kept, readme) = (root().join("benches/data/readme.json"), root().join("README.md"));
    if let Some(report) = std::env::var_os("KIBAN_README_FROM") {
        let report: Value = serde_json::from_slice(&fs::read(report).unwrap()).unwrap();
        let date = std::env::var("KIBAN_README_DATE").expect("KIBAN_README_DATE is the day of the report");
        let measured = Measured::of(&report, date);
        fs::write(&kept, serde_json::to_string_pretty(&measured).unwrap() + "\n").unwrap();
        let text = fs::read_to_string(&readme).unwrap();
        let (before, rest) = text.split_once(BEGIN).unwrap();
        let (_, after) = rest.split_once(END).unwrap();
        fs::write(&readme, [before, BEGIN, &measured.render(), END, after].concat()).unwrap();
    }
    let measured: Measured = serde_json::from_slice(&fs::read(kept).unwrap()).unwrap();
    assert_eq!(measured.rows.len(), 8);
    let text = fs::read_to_string(readme).unwrap();
    let shown = text.split_once(BEGIN).and_then(|(_, rest)| rest.split_once(END)).map(|(shown, _)| shown);
    assert_eq!(shown, Some(measured.render().as_str()), "README.md differs; `just readme` writes it");
}
