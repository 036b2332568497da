//! Predictions of the model for machines that are not available.

use crate::cases::CaseError;
use crate::parameters::Parameters;
use crate::protocols::Protocol;
use crate::protocols::world::Memtable;
use crate::run::{Outcome, Plan, run_all};

/// The machines of predictions, with 2, 16, 64 and 128 cores.
pub const MACHINES: [&str; 4] = ["here", "cores16", "cores64", "cores128"];

/// The numbers of threads of predictions.
pub const THREADS: [usize; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];

/// One prediction.
#[derive(Debug, Clone)]
pub struct Prediction {
    /// The name of the machine in [`MACHINES`].
    pub machine: &'static str,
    /// The plan that was run.
    pub plan: Plan,
    /// The outcome of the run.
    pub outcome: Outcome,
}

/// All predictions: for each machine, protocol, memtable and number of threads in
/// `threads`, with batches of 1 and 8, without and with sync.
///
/// # Errors
/// A machine's file is invalid.
pub fn all(threads: &[usize]) -> Result<Vec<Prediction>, CaseError> {
    let mut plans = Vec::new();
    for machine in MACHINES {
        let parameters = Parameters::load(machine)?;
        for protocol in Protocol::ALL {
            for memtable in [Memtable::Art, Memtable::SkipList] {
                for (batch, sync) in [(1, false), (8, false), (1, true), (8, true)] {
                    for &threads in threads {
                        let mut plan = Plan::new(&parameters, protocol, threads);
                        plan.memtable = memtable;
                        plan.batch = batch;
                        plan.sync = sync;
                        plan.settle();
                        // There are many of these plans, so each measures fewer writes.
                        plan.writes /= 2;
                        plans.push((machine, plan));
                    }
                }
            }
        }
    }
    let only: Vec<Plan> = plans.iter().map(|(_, plan)| plan.clone()).collect();
    let outcomes = run_all(&only);
    let predictions = plans
        .into_iter()
        .zip(outcomes)
        .map(|((machine, plan), outcome)| Prediction {
            machine,
            plan,
            outcome,
        });
    Ok(predictions.collect())
}

/// The predictions as comma-separated values.
#[must_use]
pub fn csv(predictions: &[Prediction]) -> String {
    let mut text = "machine,protocol,memtable,batch,sync,threads,entries_per_second,rmw,transfers,\
                    futex_waits,futex_wakes,blamed,blamed_share\n"
        .to_owned();
    for Prediction {
        machine,
        plan,
        outcome,
    } in predictions
    {
        let (blamed, share) = outcome.blamed();
        let tally = &outcome.tally;
        text += &format!(
            "{machine},\"{}\",{},{},{},{},{:.0},{:.2},{:.2},{:.4},{:.4},{blamed},{share:.2}\n",
            plan.protocol.name(),
            plan.memtable.name(),
            plan.batch,
            plan.sync,
            plan.threads,
            outcome.entries_per_second,
            outcome.each(tally.rmw),
            outcome.each(tally.transfers()),
            outcome.each(tally.futex_waits),
            outcome.each(tally.futex_wakes),
        );
    }
    text
}

/// The end of a curve's scaling: the number of threads from which doubling it gains
/// less than a tenth.
#[must_use]
pub fn end_of_scaling(curve: &[(usize, f64)]) -> Option<usize> {
    let steps = curve.windows(2);
    let mut ends = steps.filter(|pair| pair[1].1 < pair[0].1 * 1.1);
    ends.next().map(|pair| pair[0].0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_ends_where_it_gets_flat() {
        let curve = [(1, 1.0), (2, 1.9), (4, 3.0), (8, 3.1), (16, 6.0)];
        assert_eq!(end_of_scaling(&curve), Some(4));
        assert_eq!(end_of_scaling(&curve[..3]), None);
    }
}
