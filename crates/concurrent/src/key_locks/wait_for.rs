//! The wait-for graph, in which deadlocks are cycles.
//!
//! It knows only which owners wait, and at which key. For whom they wait is looked up in
//! the shards while a waiter searches, so there is nothing to keep up to date when locks
//! change hands. A search holds the graph's lock, and takes that of one shard at a time.
//!
//! What a search finds has existed: an owner that it finds in a queue has been there since
//! the search began, for it would have had to enter the graph after that. It has released
//! nothing since then, nor taken anything. So all edges found existed at the moment at
//! which the first one was looked at.
//!
//! No cycle is missed if all of its owners search: edges change only where an owner gives
//! up, takes or begins to wait, and an owner that can still take something is not part of a
//! cycle. So the last one to enter the graph finds all others there.

use super::table::Place;
use super::{KeyLocks, LockError, LockMode, Timeout, Wait};
use crate::sync::blocking::Mutex;
use crate::system;
use std::collections::{HashMap, HashSet, VecDeque};
use std::time::{Duration, SystemTime};

/// How many deadlocks are remembered.
const REMEMBERED: usize = 5;

/// Over how many waits an owner searches that does not ask for it.
const UNASKED_DEPTH: u32 = 50;

/// An owner that waits in a deadlock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadlockStep {
    /// Its id.
    pub owner: u64,
    /// The column family of the key that it waits for.
    pub family: u32,
    /// The key that it waits for.
    pub key: Vec<u8>,
    /// How it wants to lock the key.
    pub mode: LockMode,
}

/// A deadlock that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadlockPath {
    /// Each waits for the next one, and the last one, whose wait failed, for the first one.
    /// Empty if the search ran out of depth.
    pub steps: Vec<DeadlockStep>,
    /// Whether the search ran out of depth, which counts as a deadlock.
    pub limit_exceeded: bool,
    /// When it was found.
    pub time: SystemTime,
}

/// Where an owner waits.
#[derive(Debug)]
struct Waiting {
    hash: u64,
    family: u32,
    key: Box<[u8]>,
    mode: LockMode,
    /// `None` without end.
    timeout: Option<Duration>,
}

impl Waiting {
    fn place(&self) -> Place<'_> {
        Place {
            hash: self.hash,
            family: self.family,
            key: &self.key,
        }
    }
}

#[derive(Debug, Default)]
struct State {
    /// By the owner's id.
    waiting: HashMap<u64, Waiting>,
    /// The newest first.
    deadlocks: VecDeque<DeadlockPath>,
}

/// See the [module](self).
#[derive(Debug)]
pub(super) struct WaitForGraph {
    state: Mutex<State>,
}

/// An owner that a search has come to.
struct Node {
    id: u64,
    /// Its place in the list of nodes; the first one is its own.
    parent: usize,
    depth: u32,
}

impl WaitForGraph {
    pub fn new() -> Self {
        WaitForGraph {
            state: Mutex::new(State::default()),
        }
    }

    /// Adds an owner that stands in a queue, unless that completes a cycle and the owner is the
    /// one to give up. Called without the lock of any shard.
    ///
    /// One that does not look for deadlocks gives up if no other in the cycle has a shorter
    /// time-out: its wait would end by its time-out, or another's would in its place.
    ///
    /// # Errors
    /// `Deadlock`, or `TimedOut` for an owner that does not look for deadlocks.
    pub fn add(
        &self,
        locks: &KeyLocks,
        id: u64,
        place: Place<'_>,
        mode: LockMode,
        wait: &Wait,
    ) -> Result<(), LockError> {
        let mut state = self.state.lock();
        let waiting = Waiting {
            hash: place.hash,
            family: place.family,
            key: place.key.into(),
            mode,
            timeout: match wait.timeout {
                Timeout::No => Some(Duration::ZERO),
                Timeout::For(time) => Some(time),
                Timeout::Forever => None,
            },
        };
        let timeout = waiting.timeout;
        state.waiting.insert(id, waiting);
        let Some(depth) = wait.deadlock_depth else {
            let patience = timeout.filter(|_| state.waiting.len() > 1);
            return match patience.map(|_| state.search(locks, id, UNASKED_DEPTH, patience)) {
                Some(Found::Cycle(_)) => {
                    state.waiting.remove(&id);
                    Err(LockError::TimedOut)
                }
                _ => Ok(()),
            };
        };
        let found = match state.search(locks, id, depth, None) {
            Found::Nothing => return Ok(()),
            Found::Cycle(steps) => (steps, false),
            Found::Limit if state.is_waited_for(locks, id) => (Vec::new(), true),
            Found::Limit => return Ok(()),
        };
        state.waiting.remove(&id);
        state.deadlocks.truncate(REMEMBERED - 1);
        state.deadlocks.push_front(DeadlockPath {
            steps: found.0,
            limit_exceeded: found.1,
            time: system::wall_clock(),
        });
        Err(LockError::Deadlock)
    }

    /// Removes an owner that no longer waits.
    pub fn remove(&self, id: u64) {
        self.state.lock().waiting.remove(&id);
    }

    /// How many owners are in the graph.
    #[cfg(all(test, not(any(loom, shuttle))))]
    pub fn waiting(&self) -> usize {
        self.state.lock().waiting.len()
    }

    /// The last deadlocks, the newest first.
    pub fn deadlocks(&self) -> Vec<DeadlockPath> {
        self.state.lock().deadlocks.iter().cloned().collect()
    }
}

enum Found {
    Nothing,
    Cycle(Vec<DeadlockStep>),
    /// Some owners are further away than the depth.
    Limit,
}

impl State {
    /// Looks for a way from `id` back to it, over at most `most` owners; with `patience` only over
    /// waits that are not given up before that time, and for holders that do not expire.
    fn search(&self, locks: &KeyLocks, id: u64, most: u32, patience: Option<Duration>) -> Found {
        let mut nodes = vec![Node {
            id,
            parent: 0,
            depth: 0,
        }];
        let mut seen = HashSet::from([id]);
        let mut next = 0;
        while next < nodes.len() {
            let Node {
                id: here, depth, ..
            } = nodes[next];
            let waits = self.waiting.get(&here);
            if let Some(place) = waits.map(Waiting::place)
                && let Some(blockers) = locks.shard(place.hash).lock().blockers(place, here)
            {
                if depth >= most {
                    return Found::Limit;
                }
                // A wait that may end otherwise than by what its holders do leads nowhere.
                if patience.is_some_and(|time| {
                    let gives_up = |owner: &u64| !self.is_as_patient(*owner, time);
                    blockers.expiring || gives_up(&here) || blockers.ahead.iter().any(gives_up)
                }) {
                    next += 1;
                    continue;
                }
                // Those ahead in the queue wait for the same holders, so there is a cycle
                // through them only if there is one without them.
                if blockers.holders.contains(&id) {
                    return Found::Cycle(self.steps(&nodes, next));
                }
                for holder in blockers.holders {
                    if seen.insert(holder) {
                        nodes.push(Node {
                            id: holder,
                            parent: next,
                            depth: depth + 1,
                        });
                    }
                }
            }
            next += 1;
        }
        Found::Nothing
    }

    /// The cycle that ends with the wait of `nodes[last]` for `nodes[0]`.
    fn steps(&self, nodes: &[Node], last: usize) -> Vec<DeadlockStep> {
        let mut steps = VecDeque::new();
        let mut at = last;
        while at != 0 {
            steps.push_front(nodes[at].id);
            at = nodes[at].parent;
        }
        steps.push_back(nodes[0].id);
        let step = |owner| {
            let waiting = self.waiting.get(&owner)?;
            Some(DeadlockStep {
                owner,
                family: waiting.family,
                key: waiting.key.to_vec(),
                mode: waiting.mode,
            })
        };
        steps.into_iter().filter_map(step).collect()
    }

    /// Whether `owner` is known to wait for at least `time`.
    fn is_as_patient(&self, owner: u64, time: Duration) -> bool {
        let waiting = self.waiting.get(&owner);
        waiting.is_some_and(|waiting| waiting.timeout.is_none_or(|other| other >= time))
    }

    /// Whether an owner waits for `id`. Looks at all, so it is called only when a search
    /// ran out of depth.
    fn is_waited_for(&self, locks: &KeyLocks, id: u64) -> bool {
        self.waiting.iter().any(|(&other, waiting)| {
            let place = waiting.place();
            let blockers = locks.shard(place.hash).lock().blockers(place, other);
            blockers.is_some_and(|blockers| blockers.holders.contains(&id))
        })
    }
}
