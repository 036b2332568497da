//! The directories that tables are put into.

use super::{CfOptions, DbOptions};
use crate::options::compaction::CompactionStyle;
use std::path::PathBuf;
use whitewater_storage::{Error, Result};

/// The largest number of paths. The manifest has two bits for the id of a path.
pub(crate) const MAX_PATHS: usize = 4;

/// A directory for tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DbPath {
    pub path: PathBuf,
    /// The size of all tables there that compactions try not to exceed. Bytes.
    pub target_size: u64,
}

/// Refuses paths that cannot be used. `kind` is what RocksDB's message calls them.
fn check_list(option: &str, kind: &str, paths: &[DbPath]) -> Result<()> {
    if paths.len() > MAX_PATHS {
        return Err(Error::not_supported(format_args!(
            "More than four {kind} paths are not supported yet (option {option})"
        )));
    }
    if paths.iter().any(|path| path.path.as_os_str().is_empty()) {
        return Err(Error::invalid(format_args!(
            "option {option}: a path is empty"
        )));
    }
    Ok(())
}

impl DbOptions {
    /// Checks `db_paths` on its own.
    pub(super) fn check_paths(&self) -> Result<()> {
        check_list("db_paths", "DB", &self.db_paths)
    }

    /// Refuses several paths for a column family whose compactions put all tables into one.
    pub(super) fn check_paths_of(&self, cf: &CfOptions) -> Result<()> {
        let (option, kind, paths) = match cf.cf_paths.is_empty() {
            true => ("db_paths", "DB", &self.db_paths),
            false => ("cf_paths", "CF", &cf.cf_paths),
        };
        if cf.compaction_style == CompactionStyle::Fifo && paths.len() > 1 {
            return Err(Error::not_supported(format_args!(
                "More than one {kind} paths are only supported in universal and level compaction \
                 styles. (option {option})"
            )));
        }
        Ok(())
    }
}

impl CfOptions {
    /// Checks `cf_paths` on its own.
    pub(super) fn check_paths(&self) -> Result<()> {
        check_list("cf_paths", "CF", &self.cf_paths)
    }

    /// Level sizes cannot follow the last level when it is the target sizes of paths that decide
    /// where levels are. This is RocksDB's rule.
    pub(super) fn fix_level_sizes(&mut self) {
        if self.cf_paths.len() > 1 || self.paths.len() > 1 {
            self.level_compaction_dynamic_level_bytes = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(count: usize) -> Vec<DbPath> {
        let path = |i| DbPath {
            path: PathBuf::from(format!("/p{i}")),
            target_size: 1,
        };
        (0..count).map(path).collect()
    }

    #[test]
    fn there_are_four_paths_at_most() {
        let mut db = DbOptions {
            db_paths: paths(4),
            ..DbOptions::default()
        };
        db.validate().unwrap();
        db.db_paths = paths(5);
        let e = db.validate().unwrap_err().to_string();
        assert!(
            e.contains("More than four DB paths are not supported yet"),
            "{e}"
        );
        let mut cf = CfOptions {
            cf_paths: paths(4),
            ..CfOptions::default()
        };
        cf.validate().unwrap();
        cf.cf_paths = paths(5);
        let e = cf.validate().unwrap_err().to_string();
        assert!(e.contains("More than four CF paths"), "{e}");
        db.db_paths = paths(1);
        db.db_paths[0].path = PathBuf::new();
        let e = db.validate().unwrap_err().to_string();
        assert!(e.contains("option db_paths: a path is empty"), "{e}");
    }

    #[test]
    fn fifo_compaction_has_one_path() {
        let several = DbOptions {
            db_paths: paths(2),
            ..DbOptions::default()
        };
        let mut fifo = CfOptions {
            compaction_style: CompactionStyle::Fifo,
            ..CfOptions::default()
        };
        let text = |db: &DbOptions, cf: &CfOptions| db.check_family(cf).unwrap_err().to_string();
        assert!(text(&several, &fifo).contains("More than one DB paths"));
        fifo.cf_paths = paths(1);
        several.check_family(&fifo).unwrap();
        fifo.cf_paths = paths(2);
        assert!(text(&DbOptions::default(), &fifo).contains("More than one CF paths"));
    }

    #[test]
    fn the_paths_of_a_family_go_before_those_of_the_database() {
        let db = DbOptions {
            db_paths: paths(2),
            ..DbOptions::default()
        };
        let mut cf = CfOptions::default();
        assert!(cf.level_compaction_dynamic_level_bytes);
        db.inform(&mut cf);
        assert_eq!(
            (cf.paths.len(), cf.level_compaction_dynamic_level_bytes),
            (2, false)
        );
        let mut cf = CfOptions {
            cf_paths: paths(1),
            ..CfOptions::default()
        };
        db.inform(&mut cf);
        assert_eq!(
            (cf.paths.len(), cf.level_compaction_dynamic_level_bytes),
            (1, true)
        );
    }
}
