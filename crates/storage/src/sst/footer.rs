//! footer
