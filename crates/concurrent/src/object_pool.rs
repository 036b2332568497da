//! A pool of objects that are expensive to make, until the pool is closed.
//!
//! The pool has as many places as there are cores, at most 64, and a thread looks only into
//! the one that its number chooses. So a thread shares the cache line that it writes to only with
//! threads of the same place. A place holds one object. Threads that take one or give one back
//! never wait for each other, except while the places are made.
//!
//! An object may keep its own pool alive ([`ObjectPool::give_back`]). Such a pool must be closed:
//! otherwise neither of the two is ever dropped.
//!
//! # Invariants
//! * P1: a place is null, `closed()`, or from `Box::into_raw` and owned by the place. Whoever
//!   replaces such a pointer by another value owns the object from then on.
//! * P2: once `close` has returned, the pool holds no objects, for good. A place that is closed
//!   stays so. Places are made under a lock, and `close` sets `closed` under the same lock. So
//!   `close` finds the places, or none are made after it.

use std::fmt;
use std::marker::PhantomData;
use std::ptr;

use crossbeam_utils::CachePadded;

use crate::cores::cores;
use crate::counter::thread_number;
use crate::once::OnceBox;
use crate::sync::{AtomicPtr, MODELLED, Mutex, Ordering};

/// The largest number of places. With more cores, some share one.
const MOST: usize = 64;

/// A place for an object.
///
/// Written by: threads that take an object, that give one back, and that close the pool, all by
/// read-modify-writes. Read by: the same. Publishes: the object.
type Place<T> = CachePadded<AtomicPtr<T>>;

/// Objects for reuse.
pub struct ObjectPool<T> {
    /// Made when the first object is given back. Their number is a power of two.
    places: OnceBox<Box<[Place<T>]>>,
    /// Whether the pool is closed, or is being closed.
    closed: Mutex<bool>,
    /// Tells the compiler that `T`s are owned, and go from thread to thread, but have one user at a
    /// time.
    owns: PhantomData<std::sync::Mutex<T>>,
}

impl<T> Default for ObjectPool<T> {
    fn default() -> Self {
        ObjectPool {
            places: OnceBox::new(),
            closed: Mutex::new(false),
            owns: PhantomData,
        }
    }
}

impl<T> fmt::Debug for ObjectPool<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObjectPool").finish_non_exhaustive()
    }
}

/// The value of a closed place. It is never dereferenced.
fn closed<T>() -> *mut T {
    ptr::without_provenance_mut(usize::MAX)
}

impl<T> ObjectPool<T> {
    /// Takes an object out, if there is one for this thread.
    #[inline]
    pub fn take(&self) -> Option<Box<T>> {
        let place = own(self.places.get()?);
        // Relaxed: what is there is not looked at before it is taken out.
        let object = place.load(Ordering::Relaxed);
        if object.is_null() || object == closed() {
            return None;
        }
        // Acquire: partner of the Release in `give_back`. The same pointer may have been taken and
        // given back meanwhile; then it is that object.
        let object = place
            .compare_exchange(
                object,
                ptr::null_mut(),
                Ordering::Acquire,
                Ordering::Relaxed,
            )
            .ok()?;
        // SAFETY: it was neither null nor closed, and this thread has replaced it (P1).
        Some(unsafe { Box::from_raw(object) })
    }

    /// Gives an object back to `pool_of` it, for the next one to take it. Returns it if there is no
    /// room, or the pool is closed. The object may be what keeps the pool alive.
    #[inline]
    pub fn give_back(object: Box<T>, pool_of: impl FnOnce(&T) -> &ObjectPool<T>) -> Option<Box<T>> {
        let object = Box::into_raw(object);
        // SAFETY: the object is this thread's until the place has it. Nothing refers to it or to
        // the pool after that.
        let pool = pool_of(unsafe { &*object });
        let places = pool.places.get().map(|places| &**places);
        let given = places.or_else(|| pool.make_places()).is_some_and(|places| {
            // Release: partner of the Acquire in `take`, and of that in `close`.
            own(places)
                .compare_exchange(
                    ptr::null_mut(),
                    object,
                    Ordering::Release,
                    Ordering::Relaxed,
                )
                .is_ok()
        });
        // SAFETY: no place has it.
        (!given).then(|| unsafe { Box::from_raw(object) })
    }

    #[cold]
    fn make_places(&self) -> Option<&[Place<T>]> {
        let is_closed = self.closed.lock();
        if *is_closed {
            return None; // upholds P2
        }
        let count = if MODELLED {
            1
        } else {
            cores().next_power_of_two().min(MOST)
        };
        let place = |_| CachePadded::new(AtomicPtr::new(ptr::null_mut()));
        Some(self.places.get_or_make(|| (0..count).map(place).collect()))
    }

    /// Drops all objects that the pool holds. From then on it takes no others.
    pub fn close(&self) {
        *self.closed.lock() = true;
        for place in self
            .places
            .get()
            .into_iter()
            .flat_map(|places| places.iter())
        {
            // Acquire: partner of the Release in `give_back`.
            let object = place.swap(closed(), Ordering::Acquire);
            if !object.is_null() && object != closed() {
                // SAFETY: it was neither null nor closed, and this thread has replaced it (P1).
                drop(unsafe { Box::from_raw(object) });
            }
        }
    }
}

impl<T> Drop for ObjectPool<T> {
    fn drop(&mut self) {
        self.close();
    }
}

/// The place of the calling thread.
#[inline]
fn own<T>(places: &[Place<T>]) -> &Place<T> {
    &places[thread_number() & (places.len() - 1)]
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::thread;

    /// What keeps its own pool alive.
    struct Object {
        pool: Arc<ObjectPool<Object>>,
        number: u32,
    }

    fn object(pool: &Arc<ObjectPool<Object>>, number: u32) -> Box<Object> {
        let pool = pool.clone();
        Box::new(Object { pool, number })
    }

    fn give_back(object: Box<Object>) -> Option<u32> {
        ObjectPool::give_back(object, |object| &object.pool).map(|refused| refused.number)
    }

    #[test]
    fn what_was_given_back_is_taken_once() {
        let pool = Arc::new(ObjectPool::default());
        assert!(pool.take().is_none());
        assert_eq!(give_back(object(&pool, 1)), None);
        assert_eq!(give_back(object(&pool, 2)), Some(2), "a place holds one");
        let taken = pool.take().expect("an object");
        assert_eq!(taken.number, 1);
        assert!(pool.take().is_none());
        drop(taken);
        assert_eq!(Arc::strong_count(&pool), 1);
    }

    #[test]
    fn a_closed_pool_holds_nothing() {
        for used_before in [false, true] {
            let pool = Arc::new(ObjectPool::default());
            if used_before {
                assert_eq!(give_back(object(&pool, 1)), None);
            }
            pool.close();
            assert_eq!(Arc::strong_count(&pool), 1);
            assert!(pool.take().is_none());
            assert_eq!(give_back(object(&pool, 2)), Some(2));
            pool.close();
        }
    }

    /// The last reference to a pool is in an object that is given back while it is closed.
    #[test]
    fn objects_and_pools_of_many_threads_go_together() {
        for _ in 0..200 {
            let pool = Arc::new(ObjectPool::default());
            thread::scope(|scope| {
                for number in 0..4 {
                    let pool = &pool;
                    scope.spawn(move || {
                        for _ in 0..20 {
                            let object = pool.take().unwrap_or_else(|| object(pool, number));
                            give_back(object);
                        }
                    });
                }
                let pool = pool.clone();
                scope.spawn(move || pool.close());
            });
            assert_eq!(Arc::strong_count(&pool), 1);
        }
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::ObjectPool;
    use crate::sync::PublishedMark;
    use loom::sync::Arc;
    use loom::thread;
    use std::sync::Arc as Count;

    /// An object whose content is written before it is given back, and by who has taken it.
    struct Object {
        content: PublishedMark,
        pool: Arc<ObjectPool<Object>>,
        /// How many objects there are.
        _count: Count<()>,
    }

    fn object(pool: &Arc<ObjectPool<Object>>, count: &Count<()>) -> Box<Object> {
        Box::new(Object {
            content: PublishedMark::new(),
            pool: pool.clone(),
            _count: count.clone(),
        })
    }

    fn give_back(object: Box<Object>) {
        object.content.written();
        drop(ObjectPool::give_back(object, |object| &object.pool));
    }

    impl Drop for Object {
        fn drop(&mut self) {
            self.content.written();
        }
    }

    /// One thread takes an object, changes it and gives it back, another one gives back its own,
    /// and the pool is closed at some moment. None is left in it.
    #[test]
    fn a_closed_pool_holds_nothing_whenever_objects_come() {
        loom::model(|| {
            let pool = Arc::new(ObjectPool::default());
            let count = Count::new(());
            let other = {
                let object = object(&pool, &count);
                thread::spawn(move || give_back(object))
            };
            let user = {
                let (pool, count) = (pool.clone(), count.clone());
                thread::spawn(move || {
                    give_back(pool.take().unwrap_or_else(|| object(&pool, &count)));
                })
            };
            pool.close();
            other.join().unwrap();
            user.join().unwrap();
            assert_eq!(Count::strong_count(&count), 1);
            assert!(pool.take().is_none());
        });
    }

    /// Two threads use the one object of a pool: one after the other, if both do.
    #[test]
    fn an_object_has_one_user_at_a_time() {
        loom::model(|| {
            let pool = Arc::new(ObjectPool::default());
            let count = Count::new(());
            give_back(object(&pool, &count));
            let user = {
                let pool = pool.clone();
                move || pool.take().map(give_back)
            };
            let other = thread::spawn(user.clone());
            user();
            other.join().unwrap();
            pool.close();
            assert_eq!(Count::strong_count(&count), 1);
        });
    }
}
