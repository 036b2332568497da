//! The operating system's file system.
/// The operating system's file system.
#[derive(Debug, Default, Clone)]
pub struct OsFs;
