//! Who tells whom: telling many members in about two times the square root of
//! their number (seed 002).
//!
//! To tell a member costs a transfer of its cache line, and a call of the
//! operating system if it sleeps. In a group of [`HELPED_GROUP`] members and more,
//! whoever has something to tell therefore tells about sqrt(n) *helpers* only,
//! and each of them its share of the others. RocksDB does so when members are
//! to insert; here the outcome is told in the same way.
//!
//! Callers are members that are awake, as long as there are such, and in each
//! share sleepers are the last: whoever is awake gets to know before it gives
//! up and sleeps, too.

use super::node::{Node, at};
use crate::sync::MODELLED;
use crate::waiter::BLOCKED;
use std::ptr;

/// Members of a group from which on helpers help.
pub(super) const HELPED_GROUP: usize = if MODELLED { 3 } else { 20 };

/// Members to be told something.
pub(super) struct WakeTreeBuilder<R, E, G> {
    awake: List<R, E, G>,
    asleep: List<R, E, G>,
}

/// Whom the dealer tells: the helpers, each of which has its `share`, and then
/// its own share. Both are linked by `next`.
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
    /// The node is valid, and its `next` the caller's.
    unsafe fn push(&mut self, node: *mut Node<R, E, G>) {
        // SAFETY: the caller's promise.
        unsafe { at(node) }.set_next(self.head);
        self.head = node;
        self.len += 1;
    }

    /// # Safety
    /// The nodes are valid, and their `next` the caller's.
    unsafe fn pop(&mut self) -> Option<*mut Node<R, E, G>> {
        let node = self.head;
        if node.is_null() {
            return None;
        }
        // SAFETY: the caller's promise.
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
    /// The node is valid until it is told, and `next` and `share` the caller's.
    pub unsafe fn add(&mut self, node: *mut Node<R, E, G>) -> bool {
        // SAFETY: the caller's promise.
        let member = unsafe { at(node) };
        member.subtree.set(ptr::null_mut());
        let awake = member.state.get() != BLOCKED;
        let list = if awake {
            &mut self.awake
        } else {
            &mut self.asleep
        };
        // SAFETY: the caller's promise.
        unsafe { list.push(node) };
        awake
    }

    /// Takes a sleeper, or if there is none one who is awake.
    ///
    /// # Safety
    /// As for [`WakeTreeBuilder::add`].
    unsafe fn take(&mut self) -> Option<*mut Node<R, E, G>> {
        // SAFETY: the caller's promise.
        if let Some(sleeper) = unsafe { self.asleep.pop() } {
            return Some(sleeper);
        }
        // SAFETY: as above.
        unsafe { self.awake.pop() }
    }

    /// Chooses the helpers of a group of `len` members and deals the others
    /// out to them and the dealer.
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
            // Sleepers, where there must be some, are pushed first and so told
            // last.
            let list = if self.awake.len < wanted - helpers.len && self.asleep.len > 0 {
                &mut self.asleep
            } else {
                &mut self.awake
            };
            // SAFETY: the caller's promise.
            let Some(helper) = (unsafe { list.pop() }) else {
                break;
            };
            // SAFETY: as above.
            unsafe { helpers.push(helper) };
        }
        let mut own = List::EMPTY;
        let mut turn = helpers.head;
        // Sleepers first: what is dealt last is told first.
        // SAFETY: the caller's promise.
        while let Some(node) = unsafe { self.take() } {
            if turn.is_null() {
                // SAFETY: as above.
                unsafe { own.push(node) };
                turn = helpers.head;
            } else {
                // SAFETY: as above; helpers are members, too.
                let helper = unsafe { at(turn) };
                // SAFETY: as above.
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
