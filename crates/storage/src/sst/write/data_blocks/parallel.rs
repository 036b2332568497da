//! Threads that compress the blocks of one table.
//!
//! Blocks are handed out to the threads round-robin, and results are taken in the same order, which
//! keeps the order of blocks without numbering them. Each thread has at most [`DEPTH`] blocks whose
//! results were not taken, so no channel is ever full and no sender waits; the caller that adds
//! blocks waits for the oldest result instead. A failure or panic of a thread is noticed when its
//! next result is taken.

use crate::error::{Error, Result};
use crate::sst::compress::{CompressionOptions, CompressionType, Compressor};
use crate::sst::events::TableEvents;
use bytes::Bytes;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};

/// The most blocks that one thread has at a time.
const DEPTH: usize = 4;

/// A block as it is stored.
pub(super) struct Compressed {
    pub(super) payload: Vec<u8>,
    pub(super) ty: CompressionType,
}

struct Worker {
    /// `None` once the thread is to end.
    blocks: Option<SyncSender<Vec<u8>>>,
    results: Receiver<Result<Compressed>>,
    thread: Option<JoinHandle<()>>,
}

pub(super) struct Pipeline {
    workers: Vec<Worker>,
    /// Lengths of the blocks whose results were not taken, oldest first.
    in_flight: VecDeque<usize>,
    in_flight_bytes: usize,
    /// The worker that gets the next block.
    put: usize,
    /// The worker that has the oldest block.
    take: usize,
}

impl Pipeline {
    /// # Errors
    /// As [`Compressor::new`]; the system's error if it cannot start a thread.
    pub(super) fn new(
        ty: CompressionType,
        options: &CompressionOptions,
        dictionary: Option<&Bytes>,
        events: Option<&Arc<dyn TableEvents>>,
    ) -> Result<Self> {
        let compressor = || Compressor::new(ty, options, dictionary);
        let compressors = (0..options.parallel_threads)
            .map(|_| Ok(compressor()?.with_events(events.cloned())))
            .collect::<Result<Vec<_>>>()?;
        Pipeline::of(compressors.into_iter().map(|mut compressor| {
            move |raw: Vec<u8>| {
                let (payload, ty) = compressor.compress(&raw)?;
                let payload = match ty {
                    CompressionType::None => None,
                    _ => Some(payload.to_vec()),
                };
                Ok(Compressed {
                    payload: payload.unwrap_or(raw),
                    ty,
                })
            }
        }))
    }

    /// One thread for each of `compress`.
    pub(super) fn of<F>(compress: impl IntoIterator<Item = F>) -> Result<Self>
    where
        F: FnMut(Vec<u8>) -> Result<Compressed> + Send + 'static,
    {
        let workers = compress.into_iter().map(start).collect::<Result<_>>()?;
        Ok(Pipeline {
            workers,
            in_flight: VecDeque::new(),
            in_flight_bytes: 0,
            put: 0,
            take: 0,
        })
    }

    /// The number of blocks whose results were not taken.
    pub(super) fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    pub(super) fn in_flight_bytes(&self) -> usize {
        self.in_flight_bytes
    }

    /// Whether a result must be taken before the next block is added.
    pub(super) fn is_full(&self) -> bool {
        self.in_flight.len() >= self.workers.len() * DEPTH
    }

    /// Gives a block to a thread. The pipeline must not be full.
    ///
    /// # Errors
    /// If the thread has ended. Failures of compression come with the result.
    pub(super) fn put(&mut self, raw: Vec<u8>) -> Result<()> {
        debug_assert!(!self.is_full());
        let len = raw.len();
        let worker = &mut self.workers[self.put];
        let sent = worker.blocks.as_ref().map(|blocks| blocks.send(raw));
        if !matches!(sent, Some(Ok(()))) {
            return Err(worker.lost());
        }
        self.put = (self.put + 1) % self.workers.len();
        self.in_flight.push_back(len);
        self.in_flight_bytes += len;
        Ok(())
    }

    /// The oldest block, once it is compressed.
    ///
    /// # Errors
    /// The codec's.
    pub(super) fn take(&mut self) -> Result<Compressed> {
        let worker = &mut self.workers[self.take];
        let Ok(result) = worker.results.recv() else {
            return Err(worker.lost());
        };
        self.take = (self.take + 1) % self.workers.len();
        let len = self.in_flight.pop_front().unwrap_or(0);
        self.in_flight_bytes -= len;
        result
    }
}

fn start<F>(mut compress: F) -> Result<Worker>
where
    F: FnMut(Vec<u8>) -> Result<Compressed> + Send + 'static,
{
    let (blocks, to_do) = sync_channel::<Vec<u8>>(DEPTH);
    let (done, results) = sync_channel(DEPTH);
    let thread = Builder::new()
        .name("compress".to_owned())
        .spawn(move || {
            // Ends when the table is finished or abandoned.
            while let Ok(raw) = to_do.recv() {
                if done.send(compress(raw)).is_err() {
                    return;
                }
            }
        })
        .map_err(|e| Error::invalid(format_args!("cannot start a thread that compresses: {e}")))?;
    Ok(Worker {
        blocks: Some(blocks),
        results,
        thread: Some(thread),
    })
}

impl Worker {
    /// The thread has ended, which only a panic causes: resumes that panic here.
    fn lost(&mut self) -> Error {
        if let Some(thread) = self.thread.take()
            && let Err(panic) = thread.join()
        {
            std::panic::resume_unwind(panic);
        }
        Error::invalid("a thread that compresses blocks ended early")
    }
}

impl Drop for Pipeline {
    fn drop(&mut self) {
        for worker in &mut self.workers {
            worker.blocks = None;
        }
        for worker in &mut self.workers {
            if let Some(thread) = worker.thread.take() {
                // Ignores a panic that nobody waited for: the table is abandoned anyway.
                let _ = thread.join();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    type Work = Box<dyn FnMut(Vec<u8>) -> Result<Compressed> + Send>;

    fn same() -> Work {
        Box::new(|payload| {
            Ok(Compressed {
                payload,
                ty: CompressionType::None,
            })
        })
    }

    #[test]
    fn blocks_come_back_in_order() {
        let mut pipeline = Pipeline::of([same(), same(), same()]).unwrap();
        let mut taken = Vec::new();
        for i in 0..100u8 {
            while pipeline.is_full() {
                taken.push(pipeline.take().unwrap().payload);
            }
            pipeline.put(vec![i; 10]).unwrap();
            assert_eq!(pipeline.in_flight_bytes(), pipeline.in_flight() * 10);
            assert!(pipeline.in_flight() <= 3 * DEPTH);
        }
        while pipeline.in_flight() > 0 {
            taken.push(pipeline.take().unwrap().payload);
        }
        assert_eq!(taken, (0..100).map(|i| vec![i; 10]).collect::<Vec<_>>());
    }

    #[test]
    fn failures_come_in_the_place_of_their_block() {
        let fails: Work = Box::new(|_| Err(Error::corruption("no")));
        let mut pipeline = Pipeline::of([same(), fails]).unwrap();
        for _ in 0..3 {
            pipeline.put(vec![0; 5]).unwrap();
        }
        assert!(pipeline.take().is_ok());
        let e = pipeline.take().err().expect("the second one's");
        assert_eq!(e.kind(), ErrorKind::Corruption);
        assert!(pipeline.take().is_ok());
        assert_eq!(pipeline.in_flight_bytes(), 0);
    }

    #[test]
    #[should_panic(expected = "of its own")]
    fn panics_are_passed_on() {
        let panics: Work = Box::new(|_| panic!("of its own"));
        let mut pipeline = Pipeline::of([panics]).unwrap();
        let _ = pipeline.put(vec![1]);
        let _ = pipeline.take();
    }

    #[test]
    fn threads_end_with_blocks_not_taken_back() {
        let mut pipeline = Pipeline::of([same(), same()]).unwrap();
        while !pipeline.is_full() {
            pipeline.put(vec![1; 100]).unwrap();
        }
        drop(pipeline);
    }
}
