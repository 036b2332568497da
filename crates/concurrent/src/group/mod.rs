//! Leader and followers: many callers' requests carried out in groups.
//!
//! This is the mechanism of RocksDB's write thread (seed 000): *who* does a
//! step and who waits. *What* the steps are is a [`Prepare`] or [`Steps`]
//! implementation: the leader prepares the whole group (a log write, sequence
//! numbers), each member or the leader applies the requests, and whoever
//! finishes last publishes the group. When the next group starts, and who
//! waits for whom, is one of three:
//!
//! * *grouped*: a group is prepared, applied and published, then the next one
//!   starts ([`GroupQueue::commit`]);
//! * *pipelined*: the next group starts when this one is prepared, and is
//!   prepared while this one is applied (the same with [`Steps::pipelined`]).
//!   Groups then end in any order, and what publishes them has to put that
//!   right;
//! * *prepared only*: the next group starts when this one is prepared, and
//!   every member goes its own way then ([`GroupQueue::prepare`]).
//!
//! A caller pushes a node that lives on its own stack onto `newest`. If
//! the stack was empty it leads; otherwise it waits until somebody sets its
//! state:
//!
//! | state | meaning | set by |
//! |---|---|---|
//! | `WAITING` | queued | itself, before the push |
//! | `LEADER` | lead the group that starts here | who hands leadership on: the group before's leader or last finisher |
//! | `APPLY` | apply your own request, and set off those of your share | the leader of its group, or a caller |
//! | `DONE` | the outcome is in the node; tell those of your share | the last finisher of its group, or a caller; terminal |
//!
//! Invariants:
//! * G1: one group is prepared at a time. The right to build a group passes
//!   from the pusher onto the empty stack, or by `LEADER`.
//! * G2: a node stays valid until its state is `DONE` (or, for the leader
//!   itself, until it has seen the group finished). Everything needed from a
//!   node is read before its state is set.
//! * G3: `older` is written before the push that publishes the node; `newer`
//!   and `ticket` by whoever holds the right of G1, `newer` up to the last
//!   member's before leadership is handed on; `next`, `share`, `shared` and
//!   `outcome` by the leader, the last finisher, or, of those in its share, a
//!   caller. All are read by the node's owner after its state was set.
//! * G4: groups are prepared in the order in which their members were pushed.
//!   Unless pipelined or prepared only, a group's `publish` ends before the
//!   next group's `prepare` begins.
//! * G5: leadership is handed on before any member is `DONE`. So the address
//!   that the handing over compares with is still the node's that was seen
//!   (RocksDB 9692).
//!
//! A leader applies the requests of members that sleep, and wakes only those
//! that are awake to apply their own: waking a sleeper costs more than its
//! insert, and it must be woken once more for the outcome anyhow. In large
//! groups it shares both with callers (`group::wake_tree`). Where requests may not be
//! applied side by side it applies all of them, in their order, up to the first
//! that fails.
//!
//! A panic in a step would leave waiters behind; it aborts the process. Steps
//! therefore catch panics of user code themselves.

mod apply;
mod node;
mod wake_tree;

use crate::sync::{AtomicPtr, Ordering};
use crate::waiter::{CallSite, StateWord, YieldPolicy};
use crossbeam_utils::CachePadded;
use node::{Chain, Node, Outcome, at};
use states::{APPLY, DONE, LEADER};
use std::marker::PhantomData;
use std::ptr;

pub use node::Members;

/// States of a node.
mod states {
    pub(super) const WAITING: u32 = 0;
    pub(super) const LEADER: u32 = 1;
    pub(super) const APPLY: u32 = 2;
    pub(super) const DONE: u32 = 3;
}

/// How a group is put together. Called by the threads that commit.
pub trait Prepare {
    /// One caller's request.
    type Request;
    /// What the leader makes for its group.
    type Group;
    /// A failure, handed to every member it concerns.
    type Error: Clone;

    /// Whether `candidate` may join the group that `leader` leads, whose
    /// requests add up to `bytes` so far. A refused candidate ends the group;
    /// it leads or joins a later one.
    fn admits(&self, leader: &Self::Request, candidate: &Self::Request, bytes: usize) -> bool;

    /// The request's share of a group's size.
    fn size(&self, request: &Self::Request) -> usize;

    /// The leader's step. Gives each member its ticket.
    fn prepare(&self, members: &mut Members<'_, Self::Request>)
    -> Result<Self::Group, Self::Error>;
}

/// What a group does beyond. Called by the threads that commit.
pub trait Steps: Prepare {
    /// Whether the next group may be prepared before this one is published.
    fn pipelined(&self) -> bool;

    /// Whether members may apply their requests at the same time.
    fn parallel(&self, group: &Self::Group) -> bool;

    /// Applies one request. Not called for each of a group in which another one
    /// has failed.
    fn apply(
        &self,
        group: &Self::Group,
        request: &Self::Request,
        ticket: u64,
    ) -> Result<(), Self::Error>;

    /// Makes the group's effects visible, or records that applying failed.
    fn publish(&self, group: &Self::Group, failure: Option<&Self::Error>);
}

/// Aborts if dropped: a step panicked and waiters would be left behind. Every
/// other way out forgets it.
struct AbortOnUnwind;

impl Drop for AbortOnUnwind {
    fn drop(&mut self) {
        std::process::abort();
    }
}

/// The queue that callers join. All of them agree on the types of requests,
/// failures and groups, which is what they find behind one another's pointers.
pub struct GroupQueue<R, E, G> {
    /// The node pushed last, null when nobody leads.
    /// Written by: each caller's push (AcqRel) and whoever hands leadership on
    /// to nobody (AcqRel). Read by: the same (Acquire). Publishes: the pushed nodes;
    /// pushes are read-modify-writes, so reading the newest synchronizes with
    /// all of them.
    newest: CachePadded<AtomicPtr<Node<R, E, G>>>,
    policy: YieldPolicy,
    joining: CallSite,
    finishing: CallSite,
    group: PhantomData<fn() -> G>,
}

impl<R, E, G> std::fmt::Debug for GroupQueue<R, E, G> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GroupQueue")
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}

impl<R: Sync, E: Clone + Send, G: Sync> GroupQueue<R, E, G> {
    /// An empty queue.
    pub fn new(policy: YieldPolicy) -> Self {
        GroupQueue {
            newest: CachePadded::new(AtomicPtr::new(ptr::null_mut())),
            policy,
            joining: CallSite::new(),
            finishing: CallSite::new(),
            group: PhantomData,
        }
    }

    /// Carries out `request` as part of some group and returns its ticket.
    ///
    /// # Errors
    /// What `prepare` or any member's `apply` of the group reported.
    pub fn commit<S>(&self, steps: &S, request: &R) -> Result<u64, E>
    where
        S: Steps<Request = R, Error = E, Group = G>,
    {
        let lead = |me| {
            let (chain, prepared) = self.build(steps, me);
            if let Some(group) = prepared {
                self.carry_out(steps, chain, group);
            }
        };
        let (ticket, outcome) = self.join(request, lead, |me| self.apply_as_member(steps, me));
        match outcome {
            Outcome::Failed(e) => Err(e),
            Outcome::Done | Outcome::Prepared(_) => Ok(ticket),
        }
    }

    /// Has `request` prepared as part of some group; returns its ticket and
    /// what was made for the group. Who else is in it is of no concern then.
    ///
    /// # Errors
    /// What `prepare` reported.
    pub fn prepare<S>(&self, steps: &S, request: &R) -> Result<(u64, G), E>
    where
        S: Prepare<Request = R, Error = E, Group = G>,
        G: Clone + Send,
    {
        let lead = |me| {
            let (chain, prepared) = self.build(steps, me);
            if let Some(group) = prepared {
                self.hand_over(chain.last);
                // SAFETY: the leader is the only one that works on the group.
                unsafe { self.finish(&chain, me, || Outcome::Prepared(group.clone())) };
            }
        };
        let nothing_to_apply = |_| unreachable!("nobody is set off");
        let (ticket, outcome) = self.join(request, lead, nothing_to_apply);
        match outcome {
            Outcome::Failed(e) => Err(e),
            Outcome::Prepared(group) => Ok((ticket, group)),
            Outcome::Done => unreachable!("a group of other steps"),
        }
    }

    /// Queues `request` and does what falls to it, until it has its outcome.
    fn join(
        &self,
        request: &R,
        lead: impl FnOnce(*mut Node<R, E, G>),
        apply_as_member: impl FnOnce(*mut Node<R, E, G>),
    ) -> (u64, Outcome<E, G>) {
        let abort = AbortOnUnwind;
        let node = Node::new(request);
        let me = ptr::from_ref(&node).cast_mut();
        let leads = self.push(me);
        let state = if leads {
            LEADER
        } else {
            let goal = 1 << LEADER | 1 << APPLY | 1 << DONE;
            node.state.wait(goal, &self.joining, self.policy)
        };
        match state {
            LEADER => lead(me),
            APPLY => apply_as_member(me),
            _ => {}
        }
        // SAFETY: those in the share wait for this one to tell them, and are
        // nobody else's.
        unsafe { apply::tell(node.subtree.replace(ptr::null_mut())) };
        std::mem::forget(abort);
        (node.ticket.get(), node.leave())
    }

    /// Pushes `node`; returns whether the stack was empty, so that it leads.
    fn push(&self, node: *mut Node<R, E, G>) -> bool {
        // Acquire is not needed to link; the leader acquires when it walks.
        let mut newest = self.newest.load(Ordering::Relaxed);
        loop {
            // SAFETY: the node is the caller's own until the push succeeds.
            unsafe { at(node) }.older.set(newest);
            // AcqRel: releases the node to the leader's Acquire load; acquires
            // what the last finisher did when the stack was empty, so that
            // this leader comes after that group (G4).
            match self.newest.compare_exchange_weak(
                newest,
                node,
                Ordering::AcqRel,
                Ordering::Relaxed,
            ) {
                Ok(_) => return newest.is_null(),
                Err(now) => newest = now,
            }
        }
    }

    /// Links `newer` from the newest node down to the first linked one. Only
    /// for the holder of G1's right.
    fn link_newer(head: *mut Node<R, E, G>) {
        let mut node = head;
        loop {
            // SAFETY: queued nodes are valid; their links are the holder's.
            let older = unsafe { at(node) }.older.get();
            if older.is_null() {
                return;
            }
            // SAFETY: as above.
            let below = unsafe { at(older) };
            if !below.newer.get().is_null() {
                return;
            }
            below.newer.set(node);
            node = older;
        }
    }

    /// Builds the group that starts at `leader`, which has G1's right.
    fn gather<S>(&self, steps: &S, leader: *mut Node<R, E, G>) -> Chain<R, E, G>
    where
        S: Prepare<Request = R, Error = E, Group = G>,
    {
        // Acquire: pairs with the pushes, publishing the nodes below.
        let head = self.newest.load(Ordering::Acquire);
        Self::link_newer(head);
        // SAFETY: the leader's own node.
        let mut tail = unsafe { at(leader) };
        let first = tail.request();
        let mut chain = Chain {
            first: leader,
            last: leader,
            len: 1,
        };
        let mut bytes = steps.size(first);
        while chain.last != head {
            let next = tail.newer.get();
            // SAFETY: queued nodes are valid; linked above.
            tail = unsafe { at(next) };
            if !steps.admits(first, tail.request(), bytes) {
                break;
            }
            bytes += steps.size(tail.request());
            chain.last = next;
            chain.len += 1;
        }
        chain
    }

    /// Builds and prepares the group that starts at `me`. Where that fails,
    /// the group is finished.
    fn build<S>(&self, steps: &S, me: *mut Node<R, E, G>) -> (Chain<R, E, G>, Option<G>)
    where
        S: Prepare<Request = R, Error = E, Group = G>,
    {
        let mut chain = self.gather(steps, me);
        let prepared = steps.prepare(&mut Members { nodes: &mut chain });
        let group = match prepared {
            Ok(group) => Some(group),
            Err(e) => {
                self.hand_over(chain.last);
                // SAFETY: the leader is the only one that works on the group.
                unsafe { self.finish(&chain, me, || Outcome::Failed(e.clone())) };
                None
            }
        };
        (chain, group)
    }

    /// Empties the stack if `last` is its newest node; otherwise makes the
    /// node after `last` a leader. Before any of the group is `DONE` (G5).
    fn hand_over(&self, last: *mut Node<R, E, G>) {
        // AcqRel: releases this group's effects to the next leader's push
        // (G4). Acquire on failure: publishes the newer nodes.
        let Err(head) = self.newest.compare_exchange(
            last,
            ptr::null_mut(),
            Ordering::AcqRel,
            Ordering::Acquire,
        ) else {
            return;
        };
        Self::link_newer(head);
        // SAFETY: members are valid until they are told; `newer` is linked,
        // since somebody was pushed after `last`.
        let next = unsafe { at(last) }.newer.get();
        // SAFETY: queued nodes are valid; their links are the holder's.
        let next = unsafe { at(next) };
        // Cut it off from the group, so that walks down end here.
        next.older.set(ptr::null_mut());
        let state = ptr::from_ref(&next.state);
        // SAFETY: valid until the swap inside (W2), not touched after.
        unsafe { StateWord::set_raw(state, LEADER) };
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
