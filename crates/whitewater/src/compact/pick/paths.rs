//! Which path the output of a compaction goes to. The rules are RocksDB's.

use super::{Compaction, Picker};

impl Picker<'_> {
    /// The path of `level` with leveled compaction: the first one whose target size still holds the
    /// level after all levels above it. Level 0 counts as large as level 1.
    pub(super) fn path_of_level(&self, level: usize) -> u32 {
        let paths = &self.version.open_with.paths;
        let mut id = 0;
        let mut room = paths.target_size(id);
        let mut size = self.options.max_bytes_for_level_base;
        let mut above = 0;
        // What fits nowhere goes to the last path.
        while id < paths.last_id() {
            if size > room {
                id += 1;
                room = paths.target_size(id);
                continue;
            }
            if above == level {
                return id;
            }
            room -= size;
            if above > 0 {
                size = self.grown_size(size, above);
            }
            above += 1;
        }
        id
    }

    /// The target size of the level below `level`, whose target size is `size`. Bytes.
    fn grown_size(&self, size: u64, level: usize) -> u64 {
        let more = &self.options.max_bytes_for_level_multiplier_additional;
        let more = more.get(level).map_or(1.0, |factor| f64::from(*factor));
        (size as f64 * self.options.max_bytes_for_level_multiplier * more) as u64
    }

    /// The path of an output of `bytes` bytes with universal compaction: the first one that has
    /// room for it and, with the paths before, for the newer data that will be merged with it next.
    pub(super) fn path_of_size(&self, bytes: u64) -> u32 {
        let paths = &self.version.open_with.paths;
        let ratio = u64::from(self.options.compaction_options_universal.size_ratio);
        let future = u128::from(bytes) * u128::from(100u64.saturating_sub(ratio)) / 100;
        let mut before = 0u128;
        let fits = |id: &u32| {
            let target = paths.target_size(*id);
            let room = before + u128::from(target.saturating_sub(bytes));
            before += u128::from(target);
            target > bytes && room > future
        };
        (0..paths.last_id()).find(fits).unwrap_or(paths.last_id())
    }
}

impl Compaction {
    /// The same compaction with its output in the path `id`. Files of other paths are then
    /// rewritten, and not moved.
    #[must_use]
    pub fn into_path(mut self, id: u32) -> Self {
        let mut files = self.inputs.iter().flat_map(|(_, files)| files);
        let stay = files.all(|file| file.meta.path_id == id);
        self.trivial_move &= stay;
        self.path_id = id;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::CfOptions;
    use crate::options::paths::DbPath;
    use crate::version::Version;
    use crate::version::table_cache::OpenWith;
    use std::path::Path;
    use std::sync::Arc;
    use whitewater_storage::key::UserComparator;

    fn version(targets: &[u64]) -> Arc<Version> {
        let path = |target_size: &u64| DbPath {
            path: "/p".into(),
            target_size: *target_size,
        };
        let paths: Vec<DbPath> = targets.iter().map(path).collect();
        let options = CfOptions {
            paths,
            ..CfOptions::default()
        };
        let with = OpenWith::new(&options, Path::new("/db"));
        Arc::new(Version::empty(7, with))
    }

    fn of_levels(targets: &[u64], options: &CfOptions) -> Vec<u32> {
        let version = version(targets);
        let picker = Picker {
            version: &version,
            options,
            user: &UserComparator::Bytewise,
        };
        (0..7).map(|level| picker.path_of_level(level)).collect()
    }

    /// The cases of RocksDB's test of `LevelCompactionBuilder::GetPathId`, and more.
    #[test]
    fn levels_go_to_the_first_path_that_holds_them() {
        let options = CfOptions {
            max_bytes_for_level_base: 100,
            max_bytes_for_level_multiplier: 10.0,
            ..CfOptions::default()
        };
        assert_eq!(of_levels(&[u64::MAX], &options), [0; 7]);
        // Levels 0 and 1 fit into 200 bytes, level 2 has 1,000.
        assert_eq!(of_levels(&[200, 0], &options), [0, 0, 1, 1, 1, 1, 1]);
        assert_eq!(of_levels(&[199, 0], &options), [0, 1, 1, 1, 1, 1, 1]);
        assert_eq!(of_levels(&[99, 0], &options), [1; 7]);
        assert_eq!(of_levels(&[200, 999, 0], &options), [0, 0, 2, 2, 2, 2, 2]);
        assert_eq!(of_levels(&[200, 1000, 0], &options), [0, 0, 1, 2, 2, 2, 2]);
        assert_eq!(
            of_levels(&[100, 1100, 11_000, 0], &options),
            [0, 1, 1, 2, 3, 3, 3]
        );
        let options = CfOptions {
            max_bytes_for_level_multiplier_additional: vec![1, 5],
            ..options
        };
        assert_eq!(of_levels(&[200, 4999, 0], &options), [0, 0, 2, 2, 2, 2, 2]);
        assert_eq!(of_levels(&[200, 5000, 0], &options), [0, 0, 1, 2, 2, 2, 2]);
    }

    #[test]
    fn runs_go_to_the_first_path_that_has_room_for_more() {
        let options = CfOptions::default();
        let of = |targets: &[u64], bytes: u64| {
            let version = version(targets);
            let picker = Picker {
                version: &version,
                options: &options,
                user: &UserComparator::Bytewise,
            };
            picker.path_of_size(bytes)
        };
        assert_eq!(of(&[u64::MAX], 1 << 40), 0);
        // 1 percent is the ratio: 99 more bytes must fit behind 100.
        assert_eq!(of(&[200, 1000, 0], 100), 0);
        assert_eq!(of(&[199, 1000, 0], 100), 1);
        assert_eq!(of(&[100, 1000, 0], 100), 1);
        // The room of earlier paths counts for what comes later.
        assert_eq!(of(&[300, 700, 0], 500), 1);
        assert_eq!(of(&[290, 700, 0], 500), 2);
        assert_eq!(of(&[0, 0, 0, 0], u64::MAX), 3);
    }
}
