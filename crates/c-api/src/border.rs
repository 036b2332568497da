//! Arguments and results of the exported functions.
//!
//! A handle is `Option<&T>`, `Option<&mut T>` or `Option<Box<T>>`: a pointer that may be null. What
//! else C passes by pointer has a type of this module. Its constructors are private, so a value
//! comes from C alone, and the contract of `rocksdb/c.h` holds for it: it points to as many
//! elements as the argument beside it says, and they stay as they are during the call.

use libc::{c_char, c_void};
use std::ffi::CStr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::ptr;
use whitewater::{Error, ErrorKind};

pub type Result<T> = std::result::Result<T, Error>;

/// Bytes that C owns; null is the empty string.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Bytes(*const u8);

impl Bytes {
    /// The `len` bytes.
    pub(crate) fn of<'a>(self, len: usize) -> &'a [u8] {
        self.given(len).unwrap_or_default()
    }

    /// The `len` bytes, unless the pointer is null.
    pub(crate) fn given<'a>(self, len: usize) -> Option<&'a [u8]> {
        if self.0.is_null() {
            return None;
        }
        // SAFETY: by the contract of this module there are `len` bytes, which stay.
        Some(unsafe { std::slice::from_raw_parts(self.0, len) })
    }

    /// What a struct of C points to.
    pub(crate) fn at(bytes: *const c_char) -> Self {
        Bytes(bytes.cast())
    }

    /// The same for a callback, to which bytes of this library are passed.
    pub(crate) fn to_c(bytes: &[u8]) -> *const c_char {
        bytes.as_ptr().cast()
    }
}

/// A text that ends with a NUL byte.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Text(*const c_char);

impl Text {
    pub(crate) fn bytes<'a>(self) -> &'a [u8] {
        if self.0.is_null() {
            return b"";
        }
        // SAFETY: by the contract of this module a text ends with a NUL byte and stays.
        unsafe { CStr::from_ptr(self.0) }.to_bytes()
    }

    /// The text; what is not UTF-8 in it is replaced.
    pub(crate) fn lossy(self) -> String {
        String::from_utf8_lossy(self.bytes()).into_owned()
    }

    pub(crate) fn path(self) -> PathBuf {
        use std::os::unix::ffi::OsStrExt;
        PathBuf::from(std::ffi::OsStr::from_bytes(self.bytes()))
    }
}

/// An array that C owns.
#[repr(transparent)]
pub struct List<T>(*const T);

impl<T> Clone for List<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for List<T> {}

impl<T> List<T> {
    /// The `len` elements; none if the pointer is null.
    pub(crate) fn of<'a>(self, len: usize) -> &'a [T] {
        if self.0.is_null() {
            return &[];
        }
        // SAFETY: by the contract of this module there are `len` elements, which stay.
        unsafe { std::slice::from_raw_parts(self.0, len) }
    }
}

/// The strings of a list of pointers and one of lengths.
pub(crate) fn strings<'a>(
    list: List<Bytes>,
    lengths: List<usize>,
    len: usize,
) -> impl ExactSizeIterator<Item = &'a [u8]> + Clone {
    let pairs = list.of::<'a>(len).iter().zip(lengths.of::<'a>(len));
    pairs.map(|(bytes, len)| bytes.of(*len))
}

/// A list of strings, one after the other, as one string.
pub(crate) fn joined(list: List<Bytes>, lengths: List<usize>, len: i32) -> Vec<u8> {
    strings(list, lengths, count(len))
        .flatten()
        .copied()
        .collect()
}

/// A number of elements.
pub(crate) fn count(len: i32) -> usize {
    usize::try_from(len).unwrap_or(0)
}

/// A place, or an array of places, that is written to; null if nothing is wanted.
#[repr(transparent)]
pub struct Out<T>(*mut T);

impl<T> Clone for Out<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Out<T> {}

impl<T> Out<T> {
    /// No place.
    pub(crate) fn none() -> Self {
        Out(ptr::null_mut())
    }

    pub(crate) fn is_none(self) -> bool {
        self.0.is_null()
    }

    pub(crate) fn set(self, value: T) {
        self.set_at(0, value);
    }

    /// Writes the element `index` of an array.
    pub(crate) fn set_at(self, index: usize, value: T) {
        if self.0.is_null() {
            return;
        }
        // SAFETY: by the contract of this module the array has that many elements.
        let place = unsafe { self.0.add(index) };
        // SAFETY: as above; what was there is not looked at, so it may be anything.
        unsafe { place.write(value) };
    }
}

impl Out<c_char> {
    /// Writes bytes, for which there is room.
    pub(crate) fn set_all(self, bytes: &[u8]) {
        for (at, byte) in bytes.iter().enumerate() {
            self.set_at(at, *byte as c_char);
        }
    }
}

/// A copy of `bytes` from `malloc`, with a NUL byte behind it.
pub(crate) fn copied(bytes: &[u8]) -> *mut c_char {
    // SAFETY: `malloc` can be called with any size.
    let copy = unsafe { libc::malloc(bytes.len() + 1) }.cast::<u8>();
    if copy.is_null() {
        std::process::abort(); // as Rust's own allocation does
    }
    // SAFETY: the new memory has room for the bytes, and cannot overlap with them.
    unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), copy, bytes.len()) };
    // SAFETY: the new memory has one byte more.
    let end = unsafe { copy.add(bytes.len()) };
    // SAFETY: as above.
    unsafe { end.write(0) };
    copy.cast()
}

/// An array from `malloc`, of `items`.
pub(crate) fn array<T>(items: Vec<T>) -> *mut T {
    // SAFETY: `malloc` can be called with any size.
    let list = unsafe { libc::malloc(size_of::<T>() * items.len().max(1)) }.cast::<T>();
    if list.is_null() {
        std::process::abort();
    }
    let out = Out(list);
    for (index, item) in items.into_iter().enumerate() {
        out.set_at(index, item);
    }
    list
}

/// Memory that `copied` or `array` has returned, or null.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Malloced(*mut c_void);

impl Malloced {
    /// What a function in C has returned, which says that it comes from `malloc`.
    pub(crate) fn new(memory: *mut c_void) -> Self {
        Malloced(memory)
    }

    pub(crate) fn free(self) {
        // SAFETY: by the contract of this module it comes from `malloc` and is not used again.
        unsafe { libc::free(self.0) };
    }
}

/// A handle from `malloc`, or null. `free` gives it back wholly where what it points to owns
/// nothing.
#[repr(transparent)]
pub struct MallocedHandle<T>(*mut T);

impl<T> MallocedHandle<T> {
    pub(crate) fn new(value: T) -> Self {
        MallocedHandle(array(vec![value]))
    }

    /// Frees the handle and returns what it points to.
    pub(crate) fn take(self) -> Option<T> {
        OwnedList(self.0).take(1).pop()
    }
}

/// An array from `array`, with its elements, which are given back.
#[repr(transparent)]
pub struct OwnedList<T>(*mut T);

impl<T> OwnedList<T> {
    /// Frees the array alone.
    pub(crate) fn free(self) {
        Malloced(self.0.cast()).free();
    }

    /// Frees the array and returns its `len` elements.
    pub(crate) fn take(self, len: usize) -> Vec<T> {
        if self.0.is_null() {
            return Vec::new();
        }
        let items = (0..len).map(|index| {
            // SAFETY: by the contract of this module there are `len` elements.
            let place = unsafe { self.0.add(index) };
            // SAFETY: as above; the array is freed below, so the element has one owner.
            unsafe { place.read() }
        });
        let items = items.collect();
        Malloced(self.0.cast()).free();
        items
    }
}

/// `value`, or a copy of it from `malloc`, and its length.
pub(crate) fn optional(value: Option<impl AsRef<[u8]>>, len: Out<usize>) -> *mut c_char {
    let value = value.as_ref().map(AsRef::as_ref);
    len.set(value.map_or(0, <[u8]>::len));
    value.map_or(ptr::null_mut(), copied)
}

/// Lends `bytes` to C.
pub(crate) fn lent(bytes: Option<&[u8]>, len: Out<usize>) -> *const c_char {
    len.set(bytes.map_or(0, <[u8]>::len));
    bytes.map_or(ptr::null(), |bytes| bytes.as_ptr().cast())
}

/// What a function returns that has nothing to return.
pub(crate) trait Nothing {
    fn nothing() -> Self;
}

macro_rules! nothing {
    ($($ty:ty = $value:expr),* $(,)?) => {$(
        impl Nothing for $ty {
            fn nothing() -> Self {
                $value
            }
        }
    )*};
}
nothing!(
    () = (),
    bool = false,
    u8 = 0,
    i32 = 0,
    u32 = 0,
    i64 = 0,
    u64 = 0,
    usize = 0,
    f64 = 0.0
);

impl<T> Nothing for *mut T {
    fn nothing() -> Self {
        ptr::null_mut()
    }
}
impl<T> Nothing for *const T {
    fn nothing() -> Self {
        ptr::null()
    }
}
impl<T> Nothing for MallocedHandle<T> {
    fn nothing() -> Self {
        MallocedHandle(ptr::null_mut())
    }
}
impl<T> Nothing for Option<T> {
    fn nothing() -> Self {
        None
    }
}

/// Where a function leaves the text of its error.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct ErrPtr(*mut *mut c_char);

impl ErrPtr {
    /// What `f` returns; an error, or a panic, is left in the place.
    pub(crate) fn run<R: Nothing>(self, f: impl FnOnce() -> Result<R>) -> R {
        match catch(f) {
            Ok(result) => result,
            Err(error) => {
                self.save(&error);
                R::nothing()
            }
        }
    }

    /// A place of this library, which holds null or a text from `malloc`.
    pub(crate) fn to(place: &mut *mut c_char) -> Self {
        ErrPtr(place)
    }

    /// Leaves `error` in the place, and frees what was left there before.
    pub(crate) fn save(self, error: &Error) {
        if self.0.is_null() {
            return;
        }
        // SAFETY: by the contract of this module it points to a text from `malloc`, or to null.
        let before = unsafe { self.0.replace(copied(error.to_string().as_bytes())) };
        Malloced(before.cast()).free();
    }
}

/// An array of places for errors, which hold nothing yet.
pub(crate) fn outcome<R: Nothing>(errs: Out<*mut c_char>, at: usize, result: Result<R>) -> R {
    let text = |e: &Error| copied(e.to_string().as_bytes());
    errs.set_at(at, result.as_ref().err().map_or(ptr::null_mut(), text));
    result.unwrap_or_else(|_| R::nothing())
}

/// Runs `f`; a panic becomes an error.
fn catch<R>(f: impl FnOnce() -> Result<R>) -> Result<R> {
    catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|panic| {
        let text = (panic.downcast_ref::<&str>().copied())
            .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        let text = text.unwrap_or("without a message");
        Err(error(ErrorKind::Aborted, &format!("panic: {text}")))
    })
}

/// Runs `f`, of which a panic is nothing.
pub(crate) fn guard<R: Nothing>(f: impl FnOnce() -> R) -> R {
    catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|_| R::nothing())
}

pub(crate) fn error(kind: ErrorKind, text: &str) -> Error {
    Error::new(kind, text)
}

pub(crate) fn invalid(text: &str) -> Error {
    error(ErrorKind::InvalidArgument, text)
}

/// What a handle points to.
pub(crate) fn given<T>(handle: Option<T>) -> Result<T> {
    handle.ok_or_else(|| invalid("a handle is null"))
}

/// Declares exported functions.
macro_rules! exports {
    ($(
        fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)? $body:block
    )*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $name($($arg: $ty),*) $(-> $ret)? {
            $crate::border::guard(move || $body)
        }
    )*};
}
pub(crate) use exports;

/// What tests pass as C does.
#[cfg(test)]
pub(crate) mod testing {
    use super::*;

    impl Bytes {
        pub(crate) fn testing(bytes: &'static [u8]) -> Self {
            Bytes(bytes.as_ptr())
        }
    }

    impl Text {
        pub(crate) fn testing(text: &'static CStr) -> Self {
            Text(text.as_ptr())
        }
    }

    impl<T> List<T> {
        pub(crate) fn testing(list: &'static [T]) -> Self {
            List(list.as_ptr())
        }

        pub(crate) fn null() -> Self {
            List(ptr::null())
        }
    }

    impl<T> Out<T> {
        pub(crate) fn testing(place: &mut T) -> Self {
            Out(place)
        }
    }

    impl<T> MallocedHandle<T> {
        /// What it points to, unless it is null.
        pub(crate) fn get(&self) -> Option<&T> {
            // SAFETY: it was not given back, as that takes it.
            unsafe { self.0.as_ref() }
        }

        /// The same as C passes it to `rocksdb_free`.
        pub(crate) fn malloced(self) -> Malloced {
            Malloced(self.0.cast())
        }
    }

    /// A place for an error.
    pub(crate) struct Place(*mut c_char);

    impl Place {
        pub(crate) fn new() -> Box<Self> {
            Box::new(Place(ptr::null_mut()))
        }

        pub(crate) fn errptr(&mut self) -> ErrPtr {
            ErrPtr(&mut self.0)
        }

        /// The error that was left, which is taken away.
        pub(crate) fn take(&mut self) -> Option<String> {
            let text = std::mem::replace(&mut self.0, ptr::null_mut());
            let lossy = (!text.is_null()).then(|| Text(text).lossy());
            Malloced(text.cast()).free();
            lossy
        }
    }
}
