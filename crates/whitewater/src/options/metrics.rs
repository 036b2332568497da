//! How a database hands its statistics to the `metrics` facade.
//!
//! Without the cargo feature `metrics` there is nothing to choose.

/// Under which label, and how often.
#[derive(Debug, Clone, Default)]
pub(crate) struct MetricsOptions {
    /// The label `db`; the path of the database when unset.
    #[cfg(feature = "metrics")]
    pub label: Option<String>,
    /// Seconds; 0 is never.
    #[cfg(feature = "metrics")]
    pub period_sec: u32,
}

impl MetricsOptions {
    /// How often the database publishes by itself. Seconds; 0 is never.
    #[cfg(feature = "metrics")]
    pub fn period_sec(&self) -> u32 {
        self.period_sec
    }

    /// Never.
    #[cfg(not(feature = "metrics"))]
    pub fn period_sec(&self) -> u32 {
        0
    }
}
