//! Orders of keys. A permanent column family keeps its order, and all transient column
//! families of one name share an order.
//!
//! Every order sorts the keys of slots by the slots' numbers. Keys are therefore encoded
//! differently in different orders, and no other code needs to know the order.

use whitewater::{Options, ReadOptions};

use super::key_model::Version;

/// The number of digits of a key.
const DIGITS: usize = 7;

/// The order of a column family's keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Bytewise, ascending.
    Bytewise,
    /// Bytewise, descending.
    Reverse,
    /// From the last byte to the first, by a comparator of this program.
    FromTheEnd,
    /// Bytewise, with timestamps. The timestamp of a value is its version; that of a
    /// deletion is the version of the value before it.
    Stamped,
}

impl Order {
    /// All orders.
    pub const ALL: [Order; 4] = [
        Order::Bytewise,
        Order::Reverse,
        Order::FromTheEnd,
        Order::Stamped,
    ];

    /// The key with this number.
    pub fn key(self, number: u32) -> Vec<u8> {
        let most = 10_u32.pow(DIGITS as u32) - 1;
        let number = match self {
            Order::Reverse => most - number,
            _ => number,
        };
        let mut key = format!("k{number:0DIGITS$}").into_bytes();
        if self == Order::FromTheEnd {
            key.reverse();
        }
        key
    }

    /// The length of each key in bytes, with its timestamp if it has one.
    pub fn stored_len(self) -> usize {
        let stamp = if self.is_stamped() { stamp(0).len() } else { 0 };
        1 + DIGITS + stamp
    }

    /// The number of a key, if it is a key of the model.
    pub fn number(self, key: &[u8]) -> Option<u32> {
        let mut text = key.to_vec();
        if self == Order::FromTheEnd {
            text.reverse();
        }
        let digits = str::from_utf8(text.strip_prefix(b"k")?).ok()?;
        let number: u32 = digits.parse().ok()?;
        let number = match self {
            Order::Reverse => 10_u32.pow(DIGITS as u32).checked_sub(number + 1)?,
            _ => number,
        };
        (self.key(number) == key).then_some(number)
    }

    /// Sets the comparator of this order.
    pub fn set(self, o: &mut Options) {
        match self {
            Order::Bytewise => {}
            Order::Reverse => o.set_reverse_bytewise_comparator(),
            Order::Stamped => o.set_u64_timestamp_comparator(),
            Order::FromTheEnd => o.set_comparator(
                "stress.from_the_end",
                Box::new(|a, b| a.iter().rev().cmp(b.iter().rev())),
            ),
        }
    }

    /// Whether prefix extractors work with the order: keys with a common prefix are
    /// adjacent and have no timestamps.
    pub fn keeps_prefixes(self) -> bool {
        matches!(self, Order::Bytewise | Order::Reverse)
    }

    /// Whether keys have timestamps.
    pub fn is_stamped(self) -> bool {
        self == Order::Stamped
    }

    /// Sets the read timestamp to `time`, or to the maximum, if keys have timestamps.
    pub fn read_at(self, o: &mut ReadOptions, time: Option<Version>) {
        if self.is_stamped() {
            o.set_timestamp(match time {
                Some(version) => stamp(version),
                None => u64::MAX.to_le_bytes(),
            });
        }
    }
}

/// The timestamp of a version.
pub fn stamp(version: Version) -> [u8; 8] {
    u64::from(version).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_their_numbers() {
        for order in Order::ALL {
            for number in [0, 1, 9, 10, 123, 4_000] {
                assert_eq!(order.number(&order.key(number)), Some(number));
                let stamp = if order.is_stamped() { 8 } else { 0 };
                assert_eq!(order.key(number).len() + stamp, order.stored_len());
            }
            assert_eq!(order.number(b"k12"), None);
        }
        assert!(Order::Bytewise.key(9) < Order::Bytewise.key(10));
        assert!(Order::Reverse.key(9) > Order::Reverse.key(10));
        assert!(Order::FromTheEnd.key(19) > Order::FromTheEnd.key(20));
    }
}
