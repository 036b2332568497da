//! A look-up of one key in the tables of a version.
//!
//! A key is mostly in one of the last tables that are asked for it. What is asked before, memtables
//! and newer tables, mostly lacks it, and the look-up waits for the memory of each. A look-up that
//! [expects](expectation) to end in a level therefore begins there: it finds the block in that
//! level's index before it asks memtables, so that the memory that is read next is fetched
//! meanwhile. All are asked in their order nevertheless, and answers are the same.

use super::expectation;
use super::level::{is_past, visit_files};
use super::sampling::RATE;
use crate::entry::get_context::GetContext;
use crate::entry::range_tombstones::Upto;
use crate::version::table_cache::{OpenTable, TableCache};
use crate::version::{TableFile, Version};
use smallvec::SmallVec;
use std::ptr;
use whitewater_storage::Result;
use whitewater_storage::key::{InternalComparator, SequenceNumber, lookup_key};
use whitewater_storage::planted;
use whitewater_storage::sst::{ExpectedBlock, FilterQuery, TableReadOptions};

/// A look-up of a key in the tables of a version.
pub(crate) struct Lookup<'a> {
    version: &'a Version,
    tables: &'a TableCache,
    comparator: &'a InternalComparator,
    /// The user key, with its timestamp.
    user_key: &'a [u8],
    /// The sequence number to read at.
    seq: SequenceNumber,
    /// The seek key of both.
    target: SmallVec<[u8; 64]>,
    query: FilterQuery<'a>,
    options: TableReadOptions,
    /// The open table where the look-up expects to end, and the block there.
    expected: Option<(&'a OpenTable, ExpectedBlock)>,
}

impl<'a> Lookup<'a> {
    /// A look-up of what `user_key` was at `seq`. If it has a timestamp, older versions of the key
    /// count, too.
    #[inline]
    pub fn new(
        version: &'a Version,
        tables: &'a TableCache,
        comparator: &'a InternalComparator,
        user_key: &'a [u8],
        seq: SequenceNumber,
        options: TableReadOptions,
    ) -> Self {
        Lookup {
            version,
            tables,
            comparator,
            user_key,
            seq,
            target: lookup_key(user_key, seq),
            query: FilterQuery::new(comparator.user.without_timestamp(user_key)),
            options,
            expected: None,
        }
    }

    /// Finds the block where the look-up expects to end, and prefetches what it reads before that.
    #[inline]
    pub fn expect(&mut self) {
        let table = self.likely_table();
        self.expected = table.map(|open| (open, open.table.expect(&self.query, &self.target)));
    }

    /// Goes on with what [`expect`](Self::expect) has begun: prefetches the head of the block.
    #[inline]
    pub fn expect_head(&self) {
        if let Some((open, block)) = &self.expected {
            open.table.expect_head(*block);
        }
    }

    /// The same for one of several look-ups: a block that is not cached is prefetched, so that
    /// those of all of them are read at the same time.
    pub fn announce(&self) {
        let Some((open, block)) = &self.expected else {
            return;
        };
        if !open.table.expect_head(*block) && !self.options.limits.memory_only {
            let (query, target) = (&self.query, &self.target);
            (open.table).announce_read(query, target, *block, self.options);
        }
    }

    /// Goes on with what [`announce`](Self::announce) has begun: prefetches the entries that the
    /// look-up will compare there.
    pub fn expect_entries(&self) {
        if let Some((open, block)) = &self.expected {
            open.table.expect_entries(*block, &self.target);
        }
    }

    /// The open table where the look-up expects to end.
    #[inline]
    fn likely_table(&self) -> Option<&'a OpenTable> {
        let level = expectation::likely_level()?;
        let files = self.version.levels.get(level)?;
        let file = match level {
            // Which of several is not known.
            0 => files.first().filter(|_| files.len() == 1)?,
            _ => {
                let user = &self.comparator.user;
                let at = files.partition_point(|f| is_past(&f.meta, user, self.user_key));
                files.get(at)?
            }
        };
        file.open.get().map(AsRef::as_ref)
    }

    /// Asks the tables, in level 0 newest first, then one per deeper level, until `ctx.done()`.
    ///
    /// # Errors
    /// Errors of opening or reading a table, and those of `ctx`.
    pub fn run(self, ctx: &mut GetContext<'_>) -> Result<()> {
        if ctx.done() || ctx.covered() {
            return Ok(());
        }
        self.expect_queries();
        self.expect_head();
        visit_files(
            self.version,
            &self.comparator.user,
            self.user_key,
            &mut |file| self.ask(file, ctx),
        )
    }

    /// Asks a table. Returns whether older ones are to be asked.
    #[inline]
    fn ask(&self, file: &TableFile, ctx: &mut GetContext<'_>) -> Result<bool> {
        let limits = self.options.limits;
        let open =
            (self.tables).open_within(file, self.comparator, &self.version.open_with, limits)?;
        let mut tombstones = open.tombstones.as_ref();
        planted!(TableTombstonesIgnored => tombstones = None);
        let user = &self.comparator.user;
        if let Some(tombstones) = tombstones {
            let seen = Upto::of_version(user, self.seq, self.user_key);
            ctx.cover(tombstones.max_covering(user, self.user_key, seen));
        }
        let rows = self.tables.rows();
        match rows.filter(|_| open.tombstones.is_none() && !ctx.is_selective()) {
            Some(rows) => {
                let statistics = self.tables.statistics();
                rows.get((file, &open), &self.target, self.options, statistics, ctx)?;
            }
            None => {
                let expected = self.expected_in(file, &open);
                let (query, target) = (&self.query, &self.target);
                (open.table).get_asking(
                    query,
                    target,
                    expected,
                    self.options,
                    &mut |key, value| {
                        // With timestamps, newer entries may exist of an older version.
                        if key.seq > self.seq {
                            return Ok(true);
                        }
                        ctx.stored(key, &value)
                    },
                )?;
            }
        }
        expectation::learn(file.level(), ctx.done());
        if ctx.done() {
            ctx.found_at(file.level());
        } else if ctx.is_sampled() {
            file.note_wasted_reads(RATE);
        }
        Ok(!ctx.done() && !ctx.covered())
    }

    /// Where the look-up is going to read in a table. If it counts on its key being there, it
    /// searches the index while the memory of the filter is fetched, which is in vain if the filter
    /// rules the key out.
    #[inline]
    fn expected_in(&self, file: &TableFile, open: &OpenTable) -> ExpectedBlock {
        match self.expected {
            Some((likely, block)) if ptr::eq(likely, open) => block,
            _ if expectation::of_level(file.level()) => {
                open.table.expect(&self.query, &self.target)
            }
            _ => ExpectedBlock::default(),
        }
    }

    /// Announces to the open tables of level 0 that their filters are going to be queried one after
    /// another, so that their memory is prefetched at the same time.
    #[inline]
    fn expect_queries(&self) {
        let files = self.version.levels.first().map_or(&[][..], Vec::as_slice);
        if files.len() < 2 && self.expected.is_none() {
            return;
        }
        for open in files.iter().filter_map(|file| file.open.get()) {
            open.table.prefetch_filter(&self.query);
        }
    }
}
