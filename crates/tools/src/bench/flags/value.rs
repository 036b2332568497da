//! The rows of flags: their types, their text, and the macro that makes a struct of
//! them.

/// What follows a flag's name on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `--flag`, `--noflag` or `--flag=true`; never takes the next argument.
    Switch,
    /// `--flag=value` or `--flag value`.
    Value,
}

/// One row of a table of flags.
#[derive(Debug)]
pub struct Spec {
    /// The heading of the help under which the flag appears.
    pub section: &'static str,
    /// The name, without dashes.
    pub name: &'static str,
    /// Whether a value must follow.
    pub kind: Kind,
    /// What the flag does, with its units.
    pub help: &'static str,
}

/// A type that flags can have.
pub(crate) trait FlagValue: Sized {
    const KIND: Kind = Kind::Value;
    /// What a valid value looks like, for error messages.
    const EXPECTED: &'static str;
    fn from_text(text: &str) -> Option<Self>;
    fn to_text(&self) -> String;
}

macro_rules! integer_flag_values {
    ($($ty:ty),*) => {$(
        impl FlagValue for $ty {
            const EXPECTED: &'static str = concat!("an integer (", stringify!($ty), ")");
            fn from_text(text: &str) -> Option<Self> {
                match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
                    Some(hex) => <$ty>::from_str_radix(hex, 16).ok(),
                    None => text.parse().ok(),
                }
            }
            fn to_text(&self) -> String {
                self.to_string()
            }
        }
    )*};
}
integer_flag_values!(i32, i64, u64);

impl FlagValue for f64 {
    const EXPECTED: &'static str = "a number";
    fn from_text(text: &str) -> Option<Self> {
        text.parse().ok().filter(|value: &f64| value.is_finite())
    }
    fn to_text(&self) -> String {
        self.to_string()
    }
}

impl FlagValue for bool {
    const KIND: Kind = Kind::Switch;
    const EXPECTED: &'static str = "true or false (also t, f, yes, no, y, n, 1, 0)";
    fn from_text(text: &str) -> Option<Self> {
        match text.to_ascii_lowercase().as_str() {
            "true" | "t" | "yes" | "y" | "1" => Some(true),
            "false" | "f" | "no" | "n" | "0" => Some(false),
            _ => None,
        }
    }
    fn to_text(&self) -> String {
        self.to_string()
    }
}

/// A switch that is set by other flags unless it is given.
impl FlagValue for Option<bool> {
    const KIND: Kind = Kind::Switch;
    const EXPECTED: &'static str = "true, false or auto (also t, f, yes, no, y, n, 1, 0)";
    fn from_text(text: &str) -> Option<Self> {
        match text.to_ascii_lowercase().as_str() {
            "auto" => Some(None),
            _ => bool::from_text(text).map(Some),
        }
    }
    fn to_text(&self) -> String {
        self.map_or_else(|| "auto".to_owned(), |on| on.to_string())
    }
}

impl FlagValue for String {
    const EXPECTED: &'static str = "text";
    fn from_text(text: &str) -> Option<Self> {
        Some(text.to_owned())
    }
    fn to_text(&self) -> String {
        format!("\"{self}\"")
    }
}

/// Reads the value of a switch; `None` if it is not one of the accepted words.
pub fn switch_value(text: &str) -> Option<bool> {
    bool::from_text(text)
}

/// Defines a type `Flags` with its `TABLE`. `Failure`, `FlagValue`, `Kind`, `Result`
/// and `Spec` must be in scope.
macro_rules! flags {
    ($( $section:literal { $( $name:ident: $ty:ty = $default:expr, $help:literal; )* } )*) => {
        /// The value of every honoured flag.
        #[derive(Clone, Debug, PartialEq)]
        pub struct Flags {
            $($( #[doc = $help] pub $name: $ty, )*)*
        }

        impl Default for Flags {
            fn default() -> Self {
                Self { $($( $name: $default.into(), )*)* }
            }
        }

        /// Every honoured flag, in the order of the help.
        pub const TABLE: &[Spec] = &[
            $($( Spec {
                section: $section,
                name: stringify!($name),
                kind: <$ty as FlagValue>::KIND,
                help: $help,
            }, )*)*
        ];

        impl Flags {
            /// Sets the flag `name` from its text form.
            ///
            /// # Errors
            /// `name` is not in [`TABLE`], or `text` is not a value of its type.
            pub fn set(&mut self, name: &str, text: &str) -> Result<()> {
                match name {
                    $($( stringify!($name) => {
                        self.$name = <$ty>::from_text(text).ok_or_else(|| {
                            Failure(format!(
                                "--{name}: '{text}' is not {}",
                                <$ty as FlagValue>::EXPECTED,
                            ))
                        })?;
                    } )*)*
                    _ => return Err(Failure(format!("--{name} is not a flag of this program"))),
                }
                Ok(())
            }

            /// The flag's value as the help prints it; empty for a name that is not in [`TABLE`].
            pub fn text_of(&self, name: &str) -> String {
                match name {
                    $($( stringify!($name) => self.$name.to_text(), )*)*
                    _ => String::new(),
                }
            }
        }
    };
}

pub(crate) use flags;
