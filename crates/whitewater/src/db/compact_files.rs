//! Compactions of files that a caller names.

use super::Engine;
use crate::column_family::ColumnFamilyData;
use crate::compact::pick::{self, Compaction, Wishes};
use crate::options::compaction::CompactionStyle;
use crate::panics::{Guarded, caught};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use whitewater_storage::filename::{self, FileType};
use whitewater_storage::sst::CompressionType;
use whitewater_storage::{Error, ErrorKind, Result};

/// How named files are compacted.
#[derive(Debug, Clone, Default)]
pub(crate) struct FilesSpec {
    /// The codec of the tables; that of the options if `None`.
    pub compression: Option<CompressionType>,
    /// The size at which a table ends; `None` is no limit. Bytes.
    pub output_file_size_limit: Option<u64>,
    /// The largest number of threads; 0 is that of the options.
    pub max_subcompactions: u32,
    /// Files that need not be rewritten are only moved.
    pub allow_trivial_move: bool,
    /// The path of the output. `None` is the only one.
    pub output_path_id: Option<u32>,
}

impl Engine {
    /// Compacts the tables of `cf` with these names, and those that have to go along, into
    /// `output_level`. Returns the paths of the tables that were written, or moved.
    ///
    /// # Errors
    /// `InvalidArgument` for files that cannot be compacted to that level, and levels and paths
    /// that do not exist; `Aborted` if a running compaction is in the way; `NotSupported` without
    /// a path where there are several; errors of reading and writing tables.
    pub fn compact_files(
        &self,
        cf: &Arc<ColumnFamilyData>,
        names: &[&str],
        output_level: i32,
        spec: &FilesSpec,
    ) -> Result<Vec<PathBuf>> {
        self.check_writer()?;
        let output_level = check_level(cf, output_level)?;
        let path_id = check_path(cf, spec.output_path_id)?;
        if let Some(feature) = spec.compression.and_then(CompressionType::missing_feature) {
            return Err(Error::not_supported(format_args!(
                "compression {:?} is not built in (cargo feature {feature})",
                spec.compression
            )));
        }
        let numbers = names
            .iter()
            .map(|name| number_of(name))
            .collect::<Result<_>>()?;
        let outcome = caught(Guarded::Job, || {
            let mut picked = self.pick_named(cf, &numbers, output_level, spec)?;
            picked.wishes = Wishes {
                compression: spec.compression,
                max_file_size: Some(spec.output_file_size_limit.unwrap_or(u64::MAX)),
                max_subcompactions: spec.max_subcompactions.min(1024),
            };
            let picked = picked.into_path(path_id);
            let outcome = caught(Guarded::Job, || self.run_compaction(cf, picked));
            let _purge = self.compaction_ended(cf);
            if outcome.is_ok() {
                self.purge_obsolete_files();
            }
            outcome
        });
        // A refusal is left to the caller.
        if let Err(e) = &outcome
            && !matches!(e.kind(), ErrorKind::InvalidArgument | ErrorKind::Aborted)
        {
            self.report_to_caller(e, "compacting files");
        }
        self.background.look_again();
        outcome
    }

    /// Picks the compaction, and counts it as running.
    fn pick_named(
        &self,
        cf: &Arc<ColumnFamilyData>,
        numbers: &BTreeSet<u64>,
        output_level: usize,
        spec: &FilesSpec,
    ) -> Result<Compaction> {
        let mut state = self.lock_state();
        loop {
            Self::check_healthy(&state)?;
            let Some(current) = state.cfs.get(&cf.id) else {
                return Err(Error::new(
                    ErrorKind::ColumnFamilyDropped,
                    format_args!("column family {}", cf.name),
                ));
            };
            if current.ingesting {
                self.background.wait_for_job(&mut state, None);
                continue;
            }
            let (version, options) = (&current.version, current.options());
            let moves = spec.allow_trivial_move;
            let picked = pick::pick_named(
                version,
                options,
                &cf.comparator,
                numbers,
                output_level,
                moves,
            )?;
            state.running_compactions += 1;
            return Ok(picked);
        }
    }
}

/// The number of the table with this name, which may have a directory in front of it.
fn number_of(name: &str) -> Result<u64> {
    let last = name.rsplit('/').next().unwrap_or(name);
    match filename::parse(last) {
        Some(FileType::Table(number)) => Ok(number),
        _ => Err(Error::invalid(format_args!(
            "Specified compaction input file {name} is not the name of a table."
        ))),
    }
}

fn check_level(cf: &ColumnFamilyData, level: i32) -> Result<usize> {
    let options = cf.options();
    let Ok(level) = usize::try_from(level) else {
        return Err(Error::invalid("Output level cannot be negative."));
    };
    let (all, used) = (
        options.num_levels,
        options.compacted_levels(options.num_levels),
    );
    if level >= all {
        return Err(Error::invalid(format_args!(
            "Output level for column family {} must between [0, {}].",
            cf.name,
            all - 1
        )));
    }
    let most = match options.compaction_style {
        CompactionStyle::Fifo => 0,
        _ => used - 1,
    };
    if level > most {
        return Err(Error::invalid(format_args!(
            "Exceed the maximum output level defined by the current compaction algorithm{} --- \
             {most}",
            if level >= used {
                " with ingest_behind"
            } else {
                ""
            }
        )));
    }
    Ok(level)
}

fn check_path(cf: &ColumnFamilyData, asked: Option<u32>) -> Result<u32> {
    match asked {
        None if cf.paths.count() > 1 => Err(Error::not_supported(
            "Automatic output path selection is not yet supported in CompactFiles()",
        )),
        None => Ok(0),
        Some(id) if id > cf.paths.last_id() => Err(Error::invalid("Invalid output path ID")),
        Some(id) => Ok(id),
    }
}
