//! Names of properties, checked when they are written down.

use super::c_str::CStrLike;
use std::borrow::{Borrow, Cow};
use std::convert::Infallible;
use std::ffi::{CStr, CString};
use std::fmt;
use std::ops::Deref;

/// A borrowed property name, as the constants in
/// [`properties`](crate::properties) have it: UTF-8 without NUL bytes.
#[derive(PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PropName(Cow<'static, CStr>);

impl PropName {
    pub(crate) const fn constant(name: &'static CStr) -> Self {
        PropName(Cow::Borrowed(name))
    }

    /// The name as a C string.
    pub fn as_c_str(&self) -> &CStr {
        &self.0
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        // Names are made from string literals and numbers only.
        self.0.to_str().unwrap_or_default()
    }
}

/// An owned property name.
#[derive(PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PropertyName(PropName);

impl PropertyName {
    /// The name `rocksdb.<name><level>`.
    pub(crate) fn at_level(name: &str, level: usize) -> Self {
        let text = format!("rocksdb.{name}{level}");
        // The fallback is the empty name, which is no property; literals
        // without NUL bytes never take it.
        PropertyName(PropName(Cow::Owned(CString::new(text).unwrap_or_default())))
    }

    /// The name as a C string.
    pub fn into_c_string(self) -> CString {
        self.0.0.into_owned()
    }

    /// The name.
    pub fn into_string(self) -> String {
        self.as_str().to_owned()
    }
}

impl Deref for PropName {
    type Target = CStr;
    fn deref(&self) -> &CStr {
        self.as_c_str()
    }
}

impl Deref for PropertyName {
    type Target = PropName;
    fn deref(&self) -> &PropName {
        &self.0
    }
}

impl Borrow<PropName> for PropertyName {
    fn borrow(&self) -> &PropName {
        self
    }
}

impl ToOwned for PropName {
    type Owned = PropertyName;
    fn to_owned(&self) -> PropertyName {
        PropertyName(PropName(self.0.clone()))
    }
}

macro_rules! name_as_text {
    ($ty:ty, $c_str:ty, $str:ty) => {
        impl AsRef<CStr> for $ty {
            fn as_ref(&self) -> &CStr {
                self.as_c_str()
            }
        }
        impl AsRef<str> for $ty {
            fn as_ref(&self) -> &str {
                self.as_str()
            }
        }
        impl fmt::Display for $ty {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self.as_str(), f)
            }
        }
        impl fmt::Debug for $ty {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(self.as_str(), f)
            }
        }
        impl PartialEq<$c_str> for $ty {
            fn eq(&self, other: &$c_str) -> bool {
                let other: &CStr = other.as_ref();
                self.as_c_str() == other
            }
        }
        impl PartialEq<$str> for $ty {
            fn eq(&self, other: &$str) -> bool {
                let other: &str = other.as_ref();
                self.as_str() == other
            }
        }
        impl PartialEq<$ty> for $c_str {
            fn eq(&self, other: &$ty) -> bool {
                other == self
            }
        }
        impl PartialEq<$ty> for $str {
            fn eq(&self, other: &$ty) -> bool {
                other == self
            }
        }
    };
}
name_as_text!(PropName, CStr, str);
name_as_text!(PropertyName, CString, String);

impl<'a> CStrLike for &'a PropName {
    type Baked = &'a CStr;
    type Error = Infallible;

    fn bake(self) -> Result<&'a CStr, Infallible> {
        Ok(self.as_c_str())
    }
    fn into_c_string(self) -> Result<CString, Infallible> {
        Ok(self.as_c_str().to_owned())
    }
}

impl CStrLike for PropertyName {
    type Baked = CString;
    type Error = Infallible;

    fn bake(self) -> Result<CString, Infallible> {
        Ok(self.into_c_string())
    }
    fn into_c_string(self) -> Result<CString, Infallible> {
        Ok(PropertyName::into_c_string(self))
    }
}

impl<'a> CStrLike for &'a PropertyName {
    type Baked = &'a CStr;
    type Error = Infallible;

    fn bake(self) -> Result<&'a CStr, Infallible> {
        Ok(self.as_c_str())
    }
    fn into_c_string(self) -> Result<CString, Infallible> {
        Ok(self.as_c_str().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_compare_with_strings() {
        const NAME: &PropName = &PropName::constant(c"rocksdb.stats");
        assert_eq!(NAME, "rocksdb.stats");
        assert_eq!(NAME, c"rocksdb.stats");
        assert_eq!(NAME.to_string(), "rocksdb.stats");
        let owned = NAME.to_owned();
        assert_eq!(owned, String::from("rocksdb.stats"));
        assert_eq!(&*owned, NAME);
        let level = PropertyName::at_level("num-files-at-level", 3);
        assert_eq!(level.into_string(), "rocksdb.num-files-at-level3");
    }
}
