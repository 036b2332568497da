//! Which record an operation asks for, by YCSB's definitions: `zipfian` draws hot records,
//! `acknowledged` counts those that are inserted meanwhile.
//!
//! YCSB's classes of the same names are the definitions: `ZipfianGenerator`,
//! `ScrambledZipfianGenerator`, `SkewedLatestGenerator`, `UniformLongGenerator` and
//! `AcknowledgedCounterGenerator`.

mod acknowledged;
mod zipfian;

pub use acknowledged::Acknowledged;
pub use zipfian::{SCRAMBLED_ITEMS, THETA, Zipfian, fnv_hash};

use whitewater_tools::bench::keygen::{Rng, below};

/// How the records that are asked for are distributed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distribution {
    /// A few records are hot; they are spread over all numbers.
    Zipfian,
    /// The records that were inserted last are hot.
    Latest,
    /// All records are equally likely.
    Uniform,
}

/// Chooses records that exist, for one thread.
#[derive(Clone, Debug)]
pub struct Chooser {
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    /// The number of records that hot ones are spread over: all that will exist at the end.
    Scrambled(Zipfian, u64),
    Latest(Zipfian),
    Uniform,
}

impl Chooser {
    /// A chooser over `records` records, to which about `inserts` will be added. Takes time that
    /// grows with the number of records for [`Distribution::Latest`]; clones are cheap.
    pub fn new(distribution: Distribution, records: u64, inserts: u64) -> Self {
        let kind = match distribution {
            // YCSB allows for twice as many new records as it expects.
            Distribution::Zipfian => Kind::Scrambled(Zipfian::scrambled(), records + 2 * inserts),
            Distribution::Latest => Kind::Latest(Zipfian::new(records, THETA)),
            Distribution::Uniform => Kind::Uniform,
        };
        Self { kind }
    }

    /// The number of a record, below `limit`, the number of records that exist now, which is at
    /// least 1.
    pub fn next(&mut self, rng: &mut Rng, limit: u64) -> u64 {
        match &mut self.kind {
            Kind::Scrambled(zipfian, all) => loop {
                let number = fnv_hash(zipfian.next(rng)) % *all;
                if number < limit {
                    return number;
                }
            },
            Kind::Latest(zipfian) => {
                zipfian.grow(limit);
                limit - 1 - zipfian.next(rng).min(limit - 1)
            }
            Kind::Uniform => below(rng, limit),
        }
    }
}

#[cfg(test)]
mod tests;
