//! The report's tables.

use super::Section;
use crate::calibrate::Failure;
use crate::parameters::{FIGURES, Parameters, shipped};
use crate::plot::number;
use crate::predict::{MACHINES, Prediction, end_of_scaling as end_of};
use crate::propose::{PLACES, Proposal};
use crate::protocols::Protocol;
use crate::protocols::world::Memtable;
use crate::reads;
use crate::sensitivity::{Effect, RANKED};
use crate::validate::{Check, Compared, errors};

/// A Markdown table.
struct Table {
    text: String,
}

impl Table {
    fn new<S: AsRef<str>>(titles: impl IntoIterator<Item = S>) -> Self {
        let mut table = Table {
            text: String::new(),
        };
        let titles: Vec<S> = titles.into_iter().collect();
        let rules = titles.iter().map(|_| "---".to_owned());
        let rules: Vec<String> = rules.collect();
        table.row(titles.iter().map(|title| title.as_ref().to_owned()));
        table.row(rules);
        table
    }

    fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let cells: Vec<String> = cells.into_iter().collect();
        self.text += &format!("| {} |\n", cells.join(" | "));
    }
}

fn percent(part: f64) -> String {
    format!("{:+.0}%", part * 100.0)
}

/// What the file of each machine says.
pub(super) fn machines() -> Result<Section, Failure> {
    let mut text = String::new();
    let server = Parameters::load("server")?;
    for name in shipped() {
        let parameters = Parameters::load(name)?;
        let topology = parameters.topology;
        text += &format!(
            "**{}** (`{name}.json`): {} x {} cores with {} hardware thread(s)",
            parameters.name, topology.sockets, topology.cores, topology.threads
        );
        if !parameters.fitted.is_empty() {
            text += &format!("; fitted: {}", parameters.fitted.join(", "));
        }
        text += ".\n\n";
        let mut table = Table::new(["figure", "value", "", "source"]);
        for (figure, unit, _) in FIGURES {
            let own = &parameters.figures[figure];
            if name == "server" || *own != server.figures[figure] {
                let source = own.source.clone();
                table.row([figure.into(), own.value.to_string(), unit.into(), source]);
            }
        }
        text += &table.text;
        text.push('\n');
    }
    Ok(Section {
        name: "machines",
        text,
    })
}

/// A summary of the checks, without those that were fitted.
fn summary(checks: &[Check]) -> String {
    let free = checks.iter().filter(|check| !check.fitted).cloned();
    let free: Vec<Check> = free.collect();
    let lead = match checks.len() - free.len() {
        0 => "Median".to_owned(),
        fitted => format!(
            "{fitted} of {} were fitted and prove nothing. Of the others: median",
            checks.len()
        ),
    };
    let checks = &free;
    let (median, worst) = errors(checks);
    let within = checks.iter().filter(|c| c.factor() <= 2.0).count();
    format!(
        "{lead} error {:.0}%, worst factor {worst:.2}; {within} of {} within a factor of two.\n",
        median * 100.0,
        checks.len()
    )
}

/// The published figures.
pub(super) fn published(checks: &[Check]) -> Section {
    let mut table = Table::new(["seed", "what", "published", "model", "", "error"]);
    for check in checks {
        table.row([
            check.id.clone(),
            check.what.clone(),
            number(check.known),
            number(check.modelled),
            check.unit.name().into(),
            if check.fitted {
                format!("{}, fitted", percent(check.error()))
            } else {
                percent(check.error())
            },
        ]);
    }
    Section {
        name: "published",
        text: format!("{}\n{}", table.text, summary(checks)),
    }
}

/// The curves measured on this machine: the error of each point and of each curve.
pub(super) fn own(about: &str, compared: &[Compared]) -> Section {
    let mut text = format!("Measured: {about}.\n\n");
    let mut threads: Vec<usize> = compared.iter().map(|c| c.point.plan.threads).collect();
    threads.sort_unstable();
    threads.dedup();
    let titles = ["curve".to_owned()].into_iter();
    let titles = titles.chain(threads.iter().map(|t| format!("T={t}")));
    let mut table = Table::new(titles.chain(["median".to_owned(), "worst".to_owned()]));
    let mut curves: Vec<String> = compared.iter().map(Compared::curve).collect();
    curves.dedup();
    for curve in curves {
        let of_curve = || compared.iter().filter(|c| c.curve() == curve);
        let cell = |threads: &usize| {
            let point = of_curve().find(|c| c.point.plan.threads == *threads);
            point.map_or(String::new(), |c| {
                let check = c.check();
                format!("{} {}", number(check.known), percent(check.error()))
            })
        };
        let checks: Vec<Check> = of_curve().map(Compared::check).collect();
        let (median, worst) = errors(&checks);
        let cells = [curve.clone()].into_iter();
        let cells = cells.chain(threads.iter().map(cell));
        let ends = [format!("{:.0}%", median * 100.0), format!("x {worst:.2}")];
        table.row(cells.chain(ends));
    }
    let checks: Vec<Check> = compared.iter().map(Compared::check).collect();
    text += &table.text;
    text += &format!("\n{}", summary(&checks));
    Section { name: "own", text }
}

/// The counts of runs, beside the model's.
pub(super) fn counters(about: &str, compared: &[Compared]) -> Section {
    let mut text = format!("Measured: {about}.\n\n");
    let mut table = Table::new([
        "protocol, memtable",
        "T",
        "read-modify-writes",
        "futex waits",
        "futex wakes",
        "log writes",
        "syncs",
        "switches",
        "transfers (model)",
    ]);
    // What a memtable's own code does belongs to no protocol. The program of an insert
    // has no counted operations, so the difference for one thread is the memtable's.
    let memtable_of = |curve: &str| {
        let one = compared
            .iter()
            .find(|c| c.curve() == curve && c.point.plan.threads == 1);
        one.map_or(0.0, |c| {
            let modelled = c.outcome.each(c.outcome.tally.counted_rmw);
            c.point.count("rmw").unwrap_or(0.0) - modelled
        })
    };
    for c in compared {
        let tally = &c.outcome.tally;
        let pair = |name: &str, modelled: f64| {
            let measured = c.point.count(name).unwrap_or(0.0);
            format!("{measured:.3} / {modelled:.3}")
        };
        let each = |count| c.outcome.each(count);
        let curve = c.curve();
        let measured = |name: &str| c.point.count(name).unwrap_or(0.0);
        let switches = measured("voluntary") + measured("involuntary");
        table.row([
            curve.clone(),
            c.point.plan.threads.to_string(),
            format!(
                "{:.2} / {:.2}",
                measured("rmw"),
                each(tally.counted_rmw) + memtable_of(&curve)
            ),
            pair("futex_waits", each(tally.futex_waits)),
            pair("futex_wakes", each(tally.futex_wakes)),
            pair("log_writes", each(tally.log_writes)),
            pair("log_syncs", each(tally.syncs)),
            format!(
                "{switches:.3} / {:.3}",
                each(tally.voluntary + tally.involuntary)
            ),
            format!("{:.1}", each(tally.transfers())),
        ]);
    }
    text += &table.text;
    Section {
        name: "counters",
        text,
    }
}

/// The rates by protocol and number of threads.
pub(super) fn predictions(predictions: &[Prediction], threads: &[usize]) -> Section {
    let mut text = String::new();
    for (memtable, batch, sync) in [
        (Memtable::Art, 1, false),
        (Memtable::Art, 8, false),
        (Memtable::SkipList, 1, false),
        (Memtable::Art, 1, true),
    ] {
        let sync_text = if sync { ", synced" } else { "" };
        text += &format!(
            "**{}, batch {batch}{sync_text}** (entries/s)\n\n",
            memtable.name()
        );
        let titles = ["cores".to_owned(), "protocol".to_owned()].into_iter();
        let mut table = Table::new(titles.chain(threads.iter().map(|t| format!("T={t}"))));
        for machine in MACHINES {
            for protocol in Protocol::ALL {
                let of = |t: &usize| {
                    let found = predictions.iter().find(|p| {
                        p.machine == machine
                            && p.plan.protocol == protocol
                            && p.plan.memtable == memtable
                            && (p.plan.batch, p.plan.sync) == (batch, sync)
                            && p.plan.threads == *t
                    });
                    found.map_or(String::new(), |p| number(p.outcome.entries_per_second))
                };
                let names = [cores(machine, predictions), protocol.name().to_owned()];
                table.row(names.into_iter().chain(threads.iter().map(of)));
            }
        }
        text += &table.text;
        text.push('\n');
    }
    Section {
        name: "predictions",
        text,
    }
}

fn cores(machine: &str, predictions: &[Prediction]) -> String {
    let found = predictions.iter().find(|p| p.machine == machine);
    found.map_or(String::new(), |p| {
        p.plan.parameters.topology.cpus().to_string()
    })
}

/// Where ordered commit stops scaling, and which lines cause that.
pub(super) fn end_of_scaling(predictions: &[Prediction]) -> Section {
    let mut table = Table::new([
        "cores",
        "memtable",
        "batch",
        "flat from",
        "entries/s there",
        "line waited for most",
        "its share of all waits",
        "its wait, ns a write",
    ]);
    for machine in MACHINES {
        for memtable in [Memtable::Art, Memtable::SkipList] {
            for batch in [1, 8] {
                let curve: Vec<&Prediction> = predictions
                    .iter()
                    .filter(|p| {
                        p.machine == machine
                            && p.plan.protocol == Protocol::Ordered
                            && p.plan.memtable == memtable
                            && (p.plan.batch, p.plan.sync) == (batch, false)
                    })
                    .collect();
                let rates: Vec<(usize, f64)> = curve
                    .iter()
                    .map(|p| (p.plan.threads, p.outcome.entries_per_second))
                    .collect();
                let end = end_of(&rates);
                let at = end.or(rates.last().map(|last| last.0));
                let Some(there) = curve.iter().find(|p| Some(p.plan.threads) == at) else {
                    continue;
                };
                let (line, share) = there.outcome.blamed();
                let waited = there.outcome.tally.lines.get(line);
                let waited = waited.map_or(0, |blame| blame.waited);
                table.row([
                    cores(machine, predictions),
                    memtable.name().into(),
                    batch.to_string(),
                    end.map_or("beyond".into(), |threads| format!("T={threads}")),
                    number(there.outcome.entries_per_second),
                    line.into(),
                    format!("{:.0}%", share * 100.0),
                    format!("{:.0}", there.outcome.each(waited) / 1000.0),
                ]);
            }
        }
    }
    Section {
        name: "end",
        text: table.text,
    }
}

/// The effect of changing each figure.
pub(super) fn sensitivity(
    machine: &str,
    threads: usize,
    sync: bool,
    ranking: &[Protocol],
    effects: &[Effect],
) -> String {
    let names = |protocols: &[Protocol]| {
        let names: Vec<&str> = protocols.iter().map(|p| p.name()).collect();
        names.join(" > ")
    };
    let sync_text = if sync { ", synced" } else { "" };
    let mut text = format!(
        "**{machine}, T={threads}, art, batch 1{sync_text}**: {}\n\n",
        names(ranking)
    );
    let mut table = Table::new([
        "figure",
        "ordered, halved",
        "doubled",
        "grouped, halved",
        "doubled",
        "overtaken",
    ]);
    let mut unmoved = Vec::new();
    for effect in effects {
        let changes = [("halved", 0), ("doubled", 1)]
            .into_iter()
            .flat_map(|(how, at)| effect.overtaken[at].iter().map(move |pair| (how, pair)))
            .map(|(how, (a, b))| format!("{how}: {} over {}", a.name(), b.name()));
        let changes: Vec<String> = changes.collect();
        let all = effect.ordered.iter().chain(&effect.grouped);
        if changes.is_empty() && all.into_iter().all(|rate| (rate - 1.0).abs() < 0.05) {
            unmoved.push(effect.figure);
            continue;
        }
        let part = |rate: f64| percent(rate - 1.0);
        table.row([
            effect.figure.into(),
            part(effect.ordered[0]),
            part(effect.ordered[1]),
            part(effect.grouped[0]),
            part(effect.grouped[1]),
            changes.join("; "),
        ]);
    }
    text += &table.text;
    text += &format!(
        "\nLess than 5% either way, and nobody of the {} overtaken by more than 5%: {}.\n\n",
        RANKED.len(),
        unmoved.join(", ")
    );
    text
}

/// The proposed changes of the code.
pub(super) fn proposals(proposals: &[Proposal]) -> Section {
    let titles = ["change", "where", "protocol"]
        .map(str::to_owned)
        .into_iter();
    let places = PLACES.map(|(machine, threads, batch)| match batch {
        0 => format!("{machine}, T={threads}, synced"),
        _ => format!("{machine}, T={threads}, batch {batch}"),
    });
    let mut table = Table::new(titles.chain(places));
    for proposal in proposals {
        let start = [
            proposal.what.to_owned(),
            format!("`{}`", proposal.place),
            proposal.protocol.name().to_owned(),
        ];
        let gains = proposal.gain.iter().map(|gain| percent(gain - 1.0));
        table.row(start.into_iter().chain(gains));
    }
    Section {
        name: "proposals",
        text: table.text,
    }
}

/// How reads scale, with a thread on each core.
pub(super) fn reads(predictions: &[reads::Prediction]) -> Section {
    let start = ["read", "blocks", "writes to shared lines", "ns, one thread"].map(str::to_owned);
    let cores = predictions.first().map_or(&[][..], |p| &p.outcomes[..]);
    let cores = cores.iter().map(|(cores, _)| format!("{cores} cores"));
    let end = ["line waited for most".to_owned()];
    let mut table = Table::new(start.into_iter().chain(cores).chain(end));
    for reads::Prediction {
        kind,
        blocks,
        outcomes,
    } in predictions
    {
        let visits = kind.visits.iter();
        let touches = |line: reads::Line| kind.visits.iter().any(|(of, _)| *of == line);
        let blocks = match touches(reads::Line::Block) {
            true => blocks.to_string(),
            false => String::new(),
        };
        let visits = visits.map(|(line, writes)| format!("{writes} {}", line.name()));
        let visits = visits.collect::<Vec<_>>().join(", ");
        let start = [
            kind.what.to_owned(),
            blocks,
            if visits.is_empty() {
                "0".to_owned()
            } else {
                visits
            },
            format!("{} ({})", kind.time, kind.source),
        ];
        let rates = outcomes.iter().map(|(_, outcome)| {
            let part = outcome.efficiency * 100.0;
            format!("{} {part:.0}%", number(outcome.per_second))
        });
        let blamed = outcomes.last().and_then(|(_, outcome)| outcome.blamed);
        let end = [blamed.unwrap_or("none").to_owned()];
        table.row(start.into_iter().chain(rates).chain(end));
    }
    Section {
        name: "reads",
        text: table.text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::Unit;

    #[test]
    fn what_was_fitted_is_not_counted_among_what_agrees() {
        let check = |modelled, fitted| Check {
            id: String::new(),
            what: String::new(),
            unit: Unit::Rate,
            fitted,
            known: 100.0,
            modelled,
        };
        let checks = [check(100.0, true), check(120.0, false), check(300.0, false)];
        let text = published(&checks).text;
        assert!(text.contains("| +0%, fitted |"), "{text}");
        let summary = "1 of 3 were fitted and prove nothing. Of the others: median error 110%, \
                       worst factor 3.00; 1 of 2 within a factor of two.";
        assert!(text.contains(summary), "{text}");
    }
}
