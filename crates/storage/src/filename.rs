//! Names of the files of a database.

use std::path::{Path, PathBuf};

/// The largest number in a name. A file with a larger number does not belong to a database.
pub const MAX_NUMBER: u64 = u64::MAX / 2;

/// The largest file number with which a database can be opened, so that there is always a next
/// number.
pub const MAX_NUMBER_AT_OPEN: u64 = MAX_NUMBER / 2;

/// The type of a file, from its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileType {
    /// `NNNNNN.log`
    Wal(u64),
    /// `NNNNNN.sst` or `.ldb`
    Table(u64),
    /// `NNNNNN.blob`
    Blob(u64),
    /// `MANIFEST-NNNNNN`
    Manifest(u64),
    /// `OPTIONS-NNNNNN`
    Options(u64),
    /// `NNNNNN.dbtmp` or `OPTIONS-NNNNNN.dbtmp`
    Temp(u64),
    /// `CURRENT`
    Current,
    /// `LOCK`
    Lock,
    /// `IDENTITY`
    Identity,
    /// `LOG` and `LOG.old.*`
    InfoLog,
}

impl FileType {
    /// The number in the name.
    pub fn number(self) -> Option<u64> {
        match self {
            FileType::Wal(n)
            | FileType::Table(n)
            | FileType::Blob(n)
            | FileType::Manifest(n)
            | FileType::Options(n)
            | FileType::Temp(n) => Some(n),
            FileType::Current | FileType::Lock | FileType::Identity | FileType::InfoLog => None,
        }
    }
}

/// Parses a name (not a path); `None` for names that do not belong to a database.
pub fn parse(name: &str) -> Option<FileType> {
    let number = |s: &str| {
        (!s.is_empty() && s.bytes().all(|b| b.is_ascii_digit()))
            .then(|| s.parse().ok())
            .flatten()
            .filter(|number| *number <= MAX_NUMBER)
    };
    match name {
        "CURRENT" => return Some(FileType::Current),
        "LOCK" => return Some(FileType::Lock),
        "IDENTITY" => return Some(FileType::Identity),
        "LOG" => return Some(FileType::InfoLog),
        _ => {}
    }
    if name.starts_with("LOG.old.") {
        return Some(FileType::InfoLog);
    }
    if let Some(rest) = name.strip_prefix("MANIFEST-") {
        return number(rest).map(FileType::Manifest);
    }
    if let Some(rest) = name.strip_prefix("OPTIONS-") {
        return match rest.strip_suffix(".dbtmp") {
            Some(n) => number(n).map(FileType::Temp),
            None => number(rest).map(FileType::Options),
        };
    }
    let (stem, suffix) = name.split_once('.')?;
    let n = number(stem)?;
    Some(match suffix {
        "log" => FileType::Wal(n),
        "sst" | "ldb" => FileType::Table(n),
        "blob" => FileType::Blob(n),
        "dbtmp" => FileType::Temp(n),
        _ => return None,
    })
}

/// Path of the write-ahead log `number`.
pub fn wal(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("{number:06}.log"))
}

/// The directory of archived logs, in the directory of the logs.
pub fn archive(wal_dir: &Path) -> PathBuf {
    wal_dir.join("archive")
}

/// Path of the table `number`.
pub fn table(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("{number:06}.sst"))
}

/// Path of the blob file `number`.
pub fn blob(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("{number:06}.blob"))
}

/// Path of the manifest `number`.
pub fn manifest(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("MANIFEST-{number:06}"))
}

/// Path of the options file `number`.
pub fn options(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("OPTIONS-{number:06}"))
}

/// Path of the temporary file `number`.
pub fn temp(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("{number:06}.dbtmp"))
}

/// Path of `CURRENT`, which names the current manifest.
pub fn current(dir: &Path) -> PathBuf {
    dir.join("CURRENT")
}

/// Path of `LOCK`.
pub fn lock(dir: &Path) -> PathBuf {
    dir.join("LOCK")
}

/// Path of `IDENTITY`.
pub fn identity(dir: &Path) -> PathBuf {
    dir.join("IDENTITY")
}

/// Path of the info log.
pub fn info_log(dir: &Path) -> PathBuf {
    dir.join("LOG")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_back() {
        let d = Path::new("/db");
        let name = |p: PathBuf| p.file_name().unwrap().to_str().unwrap().to_owned();
        assert_eq!(parse(&name(wal(d, 7))), Some(FileType::Wal(7)));
        assert_eq!(
            parse(&name(table(d, 1234567))),
            Some(FileType::Table(1234567))
        );
        assert_eq!(parse(&name(blob(d, 8))), Some(FileType::Blob(8)));
        assert_eq!(parse(&name(manifest(d, 5))), Some(FileType::Manifest(5)));
        assert_eq!(parse(&name(options(d, 9))), Some(FileType::Options(9)));
        assert_eq!(parse(&name(temp(d, 3))), Some(FileType::Temp(3)));
        assert_eq!(parse("OPTIONS-000003.dbtmp"), Some(FileType::Temp(3)));
        assert_eq!(parse("LOG.old.123"), Some(FileType::InfoLog));
        for bad in [
            "",
            "x.sst",
            ".sst",
            "1.",
            "MANIFEST-",
            "MANIFEST-1x",
            "99999999999999999999999.sst",
            "archive",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
