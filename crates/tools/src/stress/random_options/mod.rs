//! Random options, as text.
//!
//! * here: the options of one opening, and changes of options at run time;
//! * `choices`: the values that each option may take.
//!
//! The same seed gives the same options. A failing round prints its options.

mod choices;

use std::fmt;
use std::sync::Arc;

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use whitewater::fs::Fs;
use whitewater::{Cache, CommitProtocol, Error, MemtableFactory, Options, SstFileManager};

use super::key_model::{PERMANENT_FAMILIES, Shape, TRANSIENT_NAMES};
use choices::{DATABASE, FAMILY, RandomOption, SCALED_DOWN, TABLE};

use super::order::Order;

const PROTOCOLS: [CommitProtocol; 4] = [
    CommitProtocol::Ordered,
    CommitProtocol::Grouped,
    CommitProtocol::Pipelined,
    CommitProtocol::Unordered,
];

/// Rates of deletions; see [`RandomOptions`].
const DELETE_RATES: [Option<i64>; 5] = [None, None, Some(0), Some(1 << 20), Some(1 << 40)];

/// Target sizes of directories of tables, in bytes.
const PATH_SIZES: [u64; 4] = [0, 30_000, 100_000, 1_000_000];

/// Properties of plain tables. A hash index needs a prefix extractor, and keys of one length
/// have that of their order.
const PLAIN_TABLES: [&str; 3] = [
    "encoding_type=kPrefix;index_sparseness=4",
    "store_index_in_file=true;bloom_bits_per_key=8",
    FIXED,
];

/// Rules by which tables are marked for compaction because of their deletions: entries and
/// deletions in a window, a ratio of deletions, and a least size of tables.
const DELETION_TRIGGERS: [Option<(usize, usize, f64, u64)>; 4] = [
    None,
    None,
    Some((128, 20, 0.0, 0)),
    Some((256, 40, 0.4, 10_000)),
];

/// All keys have one length.
const FIXED: &str = "index_sparseness=1";

/// The options of a database and of its column families.
#[derive(Debug, Clone, PartialEq)]
pub struct RandomOptions {
    protocol: CommitProtocol,
    database: String,
    /// The size of the row cache in bytes; 0 is none.
    rows: usize,
    /// The options of column families with even numbers, and of those with odd ones.
    families: [FamilyOptions; 2],
    /// How fast obsolete files are deleted, in bytes per second; `None` is at once, without a
    /// manager of files.
    delete_rate: Option<i64>,
    /// The target sizes of the first directories of tables.
    pub path_sizes: [u64; 2],
}

/// The options of a column family.
#[derive(Debug, Clone, PartialEq)]
struct FamilyOptions {
    memtable: &'static str,
    /// The prefix extractor, for key orders that support one.
    prefix: &'static str,
    text: String,
    /// The size of the block cache in bytes.
    cache: usize,
    /// The properties of plain tables, if tables are plain.
    plain: Option<&'static str>,
    /// One of the [`DELETION_TRIGGERS`].
    deletions: Option<(usize, usize, f64, u64)>,
}

impl RandomOptions {
    /// The options of `seed`.
    pub fn new(seed: u64) -> RandomOptions {
        let mut rng = StdRng::seed_from_u64(seed);
        let protocol = *PROTOCOLS.choose(&mut rng).expect("there are some");
        let mut database = pick(&mut rng, &DATABASE);
        database.retain(|(name, _)| goes_with(protocol, name));
        let mut drawn = RandomOptions {
            protocol,
            database: text(&database),
            rows: *[0, 0, 20_000, 4 << 20].choose(&mut rng).expect("some"),
            families: std::array::from_fn(|_| FamilyOptions::new(protocol, &mut rng)),
            delete_rate: *DELETE_RATES.choose(&mut rng).expect("there are some"),
            path_sizes: std::array::from_fn(|_| *PATH_SIZES.choose(&mut rng).expect("some")),
        };
        for family in &mut drawn.families {
            let plain = PLAIN_TABLES.choose(&mut rng).copied();
            family.plain = plain.filter(|_| rng.random_bool(0.25));
        }
        for family in &mut drawn.families {
            family.deletions = *DELETION_TRIGGERS.choose(&mut rng).expect("there are some");
        }
        drawn
    }

    /// The same with block-based tables, which alone have checksums.
    #[must_use]
    pub fn with_checksums(mut self) -> RandomOptions {
        self.families.iter_mut().for_each(|f| f.plain = None);
        self
    }

    /// Whether range deletions can be written to the column family `number`. Plain tables have
    /// none.
    pub fn deletes_ranges(&self, number: u32) -> bool {
        let family = &self.families[number as usize % self.families.len()];
        family.plain.is_none()
    }

    /// Builds the options of the column family `number`, and of the database, which is in
    /// `fs`.
    ///
    /// # Errors
    /// The engine does not accept the text of the options.
    pub fn build(&self, fs: Arc<dyn Fs>, shape: Shape, number: u32) -> Result<Options, Error> {
        let family = &self.families[number as usize % self.families.len()];
        let mut o = family.options(&self.database, shape.order(number))?;
        o.create_if_missing(true);
        o.create_missing_column_families(true);
        o.set_fs(fs);
        if self.rows > 0 {
            o.set_row_cache(&Cache::new_lru_cache(self.rows));
        }
        o.set_commit_protocol(self.protocol);
        if let Some(rate) = self.delete_rate {
            // Whole files, because secondary instances read them.
            o.set_sst_file_manager(&SstFileManager::with_deletion(rate, 0.5, 0));
        }
        Ok(o)
    }

    /// Whether snapshots never change, which holds for every protocol except unordered
    /// commit.
    pub fn is_strict(&self) -> bool {
        self.protocol != CommitProtocol::Unordered
    }

    /// Whether all column families are flushed together.
    pub fn is_atomic(&self) -> bool {
        self.database.contains("atomic_flush=true")
    }

    /// Whether the database resumes by itself however often that fails.
    pub fn resumes(&self) -> bool {
        !self.database.contains("max_bgerror_resume_count=")
    }

    /// An option of a column family and a value to change it to at run time.
    pub fn family_change(&self, order: Order, rng: &mut impl Rng) -> (&'static str, String) {
        let goes = |option: &&RandomOption| {
            !order.is_stamped() || option.name != "max_successive_merges" // refused with timestamps
        };
        let family = self.changed(&FAMILY).filter(goes);
        let family = family.map(|option| (option, false));
        let table = self.changed(&TABLE).map(|option| (option, true));
        let all: Vec<_> = family.chain(table).collect();
        let (option, is_of_tables) = *all.choose(rng).expect("some options can change");
        let value = option.draw_change(rng);
        if is_of_tables {
            let value = format!("{{{}={value}}}", option.name);
            ("block_based_table_factory", value)
        } else {
            (option.name, value)
        }
    }

    /// An option of the database and a value to change it to at run time.
    pub fn database_change(&self, rng: &mut impl Rng) -> (&'static str, String) {
        let all: Vec<_> = self.changed(&DATABASE).collect();
        let option = *all.choose(rng).expect("some options can change");
        (option.name, option.draw_change(rng))
    }

    /// The options among `options` that are changed at run time.
    fn changed<'o>(
        &self,
        options: &'o [RandomOption],
    ) -> impl Iterator<Item = &'o RandomOption> + use<'o> {
        let protocol = self.protocol;
        let changed =
            move |option: &&RandomOption| option.is_changed() && goes_with(protocol, option.name);
        options.iter().filter(changed)
    }

    /// Whether a misdirected write to a table is detected: tables record the places of
    /// their blocks from format version 6 on.
    pub fn places_blocks(&self) -> bool {
        let knows = |family: &FamilyOptions| {
            let version = family.text.split_once("format_version=");
            version.is_some_and(|(_, version)| version.starts_with(['6', '7']))
        };
        self.families.iter().all(knows)
    }
}

impl FamilyOptions {
    fn new(protocol: CommitProtocol, rng: &mut StdRng) -> FamilyOptions {
        let memtables = [
            "art",
            "skip_list",
            "vector",
            "prefix_hash",
            "hash_linkedlist",
        ];
        let memtable = *memtables.choose(rng).expect("there are some");
        let mut family = pick(rng, &FAMILY);
        family.retain(|(name, _)| goes_with(protocol, name));
        let mut table = pick(rng, &TABLE);
        let cache = *[8 << 20, 20_000, 0].choose(rng).expect("some");
        if cache == 0 {
            table.retain(|(name, _)| !name.contains("filter_blocks"));
        }
        let needs_prefix = memtable.contains("hash");
        let prefix = match rng.random_range(0..3) {
            0 if !needs_prefix => "",
            0 | 1 => "fixed:6",
            _ => "capped:7",
        };
        let (family, table) = (text(&family), text(&table));
        FamilyOptions {
            memtable,
            prefix,
            text: format!("{family};block_based_table_factory={{{table}}}"),
            cache,
            plain: None,
            deletions: None,
        }
    }

    /// The format of tables as text, for keys of this order. With a prefix extractor there is a
    /// hash index.
    fn format(&self, order: Order, has_prefix: bool) -> String {
        let Some(plain) = self.plain else {
            return String::new();
        };
        let ratio = if has_prefix { 0.75 } else { 0.0 };
        let len = if plain == FIXED {
            order.stored_len()
        } else {
            0
        };
        let id = format!("id=PlainTable;hash_table_ratio={ratio};user_key_len={len}");
        format!("table_factory={{{id};{plain}}}")
    }

    /// Builds the options of a column family with this key order, together with those of
    /// the `database`.
    fn options(&self, database: &str, order: Order) -> Result<Options, Error> {
        let mut base = Options::default();
        let mut table = whitewater::BlockBasedOptions::default();
        match self.cache {
            0 => table.disable_cache(),
            bytes => table.set_block_cache(&Cache::new_lru_cache(bytes)),
        }
        base.set_block_based_table_factory(&table);
        let prefix = if order.keeps_prefixes() && !self.prefix.is_empty() {
            format!("prefix_extractor={}", self.prefix)
        } else {
            String::new()
        };
        let (small, text) = (text(SCALED_DOWN), &self.text);
        let format = self.format(order, !prefix.is_empty());
        let all = format!("{small};{database};{text};{prefix};{format}");
        let mut o = base.get_options_from_string(all)?;
        order.set(&mut o);
        if order.is_stamped() {
            o.set_max_successive_merges(0); // refused with timestamps
        }
        o.set_memtable_factory(match self.memtable {
            "vector" => MemtableFactory::Vector,
            "prefix_hash" if order.keeps_prefixes() => MemtableFactory::HashSkipList {
                bucket_count: 100,
                height: 4,
                branching_factor: 4,
            },
            "hash_linkedlist" if order.keeps_prefixes() => {
                MemtableFactory::HashLinkList { bucket_count: 100 }
            }
            "art" if order.keeps_prefixes() => MemtableFactory::Art,
            _ => MemtableFactory::SkipList,
        });
        if let Some((window, deletions, ratio, size)) = self.deletions {
            o.add_compact_on_deletion_collector_factory_min_file_size(
                window, deletions, ratio, size,
            );
        }
        o.set_merge_operator_associative("stress.last", |_, existing, operands| {
            let last = operands.iter().last().or(existing);
            last.map(<[u8]>::to_vec)
        });
        Ok(o)
    }
}

impl fmt::Display for FamilyOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FamilyOptions {
            memtable,
            prefix,
            text,
            cache,
            plain,
            deletions,
        } = self;
        write!(f, "{memtable}, prefix {prefix:?}, cache {cache}; {text}")?;
        if let Some(plain) = plain {
            write!(f, "; plain tables: {plain}")?;
        }
        match deletions {
            Some(deletions) => write!(f, "; compacted for deletions {deletions:?}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for RandomOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self.rows;
        write!(
            f,
            "{:?}, row cache {rows}; {}",
            self.protocol, self.database
        )?;
        if let Some(rate) = self.delete_rate {
            write!(f, "; deletes {rate} bytes/s")?;
        }
        write!(f, "; sizes of paths {:?}", self.path_sizes)?;
        self.families
            .iter()
            .try_for_each(|family| write!(f, "\n  {family}"))
    }
}

/// Random dimensions of a database with `threads` writing threads.
pub fn shape(seed: u64, threads: u32) -> Shape {
    let mut rng = StdRng::seed_from_u64(seed ^ 0x5a5a);
    let order = |rng: &mut StdRng| {
        if rng.random_bool(0.4) {
            Order::Bytewise
        } else {
            *Order::ALL.choose(rng).expect("there are some")
        }
    };
    Shape {
        families: rng.random_range(1..=PERMANENT_FAMILIES),
        transient: rng.random_range(0..=TRANSIENT_NAMES),
        orders: std::array::from_fn(|_| order(&mut rng)),
        keys: *[200, 1000, 4000].choose(&mut rng).expect("some"),
        threads,
        max_value: *[200, 2000, 40_000].choose(&mut rng).expect("some"),
        paths: *[0, 0, 0, 1, 2, 3].choose(&mut rng).expect("some"),
        family_paths: *[0, 0, 0, 0, 1, 2].choose(&mut rng).expect("some"),
    }
}

/// Whether the option `name` may differ from its default with `protocol`. RocksDB refuses
/// the same combinations.
fn goes_with(protocol: CommitProtocol, name: &str) -> bool {
    match name {
        "atomic_flush" => protocol != CommitProtocol::Pipelined,
        "max_successive_merges" => protocol != CommitProtocol::Unordered,
        _ => true,
    }
}

/// Values that are not the default, for some of `options`.
fn pick(rng: &mut StdRng, options: &[RandomOption]) -> Vec<(&'static str, String)> {
    options
        .iter()
        .filter_map(|option| option.draw(rng))
        .collect()
}

/// `options` as the text that sets them.
fn text<V: fmt::Display>(options: &[(&str, V)]) -> String {
    let parts = options
        .iter()
        .map(|(name, value)| format!("{name}={value}"));
    parts.collect::<Vec<_>>().join(";")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stress::store;
    use std::path::Path;
    use whitewater::fs::mem::MemFs;

    #[test]
    fn whatever_is_drawn_opens() {
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..300 {
            let (options, shape) = (RandomOptions::new(seed), shape(seed, 1));
            assert_eq!(options, RandomOptions::new(seed));
            let memtables = options.families.iter().map(|f| f.memtable);
            seen.extend(memtables.map(|m| (format!("{:?}", options.protocol), m)));
            store::open(Path::new("/db"), Arc::new(MemFs::new()), &options, shape)
                .unwrap_or_else(|e| panic!("{options}: {e}"));
        }
        assert_eq!(seen.len(), 20);
    }
}
