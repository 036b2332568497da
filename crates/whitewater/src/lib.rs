//! whitewater
