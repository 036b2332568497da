//! What an open database tells about its tables.

use crate::column_family::ColumnFamilyData;
use crate::db::Engine;
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

impl Engine {
    /// Returns approximately how many bytes of files hold the keys of each `[start, end)`.
    pub fn approximate_sizes(
        &self,
        cf: &Arc<ColumnFamilyData>,
        ranges: &[(&[u8], &[u8])],
    ) -> Vec<u64> {
        let view = cf.pin();
        ranges
            .iter()
            .map(|(start, end)| {
                let user = &cf.comparator.user;
                let (start, end) = (user.first_version(start), user.first_version(end));
                crate::read::estimate::approximate_size(
                    &view.version,
                    &self.files.tables,
                    &cf.comparator,
                    &start,
                    &end,
                )
            })
            .collect()
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
