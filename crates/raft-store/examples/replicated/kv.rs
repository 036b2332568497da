//! The application: texts by key.

use serde::{Deserialize, Serialize};
use whitewater_raft_store::{Application, Cause, SnapshotFiles, View};

openraft::declare_raft_types!(
    /// What is replicated, and what openraft's types are.
    pub Types:
        D = Set,
        R = Before,
        SnapshotData = SnapshotFiles
);

/// Sets a key to a value.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Set {
    pub key: String,
    pub value: String,
}

/// The value that the key had.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Before(pub Option<String>);

pub struct KeyValue;

impl Application<Types> for KeyValue {
    fn apply(&self, set: Set, view: &mut View<'_>) -> Result<Before, Cause> {
        let before = view.get(set.key.as_bytes())?;
        view.put(set.key, set.value);
        Ok(Before(before.map(String::from_utf8).transpose()?))
    }

    fn no_request(&self) -> Before {
        Before(None)
    }
}
