//! The directories of tables and blob files.
//!
//! Neither the manifest nor an OPTIONS file names them: the manifest has a table's position among
//! the paths of its column family. So `--db-paths` and `--cf-path` name them, as `db_paths` and
//! `cf_paths` did when the database was opened.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use whitewater::{ColumnFamilyDescriptor, DBPath, Options};
use whitewater_storage::filename;
use whitewater_storage::manifest::FileMetaData;

use super::cli::Global;
use super::failure::Result;
use super::state::Family;

/// The target size of each path in bytes: what is written goes to the first one.
const TARGET: u64 = 1 << 60;

/// The path of a column family, from the command line.
///
/// # Errors
/// The text is not `NAME=PATH`.
pub fn family_path(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((name, path)) if !name.is_empty() && !path.is_empty() => {
            Ok((name.to_owned(), PathBuf::from(path)))
        }
        _ => Err(format!("'{text}' is not NAME=PATH")),
    }
}

/// Where the files of a database are.
#[derive(Debug, Clone, Copy)]
pub struct DataDirs<'a> {
    /// The directory of the database.
    db: &'a Path,
    global: &'a Global,
}

impl<'a> DataDirs<'a> {
    /// Those of the database in `db`, as the command line says.
    pub fn new(db: &'a Path, global: &'a Global) -> Self {
        DataDirs { db, global }
    }

    /// The paths of the column family `name`; at least one.
    fn of(&self, name: &str) -> Vec<&'a Path> {
        let own = self.global.cf_path.iter().filter(|(of, _)| of == name);
        let own: Vec<&Path> = own.map(|(_, path)| path.as_path()).collect();
        let paths = match own.is_empty() {
            true => self.global.db_paths.iter().map(PathBuf::as_path).collect(),
            false => own,
        };
        match paths.is_empty() {
            true => vec![self.db],
            false => paths,
        }
    }

    /// The path of a table of `family`. As in the engines, it is looked for in the last directory
    /// if there are fewer than the manifest has numbers for.
    pub fn table(&self, family: &Family, file: &FileMetaData) -> PathBuf {
        let paths = self.of(&family.name);
        let id = (file.path_id as usize).min(paths.len() - 1);
        filename::table(paths[id], file.number)
    }

    /// The path of a blob file of `family`.
    pub fn blob(&self, family: &Family, number: u64) -> PathBuf {
        filename::blob(self.of(&family.name)[0], number)
    }

    /// The directories other than the database's.
    pub fn elsewhere(&self) -> BTreeSet<&'a Path> {
        let of_families = self.global.cf_path.iter().map(|(_, path)| path.as_path());
        let all = self.global.db_paths.iter().map(PathBuf::as_path);
        let all = all.chain(of_families);
        all.filter(|dir| *dir != self.db).collect()
    }

    /// Sets the paths of a database and its column families that are to be opened. What is written
    /// goes to the first path.
    ///
    /// # Errors
    /// A path is empty.
    pub fn set(
        &self,
        options: &mut Options,
        families: &mut [ColumnFamilyDescriptor],
    ) -> Result<()> {
        let paths = |dirs: Vec<&Path>| -> Result<Vec<DBPath>> {
            let paths = dirs.into_iter().map(|dir| DBPath::new(dir, TARGET));
            Ok(paths.collect::<std::result::Result<_, _>>()?)
        };
        let all = self.global.db_paths.iter().map(PathBuf::as_path).collect();
        options.set_db_paths(&paths(all)?);
        for family in families {
            let name = family.name().to_owned();
            if self.global.cf_path.iter().any(|(of, _)| *of == name) {
                let own = paths(self.of(&name))?;
                family.options_mut().set_cf_paths(&own);
            }
        }
        Ok(())
    }
}
