//! The rows of the option tables, for tools that choose options at random.
//!
//! `stress` draws its random options from this list, so a new row is either drawn, or refused
//! by a test, without further work. The module is compiled with the cargo feature
//! `option-tables` only and is not part of the public API.

use super::table::OptionTable;
use super::{CfOptions, DbOptions};
use whitewater_storage::sst::TableOptions;

/// One option that has a text form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptionRow {
    /// The option's name.
    pub name: &'static str,
    /// The default value as text.
    pub default: String,
    /// Whether the option can be changed while the database is open.
    pub changes_live: bool,
}

/// The options of a whole database.
pub fn database() -> Vec<OptionRow> {
    rows::<DbOptions>()
}

/// The options of a column family, except for those of its tables.
pub fn column_family() -> Vec<OptionRow> {
    rows::<CfOptions>()
}

/// The table options of a column family.
pub fn table() -> Vec<OptionRow> {
    rows::<TableOptions>()
}

fn rows<T: OptionTable + Default>() -> Vec<OptionRow> {
    let row = |(name, default)| OptionRow {
        name,
        default,
        changes_live: T::changes_live(name) == Some(true),
    };
    T::default().to_text().into_iter().map(row).collect()
}
