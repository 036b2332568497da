//! Applying the requests of a prepared group, by its members in parallel.

use super::node::{Chain, Node, Outcome, at};
use super::states::{APPLY, DONE};
use super::wake_tree::{WakeTree, WakeTreeBuilder};
use super::{GroupQueue, Steps};
use crate::sync::{AtomicUsize, Ordering};
use crate::system;
use crate::waiter::StateWord;
use std::ptr;

/// The state that the members of a group in flight share. It lives on the leader's stack
/// until the leader has seen the group finished (G2).
pub(super) struct Shared<R, E, G> {
    group: G,
    chain: Chain<R, E, G>,
    /// Whether leadership was handed on before the group is applied.
    handed_over: bool,
    /// Members that have not finished applying.
    /// Written by: the leader, before it starts any member (relaxed; setting `APPLY`
    /// releases it), and each applying member (one decrement, AcqRel). Read by: the same;
    /// the member that takes it to zero finishes the group. Publishes: everything the
    /// members applied, to the finisher.
    running: AtomicUsize,
    /// The first failure of an apply step.
    failure: system::Mutex<Option<E>>,
}

impl<R: Sync, E: Clone + Send, G: Sync> GroupQueue<R, E, G> {
    /// The leader's part once its group is prepared.
    pub(super) fn carry_out<S>(&self, steps: &S, chain: Chain<R, E, G>, group: G)
    where
        S: Steps<Request = R, Error = E, Group = G>,
    {
        let me = chain.first;
        let handed_over = steps.pipelined();
        if handed_over {
            self.hand_over(chain.last);
        }
        let shared = Shared {
            group,
            chain,
            handed_over,
            running: AtomicUsize::new(1),
            failure: system::Mutex::new(None),
        };
        self.start_members(steps, &shared);
        // SAFETY: the leader has not ended its part in the group.
        if unsafe { self.leave(steps, &raw const shared, me) } {
            return;
        }
        // SAFETY: the leader's own node.
        let node = unsafe { at(me) };
        node.state.wait(1 << DONE, &self.finishing, self.policy);
    }

    /// Starts members and applies requests alongside them.
    fn start_members<S>(&self, steps: &S, shared: &Shared<R, E, G>)
    where
        S: Steps<Request = R, Error = E, Group = G>,
    {
        let Shared { chain, group, .. } = shared;
        if chain.len == 1 || !steps.parallel(group) {
            // SAFETY: members are valid until the group is finished, and none is started:
            // their cells belong to the leader.
            let mut members = unsafe { chain.members() };
            // Requests behind one that failed are skipped: the group fails as a whole.
            let _ = members.all(|member| self.apply_own(steps, shared, member));
            return;
        }
        // SAFETY (of each block here): members are valid until the group is finished,
        // also those that are started, since they wait for DONE after applying. Their
        // cells belong to the leader until the first member is started. From then on the
        // cells of a subtree's members belong to its helper, or to the leader for its own.
        let mut builder = WakeTreeBuilder::EMPTY;
        let mut started = 0;
        let mut prepare_start = |member: &Node<R, E, G>| {
            member.shared.set(ptr::from_ref(shared).cast());
            started += 1;
        };
        // SAFETY: see above.
        for member in unsafe { chain.members() }.skip(1) {
            // SAFETY: see above.
            if unsafe { builder.add(ptr::from_ref(member).cast_mut()) } {
                prepare_start(member);
            }
        }
        // SAFETY: see above.
        let WakeTree { helpers, own } = unsafe { builder.build(chain.len) };
        let mut helper = helpers;
        while !helper.is_null() {
            // SAFETY: see above.
            let member = unsafe { at(helper) };
            if member.shared.get().is_null() {
                // Asleep, but needed as a helper.
                prepare_start(member);
            }
            helper = member.next();
        }
        shared.running.store(1 + started, Ordering::Relaxed);
        let mut helper = helpers;
        while !helper.is_null() {
            // SAFETY: see above.
            let member = unsafe { at(helper) };
            // Before it runs, since its cells are its own then.
            helper = member.next();
            member.state.set(APPLY);
        }
        // SAFETY: the leader's own node.
        let me = unsafe { at(chain.first) };
        self.apply_subtree(steps, shared, me, own);
    }

    /// The part of a member that was started.
    pub(super) fn apply_as_member<S>(&self, steps: &S, me: *mut Node<R, E, G>)
    where
        S: Steps<Request = R, Error = E, Group = G>,
    {
        // SAFETY: the caller's own node.
        let node = unsafe { at(me) };
        let shared = node.shared.get().cast::<Shared<R, E, G>>();
        let subtree = node.subtree.replace(ptr::null_mut());
        // SAFETY: the leader pointed `shared` at its group before APPLY (G3),
        // and the group lives until it is finished (G2).
        self.apply_subtree(steps, unsafe { &*shared }, node, subtree);
        // SAFETY: this thread has not ended its part in the group.
        if !unsafe { self.leave(steps, shared, me) } {
            node.state.wait(1 << DONE, &self.finishing, self.policy);
        }
    }

    /// Starts the members of a subtree that are awake, applies the thread's own request,
    /// and then the requests of the subtree's sleepers.
    fn apply_subtree<S>(
        &self,
        steps: &S,
        shared: &Shared<R, E, G>,
        me: &Node<R, E, G>,
        subtree: *mut Node<R, E, G>,
    ) where
        S: Steps<Request = R, Error = E, Group = G>,
    {
        let mut node = subtree;
        while !node.is_null() {
            // SAFETY: members are valid until the group is finished, and the cells of a
            // subtree's members belong to its helper, or to the leader for its own.
            let member = unsafe { at(node) };
            if member.shared.get().is_null() {
                break;
            }
            node = member.next();
            member.state.set(APPLY);
        }
        self.apply_own(steps, shared, me);
        while !node.is_null() {
            // SAFETY: members are valid until the group is finished, and the cells of a
            // subtree's members belong to its helper, or to the leader for its own.
            let member = unsafe { at(node) };
            self.apply_own(steps, shared, member);
            node = member.next();
        }
    }

    /// Applies the request of `node`; returns whether that succeeded.
    fn apply_own<S>(&self, steps: &S, shared: &Shared<R, E, G>, node: &Node<R, E, G>) -> bool
    where
        S: Steps<Request = R, Error = E, Group = G>,
    {
        let outcome = steps.apply(&shared.group, node.request(), node.ticket.get());
        match outcome {
            Ok(()) => true,
            Err(e) => {
                shared.failure.lock().get_or_insert(e);
                false
            }
        }
    }

    /// Ends one thread's part in applying. The last thread finishes the group; returns
    /// whether that was this one.
    ///
    /// # Safety
    /// The caller has a part in the group behind `shared` and ends it here: it must not
    /// access the group afterwards.
    unsafe fn leave<S>(
        &self,
        steps: &S,
        shared: *const Shared<R, E, G>,
        me: *mut Node<R, E, G>,
    ) -> bool
    where
        S: Steps<Request = R, Error = E, Group = G>,
    {
        // No reference to the group outlives this block: it may vanish as soon
        // as the last member has left.
        let is_last = {
            // SAFETY: valid, since this thread has not left yet (G2).
            let running = unsafe { &(*shared).running };
            // AcqRel: releases what this thread applied to the acquire of the last
            // thread.
            running.fetch_sub(1, Ordering::AcqRel) == 1
        };
        if !is_last {
            return false;
        }
        let (chain, failure) = {
            // SAFETY: valid until the last member, this thread, finishes it.
            let shared = unsafe { &*shared };
            let failure = shared.failure.lock().take();
            steps.publish(&shared.group, failure.as_ref());
            // After the publication (G4), before any member is `DONE` (G5).
            if !shared.handed_over {
                self.hand_over(shared.chain.last);
            }
            (shared.chain, failure)
        };
        let outcome = || failure.clone().map_or(Outcome::Done, Outcome::Failed);
        // SAFETY: this thread is the last one that works on the group.
        unsafe { self.finish(&chain, me, outcome) };
        true
    }

    /// Gives every member its outcome; `me` is the calling thread's own node,
    /// which is not woken.
    ///
    /// # Safety
    /// The caller is the only thread that works on the group, and `me` is one of its
    /// members. Other members are gone afterwards.
    pub(super) unsafe fn finish(
        &self,
        chain: &Chain<R, E, G>,
        me: *mut Node<R, E, G>,
        outcome: impl Fn() -> Outcome<E, G>,
    ) {
        let mut builder = WakeTreeBuilder::EMPTY;
        // SAFETY: nodes are valid until DONE is set below, and their cells belong to the
        // finisher until then.
        for member in unsafe { chain.members() } {
            member.outcome.set(outcome());
            let node = ptr::from_ref(member).cast_mut();
            if node != me {
                // SAFETY: nodes are valid until DONE is set below, and their cells belong
                // to the finisher until then.
                unsafe { builder.add(node) };
            }
        }
        // SAFETY: nodes are valid until DONE is set below, and their cells belong to the
        // finisher until then.
        let WakeTree { helpers, own } = unsafe { builder.build(chain.len) };
        // SAFETY: nodes are valid until DONE is set below, and their cells belong to the
        // finisher until then; a node is not accessed after it is notified.
        unsafe { notify_done(helpers) };
        // SAFETY: nodes are valid until DONE is set below, and their cells belong to the
        // finisher until then; a node is not accessed after it is notified.
        unsafe { notify_done(own) };
    }
}

/// Sets the nodes of a list `DONE`.
///
/// # Safety
/// They are valid until then, and the list belongs to the caller.
pub(super) unsafe fn notify_done<R, E, G>(list: *mut Node<R, E, G>) {
    let mut node = list;
    while !node.is_null() {
        // SAFETY: by this function's contract.
        let member = unsafe { at(node) };
        let state = ptr::from_ref(&member.state);
        // Before the state is set, since the node may be gone then (G2).
        node = member.next();
        // SAFETY: valid until the swap inside (W2), not touched after.
        unsafe { StateWord::set_raw(state, DONE) };
    }
}
