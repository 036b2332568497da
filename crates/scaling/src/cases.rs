//! Published and measured figures that the model is compared with, read from data
//! files.

use crate::parameters::{ParameterError, Parameters};
use crate::protocols::world::{Layout, Memtable};
use crate::protocols::{Dialect, Protocol};
use crate::run::{Outcome, Plan};
use serde_json::Value;
use std::fmt;

const PUBLISHED: &str = include_str!("../measured/published.json");
const OWN: &str = include_str!("../measured/own.json");
const COUNTERS: &str = include_str!("../measured/counters.json");

/// The unit of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Entries per second.
    Rate,
    /// Keys and values in MiB per second, as db_bench prints it.
    Megabytes,
    /// One rate divided by another.
    Ratio,
    /// The number of writes that share a sync.
    WritesPerSync,
}

impl Unit {
    /// The name of the unit.
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

/// A figure, with the plan, or the two plans, by which the model computes it.
#[derive(Debug, Clone)]
pub struct Case {
    /// A short name.
    pub id: String,
    /// What the figure describes.
    pub what: String,
    /// The publication or measurement that the value comes from.
    pub source: String,
    /// Whether a figure of the machine was fitted to this value, so that it says nothing
    /// about the quality of the model.
    pub fitted: bool,
    /// The published or measured value.
    pub value: f64,
    /// The unit of the value.
    pub unit: Unit,
    /// The plan to run.
    pub of: Plan,
    /// The plan whose result to divide by, if the figure is a ratio.
    pub over: Option<Plan>,
}

impl Case {
    /// The model's value, computed from the outcomes of its plans.
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

/// An invalid data file.
#[derive(Debug)]
pub enum CaseError {
    /// The error is in a machine's file.
    Machine(ParameterError),
    /// The error is in the data file.
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

/// The published figures.
///
/// # Errors
/// A data file is invalid.
pub fn published() -> Result<Vec<Case>, CaseError> {
    let file = Data::parse("measured/published.json", PUBLISHED)?;
    file.list("cases")?
        .iter()
        .map(|case| file.case(case))
        .collect()
}

/// A measurement on this machine: one point of a curve.
#[derive(Debug, Clone)]
pub struct Point {
    /// The plan that was run.
    pub plan: Plan,
    /// The lowest and the highest rate of its rounds.
    pub range: (f64, f64),
    /// The median rate in entries per second.
    pub rate: f64,
    /// Counts per entry, by name, as db_bench prints them.
    pub counts: Vec<(String, f64)>,
}

impl Point {
    /// The count of that name, if it was measured.
    #[must_use]
    pub fn count(&self, name: &str) -> Option<f64> {
        let found = self.counts.iter().find(|(n, _)| n == name);
        found.map(|(_, value)| *value)
    }
}

/// The measured curves, with a text that says how they were measured.
///
/// # Errors
/// A data file is invalid.
pub fn own() -> Result<(String, Vec<Point>), CaseError> {
    points("measured/own.json", OWN)
}

/// As [`own`], but from runs of a build that counts read-modify-write operations.
///
/// # Errors
/// A data file is invalid.
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
