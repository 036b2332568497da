//! Record types and header layout.
