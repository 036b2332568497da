//! hash64
