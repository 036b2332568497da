//! The tests find deliberate bugs.
//!
//! `whitewater_storage::planted` has the bugs. For each there is a test here that must fail in a
//! process with that bug. This binary is started again for each of them, with the bug named in the
//! environment. The rest of the suite shows that the same tests pass without the bug.
//!
//! `WHITEWATER_BLESS=1 cargo test -p whitewater --test it planted::` writes the table in
//! `docs/testing.md`.

use parking_lot::Mutex;
use std::fmt::Write as _;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use whitewater_storage::planted::Bug;

/// Names the bug of a process.
const BUG: &str = "WHITEWATER_BUG";

/// The most time that a finder may take: many times what the slowest takes.
const LIMIT: Duration = Duration::from_secs(600);

/// Finders that run at the same time.
const AT_ONCE: usize = 2;

/// Variables that change tests of this suite, and that finders must not have.
const SETTINGS: [&str; 9] = [
    "WHITEWATER_SEED",
    "WHITEWATER_ROUNDS",
    "WHITEWATER_ROUNDS_DIVIDED_BY",
    "WHITEWATER_MEMTABLE",
    "WHITEWATER_MEMTABLE_BLOOM",
    "WHITEWATER_PROTECTION",
    "WHITEWATER_PROTOCOL",
    "WHITEWATER_BLESS",
    "RUST_BACKTRACE",
];

/// Each bug, in the order of [`Bug::ALL`], with the test that finds it.
const FINDERS: &[(Bug, &str)] = &[
    (
        Bug::AckBeforeLog,
        "recovery::what_was_acknowledged_outlives_the_process",
    ),
    (Bug::SyncSkipped, "power_cut::a_synced_write_is_durable"),
    (
        Bug::OlderLogsNotSynced,
        "power_cut::a_synced_write_takes_all_before_it_along",
    ),
    (
        Bug::LogNameNotSynced,
        "power_cut::a_synced_write_takes_all_before_it_along",
    ),
    (
        Bug::PublishByMaximum,
        "races::order::nothing_is_seen_of_what_is_not_finished",
    ),
    (
        Bug::WalLockKeepsGenerationOpen,
        "wal::lock::writes_that_have_begun_are_in_the_log_when_it_is_locked",
    ),
    (
        Bug::BatchWithoutEnd,
        "transactions::inserted_early::every_batch_ends_in_the_log",
    ),
    (
        Bug::RangeNotEntered,
        "transactions::inserted_early::a_transaction_counts_from_its_acknowledged_commit_on",
    ),
    (
        Bug::DecidedEarly,
        "transactions::inserted_early::a_failed_commit_shows_nothing",
    ),
    (
        Bug::CommitTimeBatchEarly,
        "transactions::inserted_early::a_transaction_counts_from_its_acknowledged_commit_on",
    ),
    (
        Bug::DecidedInTwoSteps,
        "transactions::inserted_early::a_rollback_shows_nothing_at_any_instant",
    ),
    (
        Bug::SectionNumberedByEntry,
        "transactions::inserted_early::a_transaction_has_no_other_numbers_than_its_own",
    ),
    (
        Bug::UndoForgotten,
        "transactions::inserted_early::a_rollback_shows_nothing_at_any_instant",
    ),
    (
        Bug::UnorderedNotEntered,
        "transactions::unordered::an_unordered_write_is_seen_once_it_is_inserted",
    ),
    (
        Bug::UnorderedDecidedEarly,
        "transactions::unordered::a_snapshot_does_not_get_what_is_inserted_later",
    ),
    (
        Bug::UnorderedDecidesAll,
        "transactions::unordered::a_write_decides_its_own_numbers_alone",
    ),
    (
        Bug::UnorderedNotDecided,
        "transactions::unordered::an_unordered_write_is_seen_once_it_is_inserted",
    ),
    (
        Bug::BatchPublishedInHalves,
        "races::order::nothing_is_seen_of_what_is_not_finished",
    ),
    (
        Bug::FamilyLeftOut,
        "races::mapped::the_same_batches_are_there_after_a_kill",
    ),
    (
        Bug::LogFailureIgnored,
        "faults::a_failed_log_write_stops_writes_and_not_reads",
    ),
    (
        Bug::FailureNotReported,
        "faults::a_failed_log_write_stops_writes_and_not_reads",
    ),
    (
        Bug::SyncFailureIgnored,
        "faults::a_failed_log_write_stops_writes_and_not_reads",
    ),
    (
        Bug::DirectoryFailureForgotten,
        "faults::a_flush_fails_behind_a_failed_sync_of_its_directory",
    ),
    (
        Bug::UnloggedJoinsLogged,
        "races::order::a_write_with_a_log_joins_no_group_without",
    ),
    (
        Bug::FollowerErrorSwallowed,
        "races::order::a_failed_insert_is_told",
    ),
    (
        Bug::InOrderIgnored,
        "races::order::a_merge_in_order_waits_for_what_is_before_it",
    ),
    (
        Bug::FlushDoesNotWait,
        "races::order::a_flush_waits_for_inserts_under_way",
    ),
    (
        Bug::PendingInsertsMissed,
        "races::order::a_flush_waits_for_inserts_under_way",
    ),
    (
        Bug::FlushWalDoesNothing,
        "recovery::records_are_in_memory_until_they_are_flushed",
    ),
    (
        Bug::EmptyLogKept,
        "races::switches::a_log_that_was_empty_is_not_replayed_onto_its_tables",
    ),
    (
        Bug::LogChecksumUnchecked,
        "corruption::damaged_logs_are_recovered_as_the_mode_says",
    ),
    (
        Bug::StaleRecordAccepted,
        "recovery::a_recycled_log_has_nothing_of_its_former_life",
    ),
    (
        Bug::DamageReadPast,
        "corruption::damaged_logs_are_recovered_as_the_mode_says",
    ),
    (
        Bug::LinkIgnored,
        "power_cut::a_later_log_counts_only_behind_all_of_the_one_before",
    ),
    (
        Bug::TornTailForgotten,
        "recovery::nothing_counts_behind_a_torn_tail",
    ),
    (
        Bug::ReplayNotSkipped,
        "recovery::what_was_flushed_is_not_replayed",
    ),
    (
        Bug::LogNumberNotRecorded,
        "recovery::what_was_flushed_is_not_replayed",
    ),
    (
        Bug::SectionLogLetGo,
        "transactions::inserted_early::a_power_cut_behind_a_rollback_makes_no_commit_of_it",
    ),
    (
        Bug::SectionsInsertedAgain,
        "transactions::inserted_early::a_prepared_transaction_counts_once_after_a_resumption",
    ),
    (
        Bug::RecoveredNotHidden,
        "transactions::recovered::write_prepared::prepared_transactions_are_there_at_the_next_opening",
    ),
    (
        Bug::RecoveredRangeCutShort,
        "transactions::inserted_early::an_opening_hides_all_that_a_transaction_has_put_to_a_key",
    ),
    (
        Bug::RecoveryFlushDropsHidden,
        "transactions::inserted_early::what_a_transaction_hides_outlives_the_flush_of_an_opening",
    ),
    (
        Bug::SectionsLogNotKept,
        "transactions::recovered::write_prepared::prepared_transactions_survive_flushes_of_everything_else",
    ),
    (
        Bug::DecisionCutOff,
        "transactions::inserted_early::damage_before_a_decision_that_a_flush_went_by_is_told",
    ),
    (
        Bug::PurgedLogsLetGo,
        "mempurge::crash::a_purged_memtable_keeps_the_logs_of_all_that_went_into_it",
    ),
    (
        Bug::LogDeletedEarly,
        "recovery::a_log_stays_as_long_as_a_family_needs_it",
    ),
    (
        Bug::OtherLogsNotSynced,
        "power_cut::a_flush_makes_what_others_wrote_before_durable",
    ),
    (
        Bug::NumberUsedAgain,
        "recovery::numbers_go_on_behind_the_last",
    ),
    (
        Bug::ReadOnlySkipsLogs,
        "read_only::nothing_is_written_and_everything_is_read",
    ),
    (
        Bug::ManifestNotSynced,
        "power_cut::what_was_flushed_or_compacted_is_durable",
    ),
    (
        Bug::ManifestNameNotSynced,
        "power_cut::an_opening_can_be_cut_at_any_sync",
    ),
    (
        Bug::CurrentNotSynced,
        "power_cut::a_synced_write_is_durable",
    ),
    (
        Bug::CurrentNameNotSynced,
        "power_cut::a_new_manifest_is_in_force_before_what_it_does_not_need_is_gone",
    ),
    (
        Bug::FailedEditForgotten,
        "resume::by_itself::a_table_that_a_failed_manifest_write_names_stays",
    ),
    (
        Bug::LinkedFileCut,
        "sst_file_manager::a_checkpoint_keeps_files_that_are_deleted_slowly",
    ),
    (
        Bug::TableNotSynced,
        "power_cut::what_was_flushed_or_compacted_is_durable",
    ),
    (
        Bug::FlushNameNotSynced,
        "power_cut::what_was_flushed_or_compacted_is_durable",
    ),
    (
        Bug::CompactionNameNotSynced,
        "power_cut::what_was_flushed_or_compacted_is_durable",
    ),
    (
        Bug::OtherPathNotSynced,
        "power_cut::tables_in_every_path_are_durable",
    ),
    (
        Bug::PathForgotten,
        "paths::levels_are_in_the_paths_that_hold_them",
    ),
    (
        Bug::HalfGroupApplied,
        "recovery::half_of_an_atomic_flush_does_not_count",
    ),
    (
        Bug::InputsDeletedInUse,
        "versions::a_reader_keeps_its_tables",
    ),
    (
        Bug::DroppedFamilyComesBack,
        "recovery::a_dropped_family_does_not_come_back",
    ),
    (
        Bug::FamilyIdUsedAgain,
        "recovery::a_family_has_nothing_of_one_dropped_before",
    ),
    (
        Bug::LockNotTaken,
        "api::single_threaded::an_open_database_is_locked",
    ),
    (
        Bug::TombstoneDroppedEarly,
        "versions::a_flush_keeps_what_hides_older_tables",
    ),
    (
        Bug::SnapshotsIgnored,
        "versions::snapshots_keep_what_they_see",
    ),
    (
        Bug::PurgeIgnoresSnapshots,
        "mempurge::same::what_a_snapshot_sees_is_not_purged",
    ),
    (
        Bug::TwinSnapshotReleased,
        "versions::a_snapshot_outlives_its_twin",
    ),
    (
        Bug::HiddenSingleDeleteDropped,
        "versions::a_single_deletion_goes_down_to_its_value",
    ),
    (
        Bug::RangeTombstoneDroppedEarly,
        "versions::a_flush_keeps_what_hides_older_tables",
    ),
    (
        Bug::RangeTombstoneCutShort,
        "versions::a_range_tombstone_reaches_over_all_tables_it_is_split_into",
    ),
    (
        Bug::RangeTombstoneUnderNewer,
        "versions::an_older_range_tombstone_still_hides_what_lies_deeper",
    ),
    (
        Bug::RangeTombstoneOverSnapshot,
        "versions::snapshots_keep_what_they_see",
    ),
    (
        Bug::MergedAcrossSnapshot,
        "versions::snapshots_keep_what_they_see",
    ),
    (
        Bug::MergedWithoutBase,
        "versions::a_flush_keeps_what_hides_older_tables",
    ),
    (
        Bug::NumberZeroedEarly,
        "versions::a_newer_table_hides_an_older_one",
    ),
    (
        Bug::UndecidedDropped,
        "transactions::kept_undecided::a_prepared_transaction_outlives_flush_and_compaction",
    ),
    (
        Bug::HiddenByUndecidedDropped,
        "transactions::kept_undecided::what_a_prepared_transaction_hides_is_there_after_its_rollback",
    ),
    (
        Bug::NumberZeroedOverUndecided,
        "transactions::kept_undecided::a_change_hides_an_older_one_that_is_committed_later",
    ),
    (
        Bug::MergedAcrossUndecided,
        "transactions::kept_undecided::operands_are_not_merged_with_those_of_a_prepared_transaction",
    ),
    (
        Bug::SingleDeletionsKept,
        "transactions::kept_undecided::a_single_deletion_brings_to_light_nothing_that_was_overwritten",
    ),
    (
        Bug::DecisionNotDurable,
        "transactions::inserted_early::a_power_cut_behind_a_commit_leaves_what_it_hides",
    ),
    (
        Bug::OverlapMissed,
        "versions::compactions_leave_the_last_value_of_each_key",
    ),
    (
        Bug::OlderLevel0Left,
        "versions::a_compaction_of_a_range_leaves_nothing_older_above_it",
    ),
    (
        Bug::PartBoundaryLost,
        "subcompactions::parts_make_what_one_run_makes",
    ),
    (
        Bug::KeySplitBetweenTables,
        "versions::versions_of_a_key_are_in_one_table",
    ),
    (
        Bug::PurgeForgetsRangeTombstones,
        "mempurge::same::what_was_deleted_before_a_purge_stays_deleted",
    ),
    (
        Bug::RangeTombstoneAboveHistory,
        "timestamps::range_deletions_count_from_their_time_on",
    ),
    (
        Bug::MergedAboveHistory,
        "timestamps::merges_keep_their_history_down_to_its_limit",
    ),
    (
        Bug::AtomicFlushOfOne,
        "atomic_flush::unlogged_batches_are_whole_after_a_crash",
    ),
    (
        Bug::IteratorMissesMemtables,
        "versions::memtables_that_wait_for_their_flush_are_read_newest_first",
    ),
    (
        Bug::ReseekTooOld,
        "versions::versions_above_a_snapshot_are_passed",
    ),
    (
        Bug::EmptyRangeOutlivesPut,
        "queues::a_key_that_is_put_back_is_found",
    ),
    (
        Bug::EmptyRangeKnownUnwatched,
        "queues::a_put_that_was_under_way_is_found",
    ),
    (
        Bug::EmptyRangeGrowsOverPut,
        "queues::a_put_behind_a_range_that_grows_is_found",
    ),
    (
        Bug::EmptyRangeStaysFirst,
        "queues::takes_from_both_ends_agree_with_a_map_whatever_is_put_meanwhile",
    ),
    (
        Bug::PrevSkipsKey,
        "versions::iterators_turn_around_anywhere",
    ),
    (
        Bug::LevelEndsEarly,
        "versions::a_seek_goes_on_to_the_next_table",
    ),
    (
        Bug::EqualPrefixesNotCompared,
        "reads::keys_that_begin_alike_are_found_in_cached_blocks",
    ),
    (
        Bug::BlockLentPastLimit,
        "reads::walks_in_small_blocks_of_many_tables_match_a_map",
    ),
    (
        Bug::BlockLentUptoLimit,
        "reads::walks_in_small_blocks_of_many_tables_match_a_map",
    ),
    (
        Bug::VersionTakenForNextKey,
        "versions::older_versions_in_a_block_are_not_shown",
    ),
    (
        Bug::HeadLeftBehind,
        "versions::older_versions_in_the_next_block_are_not_shown",
    ),
    (
        Bug::IdleIgnoresTombstones,
        "idle_iterators::each_iterator_shows_what_there_is_when_it_is_made",
    ),
    (
        Bug::IdleKeepsCopies,
        "idle_iterators::each_iterator_shows_what_there_is_when_it_is_made",
    ),
    (
        Bug::IdleKeepsBounds,
        "idle_iterators::each_iterator_shows_what_there_is_when_it_is_made",
    ),
    (
        Bug::UpperBoundInclusive,
        "api::single_threaded::iterators_keep_bounds",
    ),
    (
        Bug::SnapshotReadsNewest,
        "api::single_threaded::snapshots_do_not_move",
    ),
    (
        Bug::ViewsApart,
        "concurrency::many_keys_are_read_at_one_moment",
    ),
    (
        Bug::WrongFamily,
        "api::single_threaded::many_keys_are_read_in_their_order",
    ),
    (
        Bug::Level0OldestFirst,
        "versions::a_newer_table_hides_an_older_one",
    ),
    (
        Bug::MemtablesOldestFirst,
        "versions::memtables_that_wait_for_their_flush_are_read_newest_first",
    ),
    (
        Bug::OperandsReversed,
        "api::single_threaded::merges_combine_operands",
    ),
    (
        Bug::ColumnsLostInMerge,
        "entities::a_merge_changes_the_default_column_and_keeps_the_others",
    ),
    (
        Bug::ColumnsUnseenBackward,
        "entities::entities_are_read_from_logs_memtables_and_tables",
    ),
    (
        Bug::SavepointLeavesIndex,
        "indexed_batch::cases::savepoints_take_the_index_back",
    ),
    (
        Bug::BatchTurnsAlone,
        "indexed_batch::cases::a_batch_is_merged_over_the_database",
    ),
    (
        Bug::BatchMergesOverNothing,
        "indexed_batch::cases::iterators_show_merged_values",
    ),
    (
        Bug::MemtableTombstonesStale,
        "versions::range_tombstones_are_seen_as_they_come",
    ),
    (
        Bug::TableTombstonesIgnored,
        "versions::a_flush_keeps_what_hides_older_tables",
    ),
    (
        Bug::RowOfOtherSnapshot,
        "row_cache::snapshots_have_rows_of_their_own",
    ),
    (Bug::RowsCollide, "row_cache::rows_are_found_again"),
    (
        Bug::MemtableFilterMissesKey,
        "versions::filters_pass_every_key_there_is",
    ),
    (
        Bug::TableFilterMissesKey,
        "versions::filters_pass_every_key_there_is",
    ),
    (
        Bug::ForeignPrefixesAsked,
        "tables::filters_of_other_prefixes_are_not_asked",
    ),
    (
        Bug::BlockChecksumUnchecked,
        "corruption::damaged_tables_are_errors_and_never_wrong_values",
    ),
    (
        Bug::BatchChangesInMemory,
        "integrity::protected_writes_are_what_was_asked_for",
    ),
    (
        Bug::EntryChangesOnItsWay,
        "integrity::tables_are_compared_with_what_was_written",
    ),
    (
        Bug::CacheKeyCollision,
        "versions::a_newer_table_hides_an_older_one",
    ),
    (
        Bug::BlobFileNotSynced,
        "blob_files::failures::a_power_cut_at_any_sync_keeps_what_was_flushed",
    ),
    (
        Bug::BlobGarbageForgotten,
        "blob_files::garbage::garbage_is_what_compactions_drop",
    ),
    (
        Bug::BlobFileDeletedEarly,
        "blob_files::garbage::garbage_is_what_compactions_drop",
    ),
    (
        Bug::RepairForgetsBlobGarbage,
        "blob_files::repaired::blob_files_and_their_garbage_are_found_again",
    ),
    (
        Bug::RepairKeepsLostBlobs,
        "blob_files::repaired::a_damaged_value_is_lost_and_the_others_are_not",
    ),
    (
        Bug::FailedWriteShows,
        "races::order::a_write_behind_a_failed_one_stays_hidden",
    ),
    (
        Bug::MemtableForgotten,
        "resume::steps::a_resumption_makes_tables_of_all_memtables",
    ),
    (
        Bug::FailedNumbersUsedAgain,
        "races::order::a_write_behind_a_failed_one_stays_hidden",
    ),
    (
        Bug::IngestedWithoutNumber,
        "ingest::what_is_ingested_is_newer_than_what_was_written",
    ),
    (
        Bug::IngestedUnderMemtable,
        "ingest::what_is_ingested_is_newer_than_what_was_written",
    ),
    (
        Bug::IngestedNotSynced,
        "ingest::a_power_cut_keeps_all_tables_or_none",
    ),
    (
        Bug::IngestedBeforeLog,
        "power_cut::an_ingestion_makes_what_was_written_before_durable",
    ),
    (
        Bug::ImportedBelowNumbers,
        "export_import::an_imported_column_family_has_what_was_exported",
    ),
    (
        Bug::ImportedBeforeLog,
        "export_import::a_power_cut_leaves_an_import_whole_or_undone",
    ),
    (
        Bug::CheckpointWithoutLog,
        "checkpoint::a_checkpoint_is_a_database_of_its_own",
    ),
    (
        Bug::BackupNamesNotSynced,
        "backup::cuts::a_backup_that_was_cut_is_whole_or_not_there",
    ),
    (
        Bug::BackupFilesDeletedFirst,
        "backup::cuts::backups_whose_deletion_was_cut_are_whole_or_gone",
    ),
    (
        Bug::BackupDeletionNotSynced,
        "backup::cuts::backups_whose_deletion_was_cut_are_whole_or_gone",
    ),
    (
        Bug::SharedFileNotLookedAt,
        "backup::sharing::a_shared_file_that_is_gone_is_copied_again",
    ),
    (
        Bug::RestoreDeletesCurrentLater,
        "backup::cuts::a_restore_that_was_cut_leaves_no_half_of_a_database",
    ),
    (
        Bug::RestoredUnchecked,
        "backup::damage::a_changed_byte_is_found_by_its_checksum",
    ),
    (
        Bug::RestoredNamesNotSynced,
        "backup::cuts::a_restore_that_was_cut_leaves_no_half_of_a_database",
    ),
    (
        Bug::SecondaryKeepsManifest,
        "secondary::it_shows_what_it_has_caught_up_with",
    ),
    (
        Bug::LocksReleasedEarly,
        "transactions::simulated::transfers_keep_the_sum_while_waits_end_by_time",
    ),
    (
        Bug::DirectWriteUnlocked,
        "transactions::locks::a_key_that_one_transaction_has_written_is_refused_to_all_others",
    ),
    (
        Bug::PreparedRobbed,
        "transactions::lock_races::a_robbed_transaction_writes_nothing_and_one_that_writes_is_not_robbed",
    ),
    (
        Bug::UndecidedUnlocked,
        "transactions::undecided_locks::a_failed_decision_keeps_the_locks",
    ),
    (
        Bug::FoundUnlocked,
        "transactions::undecided_locks::an_opening_locks_the_keys_of_what_it_finds",
    ),
    (
        Bug::SavepointForgetsLock,
        "transactions::savepoints::keys_that_were_only_used_since_the_savepoint_are_unlocked",
    ),
    (
        Bug::SavepointUnlocksAll,
        "transactions::savepoints::keys_that_were_only_used_since_the_savepoint_are_unlocked",
    ),
    (
        Bug::ChangeBeforeLockMissed,
        "transactions::snapshots::a_change_since_the_snapshot_is_a_conflict",
    ),
    (
        Bug::NewerVersionMissed,
        "transactions::stamps::newer_versions_than_the_read_timestamp_conflict",
    ),
    (
        Bug::NameGivenTwice,
        "transactions::simulated::a_name_is_had_by_one_thread_at_a_time",
    ),
    (
        Bug::InFlightMissed,
        "transactions::optimistic::races::a_write_that_is_not_visible_yet_is_a_conflict",
    ),
    (
        Bug::LatchesGivenUpEarly,
        "transactions::optimistic::simulated::no_update_is_lost",
    ),
    (
        Bug::BoundariesIgnored,
        "transactions::optimistic::a_change_is_found_after_a_compaction_to_the_last_level",
    ),
    (
        Bug::SectionNotedLate,
        "transactions::retention::a_prepare_that_has_not_returned_keeps_its_log",
    ),
    (
        Bug::CommitKeepsNoLog,
        "transactions::retention::the_log_of_what_is_committed_stays_until_its_memtable_is_flushed",
    ),
    (
        Bug::CommitTimestampNotLogged,
        "transactions::stamps::two_phase::a_commit_has_its_timestamp_after_a_recovery_too",
    ),
    (
        Bug::DecisionNotLogged,
        "transactions::retention::decisions_are_logged_whatever_the_write_options_say",
    ),
    (
        Bug::FailedDecisionCounts,
        "transactions::stalls::a_transaction_that_must_not_wait_in_a_stall_can_be_used_after_it",
    ),
    (
        Bug::SectionsNotLoggedAgain,
        "transactions::recovered::prepared_transactions_survive_flushes_of_everything_else",
    ),
    (
        Bug::MarkersPassedOver,
        "transactions::retention::updates_have_sections_and_decisions",
    ),
];

/// The outcome of a finder.
struct Run {
    status: Option<ExitStatus>,
    output: String,
    seconds: f64,
}

impl Run {
    /// Why the run does not show that the bug was found, if it does not.
    fn complaint(&self) -> Option<String> {
        let Some(status) = self.status else {
            return Some(format!("hangs, after {} s", LIMIT.as_secs()));
        };
        if !self.output.contains("running 1 test\n") {
            return Some("there is no such test".to_owned());
        }
        if status.success() {
            return Some("passes".to_owned());
        }
        // Anything else, a signal or an abort, is not a test that failed.
        let failed = status.code() == Some(101) && self.output.contains("; 1 failed;");
        (!failed).then(|| format!("ends with {status}:\n{}", self.output))
    }
}

/// Runs the test `finder` in a process that has `bug`.
fn run(bug: Bug, finder: &str) -> Run {
    let mut output = tempfile::tempfile().expect("a temporary file");
    let handle = || Stdio::from(output.try_clone().expect("another handle"));
    let mut command = Command::new(std::env::current_exe().expect("this binary"));
    command
        .args([finder, "--exact", "--test-threads=1"])
        .env(BUG, bug.name())
        .stdin(Stdio::null())
        .stdout(handle())
        .stderr(handle());
    SETTINGS.iter().for_each(|name| {
        command.env_remove(name);
    });
    let start = Instant::now();
    let mut child = command.spawn().expect("starts");
    let status = loop {
        if let Some(status) = child.try_wait().expect("a child") {
            break Some(status);
        }
        if start.elapsed() > LIMIT {
            child.kill().expect("can be killed");
            child.wait().expect("was killed");
            break None;
        }
        thread::sleep(Duration::from_millis(5));
    };
    let seconds = start.elapsed().as_secs_f64();
    let mut bytes = Vec::new();
    output.seek(SeekFrom::Start(0)).expect("seeks");
    output.read_to_end(&mut bytes).expect("reads");
    Run {
        status,
        output: String::from_utf8_lossy(&bytes).into_owned(),
        seconds,
    }
}

#[test]
fn every_bug_has_a_finder() {
    let bugs: Vec<Bug> = FINDERS.iter().map(|(bug, _)| *bug).collect();
    assert_eq!(bugs, Bug::ALL);
}

#[test]
fn every_bug_is_found() {
    if std::env::var_os(BUG).is_some() {
        return; // this process looks for one bug
    }
    let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some((bug, finder)) = FINDERS.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let outcome = run(*bug, finder);
                    results.lock().push((*bug, *finder, outcome));
                }
            });
        }
    });
    let mut results = results.into_inner();
    results.sort_by_key(|(bug, ..)| *bug);
    let mut missed = String::new();
    for (bug, finder, outcome) in &results {
        println!("{:7.2} s  {}: {finder}", outcome.seconds, bug.name());
        if let Some(complaint) = outcome.complaint() {
            let name = bug.name();
            let _ = writeln!(missed, "{BUG}={name}: {finder} {complaint}");
        }
    }
    assert!(missed.is_empty(), "{missed}");
    if std::env::var_os("WHITEWATER_BLESS").is_some() {
        let seconds = results.iter().map(|(.., outcome)| outcome.seconds);
        bless(&seconds.collect::<Vec<_>>());
    }
}

const BEGIN: &str = "<!-- planted:begin -->\n";
const END: &str = "<!-- planted:end -->";

fn document() -> PathBuf {
    let crate_dir = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    crate_dir.join("../../docs/testing.md")
}

/// The document up to the table, the table, and what comes after.
fn parts(text: &str) -> (&str, &str, &str) {
    let (before, rest) = text.split_once(BEGIN).expect("where the table begins");
    let (table, after) = rest.split_once(END).expect("where the table ends");
    (before, table, after)
}

/// The rows of the table without the times.
fn rows() -> Vec<String> {
    let row =
        |(bug, finder): &(Bug, &str)| format!("| `{}` | {} | `{finder}` |", bug.name(), bug.what());
    FINDERS.iter().map(row).collect()
}

/// Writes the table, with how long each finder took.
fn bless(seconds: &[f64]) {
    let mut table = "| bug | what it does | finder | seconds |\n|---|---|---|---|\n".to_owned();
    for (row, seconds) in rows().iter().zip(seconds) {
        let _ = writeln!(table, "{row} {seconds:.2} |");
    }
    let text = std::fs::read_to_string(document()).expect("the document");
    let (before, _, after) = parts(&text);
    let text = format!("{before}{BEGIN}{table}{END}{after}");
    std::fs::write(document(), text).expect("can be written");
}

#[test]
fn the_documented_table_is_that_of_the_code() {
    if std::env::var_os("WHITEWATER_BLESS").is_some() {
        return; // it is being written
    }
    let text = std::fs::read_to_string(document()).expect("the document");
    let (_, table, _) = parts(&text);
    let documented = table.lines().skip(2).map(|line| {
        let (row, _seconds) = line
            .trim_end_matches(" |")
            .rsplit_once(' ')
            .expect("a time");
        row.to_owned()
    });
    let (documented, rows) = (documented.collect::<Vec<_>>(), rows());
    for (documented, row) in documented.iter().zip(&rows) {
        assert_eq!(documented, row, "WHITEWATER_BLESS=1 writes the table");
    }
    assert_eq!(documented.len(), rows.len());
}
