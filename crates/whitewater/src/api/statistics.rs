//! Statistics of a database: counts and distributions by RocksDB's names; see
//! [`Options::enable_statistics`](crate::Options::enable_statistics).
//!
//! The lists are RocksDB's, and behind them what only this engine has, whose
//! names begin with `whitewater.`. What this engine collects says so by
//! [`Ticker::is_collected`] and [`Histogram::is_collected`]; the rest stays at
//! 0 and is left out of texts.

pub use crate::stats::{
    Histogram, HistogramCounts, HistogramData, NameParseError, StatsLevel, Ticker,
};
