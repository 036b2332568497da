//! Keeping RocksDB's `OPTIONS` file true about column families.
//!
//! RocksDB leaves a file with its options; its tools open the column families
//! that the newest one lists, and fail when they are not those of the
//! database. This engine reads no options from it and makes none where there
//! is none, but when column families come and go it writes a new one that
//! lists them, with everything else as it was.
//!
//! The data does not depend on it: failures are left to the caller's log.

use std::collections::BTreeSet;
use std::path::Path;
use whitewater_storage::filename::{self, FileType};
use whitewater_storage::fs::{Fs, read_file, write_file_atomically};
use whitewater_storage::{Error, Result};

/// Far more than RocksDB writes for thousands of column families.
const MAX_BYTES: u64 = 256 << 20;

/// Options files kept, the new one included, as RocksDB does.
const KEPT: usize = 2;

/// Makes the newest options file of `dir` list exactly the column families
/// `live`, by writing one numbered by `next_number` (given the newest file's
/// number). Does nothing without such a file, and when it lists them already.
///
/// # Errors
/// When a file cannot be read or written, or is not text.
pub(crate) fn follow_families(
    fs: &dyn Fs,
    dir: &Path,
    live: &BTreeSet<String>,
    next_number: impl FnOnce(u64) -> u64,
) -> Result<()> {
    let mut numbers: Vec<u64> = fs
        .list(dir)?
        .iter()
        .filter_map(|name| match filename::parse(name) {
            Some(FileType::Options(n)) => Some(n),
            _ => None,
        })
        .collect();
    numbers.sort_unstable();
    let Some(&newest) = numbers.last() else {
        return Ok(());
    };
    let path = filename::options(dir, newest);
    let text = String::from_utf8(read_file(fs, &path, MAX_BYTES)?)
        .map_err(|_| Error::corruption("not text").in_file(&path, None))?;
    let Some(text) = with_families(&text, live) else {
        return Ok(());
    };
    let number = next_number(newest);
    let temporary = filename::temp(dir, number);
    let path = filename::options(dir, number);
    write_file_atomically(fs, &temporary, &path, text.as_bytes())?;
    let old = (numbers.len() + 1).saturating_sub(KEPT);
    for &number in &numbers[..old] {
        fs.remove(&filename::options(dir, number))?;
    }
    Ok(())
}

/// The options file `text` with sections for exactly the column families
/// `live`; `None` when it has them already.
fn with_families(text: &str, live: &BTreeSet<String>) -> Option<String> {
    let mut missing: BTreeSet<String> = live.iter().map(|name| escaped(name)).collect();
    let mut out = String::with_capacity(text.len());
    let mut keep = true;
    let mut same = true;
    let escaped_live = missing.clone();
    for line in text.split_inclusive('\n') {
        if let Some(title) = line.trim().strip_prefix('[') {
            keep = true;
            if let Some(name) = family_of(title) {
                keep = escaped_live.contains(name);
                same &= keep;
                missing.remove(name);
            }
        }
        if keep {
            out.push_str(line);
        }
    }
    if same && missing.is_empty() {
        return None;
    }
    if !out.ends_with('\n') {
        out.push('\n');
    }
    for name in &missing {
        // Sections may be empty: the options are RocksDB's defaults then.
        let table = format!("[TableOptions/BlockBasedTable \"{name}\"]");
        out.push_str(&format!("\n[CFOptions \"{name}\"]\n\n{table}\n"));
    }
    Some(out)
}

/// The column family, as it is written, that a section is about; `title`
/// follows the bracket.
fn family_of(title: &str) -> Option<&str> {
    let of_family = title.starts_with("CFOptions") || title.starts_with("TableOptions");
    let (_, name) = title.split_once('"').filter(|_| of_family)?;
    name.rsplit_once('"').map(|(name, _)| name)
}

/// A name as the file has it.
fn escaped(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\\' | '#' | ':' => out.extend(['\\', c]),
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use whitewater_storage::fs::mem::MemFs;

    const TEXT: &str = "# A comment.\n[Version]\n  options_file_version=1.1\n\n[DBOptions]\n  \
        max_open_files=-1\n\n[CFOptions \"default\"]\n  num_levels=7\n\
        [TableOptions/BlockBasedTable \"default\"]\n  block_size=4096\n\n\
        [CFOptions \"a\\:b\"]\n  num_levels=3\n[TableOptions/BlockBasedTable \"a\\:b\"]\n";

    fn names(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn sections_follow_the_families() {
        assert_eq!(with_families(TEXT, &names(&["default", "a:b"])), None);

        let dropped = with_families(TEXT, &names(&["default"])).unwrap();
        assert_eq!(dropped, TEXT[..TEXT.find("[CFOptions \"a").unwrap()]);

        let created = with_families(TEXT, &names(&["default", "a:b", "c#"])).unwrap();
        let added = "\n[CFOptions \"c\\#\"]\n\n[TableOptions/BlockBasedTable \"c\\#\"]\n";
        assert_eq!(created, format!("{TEXT}{added}"));
        assert_eq!(
            with_families(&created, &names(&["default", "a:b", "c#"])),
            None
        );
    }

    #[test]
    fn only_the_newest_file_counts_and_two_are_kept() {
        let fs = MemFs::new();
        let dir = Path::new("/db");
        fs.create_dir_all(dir).unwrap();
        let follow = |live: &[&str]| {
            follow_families(&fs, dir, &names(live), |newest| newest + 10).unwrap();
            let mut files = fs.list(dir).unwrap();
            files.sort();
            files.join(" ")
        };
        assert_eq!(follow(&["default", "x"]), "");
        let write = |number, text: &str| {
            let path = filename::options(dir, number);
            write_file_atomically(&fs, &filename::temp(dir, 1), &path, text.as_bytes()).unwrap();
        };
        write(7, "of no use");
        write(9, TEXT);
        assert_eq!(follow(&["default", "a:b"]), "OPTIONS-000007 OPTIONS-000009");
        assert_eq!(follow(&["default"]), "OPTIONS-000009 OPTIONS-000019");
        assert_eq!(follow(&["default"]), "OPTIONS-000009 OPTIONS-000019");
        assert_eq!(follow(&["default", "x"]), "OPTIONS-000019 OPTIONS-000029");
        let text = read_file(&fs, &filename::options(dir, 29), MAX_BYTES).unwrap();
        assert!(
            String::from_utf8(text)
                .unwrap()
                .contains("[CFOptions \"x\"]")
        );
    }
}
