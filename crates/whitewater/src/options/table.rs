//! One table per option struct.
//!
//! [`option_struct!`] turns a table of rows into the struct's fields, their
//! documentation, the defaults, the range checks and the text form, so that
//! adding an option means adding one row:
//!
//! ```text
//! /// What it does. Unit.
//! name: Type = default, in lo..=hi, check function, changes live;
//! ```
//!
//! `in` (the accepted values), `check` (a function from name and value to a
//! result, for what a range cannot say) and `changes live` may be left out.
//! `into lo..=hi` stands in place of `in` where a value outside is not refused but
//! becomes the nearest one inside (`sanitize` has the rule).
//! Rows after `objects` have no text form: they become fields with defaults and
//! nothing else. [`option_text!`] makes checks and text for a struct that stands
//! elsewhere.
//!
//! An option that `changes live` can be changed while the database is open
//! (`db::change`); all others are fixed. The generated documentation says which.

use std::fmt;
use whitewater_storage::{Error, Result};

/// A struct of options that has a table.
pub(crate) trait OptionTable {
    /// Sets the option `name` from text. Ranges are left to `check`.
    ///
    /// # Errors
    /// `InvalidArgument` for an unknown name or a malformed value.
    fn set(&mut self, name: &str, value: &str) -> Result<()>;

    /// Whether the option `name` can be changed while the database is open;
    /// `None` for an unknown name.
    fn changes_live(name: &str) -> Option<bool>
    where
        Self: Sized;

    /// Every option as its name and its value in the text form.
    fn to_text(&self) -> Vec<(&'static str, String)>;

    /// Checks every option by itself.
    ///
    /// # Errors
    /// `InvalidArgument` or `NotSupported` naming the option.
    fn check(&self) -> Result<()>;

    /// Moves numbers that are outside ranges of the kind `into` to the nearest ones
    /// inside.
    fn move_into_ranges(&mut self);

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

/// The nearest value to `value` in `range`.
pub(crate) fn move_into<T: PartialOrd + Clone>(value: &mut T, range: &std::ops::RangeInclusive<T>) {
    if *value < *range.start() {
        *value = range.start().clone();
    } else if *value > *range.end() {
        *value = range.end().clone();
    }
}

/// What the marker of a row says: as a value, and for people.
macro_rules! live {
    (is) => {
        false
    };
    (is live) => {
        true
    };
    (says) => {
        "Fixed while the database is open."
    };
    (says live) => {
        "Can be changed while the database is open."
    };
}

/// Implements [`OptionTable`] for a struct whose fields exist.
macro_rules! option_text {
    ($name:ident {
        $(
            $field:ident: $ty:ty
                $(, in $range:expr)? $(, into $into:expr)? $(, check $check:path)?
                $(, changes $live:ident)?;
        )*
    }) => {
        impl $crate::options::table::OptionTable for $name {
            fn set(&mut self, name: &str, value: &str) -> whitewater_storage::Result<()> {
                match name {
                    $(stringify!($field) => {
                        $crate::options::text::assign::<$ty>(&mut self.$field, name, value)?;
                    })*
                    _ => return Err(whitewater_storage::Error::invalid(format_args!(
                        "unknown option {name}"
                    ))),
                }
                Ok(())
            }

            fn changes_live(name: &str) -> Option<bool> {
                match name {
                    $(stringify!($field) => Some($crate::options::table::live!(is $($live)?)),)*
                    _ => None,
                }
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

            fn move_into_ranges(&mut self) {
                $($($crate::options::table::move_into(&mut self.$field, &($into));)?)*
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
                    $(, in $range:expr)? $(, into $into:expr)? $(, check $check:path)?
                    $(, changes $live:ident)?;
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
                    $(", moved into `", stringify!($into), "`",)?
                    ". ", $crate::options::table::live!(says $($live)?)
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
            $(
                $field: $ty $(, in $range)? $(, into $into)? $(, check $check)?
                    $(, changes $live)?;
            )*
        });
    };
}

pub(crate) use {live, option_struct, option_text};
