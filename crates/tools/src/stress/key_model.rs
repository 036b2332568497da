//! Keys, and values that say whose they are.
//!
//! A [`Slot`] is a key of a column family, and belongs to one thread, which alone
//! writes it. A value says whose it is and which [`Version`], and everything else
//! in it follows from these: any value that is read can be checked without
//! knowing what was written.
//!
//! Column families that come and go (`passing`) get a new number each time one is
//! created, also under a name that was there before. So a value that outlives its
//! family is told from all others.

use std::collections::BTreeMap;
use std::fmt;

use super::order::Order;

/// Numbers the values of a slot: each write takes a new one.
pub type Version = u32;

/// What a slot holds; `None` is nothing.
pub type Held = Option<Version>;

/// Bytes in front of a value's filling: version, key, column family.
const VALUE_HEADER: usize = 12;

/// Where the numbers of column families that come and go begin.
const FIRST_TRANSIENT: u32 = 16;

/// Most names of such.
pub const TRANSIENT_NAMES: u32 = 2;

/// Most column families that stay.
pub const PERMANENT_FAMILIES: u32 = 4;

/// The column family of slots that say which of those is there.
const PRESENCE: u32 = u32::MAX;

/// How large everything is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Column families that stay, the default one included.
    pub families: u32,
    /// Names of column families that come and go.
    pub transient: u32,
    /// The orders of the former, then of the latter.
    pub orders: [Order; (PERMANENT_FAMILIES + TRANSIENT_NAMES) as usize],
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

    /// Whether `slot` belongs to `thread`.
    pub fn is_of(&self, thread: u32, slot: Slot) -> bool {
        !slot.is_presence() && self.owner(slot) == thread
    }

    /// All slots of a column family.
    pub fn slots(&self, family: u32) -> impl Iterator<Item = Slot> + use<> {
        (0..self.keys).map(move |key| Slot { family, key })
    }

    /// The names of column families that come and go: their numbers, and themselves.
    pub fn transient_names(&self) -> impl Iterator<Item = (u32, String)> + use<> {
        (0..self.transient).map(|name| (name, format!("transient{name}")))
    }

    /// The name of a column family.
    pub fn family_name(family: u32) -> String {
        match family {
            0 => whitewater::DEFAULT_COLUMN_FAMILY_NAME.to_owned(),
            FIRST_TRANSIENT.. => {
                format!("transient{}", (family - FIRST_TRANSIENT) % TRANSIENT_NAMES)
            }
            n => format!("family{n}"),
        }
    }

    /// The column family whose value `bytes` are, if they are one.
    pub fn family_of(bytes: &[u8]) -> Option<u32> {
        let number = bytes.get(8..)?.first_chunk()?;
        Some(u32::from_le_bytes(*number))
    }

    /// How a column family orders its keys.
    pub fn order(&self, family: u32) -> Order {
        let at = match family {
            FIRST_TRANSIENT.. => PERMANENT_FAMILIES + (family - FIRST_TRANSIENT) % TRANSIENT_NAMES,
            n => n,
        };
        self.orders[at as usize]
    }

    /// The key of `slot` as the database has it.
    pub fn key(&self, slot: Slot) -> Vec<u8> {
        self.order(slot.family).key(slot.key)
    }

    /// The slot of a key that a database has.
    ///
    /// # Errors
    /// Bytes that are no key.
    pub fn slot(&self, family: u32, bytes: &[u8]) -> Result<Slot, String> {
        match self.order(family).number(bytes) {
            Some(key) => Ok(Slot { family, key }),
            None => Err(format!("family {family}: no key: {bytes:02x?}")),
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
        value.extend_from_slice(&slot.family.to_le_bytes());
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
    let seed = u64::from(version) << 32 ^ u64::from(slot.key) << 3 ^ u64::from(slot.family) << 20;
    let mixed = (seed ^ seed >> 29).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93) >> 8
}

/// A key of a column family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot {
    /// Which column family, from 0.
    pub family: u32,
    /// Which key, from 0.
    pub key: u32,
}

impl Slot {
    /// The slot that says which of the column families of a name that come and go
    /// is there: it holds how many of them there were before. Belongs to no
    /// thread, and is in no database.
    pub fn presence(name: u32) -> Slot {
        Slot {
            family: PRESENCE,
            key: name,
        }
    }

    /// Whether it is one of those.
    pub fn is_presence(self) -> bool {
        self.family == PRESENCE
    }

    /// The number of a column family that is there when the slot of its presence,
    /// which this is, holds `count`.
    pub fn transient_family(self, count: u32) -> u32 {
        FIRST_TRANSIENT + count * TRANSIENT_NAMES + self.key
    }

    /// Whether the slot's column family is there in a database that holds `content`.
    pub fn is_in(self, content: &BTreeMap<Slot, Version>) -> bool {
        match self.family {
            PRESENCE => false,
            family @ FIRST_TRANSIENT.. => {
                let (name, count) = (
                    (family - FIRST_TRANSIENT) % TRANSIENT_NAMES,
                    (family - FIRST_TRANSIENT) / TRANSIENT_NAMES,
                );
                content.get(&Slot::presence(name)) == Some(&count)
            }
            _ => true,
        }
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.family, self.key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Shape = Shape {
        families: 3,
        transient: 2,
        orders: [Order::Reverse; 6],
        keys: 10,
        threads: 3,
        max_value: 20_000,
    };

    #[test]
    fn values_are_their_slots_alone() {
        let mut longest = 0;
        for slot in (0..SHAPE.families).flat_map(|family| SHAPE.slots(family)) {
            assert!(SHAPE.owner(slot) < SHAPE.threads);
            for version in 0..50 {
                let value = SHAPE.value(slot, version);
                longest = longest.max(value.len());
                assert_eq!(SHAPE.version(slot, &value), Ok(version));
                assert_eq!(Shape::family_of(&value), Some(slot.family));
                let (key, family) = (slot.key + 1, slot.family + 1);
                for other in [Slot { key, ..slot }, Slot { family, ..slot }] {
                    assert!(SHAPE.version(other, &value).is_err());
                }
                assert!(SHAPE.version(slot, &value[..value.len() - 1]).is_err());
            }
        }
        assert!(longest > 10_000);
        let slot = Slot { family: 2, key: 3 };
        assert_eq!(SHAPE.slot(2, &SHAPE.key(slot)), Ok(slot));
        assert!(SHAPE.slot(2, b"k3").is_err());
    }

    #[test]
    fn families_that_go_and_come_back_are_others() {
        let content = BTreeMap::from([(Slot::presence(1), 7)]);
        let slot = |family| Slot { family, key: 0 };
        let [old, now] = [6, 7].map(|count| Slot::presence(1).transient_family(count));
        assert_eq!(Shape::family_name(old), Shape::family_name(now));
        assert!(
            SHAPE
                .transient_names()
                .any(|(name, text)| { name == 1 && text == Shape::family_name(now) })
        );
        assert!(slot(now).is_in(&content) && slot(2).is_in(&content));
        assert!(!slot(old).is_in(&content) && !Slot::presence(1).is_in(&content));
        assert!(!SHAPE.is_of(0, Slot::presence(1)));
    }
}
