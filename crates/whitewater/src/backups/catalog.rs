//! Which backups there are, as the metadata say, and which of them are damaged.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use whitewater_storage::backup::{Meta, MetaFile, Place, StoredName, meta, names};
use whitewater_storage::fs::{Fs, read_file};
use whitewater_storage::{Error, ErrorKind, Result};

/// The backups of a directory.
#[derive(Default)]
pub(crate) struct Catalog {
    valid: BTreeMap<u32, Meta>,
    damaged: BTreeMap<u32, Damaged>,
}

/// A backup that cannot be restored.
struct Damaged {
    why: Error,
    /// Its metadata, if they could be read.
    meta: Option<Meta>,
}

impl Catalog {
    /// Reads the metadata in `dir`, newest first, and looks for the files that they name, until
    /// `most` backups were found that can be restored.
    ///
    /// # Errors
    /// Errors of the file system. What is wrong with one backup is noted with it.
    pub fn load(fs: &dyn Fs, dir: &Path, most: usize) -> Result<Self> {
        let mut catalog = Catalog::default();
        catalog.load_unknown(fs, dir, ids_in(fs, dir)?, most)?;
        Ok(catalog)
    }

    /// Notes what another engine has changed: backups that are there, gone, or others under the
    /// same numbers.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn refresh(&mut self, fs: &dyn Fs, dir: &Path) -> Result<()> {
        let ids = ids_in(fs, dir)?;
        self.valid.retain(|id, _| ids.contains(id));
        self.damaged.retain(|id, _| ids.contains(id));
        for id in &ids {
            let damaged = self.damaged.get(id).map(|damaged| damaged.meta.as_ref());
            let Some(known) = damaged.or(self.valid.get(id).map(Some)) else {
                continue;
            };
            let text = read_file(fs, &names::meta(dir, *id), meta::MAX_BYTES)?;
            let is_same = match (Meta::decode(&text), known) {
                (Ok(found), Some(known)) => say_the_same(&found, known),
                (Err(_), None) => true,
                _ => false,
            };
            if !is_same {
                self.remove(*id);
            }
        }
        self.load_unknown(fs, dir, ids, usize::MAX)
    }

    /// Reads those of the metadata that are not here yet.
    fn load_unknown(
        &mut self,
        fs: &dyn Fs,
        dir: &Path,
        mut ids: Vec<u32>,
        most: usize,
    ) -> Result<()> {
        ids.retain(|id| !self.is_known(*id));
        ids.sort_unstable_by_key(|id| std::cmp::Reverse(*id));
        let mut sizes = Sizes {
            fs,
            dir,
            known: HashMap::new(),
        };
        let mut shared = HashMap::new();
        for id in ids {
            if self.valid.len() >= most {
                break;
            }
            let text = read_file(fs, &names::meta(dir, id), meta::MAX_BYTES)?;
            match Meta::decode(&text) {
                Err(why) => self.add_damaged(id, why, None),
                Ok(mut meta) => match check(id, &mut meta, &mut sizes, &mut shared)? {
                    Some(why) => self.add_damaged(id, why, Some(meta)),
                    None => self.add(id, meta),
                },
            }
        }
        Ok(())
    }

    /// Adds a backup that can be restored.
    pub fn add(&mut self, id: u32, meta: Meta) {
        self.valid.insert(id, meta);
    }

    /// Adds a backup that cannot be restored.
    pub fn add_damaged(&mut self, id: u32, why: Error, meta: Option<Meta>) {
        self.damaged.insert(id, Damaged { why, meta });
    }

    /// Forgets a backup.
    pub fn remove(&mut self, id: u32) {
        self.valid.remove(&id);
        self.damaged.remove(&id);
    }

    /// The backups that can be restored, oldest first.
    pub fn valid(&self) -> &BTreeMap<u32, Meta> {
        &self.valid
    }

    /// The backups that cannot be restored, oldest first.
    pub fn damaged(&self) -> impl Iterator<Item = u32> {
        self.damaged.keys().copied()
    }

    /// Whether there is a backup with this number.
    pub fn is_known(&self, id: u32) -> bool {
        self.valid.contains_key(&id) || self.damaged.contains_key(&id)
    }

    /// The largest number of a backup; 0 if there is none.
    pub fn latest(&self) -> u32 {
        let valid = self.valid.last_key_value().map(|(id, _)| *id);
        let damaged = self.damaged.last_key_value().map(|(id, _)| *id);
        valid.max(damaged).unwrap_or(0)
    }

    /// The latest backup that can be restored.
    pub fn latest_valid(&self) -> Option<u32> {
        self.valid.last_key_value().map(|(id, _)| *id)
    }

    /// The metadata of a backup that can be restored.
    ///
    /// # Errors
    /// `NotFound`; what is wrong with it.
    pub fn get(&self, id: u32) -> Result<&Meta> {
        if let Some(damaged) = self.damaged.get(&id) {
            return Err(damaged.why.clone());
        }
        let not_found = || Error::new(ErrorKind::NotFound, "Backup not found");
        self.valid.get(&id).ok_or_else(not_found)
    }

    /// The files that backups have, by their paths.
    pub fn files(&self) -> HashMap<&str, &MetaFile> {
        let files = self.valid.values().flat_map(|meta| &meta.files);
        files.map(|file| (file.path.as_str(), file)).collect()
    }

    /// The paths of all files that backups name; `None` if it cannot be known.
    pub fn named(&self) -> Option<HashSet<&str>> {
        let damaged = self.damaged.values().map(|damaged| damaged.meta.as_ref());
        let metas: Option<Vec<&Meta>> = damaged.chain(self.valid.values().map(Some)).collect();
        let files = metas?.into_iter().flat_map(|meta| {
            let excluded = meta.excluded.iter().map(String::as_str);
            meta.files.iter().map(|f| f.path.as_str()).chain(excluded)
        });
        Some(files.collect())
    }
}

/// The numbers of the backups in `dir`, damaged ones included.
fn ids_in(fs: &dyn Fs, dir: &Path) -> Result<Vec<u32>> {
    let found = fs.list(&dir.join(names::META))?;
    Ok(found.iter().filter_map(|n| names::backup_id(n)).collect())
}

/// Whether two metadata are of one backup, whether or not the sizes of its files are known.
fn say_the_same(one: &Meta, other: &Meta) -> bool {
    let plain = |meta: &Meta| Meta {
        files: meta.files.iter().map(without_size).collect(),
        ..meta.clone()
    };
    plain(one) == plain(other)
}

fn without_size(file: &MetaFile) -> MetaFile {
    MetaFile {
        size: None,
        ..file.clone()
    }
}

/// Sizes of files, each looked at once.
struct Sizes<'a> {
    fs: &'a dyn Fs,
    dir: &'a Path,
    known: HashMap<String, Option<u64>>,
}

impl Sizes<'_> {
    /// The size of a file in bytes; `None` if there is no such file.
    fn of(&mut self, path: &str) -> Result<Option<u64>> {
        if let Some(size) = self.known.get(path) {
            return Ok(*size);
        }
        let size = match self.fs.file_size(&self.dir.join(path)) {
            Ok(size) => Some(size),
            Err(e) if e.is_missing_file() => None,
            Err(e) => return Err(e),
        };
        self.known.insert(path.to_owned(), size);
        Ok(size)
    }
}

/// Notes the sizes of the files of a backup, and tells what is wrong with it. `shared` has the
/// checksums of shared files of other backups.
///
/// # Errors
/// Errors of the file system.
fn check(
    id: u32,
    meta: &mut Meta,
    sizes: &mut Sizes<'_>,
    shared: &mut HashMap<String, u32>,
) -> Result<Option<Error>> {
    let mut in_database = HashSet::new();
    for file in &mut meta.files {
        let wrong = |what: String| Ok(Some(Error::corruption(format!("{}: {what}", file.path))));
        let Some(stored) = StoredName::parse(&file.path) else {
            return wrong("not a file of a backup".to_owned());
        };
        if matches!(stored.place, Place::Private(of) if of != id) {
            return wrong(format!("backup {id} names it"));
        }
        if !in_database.insert(stored.database_name) {
            return wrong(format!("backup {id} has another file with its name"));
        }
        let Some(size) = sizes.of(&file.path)? else {
            return wrong(format!("backup {id} lacks this file"));
        };
        if let Some(expected) = file.size.filter(|expected| *expected != size) {
            return wrong(format!("{size} bytes instead of {expected}"));
        }
        file.size = Some(size);
        if let Some(crc) = file.crc {
            let known = *shared.entry(file.path.clone()).or_insert(crc);
            if known != crc {
                return wrong(format!("backups say {crc} and {known} is its checksum"));
            }
        }
    }
    Ok(None)
}
