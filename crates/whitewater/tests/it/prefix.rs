//! Prefix extractors and memtables that group keys by prefix: what iterators show, what is refused,
//! and that the memtable does not change the content of a database.

use crate::harness::walk::RawIter;
use crate::harness::{Db, MEMTABLES, set_memtable, tiny, tiny_on, watched};
use std::sync::Arc;
use std::thread;
use whitewater::fs::mem::MemFs;
use whitewater::{
    ColumnFamilyDescriptor, ErrorKind, IteratorMode, MemtableFactory, Options, ReadOptions,
    SliceTransform, WriteBatch,
};

const DIR: &str = "/db";

fn options(fs: &MemFs, memtable: &str) -> Options {
    let mut o = tiny();
    o.set_fs(Arc::new(fs.clone()));
    set_memtable(&mut o, memtable);
    o.set_prefix_extractor(SliceTransform::create_fixed_prefix(2));
    o
}

/// With keys in tables, in memory, and in both; "a" and "b" have no prefix.
fn filled(memtable: &str) -> Db {
    let db = Db::open(&options(&MemFs::new(), memtable), DIR).expect("opens");
    for key in ["aa1", "aa3", "b", "bb2", "bb4", "cc1"] {
        db.put(key, key).expect("writes");
    }
    db.flush().expect("flushes");
    db.delete("bb4").expect("writes");
    for key in ["a", "aa2", "bb1", "bb3", "bb5"] {
        db.put(key, key).expect("writes");
    }
    db
}

/// The keys from the iterator's position on.
fn rest(it: &mut RawIter<'_>, step: fn(&mut RawIter<'_>)) -> String {
    let mut keys = Vec::new();
    while let Some((key, value)) = it.item() {
        assert_eq!(key, value);
        keys.push(String::from_utf8_lossy(key).into_owned());
        step(it);
    }
    it.status().expect("no failure");
    keys.join(" ")
}

fn forward(it: &mut RawIter<'_>) -> String {
    rest(it, |it| it.next())
}

fn backward(it: &mut RawIter<'_>) -> String {
    rest(it, |it| it.prev())
}

#[test]
fn iterators_end_with_the_prefix_when_told() {
    for memtable in MEMTABLES {
        let db = filled(memtable);
        let mut options = ReadOptions::default();
        options.set_prefix_same_as_start(true);
        let it = &mut db.raw_iterator_opt(options);
        it.seek("bb");
        assert_eq!(forward(it), "bb1 bb2 bb3 bb5", "{memtable}");
        it.seek("bb4");
        assert_eq!(forward(it), "bb5", "{memtable}");
        it.seek("bb9");
        assert_eq!(forward(it), "", "{memtable}");
        it.seek("bz");
        assert_eq!(forward(it), "", "no such prefix, {memtable}");
        it.seek_for_prev("bb9");
        assert_eq!(backward(it), "bb5 bb3 bb2 bb1", "{memtable}");
        it.seek_for_prev("bb0");
        assert_eq!(backward(it), "", "{memtable}");
        // From the first or last key: the prefix of the key found there.
        it.seek_to_last();
        assert_eq!(backward(it), "cc1", "{memtable}");
        // Without a prefix: all keys.
        it.seek("b");
        assert_eq!(forward(it), "b bb1 bb2 bb3 bb5 cc1", "{memtable}");
        it.seek_to_first();
        assert_eq!(it.key(), Some(&b"a"[..]), "{memtable}");
        // Back and forth inside the prefix.
        it.seek("bb2");
        it.prev();
        it.next();
        it.next();
        assert_eq!(it.key(), Some(&b"bb3"[..]), "{memtable}");
        it.prev();
        assert_eq!(backward(it), "bb2 bb1", "{memtable}");
    }
}

#[test]
fn bounds_and_prefixes_go_together() {
    for memtable in MEMTABLES {
        let db = filled(memtable);
        let mut options = ReadOptions::default();
        options.set_prefix_same_as_start(true);
        options.set_iterate_lower_bound("bb2");
        options.set_iterate_upper_bound("bb5");
        let it = &mut db.raw_iterator_opt(options);
        it.seek_to_first();
        assert_eq!(forward(it), "bb2 bb3", "{memtable}");
        it.seek_to_last();
        assert_eq!(backward(it), "bb3 bb2", "{memtable}");
        it.seek("bb0");
        assert_eq!(forward(it), "bb2 bb3", "{memtable}");
        it.seek("aa1");
        assert_eq!(forward(it), "", "the bound is outside, {memtable}");
        it.seek_for_prev("bb7");
        assert_eq!(backward(it), "bb3 bb2", "{memtable}");
        it.seek_for_prev("cc1");
        assert_eq!(backward(it), "", "{memtable}");
    }
}

/// At its end, a tailing iterator looks again and keeps to the same prefix.
#[test]
fn tailing_iterators_keep_to_what_they_were_sent_to() {
    for memtable in MEMTABLES {
        let tailing = |same_as_start| {
            let mut options = ReadOptions::default();
            options.set_tailing(true);
            options.set_prefix_same_as_start(same_as_start);
            options
        };
        let db = filled(memtable);
        let it = &mut db.raw_iterator_opt(tailing(true));
        let go_on = |it: &mut RawIter<'_>, written: &str| {
            db.put(written, written).expect("writes");
            it.next();
            it.key()
                .map(|key| String::from_utf8_lossy(key).into_owned())
        };
        // A seek to a key with a prefix.
        it.seek("bb5");
        assert_eq!(go_on(it, "bb6").as_deref(), Some("bb6"), "{memtable}");
        assert_eq!(go_on(it, "cc0"), None, "{memtable}");
        // A seek to a key without a prefix, then to the first key, which has none.
        for target in [Some("b"), None] {
            match target {
                Some(key) => it.seek(key),
                None => it.seek_to_first(),
            }
            while it.key().is_some_and(|key| key < &b"cc1"[..]) {
                it.next();
            }
            assert_eq!(go_on(it, "dd1").as_deref(), Some("dd1"), "{memtable}");
            db.delete("dd1").expect("writes");
        }
        // From the first key without a limit, where the memtable groups by prefix.
        let it = &mut db.raw_iterator_opt(tailing(false));
        it.seek_to_first();
        while it.key().is_some_and(|key| key < &b"cc1"[..]) {
            it.next();
        }
        assert_eq!(go_on(it, "dd1").as_deref(), Some("dd1"), "{memtable}");
        if memtable.starts_with("hash") {
            continue; // its extractor stays
        }
        // The extractor may have changed meanwhile.
        let it = &mut db.raw_iterator_opt(tailing(true));
        it.seek("bb6");
        db.set_options(&[("prefix_extractor", "fixed:1")])
            .expect("may be changed");
        assert_eq!(go_on(it, "bb7").as_deref(), Some("bb7"), "{memtable}");
        assert_eq!(go_on(it, "bc1"), None, "{memtable}");
    }
}

/// An iterator that seeks outside its bounds goes to the bound. Its prefix is then that of the
/// bound, unless the prefix of the key it seeks is asked for.
#[test]
fn a_bound_gives_the_prefix_where_the_target_is_outside() {
    for memtable in MEMTABLES {
        let db = filled(memtable);
        let mut options = ReadOptions::default();
        options.set_iterate_lower_bound("bb2");
        options.set_iterate_upper_bound("bb5");
        let it = &mut db.raw_iterator_opt(options);
        it.seek("aa1");
        assert_eq!(forward(it), "bb2 bb3", "{memtable}");
        it.seek_for_prev("cc1");
        assert_eq!(backward(it), "bb3 bb2", "{memtable}");
    }
}

#[test]
fn prefix_iterators_show_one_prefix() {
    for memtable in MEMTABLES {
        let db = filled(memtable);
        let keys = |prefix: &str| {
            db.prefix_iterator(prefix)
                .map(|item| String::from_utf8(item.expect("reads").0.into_vec()).expect("text"))
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(keys("aa"), "aa1 aa2 aa3", "{memtable}");
        assert_eq!(keys("bb3"), "bb3 bb5", "{memtable}");
        assert_eq!(keys("dd"), "", "{memtable}");
    }
}

/// Iterators with default options. Those that seek to a key may end with its prefix, and do if the
/// memtable groups by prefix.
#[test]
fn all_keys_are_shown_in_total_order() {
    const ALL: &str = "a aa1 aa2 aa3 b bb1 bb2 bb3 bb5 cc1";
    for memtable in MEMTABLES {
        let db = filled(memtable);
        let mut options = ReadOptions::default();
        options.set_total_order_seek(true);
        let it = &mut db.raw_iterator_opt(options);
        it.seek("aa");
        assert_eq!(forward(it), &ALL[2..], "{memtable}");
        it.seek_for_prev("cc");
        assert_eq!(
            backward(it),
            "bb5 bb3 bb2 bb1 b aa3 aa2 aa1 a",
            "{memtable}"
        );

        let it = &mut db.raw_iterator();
        it.seek_to_first();
        assert_eq!(forward(it), ALL, "{memtable}");
        it.seek_to_last();
        assert_eq!(it.key(), Some(&b"cc1"[..]), "{memtable}");
        it.seek("aa2");
        let ends = memtable.starts_with("hash");
        let expected = if ends { "aa2 aa3" } else { &ALL[6..] };
        assert_eq!(forward(it), expected, "{memtable}");
        assert_eq!(db.full_iterator(IteratorMode::Start).count(), 10);
    }
}

#[test]
fn without_an_extractor_there_are_no_prefixes() {
    let mut opts = tiny();
    opts.set_fs(Arc::new(MemFs::new()));
    opts.set_memtable_factory(MemtableFactory::SkipList);
    // The run's memtable may have brought one.
    let opts = opts
        .get_options_from_string("prefix_extractor=nullptr")
        .expect("known");
    let db = Db::open(&opts, DIR).expect("opens");
    for key in ["aa1", "bb1"] {
        db.put(key, key).expect("writes");
    }
    assert_eq!(db.prefix_iterator("aa").count(), 2);
}

#[test]
fn what_a_memtable_cannot_do_is_refused_with_the_reason() {
    let skip = |bucket_count, height, branching_factor| MemtableFactory::HashSkipList {
        bucket_count,
        height,
        branching_factor,
    };
    let link = |bucket_count| MemtableFactory::HashLinkList { bucket_count };
    for (factory, reason) in [
        (skip(0, 4, 4), "bucket_count"),
        (link(0), "bucket_count"),
        (skip(10, 0, 4), "height"),
        (skip(10, 33, 4), "height"),
        (skip(10, 4, 0), "branching_factor"),
    ] {
        let mut opts = Options::default();
        opts.create_if_missing(true);
        opts.set_fs(Arc::new(MemFs::new()));
        opts.set_memtable_factory(factory);
        opts.set_prefix_extractor(SliceTransform::create_fixed_prefix(2));
        let error = Db::open(&opts, DIR).expect_err("refused");
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.to_string().contains(reason), "{error}");
        // This also holds for a column family of a database that could otherwise be opened.
        let plain = options(&MemFs::new(), "skip_list");
        let db = Db::open(&plain, DIR).expect("opens");
        let error = db.create_cf("cf", &opts).expect_err("refused");
        assert!(error.to_string().contains(reason), "{error}");
    }
}

/// A database is opened with one memtable after the other, without flushes in between, so that each
/// finds in tables and logs what others wrote.
#[test]
fn the_memtable_of_a_database_may_change() {
    let fs = MemFs::new();
    let key = |n: u32| format!("{:02}{n:05}", n % 13);
    let mut written = 0..0;
    for round in 0..2 {
        for memtable in MEMTABLES {
            let families = ["default", "other"].map(|name| {
                let mut o = options(&fs, memtable);
                // The prefixes change without notice.
                o.set_prefix_extractor(SliceTransform::create_fixed_prefix(2 + round));
                ColumnFamilyDescriptor::new(name, o)
            });
            let db =
                Db::open_cf_descriptors(&options(&fs, memtable), DIR, families).expect("opens");
            let other = db.cf_handle("other").expect("there");
            for n in written.clone() {
                let found = db.get(key(n)).expect("reads");
                assert_eq!(
                    found.as_deref(),
                    Some(&n.to_le_bytes()[..]),
                    "{memtable} {n}"
                );
            }
            let found = db
                .full_iterator(IteratorMode::Start)
                .map(|item| item.expect("reads"));
            assert_eq!(found.count() as u32, written.end, "{memtable}");
            assert_eq!(
                db.iterator_cf(&other, IteratorMode::End).count() as u32,
                written.end
            );
            for n in written.end..written.end + 300 {
                db.put(key(n), n.to_le_bytes()).expect("writes");
                db.put_cf(&other, key(n), n.to_le_bytes()).expect("writes");
            }
            written.end += 300;
        }
    }
}

/// A panic in a user's function fails the write and those after it.
#[test]
fn a_panicking_extractor_hangs_nobody() {
    watched("a panicking extractor", 60, || {
        for memtable in ["hash_skip_list", "hash_link_list"] {
            let mut opts = options(&MemFs::new(), memtable);
            opts.set_prefix_extractor(SliceTransform::create(
                "picky",
                |key| {
                    assert!(!key.starts_with(b"bad"), "as planned");
                    &key[..1]
                },
                Some(|key| !key.is_empty()),
            ));
            let db = Db::open(&opts, DIR).expect("opens");
            db.put("good", "1").expect("writes");
            thread::scope(|scope| {
                for t in 0..3 {
                    let db = &db;
                    scope.spawn(move || {
                        for n in 0..50 {
                            // Fails from the first bad key on.
                            let _ = db.put(format!("good{t}{n}"), "2");
                        }
                    });
                }
                let error = db.put("bad", "3").expect_err("refused");
                assert!(error.to_string().contains("prefix extractor"), "{error}");
            });
            let error = db.put("good", "4").expect_err("no writes after a failure");
            assert!(!error.to_string().is_empty());
            let found = db.get("good").expect("reads go on");
            assert_eq!(found.as_deref(), Some(&b"1"[..]));
        }
    });
}

/// Seals, switches, flushes and iterators while many writers write.
#[test]
fn switches_beside_writers_and_readers_lose_nothing() {
    watched("switches", 120, || {
        for memtable in ["vector", "hash_skip_list", "hash_link_list"] {
            let db = Db::open(&options(&MemFs::new(), memtable), DIR).expect("opens");
            let key = |t: u32, n: u32| format!("{:02}-{t}-{n:05}", n % 5);
            thread::scope(|scope| {
                for t in 0..3 {
                    let db = &db;
                    scope.spawn(move || {
                        for n in 0..1_000 {
                            db.put(key(t, n), [b'x'; 100]).expect("writes");
                            if n % 50 == 0 {
                                assert!(db.get(key(t, n / 2)).expect("reads").is_some());
                                let upto = db.prefix_iterator(key(t, n)).next();
                                let (found, _) = upto.expect("there").expect("reads");
                                assert_eq!(found[..], *key(t, n).as_bytes());
                            }
                        }
                    });
                }
            });
            let all = db
                .iterator(IteratorMode::Start)
                .map(|item| item.expect("reads").0);
            let mut expected: Vec<_> = (0..3)
                .flat_map(|t| (0..1_000).map(move |n| key(t, n).into_bytes().into_boxed_slice()))
                .collect();
            expected.sort();
            assert!(all.eq(expected), "{memtable}");
        }
    });
}

/// Keys without a prefix, however many, do not keep the prefixes of others out of the memtable's
/// filter.
#[test]
fn a_batch_of_keys_without_prefixes_does_not_end_the_filter() {
    for (before, memtable) in [63, 64, 65, 200]
        .into_iter()
        .flat_map(|before| MEMTABLES.map(|memtable| (before, memtable)))
    {
        let mut o = tiny_on(MemFs::new());
        set_memtable(&mut o, memtable);
        o.set_prefix_extractor(SliceTransform::create_fixed_prefix(4));
        o.set_memtable_prefix_bloom_ratio(0.1);
        o.set_memtable_whole_key_filtering(false);
        let db = Db::open(&o, DIR).expect("opens");
        let mut batch = WriteBatch::default();
        (0..before).for_each(|i| batch.put(format!("{i:03}"), "v"));
        batch.put("abcd1", "v");
        db.write(batch).expect("writes");
        assert_eq!(
            db.get("abcd1"),
            Ok(Some(b"v".to_vec())),
            "{memtable} {before}"
        );
    }
}
