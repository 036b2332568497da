//! First-error latch.
