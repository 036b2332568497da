//! One table per option struct.
//!
//! [`option_struct!`] turns a table of rows into the struct's fields, their
//! documentation, the defaults, the range checks and the text form, so that
//! adding an option means adding one row:
//!
//! ```text
//! /// What it does. Unit.
//! name: Type = default, in lo..=hi, check function;
//! ```
//!
//! `in` (the accepted values) and `check` (a function from name and value to a
//! result, for what a range cannot say) may be left out. Rows after `objects`
//! have no text form: they become fields with defaults and nothing else.
//! [`option_text!`] makes checks and text for a struct that stands elsewhere.
//!
//! No option can be changed while a database is open; the generated
//! documentation says so for each of them.

use std::fmt;
use whitewater_storage::{Error, Result};

/// A struct of options that has a table.
pub(crate) trait OptionTable {
    /// Sets the option `name` from text. Ranges are left to `check`.
    ///
    /// # Errors
    /// `InvalidArgument` for an unknown name or a malformed value.
    fn set(&mut self, name: &str, value: &str) -> Result<()>;

    /// Every option as its name and its value in the text form.
    fn to_text(&self) -> Vec<(&'static str, String)>;

    /// Checks every option by itself.
    ///
    /// # Errors
    /// `InvalidArgument` or `NotSupported` naming the option.
    fn check(&self) -> Result<()>;

    /// Writes every option as a line `name=value`.
    fn dump(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in self.to_text() {
            writeln!(f, "{name}={value}")?;
        }
        Ok(())
    }
}

/// Refuses a value outside `range`, naming the option.
pub(crate) fn check_range<T: PartialOrd + fmt::Display>(
    name: &str,
    value: &T,
    range: &impl std::ops::RangeBounds<T>,
    range_text: &str,
) -> Result<()> {
    if range.contains(value) {
        return Ok(());
    }
    Err(Error::invalid(format_args!(
        "option {name} = {value} is outside {range_text}"
    )))
}

/// Implements [`OptionTable`] for a struct whose fields exist.
macro_rules! option_text {
    ($name:ident {
        $($field:ident: $ty:ty $(, in $range:expr)? $(, check $check:path)?;)*
    }) => {
        impl $crate::options::table::OptionTable for $name {
            fn set(&mut self, name: &str, value: &str) -> whitewater_storage::Result<()> {
                match name {
                    $(stringify!($field) => {
                        self.$field = $crate::options::text::parse::<$ty>(name, value)?;
                    })*
                    _ => return Err(whitewater_storage::Error::invalid(format_args!(
                        "unknown option {name}"
                    ))),
                }
                Ok(())
            }

            fn to_text(&self) -> Vec<(&'static str, String)> {
                vec![$((
                    stringify!($field),
                    $crate::options::text::OptionText::print(&self.$field),
                )),*]
            }

            fn check(&self) -> whitewater_storage::Result<()> {
                $(
                    $($crate::options::table::check_range(
                        stringify!($field), &self.$field, &($range), stringify!($range),
                    )?;)?
                    $($check(stringify!($field), &self.$field)?;)?
                )*
                Ok(())
            }
        }
    };
}

/// Declares a struct of options and implements `Default` and [`OptionTable`].
macro_rules! option_struct {
    (
        $(#[$meta:meta])*
        pub(crate) struct $name:ident {
            $(
                $(#[$doc:meta])*
                $field:ident: $ty:ty = $default:expr
                    $(, in $range:expr)? $(, check $check:path)?;
            )*
        }
        objects {
            $(
                $(#[$object_doc:meta])*
                $object:ident: $object_ty:ty = $object_default:expr;
            )*
        }
    ) => {
        $(#[$meta])*
        pub(crate) struct $name {
            $(
                $(#[$doc])*
                #[doc = concat!(
                    "\n\nDefault `", stringify!($default), "`",
                    $(", accepted `", stringify!($range), "`",)?
                    ". Fixed while the database is open."
                )]
                pub $field: $ty,
            )*
            $(
                $(#[$object_doc])*
                pub $object: $object_ty,
            )*
        }

        impl Default for $name {
            fn default() -> Self {
                $name {
                    $($field: $default,)*
                    $($object: $object_default,)*
                }
            }
        }

        $crate::options::table::option_text!($name {
            $($field: $ty $(, in $range)? $(, check $check)?;)*
        });
    };
}

pub(crate) use {option_struct, option_text};
