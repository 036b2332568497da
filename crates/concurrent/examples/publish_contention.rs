//! Measures what reserving and publishing cost by themselves, with nothing in between:
//! `cargo run --release -p whitewater-concurrent --example publish_contention [threads]
//! [work]`. `work` is about the nanoseconds of private work per write. It prints the
//! least of ten rounds.
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;
use whitewater_concurrent::publish::Publication;
use whitewater_concurrent::waiter::YieldPolicy;

#[repr(align(128))]
struct Line(AtomicU64);

fn main() {
    let mut args = std::env::args()
        .skip(1)
        .map(|a| a.parse().expect("a number"));
    let threads = args.next().unwrap_or(2usize);
    let work = args.next().unwrap_or(0);
    let each = 400_000 / threads as u64;
    let mut least = f64::MAX;
    for _ in 0..10 {
        let publication = Publication::new(0, YieldPolicy::default());
        let tail = Line(AtomicU64::new(0));
        let start = Instant::now();
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    for _ in 0..each {
                        let mut at = tail.0.load(Relaxed);
                        while let Err(now) =
                            tail.0.compare_exchange_weak(at, at + 1, Relaxed, Relaxed)
                        {
                            at = now;
                        }
                        for i in 0..work {
                            std::hint::black_box(i);
                        }
                        publication.finish(at + 1, at + 1).unwrap();
                        publication.wait(at + 1).unwrap();
                        for i in 0..work {
                            std::hint::black_box(i);
                        }
                    }
                });
            }
        });
        assert_eq!(publication.visible(), each * threads as u64);
        least = least.min(start.elapsed().as_nanos() as f64 / (each * threads as u64) as f64);
    }
    println!("{threads} threads, work {work}: {least:.1} ns a write");
}
