//! Blob files: what the manifest says of them, and whether they fit to it and to the tables.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use whitewater_storage::blob::format::{FOOTER_LEN, HEADER_LEN};
use whitewater_storage::blob::{BlobFileReader, BlobIndex, BlobPlace, for_each_reference};
use whitewater_storage::fs::Fs;
use whitewater_storage::fs::os::OsFs;
use whitewater_storage::key::{ValueType, parse_internal_key, user_key};
use whitewater_storage::manifest::{BlobFileMetaData, BlobGarbage};
use whitewater_storage::sst::{CompressionType, Table};
use whitewater_storage::{Error, Result};

use super::session::Session;
use super::sst::{self, print_entry};
use super::text::{self, type_name};

/// A blob file as the manifest describes it.
#[derive(Debug, Clone, Default)]
pub struct BlobFile {
    /// Number, content and checksum.
    pub meta: BlobFileMetaData,
    /// How many of its values are garbage.
    pub garbage_count: u64,
    /// The size of their records in bytes.
    pub garbage_bytes: u64,
}

impl BlobFile {
    /// Adds what became garbage.
    pub fn add(&mut self, garbage: &BlobGarbage) {
        self.garbage_count = self.garbage_count.saturating_add(garbage.count);
        self.garbage_bytes = self.garbage_bytes.saturating_add(garbage.bytes);
    }

    /// The size of the file in bytes.
    pub fn size(&self) -> u64 {
        self.meta.bytes.saturating_add(HEADER_LEN + FOOTER_LEN)
    }

    /// Whether nothing but garbage is left.
    pub fn is_garbage(&self) -> bool {
        self.garbage_count >= self.meta.count
    }

    /// The fields for JSON.
    pub fn object(&self) -> Value {
        json!({
            "number": self.meta.number,
            "count": self.meta.count,
            "bytes": self.meta.bytes,
            "garbage_count": self.garbage_count,
            "garbage_bytes": self.garbage_bytes,
        })
    }
}

/// What is wrong with a blob file.
///
/// # Errors
/// The problem, as text that names the file.
pub fn check(path: &Path, family: u32, file: &BlobFile) -> Result<(), String> {
    let name = path.display();
    let found = std::fs::metadata(path).map_err(|e| format!("{name}: {e}"))?;
    if found.len() != file.size() {
        return Err(format!(
            "{name}: {} bytes, the manifest says {}",
            found.len(),
            file.size()
        ));
    }
    if file.garbage_count > file.meta.count || file.garbage_bytes > file.meta.bytes {
        return Err(format!("{name}: more garbage than values in the manifest"));
    }
    let reader = open(path).map_err(|e| e.to_string())?;
    if reader.column_family() != family {
        return Err(format!(
            "{name}: of column family {}, the manifest says {family}",
            reader.column_family()
        ));
    }
    let (count, _) = reader.totals().map_err(|e| e.to_string())?;
    if count != file.meta.count {
        return Err(format!(
            "{name}: {count} values, the manifest says {}",
            file.meta.count
        ));
    }
    Ok(())
}

fn open(path: &Path) -> Result<BlobFileReader> {
    BlobFileReader::open(OsFs.open_random(path)?)
}

/// Reads values of blob files, each of which is opened once.
#[derive(Default)]
pub struct Values {
    open: BTreeMap<u64, BlobFileReader>,
}

impl Values {
    /// Reads and checks all values that the entries of `table` refer to. `path` names the blob file
    /// with a number; `None` if the manifest does not.
    ///
    /// # Errors
    /// The first problem, as text that names the file.
    pub fn check(
        &mut self,
        table: &Arc<Table>,
        path: &dyn Fn(u64) -> Option<std::path::PathBuf>,
    ) -> Result<(), String> {
        let text = |e: Error| e.to_string();
        let mut iter = table.iter(sst::READ);
        iter.seek_to_first();
        while iter.valid() {
            let (key, stored) = (iter.key(), iter.value());
            let ty = parse_internal_key(key).map_err(text)?.ty as u8;
            let mut places = Vec::new();
            for_each_reference(ty, stored, &mut |place| places.push(place)).map_err(text)?;
            for place in places {
                let reader = self.reader(&place, path)?;
                reader.get(user_key(key), &place).map_err(text)?;
            }
            iter.next();
        }
        iter.status().map_err(text)
    }

    fn reader(
        &mut self,
        place: &BlobPlace,
        path: &dyn Fn(u64) -> Option<std::path::PathBuf>,
    ) -> Result<&BlobFileReader, String> {
        match self.open.entry(place.file) {
            Entry::Occupied(reader) => Ok(reader.into_mut()),
            Entry::Vacant(room) => {
                let path = path(place.file).ok_or_else(|| unknown(place.file))?;
                Ok(room.insert(open(&path).map_err(|e| e.to_string())?))
            }
        }
    }
}

/// The problem of a table that refers to blob file `number`.
pub fn unknown(number: u64) -> String {
    format!("a value is in blob file {number}, which the manifest does not name")
}

/// The name of a compression in what RocksDB's tools print.
fn compression_name(number: u8) -> String {
    match CompressionType::from_u8(number) {
        Some(CompressionType::None) => "NoCompression".to_owned(),
        Some(CompressionType::Zlib) => "Zlib".to_owned(),
        Some(CompressionType::Bz2) => "BZip2".to_owned(),
        Some(CompressionType::Snappy) => "Snappy".to_owned(),
        Some(CompressionType::Lz4) => "LZ4".to_owned(),
        Some(CompressionType::Lz4hc) => "LZ4HC".to_owned(),
        Some(CompressionType::Zstd) => "ZSTD".to_owned(),
        None => number.to_string(),
    }
}

/// Prints an entry. If its value is in a blob file, the place is printed instead of the bytes that
/// stand for it.
///
/// # Errors
/// The entry cannot be understood, or writing fails.
pub fn print_decoded(
    session: &mut Session<'_>,
    key: &[u8],
    value: &[u8],
) -> super::failure::Result<()> {
    let parsed = parse_internal_key(key)?;
    if parsed.ty != ValueType::BlobIndex {
        return print_entry(session, key, value);
    }
    let place = BlobIndex::place(value)?;
    if session.json {
        let mut fields = Map::new();
        session.keys.put(&mut fields, "key", parsed.user_key);
        fields.insert("sequence".to_owned(), parsed.seq.into());
        fields.insert("type".to_owned(), type_name(parsed.ty).into());
        let blob = json!({
            "file": place.file,
            "offset": place.offset,
            "size": place.size,
            "compression": compression_name(place.compression),
        });
        fields.insert("blob".to_owned(), blob);
        return session.object(fields);
    }
    session.line(format_args!(
        "{} => [blob ref] file:{} offset:{} size:{} compression: {}",
        text::internal_key(&parsed, session.keys),
        place.file,
        place.offset,
        place.size,
        compression_name(place.compression)
    ))
}
