//! Copying files with a checksum, at a limited rate, by several threads.

use super::Stop;
use crate::panics::{Guarded, caught};
use crate::rate_limiter::{Client, RateLimiter, RateLimiterMode};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use whitewater_concurrent::system::{self, Mutex};
use whitewater_storage::file_checksum::Digest;
use whitewater_storage::fs::{Fs, WritableFile};
use whitewater_storage::sst::IoPriority;
use whitewater_storage::{Error, Result};

/// The number of bytes that are copied at a time.
const CHUNK: u64 = 1 << 20;

/// Microseconds between two refills of a limit, and how many of them go to others first.
const REFILL: u64 = 100_000;
const FAIRNESS: u64 = 10;

/// A limit to bytes per second.
#[derive(Clone)]
pub(super) struct Limit(Arc<Client>);

impl Limit {
    /// No limit for 0 bytes.
    pub fn new(bytes_per_second: u64) -> Option<Self> {
        let limiter = || {
            let mode = RateLimiterMode::KWritesOnly;
            RateLimiter::new(bytes_per_second, REFILL, FAIRNESS, false, mode)
        };
        (bytes_per_second > 0).then(|| Limit(Client::new(limiter(), None)))
    }

    /// Removes the limit.
    pub fn let_through(&self) {
        self.0.close();
    }
}

/// Tells of progress.
pub(super) struct Progress<'a> {
    /// Bytes between two calls.
    pub every: u64,
    pub call: &'a (dyn Fn() + Send + Sync),
}

/// Copies files, all with the same limits. It is shared by the threads that copy.
pub(super) struct Copier<'a> {
    pub limit: Option<&'a Limit>,
    pub stop: Option<&'a Stop>,
    pub progress: Option<Progress<'a>>,
    pub sync: bool,
    /// Bytes that were read and written so far. Written by: the copying threads. Read by: the same,
    /// and the thread that waits for all of them (relaxed). They publish nothing.
    pub read: AtomicU64,
    pub written: AtomicU64,
}

/// What was copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Copied {
    /// The CRC-32C, not masked.
    pub crc: u32,
    pub size: u64,
}

impl<'a> Copier<'a> {
    pub fn new(limit: Option<&'a Limit>, sync: bool) -> Self {
        Copier {
            limit,
            stop: None,
            progress: None,
            sync,
            read: AtomicU64::new(0),
            written: AtomicU64::new(0),
        }
    }

    /// Copies the first `len` bytes of a file. The copy is durable, but for its name, if syncs
    /// are on.
    ///
    /// # Errors
    /// Errors of the file systems; `Corruption` if the file is shorter; `Incomplete` after a
    /// stop.
    pub fn copy(&self, from: (&dyn Fs, &Path), len: u64, to: (&dyn Fs, &Path)) -> Result<Copied> {
        let mut target = to.0.create(to.1)?;
        let copied = self.read(from, len, Some(&mut *target))?;
        if self.sync {
            target.sync()?;
        }
        Ok(copied)
    }

    /// The checksum of the first `len` bytes of a file.
    ///
    /// # Errors
    /// As [`copy`](Self::copy).
    pub fn checksum(&self, fs: &dyn Fs, path: &Path, len: u64) -> Result<Copied> {
        self.read((fs, path), len, None)
    }

    /// Makes a file of `bytes`.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn write(&self, fs: &dyn Fs, path: &Path, bytes: &[u8]) -> Result<Copied> {
        let mut file = fs.create(path)?;
        file.append(bytes)?;
        self.written.fetch_add(bytes.len() as u64, Relaxed);
        if self.sync {
            file.sync()?;
        }
        let digest = Digest::default();
        digest.add(bytes);
        Ok(Copied {
            crc: digest.crc(),
            size: bytes.len() as u64,
        })
    }

    fn read(
        &self,
        (fs, path): (&dyn Fs, &Path),
        len: u64,
        mut target: Option<&mut dyn WritableFile>,
    ) -> Result<Copied> {
        let source = fs.open_random(path)?;
        let mut chunk = vec![0; len.min(CHUNK) as usize];
        let digest = Digest::default();
        let mut at = 0;
        while at < len {
            self.stop.map_or(Ok(()), Stop::check)?;
            let n = (len - at).min(CHUNK);
            if let Some(Limit(client)) = self.limit {
                client.request_write(n, IoPriority::Low);
            }
            let part = &mut chunk[..n as usize];
            source.read_into(at, part)?;
            digest.add(part);
            at += n;
            let read = self.read.fetch_add(n, Relaxed) + n;
            if let Some(target) = &mut target {
                target.append(part)?;
                self.written.fetch_add(n, Relaxed);
            }
            if let Some(progress) = &self.progress {
                // The call that takes the sum over a multiple tells of it.
                let before = (read - n) / progress.every;
                (before..read / progress.every).for_each(|_| (progress.call)());
            }
        }
        Ok(Copied {
            crc: digest.crc(),
            size: at,
        })
    }
}

/// Runs `work` for each of `jobs`, on up to `threads` threads. Returns the results in order.
///
/// # Errors
/// The first failure, after which no other job is begun; `Aborted` for a panic.
pub(super) fn for_all<J: Sync, T: Send>(
    jobs: &[J],
    threads: usize,
    work: impl Fn(&J) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let failure: Mutex<Option<Error>> = Mutex::new(None);
    // Written and read by the threads below (relaxed): each takes the next job, until one has
    // failed. They publish nothing; the results are read after the threads have ended.
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let run = || {
        let mut done = Vec::new();
        while !failed.load(Relaxed) {
            let at = next.fetch_add(1, Relaxed);
            let Some(job) = jobs.get(at) else {
                break;
            };
            match caught(Guarded::Job, || work(job)) {
                Ok(result) => done.push((at, result)),
                Err(e) => {
                    failed.store(true, Relaxed);
                    failure.lock().get_or_insert(e);
                }
            }
        }
        done
    };
    let mut done = std::thread::scope(|scope| {
        let others = 1..threads.min(jobs.len());
        // Those that cannot be started are missing.
        let spawned =
            others.filter_map(|_| system::spawn_scoped(scope, "ww-backup".to_owned(), run).ok());
        let spawned: Vec<_> = spawned.collect();
        let mut done = run();
        for thread in spawned {
            // Panics of the work are caught inside.
            done.extend(thread.join().unwrap_or_default());
        }
        done
    });
    match failure.into_inner() {
        Some(e) => Err(e),
        None => {
            done.sort_unstable_by_key(|(at, _)| *at);
            Ok(done.into_iter().map(|(_, result)| result).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use whitewater_storage::ErrorKind;

    #[test]
    fn results_are_in_the_order_of_jobs() {
        let jobs: Vec<u32> = (0..100).collect();
        for threads in [0, 1, 3, 200] {
            let doubled = for_all(&jobs, threads, |n| Ok(n * 2)).unwrap();
            assert_eq!(doubled, jobs.iter().map(|n| n * 2).collect::<Vec<_>>());
        }
        let none: Vec<u32> = for_all(&[], 4, |n: &u32| Ok(*n)).unwrap();
        assert!(none.is_empty());
    }

    #[test]
    fn a_failure_or_a_panic_ends_all() {
        let jobs: Vec<u32> = (0..100).collect();
        for threads in [1, 3] {
            let begun = AtomicUsize::new(0);
            let outcome = for_all(&jobs, threads, |n| {
                begun.fetch_add(1, Relaxed);
                match n {
                    5 => Err(Error::invalid("no")),
                    _ => Ok(()),
                }
            });
            assert_eq!(outcome.unwrap_err().kind(), ErrorKind::InvalidArgument);
            assert!(begun.into_inner() < 100);
            let outcome: Result<Vec<()>> = for_all(&jobs, threads, |_| panic!("user code"));
            let e = outcome.unwrap_err();
            assert_eq!(e.kind(), ErrorKind::Aborted, "{e}");
            assert!(e.to_string().contains("user code"), "{e}");
        }
    }
}
