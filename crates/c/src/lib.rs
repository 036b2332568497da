//! `librocksdb`: the functions of `whitewater-c-api`, for the linker.

pub use whitewater_c_api::*;
