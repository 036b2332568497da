//! Options files: RocksDB's `OPTIONS-<number>`.
//!
//! A file is text: sections with lines `name=value`, where `#` begins a comment. The sections
//! are `[Version]`, `[DBOptions]` and, for each column family with the default one first,
//! `[CFOptions "name"]` and `[TableOptions/BlockBasedTable "name"]`, or the same for another format
//! of tables. In that case the options of block-based tables are comments.
//!
//! Invariant O1: RocksDB from 7.8 on can read what [`print()`] writes. Its parser refuses names
//! that it does not know, and has no section to put them in. So what it cannot read is written
//! in comments that begin with [`OURS`].
//!
//! * This module prints; [`read`] parses, and sets options from a file.
//! * `names` lists the options that RocksDB knows.

pub(crate) mod names;
pub(crate) mod read;

#[cfg(test)]
mod tests;

use super::table::OptionTable;
use super::table_format::{BLOCK_BASED, name_of, properties};
use super::{CfOptions, DbOptions};
use std::fmt::Write;

/// The beginning of a comment that holds an option that RocksDB does not know.
const OURS: &str = "# whitewater:";

/// The version of RocksDB whose options the file has.
const ROCKSDB_VERSION: &str = "7.8.3";
const FILE_VERSION: &str = "1.1";

/// The text of an options file. The default column family must be the first.
pub(crate) fn print<'a>(
    db: &DbOptions,
    families: impl IntoIterator<Item = (&'a str, &'a CfOptions)>,
) -> String {
    let mut out = String::from("# Options of a database, as RocksDB writes and reads them.\n\n");
    section(&mut out, "Version", None);
    line(&mut out, "rocksdb_version", ROCKSDB_VERSION);
    line(&mut out, "options_file_version", FILE_VERSION);
    out.push('\n');
    section(&mut out, "DBOptions", None);
    for (name, value) in db.to_text() {
        print_db(&mut out, name, &value);
    }
    for (family, options) in families {
        out.push('\n');
        section(&mut out, "CFOptions", Some(family));
        for (name, value) in options.to_text() {
            print_family(&mut out, name, &value);
        }
        line(&mut out, "comparator", options.comparator.name());
        let merge = options.merge_operator.as_ref();
        let merge = merge.map_or(read::NO_OBJECT, |m| m.name());
        line(&mut out, "merge_operator", merge);
        print_tables(&mut out, family, options);
    }
    out
}

/// Writes the format of tables and its options.
fn print_tables(out: &mut String, family: &str, options: &CfOptions) {
    let format = name_of(&options.table_factory);
    line(out, "table_factory", format);
    if format != BLOCK_BASED {
        for (name, value) in options.table.to_text() {
            ours(
                out,
                &format!("{}.{name}", read::BLOCK_BASED_OPTIONS),
                &value,
            );
        }
    }
    out.push('\n');
    section(out, &format!("TableOptions/{format}"), Some(family));
    for (name, value) in properties(&options.table_factory) {
        line(out, name, &value);
    }
    if format == BLOCK_BASED {
        for (name, value) in options.table.to_text() {
            print_table(out, name, &value);
        }
        let uncached = options.table.block_cache.is_none();
        line(out, "no_block_cache", &uncached.to_string());
    }
}

fn print_db(out: &mut String, name: &'static str, value: &str) {
    match name {
        // RocksDB would take the empty value for a path.
        "wal_dir" | "db_log_dir" if value.is_empty() => {}
        name => known(out, names::DB_78, rocksdb_name(name), value),
    }
}

fn print_family(out: &mut String, name: &'static str, value: &str) {
    match (name, value) {
        // It comes after all others.
        ("table_factory", _) => {}
        // For RocksDB, the file names the memtable that RocksDB has in their place.
        ("memtable", "auto" | "art") => {
            line(out, "memtable_factory", "SkipListFactory");
            ours(out, name, value);
        }
        ("memtable", "skip_list") => line(out, "memtable_factory", "SkipListFactory"),
        ("memtable", "vector") => line(out, "memtable_factory", "VectorRepFactory"),
        // For RocksDB, leaving the line out means as many ones as it needs. It does not accept an
        // empty value.
        ("max_bytes_for_level_multiplier_additional", "") => {}
        ("compression_opts" | "bottommost_compression_opts", value) => {
            line(out, name, &without_newer_parts(value));
        }
        (name, value) => known(out, names::FAMILY_78, rocksdb_name(name), value),
    }
}

/// `compression_opts` without the parts that RocksDB before version 8 refuses to read, if those
/// have their defaults.
fn without_newer_parts(value: &str) -> String {
    let mut value = value.to_owned();
    for part in ["max_compressed_bytes_per_kb=896;", "checksum=false;"] {
        value = value.replace(part, "");
    }
    value
}

fn print_table(out: &mut String, name: &'static str, value: &str) {
    known(out, names::TABLE_78, name, value);
}

/// The name that RocksDB has for the option `name`.
fn rocksdb_name(name: &str) -> &str {
    match name {
        "memtable" => "memtable_factory",
        "wal_ttl_seconds" => "WAL_ttl_seconds",
        "wal_size_limit_mb" => "WAL_size_limit_MB",
        name => name,
    }
}

/// Writes a line for RocksDB if `name` is among the names that it knows, otherwise a comment.
fn known(out: &mut String, all: &[&str], name: &str, value: &str) {
    if all.contains(&name) {
        line(out, name, value);
    } else {
        ours(out, name, value);
    }
}

fn section(out: &mut String, title: &str, argument: Option<&str>) {
    // Writing to a string cannot fail, here and below.
    let _ = match argument {
        None => writeln!(out, "[{title}]"),
        Some(name) => writeln!(out, "[{title} \"{}\"]", escaped(name, true)),
    };
}

fn line(out: &mut String, name: &str, value: &str) {
    let text = is_string(name);
    let _ = writeln!(out, "  {name}={}", escaped(value, text));
}

fn ours(out: &mut String, name: &str, value: &str) {
    let _ = writeln!(out, "  {OURS} {name}={}", escaped(value, false));
}

/// Whether RocksDB reads the value of `name` as a string, in which characters may be escaped.
/// In other values, a colon is not escaped.
fn is_string(name: &str) -> bool {
    matches!(name, "wal_dir" | "db_log_dir")
}

/// `text` as it is written in a file: on one line, with nothing in it taken for a comment.
fn escaped(text: &str, colons: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\\' | '#' => out.extend(['\\', c]),
            ':' if colons => out.push_str("\\:"),
            _ => out.push(c),
        }
    }
    out
}
