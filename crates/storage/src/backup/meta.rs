//! The metadata of a backup: a text file that names its files.
//!
//! Schema 1 has a timestamp, a sequence number, optionally what the application added, the number
//! of files, and a line for each file with its checksum. Schema 2 begins with a version, and has
//! fields of any names for the backup, for each file, and after the files. Unknown fields are
//! passed over, unless their names begin with `ni::`.

use super::names::StoredName;
use crate::error::{Error, Result};
use std::fmt::Write as _;

/// The most bytes that an application may add to the metadata of a backup.
pub const MAX_APP_METADATA: usize = 1 << 20;
/// The most bytes that a metadata file may have.
pub const MAX_BYTES: u64 = 1 << 28;

const SCHEMA_VERSION: &str = "schema_version ";
/// The version that is written for schema 2.
const SCHEMA_2: &str = "2.0";
const FOOTER: &str = "// FOOTER";
const APP_METADATA: &str = "metadata";
/// The checksum is a CRC-32C in spite of the name.
const CRC: &str = "crc32";
const SIZE: &str = "size";
const EXCLUDED: &str = "ni::excluded";
/// Fields whose names begin so must be understood.
const NOT_IGNORABLE: &str = "ni::";

/// The form in which metadata are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Schema {
    /// Every version of RocksDB reads it.
    #[default]
    One,
    /// RocksDB reads it since 6.19. It has the sizes of files.
    Two,
}

/// What the metadata of a backup say.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Meta {
    /// The form that they have, or get.
    pub schema: Schema,
    /// When the backup was made, in seconds since 1970.
    pub timestamp: i64,
    /// About the latest sequence number in it.
    pub sequence: u64,
    /// What the application added, at most [`MAX_APP_METADATA`] bytes.
    pub app_metadata: Vec<u8>,
    /// Its files.
    pub files: Vec<MetaFile>,
    /// Paths of files that the database has and the backup leaves out, because they are known to
    /// be elsewhere. Schema 2 only.
    pub excluded: Vec<String>,
}

/// A file of a backup.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MetaFile {
    /// Its path in the directory of backups.
    pub path: String,
    /// Its CRC-32C, not masked, if it is known.
    pub crc: Option<u32>,
    /// Its size in bytes, if it is known.
    pub size: Option<u64>,
}

impl Meta {
    /// The text of the metadata file.
    pub fn encode(&self) -> String {
        let mut text = String::new();
        if self.schema == Schema::Two {
            text += SCHEMA_VERSION;
            text += SCHEMA_2;
            text.push('\n');
        }
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}\n{}", self.timestamp as u64, self.sequence);
        if !self.app_metadata.is_empty() {
            text += APP_METADATA;
            text.push(' ');
            for byte in &self.app_metadata {
                let _ = write!(text, "{byte:02X}");
            }
            text.push('\n');
        }
        let _ = writeln!(text, "{}", self.files.len());
        for file in &self.files {
            text += &file.path;
            if let Some(crc) = file.crc {
                let _ = write!(text, " {CRC} {crc}");
            }
            if let (Schema::Two, Some(size)) = (self.schema, file.size) {
                let _ = write!(text, " {SIZE} {size}");
            }
            text.push('\n');
        }
        if self.schema == Schema::Two {
            for path in &self.excluded {
                let _ = writeln!(text, "{path} {EXCLUDED} true");
            }
        }
        text
    }

    /// Reads the text of a metadata file.
    ///
    /// # Errors
    /// `Corruption` for what is not such a text or not all of one; `NotSupported` for schemas and
    /// fields of later versions that must be understood.
    pub fn decode(text: &[u8]) -> Result<Self> {
        let text =
            std::str::from_utf8(text).map_err(|_| Error::corruption("metadata are not text"))?;
        let Some(text) = text.strip_suffix('\n') else {
            return Err(Error::corruption("metadata do not end with a line"));
        };
        let mut lines = text.split('\n');
        let mut meta = Meta::default();
        let mut line = next(&mut lines, "timestamp")?;
        if let Some(version) = line.strip_prefix(SCHEMA_VERSION) {
            if version != "2" && !version.starts_with("2.") {
                return Err(Error::not_supported(format_args!(
                    "schema version {version:?} of backups"
                )));
            }
            meta.schema = Schema::Two;
            line = next(&mut lines, "timestamp")?;
        }
        meta.timestamp = number(line, "timestamp")? as i64;
        meta.sequence = number(next(&mut lines, "sequence number")?, "sequence number")?;
        let count = meta.header_fields(&mut lines)?;
        meta.file_lines(&mut lines)?;
        if meta.files.len() as u64 != count {
            return Err(Error::corruption(format_args!(
                "metadata name {} files and say that there are {count}",
                meta.files.len()
            )));
        }
        Ok(meta)
    }

    /// Reads fields up to the number of files, which is returned.
    fn header_fields<'a>(&mut self, lines: &mut impl Iterator<Item = &'a str>) -> Result<u64> {
        loop {
            let line = next(lines, "number of files")?;
            if line.starts_with(|c: char| c.is_ascii_digit()) {
                return number(line, "number of files");
            }
            match field(line)? {
                (APP_METADATA, hex) => self.app_metadata = bytes(hex)?,
                (name, _) => check_unknown(name, self.schema)?,
            }
        }
    }

    /// Reads the lines of files, and the fields after them.
    fn file_lines<'a>(&mut self, lines: &mut impl Iterator<Item = &'a str>) -> Result<()> {
        for line in lines.by_ref() {
            if self.schema == Schema::Two && line == FOOTER {
                break;
            }
            let (file, is_excluded) = file_line(line, self.schema)?;
            if is_excluded {
                self.excluded.push(file.path);
            } else {
                self.files.push(file);
            }
        }
        for line in lines {
            check_unknown(field(line)?.0, self.schema)?;
        }
        Ok(())
    }
}

/// Reads the line of a file; the second value tells whether the backup leaves the file out.
fn file_line(line: &str, schema: Schema) -> Result<(MetaFile, bool)> {
    let mut words = line.split(' ');
    let path = words.next().unwrap_or_default();
    if StoredName::parse(path).is_none() {
        return Err(Error::corruption(format_args!(
            "no path of a file of a backup: {path:?}"
        )));
    }
    let mut file = MetaFile {
        path: path.to_owned(),
        ..MetaFile::default()
    };
    let mut is_excluded = false;
    let mut fields = 0;
    while let Some(name) = words.next() {
        let Some(value) = words.next() else {
            return Err(bad(path, name));
        };
        fields += 1;
        match name {
            CRC => file.crc = Some(checksum(value).ok_or_else(|| bad(path, name))?),
            _ if schema == Schema::One => return Err(bad(path, name)),
            SIZE => file.size = Some(value.parse().map_err(|_| bad(path, name))?),
            EXCLUDED if value == "true" => is_excluded = true,
            EXCLUDED if value == "false" => is_excluded = false,
            _ => check_unknown(name, schema)?,
        }
    }
    if schema == Schema::One && fields != 1 {
        return Err(bad(path, CRC));
    }
    Ok((file, is_excluded))
}

/// A checksum, which has no leading zeros.
fn checksum(value: &str) -> Option<u32> {
    let crc: u32 = value.parse().ok()?;
    (crc.to_string() == value).then_some(crc)
}

fn bad(path: &str, field: &str) -> Error {
    Error::corruption(format_args!("bad field {field:?} of {path} in metadata"))
}

fn next<'a>(lines: &mut impl Iterator<Item = &'a str>, what: &str) -> Result<&'a str> {
    lines
        .next()
        .ok_or_else(|| Error::corruption(format_args!("metadata end before the {what}")))
}

fn number(line: &str, what: &str) -> Result<u64> {
    line.parse()
        .map_err(|_| Error::corruption(format_args!("bad {what} in metadata: {line:?}")))
}

/// The name and the value of a field that has a line of its own.
fn field(line: &str) -> Result<(&str, &str)> {
    let bad = || Error::corruption(format_args!("bad line in metadata: {line:?}"));
    line.split_once(' ').ok_or_else(bad)
}

/// Passes over a field that is not known, or refuses it.
fn check_unknown(name: &str, schema: Schema) -> Result<()> {
    if schema == Schema::One {
        return Err(Error::corruption(format_args!(
            "unknown field {name:?} in metadata of schema 1"
        )));
    }
    if name.starts_with(NOT_IGNORABLE) {
        return Err(Error::not_supported(format_args!(
            "field {name:?} of backups"
        )));
    }
    Ok(())
}

fn bytes(hex: &str) -> Result<Vec<u8>> {
    let bad = || Error::corruption("what the application added to metadata is not hexadecimal");
    let digit = |b: u8| (b as char).to_digit(16).map(|d| d as u8).ok_or_else(bad);
    let (pairs, rest) = hex.as_bytes().as_chunks::<2>();
    if !rest.is_empty() {
        return Err(bad());
    }
    let byte = |[high, low]: &[u8; 2]| Ok(digit(*high)? << 4 | digit(*low)?);
    pairs.iter().map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    fn sample(schema: Schema) -> Meta {
        let file = |path: &str, crc, size| MetaFile {
            path: path.to_owned(),
            crc: Some(crc),
            size: (schema == Schema::Two).then_some(size),
        };
        Meta {
            schema,
            timestamp: 1_700_000_000,
            sequence: 42,
            app_metadata: b"why\n".to_vec(),
            files: vec![
                file("shared_checksum/000012_sABCDEF_99.sst", 0, 99),
                file("private/3/CURRENT", u32::MAX, 16),
            ],
            excluded: Vec::new(),
        }
    }

    #[test]
    fn metadata_are_read_as_they_were_written() {
        for schema in [Schema::One, Schema::Two] {
            let mut meta = sample(schema);
            if schema == Schema::Two {
                meta.excluded = vec!["shared_checksum/000011_sABCDEF_7.sst".to_owned()];
            }
            assert_eq!(Meta::decode(meta.encode().as_bytes()).unwrap(), meta);
            meta.app_metadata.clear();
            meta.files.clear();
            meta.timestamp = -1;
            assert_eq!(Meta::decode(meta.encode().as_bytes()).unwrap(), meta);
        }
        let text = "1700000000\n42\nmetadata 7768790A\n2\n\
            shared_checksum/000012_sABCDEF_99.sst crc32 0\nprivate/3/CURRENT crc32 4294967295\n";
        assert_eq!(sample(Schema::One).encode(), text);
    }

    #[test]
    fn fields_of_schema_2_are_passed_over_or_refused() {
        let text = "schema_version 2.7\n1\n2\nnew field of later\nmetadata 41\n1\n\
            private/3/CURRENT temp kWarm crc32 7 later x\nshared/000004.sst ni::excluded true\n\
            // FOOTER\nlater checksum 7\n";
        let meta = Meta::decode(text.as_bytes()).unwrap();
        assert_eq!(meta.app_metadata, b"A");
        assert_eq!(meta.files.len(), 1);
        assert_eq!(
            (meta.files[0].crc, &*meta.excluded[0]),
            (Some(7), "shared/000004.sst")
        );
        for (was, is) in [
            ("new field", "ni::new field"),
            ("later x", "ni::later x"),
            ("later checksum", "ni::later checksum"),
            ("2.7", "3"),
        ] {
            let e = Meta::decode(text.replacen(was, is, 1).as_bytes()).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::NotSupported, "{is}: {e}");
        }
    }

    /// Whatever byte changes, the text is refused, or read as what it says then.
    #[test]
    fn changed_bytes_are_never_a_panic() {
        let full = "schema_version 2.1\n1\n2\nmore of it\nmetadata 41\n1\n\
            private/3/CURRENT temp kWarm crc32 7 size 16\nshared/000004.sst ni::excluded true\n\
            // FOOTER\nlater checksum 7\n";
        let own = [Schema::One, Schema::Two].map(|schema| sample(schema).encode());
        let mut read = 0;
        for text in own.iter().map(String::as_str).chain([full]) {
            for at in 0..text.len() {
                for byte in b"\n /09x:-\0\xff" {
                    let mut changed = text.as_bytes().to_vec();
                    changed[at] = *byte;
                    let Ok(mut meta) = Meta::decode(&changed) else {
                        continue;
                    };
                    read += 1;
                    if meta.schema == Schema::One {
                        meta.excluded.clear();
                    }
                    assert_eq!(Meta::decode(meta.encode().as_bytes()), Ok(meta));
                }
            }
        }
        assert!(read > 100, "{read}");
    }

    /// Without the line that says how many there are, the end could be missing.
    #[test]
    fn a_part_of_metadata_is_not_taken_for_all_of_it() {
        for schema in [Schema::One, Schema::Two] {
            let text = sample(schema).encode();
            for end in 0..text.len() {
                let e = Meta::decode(&text.as_bytes()[..end]).unwrap_err();
                assert_eq!(e.kind(), ErrorKind::Corruption, "{end}: {e}");
            }
        }
    }

    #[test]
    fn damaged_metadata_are_refused() {
        let text = sample(Schema::One).encode();
        for (was, is) in [
            ("crc32 0", "crc32 00"),
            ("crc32 0", "crc32 x"),
            ("crc32 0", "crc32 4294967296"),
            ("crc32 0", "sha 0"),
            ("crc32 0", "crc32 0 size 99"),
            (" crc32 0", ""),
            ("private/3/CURRENT", "private/3/../../CURRENT"),
            ("7768790A", "7768790"),
            ("7768790A", "77 8790A"),
            ("\n2\n", "\n3\n"),
            ("\n2\n", "\n\n2\n"),
            ("1700000000", "soon"),
            ("metadata", "mood"),
        ] {
            let damaged = text.replacen(was, is, 1);
            assert_ne!(damaged, text);
            let e = Meta::decode(damaged.as_bytes()).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::Corruption, "{is}: {e}");
        }
    }
}
