//! Creating a column family with the tables of exported ones.
//!
//! Entries keep the sequence numbers that they had where they came from. Those may be beyond this
//! database's, so its own continue above them: as for an ingestion (`db::ingest`), the current
//! generation is closed, its writers are waited for, and the next one begins above the tables'
//! numbers.
//!
//! Invariants:
//! * M1: the column family and its tables are in one atomic group of the manifest. RocksDB records
//!   the column family first, so that a power cut may leave it without tables.
//! * M2: no write to the column family has a number below one in the tables: no generation has the
//!   column family before the tables are installed, and the first that has it begins above them.
//! * M3: a call that fails leaves no column family, and no files but such that no version names.
//!   The tables' original names are removed, if they are moved, after the import is durable.
//!
//! Another database's snapshots mean nothing here, and this one's are older than the column
//! family, so no snapshot needs versions of keys that a compaction may drop.

use super::Engine;
use super::ingest::Incoming;
use super::switch_guard::Gap;
use crate::clock::unix_seconds;
use crate::column_family::ColumnFamilyData;
use crate::db::column_families::NewFamily;
use crate::db::internal_stats::Ingested;
use crate::external::exported::ExportImportFilesMetaData;
use crate::external::imported::{Imported, check_apart, renumber};
use crate::info_log::dump;
use crate::options::{CfOptions, file_checksum};
use crate::panics::{Guarded, caught};
use crate::version::paths::DataPaths;
use crate::write::env::WalEnv;
use crate::write::generation::End;
use std::sync::Arc;
use whitewater_storage::key::{InternalComparator, SequenceNumber};
use whitewater_storage::manifest::FileMetaData;
use whitewater_storage::planted;
use whitewater_storage::{Error, Result};

impl Engine {
    /// Creates the column family `name` with the tables that `exports` describe. With
    /// `move_files`, the tables are linked and their original names removed; otherwise they are
    /// copied.
    ///
    /// # Errors
    /// `InvalidArgument` for a name or for options with which no column family can be created, for
    /// exports of another comparator, without tables, or with ranges of keys in common; errors of
    /// [`Imported::open`] and of the file system. Nothing has changed then.
    pub fn import_cf(
        self: &Arc<Self>,
        name: &str,
        options: CfOptions,
        move_files: bool,
        exports: &[&ExportImportFilesMetaData],
    ) -> Result<Arc<ColumnFamilyData>> {
        let options = self.options_for_new(options)?;
        self.check_exchange(options.comparator.timestamp_size())?;
        let comparator = options.comparator.name();
        if (exports.iter()).any(|export| export.db_comparator_name != comparator) {
            return Err(Error::invalid("Comparator name mismatch"));
        }
        if exports.is_empty() || exports.iter().any(|e| e.files.is_empty()) {
            return Err(Error::invalid("The list of files is empty"));
        }
        // Before anything is copied. It is checked again when nobody can come between.
        self.check_new_families([(name, &*options)])?;
        let before = self.lock_state().cfs.len();
        let tables = self.look_at(&options, exports)?;
        let count = tables.len();
        self.prepare_dirs(&options)?;
        let dirs = DataPaths::new(&options.paths, &self.files.dir);
        let outside = tables.iter().map(|table| (&*table.path, table));
        let incoming = Incoming::bring(self, dirs.first(), outside, move_files)?;
        let outcome = self.let_family_in(name, &options, incoming);
        self.background.look_again();
        self.log_stalls();
        self.purge_obsolete_files();
        let created = outcome?;
        if move_files {
            self.remove_sources(tables.iter().map(|table| &*table.path));
        }
        self.info_log.write(&format!(
            "Created column family [{name}] with {count} imported tables"
        ));
        dump::family(&self.info_log, name, &options, before);
        Ok(created)
    }

    /// The tables that `exports` describe, checked.
    fn look_at(
        &self,
        options: &CfOptions,
        exports: &[&ExportImportFilesMetaData],
    ) -> Result<Vec<Imported>> {
        let fs = &*self.files.fs;
        let comparator = InternalComparator::new(options.comparator.clone());
        let look = |export: &&ExportImportFilesMetaData| {
            let tables = export.files.iter();
            let tables = tables.map(|file| Imported::open(fs, file, &comparator));
            tables.collect::<Result<Vec<_>>>()
        };
        let mut tables: Vec<_> = exports.iter().map(look).collect::<Result<_>>()?;
        check_apart(&tables, &comparator)?;
        renumber(&mut tables);
        let mut tables: Vec<_> = tables.into_iter().flatten().collect();
        let levels = options.num_levels;
        if let Some(deep) = tables.iter().find(|t| t.level as usize >= levels) {
            return Err(Error::invalid(format_args!(
                "a table is on level {}, num_levels is {levels}",
                deep.level
            ))
            .in_file(&deep.path, None));
        }
        let now = unix_seconds();
        let kind = self.options.file_checksum_gen_factory;
        for table in &mut tables {
            table.meta.oldest_ancester_time = now;
            table.meta.file_creation_time = now;
            file_checksum::note(kind.of(fs, &table.path)?, &mut table.meta);
        }
        Ok(tables)
    }

    /// Records the column family with its tables while writers are kept out.
    fn let_family_in(
        self: &Arc<Self>,
        name: &str,
        options: &Arc<CfOptions>,
        incoming: Incoming<'_, Imported>,
    ) -> Result<Arc<ColumnFamilyData>> {
        let _apart = self.keep_transactions_out();
        let switching = self.switching()?;
        self.check_new_families([(name, &**options)])?;
        let before = self.commit.generations.load_full();
        let mut gap = Gap::new(self);
        let end = gap.begin(&before)?;
        self.await_inserted(end.last)?;
        let outcome = caught(Guarded::Job, || {
            self.admit_family(name, options, incoming, end.last)
        });
        // Writers continue, whatever the outcome: above the tables' numbers, or where they
        // were.
        let (outcome, last) = match outcome {
            Ok((created, last)) => (Ok(created), last),
            Err(e) => (Err(e), end.last),
        };
        let state = self.lock_state();
        self.install(&state, &before.wal, before.start(), End { last, ..end });
        gap.end();
        drop(state);
        drop(switching);
        outcome
    }

    /// Records and installs the column family; returns it and the last number that is taken.
    fn admit_family(
        &self,
        name: &str,
        options: &Arc<CfOptions>,
        mut incoming: Incoming<'_, Imported>,
        last: SequenceNumber,
    ) -> Result<(Arc<ColumnFamilyData>, SequenceNumber)> {
        // A power cut must not keep the tables and lose writes before them.
        let mut durable = last;
        planted!(ImportedBeforeLog => durable = 0);
        self.sync_wal(durable)?;
        let numbered = incoming.tables.iter().map(|(table, number)| {
            let meta = FileMetaData {
                number: *number,
                ..table.meta.clone()
            };
            (table.level, meta)
        });
        let tables: Vec<(u32, FileMetaData)> = numbered.collect();
        let came_in = Ingested {
            bytes: tables.iter().map(|(_, meta)| meta.size).sum(),
            files: tables.len() as u64,
            level0_files: tables.iter().filter(|(level, _)| *level == 0).count() as u64,
            keys: incoming.tables.iter().map(|(t, _)| t.num_entries).sum(),
        };
        let largest = tables.iter().map(|(_, meta)| meta.largest_seqno).max();
        let mut upto = largest.unwrap_or(0).max(last);
        planted!(ImportedBelowNumbers => upto = last);
        let new = NewFamily {
            name: name.to_owned(),
            options: options.clone(),
            tables,
        };
        // From here on the files belong to the version set.
        incoming.handed_over = true;
        let mut created = self.announce_and_record(vec![new], upto)?;
        let created = created.pop().ok_or_else(Self::shutdown_error)?;
        if let Some(cf) = self.lock_state().cfs.get_mut(&created.id) {
            cf.stats.add_ingested(came_in);
        }
        if upto > last {
            // No other thread has reserved a number: everything before is visible.
            let published = self.commit.publication.finish(last + 1, upto);
            published.map_err(|_| self.first_error())?;
        }
        Ok((created, upto))
    }
}
