//! The file of a table or blob file that is being written. The rate limiter sets its pace, and it
//! is written back along the way.

use crate::rate_limiter::Client;
use crate::stats::{Histogram, Statistics, time};
use std::sync::Arc;
use whitewater_storage::Result;
use whitewater_storage::file_checksum::Digest;
use whitewater_storage::fs::WritableFile;
use whitewater_storage::sst::IoPriority;

/// The number of bytes at the end of the file that are not written back yet, because they may
/// still be written to. RocksDB's number.
const NOT_YET: u64 = 1 << 20;
/// Write-back starts at multiples of this number of bytes. RocksDB's number.
const PAGE: u64 = 4096;

/// A file that asks the rate limiter, if there is one, before each write, and has the system
/// write back older data.
#[derive(Debug)]
pub(super) struct OutputFile {
    file: Box<dyn WritableFile>,
    limiter: Option<(Arc<Client>, IoPriority)>,
    /// The number of bytes between two requests for write-back; 0 is never.
    bytes_per_sync: u64,
    /// Write-back was requested up to this offset.
    written_back: u64,
    timed: Option<Timed>,
    /// Receives everything that is written, if the file is to have a checksum.
    digest: Option<Arc<Digest>>,
}

/// The histograms of writes and syncs.
#[derive(Debug)]
pub(super) struct Timed {
    pub statistics: Arc<Statistics>,
    /// Each write is recorded in all of these.
    pub writes: Vec<Histogram>,
    pub syncs: Histogram,
}

impl OutputFile {
    /// A file that writes to `file`.
    pub fn new(
        file: Box<dyn WritableFile>,
        limiter: Option<(Arc<Client>, IoPriority)>,
        bytes_per_sync: u64,
        timed: Option<Timed>,
        digest: Option<Arc<Digest>>,
    ) -> Self {
        OutputFile {
            file,
            limiter,
            bytes_per_sync,
            written_back: 0,
            timed,
            digest,
        }
    }
}

impl WritableFile for OutputFile {
    fn append(&mut self, data: &[u8]) -> Result<()> {
        if let Some((limiter, priority)) = &self.limiter {
            limiter.request_write(data.len() as u64, *priority);
        }
        let timed = self.timed.as_ref();
        let timers = timed.map(|t| {
            let started = (t.writes.iter()).map(|writes| time(Some(&t.statistics), *writes));
            started.collect::<Vec<_>>()
        });
        self.file.append(data)?;
        drop(timers);
        if let Some(digest) = &self.digest {
            digest.add(data);
        }
        let old = self.file.len().saturating_sub(NOT_YET) / PAGE * PAGE;
        if self.bytes_per_sync > 0 && old >= self.written_back + self.bytes_per_sync {
            self.file.start_writeback(self.written_back, old);
            self.written_back = old;
        }
        Ok(())
    }
    fn flush(&mut self) -> Result<()> {
        self.file.flush()
    }
    fn sync(&mut self) -> Result<()> {
        let timed = self.timed.as_ref();
        let _timer = timed.map(|t| time(Some(&t.statistics), t.syncs));
        self.file.sync()
    }
    fn len(&self) -> u64 {
        self.file.len()
    }
    fn preallocate(&mut self, len: u64) {
        self.file.preallocate(len);
    }
    fn start_writeback(&mut self, from: u64, to: u64) {
        self.file.start_writeback(from, to);
    }
    fn truncate_to_len(&mut self) -> Result<()> {
        self.file.truncate_to_len()
    }
    fn forget_unsynced(&mut self) {
        self.file.forget_unsynced();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use whitewater_concurrent::system::Mutex;

    /// Records the ranges that it is asked to write back.
    #[derive(Debug, Default)]
    struct Noted {
        len: u64,
        ranges: Arc<Mutex<Vec<(u64, u64)>>>,
    }

    impl WritableFile for Noted {
        fn append(&mut self, data: &[u8]) -> Result<()> {
            self.len += data.len() as u64;
            Ok(())
        }
        fn flush(&mut self) -> Result<()> {
            Ok(())
        }
        fn sync(&mut self) -> Result<()> {
            Ok(())
        }
        fn len(&self) -> u64 {
            self.len
        }
        fn start_writeback(&mut self, from: u64, to: u64) {
            self.ranges.lock().push((from, to));
        }
    }

    #[test]
    fn write_back_follows_a_mebibyte_behind() {
        for (bytes_per_sync, expected) in [
            (0, vec![]),
            (1 << 20, vec![(0, 1 << 20), (1 << 20, 2 << 20)]),
            // Each append is 700,001 bytes. Only whole pages are written back.
            (
                1,
                vec![
                    (0, 348_160),
                    (348_160, 1_048_576),
                    (1_048_576, 1_748_992),
                    (1_748_992, 2_449_408),
                ],
            ),
        ] {
            let noted = Noted::default();
            let ranges = noted.ranges.clone();
            let mut file = OutputFile::new(Box::new(noted), None, bytes_per_sync, None, None);
            let step = if bytes_per_sync == 1 {
                700_001
            } else {
                1 << 19
            };
            let appends = if bytes_per_sync == 1 { 5 } else { 6 };
            for _ in 0..appends {
                file.append(&vec![0; step]).unwrap();
            }
            assert_eq!(*ranges.lock(), expected, "{bytes_per_sync}");
        }
    }
}
