//! Prefix extractors of the public API.

use super::c_str::CStrLike;
use crate::options::prefix::{CustomPrefix, InDomainFn, PrefixExtractor, TransformFn};
use std::fmt;
use std::sync::Arc;
use whitewater_storage::{Error, Result};

/// What part of a key is its prefix; see
/// [`Options::set_prefix_extractor`](crate::Options::set_prefix_extractor).
///
/// ```
/// use whitewater::{Options, SliceTransform};
///
/// let mut opts = Options::default();
/// opts.set_prefix_extractor(SliceTransform::create_fixed_prefix(4));
///
/// fn up_to_colon(key: &[u8]) -> &[u8] {
///     key.split(|byte| *byte == b':').next().unwrap_or(key)
/// }
/// let by_colon = SliceTransform::create("colon", up_to_colon, Some(|key| key.contains(&b':')));
/// opts.set_prefix_extractor(by_colon);
/// ```
pub struct SliceTransform {
    /// An error when the name is none.
    pub(crate) extractor: Result<PrefixExtractor>,
}

impl SliceTransform {
    /// A prefix extractor made of functions. `transform_fn` takes the prefix
    /// out of a key and is called only with keys for which `in_domain_fn`
    /// returns `true` (all, without one); other keys have no prefix.
    ///
    /// A key must begin with its prefix, the prefix must depend on the key
    /// alone, and keys of one prefix must be neighbours in the order of keys.
    /// The name is stored in tables; when the functions change, so must the
    /// name. A name with a NUL byte inside, or one that is not UTF-8, is
    /// refused at open.
    pub fn create(
        name: impl CStrLike,
        transform_fn: TransformFn,
        in_domain_fn: Option<InDomainFn>,
    ) -> SliceTransform {
        let name = match name.into_c_string() {
            Ok(name) => name.into_string().map_err(|e| e.to_string()),
            Err(e) => Err(e.to_string()),
        };
        let extractor = match name {
            Ok(name) => Ok(PrefixExtractor::Custom(Arc::new(CustomPrefix {
                name,
                transform: transform_fn,
                in_domain: in_domain_fn,
            }))),
            Err(e) => Err(Error::invalid(format_args!(
                "name of option prefix_extractor: {e}"
            ))),
        };
        SliceTransform { extractor }
    }

    /// The first `len` bytes of a key; shorter keys have no prefix.
    ///
    /// # Examples
    /// ```
    /// use whitewater::{Options, SliceTransform};
    ///
    /// let mut options = Options::default();
    /// options.set_prefix_extractor(SliceTransform::create_fixed_prefix(8));
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn create_fixed_prefix(len: usize) -> SliceTransform {
        SliceTransform {
            extractor: Ok(PrefixExtractor::Fixed(len)),
        }
    }

    /// All of a key.
    pub fn create_noop() -> SliceTransform {
        SliceTransform {
            extractor: Ok(PrefixExtractor::Noop),
        }
    }
}

impl fmt::Debug for SliceTransform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SliceTransform")
            .field(&self.extractor)
            .finish()
    }
}
