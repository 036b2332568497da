//! Iterators over several column families.

use crate::harness::{DIR, Db, append, open_all, open_named, tiny_on};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use whitewater::fs::fault::{Fault, FaultFs, FaultOp, FileKind, OpSet, PathMatch, Rule};
use whitewater::fs::mem::MemFs;
use whitewater::{
    AttributeGroupIterator, CoalescingIterator, ColumnFamilyDescriptor, ErrorKind, Options,
    ReadOptions,
};

const NAMES: [&str; 3] = ["default", "one", "two"];

/// The columns of each key, by column family.
type Model = [BTreeMap<Vec<u8>, BTreeMap<Vec<u8>, Vec<u8>>>; 3];

fn open(o: &Options) -> Db {
    let names = NAMES.map(str::to_owned);
    open_named(o, Path::new(DIR), &names).unwrap()
}

/// Writes values, entities, merges and deletions of few keys.
fn write(db: &Db, model: &mut Model, rng: &mut StdRng) {
    let of = rng.random_range(0..3);
    let cf = db.cf_handle(NAMES[of]).unwrap();
    let key = format!("k{:02}", rng.random_range(0..40)).into_bytes();
    let value = format!("{}", rng.random_range(0..1_000)).into_bytes();
    let keys = &mut model[of];
    match rng.random_range(0..10) {
        0..=3 => {
            db.put_cf(&cf, &key, &value).unwrap();
            keys.insert(key, BTreeMap::from([(Vec::new(), value)]));
        }
        4..=6 => {
            let name = |n: usize| ["", "a", "b", "c"][n].as_bytes().to_vec();
            let columns: BTreeMap<_, _> = (0..4)
                .filter(|_| rng.random_bool(0.5))
                .map(|n| (name(n), value.clone()))
                .collect();
            let given = columns.iter().map(|(n, v)| (&n[..], &v[..]));
            db.put_entity_cf(&cf, &key, given).unwrap();
            keys.insert(key, columns);
        }
        7 if keys
            .get(&key)
            .is_none_or(|columns| columns.contains_key(&b""[..])) =>
        {
            db.merge_cf(&cf, &key, &value).unwrap();
            let default = keys.entry(key.clone()).or_default().entry(Vec::new());
            let default = default.or_default();
            *default = if default.is_empty() {
                value
            } else {
                [&default[..], &value].join(&b',')
            };
        }
        _ => {
            db.delete_cf(&cf, &key).unwrap();
            keys.remove(&key);
        }
    }
}

/// The columns of all column families in `order`; later ones win.
fn coalesced(model: &Model, order: &[usize], key: &[u8]) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let of = |at: &usize| model[*at].get(key).cloned().unwrap_or_default();
    order.iter().flat_map(of).collect()
}

fn check_coalesced(it: &CoalescingIterator<'_, Db>, model: &Model, order: &[usize], key: &[u8]) {
    assert_eq!(it.key(), Some(key));
    let wanted = coalesced(model, order, key);
    let found: Vec<_> = it.columns().unwrap();
    let found: Vec<_> = found.iter().map(|c| (c.name, c.value)).collect();
    let columns: Vec<_> = wanted.iter().map(|(n, v)| (&n[..], &v[..])).collect();
    assert_eq!(found, columns, "{key:?}");
    let default = wanted.get(&b""[..]).map_or(&b""[..], |v| v);
    assert_eq!(it.item(), Some((key, default)));
}

fn check_groups(it: &AttributeGroupIterator<'_, Db>, model: &Model, order: &[usize], key: &[u8]) {
    assert_eq!(it.key(), Some(key));
    let having = order.iter().filter(|at| model[**at].contains_key(key));
    let names: Vec<_> = having.clone().map(|at| NAMES[*at]).collect();
    let groups = it.attribute_groups().unwrap();
    let found: Vec<_> = groups.iter().map(|g| g.column_family_name()).collect();
    assert_eq!(found, names, "{key:?}");
    for (group, at) in groups.iter().zip(having) {
        let found: Vec<_> = group.columns().iter().map(|c| (c.name, c.value)).collect();
        let wanted: Vec<_> = model[*at][key]
            .iter()
            .map(|(n, v)| (&n[..], &v[..]))
            .collect();
        assert_eq!(found, wanted, "{key:?}");
    }
}

fn random_walk(db: &Db, model: &Model, rng: &mut StdRng) {
    let orders: [&[usize]; 4] = [&[0, 1, 2], &[2, 1, 0], &[1], &[2, 0]];
    let order = orders[rng.random_range(0..4)];
    let handles: Vec<_> = order
        .iter()
        .map(|at| db.cf_handle(NAMES[*at]).unwrap())
        .collect();
    let refs: Vec<_> = handles.iter().collect();
    let mut coalescing = db.coalescing_iterator(&refs).unwrap();
    let mut groups = db.attribute_group_iterator(&refs).unwrap();
    let keys: BTreeMap<&[u8], ()> = order
        .iter()
        .flat_map(|at| model[*at].keys())
        .map(|key| (&key[..], ()))
        .collect();
    let keys: Vec<_> = keys.into_keys().collect();
    assert!(!coalescing.valid() && coalescing.item().is_none());
    // One more than the index; 0 and one above the number of keys are the ends.
    let mut at = 0;
    for _ in 0..30 {
        let target = format!("k{:02}", rng.random_range(0..42)).into_bytes();
        match rng.random_range(0..12) {
            0 => {
                coalescing.seek_to_first();
                groups.seek_to_first();
                at = 1;
            }
            1 => {
                coalescing.seek_to_last();
                groups.seek_to_last();
                at = keys.len();
            }
            2 => {
                coalescing.seek(&target);
                groups.seek(&target);
                at = 1 + keys.partition_point(|key| *key < &target[..]);
            }
            3 => {
                coalescing.seek_for_prev(&target);
                groups.seek_for_prev(&target);
                at = keys.partition_point(|key| *key <= &target[..]);
            }
            4..=7 if coalescing.valid() => {
                coalescing.next();
                groups.next();
                at += 1;
            }
            8.. if coalescing.valid() => {
                coalescing.prev();
                groups.prev();
                at -= 1;
            }
            _ => continue,
        }
        match at.checked_sub(1).and_then(|at| keys.get(at)) {
            Some(key) => {
                check_coalesced(&coalescing, model, order, key);
                check_groups(&groups, model, order, key);
            }
            None => {
                assert!(!coalescing.valid() && !groups.valid());
                assert_eq!((coalescing.columns(), coalescing.value()), (None, None));
                assert!(groups.attribute_groups().is_none());
                coalescing.status().unwrap();
            }
        }
    }
}

#[test]
fn each_key_shows_once_whatever_the_direction() {
    for seed in 0..10 {
        let rng = &mut StdRng::seed_from_u64(seed);
        let mut o = tiny_on(MemFs::new());
        o.set_merge_operator_associative("append", append);
        let db = open(&o);
        let mut model = Model::default();
        for round in 0..12 {
            for _ in 0..30 {
                write(&db, &mut model, rng);
            }
            if round % 3 == 1 {
                db.flush_cf(&db.cf_handle(NAMES[round % 2]).unwrap())
                    .unwrap();
            }
            random_walk(&db, &model, rng);
        }
    }
}

/// All column families are seen at the same moment: that of the iterator, or of its snapshot.
#[test]
fn an_iterator_sees_one_moment() {
    let db = open(&tiny_on(MemFs::new()));
    let (one, two) = (db.cf_handle("one").unwrap(), db.cf_handle("two").unwrap());
    db.put_cf(&one, "k", "1").unwrap();
    let snapshot = db.snapshot();
    db.put_cf(&two, "k", "2").unwrap();
    let mut old = ReadOptions::default();
    old.set_snapshot(&snapshot);
    let mut then = db.coalescing_iterator_opt(&[&one, &two], old).unwrap();
    let mut now = db.coalescing_iterator(&[&one, &two]).unwrap();
    db.put_cf(&two, "k", "3").unwrap();
    db.put_cf(&one, "l", "3").unwrap();
    then.seek_to_last();
    now.seek_to_last();
    assert_eq!(then.item(), Some((&b"k"[..], &b"1"[..])));
    assert_eq!(now.item(), Some((&b"k"[..], &b"2"[..])));
}

#[test]
fn bounds_hold_in_all_column_families() {
    let db = open(&tiny_on(MemFs::new()));
    let (one, two) = (db.cf_handle("one").unwrap(), db.cf_handle("two").unwrap());
    for n in 0..10u8 {
        db.put_cf(if n % 2 == 0 { &one } else { &two }, [n], "")
            .unwrap();
    }
    let mut range = ReadOptions::default();
    range.set_iterate_lower_bound([3]);
    range.set_iterate_upper_bound([7]);
    let mut it = db
        .attribute_group_iterator_opt(&[&one, &two], range)
        .unwrap();
    let mut seen = Vec::new();
    it.seek_to_first();
    while let Some(key) = it.key() {
        seen.extend_from_slice(key);
        it.next();
    }
    assert_eq!(seen, [3, 4, 5, 6]);
    it.seek_to_last();
    assert_eq!(it.key(), Some(&[6][..]));
}

#[test]
fn a_secondary_instance_has_them_too() {
    let fs = MemFs::new();
    let o = tiny_on(fs.clone());
    let db = open(&o);
    let (one, two) = (db.cf_handle("one").unwrap(), db.cf_handle("two").unwrap());
    db.put_cf(&one, "a", "1").unwrap();
    db.put_cf(&two, "b", "2").unwrap();
    let mut reader = o.clone();
    reader.set_max_open_files(-1);
    let families = NAMES.map(|name| ColumnFamilyDescriptor::new(name, o.clone()));
    let own = Path::new("/data/secondary");
    let other =
        Db::open_cf_descriptors_as_secondary(&reader, Path::new(DIR), own, families).unwrap();
    let (one, two) = (
        other.cf_handle("one").unwrap(),
        other.cf_handle("two").unwrap(),
    );
    let mut it = other.coalescing_iterator(&[&one, &two]).unwrap();
    it.seek_to_first();
    assert_eq!(it.key(), Some(&b"a"[..]));
    it.next();
    assert_eq!(it.item(), Some((&b"b"[..], &b"2"[..])));
    it.next();
    it.status().unwrap();
}

#[test]
fn what_does_not_go_together_is_refused() {
    let db = open(&tiny_on(MemFs::new()));
    let mut reverse = tiny_on(MemFs::new());
    reverse.set_reverse_bytewise_comparator();
    db.create_cf("reverse", &reverse).unwrap();
    let (one, other) = (
        db.cf_handle("one").unwrap(),
        db.cf_handle("reverse").unwrap(),
    );
    let e = db.coalescing_iterator(&[&one, &other]).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::InvalidArgument, "{e}");
    assert!(e.to_string().contains("Different comparators"), "{e}");
    let none: [&Arc<whitewater::BoundColumnFamily<'_>>; 0] = [];
    let e = db.attribute_group_iterator(&none).unwrap_err();
    assert!(
        e.to_string().contains("No Column Family was provided"),
        "{e}"
    );
    let mut tailing = ReadOptions::default();
    tailing.set_tailing(true);
    let e = db.coalescing_iterator_opt(&[&one], tailing).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::NotSupported, "{e}");
}

/// The keys of the others would look like all there are.
#[test]
fn a_failure_in_one_column_family_ends_the_iteration() {
    let mem = MemFs::new();
    let faults = Arc::new(FaultFs::new(Arc::new(mem.clone())));
    let mut o = tiny_on(mem.clone());
    o.set_fs(faults.clone());
    let db = open_all(&o, Path::new(DIR)).unwrap();
    for name in ["one", "two"] {
        db.create_cf(name, &o).unwrap();
        let cf = db.cf_handle(name).unwrap();
        (0..50u8).for_each(|n| db.put_cf(&cf, [n], vec![n; 1_000]).unwrap());
    }
    db.flush_cf(&db.cf_handle("two").unwrap()).unwrap();
    let (one, two) = (db.cf_handle("one").unwrap(), db.cf_handle("two").unwrap());
    let mut it = db.coalescing_iterator(&[&one, &two]).unwrap();
    faults.add_rule(Rule {
        path: PathMatch::Kind(FileKind::Table),
        fault: Fault::Eio,
        sticky: true,
        ..Rule::nth(OpSet::of(&[FaultOp::ReadAt, FaultOp::OpenRandom]), 1)
    });
    it.seek_to_first();
    while it.valid() {
        it.next();
    }
    assert_eq!(it.status().unwrap_err().kind(), ErrorKind::IOError);
    assert_eq!((it.key(), it.value()), (None, None));
    faults.clear_rules();
    it.seek_to_first();
    assert_eq!(it.key(), Some(&[0][..]));
    it.status().unwrap();
}
