use super::*;
use std::path::Path;
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

/// A log with 16 MiB ready, and the bytes that are kept ready ahead of writes.
fn log_of_16_mib() -> (Arc<Extender>, Arc<Segment>, u64) {
    let fs = MemFs::new();
    let file = fs.open_shared(Path::new("/000001.log"), None, SharedOptions::default());
    let log = Arc::new(Segment::new(Box::new(Mapped(file.unwrap())), 1, false));
    log.extend(16 * MIB).unwrap();
    let extender = Arc::new(Extender::new(64 * MIB, false));
    let lead = extender.lead(log.ready());
    assert_eq!(lead, 2 * MIB);
    (extender, log, lead)
}

#[test]
fn the_thread_extends_a_mapped_log_well_ahead_of_writes() {
    let (extender, log, lead) = log_of_16_mib();
    let mut end = 16 * MIB - lead;
    assert!(!extender.extend_ahead(&log, end));
    for _ in 0..3 {
        let ready = log.ready();
        assert!(extender.extend_ahead(&log, end + 1));
        while extender.asked.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
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
fn the_thread_does_not_extend_a_log_that_was_closed_or_let_go_of_since() {
    let (extender, log, _) = log_of_16_mib();
    extender.close(&log, 15 * MIB).unwrap();
    extender.asked.store(true, Ordering::Relaxed);
    extender.extend_as_asked(Some(&log), 15 * MIB);
    assert_eq!(log.allocated(), 15 * MIB);
    assert!(
        !extender.asked.load(Ordering::Relaxed),
        "another log may be extended"
    );
    extender.asked.store(true, Ordering::Relaxed);
    extender.extend_as_asked(None, 15 * MIB);
    assert!(
        !extender.asked.load(Ordering::Relaxed),
        "another log may be extended"
    );
}
