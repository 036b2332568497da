//! Statistics. Tickers and histograms have numbers of Java's own, in `statistics.tsv`.

use crate::border::{Result, bytes, natives, not_implemented};
use crate::handles::{find, give_back, make};
use jni::objects::{JByteArray, JObject, JString, JValue};
use jni::{jni_sig, jni_str};
use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::{LazyLock, Mutex, PoisonError};
use whitewater::Options;
use whitewater::statistics::{Histogram, StatsLevel, Ticker};

/// Statistics, which options share.
pub(crate) struct Statistics {
    /// They hold the statistics.
    pub(crate) options: Options,
    /// What tickers had counted when Java reset them.
    reset: Mutex<HashMap<u8, u64>>,
    level: Mutex<i8>,
}

/// The constants of an enum, by Java's numbers of them.
struct Constants<T> {
    known: HashMap<u8, T>,
    names: HashMap<u8, &'static str>,
}

static TICKERS: LazyLock<Constants<Ticker>> =
    LazyLock::new(|| Constants::new("ticker", Ticker::iter()));
static HISTOGRAMS: LazyLock<Constants<Histogram>> =
    LazyLock::new(|| Constants::new("histogram", Histogram::iter()));

impl<T: Debug + Copy + 'static> Constants<T> {
    fn new(kind: &str, own: std::slice::Iter<'static, T>) -> Self {
        // `BLOCK_CACHE_MISS` there is `BlockCacheMiss` here.
        let by_name: HashMap<_, _> = own
            .map(|constant| (format!("{constant:?}").to_lowercase(), *constant))
            .collect();
        let rows = include_str!("../statistics.tsv").lines();
        let rows =
            rows.filter_map(|row| row.strip_prefix(kind)?.strip_prefix('\t')?.split_once('\t'));
        let (mut known, mut names) = (HashMap::new(), HashMap::new());
        for (number, name) in rows {
            let number = number.parse::<i16>().expect("the list has numbers") as u8;
            names.insert(number, name);
            let constant = by_name.get(&name.replace('_', "").to_lowercase());
            known.extend(constant.map(|constant| (number, *constant)));
        }
        Constants { known, names }
    }

    /// The constant of a number.
    fn find(&self, number: i8) -> Result<T> {
        let number = number as u8;
        let name = self
            .names
            .get(&number)
            .copied()
            .unwrap_or("an unknown number");
        let constant = self.known.get(&number);
        constant.copied().ok_or_else(|| not_implemented(name))
    }
}

impl Statistics {
    fn new() -> Self {
        let mut options = Options::default();
        options.enable_statistics();
        Statistics {
            options,
            reset: Mutex::default(),
            level: Mutex::new(0),
        }
    }

    /// What a ticker has counted since Java has reset it; resets it now if `reset`.
    fn count(&self, number: i8, reset: bool) -> Result<i64> {
        let ticker = TICKERS.find(number)?;
        let mut before = self.reset.lock().unwrap_or_else(PoisonError::into_inner);
        let (now, before) = (
            self.options.get_ticker_count(ticker),
            before.entry(number as u8).or_default(),
        );
        let since = now.saturating_sub(*before);
        if reset {
            *before = now;
        }
        Ok(since as i64)
    }
}

natives! {
    fn Java_org_rocksdb_Statistics_newStatistics__<'l>(_env) -> i64 {
        make(Statistics::new())
    }
    fn Java_org_rocksdb_Statistics_newStatistics___3B<'l>(
        env, left_out: JByteArray<'l>,
    ) -> i64 {
        if !bytes(env, &left_out)?.is_empty() {
            return Err(not_implemented("Statistics with histograms left out"));
        }
        make(Statistics::new())
    }
    fn Java_org_rocksdb_Statistics_disposeInternalJni<'l>(_env, statistics: i64) -> () {
        give_back(statistics);
        Ok(())
    }
    fn Java_org_rocksdb_Statistics_statsLevel<'l>(_env, statistics: i64) -> i8 {
        Ok(*find::<Statistics>(statistics)?.level.lock().unwrap_or_else(PoisonError::into_inner))
    }
    fn Java_org_rocksdb_Statistics_setStatsLevel<'l>(_env, statistics: i64, level: i8) -> () {
        let found = find::<Statistics>(statistics)?;
        found.options.set_statistics_level(match level {
            1 => StatsLevel::ExceptTimeForMutex,
            2 => StatsLevel::All,
            _ => StatsLevel::ExceptDetailedTimers,
        });
        *found.level.lock().unwrap_or_else(PoisonError::into_inner) = level;
        Ok(())
    }
    fn Java_org_rocksdb_Statistics_getTickerCount<'l>(_env, statistics: i64, ticker: i8) -> i64 {
        find::<Statistics>(statistics)?.count(ticker, false)
    }
    fn Java_org_rocksdb_Statistics_getAndResetTickerCount<'l>(
        _env, statistics: i64, ticker: i8,
    ) -> i64 {
        find::<Statistics>(statistics)?.count(ticker, true)
    }
    fn Java_org_rocksdb_Statistics_getHistogramData<'l>(
        env, statistics: i64, histogram: i8,
    ) -> JObject<'l> {
        let histogram = HISTOGRAMS.find(histogram)?;
        let data = find::<Statistics>(statistics)?.options.get_histogram_data(histogram);
        let figures = [data.median(), data.p95(), data.p99(), data.average(), data.std_dev(), data.max()];
        let mut all: Vec<JValue<'_>> = figures.into_iter().map(JValue::Double).collect();
        all.extend([data.count(), data.sum()].map(|number| JValue::Long(number as i64)));
        all.push(JValue::Double(data.min()));
        Ok(env.new_object(
            jni_str!("org/rocksdb/HistogramData"),
            jni_sig!("(DDDDDDJJD)V"),
            &all,
        )?)
    }
    fn Java_org_rocksdb_Statistics_toString<'l>(env, statistics: i64) -> JString<'l> {
        let text = find::<Statistics>(statistics)?.options.get_statistics();
        Ok(env.new_string(text.unwrap_or_default())?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What Kafka Streams asks for.
    #[test]
    fn numbers_of_java_are_those_of_rocksdb() {
        assert_eq!(
            TICKERS.find(0).expect("it is known"),
            Ticker::BlockCacheMiss
        );
        assert!(TICKERS.known.len() > 150, "{}", TICKERS.known.len());
        assert!(HISTOGRAMS.known.len() > 50, "{}", HISTOGRAMS.known.len());
        assert!(HISTOGRAMS.find(-1).is_err(), "there is none of this number");
    }
}
