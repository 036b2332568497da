//! What happens to the files of a database, as the bytes of an input say.

use super::DIR;
use std::collections::BTreeSet;
use std::path::Path;
use whitewater_storage::fs::mem::MemFs;
use whitewater_storage::fs::{Fs, read_file};
use whitewater_storage::fuzzing::fit_checksums;
use whitewater_storage::{Result, filename};

/// Longer programs show nothing new.
const MAX_STEPS: usize = 32;

/// No file becomes longer. Bytes.
const MAX_FILE: usize = 1 << 20;

/// In the byte of a mutation: the checksums of its file are made to fit when
/// the program has ended.
const FITS: u8 = 0x80;

/// Takes an input apart.
#[derive(Debug)]
pub(super) struct Program<'a>(&'a [u8]);

impl<'a> Program<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Program(bytes)
    }

    fn is_over(&self) -> bool {
        self.0.is_empty()
    }

    /// The next `n` bytes, or as many as there are.
    pub fn take(&mut self, n: usize) -> &'a [u8] {
        let (first, rest) = self.0.split_at(n.min(self.0.len()));
        self.0 = rest;
        first
    }

    /// The next byte; zeros follow the last one.
    pub fn byte(&mut self) -> u8 {
        self.take(1).first().copied().unwrap_or(0)
    }

    /// A number of three bytes.
    pub fn number(&mut self) -> usize {
        let bytes = [self.byte(), self.byte(), self.byte(), 0];
        u32::from_le_bytes(bytes) as usize
    }

    /// Does to the database in `files` what is left of the program.
    pub fn run(&mut self, files: &MemFs) {
        let mut fitted = BTreeSet::new();
        for _ in 0..MAX_STEPS {
            if self.is_over() {
                break;
            }
            // What cannot be done is left out.
            let _ = self.step(files, &mut fitted);
        }
        for name in fitted {
            let _ = change(files, &name, |bytes| fit_checksums(&name, bytes));
        }
    }

    /// One mutation: what it does, to which file, from which offset on, with how
    /// many bytes, and these.
    fn step(&mut self, files: &MemFs, fitted: &mut BTreeSet<String>) -> Result<()> {
        let what = self.byte();
        let names = names(files)?;
        let file = self.byte();
        let Some(name) = names.get(usize::from(file) % names.len().max(1)) else {
            return Ok(());
        };
        if what & FITS != 0 {
            fitted.insert(name.clone());
        }
        let path = Path::new(DIR).join(name);
        let at = |bytes: &[u8], offset: usize| offset % (bytes.len() + 1);
        let offset = self.number();
        match what & !FITS {
            0..=39 => {
                let len = usize::from(self.byte() % 65);
                let new = self.take(len);
                change(files, name, |bytes| {
                    let at = at(bytes, offset);
                    let end = (at + new.len()).min(bytes.len());
                    bytes.splice(at..end, new.iter().copied());
                })
            }
            40..=59 => {
                let len = usize::from(self.byte());
                let new = self.take(len);
                change(files, name, |bytes| {
                    let at = at(bytes, offset);
                    bytes.splice(at..at, new.iter().copied());
                })
            }
            60..=69 => change(files, name, |bytes| {
                let at = at(bytes, offset);
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << (what % 8);
                }
            }),
            70..=84 => {
                let len = usize::from(self.byte());
                change(files, name, |bytes| {
                    let at = at(bytes, offset);
                    let end = (at + len).min(bytes.len());
                    bytes.drain(at..end);
                })
            }
            85..=94 => change(files, name, |bytes| bytes.truncate(at(bytes, offset))),
            95..=99 => change(files, name, |bytes| {
                let len = (bytes.len() + offset).min(MAX_FILE);
                bytes.resize(len, 0);
            }),
            100..=104 => files.remove(&path),
            105..=109 => {
                let other = &names[offset % names.len()];
                let (a, b) = (content(files, name)?, content(files, other)?);
                store(files, name, &b)?;
                store(files, other, &a)
            }
            110..=119 => {
                let (kind, number) = (self.byte(), self.byte());
                let bytes = content(files, name)?;
                store(files, &name_of(kind, number), &bytes)
            }
            _ => {
                let to = name_of(self.byte(), self.byte());
                files.rename(&path, &Path::new(DIR).join(to))
            }
        }
    }
}

/// The name of a file of some kind.
pub(super) fn name_of(kind: u8, number: u8) -> String {
    let dir = Path::new("");
    let number = match number {
        // Too large ones, and the largest.
        252.. => filename::MAX_NUMBER_AT_OPEN - 2 + u64::from(number - 252),
        small => u64::from(small),
    };
    let path = match kind % 8 {
        0 => filename::wal(dir, number),
        1 => filename::table(dir, number),
        2 => filename::blob(dir, number),
        3 => filename::manifest(dir, number),
        4 => filename::current(dir),
        5 => filename::identity(dir),
        6 => filename::options(dir, number),
        _ => filename::temp(dir, number),
    };
    path.to_string_lossy().into_owned()
}

/// The files that may be changed, by name.
fn names(files: &MemFs) -> Result<Vec<String>> {
    let mut names = files.list(Path::new(DIR))?;
    names.retain(|name| !name.starts_with("LOG") && name != "LOCK");
    names.sort();
    Ok(names)
}

fn content(files: &MemFs, name: &str) -> Result<Vec<u8>> {
    read_file(files, &Path::new(DIR).join(name), MAX_FILE as u64)
}

/// Puts a file with these bytes there.
pub(super) fn store(files: &MemFs, name: &str, bytes: &[u8]) -> Result<()> {
    let mut file = files.create(&Path::new(DIR).join(name))?;
    file.append(bytes)
}

fn change(files: &MemFs, name: &str, how: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
    let mut bytes = content(files, name)?;
    how(&mut bytes);
    bytes.truncate(MAX_FILE);
    store(files, name, &bytes)
}
