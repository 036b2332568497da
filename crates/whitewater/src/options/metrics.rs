//! How a database publishes its statistics to the `metrics` facade.
//!
//! Without the cargo feature `metrics` there are no such options.

/// The label under which statistics are published, and how often.
#[derive(Debug, Clone, Default)]
pub(crate) struct MetricsOptions {
    /// The value of the label `db`; the path of the database when unset.
    #[cfg(feature = "metrics")]
    pub label: Option<String>,
    /// The period of publication. Seconds; 0 is never.
    #[cfg(feature = "metrics")]
    pub period_sec: u32,
}

impl MetricsOptions {
    /// How often the database publishes on its own. Seconds; 0 is never.
    #[cfg(feature = "metrics")]
    pub fn period_sec(&self) -> u32 {
        self.period_sec
    }

    /// 0: without the cargo feature, statistics are never published.
    #[cfg(not(feature = "metrics"))]
    pub fn period_sec(&self) -> u32 {
        0
    }
}
