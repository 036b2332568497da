//! Strings that become C strings.
//!
//! Nothing here calls C; the trait is kept so that code written against the
//! `rocksdb` crate, which takes names as `impl CStrLike`, compiles unchanged.

use std::convert::Infallible;
use std::ffi::{CStr, CString, NulError};
use std::fmt::{Debug, Display};
use std::ops::Deref;

/// Whatever can be turned into a C string, at the cost of an allocation only
/// where one is needed.
///
/// ```
/// use std::ffi::CString;
/// use whitewater::CStrLike;
///
/// fn length(name: impl CStrLike) -> Option<usize> {
///     name.bake().ok().map(|name| name.to_bytes().len())
/// }
///
/// assert_eq!(length("stats"), Some(5));
/// assert_eq!(length(&String::from("stats")), Some(5));
/// assert_eq!(length(c"stats"), Some(5));
/// assert_eq!(length(CString::new("stats").unwrap()), Some(5));
/// assert_eq!(length("st\0ts"), None);
/// ```
pub trait CStrLike {
    /// What [`CStrLike::bake`] returns.
    type Baked: Deref<Target = CStr>;
    /// Why a conversion failed.
    type Error: Debug + Display;

    /// Makes a value that derefs to `CStr`.
    ///
    /// # Errors
    /// When the string has a NUL byte inside.
    fn bake(self) -> Result<Self::Baked, Self::Error>;

    /// Makes an owned C string; returns `self` when it is one.
    ///
    /// # Errors
    /// When the string has a NUL byte inside.
    fn into_c_string(self) -> Result<CString, Self::Error>;
}

impl CStrLike for &str {
    type Baked = CString;
    type Error = NulError;

    fn bake(self) -> Result<CString, NulError> {
        CString::new(self)
    }
    fn into_c_string(self) -> Result<CString, NulError> {
        CString::new(self)
    }
}

impl CStrLike for &String {
    type Baked = CString;
    type Error = NulError;

    fn bake(self) -> Result<CString, NulError> {
        self.as_str().bake()
    }
    fn into_c_string(self) -> Result<CString, NulError> {
        self.as_str().into_c_string()
    }
}

impl CStrLike for &CStr {
    type Baked = Self;
    type Error = Infallible;

    fn bake(self) -> Result<Self, Infallible> {
        Ok(self)
    }
    fn into_c_string(self) -> Result<CString, Infallible> {
        Ok(self.to_owned())
    }
}

impl CStrLike for CString {
    type Baked = CString;
    type Error = Infallible;

    fn bake(self) -> Result<CString, Infallible> {
        Ok(self)
    }
    fn into_c_string(self) -> Result<CString, Infallible> {
        Ok(self)
    }
}

impl<'a> CStrLike for &'a CString {
    type Baked = &'a CStr;
    type Error = Infallible;

    fn bake(self) -> Result<&'a CStr, Infallible> {
        Ok(self)
    }
    fn into_c_string(self) -> Result<CString, Infallible> {
        Ok(self.clone())
    }
}
