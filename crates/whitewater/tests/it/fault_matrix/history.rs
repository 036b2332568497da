//! The changes that were asked of a database, and what may be left of them.

use crate::harness::show;
use crate::harness::walk::Content;
use std::collections::BTreeMap;

/// Column families and their content.
pub type State = BTreeMap<String, Content>;

/// A column family, a key, and its value; `None` deletes.
pub type Entry = (String, Vec<u8>, Option<Vec<u8>>);

/// A change that happens as a whole or not at all.
#[derive(Debug, Clone)]
pub enum Change {
    Write(Vec<Entry>),
    Create(String),
    Drop(String),
}

impl Change {
    fn apply(&self, state: &mut State) {
        match self {
            Change::Write(entries) => {
                for (family, key, value) in entries {
                    let Some(content) = state.get_mut(family) else {
                        continue;
                    };
                    match value {
                        Some(value) => content.insert(key.clone(), value.clone()),
                        None => content.remove(key),
                    };
                }
            }
            Change::Create(family) => _ = state.insert(family.clone(), Content::new()),
            Change::Drop(family) => _ = state.remove(family),
        }
    }
}

/// The outcome of a change, as its caller knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// It is there.
    Done,
    /// It is there, but bypassed the log, so it may be lost with the process.
    Unlogged,
    /// It is not there. It may appear when the database is reopened.
    Failed,
}

/// The changes since some state, in their order.
#[derive(Debug, Clone, Default)]
pub struct History {
    base: State,
    changes: Vec<(Change, Told)>,
    /// How many changes survive a power cut.
    durable: usize,
}

/// More changes of unknown outcome than this are a mistake of the script.
const MAX_UNCERTAIN: usize = 5;

impl History {
    /// No changes since `base`, which is durable.
    pub fn since(base: State) -> Self {
        History {
            base,
            ..History::default()
        }
    }

    /// Records a change. A change that was refused because another had failed before must not be
    /// recorded: it is nowhere.
    pub fn note(&mut self, change: Change, told: Told) {
        self.changes.push((change, told));
    }

    /// Whether a change has failed.
    pub fn has_failed(&self) -> bool {
        self.changes.iter().any(|(_, told)| *told == Told::Failed)
    }

    /// Everything that was acknowledged survives a power cut from here on.
    pub fn all_durable(&mut self) {
        self.durable = self.changes.len();
        for (_, told) in &mut self.changes {
            if *told == Told::Unlogged {
                *told = Told::Done;
            }
        }
    }

    /// Failed changes can no longer appear.
    pub fn forget_failed(&mut self) {
        let kept = |(_, told): &(Change, Told)| *told != Told::Failed;
        self.durable = self.changes[..self.durable]
            .iter()
            .filter(|c| kept(c))
            .count();
        self.changes.retain(kept);
    }

    /// What the process sees.
    pub fn visible(&self) -> State {
        let mut state = self.base.clone();
        for (change, told) in &self.changes {
            if *told != Told::Failed {
                change.apply(&mut state);
            }
        }
        state
    }

    /// Checks what an opening after the death of the process finds.
    pub fn explains_after_kill(&self, found: &State) -> Result<(), String> {
        self.explains(found, self.changes.len())
    }

    /// Checks what an opening after a power cut finds.
    pub fn explains_after_power_cut(&self, found: &State) -> Result<(), String> {
        self.explains(found, self.durable)
    }

    /// Whether `found` is the result of a prefix of the changes, of at least `least` of them, with
    /// or without those whose outcome is unknown.
    fn explains(&self, found: &State, least: usize) -> Result<(), String> {
        for n in (least..=self.changes.len()).rev() {
            let changes = &self.changes[..n];
            let unknown = changes.iter().filter(|(_, told)| *told != Told::Done);
            let unknown = unknown.count();
            assert!(
                unknown <= MAX_UNCERTAIN,
                "{unknown} changes may have failed"
            );
            for taken in 0..1usize << unknown {
                let mut state = self.base.clone();
                let mut seen = 0;
                for (change, told) in changes {
                    let is_there = *told == Told::Done || {
                        seen += 1;
                        taken & (1 << (seen - 1)) != 0
                    };
                    if is_there {
                        change.apply(&mut state);
                    }
                }
                if state == *found {
                    return Ok(());
                }
            }
        }
        Err(format!(
            "{least} or more of {} changes should be there; {}",
            self.changes.len(),
            difference(found, &self.visible())
        ))
    }
}

/// How `found` differs from `wanted`.
pub fn difference(found: &State, wanted: &State) -> String {
    let mut list = Vec::new();
    for family in found.keys().chain(wanted.keys()) {
        match (found.get(family), wanted.get(family)) {
            (Some(found), Some(wanted)) => {
                let keys = found.keys().chain(wanted.keys());
                for key in keys.filter(|k| found.get(*k) != wanted.get(*k)) {
                    let text = |v: Option<&Vec<u8>>| v.map_or("nothing".into(), |v| show(v));
                    list.push(format!(
                        "{family} {}: {} instead of {}",
                        show(key),
                        text(found.get(key)),
                        text(wanted.get(key))
                    ));
                }
            }
            (Some(_), None) => list.push(format!("column family {family} is there")),
            (None, _) => list.push(format!("column family {family} is missing")),
        }
    }
    list.sort();
    list.dedup();
    let more = list.len().saturating_sub(4);
    list.truncate(4);
    format!("{} and {more} more", list.join("; "))
}

/// Changes that are lost, come back or are halved are noticed.
#[test]
fn other_states_than_the_history_allows_are_refused() {
    let put = |key: &str| {
        let of = |family: &str| (family.to_owned(), key.as_bytes().to_vec(), Some(vec![1]));
        Change::Write(vec![of("default"), of("one")])
    };
    let two = ["default", "one"].map(|name| (name.to_owned(), Content::new()));
    let mut history = History::since(State::from(two));
    history.note(put("a"), Told::Done);
    history.all_durable();
    history.note(put("b"), Told::Done);
    history.note(put("c"), Told::Failed);
    let state = |of_default: &[&str], of_one: &[&str]| {
        let content = |keys: &[&str]| -> Content {
            keys.iter()
                .map(|key| (key.as_bytes().to_vec(), vec![1]))
                .collect()
        };
        State::from([
            ("default".to_owned(), content(of_default)),
            ("one".to_owned(), content(of_one)),
        ])
    };
    let all = |keys: &[&str]| state(keys, keys);
    assert_eq!(history.visible(), all(&["a", "b"]));
    for (found, killed, cut) in [
        (all(&["a", "b"]), true, true),
        (all(&["a", "b", "c"]), true, true),
        (all(&["a"]), false, true),
        (all(&["a", "c"]), false, false),
        (all(&["b"]), false, false),
        (all(&[]), false, false),
        (state(&["a", "b", "c"], &["a", "b"]), false, false),
    ] {
        assert_eq!(history.explains_after_kill(&found).is_ok(), killed);
        assert_eq!(history.explains_after_power_cut(&found).is_ok(), cut);
    }
    let mut one_less = all(&["a", "b"]);
    one_less.remove("one");
    assert!(history.explains_after_power_cut(&one_less).is_err());
    history.forget_failed();
    assert!(history.explains_after_kill(&all(&["a", "b", "c"])).is_err());
}
