//! The scheduler of simulations: one thread runs at a time, as chosen by a seed.
//!
//! [`run`] starts the first thread of a simulation. All threads started by threads of a
//! simulation belong to it, too. They are threads of the operating system, but only the
//! thread whose *turn* it is runs. It passes the turn on when it waits, and by chance at
//! locks and at every [`point`]. So one seed gives one run, as long as the program
//! depends on nothing else that differs between runs.
//!
//! Time is simulated: it advances a little with each choice, and jumps to the next
//! deadline when all threads wait. If there is no deadline, or the simulation does not
//! end, all threads print where they are, and the process ends with [`STUCK`].
//!
//! Invariants:
//! * S1: a thread runs only while it is its turn, before it has taken its seat, or after
//!   it has left it.
//! * S2: the turn is given only to threads that are ready.

use parking_lot::{Condvar, Mutex};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use std::backtrace::Backtrace;
use std::cell::RefCell;
use std::io::Write;
use std::panic::resume_unwind;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The exit status of the process when no thread of a simulation can go on.
pub const STUCK: i32 = 70;

/// A simulation that exceeds this number of choices, or this time, counts as one that
/// does not end.
const ENDLESS: u64 = 200_000_000;
const FOREVER: Duration = Duration::from_secs(30 * 24 * 3600);

/// The time of day at which every simulation starts: the beginning of 2020.
const EPOCH: Duration = Duration::from_secs(1_577_836_800);

/// What happened in a simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Report {
    /// How often a thread to go on with was chosen.
    pub choices: u64,
    /// A hash of the threads chosen and of all values that were [noted](note). Equal runs
    /// have the same fingerprint.
    pub fingerprint: u64,
    /// The simulated time that has passed.
    pub time: Duration,
}

/// Runs `work` on a new thread, the first of a simulation, and waits until all threads of
/// the simulation have ended. Returns the result of `work`, and a report.
///
/// # Panics
/// If it is called in a simulation. If `work` panics, its panic is passed on without
/// waiting for the other threads.
pub fn run<T: Send>(seed: u64, work: impl FnOnce() -> T + Send) -> (T, Report) {
    assert!(current().is_none(), "a simulation in a simulation");
    let shared = Arc::new(Shared {
        begun: Instant::now(),
        state: Mutex::new(State::new(seed)),
    });
    let first = Seat::new(&shared, "first");
    let body = || {
        let _seated = first.clone().take_seat();
        let made = work();
        while let Some(other) = first.another_unfinished() {
            first.await_end(&other);
        }
        made
    };
    let ended = std::thread::scope(|scope| scope.spawn(body).join());
    let made = ended.unwrap_or_else(|panic| resume_unwind(panic));
    let state = shared.state.lock();
    let report = Report {
        choices: state.choices,
        fingerprint: state.fingerprint,
        time: state.time,
    };
    (made, report)
}

/// Called before the process ends because no thread can go on.
static LAST_WORDS: OnceLock<fn()> = OnceLock::new();

/// Sets a function that is called before a simulation that cannot go on ends the process.
/// Only the first call has an effect.
pub fn set_last_words(say: fn()) {
    // Only the first call has an effect.
    let _ = LAST_WORDS.set(say);
}

/// A point at which another thread may run first. Does nothing outside of a simulation.
pub fn point() {
    if let Some(seat) = current() {
        seat.point();
    }
}

/// Notes a value that must be the same in each run. Does nothing outside of a simulation.
pub fn note(what: u64) {
    if let Some(seat) = current() {
        seat.shared.state.lock().note(what);
    }
}

thread_local! {
    /// The seat of this thread.
    static CURRENT: RefCell<Option<Seat>> = const { RefCell::new(None) };
}

/// The calling thread's seat, if it belongs to a simulation.
pub(super) fn current() -> Option<Seat> {
    CURRENT.try_with(|seat| seat.borrow().clone()).ok()?
}

/// A thread's seat in a simulation.
#[derive(Debug, Clone)]
pub(super) struct Seat {
    shared: Arc<Shared>,
    number: usize,
}

#[derive(Debug)]
struct Shared {
    /// The start of the simulation as an [`Instant`].
    begun: Instant,
    /// Locked only for moments; a leaf lock.
    state: Mutex<State>,
}

/// A thread that has taken its seat. It leaves the seat when this is dropped.
pub(super) struct Seated;

impl Drop for Seated {
    fn drop(&mut self) {
        let seat = CURRENT.with(|current| current.borrow_mut().take());
        if let Some(seat) = seat {
            seat.cancel();
        }
    }
}

impl Seat {
    fn new(shared: &Arc<Shared>, name: &str) -> Seat {
        Seat {
            shared: Arc::clone(shared),
            number: shared.state.lock().add(name),
        }
    }

    /// A seat for another thread, which is ready from now on.
    pub fn another(&self, name: &str) -> Seat {
        Seat::new(&self.shared, name)
    }

    /// The seat of another thread that has not ended.
    fn another_unfinished(&self) -> Option<Seat> {
        let state = self.shared.state.lock();
        let mut all = 0..state.tasks.len();
        let number = all.find(|&n| n != self.number && !state.tasks[n].is_over())?;
        let shared = Arc::clone(&self.shared);
        Some(Seat { shared, number })
    }

    /// Makes the calling thread take this seat, and waits for its turn.
    pub fn take_seat(self) -> Seated {
        CURRENT.with(|current| *current.borrow_mut() = Some(self.clone()));
        self.await_turn();
        Seated
    }

    /// Gives up this seat: its thread counts as ended, or never started. If it has the
    /// turn, the turn passes on.
    pub fn cancel(&self) {
        let mut state = self.shared.state.lock();
        state.tasks[self.number].status = Status::Over;
        state.wake_all(end_of(self.number));
        if state.turn == self.number
            && let Some(next) = state.choose(self.number, false)
        {
            state.pass_to(next);
        }
    }

    pub fn is_over(&self) -> bool {
        self.shared.state.lock().tasks[self.number].is_over()
    }

    pub fn number(&self) -> usize {
        self.number
    }

    pub fn random(&self) -> u128 {
        self.shared.state.lock().rng.random()
    }

    pub fn now(&self) -> Instant {
        self.shared.begun + self.shared.state.lock().time
    }

    pub fn wall_clock(&self) -> SystemTime {
        UNIX_EPOCH + EPOCH + self.shared.state.lock().time
    }

    /// Lets another thread run first, if the strategy chooses one.
    pub fn point(&self) {
        self.go_on(false);
    }

    /// Lets another thread run first, if one is ready.
    pub fn give_way(&self) {
        self.go_on(true);
    }

    fn go_on(&self, reluctantly: bool) {
        let mut state = self.shared.state.lock();
        let next = state.choose(self.number, reluctantly);
        match next {
            Some(next) if next == self.number => return,
            Some(next) => state.pass_to(next),
            None => {}
        }
        drop(state);
        self.await_turn();
    }

    /// Waits to be woken at `address`, but at most until `deadline`. Returns whether the
    /// deadline ended the wait.
    pub fn wait(&self, address: usize, deadline: Option<Instant>) -> bool {
        let mut state = self.shared.state.lock();
        state.tasks[self.number].status = Status::Waits {
            address,
            deadline: deadline.map(|at| at.saturating_duration_since(self.shared.begun)),
        };
        if let Some(next) = state.choose(self.number, false) {
            state.pass_to(next);
        }
        drop(state);
        self.await_turn();
        let mut state = self.shared.state.lock();
        std::mem::take(&mut state.tasks[self.number].timed_out)
    }

    /// Waits until the thread of `other` has ended.
    pub fn await_end(&self, other: &Seat) {
        while !other.is_over() {
            self.wait(end_of(other.number), None);
        }
    }

    /// Makes one thread ready that waits at `address`.
    pub fn wake_one(&self, address: usize) {
        self.shared.state.lock().wake_one(address);
    }

    /// Makes all threads ready that wait at `address`.
    pub fn wake_all(&self, address: usize) {
        self.shared.state.lock().wake_all(address);
    }

    /// Returns when it is this thread's turn: upholds S1.
    fn await_turn(&self) {
        let mut state = self.shared.state.lock();
        let called = Arc::clone(&state.tasks[self.number].called);
        while state.turn != self.number && !state.stuck {
            called.wait(&mut state);
        }
        if state.stuck {
            drop(state);
            self.print_where();
        }
    }

    /// Prints where this thread waits, when no thread can go on. The process ends soon
    /// after.
    fn print_where(&self) -> ! {
        let trace = Backtrace::force_capture();
        let state = self.shared.state.lock();
        let task = &state.tasks[self.number];
        let (number, name, status) = (self.number, &task.name, &task.status);
        // Not through what tests capture, which is lost at the end of the process.
        let _ = writeln!(
            std::io::stderr(),
            "thread {number} of the simulation of seed {} ({name}, {status:?}):\n{trace}",
            state.seed,
        );
        drop(state);
        if number == 0 {
            std::thread::sleep(Duration::from_secs(2));
            if let Some(say) = LAST_WORDS.get() {
                say();
            }
            std::process::exit(STUCK);
        }
        loop {
            std::thread::park();
        }
    }
}

/// The address at which threads wait for the end of a thread. It is no real address.
fn end_of(number: usize) -> usize {
    usize::MAX - number
}

#[derive(Debug)]
struct Task {
    name: String,
    status: Status,
    /// Whether the last wait ended by its deadline.
    timed_out: bool,
    /// With [`Strategy::Priorities`], the ready thread with the highest priority goes on.
    priority: u64,
    /// Notified when it is its turn.
    called: Arc<Condvar>,
}

impl Task {
    fn is_over(&self) -> bool {
        matches!(self.status, Status::Over)
    }
}

#[derive(Debug)]
enum Status {
    Ready,
    Waits {
        address: usize,
        deadline: Option<Duration>,
    },
    Over,
}

/// How the next thread is chosen. It is drawn for each simulation, since each strategy
/// finds errors that others do not.
#[derive(Debug, Clone, Copy)]
enum Strategy {
    /// By chance, but the running thread goes on with this probability.
    Chance { stay: f64 },
    /// By priority; the highest falls to the bottom with this probability (probabilistic
    /// concurrency testing: Burckhardt et al., ASPLOS 2010).
    Priorities { fall: f64 },
}

#[derive(Debug)]
struct State {
    seed: u64,
    rng: StdRng,
    strategy: Strategy,
    tasks: Vec<Task>,
    /// The thread that runs (S1).
    turn: usize,
    time: Duration,
    choices: u64,
    fingerprint: u64,
    stuck: bool,
    /// The lowest priority so far.
    bottom: u64,
}

impl State {
    fn new(seed: u64) -> State {
        let mut rng = StdRng::seed_from_u64(seed);
        let strategy = match rng.random_range(0..6) {
            0 => Strategy::Chance { stay: 0.0 },
            1 => Strategy::Chance { stay: 0.5 },
            2 => Strategy::Chance { stay: 0.9 },
            3 => Strategy::Chance { stay: 0.99 },
            4 => Strategy::Priorities { fall: 0.01 },
            _ => Strategy::Priorities { fall: 0.001 },
        };
        State {
            seed,
            rng,
            strategy,
            tasks: Vec::new(),
            turn: 0,
            time: Duration::ZERO,
            choices: 0,
            fingerprint: 0,
            stuck: false,
            bottom: u64::from(u32::MAX),
        }
    }

    fn add(&mut self, name: &str) -> usize {
        let priority = self.rng.random_range(1 << 32..u64::MAX);
        self.tasks.push(Task {
            name: name.to_owned(),
            status: Status::Ready,
            timed_out: false,
            priority,
            called: Arc::default(),
        });
        self.tasks.len() - 1
    }

    fn note(&mut self, what: u64) {
        // FNV-1a, by words.
        self.fingerprint = (self.fingerprint ^ what).wrapping_mul(0x0100_0000_01b3);
    }

    /// Chooses the thread that goes on: `me` or another ready thread. With `reluctantly`,
    /// it is `me` only if no other thread is ready. `None` if all threads have ended. If
    /// all wait forever, the simulation is marked as stuck.
    fn choose(&mut self, me: usize, reluctantly: bool) -> Option<usize> {
        self.choices += 1;
        self.time += Duration::from_nanos(self.rng.random_range(1..2_000));
        self.expire();
        let mut ready = self.ready();
        if ready.is_empty() {
            let deadlines = self.tasks.iter().filter_map(|task| match task.status {
                Status::Waits { deadline, .. } => deadline,
                _ => None,
            });
            if let Some(first) = deadlines.min() {
                self.time = self.time.max(first);
                self.expire();
                ready = self.ready();
            }
        }
        let all_over = self.tasks.iter().all(Task::is_over);
        if (ready.is_empty() && !all_over) || self.choices > ENDLESS || self.time > FOREVER {
            self.stuck = true;
            self.tasks.iter().for_each(|t| _ = t.called.notify_one());
            return None;
        }
        if reluctantly {
            self.bottom -= 1;
            self.tasks[me].priority = self.bottom;
            if ready.len() > 1 {
                ready.retain(|&n| n != me);
            }
        }
        let next = match self.strategy {
            Strategy::Chance { stay } => {
                let stays = ready.contains(&me) && self.rng.random_bool(stay);
                if stays {
                    me
                } else {
                    *ready.choose(&mut self.rng)?
                }
            }
            Strategy::Priorities { fall } => {
                let highest = |s: &Self| ready.iter().copied().max_by_key(|&n| s.tasks[n].priority);
                if self.rng.random_bool(fall) {
                    self.bottom -= 1;
                    let fallen = highest(self)?;
                    self.tasks[fallen].priority = self.bottom;
                }
                highest(self)?
            }
        };
        self.note(next as u64);
        Some(next)
    }

    /// The threads that may be chosen.
    fn ready(&self) -> Vec<usize> {
        let all = self.tasks.iter().enumerate();
        all.filter(|(_, task)| matches!(task.status, Status::Ready))
            .map(|(number, _)| number)
            .collect()
    }

    /// Makes threads ready whose deadline has come.
    fn expire(&mut self) {
        for task in &mut self.tasks {
            if let Status::Waits {
                deadline: Some(deadline),
                ..
            } = task.status
                && deadline <= self.time
            {
                task.status = Status::Ready;
                task.timed_out = true;
            }
        }
    }

    /// Gives the turn to a thread that is ready (S2).
    fn pass_to(&mut self, next: usize) {
        self.turn = next;
        self.tasks[next].called.notify_one();
    }

    fn wake_one(&mut self, address: usize) {
        let waiting: Vec<usize> = (0..self.tasks.len())
            .filter(|&n| self.tasks[n].waits_at(address))
            .collect();
        if let Some(&one) = waiting.choose(&mut self.rng) {
            self.tasks[one].status = Status::Ready;
        }
    }

    fn wake_all(&mut self, address: usize) {
        for task in &mut self.tasks {
            if task.waits_at(address) {
                task.status = Status::Ready;
            }
        }
    }
}

impl Task {
    fn waits_at(&self, at: usize) -> bool {
        matches!(self.status, Status::Waits { address, .. } if address == at)
    }
}
