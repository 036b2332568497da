//! Leader and followers: many callers' requests carried out in groups.
//!
//! This is the mechanism of RocksDB's write thread (seed 000): *who* does a
//! step and who waits. *What* the steps are is a [`Steps`] implementation:
//! the leader prepares the whole group (a log write, sequence numbers), each
//! member or the leader applies the requests, and whoever finishes last
//! publishes the group.
//!
//! A caller pushes a node that lives on its own stack onto `newest`. If
//! the stack was empty it leads; otherwise it waits until somebody sets its
//! state:
//!
//! | state | meaning | set by |
//! |---|---|---|
//! | `WAITING` | queued | itself, before the push |
//! | `LEADER` | lead the group that starts here | the last finisher of the group before |
//! | `APPLY` | apply your own request | the leader of its group |
//! | `DONE` | the outcome is in the node | the last finisher of its group; terminal |
//!
//! Invariants:
//! * G1: one group is in flight at a time. The right to build a group passes
//!   from the pusher onto the empty stack, or by `LEADER`.
//! * G2: a node stays valid until its state is `DONE` (or, for the leader
//!   itself, until it has seen the group finished). Everything needed from a
//!   node is read before its state is set.
//! * G3: `older` is written before the push that publishes the node; `newer`,
//!   `ticket`, `group` and `outcome` are written only by whoever holds the
//!   right of G1 at that time, and read by the node's owner after its state
//!   was set.
//! * G4: groups finish in the order in which their members were pushed, and a
//!   group's `publish` ends before the next group's `prepare` begins.
//!
//! A leader applies the requests of members that sleep, and wakes only those
//! that are awake to apply their own: waking a sleeper costs more than its
//! insert, and it must be woken once more for the outcome anyhow.
//!
//! A panic in a step would leave waiters behind; it aborts the process. Steps
//! therefore catch panics of user code themselves.

use crate::sync::{AtomicPtr, AtomicUsize, Cell, Ordering};
use crate::waiter::{BLOCKED, CallSite, StateWord, YieldPolicy};
use crossbeam_utils::CachePadded;
use std::marker::PhantomData;
use std::ptr;

const WAITING: u32 = 0;
const LEADER: u32 = 1;
const APPLY: u32 = 2;
const DONE: u32 = 3;

/// What a group does. Called by the threads that commit.
pub trait Steps {
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

    /// Whether members may apply their requests at the same time.
    fn parallel(&self, group: &Self::Group) -> bool;

    /// Applies one request.
    fn apply(
        &self,
        group: &Self::Group,
        request: &Self::Request,
        ticket: u64,
    ) -> Result<(), Self::Error>;

    /// Makes the group's effects visible, or records that applying failed.
    fn publish(&self, group: &Self::Group, failure: Option<&Self::Error>);
}

/// One caller's place in the queue. Lives on the caller's stack; other threads
/// reach it through [`at`]. The cells are not atomic: G3 says whose they are.
struct Node<R, E> {
    request: *const R,
    state: StateWord,
    /// The node pushed before this one; null at the bottom.
    older: Cell<*mut Node<R, E>>,
    /// The node pushed after this one, once somebody has looked.
    newer: Cell<*mut Node<R, E>>,
    /// Given by the leader in `prepare`.
    ticket: Cell<u64>,
    /// The group's [`Shared`], for members that apply themselves.
    shared: Cell<*const ()>,
    /// Set before `DONE`.
    outcome: Cell<Option<E>>,
}

impl<R, E> Node<R, E> {
    /// The request, which its owner keeps borrowed while it waits.
    fn request<'a>(&self) -> &'a R {
        // SAFETY: `commit` borrows the request until the node is done, and
        // nobody uses a node, or a request found through one, after that (G2).
        unsafe { &*self.request }
    }
}

/// The node behind a pointer.
///
/// # Safety
/// The node is valid (G2), and the caller touches only cells that are its own
/// at this moment (G3).
unsafe fn at<'a, R, E>(node: *mut Node<R, E>) -> &'a Node<R, E> {
    // SAFETY: the caller's promise.
    unsafe { &*node }
}

/// What the members of a group in flight share. Lives on the leader's stack
/// until the leader has seen the group finished (G2).
struct Shared<R, E, G> {
    group: G,
    leader: *mut Node<R, E>,
    last: *mut Node<R, E>,
    /// Members that have not finished applying.
    /// Written by: each applying member (one decrement, AcqRel). Read by: the
    /// same; who takes it to zero finishes the group. Publishes: everything
    /// the members applied, to the finisher.
    running: AtomicUsize,
    /// First failure of an apply step.
    failure: parking_lot::Mutex<Option<E>>,
}

/// Requests of a group, oldest first, as the leader sees them.
pub struct Members<'a, R> {
    nodes: &'a mut dyn MemberList<'a, R>,
}

trait MemberList<'a, R> {
    fn visit(&mut self, f: &mut dyn FnMut(&'a R, &mut u64));
    fn len(&self) -> usize;
}

impl<'a, R> Members<'a, R> {
    /// Number of members; at least 1.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Never true: a group has its leader.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Calls `f` with each request and its ticket, oldest first.
    pub fn for_each(&mut self, mut f: impl FnMut(&'a R, &mut u64)) {
        self.nodes.visit(&mut f);
    }
}

struct Chain<R, E> {
    first: *mut Node<R, E>,
    last: *mut Node<R, E>,
    len: usize,
}

impl<'a, R: 'a, E> MemberList<'a, R> for Chain<R, E> {
    fn visit(&mut self, f: &mut dyn FnMut(&'a R, &mut u64)) {
        let mut node = self.first;
        loop {
            // SAFETY: members of a group in preparation are valid, and their
            // tickets and links are the leader's.
            let member = unsafe { at(node) };
            let mut ticket = member.ticket.get();
            f(member.request(), &mut ticket);
            member.ticket.set(ticket);
            if node == self.last {
                return;
            }
            node = member.newer.get();
        }
    }

    fn len(&self) -> usize {
        self.len
    }
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
    /// The node pushed last, null when no group is in flight.
    /// Written by: each caller's push (AcqRel) and the finisher that empties
    /// it (AcqRel). Read by: the same (Acquire). Publishes: the pushed nodes;
    /// pushes are read-modify-writes, so reading the newest synchronizes with
    /// all of them.
    newest: CachePadded<AtomicPtr<Node<R, E>>>,
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
        let abort = AbortOnUnwind;
        let node = Node {
            request,
            state: StateWord::new(WAITING),
            older: Cell::new(ptr::null_mut()),
            newer: Cell::new(ptr::null_mut()),
            ticket: Cell::new(0),
            shared: Cell::new(ptr::null()),
            outcome: Cell::new(None),
        };
        let me = ptr::from_ref(&node).cast_mut();
        let leads = self.push(me);
        let state = if leads {
            LEADER
        } else {
            let goal = 1 << LEADER | 1 << APPLY | 1 << DONE;
            node.state.wait(goal, &self.joining, self.policy)
        };
        match state {
            LEADER => self.lead(steps, me),
            APPLY => {
                let shared = node.shared.get().cast::<Shared<R, E, G>>();
                // SAFETY: the leader pointed `shared` at its group before
                // APPLY (G3), and the group lives until it is finished (G2).
                self.apply_own(steps, unsafe { &*shared }, &node);
                // SAFETY: this thread has its part in the group still.
                if !unsafe { self.leave(steps, shared) } {
                    node.state.wait(1 << DONE, &self.finishing, self.policy);
                }
            }
            _ => {}
        }
        std::mem::forget(abort);
        node.outcome
            .replace(None)
            .map_or(Ok(node.ticket.get()), Err)
    }

    /// Pushes `node`; returns whether the stack was empty, so that it leads.
    fn push(&self, node: *mut Node<R, E>) -> bool {
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
    fn link_newer(head: *mut Node<R, E>) {
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

    /// Builds the group that starts at `leader`.
    fn gather<S>(&self, steps: &S, leader: *mut Node<R, E>) -> Chain<R, E>
    where
        S: Steps<Request = R, Error = E, Group = G>,
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

    fn lead<S>(&self, steps: &S, me: *mut Node<R, E>)
    where
        S: Steps<Request = R, Error = E, Group = G>,
    {
        let mut chain = self.gather(steps, me);
        let prepared = steps.prepare(&mut Members { nodes: &mut chain });
        let group = match prepared {
            Ok(group) => group,
            Err(e) => {
                self.finish(chain.first, chain.last, Some(&e), me);
                return;
            }
        };
        let shared = Shared {
            group,
            leader: me,
            last: chain.last,
            running: AtomicUsize::new(1),
            failure: parking_lot::Mutex::new(None),
        };
        let parallel = chain.len > 1 && steps.parallel(&shared.group);
        self.launch(steps, &shared, parallel);
        // SAFETY: the leader has its part in the group still.
        if unsafe { self.leave(steps, &raw const shared) } {
            return;
        }
        // SAFETY: the leader's own node.
        let node = unsafe { at(me) };
        node.state.wait(1 << DONE, &self.finishing, self.policy);
    }

    /// Starts the members that are awake and applies the others' requests.
    fn launch<S>(&self, steps: &S, shared: &Shared<R, E, G>, parallel: bool)
    where
        S: Steps<Request = R, Error = E, Group = G>,
    {
        // Two passes: first set off who is awake, then work alongside them.
        // SAFETY (of each `at` here): members are valid until the group is
        // finished, those set off too, since they wait for DONE after
        // applying; `newer`, `shared` and tickets are the leader's until a
        // member is set off, and only read from then on.
        if parallel {
            let mut node = shared.leader;
            while node != shared.last {
                // SAFETY: see above.
                node = unsafe { at(node) }.newer.get();
                // SAFETY: see above.
                let member = unsafe { at(node) };
                if member.state.get() == BLOCKED {
                    continue;
                }
                member.shared.set(ptr::from_ref(shared).cast());
                // Relaxed: the swap in `set` releases it to the member, and
                // the count cannot reach zero while the leader's own 1 is in.
                shared.running.fetch_add(1, Ordering::Relaxed);
                member.state.set(APPLY);
            }
        }
        let mut node = shared.leader;
        loop {
            // SAFETY: see above.
            let member = unsafe { at(node) };
            let set_off = !member.shared.get().is_null();
            if !set_off {
                self.apply_own(steps, shared, member);
            }
            if node == shared.last {
                return;
            }
            node = member.newer.get();
        }
    }

    fn apply_own<S>(&self, steps: &S, shared: &Shared<R, E, G>, node: &Node<R, E>)
    where
        S: Steps<Request = R, Error = E, Group = G>,
    {
        let outcome = steps.apply(&shared.group, node.request(), node.ticket.get());
        if let Err(e) = outcome {
            shared.failure.lock().get_or_insert(e);
        }
    }

    /// Ends one thread's part in applying. The last one finishes the group;
    /// returns whether that was this thread.
    ///
    /// # Safety
    /// The caller has a part in the group behind `shared` and ends it here: it
    /// may not touch the group afterwards.
    unsafe fn leave<S>(&self, steps: &S, shared: *const Shared<R, E, G>) -> bool
    where
        S: Steps<Request = R, Error = E, Group = G>,
    {
        // No reference to the group outlives this block: it may vanish as soon
        // as the last member has left.
        let is_last = {
            // SAFETY: valid, since this thread has not left yet (G2).
            let running = unsafe { &(*shared).running };
            // AcqRel: releases what this thread applied to the last one's
            // acquire.
            running.fetch_sub(1, Ordering::AcqRel) == 1
        };
        if !is_last {
            return false;
        }
        let (leader, last, failure) = {
            // SAFETY: valid until the last member, this thread, finishes it.
            let shared = unsafe { &*shared };
            let failure = shared.failure.lock().take();
            steps.publish(&shared.group, failure.as_ref());
            (shared.leader, shared.last, failure)
        };
        self.finish(leader, last, failure.as_ref(), ptr::null_mut());
        true
    }

    /// Hands leadership on and gives every member its outcome. `me`, when not
    /// null, is the calling thread's own node and is not woken.
    fn finish(
        &self,
        leader: *mut Node<R, E>,
        last: *mut Node<R, E>,
        failure: Option<&E>,
        me: *mut Node<R, E>,
    ) {
        self.hand_over(last);
        let mut node = leader;
        loop {
            // SAFETY: the node is valid until DONE is set below; its cells are
            // the finisher's until then.
            let member = unsafe { at(node) };
            let (is_last, next) = (node == last, member.newer.get());
            member.outcome.set(failure.cloned());
            if node != me {
                let state = ptr::from_ref(&member.state);
                // SAFETY: valid until the swap inside (W2), not touched after.
                unsafe { StateWord::set_raw(state, DONE) };
            }
            if is_last {
                return;
            }
            node = next;
        }
    }

    /// Empties the stack if `last` is its newest node; otherwise makes the
    /// node after `last` a leader.
    fn hand_over(&self, last: *mut Node<R, E>) {
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
