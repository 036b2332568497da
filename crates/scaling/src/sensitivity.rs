//! How much predictions rest on each figure: each halved and doubled.

use crate::cases::CaseError;
use crate::parameters::{FIGURES, Parameters};
use crate::protocols::{Protocol, WakeUp};
use crate::run::{Plan, run_all};

/// The protocols whose ranking is looked at.
pub const RANKED: [Protocol; 5] = [
    Protocol::Grouped(WakeUp::SquareRoot),
    Protocol::Pipelined(WakeUp::SquareRoot),
    Protocol::Unordered,
    Protocol::Ordered,
    Protocol::Combining,
];

/// A figure, and what changing it does.
#[derive(Debug, Clone)]
pub struct Effect {
    /// Its name.
    pub figure: &'static str,
    /// Ordered's rate over that with the figure as it is: halved, doubled.
    pub ordered: [f64; 2],
    /// The same for grouped.
    pub grouped: [f64; 2],
    /// Which protocol overtakes which: `(now ahead, ahead before)`.
    pub overtaken: [Vec<(Protocol, Protocol)>; 2],
}

/// Rates closer than this are the same.
const SAME: f64 = 1.05;

/// The ranking with all figures as they are, and what changing each does.
///
/// # Errors
/// A machine's file is damaged.
pub fn effects(
    machine: &str,
    threads: usize,
    sync: bool,
) -> Result<(Vec<Protocol>, Vec<Effect>), CaseError> {
    let parameters = Parameters::load(machine)?;
    // What sizes a write is no property of a machine; one memtable is asked.
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

/// Pairs whose order is another one, clearly before and clearly now.
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

/// Best first.
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
