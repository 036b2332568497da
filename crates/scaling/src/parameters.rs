//! Machines that are read from files.
//!
//! A file is JSON. It has a machine's `name`, the name of another file that the machine
//! is `like` and takes missing figures from, its `topology`, and its `figures`, each
//! with a value and its `source`:
//!
//! ```json
//! { "name": "a server", "like": "server",
//!   "topology": { "sockets": 2, "cores": 8, "threads": 2 },
//!   "figures": { "near": { "ns": 45, "source": "where it is from" } },
//!   "fitted": ["near"] }
//! ```
//!
//! `fitted` names figures that were chosen so that the model meets a published curve;
//! there may be two at most. The error for an invalid file names the file and the key.

use crate::machine::{InsertCost, Machine, Topology};
use crate::sim::{NS, Time};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

/// The maximum number of fitted figures of a machine.
pub const MOST_FITTED: usize = 2;

/// The error for a file that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParameterError {
    file: String,
    key: String,
    what: String,
}

impl fmt::Display for ParameterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.file, self.key, self.what)
    }
}

impl std::error::Error for ParameterError {}

/// A figure of a machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// The value, in the unit that belongs to the figure's name.
    pub value: f64,
    /// The source of the value.
    pub source: String,
}

/// All figures of a machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameters {
    /// The name of the machine.
    pub name: String,
    /// The cores of the machine.
    pub topology: Topology,
    /// The figures, by name.
    pub figures: BTreeMap<String, Figure>,
    /// The names of the figures that were chosen to meet a curve.
    pub fitted: Vec<String>,
}

/// The name, the unit and the meaning of every figure.
pub const FIGURES: [(&str, &str, &str); 35] = [
    ("hit", "ns", "a load of a line that the core has"),
    (
        "atomic",
        "ns",
        "an atomic read-modify-write of a line that the core has; a fence",
    ),
    ("same", "ns", "a line from the core's other hardware thread"),
    ("near", "ns", "a line from another core of the socket"),
    ("far", "ns", "a line from another socket"),
    ("memory", "ns", "a line from memory"),
    ("port", "ns", "between two copies of a line for readers"),
    (
        "smt_slowdown",
        "x",
        "work beside a busy hardware thread of the core takes so much longer",
    ),
    ("context_switch", "ns", "from one thread to another"),
    ("slice", "ns", "a thread's time among others"),
    (
        "wait_call",
        "ns",
        "the futex call that sleeps, without the switch",
    ),
    (
        "wake_call",
        "ns",
        "the futex call that wakes, without those it wakes",
    ),
    ("wake_each", "ns", "what each thread woken costs the waker"),
    (
        "wake_idle",
        "ns",
        "from a wake-up to running on a core that was idle",
    ),
    ("yield_call", "ns", "sched_yield with nobody to yield to"),
    ("clock", "ns", "reading the clock"),
    ("copy_kib", "ns", "copying 1 KiB in the cache"),
    ("first_touch", "ns", "the first touch of a page of 4 KiB"),
    ("write_call", "ns", "write(2) without its bytes"),
    ("sync", "ns", "fdatasync of the log"),
    ("sync_lanes", "x", "syncs under way at once"),
    ("write_back_mib", "ns", "writing 1 MiB to the device"),
    (
        "stream_mib",
        "ns",
        "moving 1 MiB between memory and a socket",
    ),
    ("switch", "ns", "a switch of memtables, while writers wait"),
    (
        "driver",
        "ns",
        "a write's way from the benchmark to the commit and back",
    ),
    ("driver_entry", "ns", "the same for each entry of its batch"),
    (
        "leader",
        "ns",
        "a leader's work for a group beside lines and copies",
    ),
    (
        "skip_list_prepare",
        "ns",
        "skip list, an entry, before its number is known",
    ),
    (
        "skip_list_link",
        "ns",
        "skip list, an entry, under its number",
    ),
    (
        "skip_list_bytes",
        "B",
        "skip list, memory traffic of an entry",
    ),
    (
        "art_prepare",
        "ns",
        "radix tree, an entry, before its number is known",
    ),
    ("art_link", "ns", "radix tree, an entry, under its number"),
    ("art_bytes", "B", "radix tree, memory traffic of an entry"),
    ("key_bytes", "B", "the benchmark's keys"),
    ("value_bytes", "B", "the benchmark's values"),
];

/// The machine files that come with the crate.
const SHIPPED: [(&str, &str); 9] = [
    ("server", include_str!("../machines/server.json")),
    ("here", include_str!("../machines/here.json")),
    ("seed000", include_str!("../machines/seed000.json")),
    ("seed001", include_str!("../machines/seed001.json")),
    ("seed002", include_str!("../machines/seed002.json")),
    ("seed003", include_str!("../machines/seed003.json")),
    ("cores16", include_str!("../machines/cores16.json")),
    ("cores64", include_str!("../machines/cores64.json")),
    ("cores128", include_str!("../machines/cores128.json")),
];

/// The names of the machine files that come with the crate.
pub fn shipped() -> impl Iterator<Item = &'static str> {
    SHIPPED.iter().map(|(name, _)| *name)
}

impl Parameters {
    /// Loads a file that comes with the crate, by its name, or any other, by its path.
    ///
    /// # Errors
    /// There is no such file, or it does not have the [module's](self) format.
    pub fn load(name: &str) -> Result<Self, ParameterError> {
        if let Some((_, text)) = SHIPPED.iter().find(|(shipped, _)| *shipped == name) {
            return Self::parse(&format!("machines/{name}.json"), text);
        }
        let fail = |e: std::io::Error| ParameterError {
            file: name.to_owned(),
            key: "file".to_owned(),
            what: e.to_string(),
        };
        let text = std::fs::read_to_string(Path::new(name)).map_err(fail)?;
        Self::parse(name, &text)
    }

    /// Parses the text of a file.
    ///
    /// # Errors
    /// The text does not have the [module's](self) format.
    pub fn parse(file: &str, text: &str) -> Result<Self, ParameterError> {
        let reader = Reader { file };
        let value: Value = serde_json::from_str(text)
            .map_err(|e| reader.error("file", &format!("no JSON: {e}")))?;
        let Value::Object(object) = value else {
            return Err(reader.error("file", "no object"));
        };
        reader.only(
            "file",
            &object,
            &["name", "about", "like", "topology", "figures", "fitted"],
        )?;
        let mut parameters = match object.get("like") {
            None => Parameters {
                name: String::new(),
                topology: Topology {
                    sockets: 0,
                    cores: 0,
                    threads: 0,
                },
                figures: BTreeMap::new(),
                fitted: Vec::new(),
            },
            Some(like) => Self::load(reader.text("like", Some(like))?)?,
        };
        parameters.name = reader.text("name", object.get("name"))?.to_owned();
        parameters.fitted = reader.names("fitted", object.get("fitted"))?;
        if let Some(topology) = object.get("topology") {
            parameters.topology = reader.topology(topology)?;
        }
        if let Some(figures) = object.get("figures") {
            reader.figures(figures, &mut parameters.figures)?;
        }
        reader.check(&parameters)?;
        Ok(parameters)
    }

    /// The value of a figure.
    ///
    /// # Panics
    /// There is no figure of that name. [`FIGURES`] always exist.
    #[must_use]
    pub fn figure(&self, name: &str) -> f64 {
        self.figures[name].value
    }

    /// The same machine, with one figure multiplied by `factor`.
    #[must_use]
    pub fn scaled(&self, name: &str, factor: f64) -> Self {
        let mut other = self.clone();
        if let Some(figure) = other.figures.get_mut(name) {
            figure.value *= factor;
        }
        other
    }

    /// The same machine, with another value for one figure.
    #[must_use]
    pub fn with(&self, name: &str, value: f64) -> Self {
        let mut other = self.clone();
        if let Some(figure) = other.figures.get_mut(name) {
            figure.value = value;
        }
        other
    }

    /// The number of bytes of a key and its value.
    #[must_use]
    pub fn entry_bytes(&self) -> u64 {
        (self.figure("key_bytes") + self.figure("value_bytes")) as u64
    }

    /// The machine in the simulator's form.
    #[must_use]
    pub fn machine(&self) -> Machine {
        let time = |name| (self.figure(name) * NS as f64).round() as Time;
        let insert = |prepare, link, bytes| InsertCost {
            prepare: time(prepare),
            link: time(link),
            bytes: self.figure(bytes) as u64,
        };
        Machine {
            name: self.name.clone(),
            topology: self.topology,
            hit: time("hit"),
            atomic: time("atomic"),
            same: time("same"),
            near: time("near"),
            far: time("far"),
            memory: time("memory"),
            port: time("port"),
            smt_slowdown: self.figure("smt_slowdown"),
            context_switch: time("context_switch"),
            slice: time("slice"),
            wait_call: time("wait_call"),
            wake_call: time("wake_call"),
            wake_each: time("wake_each"),
            wake_idle: time("wake_idle"),
            yield_call: time("yield_call"),
            clock: time("clock"),
            copy_kib: time("copy_kib"),
            first_touch: time("first_touch"),
            write_call: time("write_call"),
            sync: time("sync"),
            sync_lanes: self.figure("sync_lanes") as usize,
            write_back_mib: time("write_back_mib"),
            stream_mib: time("stream_mib"),
            switch: time("switch"),
            driver: time("driver"),
            driver_entry: time("driver_entry"),
            leader: time("leader"),
            skip_list: insert("skip_list_prepare", "skip_list_link", "skip_list_bytes"),
            art: insert("art_prepare", "art_link", "art_bytes"),
        }
    }
}

/// Reads parts of a file, and reports where something is wrong.
struct Reader<'a> {
    file: &'a str,
}

impl Reader<'_> {
    fn error(&self, key: &str, what: &str) -> ParameterError {
        ParameterError {
            file: self.file.to_owned(),
            key: key.to_owned(),
            what: what.to_owned(),
        }
    }

    fn only(
        &self,
        key: &str,
        object: &Map<String, Value>,
        known: &[&str],
    ) -> Result<(), ParameterError> {
        match object.keys().find(|name| !known.contains(&name.as_str())) {
            None => Ok(()),
            Some(unknown) => Err(self.error(key, &format!("unknown key {unknown:?}"))),
        }
    }

    fn text<'v>(&self, key: &str, value: Option<&'v Value>) -> Result<&'v str, ParameterError> {
        value
            .and_then(Value::as_str)
            .filter(|text| !text.trim().is_empty())
            .ok_or_else(|| self.error(key, "a text is missing"))
    }

    fn names(&self, key: &str, value: Option<&Value>) -> Result<Vec<String>, ParameterError> {
        let Some(value) = value else {
            return Ok(Vec::new());
        };
        let list = value.as_array().ok_or_else(|| self.error(key, "no list"))?;
        let names = list.iter().map(|name| {
            let name = name.as_str();
            name.map(str::to_owned)
                .ok_or_else(|| self.error(key, "not a name"))
        });
        names.collect()
    }

    fn topology(&self, value: &Value) -> Result<Topology, ParameterError> {
        let object = value
            .as_object()
            .ok_or_else(|| self.error("topology", "no object"))?;
        self.only("topology", object, &["sockets", "cores", "threads"])?;
        let number = |name: &str, most: u64| {
            object
                .get(name)
                .and_then(Value::as_u64)
                .filter(|n| (1..=most).contains(n))
                .map(|n| n as usize)
                .ok_or_else(|| {
                    let key = format!("topology.{name}");
                    self.error(&key, &format!("not a number from 1 to {most}"))
                })
        };
        Ok(Topology {
            sockets: number("sockets", 8)?,
            cores: number("cores", 64)?,
            threads: number("threads", 2)?,
        })
    }

    fn figures(
        &self,
        value: &Value,
        figures: &mut BTreeMap<String, Figure>,
    ) -> Result<(), ParameterError> {
        let object = value
            .as_object()
            .ok_or_else(|| self.error("figures", "no object"))?;
        for (name, value) in object {
            let key = format!("figures.{name}");
            let known = FIGURES.iter().find(|(known, ..)| known == name);
            let (_, unit, _) = known.ok_or_else(|| self.error(&key, "there is no such figure"))?;
            let object = value
                .as_object()
                .ok_or_else(|| self.error(&key, "no object"))?;
            self.only(&key, object, &[unit, "source"])?;
            let number = object.get(*unit).and_then(Value::as_f64);
            let value = number
                .filter(|n| n.is_finite() && *n >= 0.0)
                .ok_or_else(|| self.error(&key, &format!("{unit:?} is not a number from 0")))?;
            let source = self.text(&format!("{key}.source"), object.get("source"))?;
            let figure = Figure {
                value,
                source: source.to_owned(),
            };
            figures.insert(name.clone(), figure);
        }
        Ok(())
    }

    fn check(&self, parameters: &Parameters) -> Result<(), ParameterError> {
        if parameters.topology.cpus() == 0 {
            return Err(self.error("topology", "missing"));
        }
        let figures = &parameters.figures;
        let missing = FIGURES
            .iter()
            .find(|(name, ..)| !figures.contains_key(*name));
        if let Some((name, ..)) = missing {
            return Err(self.error(&format!("figures.{name}"), "missing"));
        }
        if parameters.fitted.len() > MOST_FITTED {
            let what = format!("{} figures, at most {MOST_FITTED}", parameters.fitted.len());
            return Err(self.error("fitted", &what));
        }
        // The topology can be fitted, too.
        let is_known = |f: &String| figures.contains_key(f) || f == "topology";
        let unknown = parameters.fitted.iter().find(|f| !is_known(f));
        if let Some(name) = unknown {
            return Err(self.error("fitted", &format!("there is no figure {name:?}")));
        }
        for name in ["sync_lanes", "smt_slowdown", "slice"] {
            if figures[name].value < 1.0 {
                return Err(self.error(&format!("figures.{name}"), "less than 1"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(text: &str) -> String {
        Parameters::parse("my.json", text).unwrap_err().to_string()
    }

    #[test]
    fn all_shipped_files_are_machines_with_sources() {
        for name in shipped() {
            let parameters = Parameters::load(name).unwrap_or_else(|e| panic!("{e}"));
            assert!(parameters.fitted.len() <= MOST_FITTED);
            assert!(parameters.figures.values().all(|f| f.source.len() > 5));
            assert!(parameters.machine().atomic > 0, "{name}");
        }
    }

    #[test]
    fn nonsense_is_refused_with_file_and_key() {
        assert!(why("{").starts_with("my.json: file: no JSON"));
        assert_eq!(why("[]"), "my.json: file: no object");
        assert_eq!(why("{\"nmae\": 1}"), "my.json: file: unknown key \"nmae\"");
        assert_eq!(
            why("{\"like\": \"server\"}"),
            "my.json: name: a text is missing"
        );
        assert_eq!(why("{\"name\": \"x\"}"), "my.json: topology: missing");
        let topology = r#""topology": {"sockets": 1, "cores": 2, "threads": 1}"#;
        assert_eq!(
            why(&format!("{{\"name\": \"x\", {topology}}}")),
            "my.json: figures.hit: missing"
        );
        let like = |rest: &str| format!("{{\"name\": \"x\", \"like\": \"server\", {rest}}}");
        assert_eq!(
            why(&like(
                r#""topology": {"sockets": 0, "cores": 2, "threads": 1}"#
            )),
            "my.json: topology.sockets: not a number from 1 to 8"
        );
        assert_eq!(
            why(&like(
                r#""figures": {"naer": {"ns": 1, "source": "a guess"}}"#
            )),
            "my.json: figures.naer: there is no such figure"
        );
        assert_eq!(
            why(&like(
                r#""figures": {"near": {"ns": -1, "source": "a guess"}}"#
            )),
            "my.json: figures.near: \"ns\" is not a number from 0"
        );
        assert_eq!(
            why(&like(
                r#""figures": {"near": {"ms": 1, "source": "a guess"}}"#
            )),
            "my.json: figures.near: unknown key \"ms\""
        );
        assert_eq!(
            why(&like(r#""figures": {"near": {"ns": 1}}"#)),
            "my.json: figures.near.source: a text is missing"
        );
        assert_eq!(
            why(&like(r#""fitted": ["near", "far", "hit"]"#)),
            "my.json: fitted: 3 figures, at most 2"
        );
        assert_eq!(
            why(&like(r#""fitted": ["nigh"]"#)),
            "my.json: fitted: there is no figure \"nigh\""
        );
        assert_eq!(
            why(&like(
                r#""figures": {"slice": {"ns": 0, "source": "a guess"}}"#
            )),
            "my.json: figures.slice: less than 1"
        );
        let nowhere = Parameters::load("/nowhere/x.json").unwrap_err().to_string();
        assert!(nowhere.starts_with("/nowhere/x.json: file: "), "{nowhere}");
    }

    #[test]
    fn a_file_has_its_own_figures_and_those_of_what_it_is_like() {
        let text = r#"{"name": "x", "like": "server",
            "figures": {"near": {"ns": 7.5, "source": "made up"}}, "fitted": ["near"]}"#;
        let x = Parameters::parse("x.json", text).unwrap();
        let server = Parameters::load("server").unwrap();
        assert_eq!((x.figure("near"), x.machine().near), (7.5, 7_500));
        assert_eq!(x.figure("far"), server.figure("far"));
        assert_eq!(
            (x.topology, x.fitted),
            (server.topology, vec!["near".into()])
        );
        assert_eq!(
            server.scaled("far", 2.0).figure("far"),
            2.0 * server.figure("far")
        );
    }
}
