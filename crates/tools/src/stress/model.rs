//! Keys, values, and what is known of them.
//!
//! A [`Slot`] is a key of a column family, and belongs to one thread, which alone
//! writes it. A value says whose it is and which [`Version`], and everything else
//! in it follows from these: any value that is read can be checked without
//! knowing what was written.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// Numbers the values of a slot: each write takes a new one.
pub type Version = u32;

/// What a slot holds; `None` is nothing.
pub type Held = Option<Version>;

/// Bytes in front of a value's filling: version, key, column family.
const VALUE_HEADER: usize = 9;

/// How large everything is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Column families, the default one included.
    pub families: u8,
    /// Keys of each.
    pub keys: u32,
    /// Threads that write.
    pub threads: u32,
    /// Most bytes of a value, its header left out.
    pub max_value: u32,
}

impl Shape {
    /// The thread that writes `slot`. Keys of odd column families are dealt out in
    /// ranges, so that their owners may delete and ingest ranges; those of even
    /// ones one by one, so that all threads meet in every block.
    pub fn owner(&self, slot: Slot) -> u32 {
        if slot.family % 2 == 1 {
            let per_thread = self.keys.div_ceil(self.threads);
            slot.key / per_thread
        } else {
            slot.key % self.threads
        }
    }

    /// All slots, by column family and key.
    pub fn slots(&self) -> impl Iterator<Item = Slot> + use<> {
        let keys = self.keys;
        (0..self.families).flat_map(move |family| (0..keys).map(move |key| Slot { family, key }))
    }

    /// The name of a column family.
    pub fn family_name(family: u8) -> String {
        match family {
            0 => whitewater::DEFAULT_COLUMN_FAMILY_NAME.to_owned(),
            n => format!("family{n}"),
        }
    }

    /// A value of `slot`.
    pub fn value(&self, slot: Slot, version: Version) -> Vec<u8> {
        let mut mixed = mix(version, slot);
        let len = match mixed % 16 {
            // Most are short; some take a block, or several, of their own.
            0 => mixed >> 8,
            _ => (mixed >> 8) % 64,
        };
        let len = len as usize % (self.max_value as usize + 1);
        let mut value = Vec::with_capacity(VALUE_HEADER + len);
        value.extend_from_slice(&version.to_le_bytes());
        value.extend_from_slice(&slot.key.to_le_bytes());
        value.push(slot.family);
        while value.len() < VALUE_HEADER + len {
            // Half noise, half repetition.
            mixed = mixed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            value.extend_from_slice(&mixed.to_le_bytes());
            value.extend_from_slice(b"........");
        }
        value.truncate(VALUE_HEADER + len);
        value
    }

    /// The version that `bytes` are, found at `slot`.
    ///
    /// # Errors
    /// Bytes that are no value of the slot.
    pub fn version(&self, slot: Slot, bytes: &[u8]) -> Result<Version, String> {
        let version = bytes.first_chunk().map(|v| Version::from_le_bytes(*v));
        match version {
            Some(version) if self.value(slot, version) == bytes => Ok(version),
            _ => Err(format!("{slot}: no value of its own: {bytes:02x?}")),
        }
    }
}

fn mix(version: Version, slot: Slot) -> u64 {
    let seed = u64::from(version) << 32 ^ u64::from(slot.key) << 3 ^ u64::from(slot.family);
    let mixed = (seed ^ seed >> 29).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93) >> 8
}

/// A key of a column family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot {
    /// Which column family, from 0.
    pub family: u8,
    /// Which key, from 0.
    pub key: u32,
}

impl Slot {
    /// The key as the database has it. In the order of the numbers.
    pub fn bytes(self) -> Vec<u8> {
        format!("k{:07}", self.key).into_bytes()
    }

    /// The slot of a key that a database has.
    ///
    /// # Errors
    /// Bytes that are no key.
    pub fn parse(family: u8, bytes: &[u8]) -> Result<Slot, String> {
        let digits = bytes
            .strip_prefix(b"k")
            .and_then(|d| str::from_utf8(d).ok());
        match digits.and_then(|d| d.parse().ok()) {
            Some(key) if (Slot { family, key }).bytes() == bytes => Ok(Slot { family, key }),
            _ => Err(format!("family {family}: no key: {bytes:02x?}")),
        }
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.family, self.key)
    }
}

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
    pub fn doubt(&mut self, changes: &[Change]) {
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
pub struct Torn {
    /// What each slot held before, and is to hold.
    slots: Vec<(Slot, Held, Held)>,
}

impl Torn {
    /// `changes` to what was there `before`.
    pub fn new(before: &Expected, changes: &[Change]) -> Torn {
        // A change that changes nothing cannot be told from none.
        let slots = changes.iter().filter_map(|&Change { slot, held }| {
            let old = before.known(slot)?;
            (old != held).then_some((slot, old, held))
        });
        Torn {
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
        let (new, old): (Vec<_>, Vec<_>) =
            self.slots.iter().copied().partition(|change| there(change));
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

    const SHAPE: Shape = Shape {
        families: 3,
        keys: 10,
        threads: 3,
        max_value: 20_000,
    };

    #[test]
    fn values_are_their_slots_alone() {
        let mut longest = 0;
        for slot in SHAPE.slots() {
            for version in 0..50 {
                let value = SHAPE.value(slot, version);
                longest = longest.max(value.len());
                assert_eq!(SHAPE.version(slot, &value), Ok(version));
                let other = Slot {
                    key: slot.key + 1,
                    ..slot
                };
                assert!(SHAPE.version(other, &value).is_err());
                assert!(SHAPE.version(slot, &value[..value.len() - 1]).is_err());
            }
        }
        assert!(longest > 10_000);
        let slot = Slot { family: 2, key: 3 };
        assert_eq!(Slot::parse(2, &slot.bytes()), Ok(slot));
        assert!(Slot::parse(2, b"k3").is_err());
        assert!(SHAPE.slots().all(|slot| SHAPE.owner(slot) < SHAPE.threads));
    }

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
        let mut torn = Torn::new(&Expected::default(), &changes);
        let with = |n: usize| slots[..n].iter().map(|&slot| (slot, 5)).collect();
        assert_eq!(torn.check(&with(0)), Ok(()));
        assert_eq!(torn.check(&with(3)), Ok(()));
        assert!(torn.check(&with(2)).is_err());
        torn.forget(&changes[2..]);
        assert_eq!(torn.check(&with(2)), Ok(()));
        assert!(torn.check(&with(1)).is_err());
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
        expected.doubt(&put(1));
        assert!(expected.allows(slot, None) && expected.allows(slot, Some(1)));
        assert_eq!(expected.known(slot), None);
        expected.apply(&put(2));
        assert_eq!(expected.known(slot), Some(Some(2)));
        assert!(!expected.allows(slot, Some(1)));
        let content = BTreeMap::from([(slot, 2)]);
        assert_eq!(Expected::exactly(&content), expected);
    }
}
