//! Blob files: which values can be read, which files stay, and how much of them is garbage.
//!
//! A blob file does not say which of its values count, and the manifest only how many do not. Both
//! follow from the tables:
//!
//! * Each value that an entry refers to is read and its checksums are checked, as the blocks of
//!   tables are. An entry whose value cannot be read is left out, and its table is written again
//!   without it. The info log names the blob file.
//! * A blob file stays if an entry refers to it, under its own number. What no entry refers to is
//!   garbage. A file to which nothing refers is moved to `lost`.
//! * A table that a compaction has replaced may count again, and then two entries refer to one
//!   value. The file would have more garbage than values once both are gone, which no database
//!   with that file could record. So the values of such a file move into the tables.

use super::tables::FoundTable;
use super::{FoundFamily, Repair};
use crate::entry::blobs::Blobs;
use crate::entry::columns::in_place;
use crate::table_writer::blob_flow::BlobFlow;
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use whitewater_storage::blob::{BlobFileReader, BlobIndex, BlobPlace, for_each_reference};
use whitewater_storage::fs::Fs;
use whitewater_storage::internal_iterator::{BoxedIterator, InternalIterator};
use whitewater_storage::key::{self, ValueType};
use whitewater_storage::manifest::{BlobFileMetaData, BlobGarbage};
use whitewater_storage::planted;
use whitewater_storage::{Error, ErrorKind, Result};

/// A blob file that can be opened.
#[derive(Debug)]
struct FoundBlobFile {
    path: PathBuf,
    reader: BlobFileReader,
    /// What the manifest has to say of it.
    meta: BlobFileMetaData,
}

/// The blob files of the database, by number.
#[derive(Debug, Default)]
pub(super) struct FoundBlobs {
    files: BTreeMap<u64, FoundBlobFile>,
    /// What is wrong with those that cannot be opened.
    damaged: BTreeMap<u64, Error>,
}

/// The values that the entries of a table refer to.
#[derive(Debug, Default)]
pub(super) struct References {
    /// The places of those that cannot be read: files and offsets.
    pub lost: BTreeSet<(u64, u64)>,
    /// How many those are, by file, and why the first one cannot.
    reasons: BTreeMap<u64, (u64, String)>,
    /// The oldest file of those that can be read; 0 if there is none.
    pub oldest: u64,
}

impl FoundBlobs {
    /// Opens the file `number` at `path`. A damaged one is remembered as such.
    ///
    /// # Errors
    /// Errors of the file system, not of the file's content.
    pub fn add(&mut self, fs: &dyn Fs, number: u64, path: &Path) -> Result<()> {
        let open = || {
            let reader = BlobFileReader::open(fs.open_random(path)?)?;
            let (count, bytes) = reader.totals()?;
            Ok((reader, count, bytes))
        };
        let (reader, count, bytes) = match open() {
            Ok(opened) => opened,
            Err(e) if super::is_damage(Error::kind(&e)) => {
                self.damaged.insert(number, e);
                return Ok(());
            }
            Err(e) => return Err(e),
        };
        let file = FoundBlobFile {
            path: path.to_path_buf(),
            reader,
            meta: BlobFileMetaData {
                number,
                count,
                bytes,
                ..BlobFileMetaData::default()
            },
        };
        self.files.insert(number, file);
        Ok(())
    }

    /// Checks the values that an entry of column family `family` refers to. Returns whether all of
    /// them can be read.
    ///
    /// # Errors
    /// Errors of the file system; `Corruption` for a reference, and `NotSupported` for a value,
    /// that cannot be understood.
    pub fn check(
        &self,
        family: u32,
        ikey: &[u8],
        stored: &[u8],
        seen: &mut References,
    ) -> Result<bool> {
        let (mut all, mut oldest) = (true, u64::MAX);
        for place in places(ikey, stored)? {
            match self.stored(family, key::user_key(ikey), &place) {
                Ok(_) => oldest = oldest.min(place.file),
                Err(e) if e.kind() == ErrorKind::Corruption => {
                    planted!(RepairKeepsLostBlobs => continue);
                    all = false;
                    seen.lost.insert((place.file, place.offset));
                    let first = || (0, e.to_string());
                    seen.reasons.entry(place.file).or_insert_with(first).0 += 1;
                }
                Err(e) => return Err(e),
            }
        }
        if all && oldest != u64::MAX && (seen.oldest == 0 || oldest < seen.oldest) {
            seen.oldest = oldest;
        }
        Ok(all)
    }

    /// The value of `user_key` at `place` as it is stored, checked.
    fn stored(&self, family: u32, user_key: &[u8], place: &BlobPlace) -> Result<Bytes> {
        let reader = &self.file(place.file)?.reader;
        if reader.column_family() != family {
            return Err(Error::corruption(format_args!(
                "blob file #{} belongs to column family {}",
                place.file,
                reader.column_family()
            )));
        }
        reader.stored(user_key, place, |at, len| reader.read_at(at, len))
    }

    fn file(&self, number: u64) -> Result<&FoundBlobFile> {
        self.files.get(&number).ok_or_else(|| {
            let missing = || Error::corruption(format_args!("blob file #{number} is missing"));
            self.damaged.get(&number).cloned().unwrap_or_else(missing)
        })
    }

    /// The files with more references in `flow` than they have values.
    fn overdrawn(&self, flow: &BlobFlow) -> BTreeSet<u64> {
        let over = |(number, file): (&u64, &FoundBlobFile)| {
            let (count, bytes) = flow.of(*number);
            (count > file.meta.count || bytes > file.meta.bytes).then_some(*number)
        };
        self.files.iter().filter_map(over).collect()
    }
}

impl Blobs for FoundBlobs {
    fn read(&self, user_key: &[u8], index: &[u8]) -> Result<Bytes> {
        let place = BlobIndex::place(index)?;
        self.file(place.file)?.reader.get(user_key, &place)
    }
}

/// Where the values are that an entry refers to.
fn places(ikey: &[u8], stored: &[u8]) -> Result<Vec<BlobPlace>> {
    let mut places = Vec::new();
    let ty = key::tag(ikey) as u8;
    for_each_reference(ty, stored, &mut |place| places.push(place))?;
    Ok(places)
}

/// What the manifest has to say of the blob files of a column family.
#[derive(Debug, Default)]
pub(super) struct KeptBlobs {
    pub files: Vec<BlobFileMetaData>,
    pub garbage: Vec<BlobGarbage>,
}

impl Repair<'_> {
    /// Opens the blob files in `found`, and marks their numbers as used.
    ///
    /// # Errors
    /// Errors of the file system, not of the files' content.
    pub(super) fn open_blobs(&mut self, found: &[(u64, PathBuf)]) -> Result<()> {
        let mut blobs = FoundBlobs::default();
        for (number, path) in found {
            self.numbers.mark_file_number_used(*number);
            blobs.add(&*self.fs, *number, path)?;
            if let Some(e) = blobs.damaged.get(number) {
                self.log.write(&format!("Repair: {e}"));
                self.lost.push(path.clone());
            }
        }
        for (number, file) in &mut blobs.files {
            // Only the manifest knows the checksum of the whole file.
            let (count, bytes) = (file.meta.count, file.meta.bytes);
            let newest_first = std::iter::once(&self.old).chain(&self.older);
            let known = newest_first.into_iter().find_map(|m| m.blob_file(*number));
            if let Some(known) = known.filter(|k| (k.count, k.bytes) == (count, bytes)) {
                file.meta = known.clone();
            }
        }
        self.blobs = Arc::new(blobs);
        Ok(())
    }

    /// Writes to the info log which values of the table at `path` are lost.
    pub(super) fn tell_of_lost_values(&self, path: &Path, seen: &References) {
        for (number, (values, reason)) in &seen.reasons {
            self.log.write(&format!(
                "Repair: {values} values of {} are lost, in blob file #{number}: {reason}",
                path.display()
            ));
        }
    }

    /// Decides which blob files stay, for the tables that the new manifest is to name. Adds the
    /// others, and tables that are replaced, to the files that are to be moved away.
    ///
    /// # Errors
    /// Errors of reading and writing tables.
    pub(super) fn settle_blobs(
        &mut self,
        families: &mut BTreeMap<u32, FoundFamily>,
        replaced: &mut Vec<PathBuf>,
    ) -> Result<BTreeMap<u32, KeptBlobs>> {
        let mut kept = BTreeMap::new();
        let mut named = BTreeSet::new();
        for (id, family) in families {
            let mut flow = flow_of(&family.tables)?;
            let over = Arc::new(self.blobs.overdrawn(&flow));
            if !over.is_empty() {
                self.move_out(*id, family, &over, replaced)?;
                flow = flow_of(&family.tables)?;
            }
            let mut of_family = KeptBlobs::default();
            for (number, file) in &self.blobs.files {
                let (count, bytes) = flow.of(*number);
                if count == 0 {
                    continue;
                }
                named.insert(*number);
                of_family.files.push(file.meta.clone());
                if count < file.meta.count {
                    of_family.garbage.push(BlobGarbage {
                        number: *number,
                        count: file.meta.count - count,
                        bytes: file.meta.bytes.saturating_sub(bytes),
                        custom: Vec::new(),
                    });
                }
            }
            planted!(RepairForgetsBlobGarbage => of_family.garbage.clear());
            kept.insert(*id, of_family);
        }
        let unnamed = self.blobs.files.iter().filter(|(n, _)| !named.contains(n));
        self.lost.extend(unnamed.map(|(_, file)| file.path.clone()));
        Ok(kept)
    }

    /// Writes the tables again that refer to one of `files`, with the values of these in place.
    fn move_out(
        &self,
        id: u32,
        family: &mut FoundFamily,
        files: &Arc<BTreeSet<u64>>,
        replaced: &mut Vec<PathBuf>,
    ) -> Result<()> {
        self.log.write(&format!(
            "Repair: values of [{}] in blob files {files:?} move into tables: tables that count again \
             refer to them, too",
            family.name
        ));
        for table in std::mem::take(&mut family.tables) {
            let flow = flow_of(std::slice::from_ref(&table))?;
            if files.iter().all(|number| flow.of(*number).0 == 0) {
                family.tables.push(table);
                continue;
            }
            let source = Box::new(Salvaged::new(table.entries(), &self.blobs, files));
            let tombstones = table.table.range_tombstones().to_vec();
            let written = self.write(id, &family.name, source, tombstones)?;
            family.tables.extend(written);
            replaced.push(table.path);
        }
        Ok(())
    }
}

/// The values that the entries of `tables` refer to.
fn flow_of(tables: &[FoundTable]) -> Result<BlobFlow> {
    let mut flow = BlobFlow::default();
    for table in tables.iter().filter(|t| t.meta.oldest_blob_file > 0) {
        let mut entries = table.entries();
        entries.seek_to_first();
        while entries.valid() {
            flow.see(entries.key(), entries.value())?;
            entries.next();
        }
        entries.status().map_err(|e| e.in_file(&table.path, None))?;
    }
    Ok(flow)
}

/// The entries of a table: without those that refer to a lost value, and with the values of some
/// files in place.
pub(super) struct Salvaged {
    entries: BoxedIterator,
    lost: Arc<BTreeSet<(u64, u64)>>,
    /// The blob files, and the numbers of those whose values are put in place.
    moved: Option<(Arc<FoundBlobs>, Arc<BTreeSet<u64>>)>,
    /// The current entry, if its value is put in place.
    changed: Option<(Vec<u8>, Vec<u8>)>,
    failure: Option<Error>,
}

impl Salvaged {
    /// `entries` with the values of `files` in place.
    fn new(entries: BoxedIterator, blobs: &Arc<FoundBlobs>, files: &Arc<BTreeSet<u64>>) -> Self {
        Salvaged {
            moved: Some((blobs.clone(), files.clone())),
            ..Salvaged::without(entries, Arc::default())
        }
    }

    /// `entries` but for those that refer to one of `lost`, files and offsets.
    pub fn without(entries: BoxedIterator, lost: Arc<BTreeSet<(u64, u64)>>) -> Self {
        Salvaged {
            entries,
            lost,
            moved: None,
            changed: None,
            failure: None,
        }
    }

    /// Moves on to an entry that is to be seen, in this direction.
    fn settle(&mut self, forward: bool) {
        self.changed = None;
        while self.entries.valid() && self.failure.is_none() {
            match self.take() {
                Ok(true) => return,
                Ok(false) if forward => self.entries.next(),
                Ok(false) => self.entries.prev(),
                Err(e) => self.failure = Some(e),
            }
        }
    }

    /// Whether the current entry is to be seen. Puts its values in place if they are to move.
    fn take(&mut self) -> Result<bool> {
        let (ikey, stored) = (self.entries.key(), self.entries.value());
        let places = places(ikey, stored)?;
        if places
            .iter()
            .any(|p| self.lost.contains(&(p.file, p.offset)))
        {
            return Ok(false);
        }
        let Some((blobs, files)) = &self.moved else {
            return Ok(true);
        };
        if !places.iter().any(|p| files.contains(&p.file)) {
            return Ok(true);
        }
        let user_key = key::user_key(ikey);
        self.changed = Some(if key::tag(ikey) as u8 == ValueType::BlobIndex as u8 {
            let value = blobs.read(user_key, stored)?;
            let ikey = key::internal_key(user_key, key::sequence(ikey), ValueType::Value);
            (ikey, value.into())
        } else {
            (ikey.to_vec(), in_place(user_key, stored, &**blobs)?)
        });
        Ok(true)
    }
}

impl InternalIterator for Salvaged {
    fn valid(&self) -> bool {
        self.failure.is_none() && self.entries.valid()
    }
    fn seek_to_first(&mut self) {
        self.entries.seek_to_first();
        self.settle(true);
    }
    fn seek_to_last(&mut self) {
        self.entries.seek_to_last();
        self.settle(false);
    }
    fn seek(&mut self, target: &[u8]) {
        self.entries.seek(target);
        self.settle(true);
    }
    fn seek_for_prev(&mut self, target: &[u8]) {
        self.entries.seek_for_prev(target);
        self.settle(false);
    }
    fn next(&mut self) {
        self.entries.next();
        self.settle(true);
    }
    fn prev(&mut self) {
        self.entries.prev();
        self.settle(false);
    }
    fn key(&self) -> &[u8] {
        let changed = self.changed.as_ref();
        changed.map_or_else(|| self.entries.key(), |(ikey, _)| ikey)
    }
    fn value(&self) -> &[u8] {
        let changed = self.changed.as_ref();
        changed.map_or_else(|| self.entries.value(), |(_, value)| value)
    }
    fn status(&self) -> Result<()> {
        self.failure
            .clone()
            .map_or_else(|| self.entries.status(), Err)
    }
}
