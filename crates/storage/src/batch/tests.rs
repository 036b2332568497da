use super::*;
use crate::error::ErrorKind;
use crate::key::MAX_SEQUENCE_AT_OPEN;
use proptest::prelude::*;

#[test]
fn batches_read_back() {
    let mut b = Batch::default();
    b.push(0, ValueType::Value, b"k", b"v");
    b.push(3, ValueType::Merge, b"m", b"1");
    b.push_log_data(b"note");
    b.push(300, ValueType::Deletion, b"d", b"");
    b.push(0, ValueType::RangeDeletion, b"a", b"z");
    assert_eq!(b.count(), 4);
    let b = Batch::from_bytes(b.bytes().to_vec()).unwrap();
    let ops: Vec<_> = b.ops().map(Result::unwrap).collect();
    assert_eq!(
        ops[0],
        Op::Entry {
            cf: 0,
            ty: ValueType::Value,
            key: b"k",
            value: b"v"
        }
    );
    assert_eq!(ops[2], Op::LogData(b"note"));
    assert_eq!(
        ops[3],
        Op::Entry {
            cf: 300,
            ty: ValueType::Deletion,
            key: b"d",
            value: b""
        }
    );
    assert_eq!(ops.len(), 5);
}

#[test]
fn every_truncation_and_a_wrong_count_are_errors() {
    let mut b = Batch::default();
    b.push(0, ValueType::Value, b"key", b"value");
    b.push(7, ValueType::SingleDeletion, b"key", b"");
    let bytes = b.bytes();
    for n in 0..bytes.len() {
        assert!(Batch::from_bytes(bytes[..n].to_vec()).is_err(), "{n}");
    }
    let mut wrong = bytes.to_vec();
    wrong[8] = 1;
    assert!(Batch::from_bytes(wrong).is_err());
}

#[test]
fn column_family_forms_of_the_default_family_are_read() {
    let mut rep = vec![0; HEADER_SIZE];
    rep[8] = 2;
    rep.extend_from_slice(&[tags::CF_VALUE, 0, 1, b'k', 1, b'v']);
    rep.extend_from_slice(&[tags::NOOP, tags::CF_RANGE_DELETION, 0x80, 0x01, 1, b'a', 0]);
    let b = Batch::from_bytes(rep).unwrap();
    let ops: Vec<_> = b.ops().map(Result::unwrap).collect();
    let first = Op::Entry {
        cf: 0,
        ty: ValueType::Value,
        key: b"k",
        value: b"v",
    };
    let last = Op::Entry {
        cf: 128,
        ty: ValueType::RangeDeletion,
        key: b"a",
        value: b"",
    };
    assert_eq!(ops, [first, Op::Noop, last]);
}

#[test]
fn unknown_tags_are_corruption() {
    for tag in 0..=u8::MAX {
        let mut rep = vec![0; HEADER_SIZE];
        rep.push(tag);
        rep.resize(HEADER_SIZE + 20, TIME_SIZE as u8); // each length is that
        let first = ops(&rep).next().unwrap();
        if tag > tags::CF_VALUE_PREFERRED_SEQNO || tag == 0x14 {
            let kind = first.map_err(|e| e.kind());
            assert_eq!(kind, Err(ErrorKind::Corruption), "{tag:#x}");
        } else {
            assert!(first.is_ok(), "{tag:#x}: {first:?}");
        }
    }
    assert_eq!(sequence(&[1, 2]), 0);
    assert_eq!(count(&[0; 11]), 0);
}

/// One operation as the test makes it; type `None` is log data.
type Made = (Option<ValueType>, u32, Vec<u8>, Vec<u8>);

fn any_op() -> impl Strategy<Value = Made> {
    use ValueType::*;
    let ty = prop::sample::select(vec![
        None,
        Some(Deletion),
        Some(Value),
        Some(Merge),
        Some(SingleDeletion),
        Some(RangeDeletion),
        Some(BlobIndex),
        Some(WideColumnEntity),
        Some(ValuePreferredSeqno),
    ]);
    let cf = prop_oneof![Just(0u32), 1u32..300, any::<u32>()];
    let bytes = || prop::collection::vec(any::<u8>(), 0..200);
    let value = (ty, bytes()).prop_map(|(ty, mut value)| {
        if ty == Some(ValuePreferredSeqno) {
            value.extend_from_slice(&[0; TIME_SIZE]);
        }
        (ty, value)
    });
    (value, cf, bytes()).prop_map(|((ty, value), cf, key)| (ty, cf, key, value))
}

fn build(made: &[Made]) -> Batch {
    let mut b = Batch::with_capacity(100);
    for (ty, cf, key, value) in made {
        match ty {
            Some(ty) => b.push(*cf, *ty, key, value),
            None => b.push_log_data(key),
        }
    }
    b
}

#[test]
fn a_protected_batch_tells_any_flipped_bit() {
    let mut b = Batch::default();
    b.push(3, ValueType::Value, b"before", b"protection");
    b.protect().unwrap();
    b.push(0, ValueType::Merge, b"key", b"value");
    b.push_log_data(b"");
    b.push(300, ValueType::Deletion, b"gone", b"not kept");
    b.push(0, ValueType::RangeDeletion, b"a", b"z");
    b.verify().unwrap();
    for bit in HEADER_SIZE * 8..b.rep.len() * 8 {
        let mut damaged = b.clone();
        damaged.rep[bit / 8] ^= 1 << (bit % 8);
        // Log data may look like a marker, which whoever writes the batch refuses.
        let marked = matches!(damaged.first_marker(), Ok(Some(_)));
        let e = damaged.verify().map_err(|e| e.kind());
        assert!(
            marked || e == Err(ErrorKind::Corruption),
            "bit {bit}: {e:?}"
        );
    }
    let whole = b.rep.len();
    b.rep.truncate(whole - 5); // the last one
    assert!(
        b.verify()
            .unwrap_err()
            .to_string()
            .contains("1 of 4 operations are missing")
    );
    b.clear();
    b.verify().unwrap();
    assert!(b.is_protected());
    b.unprotect();
    assert_eq!(b, Batch::default());
}

#[test]
fn checksums_are_handed_on() {
    let mut b = Batch::default();
    b.push(3, ValueType::Value, b"k", b"v");
    assert_eq!(b.sum(0, 3, ValueType::Value), None);
    b.protect().unwrap();
    assert_eq!(b.sum(0, 3, ValueType::Value), Some(KvSum::of(b"k", b"v")));
    assert_ne!(b.sum(0, 2, ValueType::Value), Some(KvSum::of(b"k", b"v")));
    assert_eq!(b.sum(1, 3, ValueType::Value), None);
}

proptest! {
    #[test]
    fn a_batch_taken_back_is_as_it_was(
        first in prop::collection::vec(any_op(), 0..5),
        second in prop::collection::vec(any_op(), 0..5),
        protected: bool,
    ) {
        let mut b = build(&first);
        if protected {
            b.protect().unwrap();
        }
        b.push_noop();
        let (before, mark) = (b.clone(), b.mark());
        build(&second).ops().for_each(|op| b.push_op(&op.unwrap()));
        let late = b.mark();
        b.take_back(mark);
        prop_assert_eq!(&b, &before);
        b.verify().unwrap();
        check(b.bytes()).unwrap();
        if late != mark {
            b.take_back(late);
            prop_assert_eq!(&b, &before);
        }
    }

    #[test]
    fn any_operations_read_back(made in prop::collection::vec(any_op(), 0..20)) {
        let mut b = build(&made);
        check(b.bytes()).unwrap();
        let entries = made.iter().filter(|m| m.0.is_some()).count();
        prop_assert_eq!(b.count() as usize, entries);
        let mut ops = b.ops();
        for (ty, cf, key, value) in &made {
            let expected = match *ty {
                None => Op::LogData(key),
                Some(ty @ (ValueType::Deletion | ValueType::SingleDeletion)) => {
                    Op::Entry { cf: *cf, ty, key, value: b"" }
                }
                Some(ty) => Op::Entry { cf: *cf, ty, key, value },
            };
            prop_assert_eq!(ops.next().unwrap().unwrap(), expected);
        }
        prop_assert!(ops.next().is_none());
        b.clear();
        prop_assert_eq!(b, Batch::default());
    }

    #[test]
    fn logged_batches_have_numbers_below_the_limit(
        made in prop::collection::vec(any_op(), 0..5),
        below in 0u64..10,
    ) {
        let mut rep = build(&made).bytes().to_vec();
        let count = u64::from(count(&rep)).max(1);
        let first = MAX_SEQUENCE_AT_OPEN - below;
        rep[..8].copy_from_slice(&first.to_le_bytes());
        prop_assert_eq!(check_logged(&rep).is_ok(), count <= below);
        rep[..8].copy_from_slice(&u64::MAX.to_le_bytes());
        prop_assert!(check_logged(&rep).is_err());
    }

    #[test]
    fn damaged_batches_never_panic(
        made in prop::collection::vec(any_op(), 1..5),
        at: prop::sample::Index,
        byte: u8,
        cut: prop::sample::Index,
    ) {
        let mut rep = build(&made).bytes().to_vec();
        let at = at.index(rep.len());
        rep[at] = byte;
        rep.truncate(cut.index(rep.len() + 1));
        let entries = ops(&rep).filter(|op| matches!(op, Ok(Op::Entry { .. }))).count();
        if check(&rep).is_ok() {
            prop_assert_eq!(entries as u32, count(&rep));
        }
    }
}

#[test]
fn a_new_batch_takes_no_memory_and_has_a_header() {
    let mut batch = Batch::default();
    assert_eq!(batch.bytes(), [0; HEADER_SIZE]);
    assert!(batch.body().is_empty() && batch.count() == 0 && !batch.starts_with_noop());
    assert_eq!(batch, Batch::with_capacity(100));
    assert_eq!(batch, Batch::from_bytes(vec![0; HEADER_SIZE]).unwrap());
    assert!(batch.ops().next().is_none());
    assert_eq!(batch.ops().offset(), HEADER_SIZE);
    let empty = batch.mark();
    batch.take_back(empty);
    batch.clear();
    batch.protect().unwrap();
    batch.verify().unwrap();
    assert_eq!(batch.empty_like().rep.capacity() + batch.rep.capacity(), 0);
    // Whatever is added first follows a header.
    let add: [fn(&mut Batch); 4] = [
        |batch| batch.push(0, ValueType::Value, b"key", b"value"),
        |batch| batch.push_log_data(b"blob"),
        Batch::push_noop,
        |batch| batch.push_commit(b"xid"),
    ];
    for add in add {
        let mut other = Batch::with_capacity(0);
        other.protect().unwrap();
        add(&mut batch);
        add(&mut other);
        assert_eq!(batch, other);
        assert!(!batch.body().is_empty());
        check(batch.bytes()).unwrap();
        batch.take_back(empty);
        assert_eq!(batch.bytes(), [0; HEADER_SIZE]);
        batch = batch.empty_like();
    }
    let numbered = Batch::from_bytes([&[7][..], &[0; HEADER_SIZE - 1]].concat()).unwrap();
    assert_eq!(numbered.empty_like().bytes(), numbered.bytes());
}
