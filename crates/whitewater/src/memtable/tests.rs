//! The layers around a representation: the Bloom filter and checksums.

use super::rep::{Entry, Visit};
use super::*;
use crate::options::prefix::PrefixExtractor;
use crate::read::testing::Append;
use whitewater_storage::ErrorKind;
use whitewater_storage::internal_iterator::InternalIterator;
use whitewater_storage::key::{internal_key, seek_key};

const KINDS: [MemtableKind; 3] = [
    MemtableKind::SkipList,
    MemtableKind::Art,
    MemtableKind::Vector,
];

const HOME: Home<'_> = Home {
    family: "pets",
    budget_client: None,
};

/// What a [`Watched`] representation does wrong, and what it is asked.
#[derive(Debug, Default)]
struct Watch {
    gets: AtomicUsize,
    seeks: AtomicUsize,
    damage: Mutex<Damage>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq)]
enum Damage {
    #[default]
    None,
    /// A bit of the bytes stored for the value, when they are read.
    Read(usize),
    /// A bit of the value, of the key, or another tag, on the way in.
    Value,
    Key,
    Tag,
}

/// A representation that counts what it is asked, and damages entries.
#[derive(Debug)]
struct Watched {
    inner: Arc<dyn MemtableRep>,
    watch: Arc<Watch>,
}

fn flip(bytes: &[u8], bit: usize) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[bit / 8] ^= 1 << (bit % 8);
    bytes
}

impl MemtableRep for Watched {
    fn insert(&self, entry: Entry<'_>) -> bool {
        let damage = *self.watch.damage.lock();
        let (mut key, mut value) = (entry.user_key.to_vec(), entry.value.to_vec());
        let mut tag = entry.tag;
        match damage {
            Damage::Value => value = flip(&value, 0),
            Damage::Key => key = flip(&key, 0),
            Damage::Tag => tag += 1 << 8,
            Damage::None | Damage::Read(_) => {}
        }
        self.inner.insert(Entry {
            user_key: &key,
            tag,
            value: &value,
        })
    }
    fn get(&self, user_key: &[u8], tag: u64, visit: &mut Visit<'_>) {
        self.watch.gets.fetch_add(1, Ordering::Relaxed);
        let damage = *self.watch.damage.lock();
        self.inner
            .get(user_key, tag, &mut |tag, stored| match damage {
                Damage::Read(bit) => visit(tag, &flip(stored, bit)),
                _ => visit(tag, stored),
            });
    }
    fn iter(self: Arc<Self>) -> BoxedIterator {
        Box::new(WatchedIter {
            inner: self.inner.clone().iter(),
            watch: self.watch.clone(),
            value: Vec::new(),
        })
    }
    fn used_bytes(&self) -> usize {
        self.inner.used_bytes()
    }
    fn allocated_bytes(&self) -> usize {
        self.inner.allocated_bytes()
    }
}

struct WatchedIter {
    inner: BoxedIterator,
    watch: Arc<Watch>,
    value: Vec<u8>,
}

impl WatchedIter {
    fn moved(&mut self) {
        self.value.clear();
        if self.inner.valid() {
            let damage = *self.watch.damage.lock();
            self.value = match damage {
                Damage::Read(bit) => flip(self.inner.value(), bit),
                _ => self.inner.value().to_vec(),
            };
        }
    }
}

impl InternalIterator for WatchedIter {
    fn valid(&self) -> bool {
        self.inner.valid()
    }
    fn seek_to_first(&mut self) {
        self.inner.seek_to_first();
        self.moved();
    }
    fn seek_to_last(&mut self) {
        self.inner.seek_to_last();
        self.moved();
    }
    fn seek(&mut self, target: &[u8]) {
        self.watch.seeks.fetch_add(1, Ordering::Relaxed);
        self.inner.seek(target);
        self.moved();
    }
    fn seek_for_prev(&mut self, target: &[u8]) {
        self.watch.seeks.fetch_add(1, Ordering::Relaxed);
        self.inner.seek_for_prev(target);
        self.moved();
    }
    fn next(&mut self) {
        self.inner.next();
        self.moved();
    }
    fn prev(&mut self) {
        self.inner.prev();
        self.moved();
    }
    fn key(&self) -> &[u8] {
        self.inner.key()
    }
    fn value(&self) -> &[u8] {
        &self.value
    }
    fn status(&self) -> Result<()> {
        self.inner.status()
    }
}

fn watched(options: &CfOptions) -> (Arc<Memtable>, Arc<Watch>) {
    let watch = Arc::new(Watch::default());
    let inner = new_rep(
        options.memtable,
        RepOptions {
            comparator: options.comparator.clone(),
            capacity: options.write_buffer_size,
            arena: 4096.into(),
            prefix_extractor: options.prefix_extractor.clone(),
        },
    );
    let rep = Arc::new(Watched {
        inner,
        watch: watch.clone(),
    });
    (Memtable::over(rep, options, HOME, 1, 1), watch)
}

fn add(memtable: &Memtable, ty: ValueType, key: &[u8], value: &[u8], seq: u64) {
    let mut inserter = Inserter::new(false);
    inserter.add(memtable, ty, key, value, seq).unwrap();
    inserter.finish().unwrap();
}

fn get(memtable: &Memtable, key: &[u8]) -> Result<Option<Bytes>> {
    let mut ctx = GetContext::new(key, Some(&Append));
    memtable.get(key, u64::MAX >> 8, &mut ctx)?;
    ctx.finish()
}

fn with_filter(memtable: MemtableKind, whole_key: bool, prefix: Option<usize>) -> CfOptions {
    CfOptions {
        memtable,
        write_buffer_size: 64 << 10,
        memtable_prefix_bloom_size_ratio: 0.25,
        memtable_whole_key_filtering: whole_key,
        prefix_extractor: prefix.map(PrefixExtractor::Fixed),
        ..CfOptions::default()
    }
}

#[test]
fn there_is_a_filter_only_where_options_ask_for_one() {
    for (ratio, whole_key, prefix, expected) in [
        (0.0, true, Some(2), false),
        (0.1, false, None, false),
        (0.1, true, None, true),
        (0.1, false, Some(2), true),
        (0.1, true, Some(2), true),
    ] {
        let options = CfOptions {
            memtable_prefix_bloom_size_ratio: ratio,
            ..with_filter(MemtableKind::SkipList, whole_key, prefix)
        };
        let memtable = Memtable::new(&options, HOME, 1, 1);
        assert_eq!(memtable.filter.is_some(), expected, "{ratio} {whole_key}");
        let bytes = if expected { (64 << 10) / 10 } else { 0 };
        let plain = Memtable::new(&CfOptions::default(), HOME, 1, 1);
        let more = memtable.memory_usage() - plain.memory_usage();
        assert!((bytes..bytes + 200).contains(&more), "{more} for {bytes}");
    }
}

#[test]
fn look_ups_of_keys_that_were_not_written_skip_the_representation() {
    for kind in KINDS {
        let (memtable, watch) = watched(&with_filter(kind, true, Some(2)));
        let keys: Vec<String> = (0..300).map(|i| format!("ab{i:04}")).collect();
        let mut inserter = Inserter::new(false);
        for (seq, key) in (1..).zip(&keys) {
            inserter
                .add(&memtable, ValueType::Value, key.as_bytes(), b"v", seq)
                .unwrap();
        }
        inserter.finish().unwrap();
        // A deletion and an operand without a base count as much as a value.
        add(&memtable, ValueType::Deletion, b"gone", b"", 1000);
        add(&memtable, ValueType::Merge, b"sum", b"1", 1001);
        for key in &keys {
            assert_eq!(get(&memtable, key.as_bytes()).unwrap().unwrap(), "v");
        }
        assert_eq!(get(&memtable, b"sum").unwrap().unwrap(), "1");
        let mut ctx = GetContext::new(b"gone", None);
        memtable.get(b"gone", 2000, &mut ctx).unwrap();
        assert!(ctx.done(), "the deletion is found");
        assert_eq!(watch.gets.swap(0, Ordering::Relaxed), 302);

        for i in 0..300 {
            // The prefix is there; the whole key decides.
            let key = format!("ab{i:04}x");
            assert_eq!(get(&memtable, key.as_bytes()).unwrap(), None);
        }
        let asked = watch.gets.load(Ordering::Relaxed);
        assert!(asked <= 3, "{asked} of 300");
    }
}

#[test]
fn without_whole_keys_look_ups_go_by_prefix() {
    for kind in KINDS {
        let (memtable, watch) = watched(&with_filter(kind, false, Some(2)));
        add(&memtable, ValueType::Value, b"ab1", b"v", 1);
        add(&memtable, ValueType::Value, b"x", b"short", 2);
        let gets = |key: &[u8], expected: usize| {
            get(&memtable, key).unwrap();
            assert_eq!(
                watch.gets.swap(0, Ordering::Relaxed),
                expected,
                "{}",
                key.escape_ascii()
            );
        };
        gets(b"ab1", 1);
        gets(b"ab2", 1);
        gets(b"zz1", 0);
        // Keys without a prefix are not in it, and always looked for.
        gets(b"x", 1);
        gets(b"y", 1);
        assert_eq!(get(&memtable, b"x").unwrap().unwrap(), "short");
    }
}

#[test]
fn range_tombstones_cover_keys_that_the_filter_does_not_hold() {
    for kind in KINDS {
        let (memtable, watch) = watched(&with_filter(kind, true, None));
        add(&memtable, ValueType::RangeDeletion, b"a", b"m", 7);
        let mut ctx = GetContext::new(b"b", None);
        memtable.get(b"b", 9, &mut ctx).unwrap();
        assert!(ctx.covered());
        assert_eq!(watch.gets.load(Ordering::Relaxed), 0);
        // An older value below it, found in an older source, is deleted.
        ctx.entry(3, ValueType::Value, || Bytes::from_static(b"old"))
            .unwrap();
        assert_eq!(ctx.finish().unwrap(), None);
    }
}

#[test]
fn iterators_that_keep_to_a_prefix_skip_the_representation() {
    for kind in KINDS {
        let options = with_filter(kind, true, Some(2));
        let (memtable, watch) = watched(&options);
        for key in ["aa1", "aa3", "cc1"] {
            add(&memtable, ValueType::Value, key.as_bytes(), b"v", 1);
        }
        let mut it = memtable.prefix_iter(options.prefix_extractor.as_ref());
        let seek = |it: &mut BoxedIterator, key: &[u8], before: bool| {
            let target = seek_key(key, u64::MAX >> 8);
            if before {
                it.seek_for_prev(&target);
            } else {
                it.seek(&target);
            }
            let found = it.valid().then(|| user_key_of(it));
            (found, watch.seeks.swap(0, Ordering::Relaxed))
        };
        let found = |key: &str| Some(key.as_bytes().to_vec());
        // A user of all keys gets the next one, whatever its prefix.
        assert_eq!(seek(&mut it, b"bb", false), (found("cc1"), 1));
        it.keep_to_prefix(true);
        assert_eq!(seek(&mut it, b"bb", false), (None, 0));
        assert!(it.status().is_ok());
        assert_eq!(seek(&mut it, b"bb9", true), (None, 0));
        assert_eq!(seek(&mut it, b"aa2", false), (found("aa3"), 1));
        assert_eq!(seek(&mut it, b"aa2", true), (found("aa1"), 1));
        assert_eq!(seek(&mut it, b"b", false), (found("cc1"), 1), "no prefix");
        assert_eq!(seek(&mut it, b"bb", false), (None, 0));
        it.seek_to_first();
        assert_eq!(user_key_of(&it), b"aa1");
        it.keep_to_prefix(false);
        assert_eq!(seek(&mut it, b"bb", false), (found("cc1"), 1));
    }
}

fn user_key_of(it: &BoxedIterator) -> Vec<u8> {
    whitewater_storage::key::user_key(it.key()).to_vec()
}

fn protected(memtable: MemtableKind, bytes: u32) -> CfOptions {
    CfOptions {
        memtable,
        memtable_protection_bytes_per_key: bytes,
        memtable_whole_key_filtering: true,
        ..CfOptions::default()
    }
}

#[test]
fn protected_entries_read_as_they_were_written() {
    for kind in KINDS {
        for bytes in [0, 1, 2, 4, 8] {
            let memtable = Memtable::new(&protected(kind, bytes), HOME, 1, 1);
            let values: Vec<Vec<u8>> = (0..200usize).map(|i| vec![i as u8; i % 50]).collect();
            let keys: Vec<String> = (0..200).map(|i| format!("k{i:03}")).collect();
            let mut inserter = Inserter::new(false);
            for ((seq, key), value) in (1..).zip(&keys).zip(&values) {
                inserter
                    .add(&memtable, ValueType::Value, key.as_bytes(), value, seq)
                    .unwrap();
            }
            inserter.finish().unwrap();
            for (key, value) in keys.iter().zip(&values) {
                assert_eq!(get(&memtable, key.as_bytes()).unwrap().unwrap(), value);
            }
            let mut it = memtable.iter();
            it.seek_to_first();
            for ((seq, key), value) in (1..).zip(&keys).zip(&values) {
                assert_eq!(
                    it.key(),
                    internal_key(key.as_bytes(), seq, ValueType::Value)
                );
                assert_eq!(it.value(), value);
                it.next();
            }
            assert!(!it.valid() && it.status().is_ok());
            it.seek_to_last();
            assert_eq!(it.value(), values[199]);
        }
    }
}

/// What a memtable keeps of an entry is made of the checksum that came with it,
/// so what had changed by the time of the insert is not read.
#[test]
fn entries_that_changed_before_they_came_are_not_read() {
    use whitewater_storage::protection::KvSum;
    for (kind, in_place) in KINDS.into_iter().flat_map(|k| [(k, false), (k, true)]) {
        let options = CfOptions {
            inplace_update_support: in_place,
            ..protected(kind, 8)
        };
        let memtable = Memtable::new(&options, HOME, 1, 1);
        let mut seq = 0;
        let mut add = |ty, key: &[u8], value: &[u8], sum| {
            seq += 1;
            let mut inserter = Inserter::new(false);
            let added = inserter.add_protected(&memtable, ty, (key, value), Some(sum), seq);
            added.and_then(|()| inserter.finish()).unwrap();
        };
        add(ValueType::Value, b"same", b"v", KvSum::of(b"same", b"v"));
        add(ValueType::Value, b"other", b"v", KvSum::of(b"other", b"w"));
        add(ValueType::Deletion, b"gone", b"", KvSum::of(b"gond", b""));
        add(
            ValueType::Value,
            b"again",
            b"v1",
            KvSum::of(b"again", b"v1"),
        );
        add(
            ValueType::Value,
            b"again",
            b"v2",
            KvSum::of(b"again", b"v3"),
        );
        assert_eq!(get(&memtable, b"same").unwrap().unwrap(), b"v"[..]);
        for key in ["other", "gone", "again"] {
            let e = get(&memtable, key.as_bytes()).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::Corruption, "{kind:?} {key}");
        }
        let sum = KvSum::of(b"a", b"c");
        add(ValueType::RangeDeletion, b"a", b"b", sum);
        let e = memtable.raw_tombstones().unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Corruption, "{kind:?}");
    }
}

/// What a flush walks with gives what any iterator gives, both ways and from
/// anywhere.
#[test]
fn flush_iterators_give_what_iterators_give() {
    for (kind, comparator) in KINDS.into_iter().flat_map(|kind| {
        [UserComparator::Bytewise, UserComparator::ReverseBytewise].map(|c| (kind, c))
    }) {
        let options = CfOptions {
            comparator: comparator.clone(),
            ..protected(kind, 0)
        };
        let memtable = Memtable::new(&options, HOME, 1, 1);
        let key = |i: u64| (i * 7919 % 500).to_be_bytes();
        for seq in 1..=1_000 {
            let value = vec![seq as u8; seq as usize % 300];
            add(&memtable, ValueType::Value, &key(seq), &value, seq);
        }
        let (mut it, mut flush) = (memtable.iter(), memtable.flush_iter());
        let same = |a: &BoxedIterator, b: &BoxedIterator| {
            assert_eq!(a.valid(), b.valid(), "{kind:?}");
            if a.valid() {
                assert_eq!((a.key(), a.value()), (b.key(), b.value()), "{kind:?}");
            }
            a.valid()
        };
        let mut steps = 0;
        it.seek_to_first();
        flush.seek_to_first();
        while same(&it, &flush) {
            steps += 1;
            it.next();
            flush.next();
        }
        assert_eq!(steps, 1_000);
        it.seek_to_last();
        flush.seek_to_last();
        assert!(same(&it, &flush));
        for i in 0..20 {
            let target = seek_key(&key(i), 700);
            it.seek(&target);
            flush.seek(&target);
            for _ in 0..100 {
                same(&it, &flush);
                it.next();
                flush.next();
            }
            if same(&it, &flush) {
                it.prev();
                flush.prev();
                assert!(same(&it, &flush));
            }
            it.seek_for_prev(&target);
            flush.seek_for_prev(&target);
            assert!(same(&it, &flush));
        }
    }
}

#[test]
fn checksums_count_as_memory() {
    for kind in KINDS {
        let usage = |bytes| {
            let memtable = Memtable::new(&protected(kind, bytes), HOME, 1, 1);
            for i in 0..1000u64 {
                add(
                    &memtable,
                    ValueType::Value,
                    &i.to_be_bytes(),
                    b"valuevalue",
                    i,
                );
            }
            add(&memtable, ValueType::RangeDeletion, b"a", b"b", 2000);
            memtable.memory_usage()
        };
        // Heights of towers are random.
        assert!(usage(8) >= usage(0) + 900 * 8, "{kind:?}");
    }
}

impl Memtable {
    /// Puts in an entry whose stored bytes are not what its checksum says, as
    /// if memory had gone bad.
    pub(crate) fn insert_damaged(&self, key: &[u8], seq: SequenceNumber) {
        let entry = Entry {
            user_key: key,
            tag: pack_tag(seq, ValueType::Value as u8),
            value: b"as it was written",
        };
        let mut stored = Vec::new();
        self.protection.append(&entry, None, &mut stored);
        let stored = flip(&stored, 3);
        assert!(self.rep.insert(Entry {
            value: &stored,
            ..entry
        }));
        self.count(1, 0);
    }
}

fn assert_mismatch(error: Error) {
    assert_eq!(error.kind(), ErrorKind::Corruption);
    let text = error.to_string();
    assert!(text.contains("[pets]"), "{text}");
    assert!(text.contains("checksum mismatch"), "{text}");
}

#[test]
fn every_flipped_bit_of_a_stored_value_is_found() {
    for kind in KINDS {
        for bytes in [1, 2, 4, 8] {
            let (memtable, watch) = watched(&protected(kind, bytes));
            add(&memtable, ValueType::Value, b"key", b"value", 5);
            // The value and the checksum itself.
            for bit in 0..8 * (5 + bytes as usize) {
                *watch.damage.lock() = Damage::Read(bit);
                assert_mismatch(get(&memtable, b"key").unwrap_err());
                for mut it in [memtable.iter(), memtable.flush_iter()] {
                    it.seek_to_first();
                    assert!(!it.valid(), "bit {bit}");
                    assert_mismatch(it.status().unwrap_err());
                    it.seek(&seek_key(b"key", 9));
                    assert!(!it.valid());
                }
            }
            *watch.damage.lock() = Damage::None;
            assert_eq!(get(&memtable, b"key").unwrap().unwrap(), "value");
            let mut it = memtable.iter();
            it.seek_to_last();
            assert_eq!(it.value(), b"value");
        }
    }
}

/// Damage between the batch and the stored entry, of every part of it.
#[test]
fn what_is_damaged_on_the_way_in_is_found() {
    for kind in KINDS {
        for (damage, key) in [
            (Damage::Value, &b"key"[..]),
            (Damage::Key, b"jey"),
            (Damage::Tag, b"key"),
        ] {
            let (memtable, watch) = watched(&protected(kind, 8));
            *watch.damage.lock() = damage;
            add(&memtable, ValueType::Value, b"key", b"value", 5);
            assert_mismatch(get(&memtable, key).unwrap_err());
            let mut it = memtable.iter();
            it.seek_to_first();
            assert_mismatch(it.status().unwrap_err());
            // Without protection nobody notices.
            let (memtable, watch) = watched(&protected(kind, 0));
            *watch.damage.lock() = damage;
            add(&memtable, ValueType::Value, b"key", b"value", 5);
            assert!(get(&memtable, key).unwrap().is_some());
        }
    }
}

#[test]
fn damaged_range_tombstones_are_found() {
    let memtable = Memtable::new(&protected(MemtableKind::SkipList, 2), HOME, 1, 1);
    add(&memtable, ValueType::RangeDeletion, b"a", b"m", 7);
    assert_eq!(memtable.raw_tombstones().unwrap().len(), 1);
    memtable.range_tombstones.lock().list[0].end[0] ^= 1;
    assert_mismatch(memtable.raw_tombstones().unwrap_err());
    assert_mismatch(get(&memtable, b"b").unwrap_err());
}

#[test]
fn messages_shorten_long_keys() {
    let text = protection::mismatch("default", &[0xab; 40], 3).to_string();
    let key = format!("key 0x{}... (40 bytes), sequence number 3", "ab".repeat(32));
    assert!(text.ends_with(&key), "{text}");
    let text = protection::mismatch("default", b"", 3).to_string();
    assert!(text.contains("key 0x (0 bytes)"), "{text}");
}
