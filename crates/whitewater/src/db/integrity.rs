//! Reading tables to check that they are still as they were written.

use super::Engine;
use crate::column_family::ColumnFamilyData;
use crate::version::{TableFile, Version};
use std::sync::Arc;
use whitewater_storage::{Result, file_checksum};

/// Which parts of a table are checked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Checks {
    /// The checksums of all blocks, the order of keys, the index and the properties.
    pub blocks: bool,
    /// The checksum of the whole file, if the manifest has one.
    pub file: bool,
}

impl Engine {
    /// Checks all tables of all column families.
    ///
    /// # Errors
    /// `Corruption` naming the first table that has changed; errors of reading.
    pub(crate) fn verify_tables(&self, checks: Checks) -> Result<()> {
        for cf in self.column_families() {
            let view = cf.pin_owned();
            for file in view.version.levels.iter().flatten() {
                self.verify_table(&cf, &view.version, file, checks)?;
            }
        }
        Ok(())
    }

    /// Checks one table of `version`.
    ///
    /// # Errors
    /// Errors of [`Engine::verify_tables`].
    pub(super) fn verify_table(
        &self,
        cf: &ColumnFamilyData,
        version: &Version,
        file: &Arc<TableFile>,
        checks: Checks,
    ) -> Result<()> {
        if checks.file {
            file_checksum::check(&*self.files.fs, &file.path(), &file.meta)?;
        }
        if checks.blocks {
            let open = self
                .files
                .tables
                .open(file, &cf.comparator, &version.open_with)?;
            open.table.verify()?;
        }
        Ok(())
    }
}
