use super::*;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc;

/// A time that stands still until it is told.
#[derive(Clone, Default)]
struct Manual(Arc<AtomicU64>);

impl Time for Manual {
    fn now(&self) -> u64 {
        self.0.load(Relaxed)
    }
    fn sleep(&self, _: u64) -> Option<Duration> {
        None
    }
}

static NO: AtomicBool = AtomicBool::new(false);
const PERIOD: u64 = 1000;

/// 100 bytes per period.
fn limiter(fairness: u64, tunes_itself: bool) -> (Arc<RateLimiter>, Manual) {
    let time = Manual::default();
    let rate = if tunes_itself { 200_000 } else { 100_000 };
    let mode = RateLimiterMode::KWritesOnly;
    let limiter = RateLimiter::with_time(rate, PERIOD, fairness, tunes_itself, mode, time.clone());
    (limiter, time)
}

impl RateLimiter {
    fn waiting(&self) -> usize {
        self.state.lock().wanted.len()
    }

    /// Waits until `n` requests wait.
    fn await_waiting(&self, n: usize) {
        while self.waiting() != n {
            std::thread::yield_now();
        }
    }
}

fn advance(limiter: &RateLimiter, time: &Manual) {
    time.0.fetch_add(PERIOD, Relaxed);
    limiter.wake();
}

#[test]
fn bytes_come_by_periods_and_are_not_saved_up() {
    let (limiter, time) = limiter(10, false);
    let ask = |bytes| limiter.request(bytes, IoPriority::High, &NO);
    assert_eq!(ask(60), Waited::default());
    assert_eq!(ask(40), Waited::default());
    time.0.fetch_add(10 * PERIOD, Relaxed);
    assert_eq!(ask(100), Waited::default());
    std::thread::scope(|scope| {
        let asked = scope.spawn(|| ask(150));
        limiter.await_waiting(1);
        advance(&limiter, &time);
        // Served in part; the rest comes with the next refill.
        while limiter.state.lock().wanted.values().any(|w| *w != 50) {
            std::thread::yield_now();
        }
        assert_eq!(limiter.waiting(), 1);
        advance(&limiter, &time);
        let waited = asked.join().unwrap();
        assert_eq!(waited.micros, Some(2 * PERIOD));
        assert_eq!(waited.drains, 2);
    });
    assert_eq!(ask(50), Waited::default());
}

#[test]
fn users_come_before_flushes_and_those_before_compactions() {
    use IoPriority::{High, Low, Mid, User};
    for (fairness, expected) in [
        (1000, [User, High, High, Mid, Low]),
        (1, [User, Low, Mid, High, High]),
    ] {
        let (limiter, time) = limiter(fairness, false);
        limiter.request(100, Low, &NO);
        let (served, order) = mpsc::channel();
        std::thread::scope(|scope| {
            for (n, priority) in [Low, High, Mid, User, High].into_iter().enumerate() {
                let (limiter, served) = (&limiter, served.clone());
                scope.spawn(move || {
                    limiter.request(100, priority, &NO);
                    served.send(priority).unwrap();
                });
                limiter.await_waiting(n + 1);
            }
            for expected in expected {
                advance(&limiter, &time);
                assert_eq!(order.recv().unwrap(), expected, "fairness {fairness}");
            }
        });
    }
}

#[test]
fn who_closes_is_let_through_and_others_are_not() {
    let (limiter, time) = limiter(10, false);
    let clients = [0, 1].map(|_| Client::new(limiter.clone(), None));
    clients[0].request_write(100, IoPriority::High);
    std::thread::scope(|scope| {
        let [closing, other] = [&clients[0], &clients[1]]
            .map(|client| scope.spawn(|| client.request_write(100, IoPriority::High)));
        limiter.await_waiting(2);
        clients[0].close();
        closing.join().unwrap();
        assert_eq!(limiter.waiting(), 1);
        assert!(!other.is_finished());
        advance(&limiter, &time);
        other.join().unwrap();
    });
    clients[0].request_write(1 << 40, IoPriority::High);
}

#[test]
fn a_rate_follows_demand() {
    let (limiter, time) = limiter(10, true);
    assert_eq!(limiter.rate(), 100_000);
    // Nobody waits: the least, at once.
    time.0.fetch_add(PERIODS_PER_TUNE * PERIOD, Relaxed);
    limiter.request(1, IoPriority::High, &NO);
    assert_eq!(limiter.rate(), 10_000);
    // Somebody waits in all periods, then in fewer.
    let rounds = |waits: u64| {
        for period in 0..PERIODS_PER_TUNE {
            time.0.fetch_add(PERIOD, Relaxed);
            limiter.state.lock().drains += u64::from(period < waits);
        }
        limiter.request(1, IoPriority::High, &NO);
        limiter.rate()
    };
    assert_eq!(rounds(100), 10_500);
    assert_eq!(rounds(91), 11_025);
    assert_eq!(rounds(70), 11_025);
    assert_eq!(rounds(49), 10_500);
    assert_eq!(rounds(1), 10_000);
    assert_eq!(rounds(1), 10_000);
    let mut rate = 0;
    for _ in 0..100 {
        rate = rounds(100);
    }
    assert_eq!(rate, 200_000);
    assert_eq!(rounds(0), 10_000);
}

#[test]
fn extreme_rates_are_some_rate() {
    assert_eq!(per_period(1, 1), 1);
    assert_eq!(per_period(i64::MAX as u64, u64::MAX >> 1), u64::MAX);
    assert_eq!(per_period(10 << 20, 100_000), 1 << 20);
}

#[test]
fn a_period_without_end_is_one_period() {
    let time = Manual::default();
    let limiter = RateLimiter::with_time(
        1000,
        u64::MAX,
        10,
        true,
        RateLimiterMode::KWritesOnly,
        time.clone(),
    );
    for now in [0, 5, u64::MAX] {
        time.0.store(now, Relaxed);
        let waited = limiter.request(1, IoPriority::High, &NO);
        assert_eq!(waited, Waited::default());
    }
}

/// A client whose limiter has 100 bytes per period and the mode `mode`.
fn client_with(mode: RateLimiterMode) -> (Arc<Client>, Arc<Statistics>) {
    let limiter = RateLimiter::with_time(100_000, PERIOD, 10, false, mode, Manual::default());
    let statistics = Arc::new(Statistics::default());
    let client = Client::new(limiter, Some(statistics.clone()));
    (client, statistics)
}

#[test]
fn a_mode_says_whether_reads_or_writes_or_both_ask() {
    for (mode, reads, writes) in [
        (RateLimiterMode::KReadsOnly, 30, 0),
        (RateLimiterMode::KWritesOnly, 0, 40),
        (RateLimiterMode::KAllIo, 30, 40),
    ] {
        let (client, statistics) = client_with(mode);
        assert_eq!(client.request_read(30, IoPriority::Low), 30);
        client.request_write(40, IoPriority::High);
        let left = 100 - reads - writes;
        assert_eq!(client.limiter.state.lock().available, left, "{mode:?}");
        let count = |ticker| statistics.ticker(ticker);
        assert_eq!(count(Ticker::RateLimiterBytesRead), reads, "{mode:?}");
        assert_eq!(count(Ticker::RateLimiterBytesWrite), writes, "{mode:?}");
        let requests = |bytes: u64| u64::from(bytes > 0);
        assert_eq!(count(Ticker::RateLimiterRequestsRead), requests(reads));
        assert_eq!(count(Ticker::RateLimiterRequestsWrite), requests(writes));
        assert_eq!(count(Ticker::RateLimiterDelayedRequestsRead), 0);
    }
}

#[test]
fn a_read_gets_no_more_than_one_refill_at_once() {
    let (client, statistics) = client_with(RateLimiterMode::KReadsOnly);
    assert_eq!(client.request_read(101, IoPriority::User), 100);
    assert_eq!(statistics.ticker(Ticker::RateLimiterBytesRead), 100);
    client.close();
    assert_eq!(client.request_read(101, IoPriority::User), 101);
}
