//! The options of an opening.

use super::draw::{self, Draw, Nature, Now};
use super::model::FAMILIES;
use crate::harness::Db;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use whitewater::fs::mem::MemFs;
use whitewater::{ColumnFamilyDescriptor, Options};

/// A case without its script.
pub struct Case {
    pub seed: u64,
    pub nature: Nature,
    /// Names of options that keep their first value.
    pub plain: BTreeSet<String>,
}

/// One opening's options.
pub struct Opening {
    pub database: Options,
    pub families: BTreeMap<&'static str, Options>,
    pub prefixes: BTreeMap<&'static str, Option<usize>>,
    pub manual_wal_flush: bool,
    /// Families in which ranges can be deleted.
    pub deletes_ranges: BTreeSet<&'static str>,
    /// The drawn options, as text for people.
    pub text: String,
    /// Their names.
    pub names: BTreeSet<String>,
}

impl Case {
    pub fn new(seed: u64, plain: BTreeSet<String>) -> (Case, Vec<(&'static str, String)>) {
        let mut draw = Draw::new(seed, &plain);
        let nature = Nature::draw(&mut draw);
        let drawn = draw.drawn;
        let case = Case {
            seed,
            nature,
            plain,
        };
        (case, drawn)
    }

    pub fn opening(&self, variant: u64, fs: &MemFs, now: &Now) -> Opening {
        let mut text = String::new();
        let mut names = BTreeSet::new();
        let mut note = |who: &str, draw: Draw<'_>| {
            let drawn = draw.drawn.iter().map(|(n, v)| format!(" {n}={v}"));
            text.push_str(&format!("\n    {who}:{}", drawn.collect::<String>()));
            names.extend(draw.drawn.iter().map(|(n, _)| (*n).to_owned()));
        };
        let mut draw = Draw::new(variant, &self.plain);
        let mut base = Options::default();
        draw::database(&mut base, &mut draw, &self.nature, fs, now);
        if self.nature.wal_dir {
            base.set_wal_dir("/data/logs");
        }
        draw::paths(&mut base, &mut draw, &self.nature);
        let has = |draw: &Draw<'_>, name: &str, value: &str| {
            (draw.drawn.iter()).any(|(n, v)| *n == name && v == value)
        };
        let unordered = has(&draw, "commit_protocol", "Unordered");
        let manual_wal_flush = has(&draw, "manual_wal_flush", "true");
        note("database", draw);
        let (mut families, mut prefixes) = (BTreeMap::new(), BTreeMap::new());
        let mut deletes_ranges = BTreeSet::new();
        for (seed, name) in (variant.wrapping_add(1)..).zip(FAMILIES) {
            let mut draw = Draw::new(seed, &self.plain);
            let mut options = base.clone();
            prefixes.insert(name, draw::family(&mut options, &mut draw, &self.nature));
            draw::may_limit_merges(&mut options, &mut draw, unordered);
            families.insert(name, options);
            if draw::deletes_ranges(&draw, &self.nature) {
                deletes_ranges.insert(name);
            }
            note(name, draw);
        }
        Opening {
            database: base,
            families,
            prefixes,
            manual_wal_flush,
            deletes_ranges,
            text,
            names,
        }
    }
}

impl Opening {
    pub fn descriptors(&self, names: &[&'static str]) -> Vec<ColumnFamilyDescriptor> {
        let of = |name: &&str| ColumnFamilyDescriptor::new(*name, self.families[name].clone());
        names.iter().map(of).collect()
    }

    /// Opens the database, or a copy of it, with `options`. Values expire after the given number of
    /// seconds.
    pub fn open(
        &self,
        options: &Options,
        path: &str,
        names: &[&'static str],
        expiry: Option<u64>,
    ) -> Result<Db, whitewater::Error> {
        let descriptors = self.descriptors(names);
        match expiry {
            None => Db::open_cf_descriptors(options, path, descriptors),
            Some(ttl) => {
                let ttl = Duration::from_secs(ttl);
                Db::open_cf_descriptors_with_ttl(options, path, descriptors, ttl)
            }
        }
    }
}
