//! Statistics.

/// Tickers and histograms of a database.
#[derive(Debug, Default)]
pub(crate) struct Statistics {}
