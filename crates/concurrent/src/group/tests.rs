//! Stress of the group queue with steps that check its promises.

use super::*;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Duration;

struct Request {
    id: u64,
    class: u64,
    fail: bool,
}

/// Tickets count up; publication must follow in order; one group at a time.
#[derive(Default)]
struct Check {
    in_flight: AtomicU64,
    next: AtomicU64,
    published: AtomicU64,
    applied: AtomicU64,
    groups: AtomicU64,
}

struct Group {
    first: u64,
    len: u64,
}

impl Steps for Check {
    type Request = Request;
    type Group = Group;
    type Error = String;

    fn admits(&self, leader: &Request, candidate: &Request, bytes: usize) -> bool {
        leader.class == candidate.class && bytes < 8
    }
    fn size(&self, _: &Request) -> usize {
        1
    }
    fn prepare(&self, members: &mut Members<'_, Request>) -> Result<Group, String> {
        assert_eq!(
            self.in_flight.fetch_add(1, SeqCst),
            0,
            "one group at a time"
        );
        let first = self.next.load(SeqCst);
        assert_eq!(
            self.published.load(SeqCst),
            first,
            "the group before is published"
        );
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
        assert!(len <= 8);
        if fail {
            self.in_flight.fetch_sub(1, SeqCst);
            return Err(format!("group of {len}"));
        }
        self.next.fetch_add(len, SeqCst);
        self.groups.fetch_add(1, SeqCst);
        Ok(Group { first, len })
    }
    fn parallel(&self, group: &Group) -> bool {
        !group.first.is_multiple_of(3)
    }
    fn apply(&self, group: &Group, request: &Request, ticket: u64) -> Result<(), String> {
        assert!((group.first..group.first + group.len).contains(&ticket));
        self.applied.fetch_add(1, SeqCst);
        if request.id % 1009 == 7 {
            Err("apply".to_owned())
        } else {
            Ok(())
        }
    }
    fn publish(&self, group: &Group, _: Option<&String>) {
        assert_eq!(
            self.applied.load(SeqCst),
            group.first + group.len,
            "all applied"
        );
        self.published.store(group.first + group.len, SeqCst);
        self.in_flight.fetch_sub(1, SeqCst);
    }
}

fn run(threads: u64, per_thread: u64, policy: YieldPolicy) {
    let queue = GroupQueue::<Request, String, Group>::new(policy);
    let check = Check::default();
    let failures = AtomicU64::new(0);
    std::thread::scope(|s| {
        for t in 0..threads {
            let (queue, check, failures) = (&queue, &check, &failures);
            s.spawn(move || {
                for i in 0..per_thread {
                    let id = t * per_thread + i;
                    let request = Request {
                        id,
                        class: i % 5 / 4,
                        fail: id % 997 == 3,
                    };
                    let before = check.published.load(SeqCst);
                    match queue.commit(check, &request) {
                        Ok(_) => assert!(check.published.load(SeqCst) > before),
                        Err(_) => drop(failures.fetch_add(1, SeqCst)),
                    }
                }
            });
        }
    });
    let expected = (0..threads * per_thread)
        .filter(|id| id % 997 == 3 || id % 1009 == 7)
        .count();
    assert!(failures.load(SeqCst) >= expected as u64);
    assert_eq!(check.published.load(SeqCst), check.next.load(SeqCst));
    assert!(check.groups.load(SeqCst) <= threads * per_thread);
    assert!(queue.newest.load(Ordering::SeqCst).is_null());
}

#[test]
fn alone() {
    run(1, 2_000, YieldPolicy::default());
}

#[test]
fn many_threads_yielding() {
    run(8, 4_000, YieldPolicy::default());
}

#[test]
fn many_threads_sleeping() {
    run(
        16,
        2_000,
        YieldPolicy {
            max_yield: Duration::ZERO,
            slow_yield: Duration::ZERO,
        },
    );
}
