//! Printing and comparing options files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};
use whitewater_storage::filename::{self, FileType};

use super::failure::{Failure, Result};
use super::session::Session;

/// Prints the options that a database was last opened with, or compares two OPTIONS files.
///
/// A directory stands for its newest OPTIONS file. The command compares two files option by
/// option and exits with 1 if they differ.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ww options /data/db
  ww options /data/db --name compression
  ww options /data/db /data/other
  ww options OPTIONS-000007 OPTIONS-000019")]
pub struct Show {
    /// An OPTIONS file or a database's directory, instead of --db.
    path: Option<PathBuf>,
    /// The OPTIONS file or directory to compare with.
    other: Option<PathBuf>,
    /// Only options whose name contains this text.
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
}

/// The lines of an options file.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct OptionsFile {
    path: PathBuf,
    /// The section, name and value of each line.
    lines: Vec<(String, String, String)>,
}

impl OptionsFile {
    /// The newest options file in `dir`.
    ///
    /// # Errors
    /// There is none, or it cannot be read.
    pub fn newest(dir: &Path) -> Result<Self> {
        let entries = std::fs::read_dir(dir).map_err(|e| Failure::io(dir, &e))?;
        let numbers = entries.filter_map(|entry| {
            let name = entry.ok()?.file_name();
            match filename::parse(name.to_str()?) {
                Some(FileType::Options(number)) => Some(number),
                _ => None,
            }
        });
        match numbers.max() {
            Some(number) => Self::read(&filename::options(dir, number)),
            None => Err(Failure::negative(format_args!(
                "{}: there is no OPTIONS file",
                dir.display()
            ))),
        }
    }

    /// The file at `path`, or the newest one if `path` is a directory.
    ///
    /// # Errors
    /// As [`Self::newest`].
    pub fn at(path: &Path) -> Result<Self> {
        if path.is_dir() {
            Self::newest(path)
        } else {
            Self::read(path)
        }
    }

    fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(|e| Failure::io(path, &e))?;
        Self::parse(path, &text)
    }

    /// Parses `text`. Comments are left out, including options that only this engine has,
    /// which are comments for RocksDB.
    fn parse(path: &Path, text: &str) -> Result<Self> {
        let mut file = OptionsFile {
            path: path.to_owned(),
            lines: Vec::new(),
        };
        let mut section = String::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(title) = line.strip_prefix('[').and_then(|l| l.strip_suffix(']')) {
                section = title.trim().to_owned();
            } else if let Some((name, value)) = line.split_once('=') {
                let (name, value) = (name.trim().to_owned(), value.trim().to_owned());
                file.lines.push((section.clone(), name, value));
            } else {
                return Err(Failure::Other(format!(
                    "{}: line {} is neither a section nor name=value",
                    path.display(),
                    number + 1
                )));
            }
        }
        Ok(file)
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The value of an option of the column family `family`.
    pub fn family_option(&self, family: &str, name: &str) -> Option<&str> {
        self.option(&format!("CFOptions \"{family}\""), name)
    }

    /// The value of an option in a section.
    pub fn option(&self, section: &str, name: &str) -> Option<&str> {
        let mut lines = self.lines.iter();
        let found = lines.find(|(at, option, _)| at == section && option == name);
        found.map(|(_, _, value)| value.as_str())
    }

    fn by_name(&self) -> BTreeMap<(&str, &str), &str> {
        let lines = self.lines.iter();
        lines
            .map(|(section, name, value)| ((section.as_str(), name.as_str()), value.as_str()))
            .collect()
    }
}

impl Show {
    /// Runs the command.
    ///
    /// # Errors
    /// A file cannot be read, or two files differ.
    pub fn run(&self, session: &mut Session<'_>) -> Result<()> {
        // With --db, the first argument is the file to compare with.
        let (first, other) = match (&session.global.db, &self.path, &self.other) {
            (Some(db), other, None) => (db.as_path(), other.as_deref()),
            (None, Some(path), other) => (path.as_path(), other.as_deref()),
            (Some(_), _, Some(_)) => return Err(Failure::usage("more than two to compare")),
            (None, None, _) => (session.db()?, None),
        };
        let first = OptionsFile::at(first)?;
        match other {
            None => self.print(session, &first),
            Some(other) => self.compare(session, &first, &OptionsFile::at(other)?),
        }
    }

    fn wants(&self, name: &str) -> bool {
        self.name.as_deref().is_none_or(|part| name.contains(part))
    }

    fn print(&self, session: &mut Session<'_>, file: &OptionsFile) -> Result<()> {
        let mut before = None;
        for (section, name, value) in &file.lines {
            if !self.wants(name) {
                continue;
            }
            if session.json {
                session.line(json!({"section": section, "name": name, "value": value}))?;
                continue;
            }
            if before != Some(section) {
                session.line(format_args!("[{section}]"))?;
                before = Some(section);
            }
            session.line(format_args!("  {name}={value}"))?;
        }
        Ok(())
    }

    fn compare(
        &self,
        session: &mut Session<'_>,
        first: &OptionsFile,
        other: &OptionsFile,
    ) -> Result<()> {
        let (old, new) = (first.by_name(), other.by_name());
        let names: std::collections::BTreeSet<_> = old.keys().chain(new.keys()).collect();
        let mut differences = 0;
        for &&(section, name) in &names {
            let (a, b) = (old.get(&(section, name)), new.get(&(section, name)));
            if a == b || !self.wants(name) {
                continue;
            }
            differences += 1;
            let or_none = |value: Option<&&str>| value.map_or("(none)", |value| *value).to_owned();
            let text = format!("[{section}] {name}: {} -> {}", or_none(a), or_none(b));
            let value = |value: Option<&&str>| value.map_or(Value::Null, |value| (*value).into());
            session.either(
                text,
                json!({"section": section, "name": name, "old": value(a), "new": value(b)}),
            )?;
        }
        if differences > 0 {
            return Err(Failure::negative(format_args!(
                "{} and {} differ in {differences} options",
                first.path.display(),
                other.path.display()
            )));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_and_values_are_found() {
        let text = "# c\n[Version]\n  a=1\n[CFOptions \"x\"]\n  merge_operator={id=M;}\n";
        let file = OptionsFile::parse(Path::new("O"), text).expect("a file");
        assert_eq!(file.family_option("x", "merge_operator"), Some("{id=M;}"));
        assert_eq!(file.family_option("y", "merge_operator"), None);
        assert_eq!(file.lines.len(), 2);
        let bad = OptionsFile::parse(Path::new("O"), "[A]\nno value\n");
        let message = bad.expect_err("line 2").message().expect("text");
        assert!(message.starts_with("O: line 2 "), "{message}");
    }
}
