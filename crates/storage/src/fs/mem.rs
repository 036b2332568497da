//! In-memory file system.
//!
//! It tells what was written from what is durable, and [`MemFs::crash_clone`]
//! makes the file system that a power cut at this moment might leave. The
//! model is meant to be no kinder than Linux:
//!
//! * Written bytes are durable after the file's `sync`, directory operations
//!   (create, rename, link, remove) after `sync_dir` of a directory they touch.
//!   Syncing a file does not make its name durable.
//! * A crash keeps all that is durable. Of the rest it keeps any part: each
//!   directory operation, and each unsynced 4 KiB block, or, in torn blocks,
//!   each 512-byte sector, by itself. A file may come out longer than its
//!   bytes; what was lost reads as zeros, or as what was there before.
//! * After a failed sync ([`WritableFile::forget_unsynced`]) the unsynced bytes
//!   stay readable, but no later sync makes them durable.
//! * Making a directory is durable after `sync_dir` of its parent, of itself or
//!   of a directory below, as on file systems with an ordered journal. Sync a
//!   directory before renaming it: `sync_dir` does not find operations made
//!   under an older name.
//!
//! The death of the process alone loses nothing that was written: that is
//! [`MemFs::crash_clone`] with everything kept.
//!
//! Lock order: names, then one file's content.

use super::{FileLock, Fs, RandomAccessFile, SequentialFile, WritableFile};
use crate::error::{Error, Result};
use bytes::Bytes;
use parking_lot::{Mutex, RwLock};
use rand::{Rng, SeedableRng, rngs::StdRng};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What is written back, or lost, together.
const BLOCK: usize = 4096;

/// What the device writes atomically.
const SECTOR: usize = 512;

/// One call of `sync` or `sync_dir`, as the hook sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyncPoint {
    /// Counts the syncs of this file system, from 1.
    pub index: u64,
    /// The file, or the directory, being synced.
    pub path: PathBuf,
    /// Whether this is a `sync_dir`.
    pub is_dir: bool,
    /// The hook is called twice per sync: before it takes effect (false) and
    /// after (true).
    pub done: bool,
}

/// Called at every sync; no lock is held then.
pub type SyncHook = Arc<dyn Fn(SyncPoint) + Send + Sync>;

/// An in-memory file system. Clones are handles of the same one.
#[derive(Clone, Default)]
pub struct MemFs {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    /// Write-locked to change names and to clone; read-locked to write bytes,
    /// so that a clone sees one moment of all files.
    names: RwLock<Names>,
    locks: Mutex<BTreeSet<PathBuf>>,
    hook: Mutex<Option<SyncHook>>,
    /// Number of syncs begun. Written and read by syncs; publishes nothing.
    syncs: AtomicU64,
}

impl fmt::Debug for MemFs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MemFs")
    }
}

#[derive(Clone)]
enum Node {
    Dir,
    File(Arc<MemFile>),
}

impl Node {
    fn is_same(&self, other: &Node) -> bool {
        match (self, other) {
            (Node::Dir, Node::Dir) => true,
            (Node::File(a), Node::File(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }
}

type Tree = BTreeMap<PathBuf, Node>;

/// The directory tree as it is, as it would be after losing everything
/// unsynced, and the operations between the two.
#[derive(Default)]
struct Names {
    current: Tree,
    durable: Tree,
    pending: Vec<DirOp>,
}

/// A directory operation that is not durable yet.
#[derive(Clone)]
enum DirOp {
    /// A name for a node: create, link, make a directory.
    Add(PathBuf, Node),
    Remove(PathBuf, Node),
    Rename(PathBuf, PathBuf, Node),
}

impl DirOp {
    /// Whether `sync_dir(dir)` makes the operation durable.
    fn is_covered_by(&self, dir: &Path) -> bool {
        match self {
            DirOp::Add(path, Node::Dir) => {
                dir.starts_with(path) || path.parent().is_some_and(|p| p == dir)
            }
            DirOp::Add(path, _) | DirOp::Remove(path, _) => path.parent() == Some(dir),
            DirOp::Rename(from, to, _) => from.parent() == Some(dir) || to.parent() == Some(dir),
        }
    }

    /// Does it to `tree`, where operations before it may be missing.
    fn apply(&self, tree: &mut Tree) {
        match self {
            DirOp::Add(path, node) => {
                tree.insert(path.clone(), node.clone());
            }
            DirOp::Remove(path, node) => {
                if tree.get(path).is_some_and(|n| n.is_same(node)) {
                    tree.remove(path);
                }
            }
            DirOp::Rename(from, to, node) => {
                if tree.get(from).is_some_and(|n| n.is_same(node)) {
                    tree.remove(from);
                }
                tree.insert(to.clone(), node.clone());
                if matches!(node, Node::Dir) {
                    move_children(tree, from, to);
                }
            }
        }
    }
}

/// Renames everything below the directory `from`.
fn move_children(tree: &mut Tree, from: &Path, to: &Path) {
    let below: Vec<PathBuf> = tree
        .keys()
        .filter(|p| p.starts_with(from) && *p != from)
        .cloned()
        .collect();
    for path in below {
        if let (Ok(rest), Some(node)) = (path.strip_prefix(from), tree.remove(&path)) {
            tree.insert(to.join(rest), node);
        }
    }
}

impl Names {
    fn perform(&mut self, op: DirOp) {
        op.apply(&mut self.current);
        self.pending.push(op);
    }

    fn file(&self, path: &Path) -> io::Result<Arc<MemFile>> {
        match self.current.get(path) {
            Some(Node::File(file)) => Ok(file.clone()),
            Some(Node::Dir) => Err(ErrorKind::IsADirectory.into()),
            None => Err(ErrorKind::NotFound.into()),
        }
    }

    fn is_dir(&self, path: &Path) -> bool {
        path.parent().is_none() || matches!(self.current.get(path), Some(Node::Dir))
    }

    /// Fails unless a file may be put at `path`.
    fn check_parent(&self, path: &Path) -> io::Result<()> {
        match path.parent() {
            Some(dir) if self.is_dir(dir) => Ok(()),
            _ => Err(ErrorKind::NotFound.into()),
        }
    }

    fn open_or_create(&mut self, path: &Path) -> io::Result<Arc<MemFile>> {
        match self.file(path) {
            Err(e) if e.kind() == ErrorKind::NotFound => {
                self.check_parent(path)?;
                let file = Arc::new(MemFile::default());
                self.perform(DirOp::Add(path.to_path_buf(), Node::File(file.clone())));
                Ok(file)
            }
            other => other,
        }
    }

    fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        let node = self.current.get(from).ok_or(ErrorKind::NotFound)?.clone();
        self.check_parent(to)?;
        match (&node, self.current.get(to)) {
            (Node::File(_), Some(Node::Dir)) => return Err(ErrorKind::IsADirectory.into()),
            (Node::Dir, Some(_)) => return Err(ErrorKind::AlreadyExists.into()),
            _ => {}
        }
        if from != to {
            self.perform(DirOp::Rename(from.to_path_buf(), to.to_path_buf(), node));
        }
        Ok(())
    }

    fn children<'a>(&'a self, dir: &'a Path) -> impl Iterator<Item = &'a Path> {
        self.current
            .range(dir.to_path_buf()..)
            .map(|(path, _)| path.as_path())
            .take_while(move |path| path.starts_with(dir))
            .filter(move |path| path.parent() == Some(dir))
    }

    /// Makes the operations on the entries of `dir` durable.
    fn sync_dir(&mut self, dir: &Path) {
        let pending = std::mem::take(&mut self.pending);
        for op in pending {
            if op.is_covered_by(dir) {
                op.apply(&mut self.durable);
            } else {
                self.pending.push(op);
            }
        }
    }
}

/// A file's content; its names are in [`Names`].
#[derive(Default)]
struct MemFile {
    content: RwLock<Content>,
}

impl fmt::Debug for MemFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MemFile")
    }
}

/// The content as written and as durable.
#[derive(Default)]
struct Content {
    data: Vec<u8>,
    synced: Vec<u8>,
    /// Blocks of `data` that the next sync makes durable.
    dirty: BTreeSet<usize>,
    /// The file was cut to this length since the last sync.
    cut_to: Option<usize>,
}

impl Content {
    fn write(&mut self, pos: usize, bytes: &[u8]) {
        let end = pos + bytes.len();
        if end > self.data.len() {
            self.data.resize(end, 0);
        }
        self.data[pos..end].copy_from_slice(bytes);
        if !bytes.is_empty() {
            self.dirty.extend(pos / BLOCK..=(end - 1) / BLOCK);
        }
    }

    fn truncate(&mut self, len: usize) {
        if len < self.data.len() {
            self.data.truncate(len);
            self.dirty.retain(|b| b * BLOCK < len);
            self.cut_to = Some(self.cut_to.map_or(len, |cut| cut.min(len)));
        }
    }

    fn sync(&mut self) {
        if let Some(len) = self.cut_to.take() {
            self.synced.truncate(len);
        }
        self.synced.resize(self.data.len(), 0);
        for block in std::mem::take(&mut self.dirty) {
            let range = block_range(block, self.data.len());
            self.synced[range.clone()].copy_from_slice(&self.data[range]);
        }
    }

    /// What a crash leaves, each unsynced part kept by chance.
    fn after_crash(&self, keep: f64, rng: &mut StdRng) -> Vec<u8> {
        let mut left = self.synced.clone();
        if let Some(len) = self.cut_to
            && rng.random_bool(keep)
        {
            left.truncate(len);
        }
        for &block in &self.dirty {
            let range = block_range(block, self.data.len());
            let kept = rng.random_bool(keep);
            // A quarter of the blocks is torn where anything is left to chance.
            let torn = keep > 0.0 && keep < 1.0 && rng.random_bool(0.25);
            let mut sector = range.start;
            while sector < range.end {
                let end = (sector + SECTOR).min(range.end);
                let kept = if torn { rng.random_bool(keep) } else { kept };
                if kept {
                    if left.len() < end {
                        left.resize(end, 0);
                    }
                    left[sector..end].copy_from_slice(&self.data[sector..end]);
                }
                sector = end;
            }
        }
        // The length can be written back without the bytes.
        if left.len() < self.data.len() && rng.random_bool(keep) {
            left.resize(self.data.len(), 0);
        }
        left
    }
}

fn block_range(block: usize, len: usize) -> std::ops::Range<usize> {
    let start = (block * BLOCK).min(len);
    start..(start + BLOCK).min(len)
}

impl MemFs {
    /// An empty file system.
    pub fn new() -> Self {
        MemFs::default()
    }

    /// A file system as a power cut at this moment might leave it: all that is
    /// durable, and of the rest each part with probability `keep` (0.0: drop
    /// all, 1.0: keep all, as when only the process dies). The same `seed` and
    /// state give the same result, in which everything is durable and nothing
    /// is locked. Handles of this file system stay valid, and its own.
    ///
    /// # Panics
    /// When `keep` is not in `0.0..=1.0`.
    pub fn crash_clone(&self, keep: f64, seed: u64) -> MemFs {
        let mut rng = StdRng::seed_from_u64(seed);
        let names = self.shared.names.write();
        let mut tree = names.durable.clone();
        for op in &names.pending {
            if rng.random_bool(keep) {
                op.apply(&mut tree);
            }
        }
        // Hard links stay links: each file is copied once.
        let mut copies: BTreeMap<*const MemFile, Arc<MemFile>> = BTreeMap::new();
        let mut left = Tree::new();
        for (path, node) in &tree {
            for dir in path.ancestors().skip(1).filter(|d| d.parent().is_some()) {
                left.insert(dir.to_path_buf(), Node::Dir);
            }
            let node = match node {
                Node::Dir => Node::Dir,
                Node::File(file) => Node::File(
                    copies
                        .entry(Arc::as_ptr(file))
                        .or_insert_with(|| {
                            let data = file.content.read().after_crash(keep, &mut rng);
                            let content = Content {
                                synced: data.clone(),
                                data,
                                ..Content::default()
                            };
                            Arc::new(MemFile {
                                content: RwLock::new(content),
                            })
                        })
                        .clone(),
                ),
            };
            left.insert(path.clone(), node);
        }
        let names = Names {
            durable: left.clone(),
            current: left,
            pending: Vec::new(),
        };
        MemFs {
            shared: Arc::new(Shared {
                names: RwLock::new(names),
                ..Shared::default()
            }),
        }
    }

    /// Calls `hook` before and after every `sync` and `sync_dir`, on the
    /// thread that syncs. It may use the file system, for instance to take a
    /// [`MemFs::crash_clone`]; syncing from it would recurse.
    pub fn set_sync_hook(&self, hook: SyncHook) {
        *self.shared.hook.lock() = Some(hook);
    }

    /// Removes the hook.
    pub fn clear_sync_hook(&self) {
        *self.shared.hook.lock() = None;
    }

    /// How many syncs were begun.
    pub fn sync_count(&self) -> u64 {
        self.shared.syncs.load(Ordering::Relaxed)
    }
}

impl Shared {
    /// Runs `sync` between the two calls of the hook.
    fn at_sync_point(&self, path: &Path, is_dir: bool, sync: impl FnOnce()) {
        let index = self.syncs.fetch_add(1, Ordering::Relaxed) + 1;
        let hook = self.hook.lock().clone();
        let call = |done| {
            if let Some(hook) = &hook {
                hook(SyncPoint {
                    index,
                    path: path.to_path_buf(),
                    is_dir,
                    done,
                });
            }
        };
        call(false);
        sync();
        call(true);
    }
}

/// `path` from the root, without `.` and `..`.
fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::from("/");
    for part in path.components() {
        match part {
            Component::Normal(name) => out.push(name),
            Component::ParentDir => {
                out.pop();
            }
            _ => {}
        }
    }
    out
}

fn named<T>(op: &str, path: &Path, result: io::Result<T>) -> Result<T> {
    result.map_err(|e| Error::io(op, path, &e))
}

impl MemFs {
    fn writable(&self, file: Arc<MemFile>, path: &Path, pos: usize) -> Box<dyn WritableFile> {
        Box::new(MemWritable {
            shared: self.shared.clone(),
            file,
            path: path.to_path_buf(),
            pos,
        })
    }
}

impl Fs for MemFs {
    fn create(&self, path: &Path) -> Result<Box<dyn WritableFile>> {
        let mut names = self.shared.names.write();
        let file = named(
            "open a file for writing",
            path,
            names.open_or_create(&normal(path)),
        )?;
        file.content.write().truncate(0);
        Ok(self.writable(file, path, 0))
    }

    fn open_append(&self, path: &Path) -> Result<Box<dyn WritableFile>> {
        let mut names = self.shared.names.write();
        let file = named(
            "open a file for appending",
            path,
            names.open_or_create(&normal(path)),
        )?;
        let end = file.content.read().data.len();
        Ok(self.writable(file, path, end))
    }

    fn reuse(&self, old: &Path, new: &Path) -> Result<Box<dyn WritableFile>> {
        self.rename(old, new)?;
        let file = self.shared.names.read().file(&normal(new));
        Ok(self.writable(named("reopen a file for writing", new, file)?, new, 0))
    }

    fn open_random(&self, path: &Path) -> Result<Arc<dyn RandomAccessFile>> {
        let file = self.shared.names.read().file(&normal(path));
        Ok(Arc::new(MemReadable {
            file: named("open a file for random reads", path, file)?,
            path: path.to_path_buf(),
            pos: 0,
        }))
    }

    fn open_sequential(&self, path: &Path) -> Result<Box<dyn SequentialFile>> {
        let file = self.shared.names.read().file(&normal(path));
        Ok(Box::new(MemReadable {
            file: named("open a file for sequential reading", path, file)?,
            path: path.to_path_buf(),
            pos: 0,
        }))
    }

    fn exists(&self, path: &Path) -> Result<bool> {
        let names = self.shared.names.read();
        let path = normal(path);
        Ok(names.current.contains_key(&path) || names.is_dir(&path))
    }

    fn file_size(&self, path: &Path) -> Result<u64> {
        let file = self.shared.names.read().file(&normal(path));
        let file = named("get the size of a file", path, file)?;
        let len = file.content.read().data.len();
        Ok(len as u64)
    }

    fn list(&self, path: &Path) -> Result<Vec<String>> {
        let names = self.shared.names.read();
        let dir = normal(path);
        if !names.is_dir(&dir) {
            return named("list a directory", path, Err(ErrorKind::NotFound.into()));
        }
        Ok(names
            .children(&dir)
            .filter_map(|p| Some(p.file_name()?.to_str()?.to_owned()))
            .collect())
    }

    fn create_dir_all(&self, path: &Path) -> Result<()> {
        let mut names = self.shared.names.write();
        let path_from_root = normal(path);
        let mut above: Vec<&Path> = path_from_root.ancestors().collect();
        above.reverse();
        for dir in above {
            if names.is_dir(dir) {
                continue;
            }
            if names.current.contains_key(dir) {
                let error = ErrorKind::NotADirectory.into();
                return named("create a directory", path, Err(error));
            }
            names.perform(DirOp::Add(dir.to_path_buf(), Node::Dir));
        }
        Ok(())
    }

    fn remove(&self, path: &Path) -> Result<()> {
        let mut names = self.shared.names.write();
        let from_root = normal(path);
        let file = named("remove a file", path, names.file(&from_root))?;
        names.perform(DirOp::Remove(from_root, Node::File(file)));
        Ok(())
    }

    fn remove_dir(&self, path: &Path) -> Result<()> {
        let mut names = self.shared.names.write();
        let dir = normal(path);
        let error = if !names.current.contains_key(&dir) {
            ErrorKind::NotFound
        } else if !names.is_dir(&dir) {
            ErrorKind::NotADirectory
        } else if names.children(&dir).next().is_some() {
            ErrorKind::DirectoryNotEmpty
        } else {
            names.perform(DirOp::Remove(dir, Node::Dir));
            return Ok(());
        };
        named("remove a directory", path, Err(error.into()))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        let op = format!("rename a file to {}", to.display());
        let mut names = self.shared.names.write();
        named(&op, from, names.rename(&normal(from), &normal(to)))
    }

    fn link(&self, from: &Path, to: &Path) -> Result<()> {
        let op = format!("link a file to {}", to.display());
        let mut names = self.shared.names.write();
        let mut link = || {
            let file = names.file(&normal(from))?;
            let to = normal(to);
            names.check_parent(&to)?;
            if names.current.contains_key(&to) {
                return Err(ErrorKind::AlreadyExists.into());
            }
            names.perform(DirOp::Add(to, Node::File(file)));
            Ok(())
        };
        named(&op, from, link())
    }

    fn sync_dir(&self, path: &Path) -> Result<()> {
        let dir = normal(path);
        if !self.shared.names.read().is_dir(&dir) {
            return named("fsync a directory", path, Err(ErrorKind::NotFound.into()));
        }
        self.shared.at_sync_point(path, true, || {
            self.shared.names.write().sync_dir(&dir);
        });
        Ok(())
    }

    fn lock(&self, path: &Path) -> Result<Box<dyn FileLock>> {
        let from_root = normal(path);
        let mut locks = self.shared.locks.lock();
        if locks.contains(&from_root) {
            let held = io::Error::new(ErrorKind::WouldBlock, "lock hold by current process");
            return named("lock file", path, Err(held));
        }
        let opened = self.shared.names.write().open_or_create(&from_root);
        named("lock file", path, opened)?;
        locks.insert(from_root.clone());
        Ok(Box::new(MemLock {
            shared: self.shared.clone(),
            path: from_root,
        }))
    }
}

#[derive(Debug)]
struct MemWritable {
    shared: Arc<Shared>,
    file: Arc<MemFile>,
    path: PathBuf,
    pos: usize,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Shared")
    }
}

impl WritableFile for MemWritable {
    fn append(&mut self, data: &[u8]) -> Result<()> {
        let _no_clone_meanwhile = self.shared.names.read();
        self.file.content.write().write(self.pos, data);
        self.pos += data.len();
        Ok(())
    }
    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
    fn sync(&mut self) -> Result<()> {
        self.shared.at_sync_point(&self.path, false, || {
            let _no_clone_meanwhile = self.shared.names.read();
            self.file.content.write().sync();
        });
        Ok(())
    }
    fn len(&self) -> u64 {
        self.pos as u64
    }
    fn truncate_to_len(&mut self) -> Result<()> {
        let _no_clone_meanwhile = self.shared.names.read();
        self.file.content.write().truncate(self.pos);
        Ok(())
    }
    fn forget_unsynced(&mut self) {
        let _no_clone_meanwhile = self.shared.names.read();
        self.file.content.write().dirty.clear();
    }
}

#[derive(Debug)]
struct MemReadable {
    file: Arc<MemFile>,
    path: PathBuf,
    /// Where the next sequential read starts.
    pos: usize,
}

impl RandomAccessFile for MemReadable {
    fn read_at(&self, offset: u64, len: usize) -> Result<Bytes> {
        let content = self.file.content.read();
        let range = usize::try_from(offset)
            .ok()
            .and_then(|start| Some(start..start.checked_add(len)?));
        match range.and_then(|r| content.data.get(r)) {
            Some(bytes) => Ok(Bytes::copy_from_slice(bytes)),
            None => {
                let there = (content.data.len() as u64).saturating_sub(offset);
                Err(Error::corruption_in(
                    &self.path,
                    offset,
                    format_args!("file ends early: {there} of {len} bytes"),
                ))
            }
        }
    }
    fn len(&self) -> Result<u64> {
        Ok(self.file.content.read().data.len() as u64)
    }
    fn path(&self) -> &Path {
        &self.path
    }
}

impl SequentialFile for MemReadable {
    fn read(&mut self, buf: &mut [u8]) -> Result<usize> {
        let content = self.file.content.read();
        let rest = content.data.get(self.pos..).unwrap_or(&[]);
        let n = rest.len().min(buf.len());
        buf[..n].copy_from_slice(&rest[..n]);
        self.pos += n;
        Ok(n)
    }
    fn path(&self) -> &Path {
        &self.path
    }
}

/// A lock held by somebody in this process.
#[derive(Debug)]
struct MemLock {
    shared: Arc<Shared>,
    path: PathBuf,
}

impl FileLock for MemLock {}

impl Drop for MemLock {
    fn drop(&mut self) {
        self.shared.locks.lock().remove(&self.path);
    }
}
