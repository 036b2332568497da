//! How much predictions depend on each figure, which is halved and doubled.

use crate::cases::CaseError;
use crate::parameters::{FIGURES, Parameters};
use crate::protocols::{Protocol, WakeUp};
use crate::run::{Plan, run_all};

/// The protocols whose ranking is compared.
pub const RANKED: [Protocol; 5] = [
    Protocol::Grouped(WakeUp::SquareRoot),
    Protocol::Pipelined(WakeUp::SquareRoot),
    Protocol::Unordered,
    Protocol::Ordered,
    Protocol::Combining,
];

/// A figure, and the effect of changing it.
#[derive(Debug, Clone)]
pub struct Effect {
    /// The name of the figure.
    pub figure: &'static str,
    /// Ordered commit's rate with the figure halved, and doubled, divided by its rate before.
    pub ordered: [f64; 2],
    /// The same quotients for grouped commit.
    pub grouped: [f64; 2],
    /// The protocols that overtake others: `(now ahead, ahead before)`.
    pub overtaken: [Vec<(Protocol, Protocol)>; 2],
}

/// Two rates whose quotient is below this count as equal.
const SAME: f64 = 1.05;

/// The ranking with all figures unchanged, and the effect of changing each.
///
/// # Errors
/// A machine's file is invalid.
pub fn effects(
    machine: &str,
    threads: usize,
    sync: bool,
) -> Result<(Vec<Protocol>, Vec<Effect>), CaseError> {
    let parameters = Parameters::load(machine)?;
    // Figures that set the size of a write are no property of a machine; only one memtable is
    // tried.
    let varied: Vec<&'static str> = FIGURES
        .iter()
        .filter(|(name, unit, _)| *unit == "ns" && !name.starts_with("skip_list"))
        .map(|(name, ..)| *name)
        .filter(|name| parameters.figure(name) > 0.0)
        .collect();
    let plans_with = |parameters: &Parameters| {
        RANKED.map(|protocol| {
            let mut plan = Plan::new(parameters, protocol, threads);
            plan.sync = sync;
            plan.settle();
            plan
        })
    };
    let mut plans = plans_with(&parameters).to_vec();
    for name in &varied {
        for factor in [0.5, 2.0] {
            plans.extend(plans_with(&parameters.scaled(name, factor)));
        }
    }
    let outcomes = run_all(&plans);
    let rates: Vec<f64> = outcomes.iter().map(|o| o.entries_per_second).collect();
    let mut sets = rates.chunks(RANKED.len());
    let base = sets.next().unwrap_or_default();
    let ranking = rank(base);
    let mut effects = Vec::new();
    for figure in varied {
        let (half, double) = (sets.next().unwrap_or(base), sets.next().unwrap_or(base));
        effects.push(Effect {
            figure,
            ordered: [half[3] / base[3], double[3] / base[3]],
            grouped: [half[0] / base[0], double[0] / base[0]],
            overtaken: [overtaken(base, half), overtaken(base, double)],
        });
    }
    Ok((ranking, effects))
}

/// The pairs whose order changes, clearly different both before and after.
fn overtaken(before: &[f64], now: &[f64]) -> Vec<(Protocol, Protocol)> {
    let mut pairs = Vec::new();
    for (a, &first) in RANKED.iter().enumerate() {
        for (b, &second) in RANKED.iter().enumerate() {
            if before[b] > before[a] * SAME && now[a] > now[b] * SAME {
                pairs.push((first, second));
            }
        }
    }
    pairs
}

/// The ranking, best first.
fn rank(rates: &[f64]) -> Vec<Protocol> {
    let mut order: Vec<usize> = (0..rates.len()).collect();
    order.sort_by(|&a, &b| rates[b].total_cmp(&rates[a]));
    order.into_iter().map(|at| RANKED[at]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_nearly_the_same_is_not_overtaken() {
        let before = [1.0, 2.0, 2.02, 5.0, 4.0];
        assert!(overtaken(&before, &[1.0, 2.02, 2.0, 4.1, 4.0]).is_empty());
        let pairs = overtaken(&before, &[1.0, 2.0, 2.0, 3.0, 4.0]);
        assert_eq!(pairs, [(Protocol::Combining, Protocol::Ordered)]);
    }

    #[test]
    fn the_fastest_comes_first() {
        let ranking = rank(&[3.0, 1.0, 2.0, 5.0, 4.0]);
        assert_eq!(ranking[0], Protocol::Ordered);
        assert_eq!(ranking[4], Protocol::Pipelined(WakeUp::SquareRoot));
    }
}
