//! Published and measured figures, read from data files: what the model is
//! held against.

use crate::parameters::{ParameterError, Parameters};
use crate::protocols::world::{Layout, Memtable};
use crate::protocols::{Dialect, Protocol};
use crate::run::{Outcome, Plan};
use serde_json::Value;
use std::fmt;

const PUBLISHED: &str = include_str!("../measured/published.json");
const OWN: &str = include_str!("../measured/own.json");
const COUNTERS: &str = include_str!("../measured/counters.json");

/// What a figure counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Entries in each second.
    Rate,
    /// Keys and values in each second, in MiB, as db_bench prints it.
    Megabytes,
    /// One rate over another.
    Ratio,
    /// Writes that share a sync.
    WritesPerSync,
}

impl Unit {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Unit::Rate => "entries/s",
            Unit::Megabytes => "MB/s",
            Unit::Ratio => "ratio",
            Unit::WritesPerSync => "writes/sync",
        }
    }

    fn from_name(name: &str) -> Option<Self> {
        let all = [
            Unit::Rate,
            Unit::Megabytes,
            Unit::Ratio,
            Unit::WritesPerSync,
        ];
        all.into_iter().find(|unit| unit.name() == name)
    }
}

/// A figure, and the plan, or two, that the model has for it.
#[derive(Debug, Clone)]
pub struct Case {
    /// A short name.
    pub id: String,
    /// What it is of.
    pub what: String,
    /// Who says so.
    pub source: String,
    /// Whether a figure of the machine was chosen to meet it, so that it says
    /// nothing of the model.
    pub fitted: bool,
    /// The published or measured value.
    pub value: f64,
    /// Of what.
    pub unit: Unit,
    /// What to run for it.
    pub of: Plan,
    /// What to divide by.
    pub over: Option<Plan>,
}

impl Case {
    /// What the model says, by the outcomes of its plans.
    #[must_use]
    pub fn modelled(&self, of: &Outcome, over: Option<&Outcome>) -> f64 {
        let rate = of.entries_per_second;
        match self.unit {
            Unit::Rate => rate,
            Unit::Megabytes => rate * self.of.parameters.entry_bytes() as f64 / f64::from(1 << 20),
            Unit::Ratio => over.map_or(0.0, |over| rate / over.entries_per_second),
            Unit::WritesPerSync => of.writes_per_sync(),
        }
    }
}

/// A data file is not what it should be.
#[derive(Debug)]
pub enum CaseError {
    /// In a machine's file.
    Machine(ParameterError),
    /// In the data file.
    Data(String),
}

impl fmt::Display for CaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CaseError::Machine(e) => e.fmt(f),
            CaseError::Data(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for CaseError {}

impl From<ParameterError> for CaseError {
    fn from(e: ParameterError) -> Self {
        CaseError::Machine(e)
    }
}

/// The seeds' figures.
///
/// # Errors
/// A data file is damaged.
pub fn published() -> Result<Vec<Case>, CaseError> {
    let file = Data::parse("measured/published.json", PUBLISHED)?;
    file.list("cases")?
        .iter()
        .map(|case| file.case(case))
        .collect()
}

/// What was measured on the machine at hand, one point of a curve.
#[derive(Debug, Clone)]
pub struct Point {
    /// What was run.
    pub plan: Plan,
    /// The lowest and highest rate of its rounds.
    pub range: (f64, f64),
    /// Entries in each second: the median.
    pub rate: f64,
    /// Counts for each entry, by name: those that db_bench prints.
    pub counts: Vec<(String, f64)>,
}

impl Point {
    /// A count.
    #[must_use]
    pub fn count(&self, name: &str) -> Option<f64> {
        let found = self.counts.iter().find(|(n, _)| n == name);
        found.map(|(_, value)| *value)
    }
}

/// The measured curves, and how they were measured.
///
/// # Errors
/// A data file is damaged.
pub fn own() -> Result<(String, Vec<Point>), CaseError> {
    points("measured/own.json", OWN)
}

/// Runs of a build that counts read-modify-writes, as [`own`].
///
/// # Errors
/// A data file is damaged.
pub fn counters() -> Result<(String, Vec<Point>), CaseError> {
    points("measured/counters.json", COUNTERS)
}

fn points(name: &'static str, text: &str) -> Result<(String, Vec<Point>), CaseError> {
    let file = Data::parse(name, text)?;
    let about = file.text(&file.value, "about")?.to_owned();
    let here = Parameters::load("here")?;
    let points = file.list("points")?;
    let points = points.iter().map(|point| file.point(point, &here));
    Ok((about, points.collect::<Result<_, _>>()?))
}

struct Data {
    name: &'static str,
    value: Value,
}

impl Data {
    fn parse(name: &'static str, text: &str) -> Result<Self, CaseError> {
        let value = serde_json::from_str(text)
            .map_err(|e| CaseError::Data(format!("{name}: no JSON: {e}")))?;
        Ok(Data { name, value })
    }

    fn error(&self, key: &str, value: &Value) -> CaseError {
        CaseError::Data(format!("{}: {key}: missing or wrong in {value}", self.name))
    }

    fn list(&self, key: &str) -> Result<&Vec<Value>, CaseError> {
        let list = self.value.get(key).and_then(Value::as_array);
        list.ok_or_else(|| self.error(key, &self.value))
    }

    fn text<'v>(&self, value: &'v Value, key: &str) -> Result<&'v str, CaseError> {
        let text = value.get(key).and_then(Value::as_str);
        text.ok_or_else(|| self.error(key, value))
    }

    fn number(&self, value: &Value, key: &str) -> Result<f64, CaseError> {
        let number = value.get(key).and_then(Value::as_f64);
        number.ok_or_else(|| self.error(key, value))
    }

    fn case(&self, value: &Value) -> Result<Case, CaseError> {
        let machine = Parameters::load(self.text(value, "machine")?)?;
        let plan = |key: &str| match value.get(key) {
            None => Ok(None),
            Some(plan) => self.plan(plan, &machine).map(Some),
        };
        let unit = Unit::from_name(self.text(value, "unit")?);
        Ok(Case {
            id: self.text(value, "id")?.to_owned(),
            what: self.text(value, "what")?.to_owned(),
            source: self.text(value, "source")?.to_owned(),
            fitted: value
                .get("fitted")
                .and_then(Value::as_bool)
                .unwrap_or(false),
            value: self.number(value, "value")?,
            unit: unit.ok_or_else(|| self.error("unit", value))?,
            of: plan("of")?.ok_or_else(|| self.error("of", value))?,
            over: plan("over")?,
        })
    }

    fn plan(&self, value: &Value, machine: &Parameters) -> Result<Plan, CaseError> {
        let protocol = Protocol::from_name(self.text(value, "protocol")?);
        let protocol = protocol.ok_or_else(|| self.error("protocol", value))?;
        let threads = self.number(value, "threads")? as usize;
        let mut plan = Plan::new(machine, protocol, threads);
        plan.dialect = match value.get("dialect").and_then(Value::as_str) {
            None => Dialect::Own,
            Some("rocksdb") => Dialect::RocksDb,
            Some("rocksdb serial") => Dialect::RocksDbSerial,
            Some(_) => return Err(self.error("dialect", value)),
        };
        let flag = |key: &str, otherwise| {
            let given = value.get(key).and_then(Value::as_bool);
            given.unwrap_or(otherwise)
        };
        plan.sync = flag("sync", false);
        plan.log = flag("log", true);
        plan.batch = value.get("batch").and_then(Value::as_u64).unwrap_or(1);
        plan.memtable = match self.text(value, "memtable")? {
            "skip_list" => Memtable::SkipList,
            "art" => Memtable::Art,
            _ => return Err(self.error("memtable", value)),
        };
        if let Some(sockets) = value.get("sockets").and_then(Value::as_u64) {
            plan.parameters.topology.sockets = sockets as usize;
        }
        plan.layout = Layout::default();
        plan.settle();
        Ok(plan)
    }

    fn point(&self, value: &Value, here: &Parameters) -> Result<Point, CaseError> {
        let plan = self.plan(value, here)?;
        const COUNTS: [&str; 7] = [
            "rmw",
            "voluntary",
            "involuntary",
            "futex_waits",
            "futex_wakes",
            "log_writes",
            "log_syncs",
        ];
        let counts = COUNTS.iter().filter_map(|&name| {
            let number = value.get(name).and_then(Value::as_f64);
            number.map(|number| (name.to_owned(), number))
        });
        Ok(Point {
            plan,
            range: (self.number(value, "least")?, self.number(value, "most")?),
            rate: self.number(value, "entries_per_second")?,
            counts: counts.collect(),
        })
    }
}
