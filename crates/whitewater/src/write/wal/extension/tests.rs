use super::*;
use std::path::Path;
use whitewater_storage::fs::fault::{Fault, FaultFs, FaultOp, OpSet, Rule};
use whitewater_storage::fs::mem::MemFs;
use whitewater_storage::fs::{Fs, SharedFile, SharedOptions};

const MIB: u64 = 1 << 20;

/// A log file whose extensions prepare memory, as those of a mapped file do.
#[derive(Debug)]
struct Mapped(Box<dyn SharedFile>);

impl SharedFile for Mapped {
    fn write_at(&self, offset: u64, data: &[u8]) -> Result<()> {
        self.0.write_at(offset, data)
    }
    fn extend(&self, len: u64) -> Result<()> {
        self.0.extend(len)
    }
    fn prepares_memory(&self) -> bool {
        true
    }
    fn allocated(&self) -> u64 {
        self.0.allocated()
    }
    fn sync(&self) -> Result<()> {
        self.0.sync()
    }
    fn truncate(&self, len: u64) -> Result<()> {
        self.0.truncate(len)
    }
}

/// A file that can be extended once.
#[derive(Debug)]
struct Panicking;

impl SharedFile for Panicking {
    fn write_at(&self, _: u64, _: &[u8]) -> Result<()> {
        Ok(())
    }
    fn extend(&self, len: u64) -> Result<()> {
        assert!(
            len <= 16 * MIB,
            "a file system that panics, as the test wants"
        );
        Ok(())
    }
    fn prepares_memory(&self) -> bool {
        true
    }
    fn allocated(&self) -> u64 {
        16 * MIB
    }
    fn sync(&self) -> Result<()> {
        Ok(())
    }
    fn truncate(&self, _: u64) -> Result<()> {
        Ok(())
    }
}

fn log_of_16_mib() -> (Arc<Extender>, Arc<Segment>, u64) {
    log_of_16_mib_on(&MemFs::new())
}

fn log_of_16_mib_on(fs: &dyn Fs) -> (Arc<Extender>, Arc<Segment>, u64) {
    let file = fs.open_shared(Path::new("/000001.log"), None, SharedOptions::default());
    log_of(Box::new(Mapped(file.unwrap())))
}

/// A log with 16 MiB ready, and the bytes that are kept ready ahead of writes.
fn log_of(file: Box<dyn SharedFile>) -> (Arc<Extender>, Arc<Segment>, u64) {
    let log = Arc::new(Segment::new(file, 1, false));
    log.extend(16 * MIB).unwrap();
    let extender = Arc::new(Extender::new(64 * MIB, false));
    let lead = extender.lead(log.ready());
    assert_eq!(lead, 2 * MIB);
    (extender, log, lead)
}

/// Waits until the thread has done what it was asked for.
fn await_answer(extender: &Extender) {
    for _ in 0..60_000 {
        if !extender.asked.load(Ordering::Relaxed) {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    panic!("the thread was asked, and does nothing");
}

#[test]
fn the_thread_extends_a_mapped_log_well_ahead_of_writes() {
    let (extender, log, lead) = log_of_16_mib();
    let mut end = 16 * MIB - lead;
    assert!(!extender.extend_ahead(&log, end));
    for _ in 0..3 {
        let ready = log.ready();
        assert!(extender.extend_ahead(&log, end + 1));
        await_answer(&extender);
        assert_eq!(log.ready(), ready + UNINITIALIZED_STEP);
        end += UNINITIALIZED_STEP;
    }
}

/// It would otherwise stop at the end, while the thread waits for a core.
#[test]
fn a_writer_extends_the_log_itself_where_the_thread_is_late() {
    let (extender, log, lead) = log_of_16_mib();
    extender.asked.store(true, Ordering::Relaxed);
    let end = 16 * MIB - lead / 2;
    assert!(!extender.extend_ahead(&log, end), "somebody has asked");
    assert_eq!(log.ready(), 16 * MIB);
    assert!(extender.extend_ahead(&log, end + 1));
    assert!(log.ready() > 16 * MIB);
}

/// Its sync may take long, and the thread serves other databases.
#[test]
fn a_writer_extends_the_log_itself_where_space_is_initialized() {
    let (_, log, lead) = log_of_16_mib();
    let extender = Arc::new(Extender::new(64 * MIB, true));
    assert!(extender.extend_ahead(&log, 16 * MIB - lead + 1));
    assert_eq!(log.ready(), 20 * MIB, "a whole step, as it has a sync");
}

#[test]
fn a_decision_to_initialize_space_is_left_to_a_writer() {
    let (extender, log, lead) = log_of_16_mib();
    let end = 16 * MIB - lead + 1;
    // As many syncs as after a step whose writes were all synced.
    (0..1_000).for_each(|_| extender.note_sync());
    extender.extending.lock().grown = 4 * MIB;
    assert!(extender.extend_ahead(&log, end));
    await_answer(&extender);
    assert!(extender.initializes());
    assert_eq!(log.ready(), 16 * MIB, "the sync would hold up other logs");
    assert!(extender.extend_ahead(&log, end));
    assert_eq!(log.ready(), 20 * MIB);
}

#[test]
fn the_thread_does_not_extend_a_log_that_was_closed_given_up_or_frozen_since() {
    let (extender, log, _) = log_of_16_mib();
    extender.freeze(true);
    extender.extend_as_asked(Some(&log), 15 * MIB);
    assert_eq!(log.allocated(), 16 * MIB);
    extender.freeze(false);
    extender.close(&log, 15 * MIB).unwrap();
    extender.extend_as_asked(Some(&log), 15 * MIB);
    assert_eq!(log.allocated(), 15 * MIB);
    let (extender, log, _) = log_of_16_mib();
    extender.give_up(&log);
    extender.extend_as_asked(Some(&log), 15 * MIB);
    assert_eq!(log.allocated(), 16 * MIB, "neither longer nor shorter");
}

#[test]
fn a_log_that_was_let_go_of_does_not_keep_the_next_from_being_extended() {
    let (extender, log, lead) = log_of_16_mib();
    assert!(extender.extend_ahead(&log, 16 * MIB - lead + 1));
    drop(log);
    await_answer(&extender);
    let (_, next, lead) = log_of_16_mib();
    assert!(extender.extend_ahead(&next, 16 * MIB - lead + 1));
    await_answer(&extender);
    assert_eq!(next.ready(), 16 * MIB + UNINITIALIZED_STEP);
}

#[test]
fn after_an_extension_failed_in_the_thread_the_writer_that_needs_the_room_gets_the_error() {
    let mem = MemFs::new();
    let faults = FaultFs::new(Arc::new(mem));
    let (extender, log, lead) = log_of_16_mib_on(&faults);
    faults.add_rule(Rule {
        fault: Fault::Enospc,
        ..Rule::nth(OpSet::of(&[FaultOp::Extend]), 1)
    });
    let end = 16 * MIB - lead + 1;
    assert!(extender.extend_ahead(&log, end));
    await_answer(&extender);
    assert!(log.lacks_room());
    faults.add_rule(Rule {
        fault: Fault::Enospc,
        ..Rule::nth(OpSet::of(&[FaultOp::Extend]), 1)
    });
    let e = extender.extend_to(&log, 16 * MIB + 1).unwrap_err();
    assert!(e.is_no_space(), "{e}");
    // Once there is room again, the thread is asked again.
    assert!(extender.extend_ahead(&log, end));
    await_answer(&extender);
    assert_eq!(log.ready(), 16 * MIB + UNINITIALIZED_STEP);
    assert!(!log.lacks_room());
}

#[test]
fn a_file_system_that_panics_in_the_thread_leaves_it_working() {
    let (extender, log, lead) = log_of(Box::new(Panicking));
    assert!(extender.extend_ahead(&log, 16 * MIB - lead + 1));
    await_answer(&extender);
    let (extender, log, lead) = log_of_16_mib();
    assert!(extender.extend_ahead(&log, 16 * MIB - lead + 1));
    await_answer(&extender);
    assert_eq!(log.ready(), 16 * MIB + UNINITIALIZED_STEP);
}
