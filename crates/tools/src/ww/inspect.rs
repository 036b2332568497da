//! Information that an open database gives about itself.

use std::ffi::OsString;

use clap::Args;
use serde_json::{Value, json};
use whitewater::properties;

use super::cli::bytes;
use super::failure::{Failure, Result};
use super::open::{self, Scope};
use super::session::{Place, Session};

/// Prints the approximate size of a range of keys in files, in bytes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ww --db /data/db approxsize --from a --to b")]
pub struct ApproxSize {
    /// The first key.
    #[arg(long, value_name = "KEY")]
    from: OsString,
    /// The key to stop before.
    #[arg(long, value_name = "KEY")]
    to: OsString,
}

impl ApproxSize {
    /// Runs the command.
    ///
    /// # Errors
    /// The database cannot be opened.
    pub fn run(&self, session: &mut Session<'_>) -> Result<()> {
        let from = session.keys.parse(bytes(&self.from), "key")?;
        let to = session.keys.parse(bytes(&self.to), "key")?;
        let opened = open::to_read(session, session.db()?, Scope::One)?;
        let range = whitewater::Range::new(&from, &to);
        let sizes = opened.db.get_approximate_sizes_cf(opened.cf()?, &[range]);
        let size: u64 = sizes.iter().sum();
        session.either(size, json!({"bytes": size}))
    }
}

/// Prints the level, size, number of entries and key range of each live table.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ww live-files /data/db
  ww --db /data/db live-files --json")]
pub struct LiveFiles {
    #[command(flatten)]
    place: Place,
    /// Sort by file name instead of column family and level.
    #[arg(long)]
    sort_by_filename: bool,
}

impl LiveFiles {
    /// Runs the command.
    ///
    /// # Errors
    /// The database cannot be opened.
    pub fn run(&self, session: &mut Session<'_>) -> Result<()> {
        let dir = &self.place.of(session)?;
        let opened = open::to_read(session, dir, Scope::All)?;
        let mut files = opened.db.live_files()?;
        if self.sort_by_filename {
            files.sort_by(|a, b| a.name.cmp(&b.name))
        } else {
            files.sort_by(|a, b| {
                let order = |f: &whitewater::LiveFile| (f.column_family_name.clone(), f.level);
                order(a).cmp(&order(b)).then_with(|| a.name.cmp(&b.name))
            })
        }
        let names = [
            "file",
            "family",
            "level",
            "size",
            "entries",
            "deletions",
            "smallest",
            "largest",
        ];
        let key = |key: &Option<Vec<u8>>| match key {
            Some(key) => Value::from(session.keys.show(key)),
            None => Value::Null,
        };
        let rows: Vec<_> = files
            .iter()
            .map(|file| {
                vec![
                    Value::from(file.name.trim_start_matches('/')),
                    Value::from(file.column_family_name.as_str()),
                    Value::from(file.level),
                    Value::from(file.size),
                    Value::from(file.num_entries),
                    Value::from(file.num_deletions),
                    key(&file.start_key),
                    key(&file.end_key),
                ]
            })
            .collect();
        session.table(&names, &rows)
    }
}

/// Prints properties of the database or the column family by RocksDB's names.
///
/// Without names, it prints all properties that are numbers.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ww --db /data/db properties
  ww --db /data/db properties rocksdb.stats
  ww --db /data/db properties whitewater.memory
  ww --db /data/db properties estimate-num-keys --column-family orders")]
pub struct Properties {
    /// The names of the properties; the prefix `rocksdb.` is optional, `whitewater.` is not.
    names: Vec<String>,
}

impl Properties {
    /// Runs the command.
    ///
    /// # Errors
    /// A name is unknown, or the database cannot be opened.
    pub fn run(&self, session: &mut Session<'_>) -> Result<()> {
        let opened = open::to_read(session, session.db()?, Scope::One)?;
        let value =
            |name: &str| -> Result<_> { Ok(opened.db.property_value_cf(opened.cf()?, name)?) };
        let mut names = Vec::new();
        if self.names.is_empty() {
            for name in numbers() {
                if value(&name)?.is_some() {
                    names.push(name);
                }
            }
        }
        names.extend(self.names.iter().map(|name| {
            if name.starts_with("rocksdb.") || name.starts_with("whitewater.") {
                name.clone()
            } else {
                format!("rocksdb.{name}")
            }
        }));
        for name in names {
            let Some(value) = value(&name)? else {
                return Err(Failure::negative(format_args!(
                    "there is no property '{name}'"
                )));
            };
            let value = value.trim_end();
            let mark = if value.contains('\n') { ":\n" } else { ": " };
            session.either(
                format_args!("{name}{mark}{value}"),
                json!({"name": name, "value": value}),
            )?;
        }
        Ok(())
    }
}

/// The properties that are numbers.
fn numbers() -> Vec<String> {
    let names = [
        properties::NUM_IMMUTABLE_MEM_TABLE,
        properties::MEM_TABLE_FLUSH_PENDING,
        properties::COMPACTION_PENDING,
        properties::BACKGROUND_ERRORS,
        properties::CUR_SIZE_ACTIVE_MEM_TABLE,
        properties::CUR_SIZE_ALL_MEM_TABLES,
        properties::NUM_ENTRIES_ACTIVE_MEM_TABLE,
        properties::NUM_ENTRIES_IMM_MEM_TABLES,
        properties::NUM_DELETES_ACTIVE_MEM_TABLE,
        properties::NUM_DELETES_IMM_MEM_TABLES,
        properties::ESTIMATE_NUM_KEYS,
        properties::ESTIMATE_TABLE_READERS_MEM,
        properties::NUM_SNAPSHOTS,
        properties::ESTIMATE_LIVE_DATA_SIZE,
        properties::MIN_LOG_NUMBER_TO_KEEP,
        properties::TOTAL_SST_FILES_SIZE,
        properties::LIVE_SST_FILES_SIZE,
        properties::BASE_LEVEL,
        properties::ESTIMATE_PENDING_COMPACTION_BYTES,
        properties::BLOCK_CACHE_CAPACITY,
        properties::BLOCK_CACHE_USAGE,
    ];
    let names = names.iter().map(|name| name.as_str().to_owned());
    let levels = (0..7).map(|level| format!("rocksdb.num-files-at-level{level}"));
    names.chain(levels).collect()
}
