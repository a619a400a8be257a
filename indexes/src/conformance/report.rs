//! What came of the checks.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Failures of one check that are kept in words; the others are counted.
const FAILURES_SHOWN: usize = 4;

/// What was checked, of a format that failed nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    cases: BTreeMap<&'static str, u64>,
    declined: Vec<String>,
}

impl Report {
    /// The checks that ran, and how often each did.
    pub fn cases(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.cases.iter().map(|(check, cases)| (*check, *cases))
    }

    /// Tables that the format declined to index, each with the reason.
    pub fn declined(&self) -> &[String] {
        &self.declined
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (check, cases) in &self.cases {
            writeln!(f, "ok {check}: {cases}")?;
        }
        self.declined.iter().try_for_each(|declined| writeln!(f, "declined {declined}"))
    }
}

/// A check that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Failure {
    /// The check.
    pub check: &'static str,
    /// The table or store it failed for.
    pub subject: String,
    /// What was found.
    pub what: String,
}

/// The checks that failed, and what was found. `Debug` prints the same lines as `Display`, so that
/// `check(..).unwrap()` is readable.
#[derive(Clone, PartialEq, Eq)]
pub struct Failures {
    shown: Vec<Failure>,
    counts: BTreeMap<&'static str, usize>,
}

impl Failures {
    /// The failures, a few of each check.
    pub fn shown(&self) -> &[Failure] {
        &self.shown
    }

    /// The names of the checks that failed.
    pub fn checks(&self) -> impl Iterator<Item = &'static str> {
        self.counts.keys().copied()
    }
}

impl fmt::Display for Failures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} checks failed", self.counts.len())?;
        for Failure { check, subject, what } in &self.shown {
            writeln!(f, "FAILED {check}, {subject}: {what}")?;
        }
        for (check, count) in self.counts.iter().filter(|(_, count)| **count > FAILURES_SHOWN) {
            writeln!(f, "FAILED {check}: {} times more", count - FAILURES_SHOWN)?;
        }
        Ok(())
    }
}

impl fmt::Debug for Failures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Failures {}

/// Runs checks and keeps what they find.
#[derive(Debug, Default)]
pub struct Findings {
    report: Report,
    shown: Vec<Failure>,
    counts: BTreeMap<&'static str, usize>,
}

impl Findings {
    /// Runs one check; a panic in it is a failure as well. What it gives, if it did not fail.
    pub fn check<T>(
        &mut self,
        check: &'static str,
        subject: &str,
        run: impl FnOnce() -> Result<T, String>,
    ) -> Option<T> {
        *self.report.cases.entry(check).or_default() += 1;
        let result = catch_unwind(AssertUnwindSafe(run))
            .unwrap_or_else(|payload| Err(format!("it panicked: {}", message(&*payload))));
        result.map_err(|what| self.fail(check, subject, what)).ok()
    }

    fn fail(&mut self, check: &'static str, subject: &str, what: String) {
        let count = self.counts.entry(check).or_default();
        *count += 1;
        if *count <= FAILURES_SHOWN {
            self.shown.push(Failure { check, subject: subject.to_owned(), what });
        }
    }

    /// Notes a table that has no index, and why.
    pub fn declined(&mut self, subject: &str, reason: &str) {
        self.report.declined.push(format!("{subject}: {reason}"));
    }

    /// The report if nothing failed.
    ///
    /// # Errors
    /// What failed.
    pub fn finish(self) -> Result<Report, Failures> {
        match self.counts.is_empty() {
            true => Ok(self.report),
            false => Err(Failures { shown: self.shown, counts: self.counts }),
        }
    }
}

/// The words of a panic.
fn message(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("without words")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_named_shown_a_few_times_and_counted() {
        let mut findings = Findings::default();
        assert_eq!(findings.check("fine", "a table", || Ok(7)), Some(7));
        for no in 0..6 {
            findings.check("bad", "a table", || Err::<(), _>(format!("no {no}")));
        }
        findings.check::<()>("worse", "a table", || panic!("out of {}", "range"));
        let failures = findings.finish().unwrap_err();
        assert_eq!(failures.checks().collect::<Vec<_>>(), ["bad", "worse"]);
        let text = format!("{failures:?}");
        assert!(text.contains("FAILED bad, a table: no 3") && !text.contains("no 4"), "{text}");
        assert!(text.contains("FAILED bad: 2 times more"), "{text}");
        assert!(text.contains("FAILED worse, a table: it panicked: out of range"), "{text}");
    }

    #[test]
    fn a_report_says_what_ran_and_what_was_declined() {
        let mut findings = Findings::default();
        findings.check("fine", "a table", || Ok(()));
        findings.declined("a table", "too small");
        assert_eq!(findings.finish().unwrap().to_string(), "ok fine: 1\ndeclined a table: too small\n");
    }
}
