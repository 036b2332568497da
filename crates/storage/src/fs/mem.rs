//! In-memory file system.
