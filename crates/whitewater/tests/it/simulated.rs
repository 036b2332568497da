//! Databases whose threads run one at a time, in an order that a seed decides. A run that does not
//! end is noticed, reported with the place where each thread waits, and ends the process.

use crate::harness::{DIR, seeds, tiny};
use std::sync::Arc;
use whitewater::fs::mem::MemFs;
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
