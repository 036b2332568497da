//! The report's charts.

use crate::calibrate::Failure;
use crate::cases;
use crate::plot::{Chart, Curve};
use crate::predict::{MACHINES, Prediction};
use crate::protocols::world::Memtable;
use crate::protocols::{Protocol, WakeUp};
use crate::run::run_all;
use crate::validate::Compared;

/// Measured dots over modelled curves, for each memtable, batch size and kind of write.
pub(super) fn own(compared: &[Compared]) -> Vec<Chart> {
    let kinds = [
        ("own-art", Memtable::Art, 1, false),
        ("own-art-batch8", Memtable::Art, 8, false),
        ("own-skip_list", Memtable::SkipList, 1, false),
        ("own-synced", Memtable::Art, 1, true),
    ];
    let chart = |(file, memtable, batch, sync): (&str, Memtable, u64, bool)| {
        let mut curves: Vec<Curve> = Vec::new();
        for c in compared {
            let plan = &c.point.plan;
            if (plan.memtable, plan.batch, plan.sync) != (memtable, batch, sync) {
                continue;
            }
            let check = c.check();
            let name = plan.protocol.name();
            for (name, dots, value) in [
                (format!("{name}, model"), false, check.modelled),
                (format!("{name}, measured"), true, check.known),
            ] {
                let point = (plan.threads, value);
                match curves.iter_mut().find(|curve| curve.name == name) {
                    Some(curve) => curve.points.push(point),
                    None => curves.push(Curve {
                        name,
                        points: vec![point],
                        dots,
                        colour: curves.len() / 2,
                    }),
                }
            }
        }
        let unit = if sync {
            "writes in a sync"
        } else {
            "entries/s"
        };
        Chart {
            file: file.to_owned(),
            title: format!(
                "Two cores: {}, batch {batch}{}",
                memtable.name(),
                if sync { ", synced" } else { "" }
            ),
            unit: unit.to_owned(),
            logarithmic: sync,
            curves,
        }
    };
    kinds.map(chart).into()
}

/// The protocols that this tree has; the tables alone have the others.
const DRAWN: [Protocol; 4] = [
    Protocol::Grouped(WakeUp::SquareRoot),
    Protocol::Pipelined(WakeUp::SquareRoot),
    Protocol::Unordered,
    Protocol::Ordered,
];

/// The rates by protocol on each machine.
pub(super) fn predictions(predictions: &[Prediction]) -> Vec<Chart> {
    let mut charts = Vec::new();
    for machine in MACHINES {
        for (batch, sync) in [(1, false), (8, false), (1, true)] {
            let curve = |(colour, protocol): (usize, Protocol)| Curve {
                name: protocol.name().to_owned(),
                points: predictions
                    .iter()
                    .filter(|p| {
                        p.machine == machine
                            && p.plan.protocol == protocol
                            && p.plan.memtable == Memtable::Art
                            && (p.plan.batch, p.plan.sync) == (batch, sync)
                    })
                    .map(|p| (p.plan.threads, p.outcome.entries_per_second))
                    .collect(),
                dots: false,
                colour,
            };
            let sync_name = if sync { "-synced" } else { "" };
            charts.push(Chart {
                file: format!("predicted-{machine}-batch{batch}{sync_name}"),
                title: format!(
                    "Predicted, {machine}: art, batch {batch}{}",
                    if sync { ", synced" } else { "" }
                ),
                unit: "entries/s".to_owned(),
                logarithmic: true,
                curves: DRAWN.into_iter().enumerate().map(curve).collect(),
            });
        }
    }
    charts
}

/// What an ordered write waits for on 64 cores, by cache line.
pub(super) fn blame(predictions: &[Prediction]) -> Chart {
    let ordered: Vec<&Prediction> = predictions
        .iter()
        .filter(|p| {
            p.machine == "cores64"
                && p.plan.protocol == Protocol::Ordered
                && p.plan.memtable == Memtable::Art
                && (p.plan.batch, p.plan.sync) == (1, false)
        })
        .collect();
    let lines = ["tail", "visible", "marks", "log edges", "counters"];
    let curve = |(colour, line): (usize, &str)| Curve {
        name: line.to_owned(),
        points: ordered
            .iter()
            .map(|p| {
                let blame = p.outcome.tally.lines.get(line);
                let waited = blame.map_or(0, |blame| blame.waited);
                let ns = p.outcome.each(waited) / 1000.0;
                (p.plan.threads, ns.max(1.0))
            })
            .collect(),
        dots: false,
        colour,
    };
    Chart {
        file: "blame".to_owned(),
        title: "Ordered, 64 cores, art, batch 1: time that a write waits for lines".to_owned(),
        unit: "ns a write".to_owned(),
        logarithmic: true,
        curves: lines.into_iter().enumerate().map(curve).collect(),
    }
}

/// The case of seed 002 by number of threads: where followers begin to sleep.
pub(super) fn collapse() -> Result<Chart, Failure> {
    let threads = [8, 16, 32, 40, 64, 80, 100, 120, 140, 160];
    let cases = cases::published()?;
    let cases = cases
        .iter()
        .filter(|case| case.id.starts_with("002") && case.over.is_none());
    let mut curves = Vec::new();
    for (colour, case) in cases.enumerate() {
        let plans = threads.map(|threads| {
            let mut plan = case.of.clone();
            plan.threads = threads;
            plan.settle();
            plan
        });
        let outcomes = run_all(&plans);
        let rates = outcomes.iter().map(|o| o.entries_per_second);
        let name = case.of.protocol.name();
        curves.push(Curve {
            name: format!("{name}, model"),
            points: threads.into_iter().zip(rates).collect(),
            dots: false,
            colour,
        });
        curves.push(Curve {
            name: format!("{name}, published"),
            points: vec![(case.of.threads, case.value)],
            dots: true,
            colour,
        });
    }
    Ok(Chart {
        file: "seed002".to_owned(),
        title: "Seed 002: RocksDB, pipelined, followers set off one by one or through helpers"
            .to_owned(),
        unit: "entries/s".to_owned(),
        logarithmic: true,
        curves,
    })
}
