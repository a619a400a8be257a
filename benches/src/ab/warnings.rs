//! What a reader must know before believing the numbers, one sentence a matter.

use super::outcome::StageOutcome;
use crate::machine::Spent;

/// A share of processor time above this, taken by others, is warned about.
const DISTURBANCE_MAX: f64 = 0.10;

/// What went on while the stages ran.
#[derive(Debug, Default)]
pub(super) struct Warnings {
    stages: usize,
    steal: Vec<f64>,
    other_cpu: Vec<f64>,
    shortened: Vec<String>,
    differing: Vec<String>,
    /// Stages that were not begun when the run was stopped.
    not_begun: Option<u32>,
}

impl Warnings {
    /// Takes notice of one stage, named `place`.
    pub(super) fn see(&mut self, place: &str, outcome: &StageOutcome) {
        let Spent { steal, other_cpu, .. } = outcome.spent;
        self.stages += 1;
        self.steal.extend(steal);
        self.other_cpu.extend(other_cpu);
        if let Some((wanted, calls)) = outcome.shortened {
            self.shortened.push(format!("{place} from {wanted} to {calls} calls"));
        }
        if !outcome.control_holds {
            self.differing.push(place.to_owned());
        }
    }

    /// The run was stopped before these stages.
    pub(super) fn interrupted(&mut self, stages_left: u32) {
        self.not_begun = Some(stages_left);
    }

    /// Greatest share of processor time in a stage that the hypervisor took away.
    pub(super) fn steal_max(&self) -> Option<f64> {
        self.steal.iter().copied().reduce(f64::max)
    }

    /// Greatest share of processor time in a stage that other processes used.
    pub(super) fn other_cpu_max(&self) -> Option<f64> {
        self.other_cpu.iter().copied().reduce(f64::max)
    }

    /// The sentences.
    pub(super) fn sentences(&self) -> Vec<String> {
        let taken = |who: &str, shares: &[f64]| {
            let above: Vec<f64> = shares.iter().copied().filter(|share| *share > DISTURBANCE_MAX).collect();
            let most = above.iter().copied().reduce(f64::max)?;
            Some(format!(
                "{who} more than {:.0} % of all processor time in {} of {} stages, up to {:.0} %",
                DISTURBANCE_MAX * 100.0,
                above.len(),
                self.stages,
                most * 100.0
            ))
        };
        let listed = |what: &str, places: &[String]| {
            (!places.is_empty()).then(|| format!("{what}: {}", places.join(", ")))
        };
        let interrupted = self.not_begun.map(|left| {
            format!("the run was interrupted: {left} stages were not begun, and one may be partial")
        });
        let all = [
            interrupted,
            taken("the hypervisor took", &self.steal),
            taken("other processes used", &self.other_cpu),
            listed("the time box shortened trials", &self.shortened),
            listed("A/A pairs differ, so no verdict stands", &self.differing),
        ];
        all.into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(
        other_cpu: Option<f64>,
        shortened: Option<(usize, usize)>,
        control_holds: bool,
    ) -> StageOutcome {
        let spent = Spent { other_cpu, steal: Some(0.1), ..Spent::default() };
        StageOutcome { cells: Vec::new(), wrong: Vec::new(), shortened, control_holds, spent }
    }

    #[test]
    fn each_matter_has_one_sentence() {
        let mut warnings = Warnings::default();
        warnings.see("w1 mmap point", &outcome(Some(0.2), None, true));
        warnings.see("w1 mmap miss", &outcome(Some(0.5), Some((100, 50)), false));
        warnings.see("w1 pread miss", &outcome(None, Some((100, 20)), true));
        assert_eq!(
            warnings.sentences(),
            [
                "other processes used more than 10 % of all processor time in 2 of 3 stages, up to 50 %",
                "the time box shortened trials: w1 mmap miss from 100 to 50 calls, w1 pread miss from 100 to 20 calls",
                "A/A pairs differ, so no verdict stands: w1 mmap miss",
            ]
        );
        assert_eq!((warnings.steal_max(), warnings.other_cpu_max()), (Some(0.1), Some(0.5)));
        warnings.interrupted(2);
        assert!(warnings.sentences()[0].starts_with("the run was interrupted: 2 stages were not begun"));
    }

    #[test]
    fn a_quiet_run_has_none() {
        let mut warnings = Warnings::default();
        assert_eq!(warnings.steal_max(), None);
        warnings.see("w1 mmap point", &outcome(Some(0.05), None, true));
        assert_eq!(warnings.sentences(), Vec::<String>::new());
    }
}
