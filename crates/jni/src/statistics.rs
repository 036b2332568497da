//! Statistics.

use crate::border::{Result, bytes, natives, not_implemented, text};
use crate::handles::{find, give_back, make};
use jni::objects::{JByteArray, JObject, JString, JValue};
use jni::signature::MethodSignature;
use jni::strings::JNIStr;
use jni::{Env, jni_sig, jni_str};
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
    reset: Mutex<HashMap<i8, u64>>,
    level: Mutex<i8>,
}

/// The constants of an enum that Java has asked for, by its numbers of them. They differ from one
/// version of its classes to the next, so that its own class says which one is meant.
struct Constants<T> {
    known: Mutex<HashMap<i8, T>>,
    class: &'static JNIStr,
    find: &'static JNIStr,
    find_type: MethodSignature<'static, 'static>,
}

static TICKERS: LazyLock<Constants<Ticker>> = LazyLock::new(|| Constants {
    known: Mutex::default(),
    class: jni_str!("org/rocksdb/TickerType"),
    find: jni_str!("getTickerType"),
    find_type: jni_sig!("(B)Lorg/rocksdb/TickerType;"),
});
static HISTOGRAMS: LazyLock<Constants<Histogram>> = LazyLock::new(|| Constants {
    known: Mutex::default(),
    class: jni_str!("org/rocksdb/HistogramType"),
    find: jni_str!("getHistogramType"),
    find_type: jni_sig!("(B)Lorg/rocksdb/HistogramType;"),
});

/// The constant that Java calls `name`: `BLOCK_CACHE_MISS` there is `BlockCacheMiss` here.
fn named<T: Debug + Copy>(all: &[T], name: &str) -> Option<T> {
    let name = name.replace('_', "");
    let mut all = all.iter();
    all.find(|own| format!("{own:?}").eq_ignore_ascii_case(&name))
        .copied()
}

impl<T: Debug + Copy> Constants<T> {
    /// The constant of a number.
    fn find(&self, env: &mut Env<'_>, number: i8, all: &[T]) -> Result<T> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(constant) = known.get(&number) {
            return Ok(*constant);
        }
        let arguments = [JValue::Byte(number)];
        let constant = env
            .call_static_method(self.class, self.find, &self.find_type, &arguments)?
            .l()?;
        let name = env.call_method(
            &constant,
            jni_str!("name"),
            jni_sig!("()Ljava/lang/String;"),
            &[],
        )?;
        let name = env.cast_local::<JString>(name.l()?)?;
        let name = text(env, &name)?;
        let constant = named(all, &name).ok_or_else(|| not_implemented(&name))?;
        known.insert(number, constant);
        Ok(constant)
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
    fn count(&self, env: &mut Env<'_>, number: i8, reset: bool) -> Result<i64> {
        let ticker = TICKERS.find(env, number, Ticker::iter().as_slice())?;
        let mut before = self.reset.lock().unwrap_or_else(PoisonError::into_inner);
        let (now, before) = (
            self.options.get_ticker_count(ticker),
            before.entry(number).or_default(),
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
    fn Java_org_rocksdb_Statistics_disposeInternalJni
        Java_org_rocksdb_Statistics_disposeInternal<'l>(_env, statistics: i64) -> () {
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
    fn Java_org_rocksdb_Statistics_getTickerCount<'l>(env, statistics: i64, ticker: i8) -> i64 {
        find::<Statistics>(statistics)?.count(env, ticker, false)
    }
    fn Java_org_rocksdb_Statistics_getAndResetTickerCount<'l>(
        env, statistics: i64, ticker: i8,
    ) -> i64 {
        find::<Statistics>(statistics)?.count(env, ticker, true)
    }
    fn Java_org_rocksdb_Statistics_getHistogramData<'l>(
        env, statistics: i64, histogram: i8,
    ) -> JObject<'l> {
        let histogram = HISTOGRAMS.find(env, histogram, Histogram::iter().as_slice())?;
        let data = find::<Statistics>(statistics)?.options.get_histogram_data(histogram);
        let (average, deviation) = (data.average(), data.std_dev());
        let figures =
            [data.median(), data.p95(), data.p99(), average, deviation, data.max()];
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

    #[test]
    fn constants_of_java_are_found_by_name() {
        let ticker = |name| named(Ticker::iter().as_slice(), name);
        assert_eq!(ticker("BLOCK_CACHE_MISS"), Some(Ticker::BlockCacheMiss));
        assert_eq!(ticker("NO_SUCH_TICKER"), None);
        let histogram = named(Histogram::iter().as_slice(), "DB_GET");
        assert_eq!(histogram, Some(Histogram::DbGet));
    }
}
