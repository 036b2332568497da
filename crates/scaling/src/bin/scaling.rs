//! See the library.
use whitewater_scaling::parameters::Parameters;
use whitewater_scaling::protocols::Protocol;
use whitewater_scaling::run::{Plan, run};
fn main() {
    let name = std::env::args().nth(1).unwrap();
    let p = Parameters::load(&name).unwrap();
    for protocol in Protocol::ALL {
        for threads in [1, 2, 4, 8, 16, 32, 64, 160, 256] {
            let mut plan = Plan::new(&p, protocol, threads);
            if std::env::args().nth(2).is_some() {
                plan.sync = true;
            }
            let t = std::time::Instant::now();
            let o = run(&plan);
            println!(
                "{:18} T={threads:3} {:9.0}/s group {:.2} rmw {:.2} transfers {:.2} vol {:.3} inv {:.4} waits {:.3} wakes {:.3} log {:.3} w/sync {:.1} blame {:?} min {} took {:?}",
                protocol.name(),
                o.entries_per_second,
                o.group,
                o.each(o.tally.counted_rmw),
                o.each(o.tally.transfers()),
                o.each(o.tally.voluntary),
                o.each(o.tally.involuntary),
                o.each(o.tally.futex_waits),
                o.each(o.tally.futex_wakes),
                o.each(o.tally.log_writes),
                o.writes_per_sync(),
                o.blamed(),
                o.by_thread.iter().min().unwrap(),
                t.elapsed()
            );
        }
    }
}
