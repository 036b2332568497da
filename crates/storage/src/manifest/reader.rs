//! Reads the edits of a manifest.

use super::VersionEdit;
use crate::error::{Error, Result};
use crate::fs::{Fs, SequentialFile};
use crate::planted;
use crate::wal::{LogReader, ReadOutcome};
use std::path::{Path, PathBuf};

/// Reads edits front to back, and returns an atomic group as a whole.
#[derive(Debug)]
pub struct ManifestReader {
    path: PathBuf,
    log: LogReader,
    record: Vec<u8>,
    done: bool,
}

impl ManifestReader {
    /// Reads the manifest at `path`.
    ///
    /// # Errors
    /// Errors of opening the file.
    pub fn open(fs: &dyn Fs, path: &Path) -> Result<Self> {
        Ok(Self::new(fs.open_sequential(path)?))
    }

    /// Reads `file`.
    pub fn new(file: Box<dyn SequentialFile>) -> Self {
        ManifestReader {
            path: file.path().to_path_buf(),
            log: LogReader::new(file, 0),
            record: Vec::new(),
            done: false,
        }
    }

    /// The next edits to apply together: one, or all of an atomic group.
    /// `None` at the end; an unfinished record or group there was never
    /// acknowledged, and is dropped.
    ///
    /// # Errors
    /// `Corruption` naming file and offset, for a record that is damaged or cannot be decoded, or
    /// for a group with a wrong countdown or a normal edit inside. After an error there is nothing
    /// more to read.
    #[expect(
        clippy::should_implement_trait,
        reason = "it is fallible, not an iterator"
    )]
    pub fn next(&mut self) -> Result<Option<Vec<VersionEdit>>> {
        let result = self.next_group();
        match result {
            Ok(Some(_)) => self.log.mark(),
            _ => self.done = true,
        }
        result
    }

    /// Continues after the last edits that [`ManifestReader::next`] returned, in the same manifest,
    /// which may have grown. `file` begins at [`ManifestReader::resume_from`].
    ///
    /// # Errors
    /// Errors of the file; `Corruption` if it ends before that position.
    pub fn resume(&mut self, file: Box<dyn SequentialFile>) -> Result<()> {
        self.done = false;
        self.log.resume(file)
    }

    /// The offset at which the file given to [`ManifestReader::resume`] begins.
    pub fn resume_from(&self) -> u64 {
        self.log.resume_from()
    }

    /// The offset directly after the last edit read.
    pub fn offset(&self) -> u64 {
        self.log.record_end()
    }

    fn next_group(&mut self) -> Result<Option<Vec<VersionEdit>>> {
        let mut group: Vec<VersionEdit> = Vec::new();
        let mut expected = None;
        loop {
            let Some(edit) = self.next_edit()? else {
                planted!(HalfGroupApplied => return Ok((!group.is_empty()).then_some(group)));
                return Ok(None);
            };
            let remaining = edit.remaining_in_group;
            if let Some(expected) = expected
                && remaining != Some(expected)
            {
                let found = match remaining {
                    Some(n) => format!("{n} edits to follow"),
                    None => "a normal edit".to_owned(),
                };
                return Err(self.corruption(format_args!(
                    "atomic group: found {found}, expected {expected} edits to follow"
                )));
            }
            group.push(edit);
            match remaining {
                None | Some(0) => return Ok(Some(group)),
                Some(n) => expected = Some(n - 1),
            }
        }
    }

    fn next_edit(&mut self) -> Result<Option<VersionEdit>> {
        if self.done {
            return Ok(None);
        }
        match self.log.read_record(&mut self.record)? {
            ReadOutcome::Record => match VersionEdit::decode(&self.record) {
                Ok(edit) => Ok(Some(edit)),
                Err(e) => Err(e.in_file(&self.path, Some(self.log.record_offset()))),
            },
            ReadOutcome::Eof | ReadOutcome::TornTail { .. } => Ok(None),
            // Edits are synced one by one: this one was not acknowledged.
            ReadOutcome::Corrupt(_) if self.log.is_lost_tail() => Ok(None),
            ReadOutcome::Corrupt(e) => {
                if self.is_in_lost_group(e.offset())? {
                    Ok(None)
                } else {
                    Err(e)
                }
            }
        }
    }

    /// Whether the damage at `offset`, a lost sector, is inside an atomic group at the end of the
    /// manifest. Such a group was not synced, otherwise the sector would not be lost. The records
    /// of the group tell where it begins.
    fn is_in_lost_group(&mut self, offset: Option<u64>) -> Result<bool> {
        let Some(offset) = offset else {
            return Ok(false);
        };
        let mut known = false;
        loop {
            if !self.log.read_behind() && !known {
                return Ok(false);
            }
            loop {
                match self.log.read_record(&mut self.record)? {
                    ReadOutcome::Record => {
                        let edit = VersionEdit::decode(&self.record);
                        let start = edit.ok().and_then(|edit| edit.group_start);
                        if start.is_none_or(|start| start > offset) {
                            return Ok(false);
                        }
                        known = true;
                    }
                    ReadOutcome::Eof | ReadOutcome::TornTail { .. } => return Ok(known),
                    ReadOutcome::Corrupt(_) if self.log.is_lost_tail() => return Ok(known),
                    ReadOutcome::Corrupt(_) => break,
                }
            }
        }
    }

    fn corruption(&self, what: impl std::fmt::Display) -> Error {
        Error::corruption_in(&self.path, self.log.record_offset(), what)
    }
}
