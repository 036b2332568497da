//! Options from the options file of a database.

use super::Options;
use super::cache::{BlockCacheChoice, Cache};
use crate::api::column_family::ColumnFamilyDescriptor;
use crate::api::env::Env;
use crate::db::options_file::load_latest;
use crate::options::cache::{BLOCK_CACHE, parse_block_cache};
use crate::options::file::read::{Lines, ParsedFamily, set_db, set_family, set_format, set_table};
use crate::options::text::parse;
use crate::version::set::list_column_families;
use std::cell::RefCell;
use std::path::Path;
use whitewater_storage::{Error, Result};

impl Options {
    /// The options of the database in `path`, and its column families with
    /// theirs, as the newest options file has them, whether it was written here
    /// or by RocksDB. Blocks are cached in `cache`, except of column families
    /// that cache none.
    ///
    /// The column families are those that the manifest has, if that can be read:
    /// a file may name one that was being created or dropped when the process
    /// died, and is passed over then. One that no file has comes with defaults.
    ///
    /// With `ignore_unknown_options`, options that are unknown or cannot be
    /// honoured are passed over. Comparators that are not built in, merge
    /// operators and prefix extractors of the user are among them: they are
    /// only named in the file, and have to be set.
    ///
    /// ```
    /// use whitewater::{Cache, DB, Env, Options};
    ///
    /// # fn main() -> Result<(), whitewater::Error> {
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path();
    /// # DB::open_default(path)?;
    /// let cache = Cache::new_lru_cache(64 << 20);
    /// let (opts, families) = Options::load_latest(path, Env::new()?, false, cache)?;
    /// let db = DB::open_cf_descriptors(&opts, path, families)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `NotFound` when there is no options file; `InvalidArgument` naming file
    /// and line where it is none; `InvalidArgument` or `NotSupported` naming the
    /// option that is unknown or cannot be honoured.
    pub fn load_latest<P: AsRef<Path>>(
        path: P,
        env: Env,
        ignore_unknown_options: bool,
        cache: Cache,
    ) -> Result<(Options, Vec<ColumnFamilyDescriptor>), Error> {
        Self::load_with(path.as_ref(), env, cache, &|e| {
            if ignore_unknown_options {
                Ok(())
            } else {
                Err(e)
            }
        })
    }

    /// [`load_latest`](Self::load_latest), with options that are unknown or cannot
    /// be honoured passed over and returned as the errors they would be: each
    /// names the file and the option. Not in the `rocksdb` crate.
    ///
    /// # Errors
    /// `NotFound` when there is no options file; `InvalidArgument` naming file
    /// and line where it is none.
    pub fn load_latest_with_errors<P: AsRef<Path>>(
        path: P,
        env: Env,
        cache: Cache,
    ) -> Result<(Options, Vec<ColumnFamilyDescriptor>, Vec<Error>), Error> {
        let passed_over = RefCell::new(Vec::new());
        let loaded = Self::load_with(path.as_ref(), env, cache, &|e| {
            passed_over.borrow_mut().push(e);
            Ok(())
        })?;
        Ok((loaded.0, loaded.1, passed_over.into_inner()))
    }

    /// The options of the database in `path`; `judge` decides whether one that
    /// cannot be set is an error.
    fn load_with(
        path: &Path,
        env: Env,
        cache: Cache,
        judge: &dyn Fn(Error) -> Result<()>,
    ) -> Result<(Options, Vec<ColumnFamilyDescriptor>), Error> {
        let (file, parsed) = load_latest(&*env.fs, path)?;
        let passed_over = |outcome: Result<()>| match outcome {
            Ok(()) => Ok(()),
            Err(e) => judge(e.in_file(&file, None)),
        };
        let mut options = Options::default();
        for (name, value) in &parsed.db {
            passed_over(set_db(&mut options.db, name, value))?;
        }
        // RocksDB names the directory also where it is the database's own.
        if options.db.wal_dir.as_deref() == Some(path) {
            options.db.wal_dir = None;
        }
        options.db.fs = env.fs;
        // What the manifest cannot tell, opening will.
        let existing = list_column_families(&*options.db.fs, path).ok();
        let mut families = Vec::new();
        for family in &parsed.families {
            if existing
                .as_ref()
                .is_some_and(|names| !names.contains(&family.name))
            {
                continue; // being created or dropped when the file was written
            }
            let loaded = options.load_family(family, &cache, &passed_over)?;
            families.push(ColumnFamilyDescriptor::new(family.name.as_str(), loaded));
        }
        for name in existing.unwrap_or_default() {
            if !families.iter().any(|family| family.name() == name) {
                let loaded = options.with_cache(&cache);
                families.push(ColumnFamilyDescriptor::new(name, loaded));
            }
        }
        Ok((options, families))
    }

    /// Options of a column family of this database that is in no file.
    fn with_cache(&self, cache: &Cache) -> Options {
        let mut options = self.clone();
        options.block_cache = BlockCacheChoice::Shared(cache.inner.clone());
        options
    }

    /// The options of a column family of this database.
    fn load_family(
        &self,
        family: &ParsedFamily,
        cache: &Cache,
        passed_over: &dyn Fn(Result<()>) -> Result<()>,
    ) -> Result<Options> {
        let mut loaded = self.with_cache(cache);
        let each = |lines: &Lines, set: &mut dyn FnMut(&str, &str) -> Result<()>| {
            let mut lines = lines.iter();
            lines.try_for_each(|(name, value)| passed_over(set(name, value)))
        };
        each(&family.options, &mut |name, value| {
            set_family(&mut loaded.cf, name, value)
        })?;
        each(&family.format, &mut |name, value| {
            set_format(&mut loaded.cf, name, value)
        })?;
        each(&family.table, &mut |name, value| {
            if name == BLOCK_CACHE {
                // It is replaced by `cache`, as in RocksDB.
                return parse_block_cache(value).map(drop);
            }
            if name != "no_block_cache" {
                return set_table(&mut loaded.cf, name, value);
            }
            if parse(name, value)? {
                loaded.block_cache = BlockCacheChoice::None;
            }
            Ok(())
        })?;
        Ok(loaded)
    }
}
