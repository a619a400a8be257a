//! The page of a report, opened in headless Chromium: every figure is there, nothing overflows on a
//! desktop or a phone, in dark or light, and nothing is logged as an error.
//!
//! Skipped with a message where no Chromium is installed, unless `KIBAN_NEEDS_CHROMIUM` is set.
//! `KIBAN_AB_REPORT` names a report that was measured before; its page is opened too.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A report with failed and partial cells, losses, two settings and four stages.
const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../benches/golden/ab.json");
/// Shows the page beside it in two widths and lists what is wrong.
const PROBE: &str = include_str!("ab_page/probe.html");
/// Names of the program, as distributions have it.
const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
/// A browser that has not ended by then hangs.
const PATIENCE: Duration = Duration::from_secs(90);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scheme {
    Dark,
    Light,
}

/// The browser, if there is one.
fn browser() -> Option<PathBuf> {
    let folders: Vec<PathBuf> = std::env::split_paths(&std::env::var_os("PATH")?).collect();
    let found =
        BROWSERS.iter().find_map(|name| folders.iter().map(|dir| dir.join(name)).find(|it| it.is_file()));
    if found.is_none() {
        assert!(
            std::env::var_os("KIBAN_NEEDS_CHROMIUM").is_none(),
            "no Chromium, which KIBAN_NEEDS_CHROMIUM asks for"
        );
        eprintln!("skipped: no Chromium in PATH (looked for {})", BROWSERS.join(", "));
    }
    found
}

/// What the probe tells of a page, and what the browser logged of scripts and policies.
fn seen(browser: &Path, page: &str, scheme: Scheme) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("page.html"), page).unwrap();
    let probe = dir.path().join("probe.html");
    std::fs::write(&probe, PROBE.replace("\"PAGE\"", "\"page.html\"")).unwrap();
    let (dom, log) = (dir.path().join("dom"), dir.path().join("log"));
    let mut child = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--dump-dom"])
        .args(["--allow-file-access-from-files", "--enable-logging=stderr", "--window-size=1800,1000"])
        .arg(format!("--blink-settings=preferredColorScheme={}", if scheme == Scheme::Dark { 0 } else { 1 }))
        .arg(format!("--user-data-dir={}", dir.path().join("profile").display()))
        .arg(format!("file://{}", probe.display()))
        .stdout(std::fs::File::create(&dom).unwrap())
        .stderr(std::fs::File::create(&log).unwrap())
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let began = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if began.elapsed() > PATIENCE {
            child.kill().unwrap();
            panic!("{} did not end", browser.display());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let [dom, log] =
        [dom, log].map(|file| String::from_utf8_lossy(&std::fs::read(file).unwrap()).into_owned());
    let found = dom.split_once("<pre id=\"found\">").and_then(|(_, rest)| rest.split_once("</pre>"));
    let (found, _) = found.unwrap_or_else(|| panic!("the probe told nothing; the browser said:\n{log}"));
    let found = found.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    let logged = log.lines().filter(|line| line.contains("CONSOLE")).map(str::to_owned);
    found.lines().map(str::to_owned).chain(logged).collect()
}

/// A report's JSON as the program renders it.
fn page_of(json: &Path) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kiban"));
    let output = command.args(["ab", "--format", "html", "--render"]).arg(json).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn as_it_should_be(scheme: Scheme) -> Vec<String> {
    let scheme = if scheme == Scheme::Dark { "dark" } else { "light" };
    let seen = |width| format!("{width}: seen: {scheme}, forest 2, ecdf 6, pareto 2, build 1, sections 8");
    ["desktop", "phone"].map(seen).into()
}

#[test]
fn the_page_is_whole_on_desktop_and_phone_in_dark_and_light() {
    let Some(browser) = browser() else { return };
    let page = page_of(Path::new(SAMPLE));
    for scheme in [Scheme::Dark, Scheme::Light] {
        assert_eq!(seen(&browser, &page, scheme), as_it_should_be(scheme));
    }
}

#[test]
fn the_page_of_a_measured_report_is_whole() {
    let Some(report) = std::env::var_os("KIBAN_AB_REPORT") else { return };
    let Some(browser) = browser() else { return };
    let found = seen(&browser, &page_of(Path::new(&report)), Scheme::Dark);
    let faults: Vec<&String> = found.iter().filter(|line| !line.contains(": seen: dark, forest ")).collect();
    assert_eq!((faults, found.len()), (Vec::new(), 2));
}

#[test]
fn hostile_and_long_names_stay_text_and_break_nothing() {
    let Some(browser) = browser() else { return };
    let dir = tempfile::tempdir().unwrap();
    let mut json = std::fs::read_to_string(SAMPLE).unwrap();
    let script = r#"<script>hacked=1</script><img src=x onerror=\"parent.hacked=1\">"#;
    let long = "W".repeat(300);
    for (name, hostile) in [
        ("\"ph4\"", format!("\"{script}\"")),
        ("\"control:fjall\"", format!("\"control:{long}\"")),
        ("\"latest\"", format!("\"{long}\"")),
        ("\"w1\"", format!("\"{script}{long}\"")),
        ("\"Fast 9\"", format!("\"{long}\"")),
        ("\"places.tsv.gz\"", format!("\"{script}\"")),
        ("\"ab\"", format!("\"{long}\"")),
        ("the time box ended", format!("{script}{long}")),
    ] {
        assert!(json.contains(name), "{name}");
        json = json.replace(name, &hostile);
    }
    let file = dir.path().join("ab.json");
    std::fs::write(&file, json).unwrap();
    assert_eq!(seen(&browser, &page_of(&file), Scheme::Light), as_it_should_be(Scheme::Light));
}

#[test]
fn the_probe_tells_each_fault_of_a_page() {
    let Some(browser) = browser() else { return };
    let page = page_of(Path::new(SAMPLE));
    let faults = [
        ("<p style=\"width: 2000px\">wide</p>", "the page is"),
        ("<p style=\"color: #bbb\">pale</p>", "is hard to read"),
        ("<script>console.error('planted')</script>", "CONSOLE"),
        ("<img src=\"missing.png\">", "loads or runs"),
        ("<a href=\"#nowhere\">link</a>", "leads nowhere"),
        (
            "<figure><svg role=\"img\" viewBox=\"0 0 300 200\"><text x=\"290\" y=\"50\">long text</text></svg></figure>",
            "is cut off",
        ),
        (
            "<div style=\"overflow-x: auto; width: 50px\"><b style=\"white-space: nowrap\">not by the keyboard</b></div>",
            "not by keys",
        ),
        ("<i id=\"main\"></i>", "comes twice"),
    ];
    let planted: String = faults.iter().map(|(fault, _)| *fault).collect();
    let found = seen(&browser, &page.replace("</main>", &format!("{planted}</main>")), Scheme::Light);
    for (fault, told) in faults {
        assert!(found.iter().any(|line| line.contains(told)), "{fault}: {found:?}");
    }
}
