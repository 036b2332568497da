//! Stress of the group queue with steps that check its promises.

use super::*;
use crate::publish::Publication;
use crate::system;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::Duration;

struct Request {
    id: u64,
    class: u64,
    fail: bool,
}

/// Tickets count up; publication must follow in order; one group at a time, or
/// with `pipelined` one preparation at a time.
struct Check {
    pipelined: bool,
    limit: u64,
    preparing: AtomicU64,
    in_flight: AtomicU64,
    next: AtomicU64,
    published: Publication,
    applied: AtomicU64,
    largest: AtomicU64,
}

#[derive(Clone)]
struct Group {
    first: u64,
    len: u64,
}

impl Check {
    fn new(pipelined: bool, limit: u64) -> Self {
        Check {
            pipelined,
            limit,
            preparing: AtomicU64::new(0),
            in_flight: AtomicU64::new(0),
            next: AtomicU64::new(0),
            published: Publication::new(0, YieldPolicy::default()),
            applied: AtomicU64::new(0),
            largest: AtomicU64::new(0),
        }
    }

    /// Whether applying this request fails.
    fn fails(&self, id: u64) -> bool {
        // Where groups overlap it would leave a gap in what is published.
        !self.pipelined && id % 1009 == 7
    }
}

impl Prepare for Check {
    type Request = Request;
    type Group = Group;
    type Error = String;

    fn admits(&self, leader: &Request, candidate: &Request, bytes: usize) -> bool {
        leader.class == candidate.class && (bytes as u64) < self.limit
    }
    fn size(&self, _: &Request) -> usize {
        1
    }
    fn prepare(&self, members: &mut Members<'_, Request>) -> Result<Group, String> {
        assert_eq!(self.preparing.fetch_add(1, SeqCst), 0, "one at a time");
        if self.limit > 8 {
            // Let a queue form.
            (0..50).for_each(|_| std::thread::yield_now());
        }
        let before = self.in_flight.fetch_add(1, SeqCst);
        assert!(self.pipelined || before == 0, "one group at a time");
        let first = self.next.load(SeqCst);
        let published = self.published.visible();
        assert!(self.pipelined || published == first, "the group before is");
        let mut len = 0;
        let mut class = None;
        let mut fail = false;
        members.for_each(|r, ticket| {
            assert_eq!(*class.get_or_insert(r.class), r.class);
            fail |= r.fail;
            *ticket = first + len;
            len += 1;
        });
        assert_eq!(len as usize, members.len());
        assert!(len <= self.limit);
        self.largest.fetch_max(len, SeqCst);
        self.preparing.fetch_sub(1, SeqCst);
        if fail {
            self.in_flight.fetch_sub(1, SeqCst);
            return Err(format!("group of {len}"));
        }
        self.next.fetch_add(len, SeqCst);
        Ok(Group { first, len })
    }
}

impl Steps for Check {
    fn pipelined(&self) -> bool {
        self.pipelined
    }
    fn parallel(&self, group: &Group) -> bool {
        !group.first.is_multiple_of(3)
    }
    fn apply(&self, group: &Group, request: &Request, ticket: u64) -> Result<(), String> {
        assert!((group.first..group.first + group.len).contains(&ticket));
        self.applied.fetch_add(1, SeqCst);
        if self.fails(request.id) {
            Err("apply".to_owned())
        } else {
            Ok(())
        }
    }
    fn publish(&self, group: &Group, failure: Option<&String>) {
        let end = group.first + group.len;
        if failure.is_some() && !self.parallel(group) {
            // The leader has skipped the requests behind the one that failed.
            let applied = self.applied.swap(end, SeqCst);
            assert!(applied > group.first && applied <= end);
        }
        let applied = self.applied.load(SeqCst);
        assert!(applied == end || self.pipelined && applied >= group.len);
        self.in_flight.fetch_sub(1, SeqCst);
        self.published.finish(group.first + 1, end).unwrap();
    }
}

const SLEEPING: YieldPolicy = YieldPolicy {
    max_yield: Duration::ZERO,
    slow_yield: Duration::ZERO,
};

/// Calls `commit` with requests from many threads; it returns a ticket.
fn storm(
    threads: u64,
    per_thread: u64,
    commit: impl Fn(&Request) -> Result<u64, String> + Sync,
) -> (u64, u64) {
    let failures = AtomicU64::new(0);
    let expected = AtomicU64::new(0);
    std::thread::scope(|s| {
        for t in 0..threads {
            let (failures, expected, commit) = (&failures, &expected, &commit);
            s.spawn(move || {
                for i in 0..per_thread {
                    let id = t * per_thread + i;
                    let request = Request {
                        id,
                        class: i % 50 / 49,
                        fail: id % 997 == 3,
                    };
                    expected.fetch_add(u64::from(request.fail), SeqCst);
                    let outcome = commit(&request);
                    failures.fetch_add(u64::from(outcome.is_err()), SeqCst);
                    assert!(!request.fail || outcome.is_err());
                }
            });
        }
    });
    (failures.into_inner(), expected.into_inner())
}

fn run(check: Check, threads: u64, per_thread: u64, policy: YieldPolicy) {
    let queue = GroupQueue::<Request, String, Group>::new(policy);
    let (failures, expected) = storm(threads, per_thread, |request| {
        let ticket = queue.commit(&check, request)?;
        assert!(!check.fails(request.id));
        check.published.wait(ticket + 1).unwrap();
        Ok(ticket)
    });
    assert!(failures >= expected);
    assert_eq!(check.published.visible(), check.next.load(SeqCst));
    let unfailed = threads * per_thread - failures;
    assert!(check.published.visible() >= unfailed);
    assert_eq!(check.in_flight.load(SeqCst), 0);
    assert!(queue.newest.load(Ordering::SeqCst).is_null());
    if threads > 40 {
        let largest = check.largest.load(SeqCst);
        assert!(
            largest >= wake_tree::HELPED_GROUP as u64,
            "groups of {largest} only"
        );
    }
}

#[test]
fn alone() {
    for pipelined in [false, true] {
        run(Check::new(pipelined, 8), 1, 2_000, YieldPolicy::default());
    }
}

#[test]
fn many_threads_yielding() {
    for pipelined in [false, true] {
        run(Check::new(pipelined, 8), 8, 4_000, YieldPolicy::default());
    }
}

#[test]
fn many_threads_sleeping() {
    for pipelined in [false, true] {
        run(Check::new(pipelined, 8), 16, 2_000, SLEEPING);
    }
}

#[test]
fn large_groups_are_started_and_notified_by_helpers() {
    for pipelined in [false, true] {
        for policy in [YieldPolicy::default(), SLEEPING] {
            run(Check::new(pipelined, 1 << 20), 64, 500, policy);
        }
    }
}

#[test]
fn members_of_groups_that_are_only_prepared_go_their_own_way() {
    for policy in [YieldPolicy::default(), SLEEPING] {
        for threads in [1, 8, 64] {
            let queue = GroupQueue::<Request, String, Group>::new(policy);
            let check = Check::new(true, 1 << 20);
            let tickets = AtomicU64::new(0);
            let (failures, expected) = storm(threads, 16_000 / threads, |request| {
                let (ticket, group) = queue.prepare(&check, request)?;
                assert!((group.first..group.first + group.len).contains(&ticket));
                tickets.fetch_add(ticket, SeqCst);
                Ok(ticket)
            });
            assert!(failures >= expected);
            let prepared = check.next.load(SeqCst);
            assert_eq!(prepared, threads * (16_000 / threads) - failures);
            let sum = prepared * prepared.saturating_sub(1) / 2;
            assert_eq!(tickets.load(SeqCst), sum, "each ticket is given out once");
            assert!(queue.newest.load(Ordering::SeqCst).is_null());
        }
    }
}

/// A first group of one request that is held up, and then a group of all that wait, which
/// the leader applies one by one until it comes to request 2.
#[derive(Default)]
struct OneByOne {
    preparing: AtomicBool,
    let_go: AtomicBool,
    applied: system::Mutex<Vec<u64>>,
}

impl Prepare for OneByOne {
    type Request = u64;
    type Group = ();
    type Error = u64;

    fn admits(&self, _: &u64, _: &u64, _: usize) -> bool {
        true
    }
    fn size(&self, _: &u64) -> usize {
        1
    }
    fn prepare(&self, _: &mut Members<'_, u64>) -> Result<(), u64> {
        self.preparing.store(true, SeqCst);
        while !self.let_go.load(SeqCst) {
            std::thread::yield_now();
        }
        Ok(())
    }
}

impl Steps for OneByOne {
    fn pipelined(&self) -> bool {
        false
    }
    fn parallel(&self, (): &()) -> bool {
        false
    }
    fn apply(&self, (): &(), request: &u64, _: u64) -> Result<(), u64> {
        self.applied.lock().push(*request);
        if *request == 2 { Err(2) } else { Ok(()) }
    }
    fn publish(&self, (): &(), failure: Option<&u64>) {
        let applied = self.applied.lock().len();
        assert_eq!(failure.is_some(), applied > 1);
    }
}

#[test]
fn a_leader_that_applies_for_all_stops_at_a_failure() {
    let queue = &GroupQueue::<u64, u64, ()>::new(YieldPolicy::default());
    let steps = &OneByOne::default();
    std::thread::scope(|s| {
        let first = s.spawn(|| queue.commit(steps, &0));
        while !steps.preparing.load(SeqCst) {
            std::thread::yield_now();
        }
        let mut newest = queue.newest.load(SeqCst);
        let others: Vec<_> = (1..=4)
            .map(|request| {
                let thread = s.spawn(move || queue.commit(steps, &request));
                while queue.newest.load(SeqCst) == newest {
                    std::thread::yield_now();
                }
                newest = queue.newest.load(SeqCst);
                thread
            })
            .collect();
        steps.let_go.store(true, SeqCst);
        assert_eq!(first.join().unwrap(), Ok(0));
        for other in others {
            assert_eq!(other.join().unwrap(), Err(2), "one for all");
        }
    });
    assert_eq!(*steps.applied.lock(), [0, 1, 2]);
}

/// Nodes for a wake tree; `asleep` of them look as if they slept.
fn nodes(requests: &[u64], asleep: usize) -> Vec<Node<u64, (), ()>> {
    let nodes: Vec<_> = requests.iter().map(Node::new).collect();
    for node in &nodes[..asleep] {
        node.state.set_blocked();
    }
    nodes
}

fn list<R, E, G>(head: *mut Node<R, E, G>) -> Vec<*mut Node<R, E, G>> {
    let step = |node: &*mut Node<R, E, G>| {
        // SAFETY: nodes of the test, used by no other thread.
        let next = unsafe { at(*node) }.next();
        (!next.is_null()).then_some(next)
    };
    std::iter::successors((!head.is_null()).then_some(head), step).collect()
}

#[test]
fn every_member_is_in_one_subtree_and_subtrees_are_even() {
    for len in 1..200usize {
        for asleep in [0, 1, 7, len / 2, len - 1] {
            let asleep = asleep.min(len - 1);
            let requests = vec![0; len - 1];
            let nodes = nodes(&requests, asleep);
            let sleeps = |node: &*mut Node<u64, (), ()>| {
                // SAFETY: nodes of the test, used by no other thread.
                unsafe { at(*node) }.state.get() == crate::waiter::BLOCKED
            };
            let mut builder = wake_tree::WakeTreeBuilder::EMPTY;
            for node in &nodes {
                // SAFETY: nodes of the test, used by no other thread.
                unsafe { builder.add(ptr::from_ref(node).cast_mut()) };
            }
            // SAFETY: nodes of the test, used by no other thread.
            let tree = unsafe { builder.build(len) };
            let helpers = list(tree.helpers);
            // SAFETY: nodes of the test, used by no other thread.
            let subtree = |node: &*mut _| list(unsafe { at(*node) }.subtree.get());
            let mut subtrees: Vec<_> = helpers.iter().map(subtree).collect();
            subtrees.push(list(tree.own));
            let mut all: Vec<_> = subtrees.iter().flatten().chain(&helpers).copied().collect();
            all.sort_unstable();
            let mut expected: Vec<_> = nodes.iter().map(|n| ptr::from_ref(n).cast_mut()).collect();
            expected.sort_unstable();
            assert_eq!(all, expected, "{len}");
            let sizes = || subtrees.iter().map(Vec::len);
            assert!(sizes().max().unwrap() <= sizes().min().unwrap() + 1);
            if len >= wake_tree::HELPED_GROUP {
                assert_eq!(helpers.len(), len.isqrt() - 1);
                let awake = helpers.iter().filter(|n| !sleeps(n)).count();
                assert_eq!(awake, helpers.len().min(len - 1 - asleep));
            } else {
                assert_eq!(helpers.len(), 0);
            }
            for told in subtrees.iter().chain([&helpers]) {
                assert!(told.is_sorted_by_key(sleeps), "sleepers last");
            }
        }
    }
}
