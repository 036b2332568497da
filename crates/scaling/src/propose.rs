//! Proposed changes of the code, evaluated in the model.

use crate::cases::CaseError;
use crate::parameters::Parameters;
use crate::protocols::world::{Layout, Wakes};
use crate::protocols::{Protocol, WakeUp};
use crate::run::{Plan, run_all};

/// A proposed change and its effect.
#[derive(Debug, Clone)]
pub struct Proposal {
    /// The change.
    pub what: &'static str,
    /// The place of the change in the code.
    pub place: &'static str,
    /// The protocol that it changes.
    pub protocol: Protocol,
    layout: Layout,
    /// For each of [`PLACES`], the rate divided by that of the present code.
    pub gain: Vec<f64>,
}

/// The configurations in which changes are tried: machine, number of threads, and
/// entries of a batch; 0 stands for single synced writes.
pub const PLACES: [(&str, usize, u64); 11] = [
    ("here", 2, 1),
    ("here", 2, 0),
    ("here", 16, 0),
    ("here", 160, 0),
    ("cores16", 64, 0),
    ("cores64", 256, 0),
    ("cores16", 16, 1),
    ("cores64", 64, 1),
    ("cores64", 64, 8),
    ("cores128", 128, 1),
    ("cores128", 128, 8),
];

// Long: a table with a row for each proposal.
fn candidates() -> Vec<Proposal> {
    const TAIL: &str = "write/generation.rs, Generation::reserve";
    const MARKS: &str = "concurrent/publish/mod.rs, Publication::slots";
    const COUNTERS: &str = "concurrent/counter.rs, SHARDS";
    const WAIT_BUCKETS: &str = "concurrent/publish/wait_buckets.rs";
    const WAKE_TREE: &str = "concurrent/group/wake_tree.rs, HELPED_GROUP";
    let code = Layout::default();
    let with = |what, place, protocol, layout| Proposal {
        what,
        place,
        protocol,
        layout,
        gain: Vec::new(),
    };
    let ordered = |what, place, layout| with(what, place, Protocol::Ordered, layout);
    let grouped = Protocol::Grouped(WakeUp::SquareRoot);
    let tail = Layout {
        tail_for_writing: true,
        ..code
    };
    let marks = Layout {
        marks_on_line: 1,
        ..code
    };
    let counters = Layout {
        counter_shards: 256,
        ..code
    };
    let mark_first = Layout {
        mark_first: true,
        ..code
    };
    let all = Layout {
        marks_on_line: 1,
        counter_shards: 256,
        ..tail
    };
    vec![
        ordered("take the tail's line for writing at once", TAIL, tail),
        ordered("a mark on a line of its own", MARKS, marks),
        ordered("a shard of counters for each core", COUNTERS, counters),
        ordered(
            "mark before looking at `visible`",
            "concurrent/publish/mod.rs, finish",
            mark_first,
        ),
        ordered(
            "a writer that syncs waits for nobody (as it was)",
            "concurrent/publish/group_commit_delay.rs",
            Layout {
                gather: false,
                ..code
            },
        ),
        ordered(
            "the mover wakes all on any machine (as it was)",
            WAIT_BUCKETS,
            Layout {
                wakes: Wakes::Mover,
                ..code
            },
        ),
        ordered(
            "threads that are woken wake others on any machine",
            WAIT_BUCKETS,
            Layout {
                wakes: Wakes::EachOther,
                ..code
            },
        ),
        ordered(
            "the thread that may move next is woken first",
            WAIT_BUCKETS,
            Layout {
                successor_first: true,
                ..code
            },
        ),
        ordered(
            "records padded to whole lines",
            "storage/wal/segment/mod.rs, end_of",
            Layout {
                aligned_records: true,
                ..code
            },
        ),
        ordered("the first three together", "as above", all),
        with(
            "combining from 4 writers in flight",
            "none so far",
            Protocol::Combining,
            code,
        ),
        with(
            "combining from 32 writers in flight, and the first three",
            "none so far",
            Protocol::Combining,
            Layout {
                combine_from: 32,
                ..all
            },
        ),
        with(
            "helpers from 8 members on",
            WAKE_TREE,
            grouped,
            Layout {
                helped_group: 8,
                ..code
            },
        ),
        with(
            "helpers from 40 members on",
            WAKE_TREE,
            grouped,
            Layout {
                helped_group: 40,
                ..code
            },
        ),
        with(
            "no helpers",
            WAKE_TREE,
            Protocol::Grouped(WakeUp::Serial),
            code,
        ),
        with(
            "a tree in place of helpers",
            WAKE_TREE,
            Protocol::Grouped(WakeUp::Parallel),
            code,
        ),
    ]
}

/// The effect of each change, compared with the protocol that it would change.
///
/// # Errors
/// A machine's file is invalid.
pub fn proposals() -> Result<Vec<Proposal>, CaseError> {
    let mut proposals = candidates();
    let mut plans = Vec::new();
    for proposal in &proposals {
        for (machine, threads, batch) in PLACES {
            let parameters = Parameters::load(machine)?;
            let base = match proposal.protocol {
                Protocol::Combining | Protocol::Ordered => Protocol::Ordered,
                _ => Protocol::Grouped(WakeUp::SquareRoot),
            };
            let choices = [
                (base, Layout::default()),
                (proposal.protocol, proposal.layout),
            ];
            for (protocol, layout) in choices {
                for seed in 1..=3 {
                    let mut plan = Plan::new(&parameters, protocol, threads);
                    plan.layout = layout;
                    plan.batch = batch.max(1);
                    plan.sync = batch == 0;
                    plan.seed = seed;
                    plan.settle();
                    plans.push(plan);
                }
            }
        }
    }
    let outcomes = run_all(&plans);
    let rates: Vec<f64> = outcomes.iter().map(|o| o.entries_per_second).collect();
    let mut pairs = rates.chunks(6);
    for proposal in &mut proposals {
        let gains = pairs.by_ref().take(PLACES.len());
        proposal.gain = gains
            .map(|six| middle(&six[3..]) / middle(&six[..3]))
            .collect();
    }
    Ok(proposals)
}

fn middle(rates: &[f64]) -> f64 {
    let mut rates = rates.to_vec();
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}
