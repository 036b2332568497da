//! Changes of slots, and what slots may hold after them.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use super::key_model::{Held, Slot, Version};

/// A change of one slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    /// The slot.
    pub slot: Slot,
    /// What the slot holds after the change.
    pub held: Held,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.held {
            Some(version) => write!(f, "{}={version}", self.slot),
            None => write!(f, "{}=-", self.slot),
        }
    }
}

impl FromStr for Change {
    type Err = String;

    fn from_str(text: &str) -> Result<Change, String> {
        let parse = || {
            let (slot, held) = text.split_once('=')?;
            let (family, key) = slot.split_once('/')?;
            let slot = Slot {
                family: family.parse().ok()?,
                key: key.parse().ok()?,
            };
            let held = match held {
                "-" => None,
                version => Some(version.parse().ok()?),
            };
            Some(Change { slot, held })
        };
        parse().ok_or_else(|| format!("no change: {text:?}"))
    }
}

/// What each slot may hold: one content, or several after writes whose outcome is unknown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Expected(BTreeMap<Slot, Vec<Held>>);

impl Expected {
    /// Exactly this content; all other slots are empty.
    pub fn exactly(content: &BTreeMap<Slot, Version>) -> Expected {
        let held = content.iter();
        Expected(held.map(|(&slot, &v)| (slot, vec![Some(v)])).collect())
    }

    /// Records that `changes` were acknowledged.
    pub fn apply(&mut self, changes: &[Change]) {
        for change in changes {
            self.0.insert(change.slot, vec![change.held]);
        }
    }

    /// Records that each of `changes` may have happened or not.
    pub fn maybe_apply(&mut self, changes: &[Change]) {
        for change in changes {
            let may_be = self.0.entry(change.slot).or_insert_with(|| vec![None]);
            if !may_be.contains(&change.held) {
                may_be.push(change.held);
            }
        }
    }

    /// Whether `slot` may hold `held`.
    pub fn allows(&self, slot: Slot, held: Held) -> bool {
        match self.0.get(&slot) {
            Some(may_be) => may_be.contains(&held),
            None => held.is_none(),
        }
    }

    /// What `slot` may hold.
    pub fn of(&self, slot: Slot) -> &[Held] {
        self.0.get(&slot).map_or(&[None], Vec::as_slice)
    }

    /// What `slot` holds, if it is certain.
    pub fn known(&self, slot: Slot) -> Option<Held> {
        match self.of(slot) {
            [held] => Some(*held),
            _ => None,
        }
    }

    /// Replaces the knowledge about the slots that `counts` selects by that of `other`.
    pub fn merge(&mut self, other: &Expected, counts: impl Fn(Slot) -> bool) {
        let slots = other.0.iter().filter(|(slot, _)| counts(**slot));
        self.0
            .extend(slots.map(|(&slot, may_be)| (slot, may_be.clone())));
    }

    /// The changes that lead here from an empty database, for all slots that are certain.
    pub fn changes(&self) -> impl Iterator<Item = Change> {
        let known = self.0.iter().filter(|(_, may_be)| may_be.len() == 1);
        known.map(|(&slot, may_be)| Change {
            slot,
            held: may_be[0],
        })
    }
}

/// A write whose outcome is unknown.
#[derive(Debug, Clone)]
pub struct UncertainWrite {
    /// The slots of the write, each with its content before and after it.
    slots: Vec<(Slot, Held, Held)>,
}

impl UncertainWrite {
    /// The write of `changes` to the state `before`.
    pub fn new(before: &Expected, changes: &[Change]) -> UncertainWrite {
        // A change to the same content leaves no trace.
        let slots = changes.iter().filter_map(|&Change { slot, held }| {
            let old = before.known(slot)?;
            (old != held).then_some((slot, old, held))
        });
        UncertainWrite {
            slots: slots.collect(),
        }
    }

    /// Forgets the slots of `changes`, a later write, whatever its outcome is.
    pub fn forget(&mut self, changes: &[Change]) {
        let is_changed = |slot| changes.iter().any(|change| change.slot == slot);
        self.slots.retain(|(slot, ..)| !is_changed(*slot));
    }

    /// Checks that `content` has all of the write or nothing of it.
    ///
    /// # Errors
    /// Only a part of the write is there.
    pub fn check(&self, content: &BTreeMap<Slot, Version>) -> Result<(), String> {
        let there = |&(slot, _, new): &(Slot, Held, Held)| content.get(&slot).copied() == new;
        // Slots of column families that no longer exist say nothing.
        let slots = self.slots.iter().copied();
        let slots = slots.filter(|(slot, ..)| slot.is_in(content));
        let (new, old): (Vec<_>, Vec<_>) = slots.partition(|change| there(change));
        if new.is_empty() || old.is_empty() {
            Ok(())
        } else {
            Err(format!(
                "half a write (slot, old, new): {new:?} are there, {old:?} are not"
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_survive_their_text() {
        let slot = Slot { family: 1, key: 7 };
        for held in [None, Some(12)] {
            let change = Change { slot, held };
            assert_eq!(change.to_string().parse(), Ok(change));
        }
        assert!("1/7".parse::<Change>().is_err());
    }

    #[test]
    fn half_a_write_is_wrong() {
        let slots = [0, 1, 2].map(|key| Slot { family: 0, key });
        let changes = slots.map(|slot| Change {
            slot,
            held: Some(5),
        });
        let mut uncertain = UncertainWrite::new(&Expected::default(), &changes);
        let with = |n: usize| slots[..n].iter().map(|&slot| (slot, 5)).collect();
        assert_eq!(uncertain.check(&with(0)), Ok(()));
        assert_eq!(uncertain.check(&with(3)), Ok(()));
        assert!(uncertain.check(&with(2)).is_err());
        uncertain.forget(&changes[2..]);
        assert_eq!(uncertain.check(&with(2)), Ok(()));
        assert!(uncertain.check(&with(1)).is_err());
    }

    #[test]
    fn what_went_with_its_family_is_no_half() {
        let (stays, goes) = (0, Slot::presence(0).transient_family(3));
        let slots = [stays, goes].map(|family| Slot { family, key: 1 });
        let changes = slots.map(|slot| Change {
            slot,
            held: Some(5),
        });
        let uncertain = UncertainWrite::new(&Expected::default(), &changes);
        let half = BTreeMap::from([(slots[0], 5)]);
        assert_eq!(uncertain.check(&half), Ok(()));
        let there = half.into_iter().chain([(Slot::presence(0), 3)]);
        assert!(uncertain.check(&there.collect()).is_err());
    }

    #[test]
    fn doubts_end_with_the_next_acknowledgement() {
        let slot = Slot { family: 0, key: 1 };
        let put = |version| {
            [Change {
                slot,
                held: Some(version),
            }]
        };
        let mut expected = Expected::default();
        expected.maybe_apply(&put(1));
        assert!(expected.allows(slot, None) && expected.allows(slot, Some(1)));
        assert_eq!(expected.known(slot), None);
        expected.apply(&put(2));
        assert_eq!(expected.known(slot), Some(Some(2)));
        assert!(!expected.allows(slot, Some(1)));
        let content = BTreeMap::from([(slot, 2)]);
        assert_eq!(Expected::exactly(&content), expected);
    }
}
