//! Prefetches of files whose reads wait, fail and are counted.

use super::*;
use crate::error::Error;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::sync::atomic::Ordering::SeqCst;

/// What a file does with a read.
enum Answer {
    Bytes,
    Error,
    Panic,
}

/// A file whose bytes are their offsets from `first` on, which is read while its gate is open.
struct Gated {
    first: u64,
    gate: Mutex<bool>,
    opened: Condvar,
    reads: AtomicUsize,
    answer: Answer,
    prefetched: AtomicUsize,
}

impl Gated {
    fn new(first: u64, open: bool, answer: Answer) -> Arc<Self> {
        Arc::new(Gated {
            first,
            gate: Mutex::new(open),
            opened: Condvar::new(),
            reads: AtomicUsize::new(0),
            answer,
            prefetched: AtomicUsize::new(0),
        })
    }

    /// One that can be read.
    fn open() -> Arc<Self> {
        Gated::new(0, true, Answer::Bytes)
    }

    /// One whose reads wait.
    fn shut() -> Arc<Self> {
        Gated::new(0, false, Answer::Bytes)
    }

    fn let_read(&self) {
        *self.gate.lock() = true;
        self.opened.notify_all();
    }

    fn content(&self, offset: u64, len: usize) -> Vec<u8> {
        let start = self.first + offset;
        (start..start + len as u64).map(|at| at as u8).collect()
    }
}

impl Prefetched for Gated {
    fn read(&self, offset: u64, len: usize) -> Result<Bytes> {
        let mut gate = self.gate.lock();
        self.opened.wait_while(&mut gate, |is_open| !*is_open);
        self.reads.fetch_add(1, SeqCst);
        match self.answer {
            Answer::Bytes => Ok(self.content(offset, len).into()),
            Answer::Error => Err(Error::corruption("damaged")),
            Answer::Panic => panic!("as told"),
        }
    }

    fn count(&self) -> &AtomicUsize {
        &self.prefetched
    }
}

type Tested = &'static Prefetches<Gated>;

/// Prefetches that stay, and whose threads do not end.
fn tested() -> Tested {
    let hour = Duration::from_secs(3600);
    Box::leak(Box::new(Prefetches::new(hour, hour)))
}

/// Waits until `reached` holds.
fn wait_until(what: &str, mut reached: impl FnMut() -> bool) {
    let begin = system::now();
    while !reached() {
        assert!(system::since(begin).as_secs() < 60, "never {what}");
        thread::yield_now();
    }
}

fn blocks(prefetches: Tested, which: impl Fn(&Step) -> bool) -> usize {
    let state = prefetches.state.lock();
    state.blocks.values().filter(|b| which(&b.step)).count()
}

fn wait_until_reading(prefetches: Tested, count: usize) {
    wait_until("reading", || {
        blocks(prefetches, |step| matches!(step, Step::Reading)) == count
    });
}

fn wait_until_read(prefetches: Tested) {
    wait_until("read", || {
        blocks(prefetches, |step| !matches!(step, Step::Read { .. })) == 0
    });
}

/// Everything that is counted fits what is there.
fn check_counts(prefetches: Tested, files: &[&Arc<Gated>]) {
    let state = prefetches.state.lock();
    let memory = state.blocks.values().map(|b| b.len + OVERHEAD);
    assert_eq!(state.bytes, memory.sum::<usize>());
    for file in files {
        let of_file = state.blocks.values().filter(|b| Arc::ptr_eq(&b.file, file));
        assert_eq!(file.prefetched.load(SeqCst), of_file.count());
    }
}

#[test]
fn what_was_prefetched_is_taken_once_and_read_once() {
    let (prefetches, file) = (tested(), Gated::open());
    // Two look-ups of one multi_get may announce one block.
    for _ in 0..2 {
        prefetches.prefetch(&file, 1000, 300);
    }
    wait_until_read(prefetches);
    let taken = prefetches.take(&file, 1000, 300).expect("it was read");
    assert_eq!(taken, file.content(1000, 300));
    assert_eq!(file.reads.load(SeqCst), 1);
    assert_eq!(prefetches.take(&file, 1000, 300), None);
    assert_eq!(blocks(prefetches, |_| true), 0);
    check_counts(prefetches, &[&file]);
}

#[test]
fn what_nobody_takes_goes_and_so_do_threads_without_work() {
    let short = Duration::from_millis(10);
    let prefetches = Box::leak(Box::new(Prefetches::new(short, short)));
    let file = Gated::open();
    for round in 1..3 {
        for i in 0..5 {
            prefetches.prefetch(&file, i * 100, 100);
        }
        wait_until("without work", || prefetches.state.lock().threads == 0);
        assert_eq!(blocks(prefetches, |_| true), 0);
        assert_eq!(file.reads.load(SeqCst), 5 * round);
        check_counts(prefetches, &[&file]);
    }
}

#[test]
fn another_file_or_length_is_not_taken() {
    let (prefetches, file, other) = (tested(), Gated::open(), Gated::open());
    prefetches.prefetch(&file, 0, 100);
    prefetches.prefetch(&other, 100, 100);
    wait_until_read(prefetches);
    assert_eq!(prefetches.take(&other, 0, 100), None);
    assert_eq!(blocks(prefetches, |_| true), 2);
    // Who reads more has the block as well.
    assert_eq!(prefetches.take(&file, 0, 200), None);
    assert_eq!(blocks(prefetches, |_| true), 1);
    check_counts(prefetches, &[&file, &other]);
}

#[test]
fn all_readers_that_wait_for_a_block_get_it() {
    let (prefetches, file) = (tested(), Gated::shut());
    prefetches.prefetch(&file, 0, 100);
    wait_until_reading(prefetches, 1);
    let readers = [(); 3].map(|()| {
        let file = file.clone();
        thread::spawn(move || prefetches.take(&file, 0, 100))
    });
    wait_until("waiting", || {
        let state = prefetches.state.lock();
        state.blocks.values().all(|block| block.readers == 3)
    });
    // Who reads more does not wait, and leaves it to them.
    assert_eq!(prefetches.take(&file, 0, 200), None);
    file.let_read();
    for reader in readers {
        let taken = reader.join().expect("it does not panic");
        assert_eq!(taken.expect("it was read"), file.content(0, 100));
    }
    assert_eq!(file.reads.load(SeqCst), 1);
    assert_eq!(blocks(prefetches, |_| true), 0);
    check_counts(prefetches, &[&file]);
}

#[test]
fn a_block_that_no_thread_reads_yet_is_left_to_its_reader() {
    let (prefetches, file) = (tested(), Gated::shut());
    for i in 0..=MOST_THREADS as u64 {
        prefetches.prefetch(&file, i * 100, 100);
    }
    wait_until_reading(prefetches, MOST_THREADS);
    let last = MOST_THREADS as u64 * 100;
    assert_eq!(prefetches.take(&file, last, 100), None);
    assert_eq!(blocks(prefetches, |_| true), MOST_THREADS);
    file.let_read();
    wait_until_read(prefetches);
    assert_eq!(file.reads.load(SeqCst), MOST_THREADS);
    assert_eq!(prefetches.state.lock().threads, MOST_THREADS);
    check_counts(prefetches, &[&file]);
}

#[test]
fn a_read_that_fails_or_panics_is_left_to_the_reader() {
    for answer in [Answer::Error, Answer::Panic] {
        let (prefetches, file) = (tested(), Gated::new(0, false, answer));
        prefetches.prefetch(&file, 0, 100);
        wait_until_reading(prefetches, 1);
        let reader = {
            let file = file.clone();
            thread::spawn(move || prefetches.take(&file, 0, 100))
        };
        file.let_read();
        assert_eq!(reader.join().expect("it does not panic"), None);
        check_counts(prefetches, &[&file]);
        // The thread goes on.
        wait_until("idle", || prefetches.state.lock().idle == 1);
        let file = Gated::open();
        prefetches.prefetch(&file, 0, 100);
        wait_until_read(prefetches);
        assert!(prefetches.take(&file, 0, 100).is_some());
        assert_eq!(prefetches.state.lock().threads, 1);
    }
}

#[test]
fn without_room_a_prefetch_is_ignored_unless_what_was_read_is_stale() {
    let half = MOST_BYTES / 2 - OVERHEAD;
    for (len, most) in [(half, 2), (1, MOST_BLOCKS)] {
        let (prefetches, file) = (tested(), Gated::open());
        let ask = |number| prefetches.prefetch(&file, number * half as u64, len);
        for number in 0..most as u64 {
            wait_until("asked for", || {
                ask(number);
                blocks(prefetches, |_| true) == number as usize + 1
            });
        }
        wait_until_read(prefetches);
        ask(most as u64);
        assert_eq!(blocks(prefetches, |_| true), most);
        check_counts(prefetches, &[&file]);
        {
            let mut state = prefetches.state.lock();
            (state.stale, state.swept) = (Duration::ZERO, None);
        }
        wait_until("some time later", || {
            ask(most as u64);
            blocks(prefetches, |_| true) == 1
        });
        check_counts(prefetches, &[&file]);
    }
}

#[test]
fn a_closed_file_keeps_no_memory() {
    let (prefetches, file, read, reading) = (tested(), Gated::open(), Gated::open(), Gated::shut());
    for file in [&file, &read] {
        prefetches.prefetch(file, 0, 100);
    }
    wait_until_read(prefetches);
    prefetches.prefetch(&reading, 0, 100);
    wait_until_reading(prefetches, 1);
    prefetches.forget(&read);
    prefetches.forget(&reading);
    assert_eq!(Arc::strong_count(&read), 1);
    check_counts(prefetches, &[&file, &read, &reading]);
    reading.let_read();
    wait_until("let go of", || Arc::strong_count(&reading) == 1);
    assert_eq!(blocks(prefetches, |_| true), 1);
    check_counts(prefetches, &[&file, &read, &reading]);
}

#[test]
fn readers_in_many_threads_get_what_is_in_the_file() {
    let prefetches = tested();
    let files = [0, 1, 2].map(|first| Gated::new(first, true, Answer::Bytes));
    let taken = AtomicUsize::new(0);
    thread::scope(|scope| {
        for seed in 0..4 {
            let (files, taken) = (&files, &taken);
            scope.spawn(move || {
                let rng = &mut StdRng::seed_from_u64(seed);
                let begin = system::now();
                while taken.load(SeqCst) < 1000 && system::since(begin).as_secs() < 60 {
                    let file = &files[rng.random_range(0..files.len())];
                    let (offset, len) = (rng.random_range(0..50), rng.random_range(1..4));
                    match rng.random_range(0..2) {
                        0 => prefetches.prefetch(file, offset, len),
                        _ => {
                            if let Some(bytes) = prefetches.take(file, offset, len) {
                                assert_eq!(bytes, file.content(offset, len), "seed {seed}");
                                taken.fetch_add(1, SeqCst);
                            }
                        }
                    }
                }
            });
        }
    });
    assert!(taken.load(SeqCst) >= 1000, "{taken:?} taken");
    wait_until_read(prefetches);
    check_counts(prefetches, &files.each_ref());
}
