//! The atomics and locks of this crate: std and parking_lot, or loom's under
//! `cfg(loom)`.
