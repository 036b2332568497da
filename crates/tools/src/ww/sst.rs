//! Tables: their entries, blocks, properties and integrity.

use std::cmp::Ordering;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueEnum};
use serde_json::{Map, Value, json};
use whitewater_storage::coding::{get_fixed32, get_fixed64, get_varint64};
use whitewater_storage::filename::{self, FileType};
use whitewater_storage::fs::Fs;
use whitewater_storage::fs::os::OsFs;
use whitewater_storage::internal_iterator::InternalIterator;
use whitewater_storage::key::{
    Comparator, InternalComparator, MAX_SEQUENCE, ParsedKey, UserComparator, ValueType,
    parse_internal_key, seek_key, user_key,
};
use whitewater_storage::sst::{
    BlockRole, CompressionType, ReadLimits, Table, TableProperties, TableReadOptions,
    TableReaderOptions,
};
use whitewater_storage::{Error, ErrorKind};

use super::blobs::print_decoded;
use super::cli::bytes;
use super::failure::{Failure, Result};
use super::paths::DataDirs;
use super::session::Session;
use super::text::{self, Form, hex, type_name};

/// What to do with tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    /// Print entries.
    Scan,
    /// Read all entries and print their number.
    Check,
    /// Check the checksums, order, index and properties of all blocks.
    Verify,
    /// Print blocks and their entries.
    Raw,
    /// Print properties.
    #[value(alias = "none")]
    Properties,
}

/// Prints or checks tables (SST files), whether or not they belong to a database.
///
/// Entries appear as `'key' seq:N, type:N => value`, as in sst_dump. Range deletions come
/// last, with their end keys as values.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ww sst-dump /data/db/000012.sst --hex --max-keys 10
  ww sst-dump /data/db --command verify
  ww sst-dump 000012.sst 000013.sst --command properties --json
  ww sst-dump 000012.sst --command raw")]
pub struct Dump {
    /// Tables or directories with tables, instead of --db.
    files: Vec<PathBuf>,
    /// A table or directory, by sst_dump's name of the flag.
    #[arg(long, hide = true)]
    file: Vec<PathBuf>,
    /// What to do.
    #[arg(long, value_enum, default_value = "scan")]
    command: What,
    /// The first key.
    #[arg(long, value_name = "KEY")]
    from: Option<OsString>,
    /// The key to stop before.
    #[arg(long, value_name = "KEY")]
    to: Option<OsString>,
    /// The number of entries of each table to stop after.
    #[arg(long, visible_aliases = ["read-num", "limit"], value_name = "N")]
    max_keys: Option<u64>,
    /// Also print the properties.
    #[arg(long)]
    show_properties: bool,
    /// Of values in blob files (type 17), print where they are.
    #[arg(long)]
    decode_blob_index: bool,
}

/// A stand-in for an unknown comparator: bytewise order under the other's name. It serves
/// only to read a table from beginning to end.
struct Unknown(String);

impl Comparator for Unknown {
    fn name(&self) -> &str {
        &self.0
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        a.cmp(b)
    }
}

/// The comparator with this name.
fn order_of(name: Option<String>) -> UserComparator {
    let name = name.unwrap_or_default();
    if name.is_empty() || name == UserComparator::Bytewise.name() {
        UserComparator::Bytewise
    } else if name == UserComparator::ReverseBytewise.name() {
        UserComparator::ReverseBytewise
    } else {
        UserComparator::Custom(Arc::new(Unknown(name)))
    }
}

/// Opens the table at `path`, whatever its comparator. `largest_seqno` comes from the
/// manifest, if it is known.
///
/// # Errors
/// Those of [`Table::open`].
pub fn open(
    path: &Path,
    largest_seqno: Option<u64>,
) -> Result<(Arc<Table>, UserComparator), Error> {
    let file = OsFs.open_random(path)?;
    let size = file.len()?;
    let properties = TableProperties::read(Arc::clone(&file), size)?;
    let open = |order: UserComparator| {
        let options = TableReaderOptions {
            comparator: InternalComparator::new(order.clone()),
            largest_seqno,
            ..TableReaderOptions::default()
        };
        let table = Table::open(Arc::clone(&file), size, options)?;
        Ok((Arc::new(table), order))
    };
    let comparator = properties.comparator();
    let known = comparator.is_some();
    match open(order_of(comparator)) {
        // A plain table does not say how it is sorted.
        Err(e) if !known => open(UserComparator::ReverseBytewise).map_err(|_: Error| e),
        other => other,
    }
}

/// Read options for blocks that are read once.
pub const READ: TableReadOptions = TableReadOptions {
    verify_checksums: true,
    fill_cache: false,
    readahead: 0,
    in_background: false,
    limits: ReadLimits::NONE,
};

impl Dump {
    /// Runs the command.
    ///
    /// # Errors
    /// A table cannot be read or is damaged.
    pub fn run(&self, session: &mut Session<'_>) -> Result<()> {
        let paths = self.paths(session)?;
        let (several, is_check) = (
            paths.len() > 1,
            matches!(self.command, What::Check | What::Verify),
        );
        let count = u64::try_from(paths.len()).ok().filter(|_| is_check);
        let progress = session.progress("verify", "files", count);
        let mut damaged = 0;
        for path in &paths {
            if several && !is_check && !session.json {
                session.line(format_args!("# {}", path.display()))?;
            }
            let outcome = self.one(session, path);
            progress.add(1);
            match outcome {
                Err(Failure::Database(e)) if is_check && e.kind() == ErrorKind::Corruption => {
                    eprintln!("ww: {e}");
                    damaged += 1;
                }
                other => other?,
            }
        }
        progress.finish();
        match damaged {
            0 => Ok(()),
            n => Err(Failure::negative(format_args!(
                "{n} of {} tables are damaged",
                paths.len()
            ))),
        }
    }

    fn paths(&self, session: &Session<'_>) -> Result<Vec<PathBuf>> {
        let mut places: Vec<_> = self.files.iter().chain(&self.file).cloned().collect();
        if places.is_empty() {
            let db = session.db()?;
            places.push(db.to_owned());
            let elsewhere = DataDirs::new(db, session.global).elsewhere();
            places.extend(elsewhere.into_iter().map(Path::to_owned));
        }
        // The directory of a database with other paths may have no tables.
        let several = self.files.is_empty() && self.file.is_empty() && places.len() > 1;
        let mut paths = Vec::new();
        for place in places {
            if !place.is_dir() {
                paths.push(place);
                continue;
            }
            let listed = std::fs::read_dir(&place).map_err(|e| Failure::io(&place, &e))?;
            let mut tables = Vec::new();
            for entry in listed {
                let entry = entry.map_err(|e| Failure::io(&place, &e))?;
                let name = entry.file_name();
                let kind = name.to_str().and_then(filename::parse);
                let is_table = matches!(kind, Some(FileType::Table(_)));
                if is_table || entry.path().extension().is_some_and(|e| e == "sst") {
                    tables.push(entry.path());
                }
            }
            if tables.is_empty() && !several {
                let place = place.display();
                return Err(Failure::negative(format_args!("{place}: no tables")));
            }
            tables.sort();
            paths.extend(tables);
        }
        if paths.is_empty() {
            return Err(Failure::negative("there are no tables"));
        }
        Ok(paths)
    }

    fn one(&self, session: &mut Session<'_>, path: &Path) -> Result<()> {
        if self.command == What::Properties {
            let file = OsFs.open_random(path)?;
            let size = file.len()?;
            return print_properties(session, path, &TableProperties::read(file, size)?);
        }
        let (table, order) = open(path, None)?;
        if self.show_properties {
            print_properties(session, path, table.properties())?;
        }
        let is_known = order.is_builtin();
        if !is_known && (self.command == What::Verify || self.from.is_some() || self.to.is_some()) {
            return Err(Failure::Database(Error::not_supported(format_args!(
                "{}: sorted by comparator {}, which is not known",
                path.display(),
                order.name()
            ))));
        }
        match self.command {
            What::Scan => self.scan(session, &table, &order),
            What::Raw => self.raw(session, path, &table),
            What::Check => {
                let count = count(&table)?;
                session.either(
                    format_args!("{}: OK, {count} entries", path.display()),
                    json!({"file": path.to_string_lossy(), "ok": true, "entries": count}),
                )
            }
            What::Verify => {
                table.verify()?;
                session.either(
                    format_args!("{}: OK", path.display()),
                    json!({"file": path.to_string_lossy(), "ok": true}),
                )
            }
            What::Properties => Ok(()),
        }
    }

    fn scan(
        &self,
        session: &mut Session<'_>,
        table: &Arc<Table>,
        order: &UserComparator,
    ) -> Result<()> {
        let parse = |key: &Option<OsString>| {
            let key = key.as_deref().map(bytes);
            key.map(|key| session.keys.parse(key, "key")).transpose()
        };
        let (from, to) = (parse(&self.from)?, parse(&self.to)?);
        let mut left = self.max_keys.unwrap_or(u64::MAX);
        let is_past = |key: &[u8]| {
            let to = to.as_ref();
            to.is_some_and(|to| order.compare(key, to) != Ordering::Less)
        };
        let mut iter = table.iter(READ);
        match &from {
            Some(from) => iter.seek(&seek_key(from, MAX_SEQUENCE)),
            None => iter.seek_to_first(),
        }
        while left > 0 && iter.valid() && !is_past(user_key(iter.key())) {
            self.print(session, iter.key(), iter.value())?;
            left -= 1;
            iter.next();
        }
        iter.status()?;
        for tombstone in table.range_tombstones() {
            let begins = from.as_ref();
            let ends =
                begins.is_some_and(|f| order.compare(&tombstone.end, f) != Ordering::Greater);
            if left > 0 && !ends && !is_past(&tombstone.start) {
                let key = ParsedKey {
                    user_key: &tombstone.start,
                    seq: tombstone.seq,
                    ty: ValueType::RangeDeletion,
                };
                print_parsed(session, &key, &tombstone.end)?;
                left -= 1;
            }
        }
        Ok(())
    }

    fn print(&self, session: &mut Session<'_>, key: &[u8], value: &[u8]) -> Result<()> {
        match self.decode_blob_index {
            true => print_decoded(session, key, value),
            false => print_entry(session, key, value),
        }
    }

    fn raw(&self, session: &mut Session<'_>, path: &Path, table: &Table) -> Result<()> {
        let checksum = format!("{:?}", table.checksum_type());
        session.either(
            format_args!("{}: checksum {checksum}", path.display()),
            json!({"file": path.to_string_lossy(), "checksum": checksum}),
        )?;
        for block in table.blocks()? {
            let number = table.compression_of(&block)?;
            let compression = match CompressionType::from_u8(number) {
                Some(known) => format!("{known:?}"),
                None => format!("{number}"),
            };
            let (kind, detail) = match &block.kind {
                BlockRole::Data { separator } => ("data", session.keys.show(separator)),
                BlockRole::Index => ("index", String::new()),
                BlockRole::IndexPartition => ("index partition", String::new()),
                BlockRole::FilterPartition => ("filter partition", String::new()),
                BlockRole::Meta { name } => ("meta", name.clone()),
            };
            session.either(
                format_args!(
                    "block at {}: {kind}, {} bytes, compression {compression} {detail}",
                    block.offset, block.size
                ),
                json!({
                    "offset": block.offset, "size": block.size, "kind": kind,
                    "compression": compression, "detail": detail,
                }),
            )?;
            if let BlockRole::Data { .. } = block.kind {
                table.entries_of(&block, |key, value| {
                    if !session.json {
                        session.out.write_all(b"  ")?;
                    }
                    self.print(session, key, value)
                })?;
            }
        }
        Ok(())
    }
}

/// Reads all entries and returns their number.
fn count(table: &Arc<Table>) -> Result<u64> {
    let mut iter = table.iter(READ);
    let mut count = table.range_tombstones().len() as u64;
    iter.seek_to_first();
    while iter.valid() {
        parse_internal_key(iter.key())?;
        count += 1;
        iter.next();
    }
    iter.status()?;
    let stated = table.properties().num_entries;
    if count != stated {
        return Err(Failure::Database(Error::corruption(format_args!(
            "table has {count} entries, its properties say {stated}"
        ))));
    }
    Ok(count)
}

/// Prints an entry with its internal key.
///
/// # Errors
/// The internal key is malformed, or writing fails.
pub fn print_entry(session: &mut Session<'_>, key: &[u8], value: &[u8]) -> Result<()> {
    print_parsed(session, &parse_internal_key(key)?, value)
}

/// Prints an entry.
///
/// # Errors
/// Writing fails.
pub fn print_parsed(session: &mut Session<'_>, key: &ParsedKey<'_>, value: &[u8]) -> Result<()> {
    // The value of a range deletion is its end key.
    let form = match key.ty {
        ValueType::RangeDeletion => session.keys,
        _ => session.values,
    };
    if session.json {
        let mut fields = Map::new();
        session.keys.put(&mut fields, "key", key.user_key);
        fields.insert("sequence".to_owned(), key.seq.into());
        fields.insert("type".to_owned(), type_name(key.ty).into());
        form.put(&mut fields, "value", value);
        return session.object(fields);
    }
    let shown = text::internal_key(key, session.keys);
    let value = match form {
        Form::Raw => value.escape_ascii().to_string(),
        Form::Hex => hex(value).split_off(2),
    };
    session.line(format_args!("{shown} => {value}"))
}

fn print_properties(
    session: &mut Session<'_>,
    path: &Path,
    properties: &TableProperties,
) -> Result<()> {
    let values = properties.raw.iter();
    let values = values.map(|(name, value)| (name.clone(), property(name, value)));
    if session.json {
        let values: Map<_, _> = values.collect();
        return session.line(json!({"file": path.to_string_lossy(), "properties": values}));
    }
    for (name, value) in values {
        let value = match &value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        session.line(format_args!("  {name}: {value}"))?;
    }
    Ok(())
}

/// The value of a property: a number where RocksDB stores one, otherwise text, otherwise
/// hexadecimal digits.
fn property(name: &str, value: &[u8]) -> Value {
    let exact = |number: Option<u64>, rest: &[u8]| number.filter(|_| rest.is_empty());
    let mut rest = value;
    let number = match name {
        "rocksdb.block.based.table.index.type" | "rocksdb.external_sst_file.version" => {
            let number = get_fixed32(&mut rest);
            exact(number.map(u64::from), rest)
        }
        "rocksdb.external_sst_file.global_seqno" => exact(get_fixed64(&mut rest), rest),
        _ if !name.starts_with("rocksdb.") || is_text(name) => None,
        _ => exact(get_varint64(&mut rest), rest),
    };
    match (number, std::str::from_utf8(value)) {
        (Some(number), _) => number.into(),
        (None, Ok(text)) if !text.contains(|c: char| c.is_control()) => text.into(),
        _ => hex(value).into(),
    }
}

/// Whether RocksDB stores text in the property.
fn is_text(name: &str) -> bool {
    let texts = [
        "comparator",
        "compression",
        "operator",
        "extractor.name",
        "collectors",
        "policy",
        "family.name",
        "identity",
        "filtering",
        "compression_options",
    ];
    texts.iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_are_numbers_texts_or_digits() {
        assert_eq!(property("rocksdb.num.entries", &[0xac, 2]), json!(300));
        assert_eq!(property("rocksdb.compression", b"1"), json!("1"));
        assert_eq!(
            property("rocksdb.external_sst_file.version", &[2, 0, 0, 0]),
            json!(2)
        );
        assert_eq!(property("user.count", b"\x05"), json!("0x05"));
        assert_eq!(property("user.name", b"abc"), json!("abc"));
    }
}
