//! A snapshot as a stream of bytes, which openraft reads on one node and writes on another.

use super::directory::Directory;
use super::header::Tables;
use super::incoming::Incoming;
use super::pending::{Installs, Pending};
use crate::error::{Error, Result};
use std::io::{self, SeekFrom};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncSeek, AsyncWrite, ReadBuf};
use tokio::task::{JoinHandle, spawn_blocking};

/// The most bytes that one call reads from or writes to a file.
const PIECE: usize = 1 << 20;

/// The tables of a snapshot as a stream: on the node that has the snapshot one that is read, on
/// the node that receives it one that is written. Nothing is copied to make it, and files are
/// read and written on threads that may wait.
#[derive(Debug)]
pub struct SnapshotFiles {
    side: Side,
    position: u64,
    /// Bytes that were read, and how many of them were taken.
    piece: (Vec<u8>, usize),
    reading: Option<JoinHandle<io::Result<Vec<u8>>>>,
    writing: Option<JoinHandle<io::Result<()>>>,
    /// For whom it arrives, and that it has arrived.
    arrives: Option<(Installs, u64)>,
    pending: Option<Pending>,
}

#[derive(Debug, Clone)]
enum Side {
    Outgoing(Arc<Outgoing>),
    Incoming(Arc<Mutex<Incoming>>),
}

/// A snapshot that is read.
#[derive(Debug)]
struct Outgoing {
    directory: Arc<Directory>,
    tables: Tables,
    header: Vec<u8>,
}

impl Outgoing {
    fn len(&self) -> u64 {
        let sizes = self.tables.tables.iter().map(|table| table.size);
        self.header.len() as u64 + sizes.sum::<u64>()
    }

    /// Up to [`PIECE`] bytes from `position` on, of one file; none at the end.
    fn read(&self, position: u64) -> io::Result<Vec<u8>> {
        let header = self.header.len() as u64;
        let Some(mut at) = position.checked_sub(header) else {
            let from = usize::try_from(position).map_err(io::Error::other)?;
            return Ok(self.header[from..].to_vec());
        };
        for table in &self.tables.tables {
            if at < table.size {
                let length = (table.size - at).min(PIECE as u64);
                let length = usize::try_from(length).map_err(io::Error::other)?;
                let Directory { fs, path, .. } = &*self.directory;
                let file = fs
                    .open_random(&path.join(&table.name))
                    .map_err(io::Error::other)?;
                let bytes = file.read_at(at, length).map_err(io::Error::other)?;
                return Ok(bytes.to_vec());
            }
            at -= table.size;
        }
        Ok(Vec::new())
    }
}

fn lock(incoming: &Mutex<Incoming>) -> MutexGuard<'_, Incoming> {
    // A panic in the middle of a write leaves the stream shorter, and so refused at its end.
    incoming.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SnapshotFiles {
    fn new(side: Side) -> Self {
        SnapshotFiles {
            side,
            position: 0,
            piece: (Vec::new(), 0),
            reading: None,
            writing: None,
            arrives: None,
            pending: None,
        }
    }

    /// The stream of the tables in `directory`.
    pub(crate) fn outgoing(directory: Arc<Directory>, tables: Tables) -> Result<Self> {
        let header = tables.header()?;
        Ok(Self::new(Side::Outgoing(Arc::new(Outgoing {
            directory,
            tables,
            header,
        }))))
    }

    /// A stream of tables of `group` that puts them into `directory`. It has arrived when it is
    /// shut down.
    pub(crate) fn incoming(directory: Directory, installs: Installs, group: u64) -> Self {
        let incoming = Incoming::new(directory);
        SnapshotFiles {
            arrives: Some((installs, group)),
            ..Self::new(Side::Incoming(Arc::new(Mutex::new(incoming))))
        }
    }

    /// What says that it has arrived and is not installed.
    pub(crate) fn take_pending(&mut self) -> Option<Pending> {
        self.pending.take()
    }

    /// The tables that have arrived and their directory. Those of a stream that is read are copied
    /// into `directory`: it comes from a node of the same process. Waits for the disk.
    pub(crate) fn finish(self, directory: Directory) -> Result<(Arc<Directory>, Tables)> {
        match self.side {
            Side::Incoming(incoming) => lock(&incoming).finish(),
            Side::Outgoing(outgoing) => {
                let mut incoming = Incoming::new(directory);
                let failed = |e| Error::because("copy of a snapshot", e);
                loop {
                    let position = incoming.received();
                    let piece = outgoing.read(position).map_err(failed)?;
                    if piece.is_empty() {
                        return incoming.finish();
                    }
                    incoming.write(position, &piece)?;
                }
            }
        }
    }

    /// Waits for the write that is under way.
    fn poll_written(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(writing) = &mut self.writing else {
            return Poll::Ready(Ok(()));
        };
        let written = ready!(Pin::new(writing).poll(cx));
        self.writing = None;
        Poll::Ready(written.unwrap_or_else(|e| Err(io::Error::other(e))))
    }
}

impl AsyncRead for SnapshotFiles {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let Side::Outgoing(outgoing) = &this.side else {
            let e = "a snapshot that is received cannot be read";
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::Unsupported, e)));
        };
        loop {
            let (piece, taken) = &mut this.piece;
            let rest = &piece[*taken..];
            if !rest.is_empty() {
                let length = rest.len().min(buf.remaining());
                buf.put_slice(&rest[..length]);
                *taken += length;
                this.position += length as u64;
                return Poll::Ready(Ok(()));
            }
            if this.position >= outgoing.len() || buf.remaining() == 0 {
                return Poll::Ready(Ok(()));
            }
            let reading = this.reading.get_or_insert_with(|| {
                let (outgoing, position) = (outgoing.clone(), this.position);
                spawn_blocking(move || outgoing.read(position))
            });
            let read = ready!(Pin::new(reading).poll(cx));
            this.reading = None;
            this.piece = (read.map_err(io::Error::other)??, 0);
        }
    }
}

impl AsyncWrite for SnapshotFiles {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_written(cx))?;
        let Side::Incoming(incoming) = &self.side else {
            let e = "a snapshot that is sent cannot be written";
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::Unsupported, e)));
        };
        let piece = data[..data.len().min(PIECE)].to_vec();
        let (incoming, position, length) = (incoming.clone(), self.position, piece.len());
        self.writing = Some(spawn_blocking(move || {
            let written = lock(&incoming).write(position, &piece);
            written.map_err(io::Error::other)
        }));
        self.position += length as u64;
        Poll::Ready(Ok(length))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_written(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_written(cx))?;
        if let Some((installs, group)) = self.arrives.take() {
            self.pending = Some(installs.begin(group));
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncSeek for SnapshotFiles {
    fn start_seek(mut self: Pin<&mut Self>, to: SeekFrom) -> io::Result<()> {
        let end = match &self.side {
            Side::Outgoing(outgoing) => outgoing.len(),
            Side::Incoming(incoming) => lock(incoming).received(),
        };
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::End(offset) => end.checked_add_signed(offset),
            SeekFrom::Current(offset) => self.position.checked_add_signed(offset),
        };
        let before = || io::Error::new(io::ErrorKind::InvalidInput, "before the start");
        self.position = position.ok_or_else(before)?;
        self.piece = (Vec::new(), 0);
        self.reading = None;
        Ok(())
    }

    fn poll_complete(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<u64>> {
        Poll::Ready(Ok(self.position))
    }
}
