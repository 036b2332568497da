//! A stream of a snapshot that is written into a directory.
//!
//! A sender repeats a piece whose answer was lost. What was written already is skipped then: the
//! same snapshot has the same bytes.

use super::directory::Directory;
use super::header::Tables;
use crate::error::{Error, Result};
use std::sync::Arc;
use whitewater::fs::WritableFile;

/// A snapshot of which some bytes have arrived.
#[derive(Debug)]
pub(crate) struct Incoming {
    directory: Arc<Directory>,
    /// The bytes before the tables, until they are complete.
    header: Vec<u8>,
    tables: Option<Tables>,
    /// How many tables are complete.
    complete: usize,
    /// The next table, as far as it is written.
    file: Option<Box<dyn WritableFile>>,
    /// How many bytes have arrived.
    received: u64,
}

impl Incoming {
    /// A stream of which nothing has arrived.
    pub fn new(directory: Directory) -> Self {
        Incoming {
            directory: Arc::new(directory),
            header: Vec::new(),
            tables: None,
            complete: 0,
            file: None,
            received: 0,
        }
    }

    /// How many bytes have arrived.
    pub fn received(&self) -> u64 {
        self.received
    }

    /// Takes the bytes of the stream that begin at `position`.
    pub fn write(&mut self, position: u64, data: &[u8]) -> Result<()> {
        let Some(known) = self.received.checked_sub(position) else {
            let received = self.received;
            return Err(Error::new(format!(
                "bytes {received} to {position} are missing"
            )));
        };
        let known = usize::try_from(known).map_or(data.len(), |n| n.min(data.len()));
        let mut rest = &data[known..];
        while !rest.is_empty() {
            let taken = match self.tables {
                None => self.write_header(rest)?,
                Some(_) => self.write_table(rest)?,
            };
            self.received += taken as u64;
            rest = &rest[taken..];
        }
        Ok(())
    }

    /// Takes as many bytes of the header as are missing, and returns how many those are.
    fn write_header(&mut self, data: &[u8]) -> Result<usize> {
        let before = self.header.len();
        let until = match Tables::parse(&self.header)? {
            Ok(_) => before,
            Err(until) => until,
        };
        let taken = data.len().min(until - before);
        self.header.extend_from_slice(&data[..taken]);
        if let Ok(tables) = Tables::parse(&self.header)? {
            self.header = Vec::new();
            self.tables = Some(tables);
            self.refuse_empty()?;
        }
        Ok(taken)
    }

    /// Takes as many bytes of the next table as are missing, and returns how many those are.
    fn write_table(&mut self, data: &[u8]) -> Result<usize> {
        let mut tables = self.tables.iter().flat_map(|tables| &tables.tables);
        let Some(table) = tables.nth(self.complete) else {
            return Err(Error::new("bytes behind the last table of a snapshot"));
        };
        let failed = |e| Error::because(format!("write of the table {}", table.name), e);
        let mut file = match self.file.take() {
            Some(file) => file,
            None => {
                let Directory { fs, path, .. } = &*self.directory;
                fs.create_dir_all(path).map_err(failed)?;
                fs.create(&path.join(&table.name)).map_err(failed)?
            }
        };
        let missing = table.size.saturating_sub(file.len());
        let taken = usize::try_from(missing).map_or(data.len(), |n| n.min(data.len()));
        file.append(&data[..taken]).map_err(failed)?;
        if file.len() < table.size {
            self.file = Some(file);
        } else {
            file.sync().map_err(failed)?;
            self.complete += 1;
        }
        Ok(taken)
    }

    /// Refuses tables without bytes: there are none.
    fn refuse_empty(&self) -> Result<()> {
        let mut tables = self.tables.iter().flat_map(|tables| &tables.tables);
        match tables.find(|table| table.size == 0) {
            Some(table) => Err(Error::new(format!("the table {} is empty", table.name))),
            None => Ok(()),
        }
    }

    /// The tables and their directory, once all have arrived. They are durable then.
    pub fn finish(&self) -> Result<(Arc<Directory>, Tables)> {
        match &self.tables {
            Some(tables) if tables.tables.len() == self.complete => {
                let Directory { fs, path, .. } = &*self.directory;
                fs.create_dir_all(path)
                    .map_err(|e| Error::because("creation of a directory of snapshots", e))?;
                self.directory.sync()?;
                Ok((self.directory.clone(), tables.clone()))
            }
            _ => Err(Error::new(format!(
                "the snapshot ends after {} bytes, which is too early",
                self.received
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Incoming;
    use crate::snapshot::directory::Directory;
    use crate::snapshot::header::tests::tables;
    use std::path::{Path, PathBuf};
    use std::sync::Arc;
    use whitewater::fs::mem::MemFs;
    use whitewater::fs::{Fs, read_file};

    fn incoming(fs: &MemFs) -> Incoming {
        Incoming::new(Directory::new(Arc::new(fs.clone()), PathBuf::from("/in")))
    }

    fn stream() -> Vec<u8> {
        let mut bytes = tables(&[("1.sst", 5), ("2.sst", 3)]).header().unwrap();
        bytes.extend_from_slice(b"riverlea");
        bytes
    }

    #[test]
    fn pieces_of_any_size_make_the_same_files() {
        let stream = stream();
        for size in [1, 2, 7, 64, stream.len()] {
            let fs = MemFs::new();
            let mut incoming = incoming(&fs);
            for (n, piece) in stream.chunks(size).enumerate() {
                let at = (n * size) as u64;
                assert!(incoming.finish().is_err());
                incoming.write(at, piece).unwrap();
                // The answer was lost.
                incoming.write(at, piece).unwrap();
            }
            let (directory, _) = incoming.finish().unwrap();
            let file = |name| read_file(&fs, &Path::new("/in").join(name), 9).unwrap();
            assert_eq!(
                (file("1.sst"), file("2.sst")),
                (b"river".into(), b"lea".into())
            );
            drop((directory, incoming));
            assert!(!fs.exists(Path::new("/in")).unwrap());
        }
    }

    #[test]
    fn gaps_and_more_than_announced_are_refused() {
        let (fs, stream) = (MemFs::new(), stream());
        let mut incoming = incoming(&fs);
        incoming.write(0, &stream[..9]).unwrap();
        assert!(incoming.write(10, &stream[10..]).is_err());
        incoming.write(9, &stream[9..]).unwrap();
        let error = incoming.write(stream.len() as u64, b"x").unwrap_err();
        assert!(
            error.to_string().contains("behind the last table"),
            "{error}"
        );
        let mut empty = self::incoming(&fs);
        assert!(
            empty
                .write(0, &tables(&[("1.sst", 0)]).header().unwrap())
                .is_err()
        );
    }
}
