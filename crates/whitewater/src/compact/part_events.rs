//! The events that listeners get about the parts of a compaction.

use crate::clock::micros;
use crate::event_queue::EventQueue;
use crate::listener::event::Happened;
use crate::listener::{CompactionJobInfo, CompactionJobStats, SubcompactionJobInfo};
use crate::panics::{Guarded, caught};
use crate::table_writer::Written;
use whitewater_concurrent::system;
use whitewater_storage::Result;

/// Queues the events of one compaction's parts. It does not exist when there are no listeners.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PartEvents<'a> {
    events: &'a EventQueue,
    compaction: &'a CompactionJobInfo,
}

impl<'a> PartEvents<'a> {
    /// Events for the compaction that began as described by `compaction`.
    pub fn new(events: &'a EventQueue, compaction: &'a CompactionJobInfo) -> Self {
        PartEvents { events, compaction }
    }

    /// Runs `work`, which is part `number`, between its two events.
    ///
    /// # Errors
    /// Errors of `work`; `Aborted` if it panicked.
    pub(super) fn tell(
        self,
        number: usize,
        work: impl FnOnce() -> Result<Written>,
    ) -> Result<Written> {
        let begun = self.info(number);
        self.events
            .note(|| Happened::SubcompactionBegin(begun.clone()));
        let start = system::now();
        let written = caught(Guarded::Job, work);
        self.events.note(|| {
            let mut info = begun;
            match &written {
                Ok(written) => info.stats = stats(written, micros(system::since(start))),
                Err(e) => info.status = Err(e.clone()),
            }
            Happened::SubcompactionCompleted(info)
        });
        written
    }

    fn info(self, number: usize) -> SubcompactionJobInfo {
        let compaction = self.compaction;
        SubcompactionJobInfo {
            cf_id: compaction.cf_id,
            cf_name: compaction.cf_name.clone(),
            status: Ok(()),
            job_id: compaction.job_id,
            subcompaction_job_id: number,
            thread_id: thread_id(),
            base_input_level: compaction.base_input_level,
            output_level: compaction.output_level,
            compaction_reason: compaction.compaction_reason,
            stats: CompactionJobStats::default(),
        }
    }
}

/// The operating system's number of the calling thread; 0 on systems where nothing tells it, and in
/// a simulation, since runs would otherwise differ.
#[cfg(target_os = "linux")]
fn thread_id() -> u64 {
    if system::is_simulated() {
        return 0;
    }
    rustix::thread::gettid().as_raw_nonzero().get() as u64
}

#[cfg(not(target_os = "linux"))]
fn thread_id() -> u64 {
    0
}

fn stats(written: &Written, elapsed_micros: u64) -> CompactionJobStats {
    let drops = &written.drops;
    CompactionJobStats {
        elapsed_micros,
        cpu_micros: micros(written.cpu),
        num_input_records: written.input_entries,
        num_input_files: 0,
        total_input_bytes: written.input_bytes,
        num_output_records: written.held.entries,
        num_output_files: written.files.len() as u64,
        total_output_bytes: written.bytes(),
        num_records_replaced: drops.hidden,
        num_range_deleted_records: drops.range_deleted,
        num_filtered_records: drops.filtered,
        num_expired_deletion_records: drops.obsolete,
        num_subcompactions: 1,
    }
}
