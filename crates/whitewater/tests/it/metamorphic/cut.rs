//! Rounds of a campaign. A failing case is reduced and printed.

use super::lives::{Failure, run};
use super::opening::Case;
use super::script::{Step, step};
use rand::SeedableRng;
use rand::rngs::StdRng;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The most runs while a failure is reduced.
const RUNS: u32 = 400;

/// [`run`] with panics as failures.
fn fails(case: &Case, steps: &[Step]) -> Option<Failure> {
    let mut failure = Failure {
        why: String::new(),
        options: String::new(),
        names: BTreeSet::new(),
    };
    let outcome = catch_unwind(AssertUnwindSafe(|| run(case, steps, &mut failure)));
    failure.why = match outcome {
        Ok(Ok(())) => return None,
        Ok(Err(why)) => why,
        Err(panic) => match panic.downcast_ref::<String>() {
            Some(text) => format!("panic: {text}"),
            None => format!("panic: {:?}", panic.downcast_ref::<&str>()),
        },
    };
    Some(failure)
}

/// Failures also depend on background threads, so each case gets a few tries.
fn still_fails(case: &Case, steps: &[Step], runs: &mut u32) -> Option<Failure> {
    *runs += 1;
    (0..2).find_map(|_| fails(case, steps))
}

/// Drops steps, in ever smaller pieces, as long as the case fails.
fn cut_script(case: &Case, steps: &mut Vec<Step>, failure: &mut Failure, runs: &mut u32) {
    let mut piece = steps.len().div_ceil(2);
    while piece > 0 && *runs < RUNS {
        let mut from = 0;
        while from < steps.len() && *runs < RUNS {
            let mut shorter = steps.clone();
            shorter.drain(from..(from + piece).min(steps.len()));
            match still_fails(case, &shorter, runs) {
                Some(found) => (*steps, *failure) = (shorter, found),
                None => from += piece,
            }
        }
        piece = if piece == 1 { 0 } else { piece.div_ceil(2) };
    }
}

/// Makes options plain, as long as the case fails.
fn cut_options(case: &mut Case, steps: &[Step], failure: &mut Failure, runs: &mut u32) {
    for name in failure.names.clone() {
        case.plain.insert(name.clone());
        match still_fails(case, steps, runs) {
            Some(found) => *failure = found,
            None => _ = case.plain.remove(&name),
        }
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Options that are to be plain: WHITEWATER_PLAIN.
fn plain() -> BTreeSet<String> {
    let names = variable("WHITEWATER_PLAIN").unwrap_or_default();
    let names = names.split(',').filter(|name| !name.is_empty());
    names.map(str::to_owned).collect()
}

/// One case of `length` steps, or of as many as WHITEWATER_STEPS says.
pub fn round(seed: u64, length: usize) {
    let (mut case, nature) = Case::new(seed, plain());
    let mut rng = StdRng::seed_from_u64(seed);
    let mut steps = vec![Step::Create(1), Step::Create(2)];
    steps.extend((0..length).map(|_| step(&mut rng, &case.nature)));
    if let Some(text) = variable("WHITEWATER_STEPS") {
        steps.truncate(text.parse().expect("WHITEWATER_STEPS is a number"));
    }
    let Some(mut failure) = fails(&case, &steps) else {
        return;
    };
    eprintln!("seed {seed} fails, cutting down: {}", failure.why);
    let mut runs = 0;
    cut_script(&case, &mut steps, &mut failure, &mut runs);
    cut_options(&mut case, &steps, &mut failure, &mut runs);
    let script: Vec<String> = steps.iter().map(Step::to_string).collect();
    let nature: Vec<String> = nature.iter().map(|(n, v)| format!("{n}={v}")).collect();
    panic!(
        "seed {seed}: {}\nfor life: {}\noptions of the last opening: {}\n\
         the same without matter of these: {:?}\nminimal script ({} steps):\n{}",
        failure.why,
        nature.join(" "),
        failure.options,
        case.plain,
        steps.len(),
        script.join("\n")
    );
}
