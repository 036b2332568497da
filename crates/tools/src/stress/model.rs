//! Changes of slots, and what is known of them.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use super::key_model::{Held, Slot, Version};

/// What a slot is to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    /// Which slot.
    pub slot: Slot,
    /// What.
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

/// What may be in a slot: one thing, or one of several after writes whose fate is
/// not known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Expected(BTreeMap<Slot, Vec<Held>>);

impl Expected {
    /// Slots that hold exactly this; all others hold nothing.
    pub fn exactly(content: &BTreeMap<Slot, Version>) -> Expected {
        let held = content.iter();
        Expected(held.map(|(&slot, &v)| (slot, vec![Some(v)])).collect())
    }

    /// `changes` have been acknowledged.
    pub fn apply(&mut self, changes: &[Change]) {
        for change in changes {
            self.0.insert(change.slot, vec![change.held]);
        }
    }

    /// `changes` may have come to pass, each for itself.
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

    /// What `slot` holds, if that is known.
    pub fn known(&self, slot: Slot) -> Option<Held> {
        match self.of(slot) {
            [held] => Some(*held),
            _ => None,
        }
    }

    /// Takes over what `other` says of the slots that `counts` takes.
    pub fn merge(&mut self, other: &Expected, counts: impl Fn(Slot) -> bool) {
        let slots = other.0.iter().filter(|(slot, _)| counts(**slot));
        self.0
            .extend(slots.map(|(&slot, may_be)| (slot, may_be.clone())));
    }

    /// The changes that bring this about, one for each slot that is known.
    pub fn changes(&self) -> impl Iterator<Item = Change> {
        let known = self.0.iter().filter(|(_, may_be)| may_be.len() == 1);
        known.map(|(&slot, may_be)| Change {
            slot,
            held: may_be[0],
        })
    }
}

/// A write of which nobody knows whether it came to pass.
#[derive(Debug, Clone)]
pub struct UncertainWrite {
    /// What each slot held before, and is to hold.
    slots: Vec<(Slot, Held, Held)>,
}

impl UncertainWrite {
    /// `changes` to what was there `before`.
    pub fn new(before: &Expected, changes: &[Change]) -> UncertainWrite {
        // A change that changes nothing cannot be told from none.
        let slots = changes.iter().filter_map(|&Change { slot, held }| {
            let old = before.known(slot)?;
            (old != held).then_some((slot, old, held))
        });
        UncertainWrite {
            slots: slots.collect(),
        }
    }

    /// Forgets the slots of `changes`, which come later, whatever becomes of them.
    pub fn forget(&mut self, changes: &[Change]) {
        let is_changed = |slot| changes.iter().any(|change| change.slot == slot);
        self.slots.retain(|(slot, ..)| !is_changed(*slot));
    }

    /// It is there as a whole, or not at all.
    ///
    /// # Errors
    /// A part of it is there.
    pub fn check(&self, content: &BTreeMap<Slot, Version>) -> Result<(), String> {
        let there = |&(slot, _, new): &(Slot, Held, Held)| content.get(&slot).copied() == new;
        // Column families that are gone say nothing.
        let slots = self.slots.iter().copied();
        let slots = slots.filter(|(slot, ..)| slot.is_in(content));
        let (new, old): (Vec<_>, Vec<_>) = slots.partition(|change| there(change));
        match new.is_empty() || old.is_empty() {
            true => Ok(()),
            false => Err(format!(
                "half a write (slot, old, new): {new:?} are there, {old:?} are not"
            )),
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
