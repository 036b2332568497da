//! A caller's node in the queue, and the members of a group.

use super::states::WAITING;
use crate::sync::{Cell, PublishedMark};
use crate::waiter::StateWord;
use std::ptr;

/// One caller's entry in the queue. It lives on the caller's stack; other threads reach
/// it through [`at`]. The cells are not atomic: G3 says which thread may access them.
pub(super) struct Node<R, E, G> {
    request: *const R,
    pub state: StateWord,
    /// The node pushed before this one; null at the bottom.
    pub older: Cell<*mut Node<R, E, G>>,
    /// The node pushed after this one, once it is linked.
    pub newer: Cell<*mut Node<R, E, G>>,
    /// The next node in a list of members to start or notify.
    next: Cell<*mut Node<R, E, G>>,
    /// The members that this one has to start or notify.
    pub subtree: Cell<*mut Node<R, E, G>>,
    /// Set by the leader in `prepare`.
    pub ticket: Cell<u64>,
    /// The group's [`Shared`](super::apply::Shared), for members that apply their own
    /// requests.
    pub shared: Cell<*const ()>,
    /// Set before `DONE`.
    pub outcome: Cell<Outcome<E, G>>,
    /// Written by the owner when the node goes away, read by other threads with `next`.
    /// So models find an access to a node that may be gone (G2).
    gone: PublishedMark,
}

/// What a member finds in its node with `DONE`.
pub(super) enum Outcome<E, G> {
    /// The request was carried out.
    Done,
    /// It was prepared with this group.
    Prepared(G),
    Failed(E),
}

impl<R, E, G> Node<R, E, G> {
    /// A node for `request`, which stays borrowed while its owner waits.
    pub fn new(request: &R) -> Self {
        Node {
            request,
            state: StateWord::new(WAITING),
            older: Cell::new(ptr::null_mut()),
            newer: Cell::new(ptr::null_mut()),
            next: Cell::new(ptr::null_mut()),
            subtree: Cell::new(ptr::null_mut()),
            ticket: Cell::new(0),
            shared: Cell::new(ptr::null()),
            outcome: Cell::new(Outcome::Done),
            gone: PublishedMark::new(),
        }
    }

    /// The next node of its list.
    pub fn next(&self) -> *mut Self {
        self.gone.read();
        self.next.get()
    }

    /// Puts the node in front of `next` in a list.
    pub fn set_next(&self, next: *mut Self) {
        self.gone.read();
        self.next.set(next);
    }

    /// Takes the outcome. The owner calls this last: no other thread accesses the node
    /// afterwards.
    pub fn leave(&self) -> Outcome<E, G> {
        self.gone.written();
        self.outcome.replace(Outcome::Done)
    }

    /// The request. The owner keeps it borrowed while it waits.
    pub fn request<'a>(&self) -> &'a R {
        // SAFETY: the node's owner borrows the request until the node is done, and no
        // thread uses a node, or a request found through one, after that (G2).
        unsafe { &*self.request }
    }
}

/// The node behind a pointer.
///
/// # Safety
/// The node is valid (G2), and the caller accesses only cells that are its own at this
/// moment (G3).
pub(super) unsafe fn at<'a, R, E, G>(node: *mut Node<R, E, G>) -> &'a Node<R, E, G> {
    // SAFETY: by this function's contract.
    unsafe { &*node }
}

/// The members of a group, oldest first, linked by `newer`.
pub(super) struct Chain<R, E, G> {
    pub first: *mut Node<R, E, G>,
    pub last: *mut Node<R, E, G>,
    pub len: usize,
}

impl<R, E, G> Clone for Chain<R, E, G> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R, E, G> Copy for Chain<R, E, G> {}

impl<R, E, G> Chain<R, E, G> {
    /// The members.
    ///
    /// # Safety
    /// All members are valid while the iterator is used, and their cells belong to the
    /// caller.
    pub unsafe fn members<'a>(&self) -> impl Iterator<Item = &'a Node<R, E, G>> + use<'a, R, E, G>
    where
        R: 'a,
        E: 'a,
        G: 'a,
    {
        let last = self.last;
        let mut next = Some(self.first);
        std::iter::from_fn(move || {
            let node = next?;
            // SAFETY: by this function's contract.
            let member = unsafe { at(node) };
            next = (node != last).then(|| member.newer.get());
            Some(member)
        })
    }
}

/// Requests of a group, oldest first, as the leader sees them.
pub struct Members<'a, R> {
    pub(super) nodes: &'a mut dyn MemberList<'a, R>,
}

pub(super) trait MemberList<'a, R> {
    fn visit(&mut self, f: &mut dyn FnMut(&'a R, &mut u64));
    fn len(&self) -> usize;
}

impl<'a, R> Members<'a, R> {
    /// Number of members; at least 1.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Never true, since a group has its leader.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Calls `f` with each request and its ticket, oldest first.
    pub fn for_each(&mut self, mut f: impl FnMut(&'a R, &mut u64)) {
        self.nodes.visit(&mut f);
    }
}

impl<'a, R: 'a, E, G> MemberList<'a, R> for Chain<R, E, G> {
    fn visit(&mut self, f: &mut dyn FnMut(&'a R, &mut u64)) {
        // SAFETY: members of a group in preparation are valid, and their links and
        // tickets belong to the leader.
        for member in unsafe { self.members() } {
            let mut ticket = member.ticket.get();
            f(member.request(), &mut ticket);
            member.ticket.set(ticket);
        }
    }

    fn len(&self) -> usize {
        self.len
    }
}
