//! In-memory file system.
//!
//! It tells written from durable bytes. [`MemFs::crash_clone`] makes the file system that a power
//! cut at this moment might leave. The model promises no more than Linux does:
//!
//! * Written bytes are durable after the file's `sync`, directory operations
//!   (create, rename, link, remove) after `sync_dir` of a directory they touch.
//!   Syncing a file does not make its name durable.
//! * The space of a shared file counts as written zeros: until the file is synced, all of it or a
//!   part at its end may be lost.
//! * A crash keeps everything durable. Of the rest it keeps any part: each directory operation, and
//!   each unsynced 4 KiB block or, in torn blocks, each 512-byte sector, independently. A file may
//!   be longer than its kept bytes; lost bytes read as zeros, or as the previous content.
//! * After a failed sync ([`WritableFile::forget_unsynced`]) the unsynced bytes
//!   stay readable, but no later sync makes them durable.
//! * Making a directory is durable after `sync_dir` of its parent, of itself or of a directory
//!   below it, as on file systems with an ordered journal. Sync a directory before renaming it:
//!   `sync_dir` does not find operations made under an older name.
//!
//! The death of the process alone loses no written bytes: [`MemFs::after_kill`]. If no sync has
//! failed, that is [`MemFs::crash_clone`] with everything kept.
//!
//! `content`: the bytes of a file. `tree`: the names of files. `shared`: files that many threads
//! write.
//!
//! Lock order: names, then one file's content.

mod content;
mod shared;
mod tree;

use self::content::{Content, MemFile};
use self::shared::MemShared;
use self::tree::{DirOp, Names, Node, Tree};
use super::{
    FileLock, Fs, RandomAccessFile, SequentialFile, SharedFile, SharedOptions, WritableFile,
};
use crate::error::{Error, Result};
use crate::planted;
use bytes::Bytes;
use parking_lot::{Mutex, RwLock};
use rand::{Rng, SeedableRng, rngs::StdRng};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// One call of `sync` or `sync_dir`, for the hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyncPoint {
    /// Counts the syncs of this file system, from 1.
    pub index: u64,
    /// The file, or the directory, being synced.
    pub path: PathBuf,
    /// Whether this is a `sync_dir`.
    pub is_dir: bool,
    /// False before the sync takes effect, true after it: the hook is called both times.
    pub done: bool,
}

/// Called at every sync, without any lock held.
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

/// A file system with the files of `tree`, each with the content that `left` makes of its own.
fn copy_of(tree: &Tree, mut left: impl FnMut(&Content) -> Content) -> MemFs {
    // Hard links stay links: each file is copied once.
    let mut copies: BTreeMap<*const MemFile, Arc<MemFile>> = BTreeMap::new();
    let mut copied = Tree::new();
    for (path, node) in tree {
        for dir in path.ancestors().skip(1).filter(|d| d.parent().is_some()) {
            copied.insert(dir.to_path_buf(), Node::Dir);
        }
        let node = match node {
            Node::Dir => Node::Dir,
            Node::File(file) => {
                let copy = copies.entry(Arc::as_ptr(file)).or_insert_with(|| {
                    let content = RwLock::new(left(&file.content.read()));
                    Arc::new(MemFile { content })
                });
                Node::File(copy.clone())
            }
        };
        copied.insert(path.clone(), node);
    }
    let names = Names {
        durable: copied.clone(),
        current: copied,
        pending: Vec::new(),
    };
    MemFs {
        shared: Arc::new(Shared {
            names: RwLock::new(names),
            ..Shared::default()
        }),
    }
}

impl MemFs {
    /// An empty file system.
    pub fn new() -> Self {
        MemFs::default()
    }

    /// A file system as a power cut at this moment might leave it: everything durable, and each
    /// part of the rest with probability `keep` (0.0 drops all, 1.0 keeps all except bytes whose
    /// sync has failed). The same `seed` and state give the same result. In the result everything
    /// is durable and nothing is locked. Handles of this file system stay valid and keep referring
    /// to it.
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
        copy_of(&tree, |content| content.after_crash(keep, &mut rng))
    }

    /// A file system as the death of the process at this moment leaves it: everything that can be
    /// read, including bytes whose sync has failed. In the result everything is durable and
    /// nothing is locked.
    pub fn after_kill(&self) -> MemFs {
        let names = self.shared.names.write();
        copy_of(&names.current, |content| {
            Content::durable(content.data.clone())
        })
    }

    /// Calls `hook` before and after every `sync` and `sync_dir`, on the thread that syncs. The
    /// hook may use the file system, for instance to take a [`MemFs::crash_clone`], but must not
    /// sync, which would recurse.
    pub fn set_sync_hook(&self, hook: SyncHook) {
        *self.shared.hook.lock() = Some(hook);
    }

    /// Removes the hook.
    pub fn clear_sync_hook(&self) {
        *self.shared.hook.lock() = None;
    }

    /// How many syncs have begun.
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

    /// Maps nothing, whatever the options say: the promises are the same.
    fn open_shared(
        &self,
        path: &Path,
        from: Option<&Path>,
        _options: SharedOptions,
    ) -> Result<Box<dyn SharedFile>> {
        if let Some(old) = from {
            self.rename(old, path)?;
        }
        let mut names = self.shared.names.write();
        let file = match from {
            Some(_) => names.file(&normal(path)),
            None => names.open_or_create(&normal(path)),
        };
        let file = named("open a file for shared writing", path, file)?;
        if from.is_none() {
            file.content.write().truncate(0);
        }
        Ok(Box::new(MemShared::new(self.shared.clone(), file, path)))
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

    fn modified(&self, path: &Path) -> Result<u64> {
        let file = self.shared.names.read().file(&normal(path));
        let file = named("get the time of a file", path, file)?;
        let modified = file.content.read().modified();
        Ok(modified)
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

    fn truncate(&self, path: &Path, len: u64) -> Result<()> {
        let file = self.shared.names.read().file(&normal(path));
        let file = named("truncate a file", path, file)?;
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        {
            let mut content = file.content.write();
            if len < content.data.len() {
                content.truncate(len);
            }
        }
        self.writable(file, path, len).sync()
    }

    fn num_links(&self, path: &Path) -> Result<u64> {
        let names = self.shared.names.read();
        let file = named("count the links of a file", path, names.file(&normal(path)))?;
        let is_it = |node: &&Node| matches!(node, Node::File(other) if Arc::ptr_eq(other, &file));
        Ok(names.current.values().filter(is_it).count() as u64)
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
        let mut is_held = locks.contains(&from_root);
        planted!(LockNotTaken => is_held = false);
        if is_held {
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
        self.file.content.write().forget_unsynced();
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

/// A held lock.
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
