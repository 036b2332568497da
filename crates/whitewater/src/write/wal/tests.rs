use super::*;
use whitewater_storage::fs::fault::{Fault, FaultFs, FaultOp, OpSet, Rule};
use whitewater_storage::fs::mem::MemFs;

const STEP: u64 = 64 << 10;

fn wal(fs: &MemFs, compressed: bool) -> Wal {
    wal_on(Arc::new(fs.clone()), compressed)
}

fn wal_on(fs: Arc<dyn Fs>, compressed: bool) -> Wal {
    wal_with(fs, 16 * STEP, compressed)
}

/// Of logs of about `expected` bytes each.
fn wal_of_logs(expected: u64) -> Wal {
    wal_with(Arc::new(MemFs::new()), expected, false)
}

fn wal_with(fs: Arc<dyn Fs>, expected: u64, compressed: bool) -> Wal {
    let options = WalOptions {
        recycle_limit: 1,
        expected,
        shared: SharedOptions::default(),
        manual_flush: false,
        bytes_per_sync: 0,
        compressed,
    };
    Wal::new(fs, PathBuf::from("/"), options)
}

fn note_syncs(wal: &Wal, syncs: u64) {
    (0..syncs).for_each(|_| wal.extender.note_sync());
}

/// Starts log `number`, where `last` is the last number before it and the
/// log before ends at `offset`.
fn next(wal: &Wal, number: u64, last: SequenceNumber, offset: u64) -> (Arc<Segment>, u64) {
    let log = wal.create(number).unwrap();
    let start = wal.install(&log, End { last, offset }).unwrap();
    (log, start)
}

/// A log in the file of another one, which had `bytes` bytes.
fn recycled(wal: &Wal, bytes: u64) -> Arc<Segment> {
    let (old, _) = next(wal, 1, 0, 0);
    wal.extend_to(&old, bytes).unwrap();
    next(wal, 2, 5, bytes);
    wal.trim(&old, bytes).unwrap();
    assert_eq!(wal.forget_below(2), [0; 0], "kept for reuse");
    let (log, _) = next(wal, 3, 5, 50);
    assert_eq!(log.allocated(), bytes, "the old file");
    log
}

#[test]
fn a_recycled_log_is_made_ready_step_by_step() {
    let fs = MemFs::new();
    let wal = wal(&fs, false);
    let log = recycled(&wal, 9 * STEP);
    assert_eq!(log.ready(), STEP);
    // Not while half of the step is left, and once after that.
    assert!(!wal.extend_ahead(&log, STEP / 2));
    assert!(wal.extend_ahead(&log, STEP / 2 + 1));
    assert_eq!(log.ready(), 2 * STEP);
    assert!(!wal.extend_ahead(&log, STEP / 2 + 1));
    // Beyond what the old file had.
    wal.extend_to(&log, 9 * STEP + 1).unwrap();
    assert_eq!(log.allocated(), log.ready());
    assert!(log.ready() > 9 * STEP);
}

/// A writer that gets megabytes from the system at once stops for milliseconds.
#[test]
fn a_log_is_extended_by_little_at_once_well_ahead_of_writes() {
    const KIB: u64 = 1 << 10;
    let wal = wal_of_logs(64 << 20);
    let (log, _) = next(&wal, 1, 0, 0);
    for end in (0..20 << 20).step_by(100 << 10) {
        let before = log.ready();
        wal.extend_ahead(&log, end);
        assert!(log.ready() - before <= 256 * KIB);
        let ahead = log.ready() - end;
        assert!(
            ahead >= (end / 5).clamp(128 * KIB, 1900 * KIB),
            "{ahead} at {end}"
        );
    }
    // Extensions that are initialized are long, as each costs a sync.
    note_syncs(&wal, 1_000);
    let mut end = log.ready();
    while !wal.extender.initializes() {
        end += 100 << 10;
        wal.extend_ahead(&log, end);
    }
    note_syncs(&wal, 1_000);
    let before = log.ready();
    assert!(wal.extend_ahead(&log, before));
    assert_eq!(log.ready() - before, 4 << 20);
}

#[test]
fn a_recycled_log_is_ready_beyond_its_end_however_large_writes_are() {
    const MIB: u64 = 1 << 20;
    for write in [MIB / 16, MIB, 3 * MIB] {
        let wal = wal_of_logs(64 * MIB);
        let log = recycled(&wal, 64 * MIB);
        for end in (write..60 * MIB).step_by(write as usize) {
            let lead = wal.extender.lead(log.ready());
            wal.extend_ahead(&log, end);
            let ahead = log.ready() - end;
            assert!((lead..3 * MIB).contains(&ahead), "{ahead} at {end}");
        }
        assert_eq!(wal.extender.lead(log.ready()), 2 * MIB);
    }
}

/// Few syncs close to each other do not make a load of much data pay for zeros, nor do those before
/// the log was switched.
#[test]
fn whether_to_initialize_is_decided_after_a_step() {
    const MIB: u64 = 1 << 20;
    const PIECE: u64 = MIB / 8;
    let wal = wal_of_logs(64 * MIB);
    // How many of the writes saw that space is initialized.
    let write = |log: &Arc<Segment>, range: std::ops::Range<u64>, syncs_per_mib: u64| {
        let ends = (range.start * MIB..range.end * MIB).step_by(PIECE as usize);
        let zeros = ends.filter(|end| {
            note_syncs(&wal, syncs_per_mib / 8);
            wal.extend_ahead(log, *end);
            wal.extender.initializes()
        });
        zeros.count()
    };
    let (log, _) = next(&wal, 1, 0, 0);
    assert_eq!(write(&log, 0..24, 0), 0);
    note_syncs(&wal, 8);
    assert_eq!(write(&log, 24..32, 0), 0);
    assert!(write(&log, 32..44, 32) > 48);
    assert!(write(&log, 44..60, 0) < 48);
    assert!(!wal.extender.initializes());
    note_syncs(&wal, 8);
    let (log, _) = next(&wal, 2, 0, 60 * MIB);
    assert_eq!(write(&log, 0..8, 0), 0);
}

#[test]
fn a_closed_log_is_not_extended_by_a_late_writer() {
    let fs = MemFs::new();
    let wal = wal(&fs, false);
    let (old, _) = next(&wal, 1, 0, 0);
    next(&wal, 2, 5, 1_000);
    wal.trim(&old, 1_000).unwrap();
    let size = || fs.file_size(Path::new("/000001.log")).unwrap();
    assert_eq!(size(), 1_000);
    assert!(!wal.extend_ahead(&old, 1_000));
    wal.extend_to(&old, 5_000).unwrap();
    assert_eq!(size(), 1_000);
}

#[test]
fn logs_that_were_synced_to_their_end_are_told_once() {
    let fs = MemFs::new();
    let wal = wal(&fs, false);
    next(&wal, 1, 0, 0);
    next(&wal, 2, 5, 100);
    next(&wal, 3, 9, 200);
    assert_eq!(wal.first(), Some((1, 0)));
    assert_eq!(wal.sync(6).unwrap(), [(1, 100)], "9 may still come");
    assert_eq!(wal.sync_closed(6).unwrap(), []);
    assert_eq!(wal.sync_closed(9).unwrap(), [(2, 200)]);
}

#[test]
fn a_compressed_log_begins_by_saying_so_and_its_link_is_read() {
    let fs = MemFs::new();
    let wal = wal(&fs, true);
    let (_, first) = next(&wal, 1, 0, 0);
    assert_eq!(first, 11);
    let (_, start) = next(&wal, 2, 5, 1_234);
    let file = fs.open_sequential(Path::new("/000002.log")).unwrap();
    let mut reader = whitewater_storage::wal::LogReader::new(file, 2);
    let mut record = Vec::new();
    reader.read_record(&mut record).unwrap();
    let link = Link {
        log_number: 1,
        size: 1_234,
    };
    assert_eq!(Link::decode(&record), Some(link));
    assert_eq!(batch::sequence(&record), 6);
    assert_eq!(reader.record_end(), start);
}

/// Neither a file of its own nor the one that was to be reused.
#[test]
fn a_log_that_could_not_be_made_leaves_no_file() {
    for (op, reused) in [
        (FaultOp::Create, false),
        (FaultOp::Extend, false),
        (FaultOp::Reuse, true),
        (FaultOp::Extend, true),
    ] {
        let mem = MemFs::new();
        let faults = Arc::new(FaultFs::new(Arc::new(mem.clone())));
        let wal = wal_on(faults.clone(), false);
        let files = || mem.list(Path::new("/")).unwrap();
        let (old, _) = next(&wal, 1, 0, 0);
        if reused {
            next(&wal, 2, 5, 0);
            wal.trim(&old, 0).unwrap();
            assert_eq!(wal.forget_below(2), [0; 0], "kept for reuse");
        }
        let before = files().len();
        faults.add_rule(Rule {
            fault: Fault::Enospc,
            ..Rule::nth(OpSet::of(&[op]), 1)
        });
        let e = wal.create(3).unwrap_err();
        assert!(e.is_no_space(), "{op:?}: {e}");
        let left = if reused { "000002.log" } else { "000001.log" };
        assert_eq!(files(), [left], "{op:?}");
        assert_eq!(before, 1 + usize::from(reused));
        // The next one is a file of its own.
        let (log, _) = next(&wal, 4, 5, 0);
        assert_eq!(log.allocated(), STEP);
        assert_eq!(files().len(), 2, "{op:?}");
    }
}
