//! More threads than cores: any number of writers ends, and the system has to switch threads only a
//! few times per write.

use super::{open, options};
use crate::harness::{protocols, watched};
use std::sync::Barrier;
use std::thread;
use whitewater::fs::mem::MemFs;

/// What the kernel counts for threads of this process.
#[cfg(target_os = "linux")]
pub mod kernel {
    use std::fs::{read_link, read_to_string};
    use std::sync::mpsc;
    use std::thread::Scope;

    /// The id of the calling thread.
    pub fn id() -> u64 {
        let link = read_link("/proc/thread-self").expect("Linux has it");
        let name = link.file_name().and_then(|n| n.to_str());
        name.and_then(|n| n.parse().ok()).expect("a number")
    }

    fn file(thread: u64, name: &str) -> Option<String> {
        read_to_string(format!("/proc/self/task/{thread}/{name}")).ok()
    }

    /// Runs `work` on a thread of its own, and returns once that thread sleeps.
    pub fn until_it_sleeps<'s>(scope: &'s Scope<'s, '_>, work: impl FnOnce() + Send + 's) {
        let (tell, thread) = mpsc::channel();
        scope.spawn(move || {
            tell.send(id()).expect("heard");
            work();
        });
        wait_until_asleep(&[thread.recv().expect("told")]);
    }

    /// Nanoseconds for which a thread has run.
    pub fn cpu_nanos(thread: u64) -> u64 {
        let text = file(thread, "schedstat").expect("a thread that lives");
        let first = text.split(' ').next().expect("numbers");
        first.parse().expect("a number")
    }

    /// Whether a thread sleeps.
    ///
    /// A thread that has ended does not run either.
    pub fn is_asleep(thread: u64) -> bool {
        let Some(text) = file(thread, "stat") else {
            return true;
        };
        let state = text.rsplit(") ").next().expect("a state");
        state.starts_with('S')
    }

    /// How many times the calling thread went to sleep.
    pub fn sleeps() -> u64 {
        let text = file(id(), "status").expect("a thread that lives");
        let count = text
            .lines()
            .find_map(|l| l.strip_prefix("voluntary_ctxt_switches:"));
        count.and_then(|c| c.trim().parse().ok()).expect("a number")
    }

    /// Returns once all of `threads` have been asleep for a while.
    pub fn wait_until_asleep(threads: &[u64]) {
        let mut quiet = 0;
        while quiet < 10 {
            std::thread::sleep(std::time::Duration::from_millis(2));
            let all = threads.iter().all(|t| is_asleep(*t));
            quiet = if all { quiet + 1 } else { 0 };
        }
    }
}

/// 1 to 256 threads write the same number of entries together.
#[test]
#[cfg(target_os = "linux")]
fn any_number_of_threads_comes_to_an_end() {
    const WRITES: u64 = 12_800;
    for protocol in protocols() {
        for threads in [1, 2, 4, 16, 64, 256] {
            let sleeps: u64 = watched("many threads", 300, move || {
                let mut options = options(protocol, MemFs::new());
                options.set_write_buffer_size(16 << 20);
                let db = &open(&options);
                let start = &Barrier::new(threads as usize);
                let sleeps = thread::scope(|scope| {
                    let writers: Vec<_> = (0..threads)
                        .map(|t| {
                            scope.spawn(move || {
                                start.wait();
                                let before = kernel::sleeps();
                                for n in 0..WRITES / threads {
                                    db.put(format!("{t}-{n}"), [0; 100]).expect("writes");
                                }
                                kernel::sleeps() - before
                            })
                        })
                        .collect();
                    writers
                        .into_iter()
                        .map(|w| w.join().expect("no panic"))
                        .sum()
                });
                assert_eq!(db.latest_sequence_number(), WRITES);
                sleeps
            });
            let each = sleeps as f64 / WRITES as f64;
            println!("{protocol}, {threads} threads: {each:.3} sleeps per write");
            // A follower of a group sleeps until its turn, and until the end.
            assert!(sleeps <= 6 * WRITES, "{protocol}, {threads}: {each}");
        }
    }
}
