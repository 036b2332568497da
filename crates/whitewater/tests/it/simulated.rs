//! Databases whose threads run one at a time, in an order that a seed decides. A run that does not
//! end is noticed, reported with the place where each thread waits, and ends the process.

use crate::harness::{DIR, seeds, tiny};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use whitewater::fs::mem::MemFs;
use whitewater::fs::read_file;
use whitewater::listener::{EventListener, FlushJobInfo};
use whitewater::{DB, Options};
use whitewater_concurrent::system;
use whitewater_concurrent::system::simulation;

fn options() -> Options {
    let mut o = tiny();
    o.set_fs(Arc::new(MemFs::new()));
    o
}

/// Runs `works` beside each other, to their ends. All are joined before the first panic is passed
/// on: the scope would wait for the others outside the simulation, which then stands still.
pub fn in_threads(works: Vec<Box<dyn Fn() + Send + Sync + '_>>) {
    std::thread::scope(|scope| {
        let threads: Vec<_> = works
            .iter()
            .map(|work| system::spawn_scoped(scope, "worker".to_owned(), work))
            .collect();
        let threads = threads.into_iter().map(|t| t.expect("a thread starts"));
        let ends: Vec<_> = threads.map(|t| t.join()).collect();
        ends.into_iter().for_each(|end| end.expect("no panic"));
    });
}

/// A writer switches a memtable between a flush's own switch and the flush's look at what there is
/// to wait for. No thread writes afterwards, and one memtable is not enough for a flush that no
/// thread has asked for.
#[test]
fn a_flush_comes_to_an_end_beside_a_switch() {
    for seed in seeds(1, 150) {
        simulation::run(seed, || {
            let mut o = options();
            o.set_min_write_buffer_number_to_merge(2);
            o.set_max_write_buffer_number(4);
            let db = DB::open(&o, DIR).unwrap();
            let write = || {
                for i in 0..80_u32 {
                    db.put(i.to_be_bytes(), vec![0; 2000]).unwrap();
                }
            };
            let flush = || (0..10).for_each(|_| db.flush().unwrap());
            in_threads(vec![Box::new(&write), Box::new(&flush)]);
            assert!(db.get(79_u32.to_be_bytes()).unwrap().is_some());
        });
    }
}

/// The LOG of a run with statistics, in which each write really takes `pause` longer.
fn log_with_pauses(pause: Duration) -> String {
    let memory = MemFs::new();
    let mut o = tiny();
    o.set_fs(Arc::new(memory.clone()));
    o.enable_statistics();
    o.set_stats_dump_period_sec(1);
    simulation::run(7, || {
        let db = DB::open(&o, DIR).unwrap();
        let write = || {
            for i in 0..60_u32 {
                db.put(i.to_be_bytes(), vec![0; 2000]).unwrap();
                std::thread::sleep(pause);
                system::sleep(Duration::from_millis(50));
            }
        };
        in_threads(vec![Box::new(&write), Box::new(&write)]);
        db.compact_range::<&[u8], &[u8]>(None, None);
    });
    let log = read_file(&memory, &Path::new(DIR).join("LOG"), u64::MAX).unwrap();
    String::from_utf8(log).unwrap()
}

/// The length of a LOG decides when the next one begins, so real times in it made runs differ.
#[test]
fn a_slow_machine_changes_nothing_in_the_log_of_a_simulation() {
    let quick = log_with_pauses(Duration::ZERO);
    assert!(quick.contains("DUMPING STATS"), "{quick}");
    let slow = log_with_pauses(Duration::from_millis(2));
    let differ = quick.lines().zip(slow.lines()).find(|(a, b)| a != b);
    assert_eq!(differ, None);
    assert_eq!(quick.len(), slow.len());
}

#[derive(Default)]
struct Flushes(AtomicU64);

impl EventListener for Flushes {
    fn on_flush_completed(&self, _: &FlushJobInfo) {
        self.0.fetch_add(1, Relaxed);
    }
}

/// The thread of listeners waited where the simulation did not see it.
#[test]
fn listeners_are_called_in_a_simulation() {
    for seed in seeds(1, 20) {
        simulation::run(seed, || {
            let flushes = Arc::new(Flushes::default());
            let mut o = options();
            o.add_event_listener(flushes.clone());
            let db = DB::open(&o, DIR).unwrap();
            for i in 0..5_u32 {
                db.put(i.to_be_bytes(), b"value").unwrap();
                db.flush().unwrap();
            }
            drop(db);
            assert_eq!(flushes.0.load(Relaxed), 5);
        });
    }
}
