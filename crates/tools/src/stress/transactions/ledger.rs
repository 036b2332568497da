//! What is known of each transaction: how far it has come, and what may be found of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use super::books::Books;

/// What a transaction has left in the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    /// No trace.
    Nothing,
    /// It is prepared and undecided.
    Prepared,
    /// It is committed.
    Committed,
}

/// What an acknowledged write survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kept {
    /// Nothing: it is in the memory of the process (`manual_wal_flush`).
    Memory,
    /// The end of the process.
    Process,
    /// A power cut.
    Disk,
}

/// A step of a thread, reported before it is taken or after it succeeded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The transaction with this name is about to come to this fate.
    Begin(String, Fate),
    /// It has.
    End(String, Kept),
    /// Everything acknowledged up to this time survives this.
    Flushed(u64, Kept),
    /// A bug was found.
    Wrong(String),
}

/// One change of a transaction's fate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stage {
    fate: Fate,
    begun: u64,
    /// The time of its acknowledgement; `u64::MAX` before.
    acked: u64,
}

/// One transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Record {
    /// The first stage is from before.
    stages: Vec<Stage>,
    /// The stages that are acknowledged, survive the end of the process, and a power cut.
    floors: [usize; 3],
}

impl Record {
    fn new(fate: Fate) -> Record {
        Record {
            stages: vec![Stage {
                fate,
                begun: 0,
                acked: 0,
            }],
            floors: [0; 3],
        }
    }

    fn keep(&mut self, until: u64, kept: Kept) {
        let Some(reached) = self.stages.iter().rposition(|s| s.acked <= until) else {
            return;
        };
        let levels = [Kept::Memory, Kept::Process, Kept::Disk];
        for (floor, level) in self.floors.iter_mut().zip(levels) {
            if kept >= level {
                *floor = reached.max(*floor);
            }
        }
    }
}

/// All transactions, by name.
#[derive(Debug, Clone, Default)]
pub struct Ledger {
    records: BTreeMap<String, Record>,
    /// Counts events.
    now: u64,
    /// How many ends were reported.
    acked: u64,
}

impl Ledger {
    /// An empty one at the time `now`.
    pub fn at(now: u64) -> Ledger {
        Ledger {
            now,
            ..Ledger::default()
        }
    }

    /// The time: how many events there were.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// How many steps were acknowledged.
    pub fn acked(&self) -> u64 {
        self.acked
    }

    /// Takes note of `event`.
    pub fn take(&mut self, event: &Event) {
        self.now += 1;
        match event {
            Event::Begin(name, fate) => {
                let record = self.records.entry(name.clone());
                let record = record.or_insert_with(|| Record::new(Fate::Nothing));
                record.stages.push(Stage {
                    fate: *fate,
                    begun: self.now,
                    acked: u64::MAX,
                });
            }
            Event::End(name, kept) => {
                self.acked += 1;
                if let Some(record) = self.records.get_mut(name) {
                    if let Some(last) = record.stages.last_mut() {
                        last.acked = self.now;
                    }
                    record.keep(self.now, *kept);
                }
            }
            Event::Flushed(until, kept) => {
                for record in self.records.values_mut() {
                    record.keep(*until, *kept);
                }
            }
            Event::Wrong(_) => {}
        }
    }

    /// The name is taken of a transaction that is known to have this fate.
    pub fn settle(&mut self, name: &str, fate: Fate) {
        self.records.insert(name.to_owned(), Record::new(fate));
    }

    /// How a transaction that is handed out as prepared may go on: `None` if it cannot be
    /// there, otherwise the fate that was tried before in vain, if one was.
    pub fn left(&self, name: &str) -> Option<Option<Fate>> {
        let record = self.records.get(name)?;
        let was_prepared = record.stages.iter().any(|s| s.fate == Fate::Prepared);
        let last = record.stages.last()?;
        match (last.fate, last.acked) {
            (Fate::Prepared, _) => Some(None),
            (fate, u64::MAX) if was_prepared => Some(Some(fate)),
            _ => None,
        }
    }

    /// The fates of transactions that have left something.
    pub fn settled(&self) -> impl Iterator<Item = Event> {
        let last = |(name, r): (&String, &Record)| {
            let fate = r.stages.last().map_or(Fate::Nothing, |s| s.fate);
            (fate != Fate::Nothing).then(|| Event::Begin(name.clone(), fate))
        };
        self.records.iter().filter_map(last)
    }

    /// The names of transactions whose last step, to `Prepared`, was acknowledged.
    pub fn prepared(&self) -> impl Iterator<Item = &str> {
        let is_prepared = |(_, r): &(&String, &Record)| {
            let last = r.stages.last();
            last.is_some_and(|s| s.fate == Fate::Prepared && s.acked != u64::MAX)
        };
        let prepared = self.records.iter().filter(is_prepared);
        prepared.map(|(name, _)| name.as_str())
    }

    /// Checks what was found after a death, and takes it for what is so from now on.
    /// `before` is the ledger just before the death: what it knew to survive `kept` must be
    /// there.
    ///
    /// # Errors
    /// What cannot be.
    pub fn settle_all(
        &mut self,
        before: &Ledger,
        kept: Kept,
        prepared: &[String],
        books: &Books,
    ) -> Result<(), String> {
        let open: BTreeSet<&String> = prepared.iter().collect();
        if open.len() != prepared.len() {
            return Err(format!("a name twice among the prepared: {prepared:?}"));
        }
        let mut found = open.iter().copied().chain(books.names());
        if let Some(name) = found.find(|name| !self.records.contains_key(*name)) {
            return Err(format!("{name} is found, and was never begun"));
        }
        // When the last step that is found began, and when the first that is lost was
        // acknowledged.
        let (mut latest, mut earliest) = ((0, ""), (u64::MAX, ""));
        let mut settled = Vec::new();
        for (name, record) in &self.records {
            let fate = match (open.contains(name), books.has(name)) {
                (true, true) => return Err(format!("{name} is committed and prepared")),
                (true, false) => Fate::Prepared,
                (false, true) => Fate::Committed,
                (false, false) => Fate::Nothing,
            };
            let floor = before.records.get(name);
            let floor = floor.map_or(0, |r| r.floors[kept as usize]);
            let may = &record.stages[floor..];
            let Some(first) = may.iter().position(|s| s.fate == fate) else {
                let may = &record.stages;
                return Err(format!("{name} is {fate:?}, {may:?} from {floor} on"));
            };
            let last = may.iter().rposition(|s| s.fate == fate).unwrap_or(first);
            latest = latest.max((may[first].begun, name.as_str()));
            for lost in &may[last + 1..] {
                earliest = earliest.min((lost.acked, name.as_str()));
            }
            settled.push((name.clone(), fate));
        }
        if latest.0 > earliest.0 {
            let (later, earlier) = (latest.1, earliest.1);
            return Err(format!(
                "no prefix: a step of {later} is there that began after one of {earlier} was \
                 acknowledged, which is lost"
            ));
        }
        for (name, fate) in settled {
            self.settle(&name, fate);
        }
        Ok(())
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Begin(name, fate) => write!(f, "begin {name} {fate:?}"),
            Event::End(name, kept) => write!(f, "end {name} {kept:?}"),
            Event::Flushed(until, kept) => write!(f, "flushed {until} {kept:?}"),
            Event::Wrong(what) => write!(f, "wrong {}", what.replace('\n', "; ")),
        }
    }
}

impl FromStr for Event {
    type Err = String;

    fn from_str(line: &str) -> Result<Event, String> {
        let bad = || format!("{line:?} is no event");
        let (kind, rest) = line.split_once(' ').ok_or_else(bad)?;
        if kind == "wrong" {
            return Ok(Event::Wrong(rest.to_owned()));
        }
        let (name, word) = rest.split_once(' ').ok_or_else(bad)?;
        let kept = || match word {
            "Memory" => Ok(Kept::Memory),
            "Process" => Ok(Kept::Process),
            "Disk" => Ok(Kept::Disk),
            _ => Err(bad()),
        };
        match kind {
            "begin" => {
                let fate = match word {
                    "Nothing" => Fate::Nothing,
                    "Prepared" => Fate::Prepared,
                    "Committed" => Fate::Committed,
                    _ => return Err(bad()),
                };
                Ok(Event::Begin(name.to_owned(), fate))
            }
            "end" => Ok(Event::End(name.to_owned(), kept()?)),
            "flushed" => Ok(Event::Flushed(name.parse().map_err(|_| bad())?, kept()?)),
            _ => Err(bad()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ledger(events: &[Event]) -> Ledger {
        let mut ledger = Ledger::default();
        events.iter().for_each(|event| ledger.take(event));
        ledger
    }

    fn prepare(kept: Kept) -> [Event; 2] {
        let name = "m0".to_owned();
        [
            Event::Begin(name.clone(), Fate::Prepared),
            Event::End(name, kept),
        ]
    }

    #[test]
    fn what_was_synced_is_not_lost() {
        let before = ledger(&prepare(Kept::Disk));
        let settle = |prepared: &[String]| {
            let books = Books::default();
            before
                .clone()
                .settle_all(&before, Kept::Disk, prepared, &books)
        };
        assert_eq!(settle(&["m0".to_owned()]), Ok(()));
        assert!(settle(&[]).unwrap_err().contains("Nothing"));
        assert!(settle(&["m0".to_owned(), "m0".to_owned()]).is_err());
        assert!(settle(&["m0".to_owned(), "m1".to_owned()]).is_err());
    }

    #[test]
    fn what_was_not_synced_may_be_lost_until_something_is() {
        let mut before = ledger(&prepare(Kept::Process));
        let settle = |before: &Ledger, kept| {
            before
                .clone()
                .settle_all(before, kept, &[], &Books::default())
        };
        assert_eq!(settle(&before, Kept::Disk), Ok(()));
        assert!(settle(&before, Kept::Process).is_err());
        before.take(&Event::Flushed(2, Kept::Disk));
        assert!(settle(&before, Kept::Disk).is_err());
    }

    #[test]
    fn a_decision_under_way_may_be_found_or_not() {
        let mut before = ledger(&prepare(Kept::Disk));
        before.take(&Event::Begin("m0".to_owned(), Fate::Nothing));
        for prepared in [vec![], vec!["m0".to_owned()]] {
            let mut now = before.clone();
            let settled = now.settle_all(&before, Kept::Disk, &prepared, &Books::default());
            assert_eq!(settled, Ok(()));
        }
    }

    #[test]
    fn events_are_read_as_they_are_written() {
        for event in [
            Event::Begin("m1-2-3".to_owned(), Fate::Committed),
            Event::End("m1-2-3".to_owned(), Kept::Memory),
            Event::Flushed(7, Kept::Disk),
            Event::Wrong("a sum of 3".to_owned()),
        ] {
            assert_eq!(event.to_string().parse(), Ok(event));
        }
    }
}
