//! Writes data blocks: compresses them at once, or holds them until there is a dictionary, or has
//! several threads compress them (`parallel`).
//!
//! Invariants:
//! * D1: blocks reach the file in the order in which they were added. The handle of the n-th block
//!   is the n-th of `handles`.
//! * D2: the same blocks are written in the same way, whatever the number of threads. Where blocks
//!   end may depend on it: only one thread fits them to pages.

mod parallel;
#[cfg(test)]
mod tests;

use crate::error::Result;
use crate::sst::compress::{CompressionOptions, CompressionType, Compressor, train};
use crate::sst::events::{BlockKind, TableEvents};
use crate::sst::format::handle::BlockHandle;
use crate::sst::options::table_options::TableOptions;
use crate::sst::write::block_sink::BlockSink;
use crate::sst::write::page_fit::{BlockLimit, PageFit};
use bytes::Bytes;
use parallel::Pipeline;
use std::collections::VecDeque;
use std::sync::Arc;

enum Stage {
    /// Blocks are held until there are enough to make a dictionary from.
    Holding {
        blocks: Vec<Vec<u8>>,
        were_cached: Vec<bool>,
        bytes: u64,
    },
    /// Blocks are compressed as they come.
    Serial(Compressor),
    /// Threads compress the blocks.
    Parallel(Pipeline),
}

/// The data blocks of one table.
pub(super) struct DataBlocks {
    ty: CompressionType,
    options: CompressionOptions,
    /// The listener, if there is one.
    events: Option<Arc<dyn TableEvents>>,
    /// The most uncompressed bytes to hold.
    hold_limit: u64,
    stage: Stage,
    /// Fits blocks to pages, if so configured, while blocks are compressed as they come.
    fit: Option<PageFit>,
    dictionary: Option<Bytes>,
    handles: Vec<BlockHandle>,
    /// Copies of the blocks that threads are compressing, oldest first; `None` for those that are
    /// not to be cached.
    to_warm: VecDeque<Option<Vec<u8>>>,
}

impl DataBlocks {
    /// `target_file_size` is the target size of tables, 0 for none.
    ///
    /// # Errors
    /// `NotSupported` for a codec that is not built in; the errors of
    /// [`CompressionOptions::check`].
    pub(super) fn new(
        ty: CompressionType,
        options: CompressionOptions,
        target_file_size: u64,
        events: Option<Arc<dyn TableEvents>>,
    ) -> Result<Self> {
        // Refuses bad options now, even if the compressor is only needed later.
        let compressor = Compressor::new(ty, &options, None)?.with_events(events.clone());
        let limits = [target_file_size, options.max_dict_buffer_bytes];
        let hold_limit = limits.into_iter().filter(|n| *n > 0).min();
        let stage = if options.max_dict_bytes > 0 && ty.takes_dictionary() {
            Stage::Holding {
                blocks: Vec::new(),
                were_cached: Vec::new(),
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
            fit: None,
            dictionary: None,
            handles: Vec::new(),
            to_warm: VecDeque::new(),
        })
    }

    /// The same blocks, which are fitted to pages if `table` says so.
    pub(super) fn fitted(mut self, table: &TableOptions) -> Self {
        let fits = table.fit_blocks_to_pages;
        self.fit = PageFit::new(table.block_size).filter(|_| fits);
        self
    }

    /// When the next block is full, if it is to be fitted to the page on which it begins. That is
    /// known if the blocks before it are in the file.
    pub(super) fn limit(&self, sink: &BlockSink) -> Option<BlockLimit> {
        match (&self.stage, &self.fit) {
            (Stage::Serial(_), Some(fit)) => Some(fit.limit(sink.offset())),
            _ => None,
        }
    }

    /// Adds the next block. `was_cached`: its entries come from blocks that were cached.
    ///
    /// # Errors
    /// The file's, or a codec's.
    ///
    /// # Panics
    /// If a compressing thread panicked, with the same message.
    pub(super) fn add(&mut self, raw: &[u8], was_cached: bool, sink: &mut BlockSink) -> Result<()> {
        if let Stage::Holding {
            blocks,
            were_cached,
            bytes,
        } = &mut self.stage
        {
            blocks.push(raw.to_vec());
            were_cached.push(was_cached);
            *bytes += raw.len() as u64;
            if *bytes > self.hold_limit {
                self.release(sink)?;
            }
            return Ok(());
        }
        self.write(raw, was_cached, sink)
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

    /// The handles of the blocks that are in the file, in order.
    pub(super) fn handles(&self) -> &[BlockHandle] {
        &self.handles
    }

    /// The dictionary that blocks were compressed with.
    pub(super) fn dictionary(&self) -> Option<&Bytes> {
        self.dictionary.as_ref()
    }

    /// Uncompressed bytes of the blocks that threads are compressing. Blocks held for the
    /// dictionary do not count, because their compressed size is unknown.
    pub(super) fn in_flight_bytes(&self) -> usize {
        match &self.stage {
            Stage::Parallel(pipeline) => pipeline.in_flight_bytes(),
            _ => 0,
        }
    }

    /// Makes the dictionary from the held blocks, if any, and writes them.
    fn release(&mut self, sink: &mut BlockSink) -> Result<()> {
        let Stage::Holding {
            blocks,
            were_cached,
            ..
        } = &mut self.stage
        else {
            return Ok(());
        };
        let (blocks, were_cached) = (std::mem::take(blocks), std::mem::take(were_cached));
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
        for (block, was_cached) in blocks.into_iter().zip(were_cached) {
            self.write(&block, was_cached, sink)?;
        }
        Ok(())
    }

    fn write(&mut self, raw: &[u8], was_cached: bool, sink: &mut BlockSink) -> Result<()> {
        let warm = sink.warms(BlockKind::Data, was_cached);
        match &mut self.stage {
            Stage::Holding { .. } => {}
            Stage::Serial(compressor) => {
                let (payload, ty) = compressor.compress(raw)?;
                let handle = sink.append(payload, ty)?;
                if warm {
                    sink.warm_cache(BlockKind::Data, handle, raw);
                }
                if let Some(fit) = &mut self.fit {
                    fit.learn(raw.len(), handle.size);
                    sink.pad(fit.pad(sink.offset()))?;
                }
                self.handles.push(handle);
            }
            Stage::Parallel(pipeline) => {
                while pipeline.is_full() {
                    let handle = append_next(pipeline, &mut self.to_warm, sink)?;
                    self.handles.push(handle);
                }
                self.to_warm.push_back(warm.then(|| raw.to_vec()));
                pipeline.put(raw.to_vec())?;
            }
        }
        Ok(())
    }
}

/// Appends the oldest block that threads are compressing.
fn append_next(
    pipeline: &mut Pipeline,
    to_warm: &mut VecDeque<Option<Vec<u8>>>,
    sink: &mut BlockSink,
) -> Result<BlockHandle> {
    let block = pipeline.take()?;
    let handle = sink.append(&block.payload, block.ty)?;
    if let Some(Some(raw)) = to_warm.pop_front() {
        sink.warm_cache(BlockKind::Data, handle, &raw);
    }
    Ok(handle)
}

/// How many threads compress a table. Without compression there are none besides the caller.
fn threads(ty: CompressionType, options: &CompressionOptions) -> u32 {
    match ty {
        CompressionType::None => 1,
        _ => options.parallel_threads,
    }
}
