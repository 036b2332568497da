//! Transient column families that are imported: they have content from the beginning.

use std::sync::Arc;

use rand::Rng;
use rand::seq::IndexedRandom;
use whitewater::checkpoint::Checkpoint;
use whitewater::{
    DEFAULT_COLUMN_FAMILY_NAME, Error, ErrorKind, ExportImportFilesMetaData,
    ImportColumnFamilyOptions,
};

use super::super::key_model::{Shape, Slot};
use super::super::model::Change;
use super::super::store::{self, Db};
use super::files::{clear, is_kind};
use super::{Ingests, Stop, Worker};

/// The largest number of keys that an imported column family has.
const MOST: usize = 12;

/// Content that was exported from another database.
pub(super) struct Exported {
    changes: Vec<Change>,
    metadata: ExportImportFilesMetaData,
}

impl Worker<'_> {
    /// Makes content for the column family `number`, in some slots of this thread; `None` if it
    /// is to be empty.
    pub(super) fn export_for(&mut self, number: u32) -> Result<Option<Exported>, String> {
        let shape = self.context.shape;
        // Those with timestamps are not exported.
        let possible = self.context.ingests != Ingests::Never && !shape.order(number).is_stamped();
        if !possible || self.rng.random() {
            return Ok(None);
        }
        let keys = self.keys[number as usize % 2].clone();
        let keys: Vec<u32> = keys.choose_multiple(&mut self.rng, MOST).copied().collect();
        let mut changes = Vec::new();
        for key in keys {
            let slot = Slot {
                family: number,
                key,
            };
            let held = Some(self.version());
            changes.push(Change { slot, held });
        }
        match self.exported(number, &changes) {
            Ok(metadata) => Ok(Some(Exported { changes, metadata })),
            // There are blob files.
            Err(e) if is_kind(&e, &[ErrorKind::NotSupported]) => Ok(None),
            Err(e) => self.failed("export for an import", &e).map(|()| None),
        }
    }

    /// Writes `changes` to a database of its own and exports that.
    fn exported(
        &self,
        number: u32,
        changes: &[Change],
    ) -> Result<ExportImportFilesMetaData, Error> {
        let (fs, shape) = (&self.context.fs, self.context.shape);
        let (dir, export) = (self.beside("source"), self.beside("export"));
        clear(&**fs, &dir)?;
        clear(&**fs, &export)?;
        let options = self.context.options;
        let o = options.build(Arc::clone(fs), shape, number)?;
        let default = (DEFAULT_COLUMN_FAMILY_NAME, o.clone());
        let source = Db::open_cf_with_opts(&o, &dir, [default])?;
        for change in changes {
            let value = shape.value(change.slot, change.held.unwrap_or(0));
            source.put(shape.key(change.slot), value)?;
        }
        let family = source
            .cf_handle(DEFAULT_COLUMN_FAMILY_NAME)
            .expect("it was named");
        Checkpoint::new(&source)?.export_column_family(&family, &export)
    }

    /// Creates the column family `number` with the content that was exported for it. The inner
    /// result tells whether that failed.
    pub(super) fn import(
        &mut self,
        number: u32,
        exported: Exported,
    ) -> Result<Result<(), Error>, Stop> {
        let mut outcome = Ok(());
        let mut how = ImportColumnFamilyOptions::new();
        how.set_move_files(self.rng.random());
        let Exported { changes, metadata } = exported;
        self.ingest_changes(changes, |w, _| {
            let context = w.context;
            let made = w.sync_before_ingestion().and_then(|()| {
                let (fs, shape) = (&context.fs, context.shape);
                let o = store::placed(context.dir, fs, context.options, shape, number)?;
                let name = Shape::family_name(number);
                (context.db).create_column_family_with_import(&o, name, &how, &metadata)?;
                Ok(())
            });
            outcome = made.clone();
            made
        })?;
        Ok(outcome)
    }
}
