//! The keys and values of the model.
//!
//! A [`Slot`] is one key of one column family. Exactly one thread writes it. A value names
//! its slot and its [`Version`], and both determine all its other bytes, so any value can
//! be checked without knowing what was written.
//!
//! Transient column families get a new number whenever one is created, even under a name
//! that was used before. A value that outlives its column family is therefore recognized.

use std::collections::BTreeMap;
use std::fmt;

use whitewater::WideColumn;

use super::order::Order;

/// The name of the column of an entity that merges leave as it was.
const ORIGIN: &str = "origin";

/// The number of a slot's value: each write takes a new one.
pub type Version = u32;

/// The content of a slot; `None` if the key does not exist.
pub type Held = Option<Version>;

/// The bytes of a value's header: version, key, column family.
const VALUE_HEADER: usize = 12;

/// The first number of a transient column family.
const FIRST_TRANSIENT: u32 = 16;

/// The largest number of names of transient column families.
pub const TRANSIENT_NAMES: u32 = 2;

/// The largest number of permanent column families.
pub const PERMANENT_FAMILIES: u32 = 4;

/// The column family number of presence slots (see [`Slot::presence`]).
const PRESENCE: u32 = u32::MAX;

/// The dimensions of a round's database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// The number of permanent column families, including the default one.
    pub families: u32,
    /// The number of names of transient column families.
    pub transient: u32,
    /// The key orders of the permanent column families, then those of the transient ones.
    pub orders: [Order; (PERMANENT_FAMILIES + TRANSIENT_NAMES) as usize],
    /// The number of keys of each column family.
    pub keys: u32,
    /// The number of writing threads.
    pub threads: u32,
    /// The largest size of a value in bytes, without its header.
    pub max_value: u32,
    /// The number of directories of tables; 0 is the database's own.
    pub paths: usize,
    /// The number of directories that tables of column families with odd numbers have to
    /// themselves; 0 is those of the database.
    pub family_paths: usize,
}

impl Shape {
    /// The thread that owns `slot`. In column families with odd numbers each thread owns a
    /// range of keys, so that it can delete and ingest ranges. In those with even numbers
    /// the keys alternate, so that all threads share every block.
    pub fn owner(&self, slot: Slot) -> u32 {
        if slot.family % 2 == 1 {
            let per_thread = self.keys.div_ceil(self.threads);
            slot.key / per_thread
        } else {
            slot.key % self.threads
        }
    }

    /// Whether `thread` owns `slot`.
    pub fn is_of(&self, thread: u32, slot: Slot) -> bool {
        !slot.is_presence() && self.owner(slot) == thread
    }

    /// All slots of a column family.
    pub fn slots(&self, family: u32) -> impl Iterator<Item = Slot> + use<> {
        (0..self.keys).map(move |key| Slot { family, key })
    }

    /// The names of transient column families, with their indexes.
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

    /// The column family that the value `bytes` belongs to.
    pub fn family_of(bytes: &[u8]) -> Option<u32> {
        let number = bytes.get(8..)?.first_chunk()?;
        Some(u32::from_le_bytes(*number))
    }

    /// The key order of a column family.
    pub fn order(&self, family: u32) -> Order {
        let at = match family {
            FIRST_TRANSIENT.. => PERMANENT_FAMILIES + (family - FIRST_TRANSIENT) % TRANSIENT_NAMES,
            n => n,
        };
        self.orders[at as usize]
    }

    /// Whether tables may be outside of the database's directory.
    pub fn has_paths(&self) -> bool {
        self.paths > 0 || self.family_paths > 0
    }

    /// The number of directories that the tables of a column family may be in.
    pub fn paths_of(&self, family: u32) -> usize {
        match family % 2 {
            1 if self.family_paths > 0 => self.family_paths,
            _ => self.paths.max(1),
        }
    }

    /// The key of `slot` as stored in the database.
    pub fn key(&self, slot: Slot) -> Vec<u8> {
        self.order(slot.family).key(slot.key)
    }

    /// The slot of a stored key.
    ///
    /// # Errors
    /// `key` is not a key of the model.
    pub fn slot(&self, family: u32, bytes: &[u8]) -> Result<Slot, String> {
        match self.order(family).number(bytes) {
            Some(key) => Ok(Slot { family, key }),
            None => Err(format!("family {family}: no key: {bytes:02x?}")),
        }
    }

    /// The value of `slot` with this version.
    pub fn value(&self, slot: Slot, version: Version) -> Vec<u8> {
        let mut mixed = mix(version, slot);
        let len = match mixed % 16 {
            // Most values are short; a few fill a block or several.
            0 => mixed >> 8,
            _ => (mixed >> 8) % 64,
        };
        let len = len as usize % (self.max_value as usize + 1);
        let mut value = Vec::with_capacity(VALUE_HEADER + len);
        value.extend_from_slice(&version.to_le_bytes());
        value.extend_from_slice(&slot.key.to_le_bytes());
        value.extend_from_slice(&slot.family.to_le_bytes());
        while value.len() < VALUE_HEADER + len {
            // Half of the bytes are random, half are repetitive.
            mixed = mixed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            value.extend_from_slice(&mixed.to_le_bytes());
            value.extend_from_slice(b"........");
        }
        value.truncate(VALUE_HEADER + len);
        value
    }

    /// The columns of `slot`, where it is an entity, with this version: the value, which merges
    /// replace, and the same again, which they leave.
    pub fn columns(&self, slot: Slot, version: Version) -> [(&'static str, Vec<u8>); 2] {
        let value = self.value(slot, version);
        [(ORIGIN, value.clone()), ("", value)]
    }

    /// Checks that `columns` were written to `slot`, as a value or as an entity.
    ///
    /// # Errors
    /// They were not.
    pub fn check_columns(&self, slot: Slot, columns: &[WideColumn<'_>]) -> Result<(), String> {
        let versions: Result<Vec<_>, _> = columns
            .iter()
            .map(|column| self.version(slot, column.value))
            .collect();
        let names: Vec<&[u8]> = columns.iter().map(|column| column.name).collect();
        match (&names[..], &versions?[..]) {
            ([b""], _) => Ok(()),
            ([b"", origin], [now, then]) if *origin == ORIGIN.as_bytes() && now >= then => Ok(()),
            (_, versions) => Err(format!("{slot}: columns {names:02x?} of {versions:?}")),
        }
    }

    /// The version of the value `bytes` that was found in `slot`.
    ///
    /// # Errors
    /// `bytes` is not a value of the slot.
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

/// One key of one column family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot {
    /// The number of the column family, from 0.
    pub family: u32,
    /// The number of the key, from 0.
    pub key: u32,
}

impl Slot {
    /// The presence slot of a name. It tells which transient column family of that name
    /// exists: its content is the count of column families that the name has had. No thread
    /// owns it, and it is not stored in the database.
    pub fn presence(name: u32) -> Slot {
        Slot {
            family: PRESENCE,
            key: name,
        }
    }

    /// Whether this is a presence slot.
    pub fn is_presence(self) -> bool {
        self.family == PRESENCE
    }

    /// The number of the transient column family that exists when this presence slot holds
    /// `count`.
    pub fn transient_family(self, count: u32) -> u32 {
        FIRST_TRANSIENT + count * TRANSIENT_NAMES + self.key
    }

    /// Whether the slot's column family exists in a database that holds `content`.
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
        paths: 0,
        family_paths: 0,
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
