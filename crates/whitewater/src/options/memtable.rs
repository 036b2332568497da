//! Memtables in options: their text form, as RocksDB writes and reads it, and what each of them
//! requires.
//!
//! Three forms are read: the nickname, with a number of buckets after a colon if the memtable
//! has buckets (`prefix_hash:1000`); the class name in place of the nickname
//! (`HashSkipListRepFactory`); and the form with properties that options files have
//! (`{id=HashSkipListRepFactory;bucket_count=1000;...}`).

use super::CfOptions;
use super::text::{OptionText, split_assignments};
use crate::options::memtable_kind::{MAX_TREE_CAPACITY, MemtableKind};
use whitewater_storage::{Error, Result};

/// RocksDB's default number of buckets of skip lists.
const SKIP_LIST_BUCKETS: usize = 1_000_000;
/// RocksDB's default height and branching factor of the skip lists in buckets.
const SKIP_LIST_SHAPE: (i32, i32) = (4, 4);
/// RocksDB's default number of buckets of linked lists.
const LINK_LIST_BUCKETS: usize = 50_000;

/// The largest accepted height of a skip list, as in RocksDB. Lists here stop at fewer levels,
/// which is enough for 16 million entries each.
const MAX_HEIGHT: usize = 32;

/// The largest accepted number of buckets, which take 8 or 16 GiB.
const MAX_BUCKETS: usize = 1 << 30;

impl OptionText for MemtableKind {
    fn print(&self) -> String {
        match self {
            MemtableKind::Auto => "auto".to_owned(),
            MemtableKind::SkipList => "skip_list".to_owned(),
            MemtableKind::Art => "art".to_owned(),
            MemtableKind::Vector => "vector".to_owned(),
            MemtableKind::HashSkipList {
                bucket_count,
                height,
                branching_factor,
            } => format!(
                "{{id=HashSkipListRepFactory;bucket_count={bucket_count};\
                 skiplist_height={height};branching_factor={branching_factor};}}"
            ),
            MemtableKind::HashLinkList { bucket_count } => {
                format!("{{id=HashLinkListRepFactory;bucket_count={bucket_count};}}")
            }
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let inner = text.strip_prefix('{').and_then(|t| t.strip_suffix('}'));
        let text = inner.unwrap_or(text);
        if !text.contains('=') {
            return by_name(text);
        }
        let mut properties = split_assignments(text).ok()?.into_iter();
        let (_, name) = properties.next().filter(|(id, _)| *id == "id")?;
        let mut kind = by_name(name)?;
        properties
            .all(|(name, value)| set(&mut kind, name, value))
            .then_some(kind)
    }
}

/// The memtable with a name, which may be followed by a number of buckets.
fn by_name(text: &str) -> Option<MemtableKind> {
    let (name, number) = match text.split_once(':') {
        None => (text, None),
        Some((name, number)) => (name, Some(number.parse::<usize>().ok()?)),
    };
    match (name, number) {
        ("auto", None) => Some(MemtableKind::Auto),
        ("skip_list" | "SkipListFactory", None) => Some(MemtableKind::SkipList),
        ("art", None) => Some(MemtableKind::Art),
        ("vector" | "VectorRepFactory", None) => Some(MemtableKind::Vector),
        ("prefix_hash" | "HashSkipListRepFactory", buckets) => {
            let (height, branching_factor) = SKIP_LIST_SHAPE;
            Some(MemtableKind::HashSkipList {
                bucket_count: buckets.unwrap_or(SKIP_LIST_BUCKETS),
                height,
                branching_factor,
            })
        }
        ("hash_linkedlist" | "HashLinkListRepFactory", buckets) => {
            Some(MemtableKind::HashLinkList {
                bucket_count: buckets.unwrap_or(LINK_LIST_BUCKETS),
            })
        }
        _ => None,
    }
}

/// Sets a property. Returns `false` if the property is unknown or its value cannot be honoured.
fn set(kind: &mut MemtableKind, name: &str, value: &str) -> bool {
    fn number<T: std::str::FromStr>(to: &mut T, value: &str) -> bool {
        value.parse().map(|value| *to = value).is_ok()
    }
    match (kind, name) {
        // `lookahead`: how far an insert searches nearby first. `count`: capacity reserved in
        // advance; here, memory is allocated as it is needed.
        (MemtableKind::SkipList, "lookahead") | (MemtableKind::Vector, "count") => value == "0",
        (MemtableKind::HashSkipList { bucket_count, .. }, "bucket_count")
        | (MemtableKind::HashLinkList { bucket_count }, "bucket_count") => {
            number(bucket_count, value)
        }
        (MemtableKind::HashSkipList { height, .. }, "skiplist_height") => number(height, value),
        (
            MemtableKind::HashSkipList {
                branching_factor, ..
            },
            "branching_factor",
        ) => number(branching_factor, value),
        (MemtableKind::HashLinkList { .. }, "threshold") => value == "256",
        (MemtableKind::HashLinkList { .. }, "huge_page_size") => value == "0",
        // These properties concern what RocksDB writes to its info log.
        (MemtableKind::HashLinkList { .. }, "logging_threshold" | "log_when_flash") => true,
        _ => false,
    }
}

/// Checks the numbers of a memtable.
///
/// # Errors
/// `InvalidArgument` naming the option.
pub(super) fn check_numbers(name: &str, kind: &MemtableKind) -> Result<()> {
    let in_range = |what: &str, value: usize, from: usize, to: usize| {
        if (from..=to).contains(&value) {
            return Ok(());
        }
        Err(Error::invalid(format_args!(
            "option {name}: {what} = {value} is outside {from}..={to}"
        )))
    };
    // A negative number is as invalid as 0.
    let positive = |value: i32| usize::try_from(value).unwrap_or(0);
    match *kind {
        MemtableKind::HashSkipList {
            bucket_count,
            height,
            branching_factor,
        } => {
            in_range("bucket_count", bucket_count, 1, MAX_BUCKETS)?;
            in_range("height", positive(height), 1, MAX_HEIGHT)?;
            in_range("branching_factor", positive(branching_factor), 2, 1 << 16)
        }
        MemtableKind::HashLinkList { bucket_count } => {
            in_range("bucket_count", bucket_count, 1, MAX_BUCKETS)
        }
        _ => Ok(()),
    }
}

/// Checks that the chosen memtable is compatible with the other options.
///
/// # Errors
/// `InvalidArgument` naming the option and the reason.
pub(super) fn check_fit(options: &CfOptions) -> Result<()> {
    let kind = options.memtable;
    if !kind.serves(&options.comparator) {
        return Err(Error::invalid(format_args!(
            "option memtable: {} cannot keep keys in the order {}, use {}",
            kind.print(),
            options.comparator.name(),
            MemtableKind::SkipList.print(),
        )));
    }
    if options.comparator.timestamp_size() > 0 {
        let refuse = |option| {
            Err(Error::not_supported(format_args!(
                "option {option} together with a comparator with timestamps, {}",
                options.comparator.name()
            )))
        };
        if options.prefix_extractor.is_some() {
            return refuse("prefix_extractor");
        }
        if options.inplace_update_support {
            return refuse("inplace_update_support");
        }
        if options.max_successive_merges > 0 {
            return refuse("max_successive_merges");
        }
        if options.values_have_times {
            return refuse("ttl");
        }
    }
    if kind == MemtableKind::Art && options.write_buffer_size > MAX_TREE_CAPACITY {
        return Err(Error::invalid(format_args!(
            "option write_buffer_size: a radix tree holds {MAX_TREE_CAPACITY} bytes at most"
        )));
    }
    if options.inplace_update_support && options.inplace_update_num_locks == 0 {
        return Err(Error::invalid(
            "option inplace_update_num_locks = 0: in-place updates need a lock",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memtables_are_read_in_every_spelling() {
        let skip = |bucket_count, height, branching_factor| MemtableKind::HashSkipList {
            bucket_count,
            height,
            branching_factor,
        };
        let link = |bucket_count| MemtableKind::HashLinkList { bucket_count };
        for (text, kind) in [
            ("skip_list", MemtableKind::SkipList),
            ("SkipListFactory", MemtableKind::SkipList),
            ("{id=SkipListFactory;lookahead=0;}", MemtableKind::SkipList),
            ("vector", MemtableKind::Vector),
            ("id=VectorRepFactory;count=0;", MemtableKind::Vector),
            ("prefix_hash", skip(1_000_000, 4, 4)),
            ("prefix_hash:7", skip(7, 4, 4)),
            (
                "{id=HashSkipListRepFactory;bucket_count=5;skiplist_height=3;branching_factor=8;}",
                skip(5, 3, 8),
            ),
            ("hash_linkedlist", link(50_000)),
            ("HashLinkListRepFactory:9", link(9)),
            (
                "{id=HashLinkListRepFactory;threshold=256;bucket_count=5;huge_page_size=0;\
                 logging_threshold=4096;log_when_flash=true;}",
                link(5),
            ),
        ] {
            assert_eq!(MemtableKind::parse(text), Some(kind), "{text}");
            assert_eq!(MemtableKind::parse(&kind.print()), Some(kind), "{text}");
        }
        for bad in [
            "cuckoo",
            "vector:x",
            "vector:5",
            "skip_list:3",
            "prefix_hash:-1",
            "{bucket_count=5;}",
            "{id=HashLinkListRepFactory;threshold=7;}",
            "{id=HashSkipListRepFactory;height=4;}",
        ] {
            assert_eq!(MemtableKind::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn bad_numbers_are_refused_by_name() {
        let skip = |bucket_count, height, branching_factor| MemtableKind::HashSkipList {
            bucket_count,
            height,
            branching_factor,
        };
        for (kind, what) in [
            (skip(0, 4, 4), "bucket_count"),
            (skip(usize::MAX, 4, 4), "bucket_count"),
            (skip(1, 0, 4), "height"),
            (skip(1, -3, 4), "height"),
            (skip(1, 33, 4), "height"),
            (skip(1, 4, 1), "branching_factor"),
            (
                MemtableKind::HashLinkList { bucket_count: 0 },
                "bucket_count",
            ),
        ] {
            let text = check_numbers("memtable", &kind).unwrap_err().to_string();
            assert!(text.contains(what) && text.contains("memtable"), "{text}");
        }
        check_numbers("memtable", &skip(1, 32, 2)).unwrap();
    }
}
