//! Opening databases with the options they were last opened with.

use std::path::Path;
use std::time::Duration;

use clap::ValueEnum;
use whitewater::merge_operator::MergeOperands;
use whitewater::{
    Cache, ColumnFamily, ColumnFamilyDescriptor, DBWithThreadMode, Env, Error, ErrorKind, Options,
    SingleThreaded,
};

use super::failure::{Failure, Result};
use super::options::OptionsFile;
use super::paths::DataDirs;
use super::session::Session;
use super::state::log_dir;
use crate::bench::merge;

/// The kind of database that commands open.
pub type Db = DBWithThreadMode<SingleThreaded>;

/// The size of the block cache in bytes.
const CACHE_BYTES: usize = 32 << 20;

/// A merge operator of RocksDB's library.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Operator {
    /// The last operand.
    Put,
    /// The sum of 64-bit little-endian integers.
    #[value(name = "uint64add")]
    UInt64Add,
    /// The operands, joined by commas.
    #[value(name = "stringappend")]
    StringAppend,
    /// The greatest operand in bytewise order.
    Max,
    /// The bytewise XOR of the operands.
    #[value(name = "bytesxor")]
    BytesXor,
}

impl Operator {
    /// RocksDB's name of the operator.
    fn name(self) -> &'static str {
        match self {
            Operator::Put => "PutOperator",
            Operator::UInt64Add => "UInt64AddOperator",
            Operator::StringAppend => "StringAppendOperator",
            Operator::Max => "MaxOperator",
            Operator::BytesXor => "BytesXOR",
        }
    }

    fn set(self, options: &mut Options) {
        Named {
            operator: self,
            delimiter: DELIMITER.to_vec(),
        }
        .set(options);
    }
}

/// The default delimiter of [`Operator::StringAppend`].
const DELIMITER: &[u8] = b",";

/// A merge operator with its parameters.
#[derive(Debug, PartialEq, Eq)]
struct Named {
    operator: Operator,
    /// The delimiter of [`Operator::StringAppend`].
    delimiter: Vec<u8>,
}

impl Named {
    /// Parses the text of an options file: a name, or `{id=name;delimiter=text;}`. Returns
    /// `None` for an unknown operator.
    fn parse(text: &str) -> Option<Self> {
        let braced = text.strip_prefix("{id=").and_then(|t| t.strip_suffix(";}"));
        let (name, delimiter) = match braced {
            None => (text, None),
            Some(inner) => match inner.split_once(";delimiter=") {
                Some((name, delimiter)) => (name, Some(delimiter)),
                None => (inner, None),
            },
        };
        let mut known = Operator::value_variants().iter().copied();
        let operator = known.find(|known| known.name() == name)?;
        let takes_one = operator == Operator::StringAppend;
        (takes_one || delimiter.is_none()).then(|| Named {
            operator,
            delimiter: delimiter.map_or(DELIMITER, str::as_bytes).to_vec(),
        })
    }

    fn set(self, options: &mut Options) {
        type Function = fn(&[u8], Option<&[u8]>, &MergeOperands<'_>) -> Option<Vec<u8>>;
        let name = self.operator.name();
        let function: Function = match self.operator {
            Operator::StringAppend => {
                let delimiter = self.delimiter;
                options.set_merge_operator_associative(name, move |_, old, operands| {
                    let all = old.into_iter().chain(operands.iter());
                    Some(all.collect::<Vec<_>>().join(&delimiter[..]))
                });
                return;
            }
            Operator::Put => |_, old, operands| Some(merge::put(old, operands.iter())),
            Operator::UInt64Add => |_, old, operands| Some(merge::uint64_add(old, operands.iter())),
            Operator::Max => |_, old, operands| Some(merge::max(old, operands.iter())),
            Operator::BytesXor => |_, old, operands| Some(merge::bytes_xor(old, operands.iter())),
        };
        options.set_merge_operator_associative(name, function);
    }
}

/// Options of a database and of its column families.
pub struct Loaded {
    /// The options of the database.
    pub options: Options,
    /// The options of the existing column families.
    pub families: Vec<ColumnFamilyDescriptor>,
}

impl Loaded {
    /// The options of the database in `dir`, from its newest options file or by default;
    /// with merge operators if `merges`.
    ///
    /// # Errors
    /// There is no database, or its manifest or options file cannot be read.
    pub fn new(session: &Session<'_>, dir: &Path, merges: bool) -> Result<Self> {
        if !exists(dir)? {
            return Err(Failure::Other(format!(
                "there is no database in {}: no CURRENT",
                dir.display()
            )));
        }
        let names = Db::list_cf(&Options::default(), dir)?;
        let (mut options, mut known) = if session.global.try_load_options {
            from_file(session, dir, merges)?
        } else {
            (Options::default(), Vec::new())
        };
        // This also applies without an options file: the logs must be found.
        let logs = log_dir(dir);
        options.set_wal_dir(if logs == dir { Path::new("") } else { &logs });
        let families = names.into_iter().map(|name| {
            match known.iter().position(|family| family.name() == name) {
                Some(at) => known.swap_remove(at),
                None => ColumnFamilyDescriptor::new(name, Options::default()),
            }
        });
        let mut families: Vec<_> = families.collect();
        if let Some(operator) = session.global.merge_operator.filter(|_| merges) {
            for family in &mut families {
                operator.set(family.options_mut());
            }
        }
        DataDirs::new(dir, session.global).set(&mut options, &mut families)?;
        Ok(Loaded { options, families })
    }

    /// The options of the column family `name`, or default ones.
    pub fn family_options(&mut self, name: &str) -> Options {
        let mut families = self.families.iter_mut();
        let family = families.find(|family| family.name() == name);
        family.map_or_else(Options::default, |family| family.options_mut().clone())
    }
}

/// The options of the newest options file, and a warning about unsupported ones; with merge
/// operators if `merges`.
pub fn from_file(
    session: &Session<'_>,
    dir: &Path,
    merges: bool,
) -> Result<(Options, Vec<ColumnFamilyDescriptor>)> {
    let cache = Cache::new_lru_cache(CACHE_BYTES);
    let loaded = Options::load_latest_with_errors(dir, Env::new()?, cache);
    let (options, mut families, errors) = match loaded {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok((Options::default(), Vec::new())),
        other => other?,
    };
    let file = OptionsFile::newest(dir)?;
    let mut named = Vec::new();
    for family in &mut families {
        let Some(text) = file.family_option(family.name(), "merge_operator") else {
            continue;
        };
        if let Some(operator) = Named::parse(text).filter(|_| merges) {
            operator.set(family.options_mut());
            named.push(text);
        }
    }
    let is_given = session.global.merge_operator.is_some();
    let is_served = |e: &&Error| {
        let text = e.to_string();
        let is_operator = text.contains("merge_operator");
        !(is_operator && (is_given || named.iter().any(|name| text.contains(name))))
    };
    let mut left: Vec<_> = errors.iter().filter(is_served).map(reason).collect();
    left.sort();
    left.dedup();
    if !left.is_empty() {
        session.warn(format_args!(
            "{}: passed over: {}",
            file.path().display(),
            left.join("; ")
        ));
    }
    Ok((options, families))
}

/// The largest length of a warning about one option in characters.
const MAX_REASON: usize = 80;

/// The text of an error without its kind and file, shortened.
fn reason(e: &Error) -> String {
    let text = e.to_string();
    let (_, text) = text.split_once(": ").unwrap_or(("", &text));
    let file = e.file().map(|file| format!(" in {}", file.display()));
    let file = file.unwrap_or_default();
    let text = text.strip_suffix(&file).unwrap_or(text);
    match text.char_indices().nth(MAX_REASON) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// An open database and the column family of the command.
pub struct Opened {
    /// The database.
    pub db: Db,
    family: String,
}

impl Opened {
    /// The column family of the command.
    ///
    /// # Errors
    /// It does not exist.
    pub fn cf(&self) -> Result<&ColumnFamily> {
        let cf = self.db.cf_handle(&self.family);
        cf.ok_or_else(|| no_family(&self.family))
    }
}

/// The failure for a column family that does not exist.
pub fn no_family(name: &str) -> Failure {
    Failure::negative(format_args!("there is no column family '{name}'"))
}

/// Which column families are opened for reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The default one and that of the command.
    One,
    /// All of them.
    All,
}

/// Opens the database in `dir` as a secondary instance that can follow a primary. Its own files are
/// in `own`, unless the user has named another directory.
///
/// # Errors
/// Opening fails, or there is no directory for its own files.
pub fn to_follow(session: &Session<'_>, dir: &Path, own: &Path) -> Result<Db> {
    let Loaded { options, families } = Loaded::new(session, dir, !session.global.ttl)?;
    let own = session.global.secondary_path.as_deref().unwrap_or(own);
    let db = Db::open_cf_descriptors_as_secondary(&options, dir, own, families)?;
    db.try_catch_up_with_primary()?;
    Ok(db)
}

/// Opens the database of `--db` for reading, without locking it or writing to it.
///
/// # Errors
/// Opening fails, or the column family does not exist.
pub fn to_read(session: &Session<'_>, dir: &Path, scope: Scope) -> Result<Opened> {
    // With TTL, merge operands end with their time of writing, which an operator would take
    // for data.
    let merges = !session.global.ttl;
    let Loaded { options, families } = Loaded::new(session, dir, merges)?;
    let family = session.global.column_family.clone();
    if !families.iter().any(|known| known.name() == family) {
        return Err(no_family(&family));
    }
    let wanted = families
        .into_iter()
        .filter(|known| scope == Scope::All || known.name() == family || known.name() == "default");
    let db = match &session.global.secondary_path {
        None => Db::open_cf_descriptors_read_only(&options, dir, wanted, false)?,
        Some(own) => {
            let own = own.as_path();
            let db = Db::open_cf_descriptors_as_secondary(&options, dir, own, wanted)?;
            db.try_catch_up_with_primary()?;
            db
        }
    };
    Ok(Opened { db, family })
}

/// Whether there is a database in `dir`.
///
/// # Errors
/// It cannot be determined, for lack of permissions for instance.
fn exists(dir: &Path) -> Result<bool> {
    let current = dir.join("CURRENT");
    current.try_exists().map_err(|e| Failure::io(&current, &e))
}

/// Opens the database of `--db` for writing. With `create`, creates the database and the
/// column family if necessary.
///
/// # Errors
/// Opening fails, usually because the database is open elsewhere, or the column family does
/// not exist.
pub fn to_write(session: &Session<'_>, create: bool) -> Result<Opened> {
    let dir = session.db()?;
    if session.global.secondary_path.is_some() {
        return Err(Failure::usage(
            "a secondary instance cannot write: leave out --secondary-path",
        ));
    }
    let family = session.global.column_family.clone();
    let mut loaded = if create && !exists(dir)? {
        Loaded {
            options: Options::default(),
            families: vec![ColumnFamilyDescriptor::new("default", Options::default())],
        }
    } else {
        Loaded::new(session, dir, true)?
    };
    if !loaded.families.iter().any(|known| known.name() == family) {
        if !create {
            return Err(no_family(&family));
        }
        let options = new_family_options(session);
        let descriptor = ColumnFamilyDescriptor::new(family.as_str(), options);
        loaded.families.push(descriptor);
    }
    let Loaded {
        mut options,
        families,
    } = loaded;
    options.create_if_missing(create);
    options.create_missing_column_families(create);
    options.set_error_if_exists(false);
    let db = if session.global.ttl {
        // A tool's compactions must not expire anything.

        Db::open_cf_descriptors_with_ttl(&options, dir, families, Duration::ZERO)?
    } else {
        Db::open_cf_descriptors(&options, dir, families)?
    };
    Ok(Opened { db, family })
}

/// The options of a new column family.
pub fn new_family_options(session: &Session<'_>) -> Options {
    let mut options = Options::default();
    if let Some(operator) = session.global.merge_operator {
        operator.set(&mut options);
    }
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_of_options_files_are_known_by_name_and_delimiter() {
        let append = |delimiter: &[u8]| {
            Some(Named {
                operator: Operator::StringAppend,
                delimiter: delimiter.to_vec(),
            })
        };
        assert_eq!(Named::parse("StringAppendOperator"), append(b","));
        let text = "{id=StringAppendOperator;delimiter=:;}";
        assert_eq!(Named::parse(text), append(b":"));
        assert_eq!(Named::parse("{id=StringAppendOperator;}"), append(b","));
        assert_eq!(Named::parse("nullptr"), None);
        assert_eq!(Named::parse("{id=PutOperator;delimiter=,;}"), None);
        let operator = Named::parse("UInt64AddOperator").map(|named| named.operator);
        assert_eq!(operator, Some(Operator::UInt64Add));
    }
}
