//! The wake tree: starting or notifying `n` members in a time of about 2 sqrt(n)
//! wake-ups.
//!
//! Notifying a member costs a transfer of its cache line, and a system call if it sleeps.
//! In groups of at least [`HELPED_GROUP`] members, the notifier therefore notifies only
//! about sqrt(n) *helpers*, and each helper notifies its *subtree* of the other members.
//! RocksDB does so when members are to insert; here members get their outcome in the same
//! way, too.
//!
//! Helpers are members that are awake, as far as there are enough. In each subtree
//! sleepers come last, so that a member that is awake is notified before it gives up
//! spinning and sleeps.

use super::node::{Node, at};
use crate::sync::MODELLED;
use crate::waiter::BLOCKED;
use std::ptr;

/// The least number of members of a group that has helpers.
pub(super) const HELPED_GROUP: usize = if MODELLED { 3 } else { 20 };

/// Collects the members to start or notify.
pub(super) struct WakeTreeBuilder<R, E, G> {
    awake: List<R, E, G>,
    asleep: List<R, E, G>,
}

/// The members that the notifier itself notifies: the helpers, each of which has its
/// `subtree`, and then the notifier's own subtree. Both lists are linked by `next`.
pub(super) struct WakeTree<R, E, G> {
    pub helpers: *mut Node<R, E, G>,
    pub own: *mut Node<R, E, G>,
}

/// A stack of nodes, linked by `next`.
struct List<R, E, G> {
    head: *mut Node<R, E, G>,
    len: usize,
}

impl<R, E, G> List<R, E, G> {
    const EMPTY: Self = List {
        head: ptr::null_mut(),
        len: 0,
    };

    /// # Safety
    /// The node is valid, and its `next` belongs to the caller.
    unsafe fn push(&mut self, node: *mut Node<R, E, G>) {
        // SAFETY: by this function's contract.
        unsafe { at(node) }.set_next(self.head);
        self.head = node;
        self.len += 1;
    }

    /// # Safety
    /// The nodes are valid, and their `next` belongs to the caller.
    unsafe fn pop(&mut self) -> Option<*mut Node<R, E, G>> {
        let node = self.head;
        if node.is_null() {
            return None;
        }
        // SAFETY: by this function's contract.
        self.head = unsafe { at(node) }.next();
        self.len -= 1;
        Some(node)
    }
}

impl<R, E, G> WakeTreeBuilder<R, E, G> {
    pub const EMPTY: Self = WakeTreeBuilder {
        awake: List::EMPTY,
        asleep: List::EMPTY,
    };

    /// Adds a member; returns whether it is awake.
    ///
    /// # Safety
    /// The node is valid until it is notified, and its `next` and `subtree` belong to the
    /// caller.
    pub unsafe fn add(&mut self, node: *mut Node<R, E, G>) -> bool {
        // SAFETY: by this function's contract.
        let member = unsafe { at(node) };
        member.subtree.set(ptr::null_mut());
        let awake = member.state.get() != BLOCKED;
        let list = if awake {
            &mut self.awake
        } else {
            &mut self.asleep
        };
        // SAFETY: by this function's contract.
        unsafe { list.push(node) };
        awake
    }

    /// Takes a sleeper or, if there is none, a member that is awake.
    ///
    /// # Safety
    /// As for [`WakeTreeBuilder::add`].
    unsafe fn take(&mut self) -> Option<*mut Node<R, E, G>> {
        // SAFETY: by this function's contract.
        if let Some(sleeper) = unsafe { self.asleep.pop() } {
            return Some(sleeper);
        }
        // SAFETY: by this function's contract.
        unsafe { self.awake.pop() }
    }

    /// Chooses the helpers of a group of `len` members, and distributes the other members
    /// evenly over the helpers and the notifier.
    ///
    /// # Safety
    /// As for [`WakeTreeBuilder::add`].
    pub unsafe fn build(mut self, len: usize) -> WakeTree<R, E, G> {
        let wanted = if len < HELPED_GROUP {
            0
        } else {
            (len.isqrt() - 1).max(1)
        };
        let mut helpers = List::EMPTY;
        while helpers.len < wanted {
            // Sleepers, if there must be some, are pushed first and so notified last.
            let list = if self.awake.len < wanted - helpers.len && self.asleep.len > 0 {
                &mut self.asleep
            } else {
                &mut self.awake
            };
            // SAFETY: by this function's contract.
            let Some(helper) = (unsafe { list.pop() }) else {
                break;
            };
            // SAFETY: by this function's contract.
            unsafe { helpers.push(helper) };
        }
        let mut own = List::EMPTY;
        let mut turn = helpers.head;
        // Sleepers first: what is distributed last is notified first.
        // SAFETY: by this function's contract.
        while let Some(node) = unsafe { self.take() } {
            if turn.is_null() {
                // SAFETY: by this function's contract.
                unsafe { own.push(node) };
                turn = helpers.head;
            } else {
                // SAFETY: by this function's contract; helpers are members, too.
                let helper = unsafe { at(turn) };
                // SAFETY: by this function's contract.
                let member = unsafe { at(node) };
                member.set_next(helper.subtree.get());
                helper.subtree.set(node);
                turn = helper.next();
            }
        }
        WakeTree {
            helpers: helpers.head,
            own: own.head,
        }
    }
}
