//! Reading options files.
//!
//! [`parse`] finds the sections and their lines, whichever program wrote them. The `set_*`
//! functions set one option each. An option of a RocksDB file is set, or is accepted because
//! its value describes what this engine does anyway, or is refused by name.

use super::{OURS, names};
use crate::options::assign::own_name;
use crate::options::prefix::PrefixExtractor;
use crate::options::table::OptionTable;
use crate::options::table_format::{BLOCK_BASED, CUCKOO, PLAIN, check_numbers, set_property};
use crate::options::text::OptionText;
use crate::options::{CfOptions, DbOptions};
use whitewater_storage::key::UserComparator;
use whitewater_storage::sst::TableFormat;
use whitewater_storage::{Error, Result};

/// RocksDB's text for "no object".
pub(super) const NO_OBJECT: &str = "nullptr";
/// What stands before the options of block-based tables where another format is written.
pub(super) const BLOCK_BASED_OPTIONS: &str = "block_based_table_factory";

/// Names and values, in the order of the file.
pub(crate) type Lines = Vec<(String, String)>;

/// The contents of an options file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Parsed {
    pub db: Lines,
    pub families: Vec<ParsedFamily>,
}

/// The contents of an options file for one column family.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ParsedFamily {
    pub name: String,
    pub options: Lines,
    /// Options of block-based tables.
    pub table: Lines,
    /// Options of the tables that are written, if these are of another format.
    pub format: Lines,
}

/// The section that a line belongs to.
enum Section {
    Version,
    Db,
    Family,
    Table,
    Format,
}

/// Parses an options file.
///
/// # Errors
/// `InvalidArgument` naming the malformed line, or the section that is unknown, repeated,
/// missing or out of order.
pub(crate) fn parse(text: &str) -> Result<Parsed> {
    let mut parsed = Parsed::default();
    let mut section = None;
    let mut has_db = false;
    for (at, raw) in text.lines().enumerate() {
        let bad = |what: &str| Error::invalid(format_args!("line {}: {what}", at + 1));
        let raw = raw.trim();
        let line = match raw.strip_prefix(OURS) {
            Some(own) => without_comment(own),
            None => without_comment(raw),
        };
        if line.is_empty() {
            continue;
        }
        let title = line.strip_prefix('[').and_then(|t| t.strip_suffix(']'));
        if let Some(title) = title {
            section = Some(begin(&mut parsed, &mut has_db, title).map_err(bad)?);
            continue;
        }
        let (name, value) = line.split_once('=').ok_or_else(|| bad("no name=value"))?;
        let (name, value) = (name.trim(), value.trim());
        if name.is_empty() {
            return Err(bad("a value without a name"));
        }
        let lines = match (&section, parsed.families.last_mut()) {
            (Some(Section::Version), _) => continue,
            (Some(Section::Db), _) => &mut parsed.db,
            (Some(Section::Family), Some(family)) => &mut family.options,
            (Some(Section::Table), Some(family)) => &mut family.table,
            (Some(Section::Format), Some(family)) => &mut family.format,
            _ => return Err(bad("a value before any section")),
        };
        lines.push((name.to_owned(), unescaped(value)));
    }
    if !has_db {
        return Err(Error::invalid("there is no section [DBOptions]"));
    }
    if parsed.families.is_empty() {
        return Err(Error::invalid(
            "there is no section [CFOptions \"default\"]",
        ));
    }
    Ok(parsed)
}

/// Begins the section with the title `title`.
fn begin(parsed: &mut Parsed, has_db: &mut bool, title: &str) -> Result<Section, &'static str> {
    let (kind, name) = match title.split_once('"') {
        None => (title.trim(), None),
        Some((kind, rest)) => {
            let name = rest.rsplit_once('"').ok_or("a quote without an end")?.0;
            (kind.trim(), Some(unescaped(name)))
        }
    };
    match (kind, name) {
        ("Version", None) => Ok(Section::Version),
        ("DBOptions", None) if *has_db => Err("[DBOptions] is there twice"),
        ("DBOptions", None) => {
            *has_db = true;
            Ok(Section::Db)
        }
        ("CFOptions", Some(name)) => {
            if parsed.families.is_empty() && name != "default" {
                return Err("the first column family is not the default one");
            }
            if parsed.families.iter().any(|family| family.name == name) {
                return Err("a column family is there twice");
            }
            parsed.families.push(ParsedFamily {
                name,
                options: Vec::new(),
                table: Vec::new(),
                format: Vec::new(),
            });
            Ok(Section::Family)
        }
        (kind, Some(name)) if kind.starts_with("TableOptions/") => {
            if parsed.families.last().is_none_or(|f| f.name != name) {
                return Err("table options do not follow those of their column family");
            }
            match kind.strip_prefix("TableOptions/") {
                Some(BLOCK_BASED) => Ok(Section::Table),
                Some(PLAIN | CUCKOO) => Ok(Section::Format),
                _ => Err("an unknown format of tables"),
            }
        }
        _ => Err("an unknown section"),
    }
}

/// The part of a line before its comment.
fn without_comment(line: &str) -> &str {
    let mut escaped = false;
    for (at, byte) in line.bytes().enumerate() {
        match byte {
            b'#' if !escaped => return line[..at].trim(),
            b'\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    line.trim()
}

fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => out.extend(chars.next().map(|c| match c {
                'n' => '\n',
                'r' => '\r',
                c => c,
            })),
            c => out.push(c),
        }
    }
    out
}

/// Sets an option of a database.
///
/// # Errors
/// `NotSupported` or `InvalidArgument` naming the option, if it is unknown or its value cannot
/// be honoured. Nothing is set in that case.
pub(crate) fn set_db(options: &mut DbOptions, name: &str, value: &str) -> Result<()> {
    set(options, own_name(name), value, names::DB_ANYWAY)
}

/// Sets an option of a column family. Fails as [`set_db`] does.
pub(crate) fn set_family(options: &mut CfOptions, name: &str, value: &str) -> Result<()> {
    match name {
        "comparator" => {
            let built_in = [UserComparator::Bytewise, UserComparator::ReverseBytewise];
            let known = built_in.into_iter().find(|c| c.name() == value);
            options.comparator = known.ok_or_else(|| not_built(name, value))?;
            Ok(())
        }
        "merge_operator" if value == NO_OBJECT => Ok(()),
        "merge_operator" => Err(not_built(name, value)),
        "table_factory" => {
            let format = TableFormat::parse(value).ok_or_else(|| not_built(name, value))?;
            check_numbers(name, &format)?;
            options.table_factory = format;
            Ok(())
        }
        "prefix_extractor" => {
            let parsed = <Option<PrefixExtractor> as OptionText>::parse(value);
            options.prefix_extractor = parsed.ok_or_else(|| not_built(name, value))?;
            Ok(())
        }
        name => match in_block_based(name) {
            Some(inner) => set_table(options, inner, value),
            None => set(options, own_name(name), value, names::FAMILY_ANYWAY),
        },
    }
}

/// The name of an option of block-based tables that stands behind a dot.
fn in_block_based(name: &str) -> Option<&str> {
    name.strip_prefix(BLOCK_BASED_OPTIONS)?.strip_prefix('.')
}

/// Sets an option of the tables that are written, if these are not block-based. Fails as [`set_db`]
/// does.
pub(crate) fn set_format(options: &mut CfOptions, name: &str, value: &str) -> Result<()> {
    let mut format = options.table_factory;
    set_property(&mut format, name, value).ok_or_else(|| not_built(name, value))?;
    check_numbers(name, &format)?;
    options.table_factory = format;
    Ok(())
}

/// Sets a table option of a column family. `no_block_cache` is left to the caller. Fails as
/// [`set_db`] does.
pub(crate) fn set_table(options: &mut CfOptions, name: &str, value: &str) -> Result<()> {
    set(&mut options.table, name, value, names::TABLE_ANYWAY)
}

/// Sets an option that has a row, unless its value cannot be honoured. For an option without a
/// row, accepts the values in `anyway`.
fn set<T: OptionTable + Clone>(
    options: &mut T,
    name: &str,
    value: &str,
    anyway: &[(&str, &str)],
) -> Result<()> {
    if T::changes_live(name).is_some() {
        let mut changed = options.clone();
        changed.set(name, value)?;
        changed.check()?;
        *options = changed;
        return Ok(());
    }
    check_anyway(anyway, name, value)
}

/// Checks that `anyway` accepts `value` for the option `name`, which has no row.
///
/// # Errors
/// `InvalidArgument` if the option is unknown, `NotSupported` if its value cannot be honoured; both
/// name the option.
pub(crate) fn check_anyway(anyway: &[(&str, &str)], name: &str, value: &str) -> Result<()> {
    match anyway.iter().find(|(known, _)| *known == name) {
        None => Err(Error::invalid(format_args!("unknown option {name}"))),
        Some((_, accepted)) if is_accepted(value, accepted) => Ok(()),
        Some(_) => Err(not_built(name, value)),
    }
}

fn is_accepted(value: &str, accepted: &str) -> bool {
    let same = |a: &str| match (a.parse::<f64>(), value.parse::<f64>()) {
        (Ok(a), Ok(v)) => a == v,
        _ => a == value,
    };
    match accepted {
        names::ANY => true,
        names::ONES => value.split(':').all(|part| part == "1"),
        several => several.split('|').any(same),
    }
}

fn not_built(name: &str, value: &str) -> Error {
    Error::not_supported(format_args!("option {name}={value} cannot be honoured"))
}
