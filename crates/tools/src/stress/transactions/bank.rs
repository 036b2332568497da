//! Opening databases with transactions.

use std::path::Path;
use std::sync::Arc;

use rand::Rng;
use rand::seq::IndexedRandom;
use whitewater::fs::Fs;
use whitewater::{
    ColumnFamily, ColumnFamilyDescriptor, CommitProtocol, Error, Options, SingleThreaded,
    TransactionDB, TransactionDBOptions, WritePolicy,
};

use super::books::{self, Books, Unread};

/// A database with transactions that all threads share.
pub type Db = TransactionDB<SingleThreaded>;

/// The names of the two column families.
const FAMILIES: [&str; 2] = ["default", "other"];

/// The commit protocols that a policy goes with.
pub fn protocols(policy: WritePolicy) -> &'static [CommitProtocol] {
    const STRICT_LAST: [CommitProtocol; 4] = [
        CommitProtocol::Unordered,
        CommitProtocol::Ordered,
        CommitProtocol::Grouped,
        CommitProtocol::Pipelined,
    ];
    match policy {
        WritePolicy::WritePrepared => &STRICT_LAST,
        _ => &STRICT_LAST[1..],
    }
}

/// Options of a database. Small write buffers keep prepared transactions over many switches
/// of memtables and logs.
#[derive(Debug, Clone)]
pub struct BankOptions {
    protocol: CommitProtocol,
    policy: WritePolicy,
    /// Whether log records stay in the memory of the process.
    pub manual_wal_flush: bool,
    atomic_flush: bool,
    write_buffers: [usize; 2],
    buffers: i32,
    total_log: u64,
    triggers: i32,
    stripes: usize,
}

/// Which policies may open a database: they differ in what logs hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policies {
    /// `WRITE_COMMITTED`.
    Committed,
    /// `WRITE_PREPARED` and `WRITE_UNPREPARED`.
    Undecided,
}

impl Policies {
    /// Those of the database with this number.
    pub fn of(seed: u64, number: u64) -> Policies {
        let bits = seed
            .wrapping_add(number)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15);
        if bits >> 63 == 0 {
            Policies::Committed
        } else {
            Policies::Undecided
        }
    }
}

impl BankOptions {
    /// Draws options at random.
    pub fn draw(rng: &mut impl Rng, policies: Policies) -> BankOptions {
        let policy = match policies {
            Policies::Committed => WritePolicy::WriteCommitted,
            Policies::Undecided if rng.random_bool(0.2) => WritePolicy::WriteUnprepared,
            Policies::Undecided => WritePolicy::WritePrepared,
        };
        let sizes = [16 << 10, 64 << 10, 64 << 10, 1 << 20];
        let protocol = *protocols(policy).choose(rng).expect("some");
        let drawn = BankOptions {
            protocol,
            policy,
            manual_wal_flush: rng.random_bool(0.2),
            atomic_flush: rng.random_bool(0.25),
            write_buffers: std::array::from_fn(|_| *sizes.choose(rng).expect("some")),
            buffers: rng.random_range(2..6),
            total_log: *[0, 0, 64 << 10, 256 << 10].choose(rng).expect("some"),
            triggers: *[2, 4].choose(rng).expect("some"),
            stripes: *[1, 4, 16].choose(rng).expect("some"),
        };
        drawn.with(policy, protocol)
    }

    /// The same with a policy and a commit protocol, without what does not go with it.
    pub fn with(self, policy: WritePolicy, protocol: CommitProtocol) -> BankOptions {
        BankOptions {
            policy,
            protocol,
            atomic_flush: self.atomic_flush && protocol != CommitProtocol::Pipelined,
            ..self
        }
    }

    /// The policies that may open the same database.
    pub fn policies(&self) -> Policies {
        match self.policy {
            WritePolicy::WriteCommitted => Policies::Committed,
            _ => Policies::Undecided,
        }
    }

    fn options(&self, fs: Arc<dyn Fs>, family: usize) -> Options {
        let mut o = Options::default();
        o.create_if_missing(true);
        o.create_missing_column_families(true);
        o.set_fs(fs);
        o.set_commit_protocol(self.protocol);
        o.set_manual_wal_flush(self.manual_wal_flush);
        o.set_atomic_flush(self.atomic_flush);
        o.set_write_buffer_size(self.write_buffers[family]);
        o.set_max_write_buffer_number(self.buffers);
        o.set_max_total_wal_size(self.total_log);
        o.set_level_zero_file_num_compaction_trigger(self.triggers);
        o.set_target_file_size_base(64 << 10);
        o.set_merge_operator_associative("sum", books::add);
        o
    }

    /// Opens the database in `dir`, or creates it.
    ///
    /// # Errors
    /// Those of opening.
    pub fn open(&self, dir: &Path, fs: &Arc<dyn Fs>) -> Result<Db, Error> {
        let families = (0..2).map(|family| {
            let options = self.options(Arc::clone(fs), family);
            ColumnFamilyDescriptor::new(FAMILIES[family], options)
        });
        let mut shared = TransactionDBOptions::default();
        shared.set_write_policy(self.policy);
        shared.set_num_stripes(self.stripes);
        shared.set_default_lock_timeout(20);
        let options = self.options(Arc::clone(fs), 0);
        Db::open_cf_descriptors(&options, &shared, dir, families)
    }
}

/// The column family with this number.
pub fn family(db: &Db, number: usize) -> &ColumnFamily {
    let family = db.cf_handle(FAMILIES[number]);
    family.expect("the database was opened with both")
}

/// Reads and checks all that `db` holds, at a snapshot.
///
/// # Errors
/// It is wrong, or cannot be read.
pub fn audit(db: &Db) -> Result<Books, Unread> {
    let snapshot = db.snapshot();
    let start = whitewater::IteratorMode::Start;
    Books::read(|number| snapshot.iterator_cf(family(db, number), start))
}

/// The same, as text.
///
/// # Errors
/// The same.
pub fn audited(db: &Db) -> Result<Books, String> {
    audit(db).map_err(|e| match e {
        Unread::Reported(e) => format!("reading: {e}"),
        Unread::Wrong(what) => what,
    })
}
