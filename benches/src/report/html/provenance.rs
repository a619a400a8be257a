//! Where the numbers come from, and how they are to be read.

use super::html;
use crate::report::Report;
use crate::report::number::{ABSENT, digits, time};

/// Facts of the run as a list.
pub(super) fn section(report: &Report) -> String {
    let p = &report.provenance;
    let text = |text: &Option<String>| text.clone().unwrap_or("unknown".to_owned());
    let share =
        |share: Option<f64>| share.map_or("unknown".to_owned(), |part| format!("{:.1} %", part * 100.0));
    let load = |load: Option<f64>| load.map_or("unknown".to_owned(), digits);
    let state = match p.dirty {
        Some(true) => ", with changes",
        Some(false) => ", without changes",
        None => "",
    };
    let clock = &p.clock;
    let facts = [
        ("Command", p.command.join(" ")),
        ("Program", format!("kiban {}, commit {}{state}", p.version, text(&p.commit))),
        ("XXH3 of the program", text(&p.binary_xxh3)),
        ("Input file", p.input.clone().unwrap_or(ABSENT.to_owned())),
        ("Seed", p.seed.to_string()),
        ("Processor", text(&p.cpu)),
        ("Cores", p.cores.map_or("unknown".to_owned(), |cores| cores.to_string())),
        ("Kernel", text(&p.kernel)),
        ("File system", text(&p.file_system)),
        ("Allocator", p.allocator.clone()),
        (
            "Clock",
            format!(
                "{}, steps of {}, adds {} to each timed call (not taken off)",
                clock.name,
                time(clock.step_ns),
                time(clock.cost_ns)
            ),
        ),
        ("Measured thread", if p.pinned { "held on a core" } else { "not held on a core" }.to_owned()),
        ("Time box", time(p.time_box_s * 1e9)),
        ("Ran for", p.elapsed_s.map_or("unknown".to_owned(), |elapsed| time(elapsed * 1e9))),
        (
            "Load average",
            format!("{} before, {} after", load(p.load_average_before), load(p.load_average_after)),
        ),
        ("Taken by the hypervisor", format!("{} at most", share(p.steal_max))),
        ("Used by other processes", format!("{} at most", share(p.other_cpu_max))),
        ("Answers checked in full", report.checked().to_string()),
    ];
    let facts: String =
        facts.iter().map(|(name, fact)| format!("<dt>{name}</dt><dd>{}</dd>\n", html(fact))).collect();
    format!("<dl>\n{facts}</dl>\n{}{}", settings(report), about(report))
}

/// The engine's settings as they are.
fn settings(report: &Report) -> String {
    let json = serde_json::to_string_pretty(&report.provenance.settings).unwrap_or_default();
    let lines: Vec<String> = json.lines().map(html).collect();
    format!("<details><summary>Settings of the engine</summary><pre>{}</pre></details>\n", lines.join("\n"))
}

/// How to read it, and how other stores are used.
fn about(report: &Report) -> String {
    let notes: String = report.about().iter().map(|note| format!("<li>{}</li>", html(note))).collect();
    format!("<h3>How to read it</h3>\n<ul class=\"plain\">{notes}</ul>\n")
}

/// The last line of the page.
pub(super) fn footer(report: &Report) -> String {
    format!(
        "Rendered from ab.json alone by kiban {} (schema version {}). The page loads nothing.",
        html(env!("CARGO_PKG_VERSION")),
        report.schema_version
    )
}
