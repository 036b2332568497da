//! Picks of files that a caller names, with what has to go along.

use super::{Compaction, Files, Picker};
use crate::compact::reason::CompactionReason;
use crate::options::CfOptions;
use crate::version::{TableFile, Version, hull};
use std::collections::BTreeSet;
use std::sync::Arc;
use whitewater_storage::key::InternalComparator;
use whitewater_storage::{Error, ErrorKind, Result};

/// Picks the compaction of the tables with these `numbers` into `output_level`, together with the
/// files that must go along: RocksDB's rules, with RocksDB's messages. With `moves`, tables of one
/// level that can become part of the output level as they are need not be rewritten.
///
/// # Errors
/// `InvalidArgument` for no number, for one that is no live table of the column family, and for a
/// table below the output level; `Aborted` if a running compaction reads one of the files, or
/// writes to the same place.
pub(crate) fn pick_named(
    version: &Arc<Version>,
    options: &CfOptions,
    comparator: &InternalComparator,
    numbers: &BTreeSet<u64>,
    output_level: usize,
    moves: bool,
) -> Result<Compaction> {
    let picker = Picker {
        version,
        options,
        user: &comparator.user,
    };
    check_named(version, numbers, output_level)?;
    let inputs = picker.around_named(numbers, output_level);
    let mut all = inputs.iter().flat_map(|(_, files)| files);
    if let Some(busy) = all.find(|file| file.being_compacted()) {
        return Err(aborted(format_args!(
            "Necessary compaction input file {:06}.sst is currently being compacted.",
            busy.meta.number
        )));
    }
    let moves = moves
        && match &inputs[..] {
            [(level, files)] => picker.can_move(*level, files, output_level),
            _ => false,
        };
    let picked = picker.finish(inputs, output_level, CompactionReason::ManualCompaction);
    let mut picked = picked.ok_or_else(|| {
        aborted(format_args!(
            "A running compaction is writing to the same output level(s) in an overlapping key \
             range"
        ))
    })?;
    picked.trivial_move = moves;
    Ok(picked)
}

fn aborted(text: std::fmt::Arguments<'_>) -> Error {
    Error::new(ErrorKind::Aborted, text)
}

fn check_named(version: &Version, numbers: &BTreeSet<u64>, output_level: usize) -> Result<()> {
    if numbers.is_empty() {
        return Err(Error::invalid(
            "A compaction must contain at least one file.",
        ));
    }
    for number in numbers {
        let has = |files: &Vec<Arc<TableFile>>| files.iter().any(|f| f.meta.number == *number);
        match version.levels.iter().position(has) {
            None => {
                return Err(Error::invalid(format_args!(
                    "Specified compaction input file {number:06}.sst does not exist in the column \
                     family."
                )));
            }
            Some(level) if level > output_level => {
                return Err(Error::invalid(format_args!(
                    "Cannot compact file to up level, input file: {number:06}.sst level {level} > \
                     output level {output_level}"
                )));
            }
            Some(_) => {}
        }
    }
    Ok(())
}

impl Picker<'_> {
    /// The named files and those that go along, by level: of level 0 all that are older (I3), or
    /// for an output on level 0 those between in age; of deeper levels all that overlap what
    /// is taken so far (I4), with a clean cut (I2).
    fn around_named(&self, numbers: &BTreeSet<u64>, output_level: usize) -> Vec<(usize, Files)> {
        let mut taken: Files = Vec::new();
        let mut inputs = Vec::new();
        for level in 0..=output_level {
            let all = &self.version.levels[level];
            let named = |f: &Arc<TableFile>| numbers.contains(&f.meta.number);
            let files = if level == 0 {
                let first = all.iter().position(named).unwrap_or(all.len());
                let last = match output_level {
                    0 => all.iter().rposition(named).map_or(first, |last| last + 1),
                    _ => all.len(),
                };
                all[first..last].to_vec()
            } else {
                let files = all.iter().filter(|f| named(f)).cloned().collect();
                self.between(level, files, &taken)
            };
            taken.extend(files.iter().cloned());
            if !files.is_empty() {
                inputs.push((level, files));
            }
        }
        inputs
    }

    /// The files of `level`, not 0, that overlap the range from the first to the last of `files`
    /// and of `above`, which may have gaps: an output may span them.
    fn between(&self, level: usize, files: Files, above: &[Arc<TableFile>]) -> Files {
        let mut files = files;
        loop {
            let Some(range) = hull(self.user, above.iter().chain(&files)) else {
                return files;
            };
            let more = self.clean_cut(level, self.version.overlapping(level, self.user, range));
            if more.len() == files.len() {
                return more;
            }
            files = more;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compact::pick::any_busy;
    use crate::version::testing::parse_version;

    /// The inputs of the compaction of `numbers` of the version `text`, or the error.
    fn pick(text: &str, numbers: &[u64], output_level: usize) -> Result<String> {
        let version = parse_version(text);
        let numbers = numbers.iter().copied().collect();
        let (options, comparator) = (CfOptions::default(), InternalComparator::default());
        let picked = pick_named(
            &version,
            &options,
            &comparator,
            &numbers,
            output_level,
            true,
        )?;
        let level = |(level, files): &(usize, Files)| {
            let numbers: Vec<String> = files.iter().map(|f| f.meta.number.to_string()).collect();
            format!("{level}: {}", numbers.join(" "))
        };
        let inputs: Vec<String> = picked.inputs.iter().map(level).collect();
        let moves = if picked.trivial_move { ", moved" } else { "" };
        assert!(picked.inputs.iter().all(|(_, files)| any_busy(files)));
        Ok(inputs.join(", ") + moves)
    }

    const TREE: &str = "L0: 9:a-c 8:x-z 7:b-d\nL1: 5:a-e 6:g-k 4:m-p\nL2: 1:a-b 2:f-h 3:n-z";

    #[test]
    fn what_has_to_go_along_does() {
        let of = |numbers: &[u64], level| pick(TREE, numbers, level).unwrap();
        // Older files of level 0 do, newer ones do not.
        assert_eq!(of(&[8], 1), "0: 8 7, 1: 5 6 4");
        assert_eq!(of(&[7], 1), "0: 7, 1: 5");
        assert_eq!(of(&[7], 2), "0: 7, 1: 5, 2: 1");
        // Within level 0, those between do.
        assert_eq!(of(&[9, 7], 0), "0: 9 8 7");
        assert_eq!(of(&[8], 0), "0: 8");
        // So do those between in a deeper level.
        assert_eq!(of(&[5, 4], 2), "1: 5 6 4, 2: 1 2 3");
        assert_eq!(of(&[6], 2), "1: 6, 2: 2");
        assert_eq!(of(&[2], 2), "2: 2");
        // A level without a named file counts, too.
        assert_eq!(
            pick("L0: 9:a-c\nL1: 5:b-m\nL2: 1:k-z", &[9], 2).unwrap(),
            "0: 9, 1: 5, 2: 1"
        );
        assert_eq!(of(&[2], 4), "2: 2, moved");
        assert_eq!(pick("L1: 5:a-c 6:c-d 7:e-f", &[5], 1).unwrap(), "1: 5 6");
    }

    #[test]
    fn what_cannot_be_done_is_refused() {
        let of = |text: &str, numbers: &[u64], level| pick(text, numbers, level).unwrap_err();
        let invalid = [
            (&[][..], 2, "at least one file"),
            (&[77], 2, "000077.sst does not exist"),
            (&[1], 1, "000001.sst level 2 > output level 1"),
        ];
        for (numbers, level, said) in invalid {
            let e = of(TREE, numbers, level);
            assert_eq!(e.kind(), ErrorKind::InvalidArgument);
            assert!(e.to_string().contains(said), "{e}");
        }
        let busy = [
            (
                "L1: 5:a-e! 6:g-k",
                &[5][..],
                2,
                "is currently being compacted",
            ),
            ("L0: 9:a-c 8:a-c!", &[9], 1, "000008.sst is currently"),
            ("L1: 5:a-e\nL2: 1:a-b!", &[5], 2, "000001.sst is currently"),
            ("L1: 5:a-e 6:f-z!\nL2: 1:a-b", &[5], 2, ""),
            ("L1: 5:a-c 6:d-z!\nL2: 1:a-b", &[1], 2, ""),
            (
                "L1: 6:a-z!\nL2: 1:a-b",
                &[1],
                2,
                "writing to the same output",
            ),
        ];
        for (text, numbers, level, said) in busy {
            match pick(text, numbers, level) {
                Ok(_) => assert!(said.is_empty(), "{text}"),
                Err(e) => {
                    assert_eq!(e.kind(), ErrorKind::Aborted);
                    assert!(
                        !said.is_empty() && e.to_string().contains(said),
                        "{text}: {e}"
                    );
                }
            }
        }
    }
}
