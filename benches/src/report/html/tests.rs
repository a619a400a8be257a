use super::*;
use crate::report::{Cell, Status, TrialRow, sample};

/// How often a text comes.
fn count(page: &str, text: &str) -> usize {
    page.matches(text).count()
}

#[test]
fn every_figure_and_section_of_a_report_is_on_its_page() {
    let page = sample::wide().html();
    for (class, plots) in [("long forest", 2), ("ecdf", 6), ("pareto", 2), ("build", 1)] {
        assert_eq!(count(&page, &format!("<figure class=\"{class}\">")), plots, "{class}");
    }
    for id in ["figures", "ratios", "loses", "latency", "size", "build", "cells", "provenance"] {
        assert_eq!(count(&page, &format!("<h2 id=\"{id}\">")), 1, "{id}");
        assert_eq!(count(&page, &format!("href=\"#{id}\"")), 1, "{id}");
    }
    assert_eq!(count(&page, "<svg role=\"img\""), 11);
    assert_eq!(count(&page, "<desc "), 11);
    for told in [
        "2 of 36 cells FAILED",
        "1 of 36 cells PARTIAL",
        "FAILED: w1, 1,000,000 records, bulk, mmap, cache 64 MiB, miss: btree: wrong answer: key &quot;k17&quot;",
        "latest takes 1.30 times as long as sorted",
        "Fast 9",
    ] {
        assert!(page.contains(told), "{told}");
    }
}

#[test]
fn upkeep_has_a_section_of_its_own_and_no_empty_ones_beside_it() {
    let page = sample::upkeep().html();
    for (id, times) in [("upkeep", 1), ("figures", 1), ("cells", 0), ("latency", 0), ("loses", 0)] {
        assert_eq!(count(&page, &format!("<h2 id=\"{id}\">")), times, "{id}");
    }
    for told in
        ["1.020 [1.000-1.050]", "<td class=\"n\">2.50</td>", "level0, mmap, cache 64 MiB, 2 threads, compact"]
    {
        assert!(page.contains(told), "{told}");
    }
    assert_eq!(count(&sample::wide().html(), "<h2 id=\"upkeep\">"), 0);
}

#[test]
fn the_page_loads_nothing_and_runs_nothing() {
    let page = sample::wide().html();
    for word in ["<script", "http:", "https:", "//", "@import", "url(", " src=", "<iframe", " on"] {
        let found = page.match_indices(word).map(|(at, _)| &page[at..page.len().min(at + 60)]);
        let found: Vec<&str> = found.filter(|text| !is_harmless(text)).collect();
        assert_eq!(found, Vec::<&str>::new(), "{word}");
    }
}

/// ` on` is a word of English where it is no attribute.
fn is_harmless(text: &str) -> bool {
    text.starts_with(" on")
        && text[3..].find(['=', ' ', '<']).is_none_or(|end| !text[3 + end..].starts_with('='))
}

#[test]
fn a_hostile_text_stays_text_wherever_it_stands() {
    let hostile = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>&amp;\0\u{1b}[2J";
    let mut report = sample::wide();
    let p = &mut report.provenance;
    p.version = hostile.to_owned();
    p.command = vec![hostile.to_owned()];
    p.allocator = hostile.to_owned();
    p.clock.name = hostile.to_owned();
    p.warnings = vec![hostile.to_owned()];
    for text in
        [&mut p.commit, &mut p.input, &mut p.cpu, &mut p.kernel, &mut p.file_system, &mut p.binary_xxh3]
    {
        *text = Some(hostile.to_owned());
    }
    let ratio = report.cells[0].ratio_to["floor"].clone();
    for cell in report.cells.iter_mut().take(24) {
        for text in [&mut cell.accessor, &mut cell.shape, &mut cell.layout, &mut cell.stage] {
            *text = format!("{hostile}{text}");
        }
        cell.read = Some(hostile.to_owned());
        cell.error = Some(hostile.to_owned());
        cell.ratio_to.insert(hostile.to_owned(), ratio.clone());
    }
    report.cells[0].accessor = hostile.to_owned();
    let page = report.html();
    for tag in ["<script", "<img", "\0", "\u{1b}", "'><", "&amp;amp;lt;"] {
        assert_eq!(count(&page, tag), 0, "{tag:?}");
    }
    assert!(page.contains("&lt;script&gt;alert(1)"));
    let markdown = report.markdown();
    assert_eq!((count(&markdown, "<"), count(&markdown, "\u{1b}")), (0, 0));
    let table = report.table();
    assert!(table.chars().all(|c| c == '\n' || !c.is_control()));
}

#[test]
fn numbers_that_make_no_sense_make_no_panic() {
    let odd = [0.0, -1.0, 1e308, -1e308, 5e-324, 1.0];
    let mut report = sample::wide();
    for (no, cell) in report.cells.iter_mut().enumerate() {
        let number = |shift: usize| odd[(no + shift) % odd.len()];
        spoil(cell, number);
    }
    let page = report.html();
    assert_eq!((count(&page, "NaN"), count(&page, "\"inf")), (0, 0));
    let none = Report { cells: Vec::new(), ..report };
    for text in [none.html(), none.markdown(), none.table(), none.csv()] {
        assert!(!text.is_empty());
    }
}

fn spoil(cell: &mut Cell, number: impl Fn(usize) -> f64) {
    for ratio in cell.ratio_to.values_mut() {
        for spread in [&mut ratio.p50, &mut ratio.p99].into_iter().flatten() {
            (spread.median, spread.low, spread.high) = (number(0), number(1), number(2));
            (spread.min, spread.max) = (number(3), number(4));
        }
    }
    (cell.n, cell.noise_floor) = (u64::MAX, Some(number(5)));
    (cell.build_ns_per_key, cell.bytes_per_key) = (Some(number(1)), Some(number(2)));
    (cell.disk_bytes.table, cell.checked) = (Some(u64::MAX), Some(u64::MAX));
    for TrialRow { p50_ns, p99_ns, ops_per_s, histogram, .. } in &mut cell.trials {
        (*p50_ns, *p99_ns, *ops_per_s) = (Some(number(0)), Some(number(3)), Some(number(4)));
        *histogram = vec![(number(2), u64::MAX), (number(0), 0), (number(1), u64::MAX)];
    }
}

#[test]
fn a_failed_cell_is_in_no_plot() {
    let mut report = sample::wide();
    report
        .cells
        .iter_mut()
        .filter(|cell| cell.accessor == "ph4")
        .for_each(|cell| cell.status = Status::Failed);
    let page = report.html();
    assert_eq!(count(&page, "<title>ph4: "), 0);
    assert_eq!(count(&page, ">FAILED</text>"), 6 + 2);
}

#[test]
fn a_long_name_is_cut_where_it_would_not_fit() {
    assert_eq!(short("control:lmdb-reused-txn"), "control:lmdb-reused-txn");
    assert_eq!(short("ph4"), "ph4");
    assert_eq!(short(&"W".repeat(40)).chars().count(), 13);
}
