//! The user keys that a walk is limited to.

use std::sync::Arc;

/// Limits of a walk: an inclusive and an exclusive user key, without timestamps. A clone has keys
/// of its own, so that threads do not count references to the same ones. What belongs to one walk
/// may [share](Self::share) them.
#[derive(Debug, Default)]
pub struct Bounds(Option<Arc<Ends>>);

#[derive(Debug, Clone, Default)]
struct Ends {
    lower: Option<Vec<u8>>,
    upper: Option<Vec<u8>>,
}

impl Clone for Bounds {
    fn clone(&self) -> Self {
        Bounds(self.0.as_deref().map(|ends| Arc::new(ends.clone())))
    }
}

impl Bounds {
    /// The limits at these keys.
    pub fn new(lower: Option<Vec<u8>>, upper: Option<Vec<u8>>) -> Self {
        match lower.is_some() || upper.is_some() {
            true => Bounds(Some(Arc::new(Ends { lower, upper }))),
            false => Bounds(None),
        }
    }

    /// The same limits, with the same memory.
    pub fn share(&self) -> Self {
        Bounds(self.0.clone())
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The first key that the walk may show.
    #[inline]
    pub fn lower(&self) -> Option<&[u8]> {
        self.0.as_ref()?.lower.as_deref()
    }

    /// The first key behind what the walk may show.
    #[inline]
    pub fn upper(&self) -> Option<&[u8]> {
        self.0.as_ref()?.upper.as_deref()
    }

    /// Sets the first key that the walk may show.
    pub fn set_lower(&mut self, key: Vec<u8>) {
        self.ends().lower = Some(key);
    }

    /// Sets the first key behind what the walk may show.
    pub fn set_upper(&mut self, key: Vec<u8>) {
        self.ends().upper = Some(key);
    }

    fn ends(&mut self) -> &mut Ends {
        Arc::make_mut(self.0.get_or_insert_default())
    }
}
