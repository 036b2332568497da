//! Exporting column families and importing them.

use super::checkpoints::rocksdb_checkpoint_t;
use super::live_files::rocksdb_livefiles_t;
use crate::border::{Bytes, ErrPtr, Text, copied, exports, given};
use crate::db::{on_db, open, rocksdb_t};
use crate::families::{family, named, rocksdb_column_family_handle_t};
use crate::options::rocksdb_options_t;
use crate::options::values::{Built, fields, made};
use libc::c_char;
use whitewater::checkpoint::Checkpoint;
use whitewater::{ExportImportFilesMetaData, ImportColumnFamilyOptions, LiveFileMetaData};

/// What an import needs to know of the tables of an export.
pub struct rocksdb_export_import_files_metadata_t(ExportImportFilesMetaData);

/// A table of an export.
pub struct rocksdb_livefile_t(LiveFileMetaData);

pub type rocksdb_import_column_family_options_t = Built<ImportColumnFamilyOptions>;

type Metadata<'a> = Option<&'a mut rocksdb_export_import_files_metadata_t>;
type File<'a> = Option<&'a mut rocksdb_livefile_t>;

made! {
    rocksdb_export_import_files_metadata_t =
        rocksdb_export_import_files_metadata_t(ExportImportFilesMetaData::new()),
        rocksdb_export_import_files_metadata_create, rocksdb_export_import_files_metadata_destroy;
    rocksdb_livefile_t = rocksdb_livefile_t(LiveFileMetaData::default()),
        rocksdb_livefile_create, rocksdb_livefile_destroy;
    rocksdb_import_column_family_options_t = Built::default(),
        rocksdb_import_column_family_options_create, rocksdb_import_column_family_options_destroy;
}

fields! { rocksdb_import_column_family_options_t {
    "move_files": u8 = 0, |o, v| o.set_move_files(v != 0),
        set rocksdb_import_column_family_options_set_move_files;
}}

/// Declares setters of what describes a table.
macro_rules! file_setters {
    ($($name:ident($file:ident, $value:ident: $ty:ty) $set:block)*) => {
        exports! {$(
            fn $name(file: File<'_>, $value: $ty) {
                if let Some(rocksdb_livefile_t($file)) = file $set
            }
        )*}
    };
}

file_setters! {
    rocksdb_livefile_set_column_family_name(file, name: Text) {
        file.column_family_name = name.lossy();
    }
    rocksdb_livefile_set_level(file, level: i32) { file.level = level; }
    rocksdb_livefile_set_name(file, name: Text) { file.name = name.lossy(); }
    rocksdb_livefile_set_directory(file, dir: Text) { file.db_path = dir.path(); }
    rocksdb_livefile_set_size(file, size: usize) { file.size = size as u64; }
    rocksdb_livefile_set_smallest_seqno(file, number: u64) { file.smallest_seqno = number; }
    rocksdb_livefile_set_largest_seqno(file, number: u64) { file.largest_seqno = number; }
    rocksdb_livefile_set_num_entries(file, number: u64) { file.num_entries = number; }
    rocksdb_livefile_set_num_deletions(file, number: u64) { file.num_deletions = number; }
}

exports! {
    fn rocksdb_checkpoint_export_column_family(
        checkpoint: Option<&rocksdb_checkpoint_t>,
        handle: Option<&rocksdb_column_family_handle_t>, dir: Text, errptr: ErrPtr,
    ) -> Option<Box<rocksdb_export_import_files_metadata_t>> {
        errptr.run(|| {
            let (db, family) = (given(checkpoint)?.0.open()?, family(handle)?);
            let told = on_db!(db, db => {
                Checkpoint::new(db)?.export_column_family(family, dir.path())
            })?;
            Ok(Some(Box::new(rocksdb_export_import_files_metadata_t(told))))
        })
    }
    fn rocksdb_create_column_family_with_import(
        db: Option<&rocksdb_t>, options: Option<&rocksdb_options_t>, name: Text,
        import: Option<&rocksdb_import_column_family_options_t>,
        metadata: Option<&rocksdb_export_import_files_metadata_t>, errptr: ErrPtr,
    ) -> Option<Box<rocksdb_column_family_handle_t>> {
        errptr.run(|| {
            let (db, name, options) = (open(db)?, name.lossy(), &given(options)?.options);
            let (import, metadata) = (&given(import)?.options, &given(metadata)?.0);
            on_db!(db, db => {
                db.create_column_family_with_import(options, &name, import, metadata)
            })?;
            named(&db, &name).map(Some)
        })
    }
    fn rocksdb_export_import_files_metadata_get_db_comparator_name(
        metadata: Option<&rocksdb_export_import_files_metadata_t>,
    ) -> *mut c_char {
        let name = metadata.map_or("", |metadata| metadata.0.get_db_comparator_name());
        copied(name.as_bytes())
    }
    fn rocksdb_export_import_files_metadata_set_db_comparator_name(
        metadata: Metadata<'_>, name: Text,
    ) {
        if let Some(metadata) = metadata {
            metadata.0.set_db_comparator_name(&name.lossy());
        }
    }
    fn rocksdb_export_import_files_metadata_get_files(
        metadata: Option<&rocksdb_export_import_files_metadata_t>,
    ) -> Option<Box<rocksdb_livefiles_t>> {
        let mut files = metadata?.0.get_files().to_vec();
        // What RocksDB leaves out there, and tests of its users look at.
        for file in &mut files {
            file.column_family_name.clear();
            (file.num_entries, file.num_deletions) = (0, 0);
        }
        Some(Box::new(rocksdb_livefiles_t::new(files)))
    }
    fn rocksdb_export_import_files_metadata_set_files(
        metadata: Metadata<'_>, files: Option<Box<rocksdb_livefiles_t>>,
    ) {
        if let Some((metadata, files)) = metadata.zip(files) {
            metadata.0.set_files(files.into_files());
        }
    }
    fn rocksdb_livefiles_create() -> Option<Box<rocksdb_livefiles_t>> {
        Some(Box::new(rocksdb_livefiles_t::new(Vec::new())))
    }
    fn rocksdb_livefiles_add(
        files: Option<&mut rocksdb_livefiles_t>, file: Option<Box<rocksdb_livefile_t>>,
    ) {
        if let Some((files, file)) = files.zip(file) {
            files.add(file.0);
        }
    }
    fn rocksdb_livefile_set_smallest_key(file: File<'_>, key: Bytes, len: usize) {
        if let Some(file) = file {
            file.0.smallestkey = key.of(len).to_vec();
        }
    }
    fn rocksdb_livefile_set_largest_key(file: File<'_>, key: Bytes, len: usize) {
        if let Some(file) = file {
            file.0.largestkey = key.of(len).to_vec();
        }
    }
}
