//! What the test binaries share: the structures behind one trait, the orders that they
//! can have, and adversarial keys.
#![expect(dead_code, reason = "no binary uses all of it")]

pub mod keys;
pub mod order;
pub mod set;
