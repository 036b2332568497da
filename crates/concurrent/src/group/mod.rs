//! Leader and followers: the requests of many callers are carried out in groups.
//!
//! This is the mechanism of RocksDB's write thread: it decides which thread does a step
//! and which threads wait. What the steps do is up to an implementation of [`Prepare`] or
//! [`Steps`]: the leader prepares the whole group (a log write, sequence numbers), each
//! member or the leader applies the requests, and the thread that finishes last publishes
//! the group. There are three ways in which groups follow each other:
//!
//! * *grouped*: a group is prepared, applied and published, then the next one
//!   starts ([`GroupQueue::commit`]);
//! * *pipelined*: the next group starts when this one is prepared, and is prepared while
//!   this one is applied ([`GroupQueue::commit`] with [`Steps::pipelined`]). Groups then
//!   end in any order, and publication has to restore the order;
//! * *prepared only*: the next group starts when this one is prepared, and from then on
//!   every member continues on its own ([`GroupQueue::prepare`]).
//!
//! A caller pushes a node that lives on its own stack onto `newest`. If the stack of
//! nodes was empty, the caller leads; otherwise it waits until another thread sets its
//! state:
//!
//! | state | meaning | set by |
//! |---|---|---|
//! | `WAITING` | queued | itself, before the push |
//! | `LEADER` | lead the group that starts here | leader or last finisher of the group before |
//! | `APPLY` | apply the own request, start the subtree | the group's leader, or a helper |
//! | `DONE` | the outcome is in the node; notify the subtree | the last finisher, or a helper |
//!
//! `DONE` is terminal.
//!
//! `node` is a caller's node in the queue, and the members of a group; `apply` has them apply
//! their requests in parallel.
//!
//! Invariants:
//! * G1: one group is prepared at a time. The thread that pushes onto the empty stack
//!   gets the right to build a group, and `LEADER` passes it on.
//! * G2: a node stays valid until its state is `DONE` (or, for the leader itself, until
//!   it has seen the group finished). Everything that is needed from a node is read
//!   before its state is set.
//! * G3: `older` is written before the push that publishes the node; `newer` and `ticket`
//!   are written by the holder of G1's right, and `newer` up to the last member's before
//!   leadership is handed on. `next`, `subtree`, `shared` and `outcome` are written by
//!   the leader, by the last finisher, or, for members of its subtree, by a helper. All
//!   are read by the node's owner after its state was set.
//! * G4: groups are prepared in the order in which their members were pushed.
//!   Unless pipelined or prepared only, a group's `publish` ends before the
//!   next group's `prepare` begins.
//! * G5: leadership is handed on before any member is `DONE`. So the address that
//!   `hand_over` compares with still belongs to the node that was seen (RocksDB issue
//!   9692).
//!
//! A leader applies the requests of members that sleep, and lets only members that are
//! awake apply their own: waking a sleeper costs more than its insert, and it must be
//! woken for the outcome anyway. In large groups helpers do part of both
//! (`group::wake_tree`). Where requests may not be applied in parallel, the leader
//! applies all of them, in their order, up to the first that fails.
//!
//! A panic in a step would leave waiters behind, so it aborts the process. Steps
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

/// How a group is built and prepared. Called by the threads that commit.
pub trait Prepare {
    /// One caller's request.
    type Request;
    /// What the leader makes for its group.
    type Group;
    /// A failure. Every member that it affects gets a copy.
    type Error: Clone;

    /// Whether `candidate` may join the group that `leader` leads, whose
    /// requests add up to `bytes` so far. A refused candidate ends the group;
    /// it leads or joins a later one.
    fn admits(&self, leader: &Self::Request, candidate: &Self::Request, bytes: usize) -> bool;

    /// The size that the request adds to its group.
    fn size(&self, request: &Self::Request) -> usize;

    /// The leader's step. It sets the ticket of each member.
    fn prepare(&self, members: &mut Members<'_, Self::Request>)
    -> Result<Self::Group, Self::Error>;
}

/// What a group does after it is prepared. Called by the threads that commit.
pub trait Steps: Prepare {
    /// Whether the next group may be prepared before this one is published.
    fn pipelined(&self) -> bool;

    /// Whether members may apply their requests in parallel.
    fn parallel(&self, group: &Self::Group) -> bool;

    /// Applies one request. When a request of the group has failed, it may be skipped for
    /// others.
    fn apply(
        &self,
        group: &Self::Group,
        request: &Self::Request,
        ticket: u64,
    ) -> Result<(), Self::Error>;

    /// Makes the effects of the group visible, or records that applying it failed.
    fn publish(&self, group: &Self::Group, failure: Option<&Self::Error>);
}

/// Aborts the process when dropped: a step has panicked, and waiters would be left
/// behind. Every other path forgets it.
struct AbortOnUnwind;

impl Drop for AbortOnUnwind {
    fn drop(&mut self) {
        std::process::abort();
    }
}

/// The queue that callers join. All callers agree on the types of requests, failures and
/// groups, since they follow pointers to each other's nodes.
pub struct GroupQueue<R, E, G> {
    /// The node pushed last; null when there is no leader.
    /// Written by: each caller's push (AcqRel) and the thread that hands leadership on, if
    /// no node follows (AcqRel). Read by: the same (Acquire). Publishes: the pushed nodes;
    /// pushes are read-modify-writes, so reading the newest synchronizes with all of
    /// them.
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

    /// Has `request` prepared as part of some group, and returns its ticket and what the
    /// leader made for the group. The other members do not matter from then on.
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
                // SAFETY: the leader is the only thread that works on the group.
                unsafe { self.finish(&chain, me, || Outcome::Prepared(group.clone())) };
            }
        };
        let nothing_to_apply =
            |_| unreachable!("no member is started in a group that is only prepared");
        let (ticket, outcome) = self.join(request, lead, nothing_to_apply);
        match outcome {
            Outcome::Failed(e) => Err(e),
            Outcome::Prepared(group) => Ok((ticket, group)),
            Outcome::Done => {
                unreachable!("a group that is only prepared ends as prepared or failed")
            }
        }
    }

    /// Queues `request`, does the caller's part in its group, and returns the outcome.
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
        // SAFETY: the members of the subtree wait for this thread to notify them, and no
        // other thread accesses them.
        unsafe { apply::notify_done(node.subtree.replace(ptr::null_mut())) };
        std::mem::forget(abort);
        (node.ticket.get(), node.leave())
    }

    /// Pushes `node`; returns whether the stack was empty, so that it leads.
    fn push(&self, node: *mut Node<R, E, G>) -> bool {
        // Acquire is not needed for linking; the leader acquires when it walks.
        let mut newest = self.newest.load(Ordering::Relaxed);
        loop {
            // SAFETY: the node is the caller's own until the push succeeds.
            unsafe { at(node) }.older.set(newest);
            // AcqRel: releases the node to the leader's Acquire load; acquires what the
            // last finisher did when the stack is empty, so that this leader comes after
            // that group (G4).
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
            // SAFETY: queued nodes are valid; their links belong to the holder of G1's
            // right.
            let older = unsafe { at(node) }.older.get();
            if older.is_null() {
                return;
            }
            // SAFETY: queued nodes are valid; their links belong to the holder of G1's
            // right.
            let below = unsafe { at(older) };
            if !below.newer.get().is_null() {
                return;
            }
            below.newer.set(node);
            node = older;
        }
    }

    /// Collects the group that starts at `leader`, which has G1's right.
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

    /// Builds and prepares the group that starts at `me`. If that fails, the group is
    /// finished.
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
                // SAFETY: the leader is the only thread that works on the group.
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
        // SAFETY: members are valid until they are `DONE`; `newer` is linked, since a
        // node was pushed after `last`.
        let next = unsafe { at(last) }.newer.get();
        // SAFETY: queued nodes are valid; their links belong to the holder of G1's right.
        let next = unsafe { at(next) };
        // Cut it off from the group, so that walks down the stack end here.
        next.older.set(ptr::null_mut());
        let state = ptr::from_ref(&next.state);
        // SAFETY: valid until the swap inside (W2), not touched after.
        unsafe { StateWord::set_raw(state, LEADER) };
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
