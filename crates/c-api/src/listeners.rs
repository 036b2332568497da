//! Listeners, whose functions are in C, and what they are told.

use crate::border::{ErrPtr, Nothing, Out, exports, lent};
use crate::callbacks::{Destructor, Owned, State};
use crate::db::{Slot, rocksdb_t};
use crate::options::rocksdb_options_t;
use libc::c_char;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use whitewater::Error;
use whitewater::listener::{
    BackgroundErrorInfo, BackgroundErrorReason, CompactionJobInfo, EventListener,
    ExternalFileIngestionInfo, FlushJobInfo, MemTableInfo, SubcompactionJobInfo,
    WriteStallCondition, WriteStallInfo,
};

pub struct rocksdb_flushjobinfo_t(FlushJobInfo);
pub struct rocksdb_compactionjobinfo_t(CompactionJobInfo);
pub struct rocksdb_subcompactionjobinfo_t(SubcompactionJobInfo);
pub struct rocksdb_externalfileingestioninfo_t(ExternalFileIngestionInfo);
pub struct rocksdb_memtableinfo_t(MemTableInfo);

/// A change in how writers are held back.
pub struct rocksdb_writestallinfo_t {
    cf_name: String,
    cur: rocksdb_writestallcondition_t,
    prev: rocksdb_writestallcondition_t,
}

/// RocksDB's number of a condition.
#[repr(C)]
pub struct rocksdb_writestallcondition_t(i32);

/// The error of background work.
pub struct rocksdb_status_ptr_t {
    error: Error,
    /// Whether the listener wants the database to go on.
    is_reset: bool,
}

type OfDb<I> = Option<extern "C" fn(State, &rocksdb_t, &I)>;
type Of<I> = Option<extern "C" fn(State, &I)>;
type Failed = Option<extern "C" fn(State, u32, &mut rocksdb_status_ptr_t)>;

type OnFlush = OfDb<rocksdb_flushjobinfo_t>;
type OnCompaction = OfDb<rocksdb_compactionjobinfo_t>;
type OnSubcompaction = Of<rocksdb_subcompactionjobinfo_t>;
type OnIngested = OfDb<rocksdb_externalfileingestioninfo_t>;
type OnStall = Of<rocksdb_writestallinfo_t>;
type OnSealed = Of<rocksdb_memtableinfo_t>;

struct ListenerFns {
    owned: Owned,
    flush_begin: OnFlush,
    flush_completed: OnFlush,
    compaction_begin: OnCompaction,
    compaction_completed: OnCompaction,
    subcompaction_begin: OnSubcompaction,
    subcompaction_completed: OnSubcompaction,
    ingested: OnIngested,
    failed: Failed,
    stall: OnStall,
    sealed: OnSealed,
}

/// A listener, which the options take over.
#[derive(Clone)]
pub struct rocksdb_eventlistener_t(Arc<ListenerFns>);

/// A listener of one database.
struct Bound {
    fns: Arc<ListenerFns>,
    db: rocksdb_t,
}

impl rocksdb_eventlistener_t {
    /// The listener for the database that `slot` is going to have.
    pub(crate) fn bound(&self, slot: &Arc<Slot>) -> Arc<dyn EventListener> {
        let (fns, slot) = (self.0.clone(), slot.clone());
        let db = rocksdb_t { slot };
        Arc::new(Bound { fns, db })
    }
}

impl Bound {
    fn tell_with_db<I>(&self, call: OfDb<I>, info: I) {
        if let Some(call) = call {
            call(self.fns.owned.state(), &self.db, &info);
        }
    }

    /// Tells of a failure; returns whether its status was reset.
    fn tell_failure(&self, info: &BackgroundErrorInfo) -> bool {
        let Some(failed) = self.fns.failed else {
            return false;
        };
        let mut status = rocksdb_status_ptr_t {
            error: info.error.clone(),
            is_reset: false,
        };
        failed(self.fns.owned.state(), reason(info.reason), &mut status);
        status.is_reset
    }

    fn tell<I>(&self, call: Of<I>, info: I) {
        if let Some(call) = call {
            call(self.fns.owned.state(), &info);
        }
    }
}

impl EventListener for Bound {
    fn on_flush_begin(&self, info: &FlushJobInfo) {
        self.tell_with_db(self.fns.flush_begin, rocksdb_flushjobinfo_t(info.clone()));
    }
    fn on_flush_completed(&self, info: &FlushJobInfo) {
        self.tell_with_db(
            self.fns.flush_completed,
            rocksdb_flushjobinfo_t(info.clone()),
        );
    }
    fn on_compaction_begin(&self, info: &CompactionJobInfo) {
        let told = rocksdb_compactionjobinfo_t(info.clone());
        self.tell_with_db(self.fns.compaction_begin, told);
    }
    fn on_compaction_completed(&self, info: &CompactionJobInfo) {
        let told = rocksdb_compactionjobinfo_t(info.clone());
        self.tell_with_db(self.fns.compaction_completed, told);
    }
    fn on_subcompaction_begin(&self, info: &SubcompactionJobInfo) {
        let told = rocksdb_subcompactionjobinfo_t(info.clone());
        self.tell(self.fns.subcompaction_begin, told);
    }
    fn on_subcompaction_completed(&self, info: &SubcompactionJobInfo) {
        let told = rocksdb_subcompactionjobinfo_t(info.clone());
        self.tell(self.fns.subcompaction_completed, told);
    }
    fn on_external_file_ingested(&self, info: &ExternalFileIngestionInfo) {
        let told = rocksdb_externalfileingestioninfo_t(info.clone());
        self.tell_with_db(self.fns.ingested, told);
    }
    fn on_background_error(&self, info: &BackgroundErrorInfo) {
        if !info.asked {
            self.tell_failure(info);
        }
    }
    fn overrules_background_error(&self, info: &BackgroundErrorInfo) -> bool {
        self.tell_failure(info)
    }
    fn on_stall_conditions_changed(&self, info: &WriteStallInfo) {
        let told = rocksdb_writestallinfo_t {
            cf_name: info.cf_name.clone(),
            cur: condition(info.cur),
            prev: condition(info.prev),
        };
        self.tell(self.fns.stall, told);
    }
    fn on_memtable_sealed(&self, info: &MemTableInfo) {
        self.tell(self.fns.sealed, rocksdb_memtableinfo_t(info.clone()));
    }
}

/// RocksDB's `BackgroundErrorReason`.
fn reason(reason: BackgroundErrorReason) -> u32 {
    match reason {
        BackgroundErrorReason::Flush => 0,
        BackgroundErrorReason::Compaction => 1,
        BackgroundErrorReason::WriteCallback => 2,
        BackgroundErrorReason::ManifestWrite => 5,
        _ => 3, // kMemTable, which RocksDB has for what is left
    }
}

/// RocksDB's `WriteStallCondition`.
fn condition(condition: WriteStallCondition) -> rocksdb_writestallcondition_t {
    rocksdb_writestallcondition_t(match condition {
        WriteStallCondition::Delayed => 0,
        WriteStallCondition::Stopped => 1,
        _ => 2,
    })
}

/// RocksDB's `CompactionReason`, by number.
const COMPACTION_REASONS: [&str; 21] = [
    "Unknown",
    "LevelL0FilesNum",
    "LevelMaxLevelSize",
    "UniversalSizeAmplification",
    "UniversalSizeRatio",
    "UniversalSortedRunNum",
    "FIFOMaxSize",
    "FIFOReduceNumFiles",
    "FIFOTtl",
    "ManualCompaction",
    "FilesMarkedForCompaction",
    "BottommostFiles",
    "Ttl",
    "Flush",
    "ExternalSstIngestion",
    "PeriodicCompaction",
    "ChangeTemperature",
    "ForcedBlobGC",
    "RoundRobinTtl",
    "RefitLevel",
    "ReadTriggered",
];

fn compaction_reason(text: &str) -> u32 {
    let at = COMPACTION_REASONS.iter().position(|name| *name == text);
    at.map_or(0, |at| at as u32)
}

fn level(level: usize) -> i32 {
    i32::try_from(level).unwrap_or(i32::MAX)
}

/// The smallest number in the table of a flush; as in RocksDB, the largest that there is without a
/// table.
fn smallest_number(info: &FlushJobInfo) -> u64 {
    const MOST: u64 = (1 << 56) - 1;
    info.file_path
        .as_ref()
        .map_or(MOST, |_| info.smallest_seqno)
}

fn path_bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}

fn file_at(files: &[PathBuf], at: usize) -> Option<&[u8]> {
    files.get(at).map(|path| path_bytes(path))
}

fn save(result: &Result<(), Error>, errptr: ErrPtr) {
    if let Err(e) = result {
        errptr.save(e);
    }
}

/// Declares functions that return a part of what a listener is told.
macro_rules! parts {
    ($($name:ident($info:ident: $ty:ty) -> $result:ty = $value:expr;)*) => {
        exports! {$(
            fn $name(info: Option<&$ty>) -> $result {
                info.map_or_else(Nothing::nothing, |$info| $value)
            }
        )*}
    };
}

/// The same for texts, which last as long as what is told.
macro_rules! texts {
    ($($name:ident($info:ident: $ty:ty) = $value:expr;)*) => {
        exports! {$(
            fn $name(info: Option<&$ty>, len: Out<usize>) -> *const c_char {
                lent(info.and_then(|$info| $value), len)
            }
        )*}
    };
}

texts! {
    rocksdb_flushjobinfo_cf_name(i: rocksdb_flushjobinfo_t) = Some(i.0.cf_name.as_bytes());
    rocksdb_flushjobinfo_file_path(i: rocksdb_flushjobinfo_t) =
        i.0.file_path.as_deref().map(path_bytes);
    rocksdb_compactionjobinfo_cf_name(i: rocksdb_compactionjobinfo_t) =
        Some(i.0.cf_name.as_bytes());
    rocksdb_subcompactionjobinfo_cf_name(i: rocksdb_subcompactionjobinfo_t) =
        Some(i.0.cf_name.as_bytes());
    rocksdb_externalfileingestioninfo_cf_name(i: rocksdb_externalfileingestioninfo_t) =
        Some(i.0.cf_name.as_bytes());
    rocksdb_externalfileingestioninfo_internal_file_path(
        i: rocksdb_externalfileingestioninfo_t
    ) = Some(path_bytes(&i.0.internal_file_path));
    rocksdb_memtableinfo_cf_name(i: rocksdb_memtableinfo_t) = Some(i.0.cf_name.as_bytes());
    rocksdb_writestallinfo_cf_name(i: rocksdb_writestallinfo_t) = Some(i.cf_name.as_bytes());
}

parts! {
    rocksdb_flushjobinfo_flush_reason(i: rocksdb_flushjobinfo_t) -> u32 = i.0.flush_reason as u32;
    rocksdb_flushjobinfo_largest_seqno(i: rocksdb_flushjobinfo_t) -> u64 = i.0.largest_seqno;
    rocksdb_flushjobinfo_smallest_seqno(i: rocksdb_flushjobinfo_t) -> u64 = smallest_number(&i.0);
    rocksdb_flushjobinfo_triggered_writes_slowdown(i: rocksdb_flushjobinfo_t) -> u8 =
        i.0.triggered_writes_slowdown.into();
    rocksdb_flushjobinfo_triggered_writes_stop(i: rocksdb_flushjobinfo_t) -> u8 =
        i.0.triggered_writes_stop.into();
    rocksdb_compactionjobinfo_base_input_level(i: rocksdb_compactionjobinfo_t) -> i32 =
        level(i.0.base_input_level);
    rocksdb_compactionjobinfo_output_level(i: rocksdb_compactionjobinfo_t) -> i32 =
        level(i.0.output_level);
    rocksdb_compactionjobinfo_compaction_reason(i: rocksdb_compactionjobinfo_t) -> u32 =
        compaction_reason(i.0.compaction_reason);
    rocksdb_compactionjobinfo_elapsed_micros(i: rocksdb_compactionjobinfo_t) -> u64 =
        i.0.stats.elapsed_micros;
    rocksdb_compactionjobinfo_input_files_count(i: rocksdb_compactionjobinfo_t) -> usize =
        i.0.input_files.len();
    rocksdb_compactionjobinfo_num_input_files(i: rocksdb_compactionjobinfo_t) -> usize =
        i.0.input_files.len();
    rocksdb_compactionjobinfo_num_input_files_at_output_level(
        i: rocksdb_compactionjobinfo_t
    ) -> usize = i.0.num_input_files_at_output_level;
    rocksdb_compactionjobinfo_output_files_count(i: rocksdb_compactionjobinfo_t) -> usize =
        i.0.output_files.len();
    rocksdb_compactionjobinfo_input_records(i: rocksdb_compactionjobinfo_t) -> u64 =
        i.0.stats.num_input_records;
    rocksdb_compactionjobinfo_output_records(i: rocksdb_compactionjobinfo_t) -> u64 =
        i.0.stats.num_output_records;
    rocksdb_compactionjobinfo_total_input_bytes(i: rocksdb_compactionjobinfo_t) -> u64 =
        i.0.stats.total_input_bytes;
    rocksdb_compactionjobinfo_total_output_bytes(i: rocksdb_compactionjobinfo_t) -> u64 =
        i.0.stats.total_output_bytes;
    rocksdb_subcompactionjobinfo_base_input_level(i: rocksdb_subcompactionjobinfo_t) -> i32 =
        level(i.0.base_input_level);
    rocksdb_subcompactionjobinfo_output_level(i: rocksdb_subcompactionjobinfo_t) -> i32 =
        level(i.0.output_level);
    rocksdb_subcompactionjobinfo_compaction_reason(i: rocksdb_subcompactionjobinfo_t) -> u32 =
        compaction_reason(i.0.compaction_reason);
    rocksdb_subcompactionjobinfo_thread_id(i: rocksdb_subcompactionjobinfo_t) -> u64 =
        i.0.thread_id;
    rocksdb_memtableinfo_first_seqno(i: rocksdb_memtableinfo_t) -> u64 = i.0.first_seqno;
    rocksdb_memtableinfo_earliest_seqno(i: rocksdb_memtableinfo_t) -> u64 = i.0.earliest_seqno;
    rocksdb_memtableinfo_num_entries(i: rocksdb_memtableinfo_t) -> u64 = i.0.num_entries;
    rocksdb_memtableinfo_num_deletes(i: rocksdb_memtableinfo_t) -> u64 = i.0.num_deletes;
}

exports! {
    fn rocksdb_eventlistener_create(
        state: State, destructor: Destructor, flush_begin: OnFlush, flush_completed: OnFlush,
        compaction_begin: OnCompaction, compaction_completed: OnCompaction,
        subcompaction_begin: OnSubcompaction, subcompaction_completed: OnSubcompaction,
        ingested: OnIngested, failed: Failed, stall: OnStall, sealed: OnSealed,
    ) -> Option<Box<rocksdb_eventlistener_t>> {
        Some(Box::new(rocksdb_eventlistener_t(Arc::new(ListenerFns {
            owned: Owned::new(state, destructor),
            flush_begin,
            flush_completed,
            compaction_begin,
            compaction_completed,
            subcompaction_begin,
            subcompaction_completed,
            ingested,
            failed,
            stall,
            sealed,
        }))))
    }
    fn rocksdb_eventlistener_destroy(_listener: Option<Box<rocksdb_eventlistener_t>>) {}
    fn rocksdb_options_add_eventlistener(
        options: Option<&mut rocksdb_options_t>, listener: Option<Box<rocksdb_eventlistener_t>>,
    ) {
        if let Some((options, listener)) = options.zip(listener) {
            options.add_listener(*listener);
        }
    }
    // A compaction that meets a corrupt key fails.
    fn rocksdb_compactionjobinfo_num_corrupt_keys(
        _info: Option<&rocksdb_compactionjobinfo_t>,
    ) -> u64 {
        0
    }
    fn rocksdb_compactionjobinfo_status(
        info: Option<&rocksdb_compactionjobinfo_t>, errptr: ErrPtr,
    ) {
        if let Some(info) = info {
            save(&info.0.status, errptr);
        }
    }
    fn rocksdb_compactionjobinfo_input_file_at(
        info: Option<&rocksdb_compactionjobinfo_t>, at: usize, len: Out<usize>,
    ) -> *const c_char {
        lent(info.and_then(|info| file_at(&info.0.input_files, at)), len)
    }
    fn rocksdb_compactionjobinfo_output_file_at(
        info: Option<&rocksdb_compactionjobinfo_t>, at: usize, len: Out<usize>,
    ) -> *const c_char {
        lent(info.and_then(|info| file_at(&info.0.output_files, at)), len)
    }
    fn rocksdb_subcompactionjobinfo_status(
        info: Option<&rocksdb_subcompactionjobinfo_t>, errptr: ErrPtr,
    ) {
        if let Some(info) = info {
            save(&info.0.status, errptr);
        }
    }
    fn rocksdb_status_ptr_get_error(status: Option<&rocksdb_status_ptr_t>, errptr: ErrPtr) {
        if let Some(status) = status.filter(|status| !status.is_reset) {
            errptr.save(&status.error);
        }
    }
    // Failures of which listeners are told afterwards stay what they are; crates/c/README.md.
    fn rocksdb_reset_status(status: Option<&mut rocksdb_status_ptr_t>) {
        if let Some(status) = status {
            status.is_reset = true;
        }
    }
    fn rocksdb_writestallinfo_cur(
        info: Option<&rocksdb_writestallinfo_t>,
    ) -> Option<&rocksdb_writestallcondition_t> {
        info.map(|info| &info.cur)
    }
    fn rocksdb_writestallinfo_prev(
        info: Option<&rocksdb_writestallinfo_t>,
    ) -> Option<&rocksdb_writestallcondition_t> {
        info.map(|info| &info.prev)
    }
}
