//! The markers of two-phase commit, as a batch under construction gets them.
//!
//! A transaction's batch begins with a noop, which preparing it turns into the beginning of a
//! prepared section: `begin | operations | end, name`. The transaction is decided by a marker with
//! its name in a later batch. No marker is counted in the header.

use super::ops::tags;
use super::{Batch, HEADER_SIZE, Op};
use crate::coding::put_length_prefixed;
use crate::error::{Error, Result};

/// When the operations of a prepared section are applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrepareKind {
    /// By the commit (RocksDB's policy `WRITE_COMMITTED`).
    Committed,
    /// When they are prepared; readers pass over them until the commit (`WRITE_PREPARED`).
    Persisted,
    /// As a part of a transaction that is not prepared yet (`WRITE_UNPREPARED`).
    Unprepared,
}

impl PrepareKind {
    fn tag(self) -> u8 {
        match self {
            PrepareKind::Committed => tags::BEGIN_PREPARE,
            PrepareKind::Persisted => tags::BEGIN_PERSISTED_PREPARE,
            PrepareKind::Unprepared => tags::BEGIN_UNPREPARED,
        }
    }
}

impl Batch {
    /// Adds a noop, with which the batch of a transaction begins.
    #[inline]
    pub fn push_noop(&mut self) {
        self.with_header().push(tags::NOOP);
    }

    /// Whether the batch begins with a noop.
    pub fn starts_with_noop(&self) -> bool {
        self.rep.get(HEADER_SIZE) == Some(&tags::NOOP)
    }

    /// Makes a batch that begins with a noop the prepared section of the transaction `xid`: the
    /// noop becomes the beginning, and the end is added.
    ///
    /// # Errors
    /// `InvalidArgument`, and the batch stays as it was, if it does not begin with a noop.
    pub fn mark_prepared(&mut self, kind: PrepareKind, xid: &[u8]) -> Result<()> {
        self.mark_begin_prepare(kind)?;
        self.push_end_prepare(xid);
        Ok(())
    }

    /// Makes the noop at the beginning of the batch the beginning of a prepared section.
    ///
    /// # Errors
    /// `InvalidArgument`, and the batch stays as it was, if it does not begin with a noop.
    pub fn mark_begin_prepare(&mut self, kind: PrepareKind) -> Result<()> {
        if !self.starts_with_noop() {
            return Err(Error::invalid(
                "a batch that does not begin with a noop cannot be prepared",
            ));
        }
        self.rep[HEADER_SIZE] = kind.tag();
        Ok(())
    }

    /// Ends the prepared section of the transaction `xid`.
    pub fn push_end_prepare(&mut self, xid: &[u8]) {
        self.push_named(tags::END_PREPARE, xid);
    }

    /// Adds that the transaction `xid` is committed.
    pub fn push_commit(&mut self, xid: &[u8]) {
        self.push_named(tags::COMMIT, xid);
    }

    /// Adds that the transaction `xid` is committed and its keys get `timestamp`.
    pub fn push_commit_at(&mut self, timestamp: &[u8], xid: &[u8]) {
        self.push_named(tags::COMMIT_WITH_TIMESTAMP, timestamp);
        put_length_prefixed(&mut self.rep, xid);
    }

    /// Adds that the transaction `xid` is rolled back.
    pub fn push_rollback(&mut self, xid: &[u8]) {
        self.push_named(tags::ROLLBACK, xid);
    }

    /// Adds any operation.
    pub fn push_op(&mut self, op: &Op<'_>) {
        match *op {
            Op::Entry { cf, ty, key, value } => self.push(cf, ty, key, value),
            Op::LogData(blob) => self.push_log_data(blob),
            Op::Noop => self.push_noop(),
            Op::BeginPrepare(kind) => self.with_header().push(kind.tag()),
            Op::EndPrepare(xid) => self.push_end_prepare(xid),
            Op::Commit(xid) => self.push_commit(xid),
            Op::CommitAt { timestamp, xid } => self.push_commit_at(timestamp, xid),
            Op::Rollback(xid) => self.push_rollback(xid),
        }
    }

    /// The first marker of the batch, by its name ([`Op::marker`]).
    ///
    /// # Errors
    /// `Corruption` if the bytes before it are not those of a batch.
    pub fn first_marker(&self) -> Result<Option<&'static str>> {
        for op in self.ops() {
            if let Some(name) = op?.marker() {
                return Ok(Some(name));
            }
        }
        Ok(None)
    }

    fn push_named(&mut self, tag: u8, name: &[u8]) {
        let rep = self.with_header();
        rep.push(tag);
        put_length_prefixed(rep, name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::{check, ops};
    use crate::error::ErrorKind;
    use crate::key::ValueType;

    fn section(kind: PrepareKind) -> Batch {
        let mut b = Batch::default();
        b.push_noop();
        b.push(0, ValueType::Value, b"k", b"v");
        b.push_log_data(b"note");
        b.mark_prepared(kind, b"xa").unwrap();
        b
    }

    #[test]
    fn sections_and_decisions_have_rocksdbs_bytes() {
        let rest = b"\x01\x01k\x01v\x03\x04note\x0a\x02xa";
        for (kind, tag) in [
            (PrepareKind::Committed, 0x09),
            (PrepareKind::Persisted, 0x12),
            (PrepareKind::Unprepared, 0x13),
        ] {
            let b = section(kind);
            assert_eq!(b.body(), [&[tag][..], rest].concat());
            assert_eq!(b.count(), 1);
        }
        let mut b = Batch::default();
        b.push_commit(b"xa");
        b.push_commit_at(b"12345678", b"xb");
        b.push_rollback(b"");
        assert_eq!(b.body(), b"\x0b\x02xa\x15\x0812345678\x02xb\x0c\x00");
        assert_eq!(b.count(), 0);
        check(b.bytes()).unwrap();
    }

    #[test]
    fn markers_read_back_and_have_names() {
        let mut b = section(PrepareKind::Unprepared);
        b.push_commit(b"xa");
        b.push_commit_at(b"ts", b"xb");
        b.push_rollback(b"xc");
        let b = Batch::from_bytes(b.bytes().to_vec()).unwrap();
        let found: Vec<_> = b.ops().map(Result::unwrap).collect();
        assert_eq!(found[0], Op::BeginPrepare(PrepareKind::Unprepared));
        let (timestamp, xid) = (&b"ts"[..], &b"xb"[..]);
        let end = [
            Op::EndPrepare(b"xa"),
            Op::Commit(b"xa"),
            Op::CommitAt { timestamp, xid },
            Op::Rollback(b"xc"),
        ];
        assert_eq!(found[3..], end);
        let names: Vec<_> = found.iter().filter_map(Op::marker).collect();
        assert_eq!(names[0], "BEGIN_PREPARE(true)");
        assert_eq!(
            names[1..4],
            ["END_PREPARE", "COMMIT", "COMMIT_WITH_TIMESTAMP"]
        );
        assert_eq!(b.first_marker(), Ok(Some("BEGIN_PREPARE(true)")));
        let mut again = Batch::default();
        found.iter().for_each(|op| again.push_op(op));
        assert_eq!(again, b);
    }

    #[test]
    fn a_batch_without_a_noop_in_front_is_not_prepared() {
        let mut b = Batch::default();
        assert!(b.mark_prepared(PrepareKind::Committed, b"x").is_err());
        b.push(0, ValueType::Value, b"k", b"v");
        b.push_noop();
        let before = b.clone();
        let e = b.mark_prepared(PrepareKind::Committed, b"x").unwrap_err();
        assert_eq!(e.kind(), ErrorKind::InvalidArgument);
        assert_eq!(b, before);
        assert_eq!(b.first_marker(), Ok(None));
    }

    #[test]
    fn every_truncation_of_a_section_is_an_error() {
        let mut b = section(PrepareKind::Committed);
        b.push_commit_at(b"timestmp", b"name");
        let sizes: Vec<usize> = (0..b.bytes().len()).collect();
        let whole = |n: &&usize| check(&b.bytes()[..**n]).is_ok();
        // The section without what follows it.
        let sections_end = section(PrepareKind::Committed).bytes().len();
        assert_eq!(
            sizes.iter().filter(whole).collect::<Vec<_>>(),
            [&sections_end]
        );
    }

    #[test]
    fn sections_do_not_nest_and_have_both_ends() {
        let begin = Op::BeginPrepare(PrepareKind::Committed);
        let end = Op::EndPrepare(b"x");
        let timestamp = &b"t"[..];
        let at = Op::CommitAt {
            timestamp,
            xid: b"x",
        };
        let wrong: [&[Op<'_>]; 7] = [
            &[begin],
            &[end],
            &[begin, begin, end],
            &[begin, end, end],
            &[begin, Op::Commit(b"y"), end],
            &[begin, at, end],
            &[begin, Op::Rollback(b"y"), end],
        ];
        for made in wrong {
            let mut b = Batch::default();
            made.iter().for_each(|op| b.push_op(op));
            let e = check(b.bytes()).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::Corruption, "{made:?}: {e}");
            assert_eq!(ops(b.bytes()).count(), made.len());
        }
        let mut b = Batch::default();
        for op in [begin, Op::Noop, end, Op::Commit(b"x"), begin, end] {
            b.push_op(&op);
        }
        check(b.bytes()).unwrap();
    }
}
