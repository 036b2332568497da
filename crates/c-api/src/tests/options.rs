//! Options that are set by RocksDB's names.

use crate::options::table::NAMES;
use whitewater::Options;

/// A setter that names an option which the engine does not know makes every open fail. These are
/// the setters of the table; those written by hand are not among them.
#[test]
fn options_are_set_by_names_that_the_engine_knows() {
    let mut refused = Vec::new();
    for &(name, form) in NAMES {
        for number in [0u8, 1] {
            let text = format!("{name}={}", form.print(number));
            if let Err(e) = Options::default().get_options_from_string(&text) {
                refused.push(e.to_string());
            }
        }
    }
    assert_eq!(refused, [""; 0]);
}
