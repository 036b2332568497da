//! Fault injection.
//!
//! [`FaultFs`] counts every operation by kind, and makes those fail that a [`Rule`] picks. A sweep
//! over "the n-th operation fails", n = 1, 2, ..., ends when no failure was injected.
//! [`FaultFs::start_recording`] records the operations of a run without faults, which are those
//! that can be made to fail.
//!
//! An injected failure means that the operation did not happen, with two exceptions:
//! [`Fault::ShortWrite`] writes half of the bytes, and after a failed sync the wrapped file system
//! forgets which bytes were unsynced, as Linux does, so that a second sync cannot rescue them.
//!
//! `kind`: the kind of a file by its name. `shared`: failures of files that many threads write.

mod kind;
mod shared;

pub use self::kind::FileKind;

use self::shared::FaultShared;
use super::os::platform::{DEVICE_ERROR, DISK_FULL};
use super::{
    FileLock, Fs, OpenDir, RandomAccessFile, SequentialFile, SharedFile, SharedOptions,
    WritableFile,
};
use crate::error::{Error, Result};
use bytes::Bytes;
use parking_lot::Mutex;
use rand::{Rng, SeedableRng, rngs::StdRng};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An operation of [`Fs`] or of one of its files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum FaultOp {
    /// [`Fs::create`], and [`Fs::open_shared`] of a new file
    Create,
    /// [`Fs::open_append`]
    OpenAppend,
    /// [`Fs::reuse`], and [`Fs::open_shared`] of a renamed file; the path is the
    /// new one.
    Reuse,
    /// [`Fs::open_random`]
    OpenRandom,
    /// [`Fs::open_sequential`]
    OpenSequential,
    /// [`Fs::exists`]
    Exists,
    /// [`Fs::file_size`], [`Fs::num_links`] and [`RandomAccessFile::len`]
    FileSize,
    /// [`Fs::list`]
    List,
    /// [`Fs::create_dir_all`]
    CreateDir,
    /// [`Fs::remove`]
    Remove,
    /// [`Fs::remove_dir`]
    RemoveDir,
    /// [`Fs::rename`]; the path is the new one.
    Rename,
    /// [`Fs::link`]; the path is the new one.
    Link,
    /// [`Fs::sync_dir`] and [`Fs::sync_open_dir`]
    SyncDir,
    /// [`Fs::lock`]
    Lock,
    /// [`WritableFile::append`] and [`SharedFile::write_at`]
    Append,
    /// [`SharedFile::extend`]
    Extend,
    /// [`WritableFile::flush`]
    Flush,
    /// [`WritableFile::sync`] and [`SharedFile::sync`]
    Sync,
    /// [`WritableFile::truncate_to_len`] and [`SharedFile::truncate`]
    Truncate,
    /// [`RandomAccessFile::read_at`]
    ReadAt,
    /// [`SequentialFile::read`]
    SequentialRead,
}

/// The number of kinds of operations in [`FaultOp`].
const OPS: usize = FaultOp::SequentialRead as usize + 1;

/// A set of operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpSet(u32);

impl OpSet {
    /// Every operation.
    pub const ALL: OpSet = OpSet(u32::MAX);
    /// The operations that change files or directories, or make them durable.
    pub const WRITES: OpSet = OpSet::of(&[
        FaultOp::Create,
        FaultOp::OpenAppend,
        FaultOp::Reuse,
        FaultOp::CreateDir,
        FaultOp::Remove,
        FaultOp::RemoveDir,
        FaultOp::Rename,
        FaultOp::Link,
        FaultOp::SyncDir,
        FaultOp::Append,
        FaultOp::Extend,
        FaultOp::Flush,
        FaultOp::Sync,
        FaultOp::Truncate,
    ]);
    /// The operations that only read.
    pub const READS: OpSet = OpSet::of(&[
        FaultOp::OpenRandom,
        FaultOp::OpenSequential,
        FaultOp::Exists,
        FaultOp::FileSize,
        FaultOp::List,
        FaultOp::ReadAt,
        FaultOp::SequentialRead,
    ]);

    /// The set of `ops`.
    pub const fn of(ops: &[FaultOp]) -> OpSet {
        let mut bits = 0;
        let mut i = 0;
        while i < ops.len() {
            bits |= 1 << ops[i] as u32;
            i += 1;
        }
        OpSet(bits)
    }

    /// Whether `op` is in the set.
    pub const fn contains(self, op: FaultOp) -> bool {
        self.0 & (1 << op as u32) != 0
    }
}

/// Which paths a rule applies to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum PathMatch {
    /// All paths.
    #[default]
    Any,
    /// Paths that contain this text.
    Contains(String),
    /// Paths that end with this text.
    EndsWith(String),
    /// Paths of files of this kind.
    Kind(FileKind),
}

impl PathMatch {
    fn matches(&self, path: &Path) -> bool {
        let text = path.to_string_lossy();
        match self {
            PathMatch::Any => true,
            PathMatch::Contains(part) => text.contains(part.as_str()),
            PathMatch::EndsWith(end) => text.ends_with(end.as_str()),
            PathMatch::Kind(kind) => FileKind::of(path) == *kind,
        }
    }
}

/// Which of the matching operations fail.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum When {
    /// The n-th since the rule was added, counted from 1.
    Nth(u64),
    /// Each operation with this probability, drawn from a generator with this seed.
    Chance {
        /// 0.0 to 1.0.
        probability: f64,
        /// Same seed and same operations: same failures.
        seed: u64,
    },
}

/// The kind of an injected failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The device reports an error (`EIO`).
    Eio,
    /// The device is full (`ENOSPC`).
    Enospc,
    /// Half of the bytes of an append are written, then the device is full. For other operations,
    /// this is the same as [`Fault::Enospc`].
    ShortWrite,
}

impl Fault {
    fn error(self, op: FaultOp, path: &Path) -> Error {
        let code = match self {
            Fault::Eio => DEVICE_ERROR,
            Fault::Enospc | Fault::ShortWrite => DISK_FULL,
        };
        Error::io(
            &format!("{op:?} (injected)"),
            path,
            &io::Error::from_raw_os_error(code),
        )
    }
}

/// A rule that picks operations and makes them fail.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// The kinds of operations it applies to.
    pub ops: OpSet,
    /// The paths it applies to.
    pub path: PathMatch,
    /// Which of the matching operations fail.
    pub when: When,
    /// How the operations fail.
    pub fault: Fault,
    /// Whether every matching operation fails after the first failure. Otherwise only those fail
    /// that `when` picks.
    pub sticky: bool,
}

impl Rule {
    /// A rule that fails the `n`-th (from 1) of `ops` with `EIO`, once, on any
    /// path.
    pub fn nth(ops: OpSet, n: u64) -> Self {
        Rule {
            ops,
            path: PathMatch::Any,
            when: When::Nth(n),
            fault: Fault::Eio,
            sticky: false,
        }
    }
}

/// Identifies a rule that was added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleId(u64);

/// A failure that was injected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Injected {
    /// The operation that failed.
    pub op: FaultOp,
    /// Its path.
    pub path: PathBuf,
    /// How it failed.
    pub fault: Fault,
}

/// A recorded operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    /// What it was.
    pub op: FaultOp,
    /// Its path.
    pub path: PathBuf,
}

/// A rule and its state.
#[derive(Debug)]
struct Armed {
    id: u64,
    rule: Rule,
    seen: u64,
    fired: bool,
    rng: Option<StdRng>,
}

impl Armed {
    /// Whether the rule fails this operation.
    fn fires(&mut self, op: FaultOp, path: &Path) -> bool {
        if !self.rule.ops.contains(op) || !self.rule.path.matches(path) {
            return false;
        }
        if self.fired && self.rule.sticky {
            return true;
        }
        self.seen += 1;
        let fires = match self.rule.when {
            When::Nth(n) => self.seen == n,
            When::Chance { probability, .. } => self
                .rng
                .as_mut()
                .is_some_and(|r| r.random::<f64>() < probability),
        };
        self.fired |= fires;
        fires
    }
}

/// A function that is called before each operation.
pub type Observer = Arc<dyn Fn(FaultOp, &Path) + Send + Sync>;

#[derive(Default)]
struct State {
    rules: Vec<Armed>,
    next_id: u64,
    counts: [u64; OPS],
    injected: Vec<Injected>,
    observer: Option<Observer>,
    recorded: Option<Vec<Operation>>,
    free_space: Option<u64>,
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State")
            .field("rules", &self.rules)
            .field("injected", &self.injected)
            .finish_non_exhaustive()
    }
}

/// Wraps a file system and fails operations by rule. Clones share rules and
/// counts.
#[derive(Debug, Clone)]
pub struct FaultFs {
    inner: Arc<dyn Fs>,
    state: Arc<Mutex<State>>,
}

impl FaultFs {
    /// Wraps `inner`, without rules.
    pub fn new(inner: Arc<dyn Fs>) -> Self {
        FaultFs {
            inner,
            state: Arc::default(),
        }
    }

    /// Adds a rule. If several rules pick an operation, the one added first decides how it fails.
    pub fn add_rule(&self, rule: Rule) -> RuleId {
        let mut state = self.state.lock();
        state.next_id += 1;
        let id = state.next_id;
        let rng = match rule.when {
            When::Chance { seed, .. } => Some(StdRng::seed_from_u64(seed)),
            When::Nth(_) => None,
        };
        state.rules.push(Armed {
            id,
            rule,
            seen: 0,
            fired: false,
            rng,
        });
        RuleId(id)
    }

    /// Removes a rule. Does nothing if it was removed before.
    pub fn remove_rule(&self, id: RuleId) {
        self.state.lock().rules.retain(|r| r.id != id.0);
    }

    /// Removes all rules.
    pub fn clear_rules(&self) {
        self.state.lock().rules.clear();
    }

    /// Calls `observer` before each operation, on the thread of the operation.
    pub fn set_observer(&self, observer: Observer) {
        self.state.lock().observer = Some(observer);
    }

    /// Answers `bytes` when asked for the free space; `None` asks the wrapped file system.
    pub fn set_free_space(&self, bytes: Option<u64>) {
        self.state.lock().free_space = bytes;
    }

    /// How many operations of this kind there were, failed ones included.
    pub fn count(&self, op: FaultOp) -> u64 {
        self.state.lock().counts[op as usize]
    }

    /// How many operations of these kinds there were, failed ones included.
    pub fn count_all(&self, ops: OpSet) -> u64 {
        let counts = self.state.lock().counts;
        (0..OPS)
            .filter(|i| ops.0 & (1 << i) != 0)
            .map(|i| counts[i])
            .sum()
    }

    /// The failures injected so far, in order.
    pub fn injected(&self) -> Vec<Injected> {
        self.state.lock().injected.clone()
    }

    /// Records all operations from now on, in the order of the calls, including failed ones.
    /// Discards an earlier recording.
    pub fn start_recording(&self) {
        self.state.lock().recorded = Some(Vec::new());
    }

    /// Ends the recording, and returns its operations.
    pub fn end_recording(&self) -> Vec<Operation> {
        self.state.lock().recorded.take().unwrap_or_default()
    }

    fn gate(&self, op: FaultOp, path: &Path) -> Result<()> {
        match self.pick(op, path) {
            None => Ok(()),
            Some(fault) => Err(fault.error(op, path)),
        }
    }

    /// Counts the operation, and decides whether and how it fails.
    fn pick(&self, op: FaultOp, path: &Path) -> Option<Fault> {
        let observer = self.state.lock().observer.clone();
        if let Some(observer) = observer {
            observer(op, path);
        }
        let mut state = self.state.lock();
        state.counts[op as usize] += 1;
        if let Some(recorded) = &mut state.recorded {
            recorded.push(Operation {
                op,
                path: path.to_path_buf(),
            });
        }
        let mut fault = None;
        for armed in &mut state.rules {
            // Every rule counts the operation, even after one has decided.
            if armed.fires(op, path) {
                fault = fault.or(Some(armed.rule.fault));
            }
        }
        if let Some(fault) = fault {
            state.injected.push(Injected {
                op,
                path: path.to_path_buf(),
                fault,
            });
        }
        fault
    }

    fn writable(&self, inner: Box<dyn WritableFile>, path: &Path) -> Box<dyn WritableFile> {
        Box::new(FaultWritable {
            inner,
            fs: self.clone(),
            path: path.to_path_buf(),
        })
    }
}

impl Fs for FaultFs {
    fn create(&self, path: &Path) -> Result<Box<dyn WritableFile>> {
        self.gate(FaultOp::Create, path)?;
        Ok(self.writable(self.inner.create(path)?, path))
    }
    fn create_direct(&self, path: &Path) -> Result<Box<dyn WritableFile>> {
        self.gate(FaultOp::Create, path)?;
        Ok(self.writable(self.inner.create_direct(path)?, path))
    }
    fn open_append(&self, path: &Path) -> Result<Box<dyn WritableFile>> {
        self.gate(FaultOp::OpenAppend, path)?;
        Ok(self.writable(self.inner.open_append(path)?, path))
    }
    fn reuse(&self, old: &Path, new: &Path) -> Result<Box<dyn WritableFile>> {
        self.gate(FaultOp::Reuse, new)?;
        Ok(self.writable(self.inner.reuse(old, new)?, new))
    }
    fn open_shared(
        &self,
        path: &Path,
        from: Option<&Path>,
        options: SharedOptions,
    ) -> Result<Box<dyn SharedFile>> {
        let op = match from {
            None => FaultOp::Create,
            Some(_) => FaultOp::Reuse,
        };
        self.gate(op, path)?;
        let inner = self.inner.open_shared(path, from, options)?;
        Ok(Box::new(FaultShared::new(inner, self, path)))
    }
    fn open_random(&self, path: &Path) -> Result<Arc<dyn RandomAccessFile>> {
        self.gate(FaultOp::OpenRandom, path)?;
        Ok(Arc::new(FaultRandom {
            inner: self.inner.open_random(path)?,
            fs: self.clone(),
        }))
    }
    fn open_random_direct(&self, path: &Path) -> Result<Arc<dyn RandomAccessFile>> {
        self.gate(FaultOp::OpenRandom, path)?;
        Ok(Arc::new(FaultRandom {
            inner: self.inner.open_random_direct(path)?,
            fs: self.clone(),
        }))
    }
    fn open_sequential(&self, path: &Path) -> Result<Box<dyn SequentialFile>> {
        self.gate(FaultOp::OpenSequential, path)?;
        Ok(Box::new(FaultSequential {
            inner: self.inner.open_sequential(path)?,
            fs: self.clone(),
        }))
    }
    fn exists(&self, path: &Path) -> Result<bool> {
        self.gate(FaultOp::Exists, path)?;
        self.inner.exists(path)
    }
    fn file_size(&self, path: &Path) -> Result<u64> {
        self.gate(FaultOp::FileSize, path)?;
        self.inner.file_size(path)
    }
    fn modified(&self, path: &Path) -> Result<u64> {
        self.gate(FaultOp::FileSize, path)?;
        self.inner.modified(path)
    }
    fn list(&self, path: &Path) -> Result<Vec<String>> {
        self.gate(FaultOp::List, path)?;
        self.inner.list(path)
    }
    fn create_dir_all(&self, path: &Path) -> Result<()> {
        self.gate(FaultOp::CreateDir, path)?;
        self.inner.create_dir_all(path)
    }
    fn remove(&self, path: &Path) -> Result<()> {
        self.gate(FaultOp::Remove, path)?;
        self.inner.remove(path)
    }
    fn remove_dir(&self, path: &Path) -> Result<()> {
        self.gate(FaultOp::RemoveDir, path)?;
        self.inner.remove_dir(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.gate(FaultOp::Rename, to)?;
        self.inner.rename(from, to)
    }
    fn truncate(&self, path: &Path, len: u64) -> Result<()> {
        self.gate(FaultOp::Truncate, path)?;
        self.inner.truncate(path, len)
    }
    fn num_links(&self, path: &Path) -> Result<u64> {
        self.gate(FaultOp::FileSize, path)?;
        self.inner.num_links(path)
    }
    fn free_space(&self, path: &Path) -> Result<u64> {
        let set = self.state.lock().free_space;
        set.map_or_else(|| self.inner.free_space(path), Ok)
    }
    fn link(&self, from: &Path, to: &Path) -> Result<()> {
        self.gate(FaultOp::Link, to)?;
        self.inner.link(from, to)
    }
    fn sync_dir(&self, path: &Path) -> Result<()> {
        self.gate(FaultOp::SyncDir, path)?;
        self.inner.sync_dir(path)
    }
    fn open_dir(&self, path: &Path) -> Result<OpenDir> {
        self.inner.open_dir(path)
    }
    fn sync_open_dir(&self, dir: &OpenDir) -> Result<()> {
        self.gate(FaultOp::SyncDir, dir.path())?;
        self.inner.sync_open_dir(dir)
    }
    fn lock(&self, path: &Path) -> Result<Box<dyn FileLock>> {
        self.gate(FaultOp::Lock, path)?;
        self.inner.lock(path)
    }
}

#[derive(Debug)]
struct FaultWritable {
    inner: Box<dyn WritableFile>,
    fs: FaultFs,
    path: PathBuf,
}

impl WritableFile for FaultWritable {
    fn append(&mut self, data: &[u8]) -> Result<()> {
        match self.fs.pick(FaultOp::Append, &self.path) {
            None => self.inner.append(data),
            Some(fault) => {
                if fault == Fault::ShortWrite {
                    self.inner.append(&data[..data.len() / 2])?;
                }
                Err(fault.error(FaultOp::Append, &self.path))
            }
        }
    }
    fn flush(&mut self) -> Result<()> {
        self.fs.gate(FaultOp::Flush, &self.path)?;
        self.inner.flush()
    }
    fn sync(&mut self) -> Result<()> {
        if let Err(e) = self.fs.gate(FaultOp::Sync, &self.path) {
            self.inner.forget_unsynced();
            return Err(e);
        }
        self.inner.sync()
    }
    fn len(&self) -> u64 {
        self.inner.len()
    }
    fn preallocate(&mut self, len: u64) {
        self.inner.preallocate(len);
    }
    fn start_writeback(&mut self, from: u64, to: u64) {
        self.inner.start_writeback(from, to);
    }
    fn truncate_to_len(&mut self) -> Result<()> {
        self.fs.gate(FaultOp::Truncate, &self.path)?;
        self.inner.truncate_to_len()
    }
    fn forget_unsynced(&mut self) {
        self.inner.forget_unsynced();
    }
}

#[derive(Debug)]
struct FaultRandom {
    inner: Arc<dyn RandomAccessFile>,
    fs: FaultFs,
}

impl RandomAccessFile for FaultRandom {
    fn read_at(&self, offset: u64, len: usize) -> Result<Bytes> {
        self.fs.gate(FaultOp::ReadAt, self.inner.path())?;
        self.inner.read_at(offset, len)
    }
    fn read_into(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        self.fs.gate(FaultOp::ReadAt, self.inner.path())?;
        self.inner.read_into(offset, buf)
    }
    fn len(&self) -> Result<u64> {
        self.fs.gate(FaultOp::FileSize, self.inner.path())?;
        self.inner.len()
    }
    fn advise_random(&self) {
        self.inner.advise_random();
    }
    fn prefetch(&self, offset: u64, len: usize) {
        self.inner.prefetch(offset, len);
    }
    fn takes_hints(&self) -> bool {
        self.inner.takes_hints()
    }
    fn has_page_cache(&self) -> bool {
        self.inner.has_page_cache()
    }
    fn data_from(&self, offset: u64) -> u64 {
        self.inner.data_from(offset)
    }
    fn path(&self) -> &Path {
        self.inner.path()
    }
}

#[derive(Debug)]
struct FaultSequential {
    inner: Box<dyn SequentialFile>,
    fs: FaultFs,
}

impl SequentialFile for FaultSequential {
    fn read(&mut self, buf: &mut [u8]) -> Result<usize> {
        self.fs.gate(FaultOp::SequentialRead, self.inner.path())?;
        self.inner.read(buf)
    }
    fn skip_hole(&mut self, unit: u64) -> Result<u64> {
        self.inner.skip_hole(unit)
    }
    fn path(&self) -> &Path {
        self.inner.path()
    }
}
