//! Names of the files in a directory of backups.
//!
//! Shared files of one database may have the same number and differ, because a database that was
//! restored from an older backup uses numbers again. Their names in `shared_checksum` therefore
//! have, after the number, the session that wrote the table, or a checksum and the size.

use crate::filename::{self, FileType};
use std::path::{Path, PathBuf};

/// The folder of metadata.
pub const META: &str = "meta";
/// The folder with a folder of files for each backup.
pub const PRIVATE: &str = "private";
/// The folder of shared files that have their names in the database.
pub const SHARED: &str = "shared";
/// The folder of shared files whose names tell different files of one number apart.
pub const SHARED_CHECKSUM: &str = "shared_checksum";

/// How the names of files that are being written end.
const TEMPORARY: &str = ".tmp";

/// The folder that a file of a backup is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// `private/N`: only backup N has the file.
    Private(u32),
    /// `shared`.
    Shared,
    /// `shared_checksum`.
    SharedChecksum,
}

/// A file of a backup, by its path in the directory of backups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredName {
    /// Its folder.
    pub place: Place,
    /// Its name in a database.
    pub database_name: String,
    /// The type that this name has.
    pub file_type: FileType,
}

impl StoredName {
    /// Parses a path such as `private/1/CURRENT`; `None` for one that is not of the files of a
    /// database in one of these folders.
    pub fn parse(path: &str) -> Option<Self> {
        let (folder, rest) = path.split_once('/')?;
        let (place, database_name) = match folder {
            PRIVATE => {
                let (id, name) = rest.split_once('/')?;
                (Place::Private(backup_id(id)?), name.to_owned())
            }
            SHARED => (Place::Shared, rest.to_owned()),
            SHARED_CHECKSUM => {
                // Everything from the first underscore to the last dot was inserted.
                let (tagged, suffix) = rest.rsplit_once('.')?;
                let (number, _) = tagged.split_once('_')?;
                (Place::SharedChecksum, format!("{number}.{suffix}"))
            }
            _ => return None,
        };
        let file_type = filename::parse(&database_name)?;
        // A type has no slashes in its names, but what was cut out may have had some.
        let is_whole = match place {
            Place::Private(_) => path.matches('/').count() == 2,
            _ => path.matches('/').count() == 1,
        };
        is_whole.then_some(StoredName {
            place,
            database_name,
            file_type,
        })
    }
}

/// The path of `name` in `shared_checksum`: a table of the session `session`, with its size in
/// bytes if that is to be in the name. `None` if the session cannot be part of a name.
pub fn of_session(name: &str, session: &str, size: Option<u64>) -> Option<String> {
    let is_plain = !session.is_empty() && session.bytes().all(|b| b.is_ascii_alphanumeric());
    let (stem, suffix) = name.rsplit_once('.')?;
    let size = size.map_or_else(String::new, |bytes| format!("_{bytes}"));
    is_plain.then(|| format!("{SHARED_CHECKSUM}/{stem}_s{session}{size}.{suffix}"))
}

/// The path of `name` in `shared_checksum`: a file with the CRC-32C `crc` and a size in bytes.
/// `None` if the name has no suffix.
pub fn of_checksum(name: &str, crc: u32, size: u64) -> Option<String> {
    let (stem, suffix) = name.rsplit_once('.')?;
    Some(format!("{SHARED_CHECKSUM}/{stem}_{crc}_{size}.{suffix}"))
}

/// The path of `name` in `shared`.
pub fn shared(name: &str) -> String {
    format!("{SHARED}/{name}")
}

/// The path of `name` in the folder of backup `id`.
pub fn private(id: u32, name: &str) -> String {
    format!("{PRIVATE}/{id}/{name}")
}

/// The path under which a shared file is written before it gets the path `path`.
pub fn temporary(path: &str) -> String {
    match path.rsplit_once('/') {
        Some((folder, name)) => format!("{folder}/.{name}{TEMPORARY}"),
        None => format!(".{path}{TEMPORARY}"),
    }
}

/// Whether a file of this name is one that is being written.
pub fn is_temporary(name: &str) -> bool {
    name.ends_with(TEMPORARY)
}

/// The metadata of backup `id` in `dir`.
pub fn meta(dir: &Path, id: u32) -> PathBuf {
    dir.join(META).join(id.to_string())
}

/// The file under which the metadata of backup `id` are written first.
pub fn meta_temporary(dir: &Path, id: u32) -> PathBuf {
    dir.join(META).join(format!(".{id}{TEMPORARY}"))
}

/// The folder of the files that only backup `id` has.
pub fn private_dir(dir: &Path, id: u32) -> PathBuf {
    dir.join(PRIVATE).join(id.to_string())
}

/// The backup whose metadata or private folder has this name; `None` for other names.
pub fn backup_id(name: &str) -> Option<u32> {
    let id: u32 = name.parse().ok()?;
    (id > 0 && id.to_string() == name).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(path: &str) -> Option<(Place, String)> {
        StoredName::parse(path).map(|stored| (stored.place, stored.database_name))
    }

    #[test]
    fn paths_lead_back_to_names_in_the_database() {
        let session = of_session("000007.sst", "ABC0123456789XYZDEFG", Some(99)).unwrap();
        assert_eq!(
            session,
            "shared_checksum/000007_sABC0123456789XYZDEFG_99.sst"
        );
        let without = of_session("000007.sst", "ABC", None).unwrap();
        assert_eq!(without, "shared_checksum/000007_sABC.sst");
        let checksum = of_checksum("000007.blob", 4_000_000_000, 12).unwrap();
        assert_eq!(checksum, "shared_checksum/000007_4000000000_12.blob");
        for (path, name) in [
            (&session, "000007.sst"),
            (&without, "000007.sst"),
            (&checksum, "000007.blob"),
        ] {
            assert_eq!(parsed(path), Some((Place::SharedChecksum, name.to_owned())));
        }
        let shared = (Place::Shared, "000007.sst".to_owned());
        assert_eq!(parsed("shared/000007.sst"), Some(shared));
        let private = (Place::Private(12), "MANIFEST-000004".to_owned());
        assert_eq!(parsed("private/12/MANIFEST-000004"), Some(private));
    }

    #[test]
    fn paths_that_lead_out_of_the_directory_are_refused() {
        for path in [
            "",
            "/etc/passwd",
            "private/1",
            "private/1/../2/CURRENT",
            "private/01/CURRENT",
            "private/0/CURRENT",
            "private/4294967296/CURRENT",
            "private/1/a/CURRENT",
            "shared/../../000007.sst",
            "shared/passwd",
            "shared_checksum/000007.sst",
            "shared_checksum/000007_/../x.sst",
            "shared_checksum/../000007_1_2.sst",
            "shared_checksum/_1_2.sst",
            "other/000007.sst",
            "000007.sst",
        ] {
            assert_eq!(parsed(path), None, "{path}");
        }
    }

    /// The session comes from a table, which may be damaged.
    #[test]
    fn sessions_that_are_no_names_are_refused() {
        for session in ["", "..", "a/b", "a b", "a_b", "\u{e9}"] {
            assert_eq!(of_session("000007.sst", session, None), None, "{session}");
        }
        assert_eq!(of_checksum("CURRENT", 1, 2), None);
    }

    #[test]
    fn temporary_names_are_told_from_others() {
        assert_eq!(temporary("shared/000007.sst"), "shared/.000007.sst.tmp");
        assert!(is_temporary(".000007.sst.tmp"));
        assert!(!is_temporary("000007.sst"));
        for (name, id) in [("1", Some(1)), ("0", None), ("+1", None), (".1.tmp", None)] {
            assert_eq!(backup_id(name), id, "{name}");
        }
    }
}
