//! The tables of a database, as C looks at them.

use crate::border::{Out, exports, lent};
use crate::db::{on_db, open, rocksdb_t};
use libc::c_char;
use std::ffi::CString;
use std::ptr;
use whitewater::LiveFileMetaData;

/// A table and its texts.
struct Listed {
    file: LiveFileMetaData,
    name: CString,
    family: CString,
    directory: CString,
}

/// Tables.
pub struct rocksdb_livefiles_t(Vec<Listed>);

impl rocksdb_livefiles_t {
    pub(super) fn new(files: Vec<LiveFileMetaData>) -> Self {
        rocksdb_livefiles_t(files.into_iter().map(Listed::new).collect())
    }

    pub(super) fn add(&mut self, file: LiveFileMetaData) {
        self.0.push(Listed::new(file));
    }

    pub(super) fn into_files(self) -> Vec<LiveFileMetaData> {
        self.0.into_iter().map(|listed| listed.file).collect()
    }
}

impl Listed {
    fn new(file: LiveFileMetaData) -> Self {
        let text = |text: &str| CString::new(text).unwrap_or_default();
        Listed {
            name: text(&file.name),
            family: text(&file.column_family_name),
            directory: text(&file.db_path.to_string_lossy()),
            file,
        }
    }
}

fn at(files: Option<&rocksdb_livefiles_t>, at: i32) -> Option<&Listed> {
    files?.0.get(usize::try_from(at).ok()?)
}

/// Declares functions that return what is known of a table.
macro_rules! facts {
    ($($name:ident -> $ty:ty = |$listed:ident| $value:expr, or $nothing:expr;)*) => {
        exports! {$(
            fn $name(files: Option<&rocksdb_livefiles_t>, index: i32) -> $ty {
                at(files, index).map_or($nothing, |$listed| $value)
            }
        )*}
    };
}

facts! {
    rocksdb_livefiles_name -> *const c_char = |listed| listed.name.as_ptr(), or ptr::null();
    rocksdb_livefiles_column_family_name -> *const c_char =
        |listed| listed.family.as_ptr(), or ptr::null();
    rocksdb_livefiles_directory -> *const c_char =
        |listed| listed.directory.as_ptr(), or ptr::null();
    rocksdb_livefiles_level -> i32 = |listed| listed.file.level, or 0;
    rocksdb_livefiles_size -> usize =
        |listed| usize::try_from(listed.file.size).unwrap_or(usize::MAX), or 0;
    rocksdb_livefiles_entries -> u64 = |listed| listed.file.num_entries, or 0;
    rocksdb_livefiles_deletions -> u64 = |listed| listed.file.num_deletions, or 0;
    rocksdb_livefiles_smallest_seqno -> u64 = |listed| listed.file.smallest_seqno, or 0;
    rocksdb_livefiles_largest_seqno -> u64 = |listed| listed.file.largest_seqno, or 0;
}

exports! {
    fn rocksdb_livefiles(db: Option<&rocksdb_t>) -> Option<Box<rocksdb_livefiles_t>> {
        let db = open(db).ok()?;
        let files = on_db!(db, db => db.get_live_files_metadata()).ok()?;
        Some(Box::new(rocksdb_livefiles_t::new(files)))
    }
    fn rocksdb_livefiles_destroy(_files: Option<Box<rocksdb_livefiles_t>>) {}
    fn rocksdb_livefiles_count(files: Option<&rocksdb_livefiles_t>) -> i32 {
        files.map_or(0, |files| i32::try_from(files.0.len()).unwrap_or(i32::MAX))
    }
    fn rocksdb_livefiles_smallestkey(
        files: Option<&rocksdb_livefiles_t>, index: i32, len: Out<usize>,
    ) -> *const c_char {
        lent(at(files, index).map(|listed| &*listed.file.smallestkey), len)
    }
    fn rocksdb_livefiles_largestkey(
        files: Option<&rocksdb_livefiles_t>, index: i32, len: Out<usize>,
    ) -> *const c_char {
        lent(at(files, index).map(|listed| &*listed.file.largestkey), len)
    }
}
