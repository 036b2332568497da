//! Lists of the files of an open database, as RocksDB's C++ API has them. Programs that copy a
//! database read them.

use super::Engine;
use super::archive;
use crate::column_family::ColumnFamilyData;
use crate::external::exported::LiveFileMetaData;
use crate::version::Version;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use whitewater_storage::filename::{self, FileType};
use whitewater_storage::key::{SequenceNumber, user_key};
use whitewater_storage::{Error, ErrorKind, Result};

/// Where a log is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WalFileType {
    /// In the archive: recovery needs it no longer.
    Archived,
    /// Among those that recovery reads.
    Alive,
}

/// A log, as RocksDB's `WalFile` describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WalFile {
    /// Its path within the directory of logs, with a leading slash.
    pub path_name: String,
    /// Its number.
    pub log_number: u64,
    /// Where it is.
    pub file_type: WalFileType,
    /// The sequence number of its first record; 0 if it has none yet.
    pub start_sequence: SequenceNumber,
    /// The bytes that were written to it. Those of the current log grow.
    pub size_file_bytes: u64,
}

/// The kind of a file that belongs to a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LiveFileType {
    /// A table.
    Table,
    /// A blob file.
    Blob,
    /// A log.
    Wal,
    /// The manifest.
    Descriptor,
    /// The file `CURRENT`.
    Current,
    /// The newest options file.
    Options,
}

/// A file that a copy of the database needs, as RocksDB's `LiveFileStorageInfo` describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveFileStorageInfo {
    /// Its name within [`directory`](Self::directory).
    pub relative_filename: String,
    /// The directory that it is in.
    pub directory: PathBuf,
    /// Its number; 0 for `CURRENT`.
    pub file_number: u64,
    /// What it is.
    pub file_type: LiveFileType,
    /// How many bytes of it the copy needs.
    pub size: u64,
    /// Whether the copy must end after [`size`](Self::size) bytes: the file grows.
    pub trim_to_size: bool,
    /// What the copy has instead of the file's content, if it is not empty.
    pub replacement_contents: Vec<u8>,
    /// The checksum of the whole file that the manifest has; empty if none was asked for or there
    /// is none.
    pub file_checksum: Vec<u8>,
    /// The name of the checksum's function.
    pub file_checksum_func_name: String,
}

/// The checksum of a whole table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChecksumInfo {
    /// The number of the table.
    pub file_number: u64,
    /// The checksum; empty if there is none.
    pub checksum: Vec<u8>,
    /// The name of its function; empty if there is none.
    pub func_name: String,
}

impl Engine {
    /// The versions of all column families, with their names.
    fn versions(&self) -> Vec<(Arc<ColumnFamilyData>, Arc<Version>)> {
        let state = self.lock_state();
        let families = state.cfs.values();
        families
            .map(|cf| (cf.data.clone(), cf.version.clone()))
            .collect()
    }

    /// The session of this opening; empty for a read-only one.
    pub fn session_id(&self) -> &str {
        &self.files.session_id
    }

    /// All tables in use, with what the manifest says of them.
    ///
    /// # Errors
    /// Errors of opening a table.
    pub fn live_files_metadata(&self) -> Result<Vec<LiveFileMetaData>> {
        let mut all = Vec::new();
        for (cf, version) in self.versions() {
            for (level, files) in version.levels.iter().enumerate() {
                for file in files {
                    let tables = &self.files.tables;
                    let open = tables.open(file, &cf.comparator, &version.open_with)?;
                    let meta = &file.meta;
                    all.push(LiveFileMetaData {
                        column_family_name: cf.name.clone(),
                        level: level as i32,
                        name: format!("/{:06}.sst", meta.number),
                        db_path: file.dir().to_path_buf(),
                        file_number: meta.number,
                        size: meta.size,
                        smallest_seqno: meta.smallest_seqno,
                        largest_seqno: meta.largest_seqno,
                        smallestkey: user_key(&meta.smallest).to_vec(),
                        largestkey: user_key(&meta.largest).to_vec(),
                        smallest: meta.smallest.clone(),
                        largest: meta.largest.clone(),
                        oldest_blob_file_number: meta.oldest_blob_file,
                        epoch_number: meta.epoch_number,
                        num_entries: open.table.properties().num_entries,
                        num_deletions: open.table.properties().num_deletions,
                    });
                }
            }
        }
        Ok(all)
    }

    /// The whole-file checksums of all tables in use, in the order of their numbers.
    pub fn live_files_checksums(&self) -> Vec<FileChecksumInfo> {
        let mut all = Vec::new();
        for (_, version) in self.versions() {
            all.extend(version.levels.iter().flatten().map(|file| {
                let name = &file.meta.file_checksum_func_name;
                FileChecksumInfo {
                    file_number: file.meta.number,
                    checksum: file.meta.file_checksum.clone(),
                    func_name: String::from_utf8_lossy(name).into_owned(),
                }
            }));
        }
        all.sort_by_key(|info| info.file_number);
        all
    }

    /// When the oldest table was created, in seconds since 1970; 0 if that is unknown of one,
    /// `u64::MAX` if there is none.
    pub fn creation_time_of_oldest_file(&self) -> u64 {
        let versions = self.versions();
        let files = versions.iter().flat_map(|(_, v)| v.levels.iter().flatten());
        let times = files.map(|file| file.meta.file_creation_time);
        times.min().unwrap_or(u64::MAX)
    }

    /// All logs that exist, archived ones included, oldest first.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn sorted_wal_files(self: &Arc<Self>) -> Result<Vec<WalFile>> {
        self.check_writer()?;
        let fs = &*self.files.fs;
        let dir = self.commit.wal.dir();
        let mut logs = Vec::new();
        // Live logs are listed first, so a log that is moved meanwhile is found twice rather
        // than never.
        let alive = archive::logs_in(fs, dir)?;
        for number in archive::logs_in(fs, &filename::archive(dir))? {
            logs.push((number, WalFileType::Archived));
        }
        logs.extend(alive.into_iter().map(|number| (number, WalFileType::Alive)));
        // An archived one comes first of two of the same number.
        logs.sort_by_key(|(number, file_type)| (*number, *file_type == WalFileType::Alive));
        logs.dedup_by_key(|(number, _)| *number);
        let mut all = Vec::new();
        for (number, file_type) in logs {
            match self.wal_file(number, file_type) {
                // It was deleted meanwhile, or moved.
                Err(e) if e.kind() == ErrorKind::NotFound || e.is_missing_file() => {}
                found => all.push(found?),
            }
        }
        Ok(all)
    }

    /// The log that writes go to.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn current_wal_file(self: &Arc<Self>) -> Result<WalFile> {
        self.check_writer()?;
        // The current log may become an older one, but it is not deleted before it is looked at
        // twice.
        loop {
            let number = self.commit.generations.load().wal.log_number();
            match self.wal_file(number, WalFileType::Alive) {
                Err(e) if e.kind() == ErrorKind::NotFound || e.is_missing_file() => {
                    if self.commit.generations.load().wal.log_number() == number {
                        return Err(e);
                    }
                }
                found => return found,
            }
        }
    }

    fn wal_file(self: &Arc<Self>, log_number: u64, file_type: WalFileType) -> Result<WalFile> {
        let name = format!("/{log_number:06}.log");
        let (dir, path_name) = match file_type {
            WalFileType::Alive => (self.commit.wal.dir().to_path_buf(), name),
            WalFileType::Archived => {
                let dir = filename::archive(self.commit.wal.dir());
                (dir, format!("/archive{name}"))
            }
        };
        let start_sequence = self.first_number_in(log_number)?.unwrap_or(0);
        let generation = self.commit.generations.load();
        let size = match generation.end_so_far() {
            // The file has room for later writes, too.
            Some(end) if generation.wal.log_number() == log_number => end.offset,
            _ => self.files.fs.file_size(&filename::wal(&dir, log_number))?,
        };
        Ok(WalFile {
            path_name,
            log_number,
            file_type,
            start_sequence,
            size_file_bytes: size,
        })
    }

    /// The files that make up the database at this moment. They can be copied while file deletions
    /// are disabled. Memtables are flushed first if the logs have `wal_size_for_flush`
    /// bytes or more.
    ///
    /// # Errors
    /// Errors of the flush and of the file system; the failure that stopped the database.
    // Long: one entry for each kind of file.
    pub fn live_files_storage_info(
        self: &Arc<Self>,
        wal_size_for_flush: u64,
        include_checksum_info: bool,
    ) -> Result<Vec<LiveFileStorageInfo>> {
        let fs = self.files.fs.clone();
        let mut manifest_bytes = 0;
        let live = self.keeping_files(wal_size_for_flush, || {
            self.live_files_with(true, |_| {
                let (number, bytes, versions) = self.files.versions.in_force()?;
                manifest_bytes = bytes;
                Ok((number, versions))
            })
        })?;
        let file = |number: u64, file_type, path: &Path, size| {
            let name = path.file_name().unwrap_or_default();
            LiveFileStorageInfo {
                relative_filename: name.to_string_lossy().into_owned(),
                directory: path.parent().unwrap_or(&self.files.dir).to_path_buf(),
                file_number: number,
                file_type,
                size,
                trim_to_size: false,
                replacement_contents: Vec::new(),
                file_checksum: Vec::new(),
                file_checksum_func_name: String::new(),
            }
        };
        let mut all = Vec::new();
        for table in &live.tables {
            let meta = &table.file.meta;
            let mut info = file(meta.number, LiveFileType::Table, &table.path, meta.size);
            if include_checksum_info {
                info.file_checksum.clone_from(&meta.file_checksum);
                let name = String::from_utf8_lossy(&meta.file_checksum_func_name);
                info.file_checksum_func_name = name.into_owned();
            }
            all.push(info);
        }
        for path in &live.blobs {
            let number = number_of(path)?;
            all.push(file(number, LiveFileType::Blob, path, fs.file_size(path)?));
        }
        let manifest = filename::manifest(&self.files.dir, live.manifest);
        let mut current = file(
            0,
            LiveFileType::Current,
            &filename::current(&self.files.dir),
            0,
        );
        // It may name the next manifest by the time it is copied.
        current.replacement_contents = format!("MANIFEST-{:06}\n", live.manifest).into_bytes();
        current.size = current.replacement_contents.len() as u64;
        all.push(current);
        all.push(LiveFileStorageInfo {
            trim_to_size: true,
            ..file(
                live.manifest,
                LiveFileType::Descriptor,
                &manifest,
                manifest_bytes,
            )
        });
        for (path, len) in &live.logs {
            all.push(LiveFileStorageInfo {
                trim_to_size: true,
                ..file(number_of(path)?, LiveFileType::Wal, path, *len)
            });
        }
        if let Some((path, _)) = live.options(&*fs)? {
            let number = number_of(&path)?;
            all.push(file(
                number,
                LiveFileType::Options,
                &path,
                fs.file_size(&path)?,
            ));
        }
        Ok(all)
    }

    /// The names of the files that make up the database but for its logs, with a leading slash,
    /// and how many bytes of the manifest count.
    ///
    /// # Errors
    /// As [`live_files_storage_info`](Self::live_files_storage_info).
    pub fn live_file_names(self: &Arc<Self>, flush: bool) -> Result<(Vec<String>, u64)> {
        let least = if flush { 0 } else { u64::MAX };
        let all = self.live_files_storage_info(least, false)?;
        let manifest = |f: &&LiveFileStorageInfo| f.file_type == LiveFileType::Descriptor;
        let bytes = all.iter().find(manifest).map_or(0, |f| f.size);
        let others = all.iter().filter(|f| f.file_type != LiveFileType::Wal);
        let names = others.map(|f| format!("/{}", f.relative_filename));
        Ok((names.collect(), bytes))
    }
}

/// The number in the name of a file.
fn number_of(path: &Path) -> Result<u64> {
    let name = path.file_name().and_then(|name| name.to_str());
    let number = name.and_then(filename::parse).and_then(FileType::number);
    number.ok_or_else(|| Error::invalid("a file without a number").in_file(path, None))
}
