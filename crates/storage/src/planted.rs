//! Deliberate bugs, to show that the tests can fail.
//!
//! A check that never fails proves nothing. So the engine contains deliberate bugs, which are off
//! by default: each removes or changes one step that a promise depends on. With the cargo feature
//! `planted-bugs`, which only the crates' own tests enable, the environment variable
//! `WHITEWATER_BUG` names the bug that a process has; `crates/whitewater/tests/it/planted.rs` runs
//! the tests that must find it. Without the feature, [`planted`](fn@planted) is a constant `false`,
//! and a build contains none of this.
//!
//! The macro [`planted!`](crate::planted!) plants a bug in a line of its own. A bug between the
//! engine and its files, such as a sync that is skipped, has no line in the engine:
//! `crates/whitewater/tests/it/harness/seam.rs` wraps the file system of a test with it.
//!
//! Not here: orderings and fences of the lock-free structures, which `scripts/weaken-models`
//! weakens under a model checker.

macro_rules! bugs {
    ($($variant:ident $name:literal $what:literal)*) => {
        /// A deliberate bug.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Bug {
            $(#[doc = $what] $variant,)*
        }

        impl Bug {
            /// All bugs, by their part of the engine.
            pub const ALL: &'static [Bug] = &[$(Bug::$variant),*];

            /// Its name in `WHITEWATER_BUG`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Bug::$variant => $name,)* }
            }

            /// A sentence that says what is wrong.
            #[must_use]
            pub const fn what(self) -> &'static str {
                match self { $(Bug::$variant => $what,)* }
            }
        }
    };
}

bugs! {
    // Writes.
    AckBeforeLog "ack_before_log"
        "A write is acknowledged while its log record is only in the process."
    SyncSkipped "sync_skipped"
        "A write with `sync` is acknowledged without a sync of the log."
    OlderLogsNotSynced "older_logs_not_synced"
        "A write with `sync` syncs the current log and none of those before it."
    LogNameNotSynced "log_name_not_synced"
        "The directory of the logs is not synced, so a new log may have no name."
    PublishByMaximum "publish_by_maximum"
        "A finished write makes everything up to it visible, finished or not."
    WalLockKeepsGenerationOpen "wal_lock_keeps_generation_open"
        "A locked log takes the writes that were past admission, which go on beside its copy."
    BatchWithoutEnd "batch_without_end"
        "With `WRITE_PREPARED`, a batch in the log does not end with a noop."
    RangeNotEntered "range_not_entered"
        "The numbers of a section that its prepare inserts are not undecided when they are visible."
    DecidedEarly "decided_early"
        "A section that its prepare has inserted counts before its commit is acknowledged."
    CommitTimeBatchEarly "commit_time_batch_early"
        "The operations of a commit count before the section that its prepare has inserted does."
    DecidedInTwoSteps "decided_in_two_steps"
        "A section that its prepare has inserted counts before what its rollback restores does."
    SectionNumberedByEntry "section_numbered_by_entry"
        "The operations of a section that its prepare inserts take more numbers than it has."
    UndoForgotten "undo_forgotten"
        "A rollback restores nothing of what the prepare has inserted."
    UnorderedNotEntered "unordered_not_entered"
        "The numbers of an unordered write are not undecided while it inserts."
    UnorderedDecidedEarly "unordered_decided_early"
        "An unordered write decides its numbers before it inserts."
    UnorderedDecidesAll "unordered_decides_all"
        "An unordered write decides the numbers of others, too."
    UnorderedNotDecided "unordered_not_decided"
        "An unordered write is acknowledged while its numbers are undecided."
    BatchPublishedInHalves "batch_published_in_halves"
        "The first entry of a batch becomes visible before the others."
    FamilyLeftOut "family_left_out"
        "Of a batch, only what is for the default column family is inserted."
    LogFailureIgnored "log_failure_ignored"
        "A write whose log record could not be written goes on as if it had been."
    FailureNotReported "failure_not_reported"
        "A failed write stops those behind it, but not the database."
    SyncFailureIgnored "sync_failure_ignored"
        "A failed sync of the log counts as done."
    DirectoryFailureForgotten "directory_failure_forgotten"
        "A directory is synced again after a sync of it has failed."
    UnloggedJoinsLogged "unlogged_joins_logged"
        "A group has writes with and without a log, and is not logged."
    FollowerErrorSwallowed "follower_error_swallowed"
        "A group is published and acknowledged although its inserts failed."
    InOrderIgnored "in_order_ignored"
        "A merge that is folded in the memtable does not wait for writes before it."
    FlushDoesNotWait "flush_does_not_wait"
        "A flush does not wait for writers who have a place in its memtables."
    PendingInsertsMissed "pending_inserts_missed"
        "With unordered commit, a flush does not wait for inserts under way."
    FlushWalDoesNothing "flush_wal_does_nothing"
        "`flush_wal(false)` leaves the records of manual flushing where they are."
    EmptyLogKept "empty_log_kept"
        "A switch keeps a log that got records after it was found empty."

    // The log and recovery.
    LogChecksumUnchecked "log_checksum_unchecked"
        "Records of a log are read whatever their checksum is."
    StaleRecordAccepted "stale_record_accepted"
        "Records of a recycled log's previous life are read as its own."
    DamageReadPast "damage_read_past"
        "Point-in-time recovery goes on behind damage in a log."
    LinkIgnored "link_ignored"
        "Recovery does not notice that the log before ends too early."
    TornTailForgotten "torn_tail_forgotten"
        "Recovery goes on with the next log after a torn tail."
    ReplayNotSkipped "replay_not_skipped"
        "Recovery replays what a column family has flushed already."
    LogNumberNotRecorded "log_number_not_recorded"
        "A flush does not record which logs it made needless."
    SectionLogLetGo "section_log_let_go"
        "The log of a section that was inserted early goes before its decision is durable."
    SectionsInsertedAgain "sections_inserted_again"
        "A resumption leaves sections that were inserted early where recovery inserts them again."
    RecoveredNotHidden "recovered_not_hidden"
        "What an opening finds prepared and has inserted is not undecided before the first read."
    RecoveredRangeCutShort "recovered_range_cut_short"
        "Of a section that an opening finds, only the first number is undecided."
    RecoveryFlushDropsHidden "recovery_flush_drops_hidden"
        "A flush of an opening drops what a section hides that is not decided."
    SectionsLogNotKept "sections_log_not_kept"
        "An opening does not keep the log in which it has logged sections again."
    DecisionCutOff "decision_cut_off"
        "Recovery cuts a log before a decision that tables go by."
    PurgedLogsLetGo "purged_logs_let_go"
        "What was purged in memory keeps only the logs of the newest memtable that went into it."
    LogDeletedEarly "log_deleted_early"
        "A log is deleted when one column family does not need it any more."
    OtherLogsNotSynced "other_logs_not_synced"
        "A flush does not first sync logs that other column families need."
    NumberUsedAgain "number_used_again"
        "After recovery, the last sequence number is given out again."
    ReadOnlySkipsLogs "read_only_skips_logs"
        "A database opened for reading shows nothing of the logs."

    // The manifest and other files of a database.
    ManifestNotSynced "manifest_not_synced"
        "A change is acknowledged without a sync of the manifest."
    ManifestNameNotSynced "manifest_name_not_synced"
        "CURRENT names a new manifest whose name is not durable."
    CurrentNotSynced "current_not_synced"
        "CURRENT is replaced by a file that is not synced."
    CurrentNameNotSynced "current_name_not_synced"
        "The directory is not synced after CURRENT was replaced."
    FailedEditForgotten "failed_edit_forgotten"
        "A table that a failed manifest write names is deleted although the manifest may have it."
    LinkedFileCut "linked_file_cut"
        "Trash is cut piece by piece although it has another name in a checkpoint."
    TableNotSynced "table_not_synced"
        "A table is recorded in the manifest without a sync of it."
    FlushNameNotSynced "flush_name_not_synced"
        "The directory is not synced after a flush has written a table."
    CompactionNameNotSynced "compaction_name_not_synced"
        "The directory is not synced after a compaction has written tables."
    OtherPathNotSynced "other_path_not_synced"
        "Of several directories of tables, a compaction syncs the first one only."
    PathForgotten "path_forgotten"
        "A new manifest has all tables in the first of several directories."
    HalfGroupApplied "half_group_applied"
        "An atomic group that the manifest has only the beginning of is applied."
    InputsDeletedInUse "inputs_deleted_in_use"
        "Inputs of a compaction are deleted while a reader uses them."
    DroppedFamilyComesBack "dropped_family_comes_back"
        "A dropped column family stays among those that a new manifest has."
    FamilyIdUsedAgain "family_id_used_again"
        "The number of the last column family dropped is given to another."
    LockNotTaken "lock_not_taken"
        "The lock of a database is given to a second opener."

    // Flushes and compactions.
    TombstoneDroppedEarly "tombstone_dropped_early"
        "A compaction drops deletions although older values lie below."
    SnapshotsIgnored "snapshots_ignored"
        "Flushes and compactions keep nothing for snapshots."
    PurgeIgnoresSnapshots "purge_ignores_snapshots"
        "What is purged in memory keeps nothing for snapshots."
    TwinSnapshotReleased "twin_snapshot_released"
        "The release of one of two snapshots of a moment releases both."
    HiddenSingleDeleteDropped "hidden_single_delete_dropped"
        "A single deletion under a newer value is dropped before it met its value."
    RangeTombstoneDroppedEarly "range_tombstone_dropped_early"
        "A compaction drops range tombstones although older values lie below."
    RangeTombstoneCutShort "range_tombstone_cut_short"
        "A range tombstone ends where the table ends that it begins in."
    RangeTombstoneUnderNewer "range_tombstone_under_newer"
        "A range tombstone is dropped for a newer one that a snapshot does not see."
    RangeTombstoneOverSnapshot "range_tombstone_over_snapshot"
        "A compaction drops what a range tombstone deletes, whatever snapshots see it."
    MergedAcrossSnapshot "merged_across_snapshot"
        "Merge operands on both sides of a snapshot are combined."
    MergedWithoutBase "merged_without_base"
        "Merge operands become a value although their base may lie below."
    NumberZeroedEarly "number_zeroed_early"
        "A sequence number becomes 0 although older versions lie below."
    UndecidedDropped "undecided_dropped"
        "A flush drops what an undecided transaction has written."
    HiddenByUndecidedDropped "hidden_by_undecided_dropped"
        "A flush drops a value for a newer one that is undecided."
    NumberZeroedOverUndecided "number_zeroed_over_undecided"
        "A sequence number becomes 0 although an older version is undecided."
    MergedAcrossUndecided "merged_across_undecided"
        "Merge operands are combined with those of an undecided transaction."
    SingleDeletionsKept "single_deletions_kept"
        "With `WRITE_PREPARED`, a single deletion meets one value of a key that has several."
    DecisionNotDurable "decision_not_durable"
        "A compaction goes by a decision that a power cut can take."
    OverlapMissed "overlap_missed"
        "A compaction leaves out a table of its output level that overlaps."
    OlderLevel0Left "older_level0_left"
        "A compaction takes a table of level 0 and leaves an older one above it."
    PartBoundaryLost "part_boundary_lost"
        "The key that cuts a compaction in two is in neither part."
    KeySplitBetweenTables "key_split_between_tables"
        "Versions of one key end up in two tables of a level."
    PurgeForgetsRangeTombstones "purge_forgets_range_tombstones"
        "What is purged in memory has no range tombstones any more."
    RangeTombstoneAboveHistory "range_tombstone_above_history"
        "A range tombstone deletes versions that readers before its timestamp still see."
    MergedAboveHistory "merged_above_history"
        "A compaction merges operands that readers at different times tell apart."
    AtomicFlushOfOne "atomic_flush_of_one"
        "An atomic flush takes one column family and leaves the others."

    // Reading.
    IteratorMissesMemtables "iterator_misses_memtables"
        "An iterator does not see memtables that wait for their flush."
    ReseekTooOld "reseek_too_old"
        "An iterator that seeks past newer versions misses the one it may see."
    EmptyRangeOutlivesPut "empty_range_outlives_put"
        "A put does not end the range that iterators know to be empty."
    EmptyRangeKnownUnwatched "empty_range_known_unwatched"
        "A range is known to be empty before writers look out for it."
    EmptyRangeGrowsOverPut "empty_range_grows_over_put"
        "A range known to be empty is extended over what was put beside it meanwhile."
    EmptyRangeStaysFirst "empty_range_stays_first"
        "A range known to be empty counts as the first after something was put before it."
    PrevSkipsKey "prev_skips_key"
        "An iterator that goes backward passes over the key before a deleted one."
    LevelEndsEarly "level_ends_early"
        "A seek behind the last entry of a table does not go on to the next."
    EqualPrefixesNotCompared "equal_prefixes_not_compared"
        "A search passes over keys that begin as the target does, without comparing them."
    BlockLentPastLimit "block_lent_past_limit"
        "A table lends a block whose entries do not all come before those of the other sources."
    BlockLentUptoLimit "block_lent_upto_limit"
        "A table lends a block that may end with an older version of another source's key."
    VersionTakenForNextKey "version_taken_for_next_key"
        "A step within a block takes an older version of a key for the next key."
    HeadLeftBehind "head_left_behind"
        "A merging iterator compares by the key on which it lent a block, after it got it back."
    IdleIgnoresTombstones "idle_ignores_tombstones"
        "An iterator with the cursors of another takes no notice of new range tombstones."
    IdleKeepsCopies "idle_keeps_copies"
        "An iterator with the cursors of another sees its sorted copy of a memtable."
    IdleKeepsBounds "idle_keeps_bounds"
        "An iterator with the cursors of another enters only tables within the bounds of that one."
    UpperBoundInclusive "upper_bound_inclusive"
        "An iterator shows the key of its upper bound."
    SnapshotReadsNewest "snapshot_reads_newest"
        "A read at a snapshot reads at the newest number."
    ViewsApart "views_apart"
        "Many keys over column families are read at different moments."
    WrongFamily "wrong_family"
        "Many keys over column families are all looked up in the first."
    Level0OldestFirst "level0_oldest_first"
        "Tables of level 0 are asked from the oldest to the newest."
    MemtablesOldestFirst "memtables_oldest_first"
        "Memtables that wait for their flush are asked from the oldest to the newest."
    OperandsReversed "operands_reversed"
        "A look-up merges operands newest first."
    ColumnsLostInMerge "columns_lost_in_merge"
        "A merge onto a wide-column entity leaves its default column only."
    ColumnsUnseenBackward "columns_unseen_backward"
        "An iterator that goes backward shows a wide-column entity as a value."
    SavepointLeavesIndex "savepoint_leaves_index"
        "What is rolled back to a savepoint is still found in the batch's index."
    BatchTurnsAlone "batch_turns_alone"
        "An iterator over a database with a batch applied turns round in the batch only."
    BatchMergesOverNothing "batch_merges_over_nothing"
        "Merges in a batch are applied to nothing, whatever the database has."
    MemtableTombstonesStale "memtable_tombstones_stale"
        "Range tombstones written after a memtable was read for the first time are missed."
    TableTombstonesIgnored "table_tombstones_ignored"
        "A look-up does not ask tables for their range tombstones."
    RowOfOtherSnapshot "row_of_other_snapshot"
        "A read at a snapshot finds rows of readers that see more of the table."
    RowsCollide "rows_collide"
        "Rows of different keys and tables are taken for the same."
    MemtableFilterMissesKey "memtable_filter_misses_key"
        "The Bloom filter of a memtable is not told of single writes."
    TableFilterMissesKey "table_filter_misses_key"
        "The filter of a table is not told of each sixteenth key."
    ForeignPrefixesAsked "foreign_prefixes_asked"
        "A filter is asked for prefixes of another extractor than its own."
    BlockChecksumUnchecked "block_checksum_unchecked"
        "Blocks of tables are read whatever their checksum is."
    BatchChangesInMemory "batch_changes_in_memory"
        "A bit of each operation changes as it is put into its batch."
    EntryChangesOnItsWay "entry_changes_on_its_way"
        "A flush or compaction hands its table another value than it has read."
    CacheKeyCollision "cache_key_collision"
        "All tables have the same number in the block cache."
    BlobFileNotSynced "blob_file_not_synced"
        "A blob file is recorded in the manifest without a sync of it."
    BlobGarbageForgotten "blob_garbage_forgotten"
        "A compaction does not record which blobs nothing refers to any longer."
    BlobFileDeletedEarly "blob_file_deleted_early"
        "A blob file goes as soon as any of its blobs is garbage."
    RepairForgetsBlobGarbage "repair_forgets_blob_garbage"
        "A repair does not tell the manifest what is garbage in blob files."
    RepairKeepsLostBlobs "repair_keeps_lost_blobs"
        "A repair keeps entries whose values in blob files cannot be read."

    // Resuming, ingestion, checkpoints, secondary instances.
    FailedWriteShows "failed_write_shows"
        "A resumption does not hide the entries of failed writes."
    MemtableForgotten "memtable_forgotten"
        "A resumption takes memtables that wait for their flush for flushed."
    FailedNumbersUsedAgain "failed_numbers_used_again"
        "The manifest does not know of numbers that a resumption has given up."
    IngestedWithoutNumber "ingested_without_number"
        "Ingested tables have no sequence number, so older values hide theirs."
    IngestedUnderMemtable "ingested_under_memtable"
        "An ingestion leaves older values in the memtable above its tables."
    IngestedNotSynced "ingested_not_synced"
        "Tables are ingested without a sync of their copies."
    IngestedBeforeLog "ingested_before_log"
        "Tables are ingested before the writes before them are durable."
    ImportedBelowNumbers "imported_below_numbers"
        "Numbers do not go on above those of imported tables, so later writes are older."
    ImportedBeforeLog "imported_before_log"
        "Tables are imported before the writes before them are durable."
    CheckpointWithoutLog "checkpoint_without_log"
        "A checkpoint does not have the log that is being written."
    BackupNamesNotSynced "backup_names_not_synced"
        "The metadata of a backup are written before the names of its files are durable."
    BackupFilesDeletedFirst "backup_files_deleted_first"
        "A backup's files are deleted before its metadata are."
    BackupDeletionNotSynced "backup_deletion_not_synced"
        "A backup's files are deleted before it is durable that its metadata are gone."
    SharedFileNotLookedAt "shared_file_not_looked_at"
        "A backup takes a shared file that another one has for granted, though it is gone."
    RestoreDeletesCurrentLater "restore_deletes_current_later"
        "A restore deletes files of a database that can still be opened."
    RestoredUnchecked "restored_unchecked"
        "A restore does not compare the checksums of files."
    RestoredNamesNotSynced "restored_names_not_synced"
        "A restored database can be opened before the names of its files are durable."
    SecondaryKeepsManifest "secondary_keeps_manifest"
        "A secondary instance that catches up does not read the manifest again."

    // Transactions.
    LocksReleasedEarly "locks_released_early"
        "A transaction gives its locks back before its commit is visible."
    DirectWriteUnlocked "direct_write_unlocked"
        "A write outside of transactions does not lock its key."
    PreparedRobbed "prepared_robbed"
        "A prepared transaction still expires, so that its locks are stolen."
    UndecidedUnlocked "undecided_unlocked"
        "A prepared transaction that is dropped gives its locks back."
    FoundUnlocked "found_unlocked"
        "An opening locks no keys of the prepared transactions that it finds."
    SavepointForgetsLock "savepoint_forgets_lock"
        "Keys used since a savepoint are forgotten with it, and stay locked."
    SavepointUnlocksAll "savepoint_unlocks_all"
        "A rollback to a savepoint unlocks keys that were used before it, too."
    ChangeBeforeLockMissed "change_before_lock_missed"
        "A change between the snapshot of a transaction and its lock is no conflict."
    NewerVersionMissed "newer_version_missed"
        "A version above the timestamp that a transaction validates keys at is no conflict."
    NameGivenTwice "name_given_twice"
        "Two live transactions may have the same name."
    InFlightMissed "in_flight_missed"
        "A write is not in flight in the bucket of its key."
    LatchesGivenUpEarly "latches_given_up_early"
        "An optimistic transaction keeps its latches for its validation only."
    BoundariesIgnored "boundaries_ignored"
        "Compactions do not know since when transactions ask for changes."
    SectionNotedLate "section_noted_late"
        "The log of a prepared transaction is noted when its number is visible."
    CommitKeepsNoLog "commit_keeps_no_log"
        "Memtables do not keep the log that has what a commit has inserted."
    CommitTimestampNotLogged "commit_timestamp_not_logged"
        "The log does not have the timestamp that a commit gives to the keys of its section."
    DecisionNotLogged "decision_not_logged"
        "With `disable_wal`, the end of a prepared transaction is not logged."
    FailedDecisionCounts "failed_decision_counts"
        "After a failed commit a transaction is no longer prepared."
    SectionsNotLoggedAgain "sections_not_logged_again"
        "An opening lets the logs of prepared transactions go with the others."
    MarkersPassedOver "markers_passed_over"
        "Updates leave out the records that decide on prepared transactions."
}

/// Plants a bug in one line: `planted!(CacheKeyCollision => return 1);`. The code after the arrow
/// runs only in a process that has the bug.
#[doc(hidden)]
#[macro_export]
macro_rules! planted {
    ($bug:ident => $($wrong:tt)*) => {
        if $crate::planted::planted($crate::planted::Bug::$bug) {
            $($wrong)*;
        }
    };
}

/// The one bug that this process has.
///
/// # Panics
/// If `WHITEWATER_BUG` is not the name of a bug.
#[cfg(feature = "planted-bugs")]
fn chosen() -> Option<Bug> {
    let name = std::env::var("WHITEWATER_BUG").ok()?;
    let bug = Bug::ALL.iter().copied().find(|bug| bug.name() == name);
    assert!(
        bug.is_some(),
        "WHITEWATER_BUG={name} is none of the planted bugs"
    );
    bug
}

/// Whether this process has been found to have no bug.
/// Written by: [`chosen_is`] (relaxed), at most once. Read by: [`planted`](fn@planted). Publishes
/// nothing.
#[cfg(feature = "planted-bugs")]
static HAS_NONE: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);

/// Whether this process has `bug`. Mostly it has none, which takes one load.
#[cfg(feature = "planted-bugs")]
#[inline(always)]
#[must_use]
pub fn planted(bug: Bug) -> bool {
    !HAS_NONE.load(std::sync::atomic::Ordering::Relaxed) && chosen_is(bug)
}

#[cfg(feature = "planted-bugs")]
#[cold]
#[inline(never)]
fn chosen_is(bug: Bug) -> bool {
    use std::sync::LazyLock;
    static CHOSEN: LazyLock<Option<Bug>> = LazyLock::new(chosen);
    HAS_NONE.store(CHOSEN.is_none(), std::sync::atomic::Ordering::Relaxed);
    *CHOSEN == Some(bug)
}

/// False: only the feature `planted-bugs` plants bugs.
#[cfg(not(feature = "planted-bugs"))]
#[inline(always)]
#[must_use]
pub const fn planted(_: Bug) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_those_of_the_variants() {
        let mut names = BTreeSet::new();
        for bug in Bug::ALL {
            let mut name = String::new();
            for c in format!("{bug:?}").chars() {
                if c.is_ascii_uppercase() && !name.is_empty() {
                    name.push('_');
                }
                name.push(c.to_ascii_lowercase());
            }
            assert_eq!(bug.name(), name);
            assert!(names.insert(name), "{bug:?} twice");
            assert!(bug.what().ends_with('.') && !bug.what().contains('|'));
        }
    }

    #[test]
    fn nothing_is_planted_unless_it_is_named() {
        if std::env::var_os("WHITEWATER_BUG").is_none() {
            assert!(Bug::ALL.iter().all(|bug| !planted(*bug)));
        }
    }
}
