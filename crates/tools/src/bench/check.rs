//! Range checks of the flags that belong to single workloads.

use super::engine::{Failure, Result};
use super::flags::Flags;
use super::mix::Mix;
use super::plan::{self, Task};

/// How the sizes of values are distributed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sizes {
    /// All values have the same size.
    Fixed,
    /// Every size between the minimum and the maximum is equally likely.
    Uniform(usize, usize),
    /// Normally distributed around the middle between minimum and maximum, with a
    /// sixth of their distance as the standard deviation; clipped at both.
    Normal(usize, usize),
}

/// How `timeseries` removes expired entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expiry {
    /// They stay.
    None,
    /// Reading threads look for expired entries and delete them.
    Delete,
    /// Compactions drop them.
    CompactionFilter,
}

impl Flags {
    /// # Errors
    /// The first flag of a workload that is out of range.
    pub(super) fn check_workloads(&self) -> Result<()> {
        if self.use_existing_keys && !self.keeps_database() {
            return Err(Failure(
                "--use_existing_keys needs --use_existing_db".to_owned(),
            ));
        }
        for (name, percent) in [
            ("readwritepercent", self.readwritepercent),
            ("deletepercent", self.deletepercent),
            ("mergereadpercent", self.mergereadpercent),
            (
                "readwritepercent and --deletepercent",
                self.readwritepercent.saturating_add(self.deletepercent),
            ),
        ] {
            if !(0..=100).contains(&percent) {
                return Err(Failure(format!(
                    "--{name}: {percent} is not between 0 and 100 percent"
                )));
            }
        }
        for (name, count) in [
            ("multiread_stride", self.multiread_stride),
            ("max_scan_distance", self.max_scan_distance),
            (
                "writes_per_range_tombstone",
                self.writes_per_range_tombstone,
            ),
            (
                "writes_before_delete_range",
                self.writes_before_delete_range,
            ),
            ("range_tombstone_width", self.range_tombstone_width),
            ("max_num_range_tombstones", self.max_num_range_tombstones),
            ("num_deletion_threads", self.num_deletion_threads.into()),
        ] {
            if count < 0 {
                return Err(Failure(format!("--{name}={count} is less than 0")));
            }
        }
        for (name, count) in [
            ("numdistinct", self.numdistinct),
            ("key_id_range", self.key_id_range.into()),
            ("mix_max_scan_len", self.mix_max_scan_len),
            ("mix_max_value_size", self.mix_max_value_size),
        ] {
            if count < 1 {
                return Err(Failure(format!("--{name}={count} is less than 1")));
            }
        }
        for (name, number) in [
            ("read_random_exp_range", self.read_random_exp_range),
            ("stddev", self.stddev),
        ] {
            if number < 0.0 {
                return Err(Failure(format!("--{name}={number} is less than 0")));
            }
        }
        self.check_transactions()?;
        self.sizes()?;
        self.expiry()?;
        Mix::new(self, self.num.unsigned_abs())?;
        Ok(())
    }

    /// Checks the flags of transactions.
    fn check_transactions(&self) -> Result<()> {
        if !(1..=9999).contains(&self.transaction_sets) {
            return Err(Failure(format!(
                "--transaction_sets={} is not between 1 and 9999",
                self.transaction_sets
            )));
        }
        if self.transaction_lock_timeout < 0 {
            return Err(Failure(format!(
                "--transaction_lock_timeout={} is less than 0",
                self.transaction_lock_timeout
            )));
        }
        let policy = self.write_policy()?;
        for (name, asked) in [
            (
                "txn_write_policy",
                policy != whitewater::WritePolicy::WriteCommitted,
            ),
            (
                "skip_concurrency_control",
                self.skip_concurrency_control == Some(true),
            ),
        ] {
            if asked && !self.transaction_db {
                return Err(Failure(format!("--{name} needs --transaction_db")));
            }
        }
        self.check_transactional()
    }

    /// Checks what databases with transactions can do.
    fn check_transactional(&self) -> Result<()> {
        let steps = plan::parse(&self.benchmarks).unwrap_or_default();
        let named = |wrong: fn(Task) -> bool| {
            let found = steps.iter().find(|step| wrong(step.benchmark.task));
            found.map(|step| step.benchmark.name)
        };
        if let Some(name) = named(|task| task == Task::Transact)
            && self.use_uint64_comparator
        {
            return Err(Failure(format!(
                "benchmark '{name}' does not go with --use_uint64_comparator"
            )));
        }
        let database = match (self.transaction_db, self.optimistic_transaction_db) {
            (false, false) => return Ok(()),
            (true, false) => "transaction_db",
            (false, true) => "optimistic_transaction_db",
            (true, true) => {
                return Err(Failure(
                    "--transaction_db does not go with --optimistic_transaction_db".to_owned(),
                ));
            }
        };
        for (name, asked) in [
            ("readonly", self.readonly),
            ("use_secondary_db", self.use_secondary_db),
            (
                "multiread_batched",
                self.multiread_batched && self.transaction_db,
            ),
            (
                "writes_per_range_tombstone",
                self.writes_per_range_tombstone > 0,
            ),
        ] {
            if asked {
                return Err(Failure(format!(
                    "--{name} does not go with --{database}: the API has no such call"
                )));
            }
        }
        match named(lacks_transactions).filter(|_| self.transaction_db) {
            None => Ok(()),
            Some(name) => Err(Failure(format!(
                "benchmark '{name}' does not go with --transaction_db: the API has no such call"
            ))),
        }
    }

    /// The distribution that `value_size_distribution_type` names.
    ///
    /// # Errors
    /// The distribution is unknown, or the bounds are not a valid range.
    pub fn sizes(&self) -> Result<Sizes> {
        let (least, most) = (self.value_size_min, self.value_size_max);
        let bounds = match (usize::try_from(least), usize::try_from(most)) {
            (Ok(least), Ok(most)) if least <= most => Some((least, most)),
            _ => None,
        };
        match (self.value_size_distribution_type.as_str(), bounds) {
            ("fixed", _) => Ok(Sizes::Fixed),
            ("uniform", Some((least, most))) => Ok(Sizes::Uniform(least, most)),
            ("normal", Some((least, most))) => Ok(Sizes::Normal(least, most)),
            ("uniform" | "normal", None) => Err(Failure(format!(
                "--value_size_min={least} is negative or more than --value_size_max={most}"
            ))),
            (name, _) => Err(Failure(format!(
                "--value_size_distribution_type={name}: unknown; there are fixed, uniform and normal"
            ))),
        }
    }

    /// The style that `expire_style` names.
    ///
    /// # Errors
    /// The style is unknown.
    pub fn expiry(&self) -> Result<Expiry> {
        match self.expire_style.as_str() {
            "none" => Ok(Expiry::None),
            "delete" => Ok(Expiry::Delete),
            "compaction_filter" => Ok(Expiry::CompactionFilter),
            name => Err(Failure(format!(
                "--expire_style={name}: unknown; there are none, delete and compaction_filter"
            ))),
        }
    }

    /// The size in bytes of the largest value that the flags allow.
    pub fn largest_value(&self) -> usize {
        let size = match self.sizes() {
            Ok(Sizes::Uniform(_, most) | Sizes::Normal(_, most)) => most,
            Ok(Sizes::Fixed) | Err(_) => 0,
        };
        size.max(usize::try_from(self.value_size).unwrap_or(0))
    }
}

/// Whether the API has no such call for databases with pessimistic transactions.
fn lacks_transactions(task: Task) -> bool {
    matches!(
        task,
        Task::ApproximateSizes
            | Task::BackUp
            | Task::Compact
            | Task::CompactAll
            | Task::CompactLevel0
            | Task::Ingest
            | Task::VerifyTables { .. }
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_checked_by_name() {
        for (name, text) in [
            ("use_existing_keys", "true"),
            ("readwritepercent", "101"),
            ("deletepercent", "11"),
            ("mergereadpercent", "-1"),
            ("multiread_stride", "-1"),
            ("max_scan_distance", "-1"),
            ("range_tombstone_width", "-1"),
            ("numdistinct", "0"),
            ("key_id_range", "0"),
            ("stddev", "-1"),
            ("read_random_exp_range", "-0.5"),
            ("value_size_distribution_type", "zipf"),
            ("expire_style", "never"),
            ("mix_max_scan_len", "0"),
            ("mix_max_value_size", "0"),
            ("mix_get_ratio", "-1"),
            ("mix_get_ratio", "0"),
            ("transaction_sets", "0"),
            ("transaction_sets", "10000"),
            ("transaction_lock_timeout", "-1"),
            ("txn_write_policy", "write_prepared"),
            ("txn_write_policy", "write_late"),
            ("txn_write_policy", "3"),
            ("skip_concurrency_control", "true"),
        ] {
            let mut flags = Flags::default();
            flags.set(name, text).expect("the type is right");
            let error = flags.validate().expect_err(name).to_string();
            assert!(error.contains(name), "{error}");
        }
        let mut flags = Flags {
            value_size_distribution_type: "normal".into(),
            ..Flags::default()
        };
        assert_eq!(flags.sizes(), Ok(Sizes::Normal(100, 102_400)));
        assert_eq!(flags.largest_value(), 102_400);
        flags.value_size_max = 99;
        assert!(flags.sizes().is_err());
    }
}
