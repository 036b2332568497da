//! The tables of an exported column family, checked for a new one.
//!
//! Entries keep their sequence numbers and tables their levels. What is not kept is the age of
//! tables, their epoch number: each export has its own numbers, so all get new ones.

use super::exported::LiveFileMetaData;
use crate::table_writer::tail_size;
use crate::version::range::KeyRange;
use crate::version::range_of;
use std::path::PathBuf;
use std::sync::Arc;
use whitewater_storage::fs::Fs;
use whitewater_storage::key::{
    InternalComparator, MAX_SEQUENCE, ValueType, internal_key, parse_internal_key,
};
use whitewater_storage::manifest::FileMetaData;
use whitewater_storage::sst::{Table, TableReadOptions, TableReaderOptions};
use whitewater_storage::{Error, Result};

/// A table that can be imported.
#[derive(Debug)]
pub(crate) struct Imported {
    pub path: PathBuf,
    pub level: u32,
    pub num_entries: u64,
    /// What the manifest will say of the table, but for the number of its file.
    pub meta: FileMetaData,
}

impl Imported {
    /// Opens the table that `file` describes and checks it against the description.
    ///
    /// # Errors
    /// `InvalidArgument` for a table without entries, with another comparator, or for a description
    /// that makes no sense; `NotSupported` for one that needs blob files; `Corruption` naming the
    /// file.
    pub fn open(
        fs: &dyn Fs,
        file: &LiveFileMetaData,
        comparator: &InternalComparator,
    ) -> Result<Imported> {
        let path = file.path();
        let in_file = |e: Error| match e.file() {
            Some(_) => e,
            None => e.in_file(&path, None),
        };
        let level = check(file).map_err(in_file)?;
        let source = fs.open_random(&path)?;
        let size = source.len()?;
        if file.size != 0 && file.size != size {
            return Err(in_file(Error::corruption(format_args!(
                "table of {size} bytes where the export says {}",
                file.size
            ))));
        }
        let options = TableReaderOptions {
            comparator: comparator.clone(),
            largest_seqno: Some(file.largest_seqno),
            ..TableReaderOptions::default()
        };
        let table = Arc::new(Table::open(source, size, options).map_err(in_file)?);
        if table.properties().num_entries == 0 {
            return Err(in_file(Error::invalid("File contain no entries")));
        }
        let (smallest, largest) = bounds(file, &table, comparator).map_err(in_file)?;
        Ok(Imported {
            level,
            num_entries: table.properties().num_entries,
            meta: FileMetaData {
                size,
                smallest,
                largest,
                smallest_seqno: file.smallest_seqno,
                largest_seqno: file.largest_seqno,
                epoch_number: file.epoch_number,
                tail_size: tail_size(table.properties(), size),
                ..FileMetaData::default()
            },
            path,
        })
    }

    /// The user keys that the table may hold or delete.
    fn range(&self) -> KeyRange<'_> {
        range_of(&self.meta.smallest, &self.meta.largest)
    }
}

/// Checks what `file` says by itself; returns the level.
fn check(file: &LiveFileMetaData) -> Result<u32> {
    if file.oldest_blob_file_number != 0 {
        return Err(Error::not_supported(
            "a table with values in blob files cannot be imported",
        ));
    }
    if file.smallest_seqno > file.largest_seqno || file.largest_seqno > MAX_SEQUENCE {
        return Err(Error::invalid(format_args!(
            "sequence numbers from {} to {}",
            file.smallest_seqno, file.largest_seqno
        )));
    }
    if file.smallest.is_empty() != file.largest.is_empty() {
        return Err(Error::invalid("only one end of the table's keys is known"));
    }
    u32::try_from(file.level).map_err(|_| Error::invalid("a level below 0"))
}

/// The smallest and the largest internal key of the table: what the export says, since the range
/// deletions in a table may reach beyond the keys that it stands for; else what the table has.
fn bounds(
    file: &LiveFileMetaData,
    table: &Arc<Table>,
    comparator: &InternalComparator,
) -> Result<(Vec<u8>, Vec<u8>)> {
    if file.smallest.is_empty() {
        return found_bounds(table, comparator);
    }
    for end in [&file.smallest, &file.largest] {
        parse_internal_key(end)?;
    }
    if comparator.compare(&file.smallest, &file.largest).is_gt() {
        return Err(Error::corruption("File has corrupted keys"));
    }
    Ok((file.smallest.clone(), file.largest.clone()))
}

fn found_bounds(table: &Arc<Table>, comparator: &InternalComparator) -> Result<(Vec<u8>, Vec<u8>)> {
    let mut hull: Option<(Vec<u8>, Vec<u8>)> = None;
    let mut entries = table.iter(TableReadOptions {
        fill_cache: false,
        ..TableReadOptions::default()
    });
    entries.seek_to_first();
    if entries.valid() {
        let first = entries.key().to_vec();
        entries.seek_to_last();
        if entries.valid() {
            hull = Some((first, entries.key().to_vec()));
        }
    }
    entries.status()?;
    for tombstone in table.range_tombstones() {
        let start = internal_key(&tombstone.start, tombstone.seq, ValueType::RangeDeletion);
        let end = internal_key(&tombstone.end, MAX_SEQUENCE, ValueType::RangeDeletion);
        let less = |a: &[u8], b: &[u8]| comparator.compare(a, b).is_lt();
        hull = Some(match hull {
            None => (start, end),
            Some((first, last)) => (
                if less(&start, &first) { start } else { first },
                if less(&last, &end) { end } else { last },
            ),
        });
    }
    hull.ok_or_else(|| Error::invalid("File contain no entries"))
}

/// Refuses exports whose ranges of keys are not apart from each other: which of two values is newer
/// would depend on numbers of different databases.
///
/// # Errors
/// `InvalidArgument`.
pub(crate) fn check_apart(
    exports: &[Vec<Imported>],
    comparator: &InternalComparator,
) -> Result<()> {
    let ranges: Vec<KeyRange<'_>> = (exports.iter())
        .filter_map(|export| {
            let ranges = export.iter().map(Imported::range);
            ranges.reduce(|a, b| a.hull(&comparator.user, &b))
        })
        .collect();
    for (i, range) in ranges.iter().enumerate() {
        let shares = |other: &KeyRange<'_>| range.overlaps(&comparator.user, other);
        if ranges[..i].iter().any(shares) {
            return Err(Error::invalid("CFs have overlapping ranges"));
        }
    }
    Ok(())
}

/// Gives all tables new epoch numbers: from 1, deeper levels first, and level 0 from its oldest
/// table to its newest.
pub(crate) fn renumber(exports: &mut [Vec<Imported>]) {
    let mut next = 1;
    for export in exports {
        let known = export
            .iter()
            .all(|t| t.level > 0 || t.meta.epoch_number > 0);
        export.sort_by(|a, b| {
            let age = |t: &Imported| match known {
                true => t.meta.epoch_number,
                // From before RocksDB had epoch numbers.
                false => t.meta.largest_seqno,
            };
            (b.level.cmp(&a.level)).then_with(|| age(a).cmp(&age(b)))
        });
        for table in export {
            table.meta.epoch_number = next;
            next += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(level: u32, epoch: u64, largest_seqno: u64) -> Imported {
        Imported {
            path: PathBuf::new(),
            level,
            num_entries: 1,
            meta: FileMetaData {
                number: epoch * 100 + largest_seqno,
                epoch_number: epoch,
                largest_seqno,
                ..FileMetaData::default()
            },
        }
    }

    /// The tables' numbers, by their new epochs.
    fn renumbered(mut exports: Vec<Vec<Imported>>) -> Vec<u64> {
        renumber(&mut exports);
        let mut all: Vec<_> = exports.iter().flatten().map(|t| &t.meta).collect();
        all.sort_by_key(|meta| meta.epoch_number);
        let epochs = all.iter().map(|meta| meta.epoch_number);
        assert!(epochs.eq(1..=all.len() as u64));
        all.iter().map(|meta| meta.number).collect()
    }

    #[test]
    fn deeper_tables_are_older_and_level_0_keeps_its_order() {
        let export = vec![table(0, 9, 1), table(6, 7, 2), table(0, 8, 3)];
        assert_eq!(renumbered(vec![export]), [702, 803, 901]);
    }

    #[test]
    fn without_epochs_level_0_goes_by_sequence_numbers() {
        let export = vec![table(0, 0, 50), table(0, 0, 40), table(0, 9, 10)];
        assert_eq!(renumbered(vec![export]), [910, 40, 50]);
    }

    #[test]
    fn no_two_tables_of_different_exports_have_one_epoch() {
        let exports = vec![vec![table(0, 1, 5)], vec![table(0, 1, 6), table(1, 1, 7)]];
        assert_eq!(renumbered(exports), [105, 107, 106]);
    }

    #[test]
    fn a_description_that_makes_no_sense_is_refused() {
        let good = LiveFileMetaData {
            level: 3,
            smallest_seqno: 1,
            largest_seqno: 2,
            ..LiveFileMetaData::default()
        };
        assert_eq!(check(&good).unwrap(), 3);
        let change = |f: fn(&mut LiveFileMetaData)| {
            let mut file = good.clone();
            f(&mut file);
            check(&file).unwrap_err().to_string()
        };
        assert!(change(|f| f.level = -1).contains("a level below 0"));
        assert!(change(|f| f.smallest_seqno = 3).contains("from 3 to 2"));
        assert!(change(|f| f.largest_seqno = u64::MAX).contains("sequence numbers"));
        assert!(change(|f| f.smallest = b"k".to_vec()).contains("only one end"));
        assert!(change(|f| f.oldest_blob_file_number = 4).contains("blob files"));
    }
}
