//! What the test binaries share: the structures behind one trait, the orders
//! they can have, and hard keys.
#![expect(dead_code, reason = "no binary uses all of it")]

pub mod keys;
pub mod order;
pub mod set;
