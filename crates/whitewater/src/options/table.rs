//! Tables that declare the structs of options.
//!
//! [`option_struct!`] turns a table of rows into the struct's fields, their documentation, the
//! defaults, the range checks and the text form, so that adding an option means adding one row:
//!
//! ```text
//! /// What it does. Unit.
//! name: Type = default, in lo..=hi, check function, changes live;
//! ```
//!
//! `in` (the accepted values), `check` (a function from name and value to a result, for what a
//! range cannot express) and `changes live` may be left out. `into lo..=hi` replaces `in` if a
//! value outside the range is not refused but becomes the nearest one inside (`sanitize` has
//! the rule). Rows after `objects` have no text form: they become fields with defaults and
//! nothing else. [`option_text!`] makes checks and text for a struct that is declared
//! elsewhere.
//!
//! An option that `changes live` can be changed while the database is open (`db::change`); all
//! others are fixed. The generated documentation says which, and so does that of the option's
//! setter: the test `api::options::documentation` compares it with the row, and writes it with
//! `WHITEWATER_BLESS=1`.

use std::fmt;
use whitewater_storage::{Error, Result};

/// A struct of options that a table describes.
pub(crate) trait OptionTable {
    /// Sets the option `name` from text. Ranges are checked by `check`.
    ///
    /// # Errors
    /// `InvalidArgument` for an unknown name or a malformed value.
    fn set(&mut self, name: &str, value: &str) -> Result<()>;

    /// Whether the option `name` can be changed while the database is open;
    /// `None` for an unknown name.
    fn changes_live(name: &str) -> Option<bool>
    where
        Self: Sized;

    /// The name and value of every option, in the text form.
    fn to_text(&self) -> Vec<(&'static str, String)>;

    /// Checks each option separately.
    ///
    /// # Errors
    /// `InvalidArgument` or `NotSupported` naming the option.
    fn check(&self) -> Result<()>;

    /// Moves numbers that are outside their `into` ranges to the nearest numbers inside.
    fn move_into_ranges(&mut self);

    /// The rows, for the test that compares the setters' documentation with them.
    #[cfg(test)]
    fn rows() -> Vec<Row>;

    /// Writes every option as a line `name=value`.
    fn dump(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in self.to_text() {
            writeln!(f, "{name}={value}")?;
        }
        Ok(())
    }
}

/// The contents of a row, as text.
#[cfg(test)]
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) default: String,
    /// The bounds of the accepted values.
    pub(crate) accepted: Option<(String, String)>,
    /// The bounds of the range that other values are moved into.
    pub(crate) moved_into: Option<(String, String)>,
    pub(crate) changes_live: bool,
}

/// The bounds of a range of values like `_value`, as text.
#[cfg(test)]
pub(crate) fn ends<T: fmt::Display>(
    _value: &T,
    range: &std::ops::RangeInclusive<T>,
) -> (String, String) {
    (range.start().to_string(), range.end().to_string())
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

/// Moves `value` to the nearest value in `range`.
pub(crate) fn move_into<T: PartialOrd + Clone>(value: &mut T, range: &std::ops::RangeInclusive<T>) {
    if *value < *range.start() {
        *value = range.start().clone();
    } else if *value > *range.end() {
        *value = range.end().clone();
    }
}

/// Translates a row's marker into a `bool` (`is`) or into a sentence (`says`).
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

            #[cfg(test)]
            fn rows() -> Vec<$crate::options::table::Row> {
                let defaults = <$name as Default>::default();
                vec![$($crate::options::table::Row {
                    name: stringify!($field),
                    default: $crate::options::text::OptionText::print(&defaults.$field),
                    accepted: [
                        $($crate::options::table::ends(&defaults.$field, &($range)))?
                    ].into_iter().next(),
                    moved_into: [
                        $($crate::options::table::ends(&defaults.$field, &($into)))?
                    ].into_iter().next(),
                    changes_live: $crate::options::table::live!(is $($live)?),
                }),*]
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

        #[cfg(test)]
        impl $name {
            /// The options with the documentation of their rows.
            pub(crate) const DOCS: &[(&str, &str)] =
                &[$((stringify!($field), concat!($(stringify!($doc), "\n"),*))),*];
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
