//! Tests of replaying logs of `WRITE_PREPARED` and `WRITE_UNPREPARED`.

use super::*;
use crate::error::ErrorKind;

type Inserted = Vec<(String, SequenceNumber)>;

#[derive(Default)]
struct Found(Inserted);

impl Replays for Found {
    fn timestamp_size(&self, _cf: u32) -> usize {
        0
    }

    fn insert(&mut self, entry: ReplayedEntry<'_>) -> Result<()> {
        let key = String::from_utf8_lossy(entry.key).into_owned();
        self.0.push((key, entry.number));
        Ok(())
    }
}

const PERSISTED: Op<'_> = Op::BeginPrepare(PrepareKind::Persisted);
const UNPREPARED: Op<'_> = Op::BeginPrepare(PrepareKind::Unprepared);

fn put(key: &str) -> Op<'_> {
    Op::Entry {
        cf: 0,
        ty: ValueType::Value,
        key: key.as_bytes(),
        value: b"v",
    }
}

fn record(first: u64, ops: &[Op<'_>]) -> Vec<u8> {
    let mut batch = Batch::default();
    ops.iter().for_each(|op| batch.push_op(op));
    let mut record = batch.bytes().to_vec();
    record[..8].copy_from_slice(&first.to_le_bytes());
    record
}

/// Replays a record; returns what was inserted, and how many numbers it has used up.
fn replay(sections: &mut ReplayedSections, first: u64, ops: &[Op<'_>]) -> (Inserted, u64) {
    let mut found = Found::default();
    let used = sections.replay(&record(first, ops), &mut found).unwrap();
    (found.0, used)
}

fn inserted(of: &[(&str, SequenceNumber)]) -> Inserted {
    let owned = of.iter().map(|(key, number)| ((*key).to_owned(), *number));
    owned.collect()
}

fn new(log: u64) -> ReplayedSections {
    let mut sections = ReplayedSections::new(Numbering::PerBatch);
    sections.begin(log, 0, false);
    sections
}

/// The same calls as in `docs/format/wal.md`, as RocksDB logs them.
#[test]
fn sections_are_inserted_where_they_stand() {
    let mut sections = new(4);
    let plain = [Op::Noop, put("k0"), Op::Noop];
    assert_eq!(
        replay(&mut sections, 1, &plain),
        (inserted(&[("k0", 1)]), 1)
    );
    let xa = [
        PERSISTED,
        put("k1"),
        put("k2"),
        put("k1"),
        Op::EndPrepare(b"xa"),
    ];
    let of_xa = inserted(&[("k1", 2), ("k2", 2), ("k1", 3)]);
    assert_eq!(replay(&mut sections, 2, &xa), (of_xa, 2));
    assert_eq!(sections.undecided(), [(2, 3)]);
    let xc = [PERSISTED, put("k1"), put("k9"), Op::EndPrepare(b"xc")];
    replay(&mut sections, 4, &xc);
    assert_eq!(sections.undecided(), [(2, 3), (4, 4)]);
    assert_eq!(
        replay(&mut sections, 5, &[Op::Commit(b"xa")]),
        (Vec::new(), 1)
    );
    assert_eq!(sections.undecided(), [(4, 4)]);
    let undone = [put("k1"), put("k9"), Op::Rollback(b"xc")];
    let values = inserted(&[("k1", 6), ("k9", 6)]);
    assert_eq!(replay(&mut sections, 6, &undone), (values, 1));
    assert_eq!(sections.undecided(), []);
    // An unknown name is of a section in a log that is gone. Its commit inserts what it has.
    let commit = [put("k5"), Op::Commit(b"xa")];
    assert_eq!(
        replay(&mut sections, 7, &commit),
        (inserted(&[("k5", 7)]), 1)
    );
    assert_eq!(sections.unknown_commits(), 1);
}

#[test]
fn parts_belong_to_the_section_that_completes_them() {
    let mut sections = new(4);
    let part = |key| [UNPREPARED, put(key), Op::EndPrepare(b"x")];
    replay(&mut sections, 3, &part("a"));
    replay(&mut sections, 4, &[put("k"), Op::Noop]);
    sections.begin(5, 4, false);
    replay(&mut sections, 5, &part("b"));
    assert_eq!(sections.undecided(), [(3, 3), (5, 5)]);
    let found = sections.clone().take_outstanding();
    assert!(!found[&b"x"[..]].is_prepared);
    sections.forget_before(4);
    sections.begin(6, 5, false);
    replay(
        &mut sections,
        6,
        &[PERSISTED, put("c"), Op::EndPrepare(b"x")],
    );
    let found = sections.clone().take_outstanding();
    let x = &found[&b"x"[..]];
    assert!(x.is_prepared);
    assert_eq!((x.log(), x.count(), x.parts.len()), (4, 3, 3));
    assert_eq!(sections.undecided(), [(3, 3), (5, 5), (6, 6)]);
    // A section of that name which comes later is another one.
    let mut other = sections.clone();
    replay(&mut other, 7, &part("d"));
    assert_eq!(other.undecided(), [(7, 7)]);
    for end in [Op::Commit(b"x"), Op::Rollback(b"x")] {
        let mut sections = sections.clone();
        replay(&mut sections, 7, &[end]);
        assert_eq!(sections.undecided(), [], "{end:?}");
    }
}

/// An opening logs outstanding sections again, with the numbers that they have. The next one may
/// find both.
#[test]
fn a_repetition_is_not_inserted_again() {
    let x = [PERSISTED, put("a"), Op::EndPrepare(b"x")];
    let y = |kind, key| [Op::BeginPrepare(kind), put(key), Op::EndPrepare(b"y")];
    let parts = [
        (3, y(PrepareKind::Unprepared, "b")),
        (4, y(PrepareKind::Persisted, "c")),
    ];
    for decides in [false, true] {
        let mut sections = new(10);
        replay(&mut sections, 2, &x);
        for (first, part) in &parts {
            replay(&mut sections, *first, part);
        }
        let mut read_to = 4;
        if decides {
            replay(&mut sections, 5, &[Op::Commit(b"x")]);
            replay(&mut sections, 6, &[Op::Rollback(b"y")]);
            read_to = 6;
        }
        sections.begin(11, read_to, false);
        assert!(sections.is_repeated(&record(2, &x)));
        assert_eq!(replay(&mut sections, 2, &x).0, []);
        for (first, part) in &parts {
            assert!(sections.is_repeated(&record(*first, part)));
            assert_eq!(replay(&mut sections, *first, part).0, []);
        }
        let before = match decides {
            true => vec![],
            false => vec![(2, 2), (3, 3), (4, 4)],
        };
        assert_eq!(sections.undecided(), before, "decided: {decides}");
        // Once the logs before are not needed, the repetition counts.
        sections.forget_before(11);
        assert_eq!(sections.undecided(), [(2, 2), (3, 3), (4, 4)]);
        let found = sections.take_outstanding();
        assert!(found.values().all(|s| s.log() == 11 && s.is_prepared));
        assert_eq!(found[&b"y"[..]].parts.len(), 2);
    }
}

/// Alone, the log that was written for them has them like any other.
#[test]
fn a_log_of_sections_alone_has_them() {
    let mut sections = new(11);
    let x = [PERSISTED, put("a"), Op::EndPrepare(b"x")];
    assert_eq!(replay(&mut sections, 2, &x).0, inserted(&[("a", 2)]));
    assert_eq!(sections.undecided(), [(2, 2)]);
}

#[test]
fn sections_of_write_committed_are_refused() {
    let mut sections = new(4);
    let begin = Op::BeginPrepare(PrepareKind::Committed);
    let rep = record(1, &[begin, put("a"), Op::EndPrepare(b"x")]);
    let e = sections.replay(&rep, &mut Found::default()).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::NotSupported);
    assert!(e.to_string().contains("WriteCommitted txn tag"), "{e}");
    assert_eq!(sections.undecided(), []);
}
