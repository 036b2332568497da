//! Compaction, repair and checkpoints of whole databases.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde_json::json;
use whitewater::checkpoint;
use whitewater::{BottommostLevelCompaction, CompactOptions, Options};

use super::cli::bytes;
use super::failure::{Failure, Result};
use super::open::{self, Db, Loaded, Opened};
use super::paths::DataDirs;
use super::session::{Place, Session};

/// How a compaction treats the bottommost level.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Bottommost {
    /// Skip the bottommost level.
    Skip,
    /// Compact the bottommost level if there is a compaction filter.
    IfHaveFilter,
    /// Compact the bottommost level.
    Force,
    /// Compact the bottommost level, except for files that this compaction wrote.
    ForceOptimized,
}

/// Compacts a range of keys, or a whole column family.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ww --db /data/db compact
  ww --db /data/db compact --from a --to m --bottommost force")]
pub struct Compact {
    /// The first key; by default the first key of the column family.
    #[arg(long, value_name = "KEY")]
    from: Option<OsString>,
    /// The last key; by default the last key of the column family.
    #[arg(long, value_name = "KEY")]
    to: Option<OsString>,
    /// How to treat the bottommost level.
    #[arg(long, value_enum, default_value = "if-have-filter")]
    bottommost: Bottommost,
    /// Move the result to this level if it fits there.
    #[arg(long, value_name = "N")]
    target_level: Option<i32>,
}

impl Compact {
    /// Runs the command.
    ///
    /// # Errors
    /// Reading or writing fails.
    pub fn run(&self, session: &mut Session<'_>) -> Result<()> {
        let parse = |key: &Option<OsString>| {
            let key = key.as_deref().map(bytes);
            key.map(|key| session.keys.parse(key, "key")).transpose()
        };
        let (from, to) = (parse(&self.from)?, parse(&self.to)?);
        let opened = open::to_write(session, false)?;
        let mut options = CompactOptions::default();
        options.set_bottommost_level_compaction(match self.bottommost {
            Bottommost::Skip => BottommostLevelCompaction::Skip,
            Bottommost::IfHaveFilter => BottommostLevelCompaction::IfHaveCompactionFilter,
            Bottommost::Force => BottommostLevelCompaction::Force,
            Bottommost::ForceOptimized => BottommostLevelCompaction::ForceOptimized,
        });
        if let Some(level) = self.target_level {
            options.set_change_level(true);
            options.set_target_level(level);
        }
        let before = files_and_bytes(&opened)?;
        let progress = session.progress("compact", "", None);
        let db = &opened.db;
        db.try_compact_range_cf_opt(opened.cf()?, from, to, &options)?;
        progress.finish();
        let after = files_and_bytes(&opened)?;
        session.either(
            format_args!(
                "{} files, {} bytes -> {} files, {} bytes",
                before.0, before.1, after.0, after.1
            ),
            json!({
                "files_before": before.0, "bytes_before": before.1,
                "files_after": after.0, "bytes_after": after.1,
            }),
        )
    }
}

fn files_and_bytes(opened: &Opened) -> Result<(usize, u64)> {
    let found = opened.db.get_column_family_metadata_cf(opened.cf()?);
    Ok((found.file_count, found.size))
}

/// Repairs a database whose CURRENT or MANIFEST file is lost or damaged.
///
/// The command builds a new manifest from all readable tables and logs. It moves unreadable
/// files to the directory `lost`. Deleted keys may reappear. Make a copy first.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ww repair /data/db")]
pub struct Repair {
    #[command(flatten)]
    place: Place,
}

impl Repair {
    /// Runs the command.
    ///
    /// # Errors
    /// The database is open elsewhere, or reading or writing fails.
    pub fn run(&self, session: &mut Session<'_>) -> Result<()> {
        let dir = &self.place.of(session)?;
        // Even without a manifest, the options file tells the comparator.
        let mut options = match Loaded::new(session, dir, true) {
            Ok(mut loaded) => loaded.family_options(&session.global.column_family),
            Err(_) if session.global.try_load_options => {
                match open::from_file(session, dir, true) {
                    Ok((_, mut families)) => {
                        let first = families.first_mut();
                        first.map_or_else(Options::default, |f| f.options_mut().clone())
                    }
                    // There are no options either.
                    Err(_) => Options::default(),
                }
            }
            Err(_) => Options::default(),
        };
        DataDirs::new(dir, session.global).set(&mut options, &mut [])?;
        let progress = session.progress("repair", "", None);
        Db::repair(&options, dir)?;
        progress.finish();
        session.ok()
    }
}

/// Makes a consistent copy of the database, with hard links where possible.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ww --db /data/db checkpoint /data/copy")]
pub struct Checkpoint {
    /// The directory to create; it must not exist.
    #[arg(value_name = "PATH", required_unless_present = "checkpoint_dir")]
    target: Option<PathBuf>,
    /// The same directory, by ldb's name of the flag.
    #[arg(long, hide = true, conflicts_with = "target")]
    checkpoint_dir: Option<PathBuf>,
}

impl Checkpoint {
    /// Runs the command.
    ///
    /// # Errors
    /// The directory exists, or reading or writing fails.
    pub fn run(&self, session: &mut Session<'_>) -> Result<()> {
        let target = self.target.as_ref().or(self.checkpoint_dir.as_ref());
        let target = target.ok_or_else(|| Failure::usage("where to?"))?;
        let opened = open::to_write(session, false)?;
        checkpoint::Checkpoint::new(&opened.db)?.create_checkpoint(target)?;
        session.ok()
    }
}
