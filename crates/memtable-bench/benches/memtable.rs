//! A short run of the memtable benchmark: `cargo bench -p
//! whitewater-memtable-bench`. Names of structures and workloads after `--`
//! select some of them (`-- fillrandom art skip_list`). With `--features
//! count-rmw` atomic read-modify-writes are counted, too. `memtablerep_bench` in
//! the tools crate has more options.

use std::process::ExitCode;

use whitewater_concurrent::region::HugePages;
use whitewater_memtable_bench::input::{Input, Spread};
use whitewater_memtable_bench::machine::{self, Machine};
use whitewater_memtable_bench::measure::Plan;
use whitewater_memtable_bench::structure::Shape;
use whitewater_memtable_bench::workload::Workload;
use whitewater_memtable_bench::{structures, table};

#[global_allocator]
static HEAP: whitewater_concurrent::heap::CountingHeap = whitewater_concurrent::heap::CountingHeap;

fn main() -> ExitCode {
    match run(std::env::args().skip(1)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("memtable: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the workloads that the arguments name and prints the table.
fn run(arguments: impl Iterator<Item = String>) -> Result<(), String> {
    // Without --bench, `cargo test` only checks that it runs.
    let mut measured = false;
    let mut kinds = Vec::new();
    let mut workloads = Vec::new();
    for argument in arguments {
        let workload = Workload::ALL.into_iter().find(|w| w.name() == argument);
        match (workload, structures::find(&argument), argument.as_str()) {
            (Some(workload), ..) => workloads.push(workload),
            (None, Some(kind), _) => kinds.push(kind),
            (None, None, "--bench") => measured = true,
            (None, None, other) => {
                return Err(format!("'{other}' is neither a structure nor a workload"));
            }
        }
    }
    if kinds.is_empty() {
        kinds.extend(structures::ALL);
    }
    if workloads.is_empty() {
        workloads.extend(Workload::ALL);
    }
    let shape = Shape {
        entries: if measured { 200_000 } else { 1000 },
        key_size: 16,
        value_size: 100,
        pages: HugePages::Off,
    };
    let plan = Plan {
        kinds,
        workloads,
        threads: vec![1, 2],
        rounds: if measured { 3 } else { 1 },
        batch_size: 512,
        scans: 1,
        seek_nexts: 0,
        keep_memory: true,
    };
    println!("{}", Machine::now().line());
    println!(
        "{} entries, random {}-byte keys, {}-byte values; rounds: {}",
        table::grouped(shape.entries as f64),
        shape.key_size,
        shape.value_size,
        plan.rounds
    );
    let input = Input::new(shape, Spread::Random, 1)?;
    let cells = plan.run(&input, &mut |_| ())?;
    print!("{}", table::text(&cells));
    println!("\nload average at the end: {}", machine::load());
    for note in table::NOTES {
        println!("{note}");
    }
    Ok(())
}
