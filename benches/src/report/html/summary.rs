//! The top of the page, and the figures to beat with what the report answers.

use super::html;
use super::table::{Item, Rows, Tone, table};
use crate::report::figures::{Answer, Figure, Outcome};
use crate::report::number::{ABSENT, time};
use crate::report::{Cell, Report, Status, Verdict};

/// What was run, how it went as numbers, and what is wrong with it.
pub(super) fn top(report: &Report) -> String {
    let p = &report.provenance;
    let mut text = String::new();
    if !p.command.is_empty() {
        let words: Vec<String> =
            p.command.iter().map(|word| format!("<span class=\"word\">{}</span>", html(word))).collect();
        text.push_str(&format!("<p><code>{}</code></p>\n", words.join(" ")));
    }
    let took = p.elapsed_s.map_or(String::new(), |elapsed| format!(", ran {}", time(elapsed * 1e9)));
    let cpu = p.cpu.as_deref().unwrap_or("unknown processor");
    text.push_str(&format!("<p class=\"soft\">kiban {}, {}{took}</p>\n", html(&p.version), html(cpu)));
    text.push_str(&counts(report));
    let troubles: Vec<String> = report.cells.iter().filter_map(Cell::trouble).collect();
    if !troubles.is_empty() {
        text.push_str(&notice("notice bad", &report.troubles().join("; "), &troubles));
    }
    if !p.warnings.is_empty() {
        text.push_str(&notice("notice", "Before believing the numbers", &p.warnings));
    }
    text
}

fn notice(class: &str, title: &str, lines: &[String]) -> String {
    let items: String = lines.iter().map(|line| format!("<li>{}</li>", html(line))).collect();
    format!("<div class=\"{class}\"><p>{}</p><ul>{items}</ul></div>\n", html(title))
}

/// How the cells of accessors, but for the first one, came out.
fn counts(report: &Report) -> String {
    let first = report.cells.first().map(|cell| cell.accessor.as_str());
    let with = |status: Status| report.cells.iter().filter(|cell| cell.status == status).count();
    let judged = |verdict: Verdict| {
        let is_judged = |cell: &&Cell| {
            cell.status != Status::Failed && cell.is_ours() && Some(cell.accessor.as_str()) != first
        };
        report.cells.iter().filter(is_judged).filter(|cell| cell.verdict == verdict).count()
    };
    let mut counts = vec![("cells", report.cells.len())];
    counts.extend([("failed", with(Status::Failed)), ("partial", with(Status::Partial))]);
    let verdicts = [
        ("faster", judged(Verdict::Faster)),
        ("slower", judged(Verdict::Slower)),
        ("same", judged(Verdict::Same)),
        ("no verdict", judged(Verdict::None)),
    ];
    let has_verdicts = verdicts.iter().any(|(_, count)| *count > 0);
    if has_verdicts {
        counts.extend(verdicts);
    }
    let items: String =
        counts.iter().map(|(what, count)| format!("<li><b>{count}</b> {what}</li>")).collect();
    let told = first.filter(|_| has_verdicts).map_or(String::new(), |first| {
        format!("<p class=\"soft\">Verdicts are of accessors against {}.</p>\n", html(first))
    });
    format!("<ul class=\"counts\">{items}</ul>\n{told}")
}

/// The answers as a table, and which figures have none.
pub(super) fn figures(report: &Report) -> String {
    let answers = report.answers();
    if answers.is_empty() {
        return format!("<p>This run covers none of them.</p>\n{}", uncovered(report));
    }
    let mut groups: Vec<Rows> = Vec::new();
    for answer in &answers {
        let (what, published) = (answer.figure.what, format!("published: {}", answer.figure.published));
        if groups.last().is_none_or(|group| group.heading.0 != what) {
            groups.push(Rows { heading: (what.to_owned(), published), rows: Vec::new() });
        }
        groups.iter_mut().last().into_iter().for_each(|group| group.rows.push(row(answer)));
    }
    let columns = [
        ("Met", false),
        ("Ours", true),
        ("Interval", true),
        ("Bar", true),
        ("Measured", false),
        ("By", false),
        ("Setting", false),
    ];
    let table = table("Figures to beat that this run covers", &columns, &groups);
    format!("<p>{}</p>\n{table}{}", html(&tally(&answers)), uncovered(report))
}

fn tally(answers: &[Answer<'_>]) -> String {
    let count = |is_so: fn(&Answer<'_>) -> bool| answers.iter().filter(|answer| is_so(answer)).count();
    let met = count(|answer| matches!(answer.outcome, Outcome::Met(_)));
    let unknown = count(|answer| answer.outcome == Outcome::Unknown);
    let missed = answers.len() - met - unknown;
    let mut tally = format!("Of {} answers: {met} met, {missed} not met, {unknown} unknown. ", answers.len());
    let other_size = count(|answer| answer.other_size().is_some());
    if other_size > 0 {
        tally.push_str(&format!(
            "{other_size} are of another number of records than their figures; they are a hint, not an answer. "
        ));
    }
    tally
        + "Ratios are ours / theirs from paired trials; an interval holds 95\u{a0}% of the resampled medians."
}

fn uncovered(report: &Report) -> String {
    let uncovered = report.uncovered();
    if uncovered.is_empty() {
        return String::new();
    }
    let item = |figure: &&Figure| {
        format!(
            "<li>{} <span class=\"soft\">(published: {})</span></li>",
            html(figure.what),
            html(figure.published)
        )
    };
    let items: String = uncovered.iter().map(item).collect();
    format!(
        "<details><summary>Figures that this run does not cover: {}</summary><ul>{items}</ul></details>\n",
        uncovered.len()
    )
}

fn row(answer: &Answer<'_>) -> Vec<Item> {
    let (ours, interval) = answer.ours().unwrap_or((ABSENT.to_owned(), None));
    let tone = match answer.outcome {
        Outcome::Unknown => Tone::Bad,
        _ if answer.other_size().is_some() => Tone::Plain,
        Outcome::Met(_) => Tone::Good,
        Outcome::Missed(_) => Tone::Bad,
    };
    vec![
        Item::Tag(tone, answer.verdict()),
        Item::Number(ours),
        Item::Number(interval.unwrap_or(ABSENT.to_owned())),
        Item::Number(answer.bar()),
        Item::Text(answer.measure()),
        Item::Text(answer.cell.accessor.clone()),
        Item::Wide(answer.setting()),
    ]
}
