//! How options are passed: as numbers, flags and enums in C, as texts in RocksDB's option files.

use std::collections::BTreeMap;

/// How the number that C passes is written.
#[derive(Clone, Copy)]
pub enum Form {
    Plain,
    /// `true` unless it is 0.
    Flag,
    /// The name with this number.
    Enum(&'static [(i64, &'static str)]),
}

pub const COMPRESSION: &[(i64, &str)] = &[
    (0, "kNoCompression"),
    (1, "kSnappyCompression"),
    (2, "kZlibCompression"),
    (3, "kBZip2Compression"),
    (4, "kLZ4Compression"),
    (5, "kLZ4HCCompression"),
    (6, "kXpressCompression"),
    (7, "kZSTD"),
    (0xff, "kDisableCompressionOption"),
];
pub const COMPACTION_STYLE: &[(i64, &str)] = &[
    (0, "kCompactionStyleLevel"),
    (1, "kCompactionStyleUniversal"),
    (2, "kCompactionStyleFIFO"),
    (3, "kCompactionStyleNone"),
];
pub const COMPACTION_PRI: &[(i64, &str)] = &[
    (0, "kByCompensatedSize"),
    (1, "kOldestLargestSeqFirst"),
    (2, "kOldestSmallestSeqFirst"),
    (3, "kMinOverlappingRatio"),
    (4, "kRoundRobin"),
];
pub const RECOVERY_MODE: &[(i64, &str)] = &[
    (0, "kTolerateCorruptedTailRecords"),
    (1, "kAbsoluteConsistency"),
    (2, "kPointInTimeRecovery"),
    (3, "kSkipAnyCorruptedRecords"),
];
pub const LOG_LEVEL: &[(i64, &str)] = &[
    (0, "DEBUG_LEVEL"),
    (1, "INFO_LEVEL"),
    (2, "WARN_LEVEL"),
    (3, "ERROR_LEVEL"),
    (4, "FATAL_LEVEL"),
    (5, "HEADER_LEVEL"),
];
pub const PREPOPULATE: &[(i64, &str)] = &[(0, "kDisable"), (1, "kFlushOnly")];
pub const ACCESS_HINT: &[(i64, &str)] = &[
    (0, "NONE"),
    (1, "NORMAL"),
    (2, "SEQUENTIAL"),
    (3, "WILLNEED"),
];

/// A number of C.
pub trait Number: Copy {
    fn text(self) -> String;
    fn parse(text: &str) -> Option<Self>;
    fn to_int(self) -> i64;
    fn of_int(int: i64) -> Self;
    fn to_bits(self) -> u64;
    fn of_bits(bits: u64) -> Self;
}

macro_rules! numbers {
    ($($ty:ty),*) => {$(
        impl Number for $ty {
            fn text(self) -> String {
                self.to_string()
            }
            fn parse(text: &str) -> Option<Self> {
                text.parse().ok()
            }
            fn to_int(self) -> i64 {
                self as i64
            }
            fn of_int(int: i64) -> Self {
                int as $ty
            }
            fn to_bits(self) -> u64 {
                self as i64 as u64
            }
            fn of_bits(bits: u64) -> Self {
                bits as i64 as $ty
            }
        }
    )*};
}
numbers!(u8, i8, i32, u32, i64, u64, usize);

impl Number for f64 {
    fn text(self) -> String {
        self.to_string()
    }
    fn parse(text: &str) -> Option<Self> {
        text.parse().ok()
    }
    fn to_int(self) -> i64 {
        self as i64
    }
    fn of_int(int: i64) -> Self {
        int as f64
    }
    fn to_bits(self) -> u64 {
        f64::to_bits(self)
    }
    fn of_bits(bits: u64) -> Self {
        f64::from_bits(bits)
    }
}

impl Form {
    pub fn print(self, value: impl Number) -> String {
        match self {
            Form::Plain => value.text(),
            Form::Flag => (value.to_int() != 0).to_string(),
            Form::Enum(names) => {
                let name = names.iter().find(|(number, _)| *number == value.to_int());
                name.map_or_else(|| value.text(), |(_, name)| (*name).to_owned())
            }
        }
    }

    pub fn read<N: Number>(self, text: &str) -> Option<N> {
        match self {
            Form::Plain => N::parse(text),
            Form::Flag => Some(N::of_int(i64::from(text == "true"))),
            Form::Enum(names) => match names.iter().find(|(_, name)| *name == text) {
                Some((number, _)) => Some(N::of_int(*number)),
                None => N::parse(text),
            },
        }
    }
}

/// Declares setters and getters of options by name, and lists the names.
macro_rules! options {
    ($($name:literal: $form:expr
        $(, set $set:ident($set_ty:ty))? $(, get $get:ident -> $get_ty:ty)?;)*) => {
        #[cfg(test)]
        pub(crate) const NAMES: &[(&str, $crate::options::values::Form)] = &[$(($name, $form)),*];

        $crate::border::exports! {$(
            $(fn $set(options: Option<&mut $crate::options::rocksdb_options_t>, value: $set_ty) {
                if let Some(options) = options {
                    options.set($name, $form.print(value));
                }
            })?
            $(fn $get(options: Option<&$crate::options::rocksdb_options_t>) -> $get_ty {
                let text = options.and_then(|options| options.get($name));
                text.and_then(|text| $form.read(&text)).unwrap_or_default()
            })?
        )*}
    };
}
pub(crate) use options;

/// Options that C sets and gets one by one.
#[derive(Clone, Default)]
pub struct Built<T> {
    pub(crate) options: T,
    /// What was set, by setter; numbers as bits.
    given: BTreeMap<&'static str, u64>,
}

impl<T> Built<T> {
    pub(crate) fn new(options: T) -> Self {
        let given = BTreeMap::new();
        Built { options, given }
    }

    pub(crate) fn keep(&mut self, name: &'static str, value: impl Number) {
        self.given.insert(name, value.to_bits());
    }

    pub(crate) fn kept<N: Number>(&self, name: &'static str, default: N) -> N {
        self.given
            .get(name)
            .map_or(default, |bits| N::of_bits(*bits))
    }
}

/// Declares setters and getters of the options `$ty`.
macro_rules! fields {
    ($ty:ident { $(
        $name:literal: $number:ty = $default:expr, |$options:ident, $value:ident| $apply:expr,
        set $set:ident $(, get $get:ident)?;
    )* }) => {
        $crate::border::exports! {$(
            fn $set(options: Option<&mut $ty>, value: $number) {
                if let Some(built) = options {
                    built.keep($name, value);
                    let ($options, $value) = (&mut built.options, value);
                    let () = $apply;
                }
            }
            $(fn $get(options: Option<&$ty>) -> $number {
                options.map_or($default, |built| built.kept($name, $default))
            })?
        )*}
    };
}
pub(crate) use fields;

/// Declares how options are made and destroyed.
macro_rules! made {
    ($($ty:ident = $new:expr, $create:ident, $destroy:ident;)*) => {
        $crate::border::exports! {$(
            fn $create() -> Option<Box<$ty>> {
                Some(Box::new($new))
            }
            fn $destroy(_options: Option<Box<$ty>>) {}
        )*}
    };
}
pub(crate) use made;
