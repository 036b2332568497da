//! `--perf_level` and `--stats_level`: RocksDB's numbers, and the names that the
//! engines' crates have for them.
//!
//! The `rocksdb` crate passes its names on as numbers, but its list has one level
//! more than RocksDB's. With that crate, the name with the right number is used,
//! whatever the name says.

/// The `--perf_level` that measures nothing.
pub const NOTHING: i32 = 1;
/// The valid values of `--perf_level`.
pub const PERF_LEVELS: std::ops::RangeInclusive<i32> = 1..=6;
/// The valid values of `--stats_level`.
pub const STATS_LEVELS: std::ops::RangeInclusive<i32> = 0..=5;
/// The `--stats_level` that has tickers only.
pub const TICKERS: i32 = 1;

/// This engine's levels.
pub mod own {
    use crate::bench::engine::{Failure, Result};
    use whitewater::PerfStatsLevel;
    use whitewater::statistics::StatsLevel;

    /// The level that `--perf_level=level` stands for.
    ///
    /// # Errors
    /// The engine lacks this level.
    pub fn perf(level: i32) -> Result<PerfStatsLevel> {
        Ok(match level {
            1 => PerfStatsLevel::Disable,
            2 => PerfStatsLevel::EnableCount,
            4 => PerfStatsLevel::EnableTimeExceptForMutex,
            5 => PerfStatsLevel::EnableTimeAndCPUTimeExceptForMutex,
            6 => PerfStatsLevel::EnableTime,
            _ => {
                return Err(Failure(format!(
                    "--perf_level={level}: this engine has 1 nothing, 2 counts, 4 and 5 times but for mutexes, 6 everything"
                )));
            }
        })
    }

    /// The level that `--stats_level=level` stands for.
    ///
    /// # Errors
    /// The engine lacks this level.
    pub fn statistics(level: i32) -> Result<StatsLevel> {
        Ok(match level {
            0 => StatsLevel::DisableAll,
            1 => StatsLevel::ExceptHistogramOrTimers,
            2 => StatsLevel::ExceptTimers,
            3 => StatsLevel::ExceptDetailedTimers,
            4 => StatsLevel::ExceptTimeForMutex,
            5 => StatsLevel::All,
            _ => {
                return Err(Failure(format!(
                    "--stats_level={level}: this engine has 0 to 5"
                )));
            }
        })
    }
}

/// The levels of the peer.
#[cfg(feature = "peer-rocksdb")]
pub mod peer {
    use crate::bench::engine::{Failure, Result};
    use rocksdb::PerfStatsLevel;
    use rocksdb::statistics::StatsLevel;

    /// The level that `--perf_level=level` stands for.
    ///
    /// # Errors
    /// There is no such level.
    pub fn perf(level: i32) -> Result<PerfStatsLevel> {
        use PerfStatsLevel::*;
        [
            Disable,
            EnableCount,
            EnableTimeExceptForMutex,
            EnableTimeAndCPUTimeExceptForMutex,
            EnableTime,
            OutOfBound,
        ]
        .into_iter()
        .find(|name| *name as i32 == level)
        .ok_or_else(|| Failure(format!("--perf_level={level}: RocksDB has 1 to 6")))
    }

    /// The level that `--stats_level=level` stands for.
    ///
    /// # Errors
    /// The crate has no name for this level.
    pub fn statistics(level: i32) -> Result<StatsLevel> {
        use StatsLevel::*;
        [
            DisableAll,
            ExceptHistogramOrTimers,
            ExceptTimers,
            ExceptDetailedTimers,
            ExceptTimeForMutex,
        ]
        .into_iter()
        .find(|name| *name as i32 == level)
        .ok_or_else(|| {
            Failure(format!(
                "--stats_level={level}: the rocksdb crate has a name for 0 and 2 to 5"
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_a_level_or_refused() {
        for level in PERF_LEVELS {
            assert_eq!(own::perf(level).is_err(), level == 3, "{level}");
        }
        assert!(own::perf(0).is_err() && own::perf(7).is_err());
        for level in STATS_LEVELS {
            assert!(own::statistics(level).is_ok(), "{level}");
        }
        assert!(own::statistics(6).is_err());
        assert_eq!(
            own::statistics(TICKERS),
            Ok(whitewater::statistics::StatsLevel::ExceptHistogramOrTimers)
        );
    }

    #[cfg(feature = "peer-rocksdb")]
    #[test]
    fn the_peers_names_have_the_numbers() {
        for level in PERF_LEVELS {
            assert_eq!(peer::perf(level).expect("level") as i32, level);
        }
        for level in [0, 2, 3, 4, 5] {
            assert_eq!(peer::statistics(level).expect("level") as i32, level);
        }
        assert!(peer::statistics(1).is_err());
    }
}
