//! Properties, sizes and files.

use crate::border::{Bytes, ErrPtr, List, Out, Text, copied, count, exports, optional, strings};
use crate::db::{
    on_db, open, rocksdb_optimistictransactiondb_t, rocksdb_t, rocksdb_transactiondb_t,
};
use crate::families::{family, rocksdb_column_family_handle_t};
use libc::c_char;
use std::collections::BTreeMap;
use std::ptr;
use whitewater::{LiveFile, Range, SizeApproximationOptions};

type Db<'a> = Option<&'a rocksdb_t>;
type Locking<'a> = Option<&'a rocksdb_transactiondb_t>;
type Validating<'a> = Option<&'a rocksdb_optimistictransactiondb_t>;
type Handle<'a> = Option<&'a rocksdb_column_family_handle_t>;

/// The files of a column family by level.
pub struct rocksdb_column_family_metadata_t {
    name: String,
    levels: Vec<rocksdb_level_metadata_t>,
}

/// The files of a level.
#[derive(Clone, Default)]
pub struct rocksdb_level_metadata_t {
    level: i32,
    files: Vec<LiveFile>,
}

/// A file.
pub struct rocksdb_sst_file_metadata_t(LiveFile);

impl rocksdb_level_metadata_t {
    fn size(&self) -> u64 {
        self.files.iter().map(|file| file.size as u64).sum()
    }
}

fn property(db: Db<'_>, handle: Option<Handle<'_>>, name: Text) -> Option<String> {
    let (db, name) = (open(db).ok()?, name.lossy());
    let value = on_db!(db, db => match handle {
        None => db.property_value(&*name),
        Some(handle) => db.property_value_cf(family(handle).ok()?, &*name),
    });
    value.ok().flatten()
}

fn property_int(db: Db<'_>, handle: Option<Handle<'_>>, name: Text, out: Out<u64>) -> i32 {
    let number = || {
        let (db, name) = (open(db).ok()?, name.lossy());
        let value = on_db!(db, db => match handle {
            None => db.property_int_value(&*name),
            Some(handle) => db.property_int_value_cf(family(handle).ok()?, &*name),
        });
        value.ok().flatten()
    };
    match number() {
        Some(number) => {
            out.set(number);
            0
        }
        None => -1,
    }
}

fn sizes(
    db: Db<'_>,
    handle: Option<Handle<'_>>,
    (ranges, options): (&[Range<'_>], &SizeApproximationOptions),
    sizes: Out<u64>,
    errptr: ErrPtr,
) {
    errptr.run(|| {
        let db = open(db)?;
        let found = on_db!(db, db => match handle {
            None => db.get_approximate_sizes_opt(options, ranges)?,
            Some(handle) => db.get_approximate_sizes_cf_opt(family(handle)?, options, ranges)?,
        });
        for (at, size) in found.into_iter().enumerate() {
            sizes.set_at(at, size);
        }
        Ok(())
    });
}

fn files_only() -> SizeApproximationOptions {
    SizeApproximationOptions::default()
}

fn metadata(
    db: Db<'_>,
    handle: Option<Handle<'_>>,
) -> Option<Box<rocksdb_column_family_metadata_t>> {
    let db = open(db).ok()?;
    let name = match handle {
        None => "default".to_owned(),
        Some(handle) => handle?.0.family_name().to_owned(),
    };
    let mut levels = BTreeMap::<i32, rocksdb_level_metadata_t>::new();
    for file in on_db!(db, db => db.live_files()).ok()? {
        if file.column_family_name == name {
            let level = levels.entry(file.level).or_default();
            level.level = file.level;
            level.files.push(file);
        }
    }
    let last = levels.keys().max().copied().unwrap_or(0).max(6);
    let levels = (0..=last).map(|level| {
        let empty = rocksdb_level_metadata_t {
            level,
            files: Vec::new(),
        };
        levels.remove(&level).unwrap_or(empty)
    });
    let levels = levels.collect();
    Some(Box::new(rocksdb_column_family_metadata_t { name, levels }))
}

exports! {
    fn rocksdb_property_value(db: Db<'_>, name: Text) -> *mut c_char {
        optional(property(db, None, name), Out::none())
    }
    fn rocksdb_property_value_cf(db: Db<'_>, handle: Handle<'_>, name: Text) -> *mut c_char {
        optional(property(db, Some(handle), name), Out::none())
    }
    fn rocksdb_property_int(db: Db<'_>, name: Text, out: Out<u64>) -> i32 {
        property_int(db, None, name, out)
    }
    fn rocksdb_property_int_cf(
        db: Db<'_>, handle: Handle<'_>, name: Text, out: Out<u64>,
    ) -> i32 {
        property_int(db, Some(handle), name, out)
    }
    fn rocksdb_transactiondb_property_value(db: Locking<'_>, name: Text) -> *mut c_char {
        rocksdb_property_value(db, name)
    }
    fn rocksdb_transactiondb_property_int(db: Locking<'_>, name: Text, out: Out<u64>) -> i32 {
        rocksdb_property_int(db, name, out)
    }
    fn rocksdb_optimistictransactiondb_property_value(
        db: Validating<'_>, name: Text,
    ) -> *mut c_char {
        rocksdb_property_value(db, name)
    }
    fn rocksdb_optimistictransactiondb_property_int(
        db: Validating<'_>, name: Text, out: Out<u64>,
    ) -> i32 {
        rocksdb_property_int(db, name, out)
    }
    fn rocksdb_approximate_sizes(
        db: Db<'_>, num: i32, starts: List<Bytes>, start_lengths: List<usize>, ends: List<Bytes>,
        end_lengths: List<usize>, out: Out<u64>, errptr: ErrPtr,
    ) {
        let (num, starts) = (count(num), strings(starts, start_lengths, count(num)));
        let ranges = starts.zip(strings(ends, end_lengths, num));
        let ranges: Vec<_> = ranges.map(|(start, end)| Range::new(start, end)).collect();
        sizes(db, None, (&ranges, &files_only()), out, errptr);
    }
    fn rocksdb_approximate_sizes_cf(
        db: Db<'_>, handle: Handle<'_>, num: i32, starts: List<Bytes>, start_lengths: List<usize>,
        ends: List<Bytes>, end_lengths: List<usize>, out: Out<u64>, errptr: ErrPtr,
    ) {
        let (num, starts) = (count(num), strings(starts, start_lengths, count(num)));
        let ranges = starts.zip(strings(ends, end_lengths, num));
        let ranges: Vec<_> = ranges.map(|(start, end)| Range::new(start, end)).collect();
        sizes(db, Some(handle), (&ranges, &files_only()), out, errptr);
    }
    // The flags: 1 for memtables, 2 for files.
    fn rocksdb_approximate_sizes_cf_with_flags(
        db: Db<'_>, handle: Handle<'_>, num: i32, starts: List<Bytes>, start_lengths: List<usize>,
        ends: List<Bytes>, end_lengths: List<usize>, flags: u8, out: Out<u64>, errptr: ErrPtr,
    ) {
        let mut options = SizeApproximationOptions::default();
        options.set_include_memtables(flags & 1 != 0);
        options.set_include_files(flags & 2 != 0);
        let (num, starts) = (count(num), strings(starts, start_lengths, count(num)));
        let ranges = starts.zip(strings(ends, end_lengths, num));
        let ranges: Vec<_> = ranges.map(|(start, end)| Range::new(start, end)).collect();
        sizes(db, Some(handle), (&ranges, &options), out, errptr);
    }
    fn rocksdb_get_column_family_metadata(
        db: Db<'_>,
    ) -> Option<Box<rocksdb_column_family_metadata_t>> {
        metadata(db, None)
    }
    fn rocksdb_get_column_family_metadata_cf(
        db: Db<'_>, handle: Handle<'_>,
    ) -> Option<Box<rocksdb_column_family_metadata_t>> {
        metadata(db, Some(handle))
    }
    fn rocksdb_column_family_metadata_destroy(
        _family: Option<Box<rocksdb_column_family_metadata_t>>,
    ) {}
    fn rocksdb_column_family_metadata_get_size(
        family: Option<&rocksdb_column_family_metadata_t>,
    ) -> u64 {
        family.map_or(0, |family| family.levels.iter().map(rocksdb_level_metadata_t::size).sum())
    }
    fn rocksdb_column_family_metadata_get_file_count(
        family: Option<&rocksdb_column_family_metadata_t>,
    ) -> usize {
        family.map_or(0, |family| family.levels.iter().map(|level| level.files.len()).sum())
    }
    fn rocksdb_column_family_metadata_get_name(
        family: Option<&rocksdb_column_family_metadata_t>,
    ) -> *mut c_char {
        family.map_or(ptr::null_mut(), |family| copied(family.name.as_bytes()))
    }
    fn rocksdb_column_family_metadata_get_level_count(
        family: Option<&rocksdb_column_family_metadata_t>,
    ) -> usize {
        family.map_or(0, |family| family.levels.len())
    }
    fn rocksdb_column_family_metadata_get_level_metadata(
        family: Option<&rocksdb_column_family_metadata_t>, at: usize,
    ) -> Option<Box<rocksdb_level_metadata_t>> {
        family?.levels.get(at).cloned().map(Box::new)
    }
    fn rocksdb_level_metadata_destroy(_level: Option<Box<rocksdb_level_metadata_t>>) {}
    fn rocksdb_level_metadata_get_level(level: Option<&rocksdb_level_metadata_t>) -> i32 {
        level.map_or(0, |level| level.level)
    }
    fn rocksdb_level_metadata_get_size(level: Option<&rocksdb_level_metadata_t>) -> u64 {
        level.map_or(0, rocksdb_level_metadata_t::size)
    }
    fn rocksdb_level_metadata_get_file_count(level: Option<&rocksdb_level_metadata_t>) -> usize {
        level.map_or(0, |level| level.files.len())
    }
    fn rocksdb_level_metadata_get_sst_file_metadata(
        level: Option<&rocksdb_level_metadata_t>, at: usize,
    ) -> Option<Box<rocksdb_sst_file_metadata_t>> {
        let file = level?.files.get(at)?.clone();
        Some(Box::new(rocksdb_sst_file_metadata_t(file)))
    }
    fn rocksdb_sst_file_metadata_destroy(_file: Option<Box<rocksdb_sst_file_metadata_t>>) {}
    fn rocksdb_sst_file_metadata_get_relative_filename(
        file: Option<&rocksdb_sst_file_metadata_t>,
    ) -> *mut c_char {
        let name = file.map(|file| file.0.name.trim_start_matches('/'));
        optional(name, Out::none())
    }
    fn rocksdb_sst_file_metadata_get_directory(
        file: Option<&rocksdb_sst_file_metadata_t>,
    ) -> *mut c_char {
        optional(file.map(|file| file.0.db_path.to_string_lossy().into_owned()), Out::none())
    }
    fn rocksdb_sst_file_metadata_get_size(file: Option<&rocksdb_sst_file_metadata_t>) -> u64 {
        file.map_or(0, |file| file.0.size as u64)
    }
    fn rocksdb_sst_file_metadata_get_smallestkey(
        file: Option<&rocksdb_sst_file_metadata_t>, len: Out<usize>,
    ) -> *mut c_char {
        optional(file.and_then(|file| file.0.start_key.as_ref()), len)
    }
    fn rocksdb_sst_file_metadata_get_largestkey(
        file: Option<&rocksdb_sst_file_metadata_t>, len: Out<usize>,
    ) -> *mut c_char {
        optional(file.and_then(|file| file.0.end_key.as_ref()), len)
    }
}
