//! Values that borrow from what they keep alive.

use std::any::Any;
use std::sync::Arc;

/// A value that borrows from its owner, both of which are used by one thread at a time where
/// `rocksdb/c.h` says so. It is dropped before the owner is let go of.
///
/// Other threads may use it if they may use both.
pub struct Held<T, O: ?Sized = dyn Any> {
    value: T,
    _owner: Arc<O>,
}

impl<T, O: 'static> Held<T, O> {
    /// What `make` returns, which may keep the reference in its result and nowhere else.
    pub fn try_of<E>(
        owner: &Arc<O>,
        make: impl FnOnce(&'static O) -> Result<T, E>,
    ) -> Result<Self, E> {
        // SAFETY: `_owner` keeps the referent where it is; `value`, the only place that has the
        // reference, is declared before it and so is dropped before it.
        let lasting: &'static O = unsafe { &*Arc::as_ptr(owner) };
        let value = make(lasting)?;
        let _owner = owner.clone();
        Ok(Held { value, _owner })
    }
}

impl<T> Held<T> {
    /// The same, without the owner's type.
    pub(crate) fn try_new<O: Any, E>(
        owner: &Arc<O>,
        make: impl FnOnce(&'static O) -> Result<T, E>,
    ) -> Result<Self, E> {
        let Held { value, _owner } = Held::try_of(owner, make)?;
        Ok(Held { value, _owner })
    }

    pub(crate) fn new<O: Any>(owner: &Arc<O>, make: impl FnOnce(&'static O) -> T) -> Self {
        let made = Self::try_new(owner, |lasting| {
            Ok::<_, std::convert::Infallible>(make(lasting))
        });
        made.unwrap_or_else(|never| match never {})
    }

    /// The value as another one, which borrows from the same owner.
    pub(crate) fn map<U>(self, f: impl FnOnce(T) -> U) -> Held<U> {
        Held {
            value: f(self.value),
            _owner: self._owner,
        }
    }
}

impl<T, O: ?Sized> Held<T, O> {
    pub fn get(&self) -> &T {
        &self.value
    }

    pub fn get_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T> Held<Vec<T>> {
    /// Each of the values, which keep the owner on their own.
    pub(crate) fn split<U>(self, each: impl FnMut(Held<T>) -> U) -> impl Iterator<Item = U> {
        let owner = self._owner;
        let held = self.value.into_iter().map(move |value| Held {
            value,
            _owner: owner.clone(),
        });
        held.map(each)
    }
}
