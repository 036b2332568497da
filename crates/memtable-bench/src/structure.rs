//! The interface that a structure implements in order to be measured.
//!
//! The workloads are generic over [`Structure`], so that all structures run the same code
//! without indirect calls. [`Kind`] and [`Subject`] put whole workloads behind one
//! indirect call.

use std::fmt;

use whitewater_concurrent::region::HugePages;

use crate::input::Input;
use crate::workload::{self, Job, Tally};

/// One entry to insert. No two entries of a run have the same key.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// The key.
    pub key: &'a [u8],
    /// A number that no other entry has, at least 1. It is the version, for structures that
    /// keep versions.
    pub tag: u64,
    /// The value.
    pub value: &'a [u8],
}

/// The dimensions of a run, which are known before a structure is created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The number of entries that will be inserted.
    pub entries: usize,
    /// The size of each key in bytes.
    pub key_size: usize,
    /// The size of each value in bytes.
    pub value_size: usize,
    /// The kind of pages in which this project's structures are allocated.
    pub pages: HugePages,
}

impl Shape {
    /// The number of bytes of all keys and values, plus `overhead` for each entry.
    pub fn bytes_with(&self, overhead: usize) -> usize {
        self.entries * (self.key_size + self.value_size + overhead)
    }
}

/// The direction of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the first key onwards.
    Forward,
    /// From the last key backwards.
    Backward,
}

/// An operation that a structure may not support.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Inserting one entry.
    Insert,
    /// Reading one entry by its key.
    Get,
    /// Finding the first entry at or after a key.
    Seek,
    /// Going from entry to entry.
    Scan(Direction),
}

/// An ordered map that many threads use at the same time.
pub trait Structure: Sized + Send + Sync + 'static {
    /// The name in `--structures`.
    const NAME: &'static str;
    /// A description in one line.
    const ABOUT: &'static str;

    /// One thread's access, with what the thread keeps between operations.
    type Handle<'a>: Handle;

    /// The reason why the structure cannot do this operation with entries of these sizes;
    /// `None` if it can.
    fn refuses(_shape: &Shape, _operation: Operation) -> Option<&'static str> {
        None
    }

    /// An empty structure.
    fn new(shape: &Shape) -> Self;

    /// An access for the calling thread.
    fn handle(&self) -> Self::Handle<'_>;

    /// The bytes of the entries and of what holds them together, as the structure itself
    /// counts them; `None` if it does not count.
    fn own_bytes(&self) -> Option<usize> {
        None
    }

    /// The number of atomic read-modify-write operations in one uncontended operation
    /// according to the structure's source, for structures whose code cannot count. The
    /// implementation says where they are.
    fn documented_rmw(_operation: Operation) -> Option<f64> {
        None
    }

    /// Whether the structure's code counts its read-modify-write operations.
    const COUNTS_RMW: bool = false;
}

/// One thread's access to a [`Structure`].
pub trait Handle {
    /// Inserts an entry whose key does not exist. Returns whether that succeeded.
    fn insert(&mut self, entry: Entry<'_>) -> bool;

    /// Inserts several entries; returns how many succeeded.
    fn insert_batch(&mut self, entries: &[Entry<'_>]) -> usize {
        entries.iter().filter(|entry| self.insert(**entry)).count()
    }

    /// Passes the value of `key` to `visit`. Returns whether the key was found.
    fn get(&mut self, key: &[u8], visit: &mut impl FnMut(&[u8])) -> bool;

    /// Passes the entries from `key` onwards to `visit`, until that returns `false`.
    fn seek(&mut self, key: &[u8], visit: &mut impl FnMut(&[u8], &[u8]) -> bool);

    /// Passes all entries to `visit`, in the given direction.
    fn scan(&mut self, direction: Direction, visit: &mut impl FnMut(&[u8], &[u8]));
}

/// An item in the list of structures.
#[derive(Clone, Copy)]
pub struct Kind {
    /// The name in `--structures`.
    pub name: &'static str,
    /// A description in one line.
    pub about: &'static str,
    /// See [`Structure::refuses`].
    pub refuses: fn(&Shape, Operation) -> Option<&'static str>,
    /// See [`Structure::documented_rmw`].
    pub documented_rmw: fn(Operation) -> Option<f64>,
    /// See [`Structure::COUNTS_RMW`].
    pub counts_rmw: bool,
    /// Makes an empty structure.
    pub make: fn(&Shape) -> Box<dyn Subject>,
}

impl Kind {
    /// The kind of `S`.
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
