//! The blob files of a version.
//!
//! A table names only the oldest blob file that it refers to. From that follows RocksDB's rule
//! for which blob files still exist, which RocksDB checks when it opens the database:
//!
//! * a file older than the oldest that any table names is not referred to, and is removed (so
//!   all are removed when no table refers to any);
//! * a file all of whose blobs are garbage is removed, unless a table names it as its oldest
//!   one;
//! * every other file stays, because any table that names an older one may refer to it.
//!
//! A table that names an unknown file counts here, too, to be on the safe side; it does not in
//! RocksDB.
//!
//! Blobs become garbage when a compaction drops the entry that refers to them, which its edit
//! records. Tables that are deleted without being rewritten record nothing: their blobs stay
//! until the first rule applies.

use super::{FileHold, ObsoleteFiles, TableFile};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use whitewater_storage::blob::BlobFileReader;
use whitewater_storage::blob::format::{FOOTER_LEN, HEADER_LEN};
use whitewater_storage::cache::BlockCache;
use whitewater_storage::manifest::{BlobFileMetaData, BlobGarbage};
use whitewater_storage::planted;
use whitewater_storage::{Error, Result, filename};

/// A blob file that some version names. Shared by versions.
#[derive(Debug)]
pub(crate) struct BlobFile {
    pub meta: BlobFileMetaData,
    /// The open file, if files are kept open without limit.
    pub open: OnceLock<Arc<BlobFileReader>>,
    /// The file's number in the blob cache, once it was asked for.
    id: OnceLock<u64>,
    /// Keeps the file from being deleted.
    hold: FileHold,
}

impl BlobFile {
    /// The file's number in `cache`, the blob cache of its column family: the one under which a
    /// flush of this `session` of the database has cached its values, or else a new one.
    pub fn id_in(&self, cache: &BlockCache, session: &str) -> u64 {
        *self.id.get_or_init(|| {
            let written = cache.expected(session.as_bytes(), self.meta.number);
            written.unwrap_or_else(|| cache.new_id())
        })
    }

    /// The directory of the file.
    pub fn dir(&self) -> &Path {
        &self.hold.dir
    }

    /// The path of the file.
    pub fn path(&self) -> PathBuf {
        filename::blob(&self.hold.dir, self.meta.number)
    }

    /// The size of the file. Bytes.
    pub fn size(&self) -> u64 {
        (self.meta.bytes).saturating_add(HEADER_LEN + FOOTER_LEN)
    }
}

/// A blob file and how much of it is garbage.
#[derive(Debug, Clone)]
pub(crate) struct KnownBlobFile {
    pub file: Arc<BlobFile>,
    /// The number of blobs that nothing refers to.
    pub garbage_count: u64,
    /// The size of these blobs' records. Bytes.
    pub garbage_bytes: u64,
}

impl KnownBlobFile {
    /// The manifest's record of the garbage, if there is any.
    pub fn garbage(&self) -> Option<BlobGarbage> {
        (self.garbage_count > 0).then(|| BlobGarbage {
            number: self.file.meta.number,
            count: self.garbage_count,
            bytes: self.garbage_bytes,
            custom: Vec::new(),
        })
    }
}

/// Blob files by number.
#[derive(Debug, Clone, Default)]
pub(crate) struct BlobFiles(BTreeMap<u64, KnownBlobFile>);

impl BlobFiles {
    /// The file `number`.
    pub fn get(&self, number: u64) -> Option<&KnownBlobFile> {
        self.0.get(&number)
    }
    /// All files, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &KnownBlobFile> {
        self.0.values()
    }
    /// The number of files that are in the oldest part `cutoff`, from 0 to 1, of all files.
    pub fn count_old(&self, cutoff: f64) -> usize {
        (cutoff * self.count() as f64) as usize
    }
    /// The number of files.
    pub fn count(&self) -> usize {
        self.0.len()
    }
    /// The size of all files. Bytes.
    pub fn bytes(&self) -> u64 {
        self.iter().map(|b| b.file.size()).sum()
    }
    /// The size of the garbage in all files. Bytes.
    pub fn garbage_bytes(&self) -> u64 {
        self.iter().map(|b| b.garbage_bytes).sum()
    }
    /// The size of all files, divided by the size of what is not garbage in them; 0 if there is
    /// nothing else.
    pub fn space_amplification(&self) -> f64 {
        let (all, garbage) = (self.bytes(), self.garbage_bytes());
        if all > garbage {
            all as f64 / (all - garbage) as f64
        } else {
            0.0
        }
    }
    /// The size of the records that are not garbage. Bytes.
    pub fn live_bytes(&self) -> u64 {
        let live = |b: &KnownBlobFile| b.file.meta.bytes.saturating_sub(b.garbage_bytes);
        self.iter().map(live).sum()
    }
    /// The same files. A file that `before` has, too, is shared with it, including what is open.
    #[must_use]
    pub fn shared_with(&self, before: &BlobFiles) -> BlobFiles {
        let share = |(number, known): (&u64, &KnownBlobFile)| {
            let mut known = known.clone();
            if let Some(old) = before
                .0
                .get(number)
                .filter(|o| o.file.meta == known.file.meta)
            {
                known.file = old.file.clone();
            }
            (*number, known)
        };
        BlobFiles(self.0.iter().map(share).collect())
    }
}

/// Collects what edits say about blob files, starting from the files of a version.
#[derive(Debug, Clone, Default)]
pub(super) struct BlobBuilder {
    files: BTreeMap<u64, Pending>,
}

#[derive(Debug, Clone)]
struct Pending {
    meta: BlobFileMetaData,
    /// The file of the base version, if it is in there.
    known: Option<Arc<BlobFile>>,
    garbage_count: u64,
    garbage_bytes: u64,
}

impl BlobBuilder {
    /// A builder that starts from `base`.
    pub fn on(base: &BlobFiles) -> Self {
        let pending = |(number, known): (&u64, &KnownBlobFile)| {
            let pending = Pending {
                meta: known.file.meta.clone(),
                known: Some(known.file.clone()),
                garbage_count: known.garbage_count,
                garbage_bytes: known.garbage_bytes,
            };
            (*number, pending)
        };
        BlobBuilder {
            files: base.0.iter().map(pending).collect(),
        }
    }

    /// Adds a file.
    ///
    /// # Errors
    /// `Corruption` if the file is there already.
    pub fn add(&mut self, meta: &BlobFileMetaData) -> Result<()> {
        let pending = Pending {
            meta: meta.clone(),
            known: None,
            garbage_count: 0,
            garbage_bytes: 0,
        };
        match self.files.insert(meta.number, pending) {
            None => Ok(()),
            Some(_) => Err(Error::corruption(format_args!(
                "Blob file #{} already added",
                meta.number
            ))),
        }
    }

    /// Adds garbage.
    ///
    /// # Errors
    /// `Corruption` for a file that does not exist, and for more garbage than the file has blobs.
    pub fn add_garbage(&mut self, garbage: &BlobGarbage) -> Result<()> {
        let number = garbage.number;
        let Some(file) = self.files.get_mut(&number) else {
            return Err(Error::corruption(format_args!(
                "Blob file #{number} not found"
            )));
        };
        let count = file.garbage_count.checked_add(garbage.count);
        let bytes = file.garbage_bytes.checked_add(garbage.bytes);
        match (count, bytes) {
            (Some(count), Some(bytes)) if count <= file.meta.count && bytes <= file.meta.bytes => {
                (file.garbage_count, file.garbage_bytes) = (count, bytes);
                Ok(())
            }
            _ => Err(Error::corruption(format_args!(
                "Garbage overflow for blob file #{number}"
            ))),
        }
    }

    /// The files in `dir` that still exist given these tables, by the rules of this module.
    pub fn finish<'a>(
        self,
        tables: impl Iterator<Item = &'a Arc<TableFile>>,
        dir: &Arc<Path>,
        obsolete: &Arc<ObsoleteFiles>,
    ) -> BlobFiles {
        if self.files.is_empty() {
            return BlobFiles::default();
        }
        let named: BTreeSet<u64> = tables.map(|t| t.meta.oldest_blob_file).collect();
        let oldest = named.iter().copied().find(|&n| n > 0).unwrap_or(u64::MAX);
        let stays = |(number, file): &(u64, Pending)| {
            let mut garbage = file.garbage_count >= file.meta.count;
            planted!(BlobFileDeletedEarly => {
                garbage = file.garbage_count > 0;
                return *number >= oldest && !garbage
            });
            *number >= oldest && (named.contains(number) || !garbage)
        };
        let known = |(number, pending): (u64, Pending)| {
            let file = pending.known.unwrap_or_else(|| {
                Arc::new(BlobFile {
                    meta: pending.meta,
                    open: OnceLock::new(),
                    id: OnceLock::new(),
                    hold: obsolete.hold_blob(number, dir),
                })
            });
            let known = KnownBlobFile {
                file,
                garbage_count: pending.garbage_count,
                garbage_bytes: pending.garbage_bytes,
            };
            (number, known)
        };
        BlobFiles(self.files.into_iter().filter(stays).map(known).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use whitewater_storage::manifest::FileMetaData;

    fn dir() -> Arc<Path> {
        Arc::from(Path::new("/db"))
    }

    /// Takes the numbers of obsolete blob files.
    fn take(obsolete: &ObsoleteFiles) -> Vec<u64> {
        obsolete
            .take_blobs()
            .iter()
            .map(|file| file.number)
            .collect()
    }

    fn meta(number: u64, count: u64) -> BlobFileMetaData {
        BlobFileMetaData {
            number,
            count,
            bytes: 100 * count,
            ..BlobFileMetaData::default()
        }
    }

    fn garbage(number: u64, count: u64) -> BlobGarbage {
        BlobGarbage {
            number,
            count,
            bytes: 100 * count,
            custom: Vec::new(),
        }
    }

    /// The numbers of the blob files that remain for tables with these oldest ones. There are blob
    /// files 5, 6, 7 and 8 of 10 blobs each, of which 6 and 7 are all garbage.
    fn left(oldest: &[u64]) -> Vec<u64> {
        let obsolete = Arc::new(ObsoleteFiles::default());
        let mut builder = BlobBuilder::default();
        for number in 5..=8 {
            builder.add(&meta(number, 10)).unwrap();
        }
        for number in [6, 7] {
            builder.add_garbage(&garbage(number, 4)).unwrap();
            builder.add_garbage(&garbage(number, 6)).unwrap();
        }
        let tables: Vec<Arc<TableFile>> = (oldest.iter().zip(100..))
            .map(|(&oldest_blob_file, number)| {
                let meta = FileMetaData {
                    number,
                    oldest_blob_file,
                    ..FileMetaData::default()
                };
                TableFile::new(meta, 1, &dir(), obsolete.clone())
            })
            .collect();
        let files = builder.finish(tables.iter(), &dir(), &obsolete);
        files.iter().map(|b| b.file.meta.number).collect()
    }

    #[test]
    fn a_file_stays_while_a_table_may_refer_to_it() {
        assert_eq!(left(&[5]), [5, 8]);
        assert_eq!(left(&[0, 7]), [7, 8]);
        assert_eq!(left(&[6, 8]), [6, 8]);
        assert_eq!(left(&[8, 5]), [5, 8]);
        // A table that names an unknown file may also refer to newer ones.
        assert_eq!(left(&[4]), [5, 8]);
        assert_eq!(left(&[9]), [0; 0]);
        assert_eq!(left(&[0]), [0; 0]);
        assert_eq!(left(&[]), [0; 0]);
    }

    #[test]
    fn files_are_deleted_when_no_version_names_them() {
        let obsolete = Arc::new(ObsoleteFiles::default());
        let table = |oldest_blob_file| {
            let meta = FileMetaData {
                number: 100,
                oldest_blob_file,
                ..FileMetaData::default()
            };
            [TableFile::new(meta, 1, &dir(), obsolete.clone())]
        };
        let mut builder = BlobBuilder::default();
        builder.add(&meta(5, 1)).unwrap();
        builder.add(&meta(6, 1)).unwrap();
        let first = builder.finish(table(5).iter(), &dir(), &obsolete);
        let second = BlobBuilder::on(&first).finish(table(6).iter(), &dir(), &obsolete);
        assert_eq!((first.count(), second.count()), (2, 1));
        assert_eq!(first.bytes(), 2 * (100 + 62));
        assert!(take(&obsolete).is_empty());
        drop(first);
        assert_eq!(take(&obsolete), [5]);
        drop(second);
        assert_eq!(take(&obsolete), [6]);
    }

    #[test]
    fn nonsense_is_refused() {
        let mut builder = BlobBuilder::default();
        builder.add(&meta(5, 10)).unwrap();
        let text = |r: Result<()>| r.unwrap_err().to_string();
        assert!(text(builder.add(&meta(5, 10))).contains("#5 already added"));
        let mut builder = BlobBuilder::default();
        builder.add(&meta(5, 10)).unwrap();
        assert!(text(builder.add_garbage(&garbage(6, 1))).contains("#6 not found"));
        builder.add_garbage(&garbage(5, 9)).unwrap();
        assert!(text(builder.add_garbage(&garbage(5, 2))).contains("overflow"));
        let huge = BlobGarbage {
            bytes: u64::MAX,
            ..garbage(5, 1)
        };
        assert!(text(builder.add_garbage(&huge)).contains("overflow"));
    }
}
