//! Comparisons of the model with known figures.
//!
//! Groups can settle into one of several modes (all awake, or all asleep), and which one
//! may depend on a few early waits. So each published figure is compared with the median
//! of runs with different seeds. Curves have enough points without that.

use crate::cases::{Case, CaseError, Point, Unit, counters, own, published};
use crate::run::{Outcome, Plan, run_all};

/// The number of runs for each published figure.
const SEEDS: u64 = 3;

/// For each plan, the outcome with the median rate.
fn run_seeds(plans: &[Plan]) -> Vec<Outcome> {
    let seeded = |plan: &Plan, seed| Plan {
        seed,
        ..plan.clone()
    };
    let all: Vec<Plan> = plans
        .iter()
        .flat_map(|plan| (1..=SEEDS).map(|seed| seeded(plan, seed)))
        .collect();
    let mut outcomes = run_all(&all);
    let by_plan = outcomes.chunks_mut(SEEDS as usize);
    by_plan
        .map(|seeds| {
            seeds.sort_by(|a, b| a.entries_per_second.total_cmp(&b.entries_per_second));
            seeds[seeds.len() / 2].clone()
        })
        .collect()
}

/// A known figure, and the model's value for it.
#[derive(Debug, Clone)]
pub struct Check {
    /// A short name.
    pub id: String,
    /// What the figure describes.
    pub what: String,
    /// The unit of the values.
    pub unit: Unit,
    /// Whether a figure of the machine was fitted to this value.
    pub fitted: bool,
    /// The published or measured value.
    pub known: f64,
    /// The model's value.
    pub modelled: f64,
}

impl Check {
    /// The factor by which the two differ, at least 1.
    #[must_use]
    pub fn factor(&self) -> f64 {
        let ratio = self.modelled / self.known;
        ratio.max(1.0 / ratio)
    }

    /// The error of the model, as a fraction of the known value; negative if the model's
    /// value is smaller.
    #[must_use]
    pub fn error(&self) -> f64 {
        self.modelled / self.known - 1.0
    }
}

/// The median error, as a fraction, and the worst factor of some checks.
#[must_use]
pub fn errors(checks: &[Check]) -> (f64, f64) {
    let mut sizes: Vec<f64> = checks.iter().map(|check| check.error().abs()).collect();
    sizes.sort_by(f64::total_cmp);
    let worst = checks.iter().map(Check::factor).fold(1.0, f64::max);
    let middle = match sizes.len() {
        0 => 0.0,
        n if n.is_multiple_of(2) => f64::midpoint(sizes[n / 2 - 1], sizes[n / 2]),
        n => sizes[n / 2],
    };
    (middle, worst)
}

/// The published figures.
///
/// # Errors
/// A data file is invalid.
pub fn against_published() -> Result<Vec<Check>, CaseError> {
    let cases = published()?;
    let plans: Vec<Plan> = cases
        .iter()
        .flat_map(|case| [Some(case.of.clone()), case.over.clone()])
        .flatten()
        .collect();
    let mut outcomes = run_seeds(&plans).into_iter();
    let mut next = || outcomes.next().expect("one for each plan");
    let check = |case: Case| {
        let of = next();
        let over = case.over.as_ref().map(|_| next());
        Check {
            modelled: case.modelled(&of, over.as_ref()),
            id: case.id,
            what: case.what,
            unit: case.unit,
            fitted: case.fitted,
            known: case.value,
        }
    };
    Ok(cases.into_iter().map(check).collect())
}

/// A measured point, and the run that models it.
#[derive(Debug, Clone)]
pub struct Compared {
    /// What was measured.
    pub point: Point,
    /// The outcome of the model.
    pub outcome: Outcome,
}

impl Compared {
    /// The name of the curve: what all its points have in common.
    #[must_use]
    pub fn curve(&self) -> String {
        let plan = &self.point.plan;
        let sync = if plan.sync { ", synced" } else { "" };
        format!(
            "{}, {}, batch {}{sync}",
            plan.protocol.name(),
            plan.memtable.name(),
            plan.batch
        )
    }

    /// The check of the rate. For synced writes it is the number that share a sync, which
    /// hardly depends on how fast the disk was that day.
    #[must_use]
    pub fn check(&self) -> Check {
        let plan = &self.point.plan;
        let synced = self.point.count("log_syncs").filter(|_| plan.sync);
        let (unit, known, modelled) = match synced {
            Some(syncs) => (
                Unit::WritesPerSync,
                1.0 / (syncs * plan.batch as f64),
                self.outcome.writes_per_sync(),
            ),
            None => (Unit::Rate, self.point.rate, self.outcome.entries_per_second),
        };
        Check {
            id: format!("T={}", plan.threads),
            what: self.curve(),
            unit,
            fitted: false,
            known,
            modelled,
        }
    }
}

/// The curves measured on this machine, with a text that says how they were measured.
///
/// # Errors
/// A data file is invalid.
pub fn against_own() -> Result<(String, Vec<Compared>), CaseError> {
    own().map(compare)
}

/// As [`against_own`], but with runs of a build that counts read-modify-write operations.
///
/// # Errors
/// A data file is invalid.
pub fn against_counters() -> Result<(String, Vec<Compared>), CaseError> {
    counters().map(compare)
}

fn compare((about, points): (String, Vec<Point>)) -> (String, Vec<Compared>) {
    let plans: Vec<Plan> = points.iter().map(|point| point.plan.clone()).collect();
    let outcomes = run_all(&plans);
    let pairs = points.into_iter().zip(outcomes);
    let compared = pairs.map(|(point, outcome)| Compared { point, outcome });
    (about, compared.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(known: f64, modelled: f64) -> Check {
        Check {
            id: String::new(),
            what: String::new(),
            unit: Unit::Rate,
            fitted: false,
            known,
            modelled,
        }
    }

    #[test]
    fn errors_are_the_median_and_the_worst() {
        let checks = [check(100.0, 110.0), check(100.0, 50.0), check(10.0, 10.0)];
        let (median, worst) = errors(&checks);
        assert!((median - 0.1).abs() < 1e-9);
        assert!((worst - 2.0).abs() < 1e-9);
        assert_eq!(errors(&[]), (0.0, 1.0));
        assert!((checks[1].error() + 0.5).abs() < 1e-9);
    }
}
