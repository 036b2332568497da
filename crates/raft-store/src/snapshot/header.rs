//! What the stream of a snapshot begins with: magic bytes, the length of the list of tables in
//! four bytes, little endian, and the list. The tables follow, one after the other.

use crate::codec::{decode, encode};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::Path;
use whitewater::{ExportImportFilesMetaData, LiveFileMetaData};

const MAGIC: [u8; 8] = *b"WWRAFT01";
/// The bytes before the list.
const PREFIX: usize = 12;
/// The most bytes that a list may have: some hundred thousand tables.
const MOST: usize = 64 << 20;

/// The tables of a snapshot, in the order in which the stream has them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Tables {
    comparator: String,
    pub tables: Vec<Table>,
}

/// A table: what an import has to know of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Table {
    /// The name of its file.
    pub name: String,
    /// The size of its file in bytes.
    pub size: u64,
    level: i32,
    smallest_seqno: u64,
    largest_seqno: u64,
    smallest: Vec<u8>,
    largest: Vec<u8>,
    epoch_number: u64,
}

impl Tables {
    /// Those of an export, with the sizes of their files.
    pub fn of_export(export: &ExportImportFilesMetaData, sizes: &[u64]) -> Self {
        let table = |(file, size): (&LiveFileMetaData, &u64)| Table {
            name: file.name.trim_start_matches('/').to_owned(),
            size: *size,
            level: file.level,
            smallest_seqno: file.smallest_seqno,
            largest_seqno: file.largest_seqno,
            smallest: file.smallest.clone(),
            largest: file.largest.clone(),
            epoch_number: file.epoch_number,
        };
        Tables {
            comparator: export.get_db_comparator_name().to_owned(),
            tables: export.get_files().iter().zip(sizes).map(table).collect(),
        }
    }

    /// What an import of these tables from the directory `dir` takes.
    pub fn for_import(&self, dir: &Path) -> ExportImportFilesMetaData {
        let file = |table: &Table| LiveFileMetaData {
            column_family_name: String::new(),
            level: table.level,
            name: format!("/{}", table.name),
            db_path: dir.to_owned(),
            file_number: 0,
            size: table.size,
            smallest_seqno: table.smallest_seqno,
            largest_seqno: table.largest_seqno,
            smallestkey: Vec::new(),
            largestkey: Vec::new(),
            smallest: table.smallest.clone(),
            largest: table.largest.clone(),
            oldest_blob_file_number: 0,
            epoch_number: table.epoch_number,
            num_entries: 0,
            num_deletions: 0,
        };
        let mut import = ExportImportFilesMetaData::new();
        import.set_db_comparator_name(&self.comparator);
        import.set_files(self.tables.iter().map(file).collect());
        import
    }

    /// The bytes before the tables.
    pub fn header(&self) -> Result<Vec<u8>> {
        let list = encode(self)?;
        let length = u32::try_from(list.len()).map_err(|e| Error::because("too many tables", e))?;
        Ok([&MAGIC[..], &length.to_le_bytes(), &list].concat())
    }

    /// Reads the first bytes of a stream. Without the whole list, returns how many bytes to have
    /// before the next call.
    ///
    /// # Errors
    /// These are not the first bytes of a snapshot.
    pub fn parse(bytes: &[u8]) -> Result<std::result::Result<Self, usize>> {
        let Some((prefix, rest)) = bytes.split_at_checked(PREFIX) else {
            return Ok(Err(PREFIX));
        };
        let (magic, length) = prefix.split_at(MAGIC.len());
        if magic != MAGIC {
            return Err(Error::new("a stream that is no snapshot of this store"));
        }
        let length = length.iter().rev().fold(0, |n, b| n << 8 | usize::from(*b));
        if length > MOST {
            return Err(Error::new(format!("a list of tables of {length} bytes")));
        }
        let Some(list) = rest.get(..length) else {
            return Ok(Err(PREFIX + length));
        };
        let tables: Tables = decode("the tables of a snapshot", list)?;
        tables.check_names()?;
        Ok(Ok(tables))
    }

    /// Names come from another node: none may lead out of the directory or to another one's file.
    fn check_names(&self) -> Result<()> {
        let mut seen = BTreeSet::new();
        for Table { name, .. } in &self.tables {
            let number = name.strip_suffix(".sst").unwrap_or_default();
            let digits =
                (1..=20).contains(&number.len()) && number.bytes().all(|b| b.is_ascii_digit());
            if !digits || !seen.insert(name) {
                return Err(Error::new(format!("the name of a table is {name:?}")));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::{PREFIX, Table, Tables};

    /// Tables with these names and sizes.
    pub fn tables(named: &[(&str, u64)]) -> Tables {
        let table = |(name, size): &(&str, u64)| Table {
            name: (*name).to_owned(),
            size: *size,
            level: 0,
            smallest_seqno: 3,
            largest_seqno: 9,
            smallest: vec![1],
            largest: vec![7],
            epoch_number: 2,
        };
        Tables {
            comparator: "leveldb.BytewiseComparator".to_owned(),
            tables: named.iter().map(table).collect(),
        }
    }

    #[test]
    fn a_header_says_how_much_of_it_is_missing() {
        let tables = tables(&[("000012.sst", 7), ("000013.sst", 0)]);
        let bytes = tables.header().unwrap();
        assert_eq!(Tables::parse(&bytes).unwrap(), Ok(tables.clone()));
        assert_eq!(Tables::parse(&bytes[..3]).unwrap(), Err(PREFIX));
        for end in PREFIX..bytes.len() {
            assert_eq!(Tables::parse(&bytes[..end]).unwrap(), Err(bytes.len()));
        }
        let import = tables.for_import("/in".as_ref());
        assert_eq!(
            import.get_files()[0].path(),
            std::path::Path::new("/in/000012.sst")
        );
        assert_eq!(Tables::of_export(&import, &[7, 0]), tables);
    }

    #[test]
    fn names_do_not_lead_out_of_the_directory() {
        for name in [
            "../../etc/1.sst",
            "/1.sst",
            "1",
            ".sst",
            "1.sst/2.sst",
            "x.sst",
            "",
        ] {
            let error = Tables::parse(&tables(&[(name, 1)]).header().unwrap()).unwrap_err();
            assert!(error.to_string().contains("name of a table"), "{error}");
        }
        let twice = tables(&[("1.sst", 1), ("1.sst", 1)]).header().unwrap();
        assert!(Tables::parse(&twice).is_err());
    }

    #[test]
    fn other_streams_are_refused() {
        let mut bytes = tables(&[]).header().unwrap();
        bytes[0] ^= 1;
        assert!(Tables::parse(&bytes).is_err());
        bytes[0] ^= 1;
        bytes[11] = 0xff;
        assert!(Tables::parse(&bytes).is_err());
    }
}
