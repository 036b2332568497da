//! The macro `delegate_fs!`: methods of a file system that wraps another one.

/// Implements the named methods of [`Fs`](crate::fs::Fs) by calling the same method of a field.
///
/// `delegate_fs!(inner: exists, list);` calls `self.inner.exists(path)` and
/// `self.inner.list(path)`. `delegate_fs!(inner via guard: rename);` calls
/// `self.guard(|| self.inner.rename(from, to))`: the method `guard` decides whether and when the
/// call happens, and may change its result.
#[doc(hidden)]
#[macro_export]
macro_rules! delegate_fs {
    (@call $me:ident $inner:tt [] $($call:tt)*) => {
        $me.$inner.$($call)*
    };
    (@call $me:ident $inner:tt [$via:ident] $($call:tt)*) => {
        $me.$via(|| $me.$inner.$($call)*)
    };
    (@method $inner:tt $via:tt create) => {
        fn create(&self, path: &::std::path::Path) -> $crate::Result<::std::boxed::Box<dyn $crate::fs::WritableFile>> {
            $crate::delegate_fs!(@call self $inner $via create(path))
        }
    };
    (@method $inner:tt $via:tt create_direct) => {
        fn create_direct(&self, path: &::std::path::Path) -> $crate::Result<::std::boxed::Box<dyn $crate::fs::WritableFile>> {
            $crate::delegate_fs!(@call self $inner $via create_direct(path))
        }
    };
    (@method $inner:tt $via:tt open_append) => {
        fn open_append(&self, path: &::std::path::Path) -> $crate::Result<::std::boxed::Box<dyn $crate::fs::WritableFile>> {
            $crate::delegate_fs!(@call self $inner $via open_append(path))
        }
    };
    (@method $inner:tt $via:tt reuse) => {
        fn reuse(&self, old: &::std::path::Path, new: &::std::path::Path) -> $crate::Result<::std::boxed::Box<dyn $crate::fs::WritableFile>> {
            $crate::delegate_fs!(@call self $inner $via reuse(old, new))
        }
    };
    (@method $inner:tt $via:tt open_random) => {
        fn open_random(&self, path: &::std::path::Path) -> $crate::Result<::std::sync::Arc<dyn $crate::fs::RandomAccessFile>> {
            $crate::delegate_fs!(@call self $inner $via open_random(path))
        }
    };
    (@method $inner:tt $via:tt open_random_direct) => {
        fn open_random_direct(&self, path: &::std::path::Path) -> $crate::Result<::std::sync::Arc<dyn $crate::fs::RandomAccessFile>> {
            $crate::delegate_fs!(@call self $inner $via open_random_direct(path))
        }
    };
    (@method $inner:tt $via:tt open_sequential) => {
        fn open_sequential(&self, path: &::std::path::Path) -> $crate::Result<::std::boxed::Box<dyn $crate::fs::SequentialFile>> {
            $crate::delegate_fs!(@call self $inner $via open_sequential(path))
        }
    };
    (@method $inner:tt $via:tt exists) => {
        fn exists(&self, path: &::std::path::Path) -> $crate::Result<bool> {
            $crate::delegate_fs!(@call self $inner $via exists(path))
        }
    };
    (@method $inner:tt $via:tt file_size) => {
        fn file_size(&self, path: &::std::path::Path) -> $crate::Result<u64> {
            $crate::delegate_fs!(@call self $inner $via file_size(path))
        }
    };
    (@method $inner:tt $via:tt modified) => {
        fn modified(&self, path: &::std::path::Path) -> $crate::Result<u64> {
            $crate::delegate_fs!(@call self $inner $via modified(path))
        }
    };
    (@method $inner:tt $via:tt list) => {
        fn list(&self, path: &::std::path::Path) -> $crate::Result<::std::vec::Vec<::std::string::String>> {
            $crate::delegate_fs!(@call self $inner $via list(path))
        }
    };
    (@method $inner:tt $via:tt create_dir_all) => {
        fn create_dir_all(&self, path: &::std::path::Path) -> $crate::Result<()> {
            $crate::delegate_fs!(@call self $inner $via create_dir_all(path))
        }
    };
    (@method $inner:tt $via:tt remove) => {
        fn remove(&self, path: &::std::path::Path) -> $crate::Result<()> {
            $crate::delegate_fs!(@call self $inner $via remove(path))
        }
    };
    (@method $inner:tt $via:tt remove_dir) => {
        fn remove_dir(&self, path: &::std::path::Path) -> $crate::Result<()> {
            $crate::delegate_fs!(@call self $inner $via remove_dir(path))
        }
    };
    (@method $inner:tt $via:tt rename) => {
        fn rename(&self, from: &::std::path::Path, to: &::std::path::Path) -> $crate::Result<()> {
            $crate::delegate_fs!(@call self $inner $via rename(from, to))
        }
    };
    (@method $inner:tt $via:tt truncate) => {
        fn truncate(&self, path: &::std::path::Path, len: u64) -> $crate::Result<()> {
            $crate::delegate_fs!(@call self $inner $via truncate(path, len))
        }
    };
    (@method $inner:tt $via:tt num_links) => {
        fn num_links(&self, path: &::std::path::Path) -> $crate::Result<u64> {
            $crate::delegate_fs!(@call self $inner $via num_links(path))
        }
    };
    (@method $inner:tt $via:tt free_space) => {
        fn free_space(&self, path: &::std::path::Path) -> $crate::Result<u64> {
            $crate::delegate_fs!(@call self $inner $via free_space(path))
        }
    };
    (@method $inner:tt $via:tt link) => {
        fn link(&self, from: &::std::path::Path, to: &::std::path::Path) -> $crate::Result<()> {
            $crate::delegate_fs!(@call self $inner $via link(from, to))
        }
    };
    (@method $inner:tt $via:tt sync_dir) => {
        fn sync_dir(&self, path: &::std::path::Path) -> $crate::Result<()> {
            $crate::delegate_fs!(@call self $inner $via sync_dir(path))
        }
    };
    (@method $inner:tt $via:tt open_dir) => {
        fn open_dir(&self, path: &::std::path::Path) -> $crate::Result<$crate::fs::OpenDir> {
            $crate::delegate_fs!(@call self $inner $via open_dir(path))
        }
    };
    (@method $inner:tt $via:tt sync_open_dir) => {
        fn sync_open_dir(&self, dir: &$crate::fs::OpenDir) -> $crate::Result<()> {
            $crate::delegate_fs!(@call self $inner $via sync_open_dir(dir))
        }
    };
    (@method $inner:tt $via:tt lock) => {
        fn lock(&self, path: &::std::path::Path) -> $crate::Result<::std::boxed::Box<dyn $crate::fs::FileLock>> {
            $crate::delegate_fs!(@call self $inner $via lock(path))
        }
    };
    (@method $inner:tt $via:tt open_shared) => {
        fn open_shared(
            &self,
            path: &::std::path::Path,
            from: ::std::option::Option<&::std::path::Path>,
            options: $crate::fs::SharedOptions,
        ) -> $crate::Result<::std::boxed::Box<dyn $crate::fs::SharedFile>> {
            $crate::delegate_fs!(@call self $inner $via open_shared(path, from, options))
        }
    };
    ($inner:tt: $($method:ident),+ $(,)?) => {
        $($crate::delegate_fs!(@method $inner [] $method);)+
    };
    ($inner:tt via $via:ident: $($method:ident),+ $(,)?) => {
        $($crate::delegate_fs!(@method $inner [$via] $method);)+
    };
}
