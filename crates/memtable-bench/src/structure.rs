//! The interface that a structure implements to be measured.
//!
//! The workloads are generic over [`Structure`], so that every structure runs
//! the same code without indirect calls; [`Kind`] and [`Subject`] put whole
//! workloads behind one call.

use std::fmt;

use whitewater_concurrent::region::HugePages;

use crate::input::Input;
use crate::workload::{self, Job, Tally};

/// One entry to insert. No two entries of a run have the same key.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// The key.
    pub key: &'a [u8],
    /// A number no other entry has, at least 1: a version for those that keep
    /// versions.
    pub tag: u64,
    /// The value.
    pub value: &'a [u8],
}

/// The dimensions of a run, known before a structure is created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Entries that will be inserted.
    pub entries: usize,
    /// Bytes of each key.
    pub key_size: usize,
    /// Bytes of each value.
    pub value_size: usize,
    /// The pages that this project's structures are allocated in.
    pub pages: HugePages,
}

impl Shape {
    /// Bytes of all keys and values, and `overhead` for each entry.
    pub fn bytes_with(&self, overhead: usize) -> usize {
        self.entries * (self.key_size + self.value_size + overhead)
    }
}

/// The ways to walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the first key on.
    Forward,
    /// From the last key back.
    Backward,
}

/// What a structure may be unable to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Inserting one entry.
    Insert,
    /// Reading one entry by its key.
    Get,
    /// Finding the first entry at or after a key.
    Seek,
    /// Walking from entry to entry.
    Scan(Direction),
}

/// An ordered map that many threads use at once.
pub trait Structure: Sized + Send + Sync + 'static {
    /// What `--structures` calls it.
    const NAME: &'static str;
    /// One line about it.
    const ABOUT: &'static str;

    /// One thread's way in: what it keeps between operations.
    type Handle<'a>: Handle;

    /// Why it cannot do this with entries of these sizes, if it cannot.
    fn refuses(_shape: &Shape, _operation: Operation) -> Option<&'static str> {
        None
    }

    /// An empty one.
    fn new(shape: &Shape) -> Self;

    /// A way in for the calling thread.
    fn handle(&self) -> Self::Handle<'_>;

    /// Bytes of the entries and what holds them together, by the structure's
    /// own account. `None` if it keeps none.
    fn own_bytes(&self) -> Option<usize> {
        None
    }

    /// Atomic read-modify-writes of one uncontended operation as its source
    /// has them, for structures whose code cannot count. The implementation
    /// says where they are.
    fn documented_rmw(_operation: Operation) -> Option<f64> {
        None
    }

    /// Whether its code counts them.
    const COUNTS_RMW: bool = false;
}

/// One thread's way into a [`Structure`].
pub trait Handle {
    /// Inserts an entry whose key is not there. Whether that worked.
    fn insert(&mut self, entry: Entry<'_>) -> bool;

    /// Inserts several; how many worked.
    fn insert_batch(&mut self, entries: &[Entry<'_>]) -> usize {
        entries.iter().filter(|entry| self.insert(**entry)).count()
    }

    /// Passes the value of `key` to `visit`. Whether it was found.
    fn get(&mut self, key: &[u8], visit: &mut impl FnMut(&[u8])) -> bool;

    /// Passes the entries from `key` on to `visit` until that returns `false`.
    fn seek(&mut self, key: &[u8], visit: &mut impl FnMut(&[u8], &[u8]) -> bool);

    /// Passes all entries in order to `visit`.
    fn scan(&mut self, direction: Direction, visit: &mut impl FnMut(&[u8], &[u8]));
}

/// A kind of structure, as the list of structures has it.
#[derive(Clone, Copy)]
pub struct Kind {
    /// What `--structures` calls it.
    pub name: &'static str,
    /// One line about it.
    pub about: &'static str,
    /// See [`Structure::refuses`].
    pub refuses: fn(&Shape, Operation) -> Option<&'static str>,
    /// See [`Structure::documented_rmw`].
    pub documented_rmw: fn(Operation) -> Option<f64>,
    /// See [`Structure::COUNTS_RMW`].
    pub counts_rmw: bool,
    /// Makes an empty one.
    pub make: fn(&Shape) -> Box<dyn Subject>,
}

impl Kind {
    /// The kind that `S` is.
    pub const fn of<S: Structure>() -> Self {
        Kind {
            name: S::NAME,
            about: S::ABOUT,
            refuses: S::refuses,
            documented_rmw: S::documented_rmw,
            counts_rmw: S::COUNTS_RMW,
            make: |shape| Box::new(Of(S::new(shape))),
        }
    }
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kind")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// A structure that workloads run on.
pub trait Subject: Send + Sync {
    /// Does one thread's share of a workload.
    fn work(&self, job: &Job<'_>, input: &Input, thread: usize) -> Tally;

    /// See [`Structure::own_bytes`].
    fn own_bytes(&self) -> Option<usize>;
}

struct Of<S>(S);

impl<S: Structure> Subject for Of<S> {
    fn work(&self, job: &Job<'_>, input: &Input, thread: usize) -> Tally {
        workload::work(&mut self.0.handle(), job, input, thread)
    }

    fn own_bytes(&self) -> Option<usize> {
        self.0.own_bytes()
    }
}
