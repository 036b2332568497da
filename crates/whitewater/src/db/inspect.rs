//! What an open database tells about its tables.

use crate::column_family::ColumnFamilyData;
use crate::column_family::SuperVersion;
use crate::db::Engine;
use crate::memtable::MemTableStats;
use crate::options::assign::TABLE_FACTORY;
use crate::options::table::OptionTable;
use crate::options::{CfOptions, DbOptions};
use crate::read::estimate::ErrorMargin;
use crate::version::Version;
use std::path::PathBuf;
use std::sync::Arc;
use whitewater_storage::Result;
use whitewater_storage::key::user_key;

/// A live table file, for `DB::live_files`.
#[derive(Debug, Clone)]
pub(crate) struct LiveTable {
    pub column_family_name: String,
    pub name: String,
    pub dir: PathBuf,
    pub size: usize,
    pub level: i32,
    pub start_key: Option<Vec<u8>>,
    pub end_key: Option<Vec<u8>>,
    pub num_entries: u64,
    pub num_deletions: u64,
}

/// An option of an open database, as text.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OptionValue {
    /// The column family whose option it is; `None` for one of the database.
    pub column_family: Option<String>,
    /// The name. Options of block-based tables begin with `block_based_table_factory.`.
    pub name: String,
    /// The value in force.
    pub value: String,
    /// The default.
    pub default: String,
    /// Whether it can be changed while the database is open.
    pub changes_live: bool,
}

/// The options of one struct, with those of `defaults`; `prefix` goes before their names.
fn values_of<T: OptionTable>(
    options: &T,
    defaults: &T,
    column_family: Option<&str>,
    prefix: &str,
) -> Vec<OptionValue> {
    let pairs = options.to_text().into_iter().zip(defaults.to_text());
    let value = |((name, value), (_, default))| OptionValue {
        column_family: column_family.map(str::to_owned),
        name: format!("{prefix}{name}"),
        value,
        default,
        changes_live: T::changes_live(name) == Some(true),
    };
    pairs.map(value).collect()
}

/// What [`Engine::approximate_sizes`] includes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SizesSpec {
    pub memtables: bool,
    pub files: bool,
    pub blob_files: bool,
    pub margin: ErrorMargin,
}

impl Default for SizesSpec {
    fn default() -> Self {
        SizesSpec {
            memtables: false,
            files: true,
            blob_files: false,
            margin: -1.0,
        }
    }
}

/// Bytes of blob files for each byte of tables.
fn blobs_by_table(version: &Version) -> f64 {
    let tables = version.levels.iter().flatten();
    match tables.map(|file| file.meta.size).sum::<u64>() {
        0 => 0.0,
        bytes => version.blobs.bytes() as f64 / bytes as f64,
    }
}

fn memtable_stats(view: &SuperVersion, start: &[u8], end: &[u8]) -> MemTableStats {
    let mut all = MemTableStats::default();
    for mem in view.memtables() {
        all += mem.approximate_stats(start, end);
    }
    all
}

impl Engine {
    /// The options in force, of the database and then of each column family.
    pub(crate) fn option_values(&self) -> Vec<OptionValue> {
        // Corrected as those in force are, so that only what was asked for differs.
        let (db, family) = (
            DbOptions::default().sanitized(),
            CfOptions::default().sanitized(),
        );
        let mut all = values_of(&*self.db_options(), &db, None, "");
        for cf in self.column_families() {
            let options = cf.options();
            let (name, tables) = (Some(cf.name.as_str()), format!("{TABLE_FACTORY}."));
            all.extend(values_of(&*options, &family, name, ""));
            all.extend(values_of(&options.table, &family.table, name, &tables));
        }
        all
    }

    /// The live column family called `name`.
    pub(crate) fn family_named(&self, name: &str) -> Option<Arc<ColumnFamilyData>> {
        if name == self.default_cf().name {
            return Some(self.default_cf().clone());
        }
        let state = self.lock_state();
        let mut families = state.cfs.values();
        let cf = families.find(|cf| cf.data.name == name)?;
        Some(cf.data.clone())
    }

    /// Returns approximately how many bytes hold the keys of each `[start, end)`, of what `spec`
    /// includes.
    pub fn approximate_sizes(
        &self,
        cf: &Arc<ColumnFamilyData>,
        ranges: &[(&[u8], &[u8])],
        spec: &SizesSpec,
    ) -> Vec<u64> {
        let view = cf.pin();
        let user = &cf.comparator.user;
        let blobs_by_table = spec.blob_files.then(|| blobs_by_table(&view.version));
        let size = |(start, end): &(&[u8], &[u8])| {
            let (start, end) = (user.first_version(start), user.first_version(end));
            let tables = || {
                crate::read::estimate::approximate_size(
                    &view.version,
                    &self.files.tables,
                    &cf.comparator,
                    (&start, &end),
                    spec.margin,
                )
            };
            let in_tables = if spec.files || spec.blob_files {
                tables()
            } else {
                0
            };
            let mut size = if spec.files { in_tables } else { 0 };
            if let Some(by_table) = blobs_by_table {
                size += (in_tables as f64 * by_table) as u64;
            }
            if spec.memtables {
                size += memtable_stats(&view, &start, &end).size;
            }
            size
        };
        ranges.iter().map(size).collect()
    }

    /// Returns about how many entries of memtables are at the keys of `[start, end)`.
    pub fn approximate_memtable_stats(
        &self,
        cf: &Arc<ColumnFamilyData>,
        (start, end): (&[u8], &[u8]),
    ) -> MemTableStats {
        let user = &cf.comparator.user;
        let (start, end) = (user.first_version(start), user.first_version(end));
        memtable_stats(&cf.pin(), &start, &end)
    }

    /// Returns the table files in use.
    pub fn live_tables(&self) -> Result<Vec<LiveTable>> {
        let views: Vec<_> = {
            let state = self.lock_state();
            state
                .cfs
                .values()
                .map(|cf| (cf.data.clone(), cf.version.clone()))
                .collect()
        };
        let mut out = Vec::new();
        for (cf, version) in views {
            for (level, files) in version.levels.iter().enumerate() {
                for file in files {
                    let open = self
                        .files
                        .tables
                        .open(file, &cf.comparator, &version.open_with)?;
                    let properties = open.table.properties();
                    out.push(LiveTable {
                        column_family_name: cf.name.clone(),
                        name: format!("/{:06}.sst", file.meta.number),
                        dir: file.dir().to_path_buf(),
                        size: file.meta.size as usize,
                        level: level as i32,
                        start_key: Some(user_key(&file.meta.smallest).to_vec()),
                        end_key: Some(user_key(&file.meta.largest).to_vec()),
                        num_entries: properties.num_entries,
                        num_deletions: properties.num_deletions,
                    });
                }
            }
        }
        Ok(out)
    }
}
