//! Finding out what the tables hold.

use super::blobs::{References, Salvaged};
use super::old::Recorded;
use super::{Repair, is_damage};
use crate::version::range::KeyRange;
use crate::version::table_cache::{open_alone, open_as};
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use whitewater_storage::coding::get_varint64;
use whitewater_storage::filename::{self, FileType};
use whitewater_storage::fs::Fs;
use whitewater_storage::internal_iterator::{BoxedIterator, InternalIterator};
use whitewater_storage::key::{self, InternalComparator};
use whitewater_storage::manifest::FileMetaData;
use whitewater_storage::sst::{External, Table, TableReadOptions};
use whitewater_storage::{Error, Result};

use crate::table_writer::Bounds;

/// RocksDB's id for "no column family".
const NO_FAMILY: u64 = i32::MAX as u64;

/// A table that can be read.
#[derive(Debug)]
pub(super) struct FoundTable {
    pub path: PathBuf,
    pub meta: FileMetaData,
    pub table: Arc<Table>,
    /// The places of values that cannot be read, as blob files and offsets. Entries that refer to
    /// them are left out.
    pub lost: Arc<BTreeSet<(u64, u64)>>,
}

/// A table and the column family it belongs to.
struct Scanned {
    found: FoundTable,
    family: u32,
    name: String,
}

impl FoundTable {
    /// Opens a table that was just written.
    pub fn reopen(
        fs: &dyn Fs,
        path: PathBuf,
        meta: FileMetaData,
        comparator: &InternalComparator,
    ) -> Result<Self> {
        let table = open_alone(fs, &path, meta.number, comparator)?;
        Ok(FoundTable {
            path,
            meta,
            table,
            lost: Arc::default(),
        })
    }

    /// The table's entries, but for those whose values are lost.
    pub fn entries(&self) -> BoxedIterator {
        let all = self.table.iter(TableReadOptions {
            fill_cache: false,
            ..TableReadOptions::default()
        });
        if self.lost.is_empty() {
            return all;
        }
        Box::new(Salvaged::without(all, self.lost.clone()))
    }

    fn range(&self) -> KeyRange<'_> {
        KeyRange {
            start: Some(key::user_key(&self.meta.smallest)),
            end: Bound::Included(key::user_key(&self.meta.largest)),
        }
    }
}

impl Repair<'_> {
    /// Reads the tables at `paths` completely and adds them to their column families,
    /// except those that are damaged or do not count.
    ///
    /// # Errors
    /// `InvalidArgument` for a table in another key order; errors of the file system.
    pub(super) fn scan_tables(&mut self, paths: &[PathBuf], logs: &[u64]) -> Result<()> {
        let mut scanned = Vec::new();
        for path in paths {
            match self.scan(path) {
                Ok(Some(table)) => scanned.push(table),
                // The table holds nothing.
                Ok(None) => self.lost.push(path.clone()),
                Err(e) if is_damage(e.kind()) => {
                    self.log.write(&format!("Repair: {e}"));
                    self.lost.push(path.clone());
                }
                Err(e) => return Err(e),
            }
        }
        let sizes = scanned.iter().map(|s| &s.found.meta);
        let missing = self
            .old
            .missing(&sizes.map(|m| (m.number, m.size)).collect());
        // All tables that were made from the others exist.
        self.complete = missing.is_empty() && self.old.is_known();
        self.tell_of_guesses(&missing);
        for Scanned {
            found,
            family,
            name,
        } in scanned
        {
            if self.old.has_dropped(family) || !self.counts(&found, family, logs)? {
                self.lost.push(found.path);
                continue;
            }
            self.last_sequence = self.last_sequence.max(found.meta.largest_seqno);
            self.family(family, &name).tables.push(found);
        }
        for (id, family) in &mut self.families {
            if family.name.is_empty() {
                family.name = unknown_name(*id);
            }
        }
        Ok(())
    }

    /// Writes to the info log what is uncertain when tables that the manifest names are
    /// missing, or when there is no manifest.
    fn tell_of_guesses(&self, missing: &[u64]) {
        let again = "tables that a compaction had replaced count, too, if they are still there: what \
                     it dropped may come back, and what it put together may count twice";
        if !self.old.is_known() {
            self.log.write(&format!(
                "Repair: guess: no manifest says which tables make up the database: {again}"
            ));
        } else if !missing.is_empty() {
            self.log.write(&format!(
                "Repair: guess: the manifest names tables that are missing or damaged, {missing:?}: {again}"
            ));
        }
    }

    /// Whether a table of `family` is part of the database. If all tables that the manifest
    /// names exist, a table that it does not name is not part of it (Q4): it is left over
    /// from a flush or compaction that did not finish. But the manifest may have lost its
    /// own end; then the table holds something that nothing else holds.
    fn counts(&mut self, found: &FoundTable, family: u32, logs: &[u64]) -> Result<bool> {
        let number = found.meta.number;
        if !self.complete || self.old.is_live(number) {
            return Ok(true);
        }
        // Without CURRENT it is itself a guess which of several manifests is in force, unless the
        // newest finished one can be read to its end.
        let alone = self.older.iter().all(|m| !m.is_known());
        let newest = self.old.goes_on && self.old.whole;
        if !self.old.in_force && !alone && !newest {
            return Ok(!self.old.says_it_gave_up(number));
        }
        if self.old.has_given_up(number) {
            return Ok(false);
        }
        let newest = self.old.newest(family);
        self.read_numbers(logs)?;
        let logged = |seq: u64| {
            let spans = self.logged.iter().flatten();
            let is_needed = |log| self.old.needs(family, log).unwrap_or(true);
            let mut spans = spans.filter(|span| is_needed(span.log));
            spans.any(|span| (span.first..=span.last).contains(&seq))
        };
        let held = |seq: u64| newest.is_some_and(|newest| seq <= newest) || logged(seq);
        let mut entries = found.entries();
        entries.seek_to_first();
        while entries.valid() && held(key::sequence(entries.key())) {
            entries.next();
        }
        entries.status().map_err(|e| e.in_file(&found.path, None))?;
        let mut tombstones = found.table.range_tombstones().iter();
        let only_here = entries.valid() || tombstones.any(|t| !held(t.seq));
        let (path, what) = (found.path.display(), "which the manifest does not name");
        if only_here {
            self.log.write(&format!(
                "Repair: guess: {path}, {what}, counts: it holds writes that nothing else holds. What \
                 was put together there may count twice"
            ))
        } else {
            self.log.write(&format!(
                "Repair: {path}, {what}, does not count: other tables or the logs hold its writes"
            ))
        }
        Ok(only_here)
    }

    // Long: one pass over a table, with what each finding means.
    fn scan(&self, path: &Path) -> Result<Option<Scanned>> {
        let name = path.file_name().and_then(|name| name.to_str());
        let number = match name.and_then(filename::parse) {
            Some(FileType::Table(number)) => number,
            _ => 0,
        };
        let size = self.fs.file_size(path)?;
        let recorded = self.recorded(number, size);
        let counts_as = recorded.as_ref().map(|r| r.largest_seqno);
        let table = open_as(&*self.fs, path, number, counts_as, &self.comparator);
        let table = table.map_err(|e| e.in_file(path, None))?;
        table.verify()?;
        if recorded.is_none() && table.properties().external()? != External::No {
            let e = Error::corruption(
                "a table that was made outside of the database, and no manifest says which column \
                 family and which sequence number it has",
            );
            return Err(e.in_file(path, None)); // upholds Q3
        }
        let raw = table.properties().raw.clone();
        let text = |name: &str| {
            let value = raw.get(name).map(Vec::as_slice).unwrap_or_default();
            String::from_utf8_lossy(value).into_owned()
        };
        let (family, name) = match recorded {
            // The properties of a table that was made outside say what its writer knew.
            Some(Recorded {
                family,
                family_name,
                ..
            }) => (family, family_name),
            None => {
                let id = raw.get("rocksdb.column.family.id");
                let id = id.and_then(|v| get_varint64(&mut v.as_slice()));
                let id = id.filter(|id| *id != NO_FAMILY).unwrap_or(0);
                let Ok(family) = u32::try_from(id) else {
                    let e = Error::corruption(format_args!("column family id {id}"));
                    return Err(e.in_file(path, None));
                };
                (family, text("rocksdb.column.family.name"))
            }
        };
        let mut bounds = Bounds::default();
        let mut meta = FileMetaData {
            number,
            path_id: self.path_id_of(path)?,
            size,
            ..FileMetaData::default()
        };
        let time = |name: &str| {
            let value = raw.get(name);
            value
                .and_then(|v| get_varint64(&mut v.as_slice()))
                .unwrap_or(0)
        };
        meta.oldest_ancester_time = time("rocksdb.creation.time");
        meta.file_creation_time = time("rocksdb.file.creation.time");
        let mut found = FoundTable {
            path: path.to_path_buf(),
            meta,
            table,
            lost: Arc::default(),
        };
        let mut seen = References::default();
        let mut entries = found.entries();
        entries.seek_to_first();
        while entries.valid() {
            let (ikey, stored) = (entries.key(), entries.value());
            if self.blobs.check(family, ikey, stored, &mut seen)? {
                bounds.see_point(ikey);
            }
            entries.next();
        }
        entries.status().map_err(|e| e.in_file(path, None))?;
        drop(entries);
        for tombstone in found.table.range_tombstones() {
            bounds.cover(&self.comparator, tombstone);
        }
        self.tell_of_lost_values(path, &seen);
        found.meta.oldest_blob_file = seen.oldest;
        found.lost = Arc::new(seen.lost);
        Ok(bounds.describe(&mut found.meta).then_some(Scanned {
            found,
            family,
            name,
        }))
    }
}

/// The name for a column family whose name is in no table and no manifest.
pub(super) fn unknown_name(id: u32) -> String {
    format!("recovered_{id}")
}

/// Groups the tables so that tables of different groups do not overlap.
pub(super) fn overlapping(
    mut tables: Vec<FoundTable>,
    comparator: &InternalComparator,
) -> Vec<Vec<FoundTable>> {
    let user = &comparator.user;
    let start = |t: &FoundTable| key::user_key(&t.meta.smallest).to_vec();
    tables.sort_by(|a, b| user.compare(&start(a), &start(b)));
    let mut groups: Vec<Vec<FoundTable>> = Vec::new();
    for table in tables {
        let joins = groups.last().is_some_and(|group| {
            let touches = |t: &FoundTable| t.range().overlaps(user, &table.range());
            group.iter().any(touches)
        });
        match groups.last_mut() {
            Some(group) if joins => group.push(table),
            _ => groups.push(vec![table]),
        }
    }
    groups
}

/// Whether, of any two tables of a group, one is newer as a whole.
pub(super) fn are_in_order(group: &[FoundTable]) -> bool {
    let mut ranges: Vec<_> = group
        .iter()
        .map(|t| (t.meta.smallest_seqno, t.meta.largest_seqno))
        .collect();
    ranges.sort_unstable();
    let apart = |w: &[(u64, u64)]| w[0].1.cmp(&w[1].0) == Ordering::Less;
    ranges.windows(2).all(apart)
}
