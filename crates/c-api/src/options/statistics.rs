//! Statistics. Tickers and histograms go by RocksDB's numbers of them (`numbers`).

use super::database::with;
use super::numbers;
use super::rocksdb_options_t;
use super::values::made;
use crate::border::{Out, exports, optional};
use libc::c_char;
use whitewater::Options;
use whitewater::statistics::{HistogramData, StatsLevel};

/// A distribution.
pub struct rocksdb_statistics_histogram_data_t(HistogramData);

const LEVEL: &str = "statistics_level";
/// RocksDB's `kExceptDetailedTimers`.
const DEFAULT_LEVEL: i32 = 3;

fn level(number: i32) -> StatsLevel {
    match number {
        ..=0 => StatsLevel::DisableAll,
        1 => StatsLevel::ExceptHistogramOrTimers,
        2 => StatsLevel::ExceptTimers,
        3 => StatsLevel::ExceptDetailedTimers,
        4 => StatsLevel::ExceptTimeForMutex,
        _ => StatsLevel::All,
    }
}

made! {
    rocksdb_statistics_histogram_data_t =
        rocksdb_statistics_histogram_data_t(HistogramData::new()),
        rocksdb_statistics_histogram_data_create, rocksdb_statistics_histogram_data_destroy;
}

/// Declares functions that return a figure of a distribution.
macro_rules! figures {
    ($($name:ident -> $ty:ty = $figure:ident;)*) => {
        exports! {$(
            fn $name(data: Option<&rocksdb_statistics_histogram_data_t>) -> $ty {
                data.map_or(<$ty>::default(), |data| data.0.$figure())
            }
        )*}
    };
}

figures! {
    rocksdb_statistics_histogram_data_get_median -> f64 = median;
    rocksdb_statistics_histogram_data_get_p95 -> f64 = p95;
    rocksdb_statistics_histogram_data_get_p99 -> f64 = p99;
    rocksdb_statistics_histogram_data_get_average -> f64 = average;
    rocksdb_statistics_histogram_data_get_std_dev -> f64 = std_dev;
    rocksdb_statistics_histogram_data_get_max -> f64 = max;
    rocksdb_statistics_histogram_data_get_min -> f64 = min;
    rocksdb_statistics_histogram_data_get_count -> u64 = count;
    rocksdb_statistics_histogram_data_get_sum -> u64 = sum;
}

exports! {
    fn rocksdb_options_enable_statistics(options: Option<&mut rocksdb_options_t>) {
        with(options, Options::enable_statistics);
    }
    fn rocksdb_options_statistics_get_string(options: Option<&rocksdb_options_t>) -> *mut c_char {
        let text = options.and_then(|options| options.options.get_statistics());
        optional(text, Out::none())
    }
    fn rocksdb_options_set_statistics_level(
        options: Option<&mut rocksdb_options_t>, number: i32,
    ) {
        if let Some(options) = options {
            options.options.set_statistics_level(level(number));
            options.keep(LEVEL, number.clamp(0, 5).to_string());
        }
    }
    fn rocksdb_options_get_statistics_level(options: Option<&rocksdb_options_t>) -> i32 {
        let Some(options) = options.filter(|o| o.options.get_statistics().is_some()) else {
            return 0;
        };
        let kept = options.get(LEVEL).and_then(|text| text.parse().ok());
        kept.unwrap_or(DEFAULT_LEVEL)
    }
    fn rocksdb_options_statistics_get_ticker_count(
        options: Option<&rocksdb_options_t>, ticker: u32,
    ) -> u64 {
        let asked = options.zip(numbers::ticker(ticker));
        asked.map_or(0, |(options, ticker)| options.options.get_ticker_count(ticker))
    }
    fn rocksdb_options_statistics_get_histogram_data(
        options: Option<&rocksdb_options_t>, histogram: u32,
        data: Option<&mut rocksdb_statistics_histogram_data_t>,
    ) {
        let histogram = numbers::histogram(histogram);
        if let Some(((options, data), histogram)) = options.zip(data).zip(histogram) {
            data.0 = options.options.get_histogram_data(histogram);
        }
    }
}
