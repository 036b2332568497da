//! Data blocks on their way to the file: compressed at once, held until there
//! is a dictionary, or compressed by several threads (`parallel`).
//!
//! Invariants:
//! * D1: blocks reach the file in the order in which they were added; the
//!   handle of the n-th is the n-th of `handles`.
//! * D2: what is written does not depend on the number of threads.

mod parallel;
#[cfg(test)]
mod tests;

use crate::error::Result;
use crate::sst::compress::{CompressionOptions, CompressionType, Compressor, train};
use crate::sst::events::{BlockKind, TableEvents};
use crate::sst::format::handle::BlockHandle;
use crate::sst::write::block_sink::BlockSink;
use bytes::Bytes;
use parallel::Pipeline;
use std::collections::VecDeque;
use std::sync::Arc;

enum Stage {
    /// Held until there is enough to make a dictionary from.
    Holding { blocks: Vec<Vec<u8>>, bytes: u64 },
    /// Compressed as they come.
    Serial(Compressor),
    /// Compressed by threads.
    Parallel(Pipeline),
}

/// The data blocks of one table.
pub(super) struct DataBlocks {
    ty: CompressionType,
    options: CompressionOptions,
    /// Who is told of each block.
    events: Option<Arc<dyn TableEvents>>,
    /// Uncompressed bytes to hold at most.
    hold_limit: u64,
    stage: Stage,
    dictionary: Option<Bytes>,
    handles: Vec<BlockHandle>,
    /// Blocks that are with threads and to be cached, oldest first.
    to_warm: VecDeque<Vec<u8>>,
}

impl DataBlocks {
    /// `target_file_size` is what tables are aimed at, 0 for whatever comes.
    ///
    /// # Errors
    /// `NotSupported` for a codec that is not built in; what
    /// [`CompressionOptions::check`] says.
    pub(super) fn new(
        ty: CompressionType,
        options: CompressionOptions,
        target_file_size: u64,
        events: Option<Arc<dyn TableEvents>>,
    ) -> Result<Self> {
        // Refused here, whatever comes later.
        let compressor = Compressor::new(ty, &options, None)?.with_events(events.clone());
        let limits = [target_file_size, options.max_dict_buffer_bytes];
        let hold_limit = limits.into_iter().filter(|n| *n > 0).min();
        let stage = if options.max_dict_bytes > 0 && ty.takes_dictionary() {
            Stage::Holding {
                blocks: Vec::new(),
                bytes: 0,
            }
        } else if threads(ty, &options) > 1 {
            Stage::Parallel(Pipeline::new(ty, &options, None, events.as_ref())?)
        } else {
            Stage::Serial(compressor)
        };
        Ok(DataBlocks {
            ty,
            options,
            events,
            hold_limit: hold_limit.unwrap_or(u64::MAX),
            stage,
            dictionary: None,
            handles: Vec::new(),
            to_warm: VecDeque::new(),
        })
    }

    /// Takes the next block.
    ///
    /// # Errors
    /// The file's, or a codec's.
    ///
    /// # Panics
    /// When a thread that compresses did, with what it said.
    pub(super) fn add(&mut self, raw: &[u8], sink: &mut BlockSink) -> Result<()> {
        if let Stage::Holding { blocks, bytes } = &mut self.stage {
            blocks.push(raw.to_vec());
            *bytes += raw.len() as u64;
            if *bytes > self.hold_limit {
                self.release(sink)?;
            }
            return Ok(());
        }
        self.write(raw, sink)
    }

    /// Writes everything that was added.
    ///
    /// # Errors
    /// As [`DataBlocks::add`].
    pub(super) fn finish(&mut self, sink: &mut BlockSink) -> Result<()> {
        self.release(sink)?;
        if let Stage::Parallel(pipeline) = &mut self.stage {
            while pipeline.in_flight() > 0 {
                let handle = append_next(pipeline, &mut self.to_warm, sink)?;
                self.handles.push(handle);
            }
        }
        Ok(())
    }

    /// Where the blocks stand that are in the file, in order.
    pub(super) fn handles(&self) -> &[BlockHandle] {
        &self.handles
    }

    /// The dictionary blocks were compressed with.
    pub(super) fn dictionary(&self) -> Option<&Bytes> {
        self.dictionary.as_ref()
    }

    /// Bytes of blocks that are with threads, uncompressed. Blocks held for the
    /// dictionary do not count: how small they get is not known.
    pub(super) fn in_flight_bytes(&self) -> usize {
        match &self.stage {
            Stage::Parallel(pipeline) => pipeline.in_flight_bytes(),
            _ => 0,
        }
    }

    /// Makes the dictionary from the blocks held, if any, and lets them go.
    fn release(&mut self, sink: &mut BlockSink) -> Result<()> {
        let Stage::Holding { blocks, .. } = &mut self.stage else {
            return Ok(());
        };
        let blocks = std::mem::take(blocks);
        self.dictionary = train(self.ty, &self.options, &blocks);
        let dictionary = self.dictionary.as_ref();
        self.stage = if threads(self.ty, &self.options) > 1 {
            let events = self.events.as_ref();
            Stage::Parallel(Pipeline::new(self.ty, &self.options, dictionary, events)?)
        } else {
            let compressor = Compressor::new(self.ty, &self.options, dictionary)?;
            Stage::Serial(compressor.with_events(self.events.clone()))
        };
        // One by one, so that memory shrinks as the file grows.
        for block in blocks {
            self.write(&block, sink)?;
        }
        Ok(())
    }

    fn write(&mut self, raw: &[u8], sink: &mut BlockSink) -> Result<()> {
        match &mut self.stage {
            Stage::Holding { .. } => {}
            Stage::Serial(compressor) => {
                let (payload, ty) = compressor.compress(raw)?;
                let handle = sink.append(payload, ty)?;
                sink.warm_cache(BlockKind::Data, handle, raw);
                self.handles.push(handle);
            }
            Stage::Parallel(pipeline) => {
                while pipeline.is_full() {
                    let handle = append_next(pipeline, &mut self.to_warm, sink)?;
                    self.handles.push(handle);
                }
                if sink.is_warming() {
                    self.to_warm.push_back(raw.to_vec());
                }
                pipeline.put(raw.to_vec())?;
            }
        }
        Ok(())
    }
}

/// Appends the oldest block that is with threads.
fn append_next(
    pipeline: &mut Pipeline,
    to_warm: &mut VecDeque<Vec<u8>>,
    sink: &mut BlockSink,
) -> Result<BlockHandle> {
    let block = pipeline.take()?;
    let handle = sink.append(&block.payload, block.ty)?;
    if let Some(raw) = to_warm.pop_front() {
        sink.warm_cache(BlockKind::Data, handle, &raw);
    }
    Ok(handle)
}

/// Threads that compress a table: none for blocks that stay as they are.
fn threads(ty: CompressionType, options: &CompressionOptions) -> u32 {
    match ty {
        CompressionType::None => 1,
        _ => options.parallel_threads,
    }
}
