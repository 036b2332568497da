//! What an open database reports as being in force where its options leave the
//! choice to it: for the header, the JSON and the page.

use serde_json::{Value, json};

use super::engine::Engine;

/// The commit protocol and the memtable in force; `None` where the engine has no
/// such property.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InForce {
    /// The commit protocol.
    pub commit_protocol: Option<String>,
    /// The memtable representation.
    pub memtable: Option<String>,
}

impl InForce {
    /// Asks the engine.
    pub fn of<E: Engine>(engine: &E) -> Self {
        let named = |name: &str| engine.property(name).filter(|value| !value.is_empty());
        InForce {
            commit_protocol: named("whitewater.commit-protocol"),
            memtable: named("whitewater.memtable"),
        }
    }

    /// The values as JSON; unknown ones are null.
    pub fn json(&self) -> Value {
        json!({ "commit_protocol": self.commit_protocol, "memtable": self.memtable })
    }

    /// Both values in one line; empty if neither is known.
    pub fn line(&self) -> String {
        let parts = [
            ("commit protocol", &self.commit_protocol),
            ("memtable", &self.memtable),
        ];
        let known: Vec<_> = parts
            .iter()
            .filter_map(|(name, value)| Some(format!("{name} {}", value.as_ref()?)))
            .collect();
        known.join(", ")
    }
}

/// The name that RocksDB's db_bench has for a memtable, given its name here,
/// perhaps with properties.
pub fn memtable_title(name: &str) -> &str {
    match name {
        "skip_list" => "SkipListFactory",
        "vector" => "VectorRepFactory",
        "prefix_hash" => "HashSkipListRepFactory",
        "hash_linkedlist" => "HashLinkListRepFactory",
        own => match own.strip_prefix("{id=") {
            Some(properties) => properties.split(';').next().unwrap_or(own),
            None => own,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memtables_have_rocksdbs_names() {
        for (name, title) in [
            ("skip_list", "SkipListFactory"),
            (
                "{id=HashSkipListRepFactory;bucket_count=7;}",
                "HashSkipListRepFactory",
            ),
            ("hash_linkedlist", "HashLinkListRepFactory"),
            ("art", "art"),
        ] {
            assert_eq!(memtable_title(name), title);
        }
    }

    #[test]
    fn an_engine_without_the_properties_has_nothing_in_force() {
        assert_eq!(InForce::default().line(), "");
        assert!(InForce::default().json()["memtable"].is_null());
    }
}
