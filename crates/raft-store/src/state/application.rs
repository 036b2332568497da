//! What a program supplies: how a request changes the state.

use super::family::Family;
use crate::engine::{Change, Named};
use crate::error::{Cause, Error};
use crate::keys;
use openraft::RaftTypeConfig;
use std::collections::BTreeMap;

/// The application whose requests are replicated.
pub trait Application<C: RaftTypeConfig>: Send + Sync + 'static {
    /// Applies a committed request: changes `view` and returns the answer. It must depend on
    /// nothing but the request and the view, because each node calls it, and again after a crash.
    ///
    /// It is called on a thread of the runtime, one request of a group at a time.
    ///
    /// # Errors
    /// Those of the view. Any error stops the node, so a request that is wrong gets an answer that
    /// says so.
    fn apply(&self, request: C::D, view: &mut View<'_>) -> Result<C::R, Cause>;

    /// The answer to an entry that is no request: of a new leader, or a change of membership.
    fn no_request(&self) -> C::R;
}

/// The state of a group as a request sees it, with the changes of the requests before it.
pub struct View<'a> {
    family: &'a Family,
    changes: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
}

impl<'a> View<'a> {
    pub(super) fn new(family: &'a Family) -> Self {
        View {
            family,
            changes: BTreeMap::new(),
        }
    }

    /// The value of `key`.
    ///
    /// # Errors
    /// Those of the database.
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        match self.changes.get(key) {
            Some(value) => Ok(value.clone()),
            None => self.family.get(key),
        }
    }

    /// Sets `key` to `value`.
    pub fn put(&mut self, key: impl Into<Vec<u8>>, value: impl Into<Vec<u8>>) {
        self.changes.insert(key.into(), Some(value.into()));
    }

    /// Deletes `key`.
    pub fn delete(&mut self, key: impl Into<Vec<u8>>) {
        self.changes.insert(key.into(), None);
    }

    /// The changes, for the family called `name`.
    pub(super) fn into_changes(self, name: &str) -> Vec<Named> {
        let change = |(key, value): (Vec<u8>, Option<Vec<u8>>)| {
            let key = keys::of_application(&key);
            let change = match value {
                Some(value) => Change::Put(key, value),
                None => Change::Delete(key),
            };
            (name.to_owned().into(), change)
        };
        self.changes.into_iter().map(change).collect()
    }
}
