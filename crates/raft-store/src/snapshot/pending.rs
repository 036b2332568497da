//! Which groups have a snapshot that has arrived and is not installed yet.
//!
//! openraft asks to purge the log up to a received snapshot at once, while the state machine still
//! installs it. If that purge were in the database first, a crash between them would leave neither
//! the entries nor the state. So a purge waits for the installation.

use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::watch;

/// How many such snapshots each group has.
#[derive(Debug, Clone)]
pub(crate) struct Installs(Arc<watch::Sender<BTreeMap<u64, usize>>>);

impl Default for Installs {
    fn default() -> Self {
        Installs(Arc::new(watch::Sender::new(BTreeMap::new())))
    }
}

impl Installs {
    /// A snapshot of `group` has arrived.
    pub fn begin(&self, group: u64) -> Pending {
        self.0
            .send_modify(|groups| *groups.entry(group).or_default() += 1);
        Pending {
            installs: self.clone(),
            group,
        }
    }

    /// Whether there is one of `group`.
    pub fn are_pending(&self, group: u64) -> bool {
        self.0.borrow().contains_key(&group)
    }

    /// Returns once there is none of `group`, or `done` is true when another one has ended.
    pub async fn end(&self, group: u64, mut done: impl FnMut() -> bool) {
        let mut groups = self.0.subscribe();
        // It fails only if the sender is gone, which is here.
        _ = groups
            .wait_for(|groups| !groups.contains_key(&group) || done())
            .await;
    }
}

/// A snapshot that has arrived; dropped when it is installed, or will not be.
#[derive(Debug)]
pub(crate) struct Pending {
    installs: Installs,
    group: u64,
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.installs.0.send_modify(|groups| {
            if let Some(count) = groups.get_mut(&self.group) {
                *count -= 1;
                if *count == 0 {
                    groups.remove(&self.group);
                }
            }
        });
    }
}
