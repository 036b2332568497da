//! What the numbers stand for that Java keeps: a number of 64 bits is a place in a table and how
//! often the place has been used before. A number that was given back, or that stands for
//! something else, is an error. Whoever looks a number up keeps what it stands for until the call
//! ends, also if another thread gives the number back meanwhile.

use crate::border::{Result, invalid};
use arc_swap::{ArcSwapOption, Guard};
use std::any::{Any, type_name};
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Places are made by so many at a time.
const CHUNK: usize = 1024;
/// How many chunks there may be: some 67 million objects at once.
const CHUNKS: usize = 65536;

struct Entry {
    /// How often the place has been used before, from 1 on, so that no number is 0.
    generation: u32,
    /// The database that the object goes with; 0 for none.
    database: i64,
    value: Box<dyn Any + Send + Sync>,
}

/// A place; calls read it, makers and givers back write it.
type Place = ArcSwapOption<Entry>;

struct Free {
    /// Places that were given back, with the generation that is next.
    places: Vec<(u32, u32)>,
    /// How many places were ever used.
    used: usize,
}

static TABLE: [OnceLock<Box<[Place]>>; CHUNKS] = [const { OnceLock::new() }; CHUNKS];
static FREE: Mutex<Free> = Mutex::new(Free {
    places: Vec::new(),
    used: 0,
});

/// What a number stands for.
pub(crate) struct Found<T> {
    entry: Guard<Option<Arc<Entry>>>,
    kind: PhantomData<T>,
}

impl<T: 'static> Deref for Found<T> {
    type Target = T;

    fn deref(&self) -> &T {
        let entry = self.entry.as_ref().expect("`find` has found it");
        let value = entry.value.downcast_ref::<T>();
        value.expect("`find` has looked at the type")
    }
}

fn place(index: usize) -> Option<&'static Place> {
    TABLE.get(index / CHUNK)?.get()?.get(index % CHUNK)
}

fn number(index: usize, generation: u32) -> i64 {
    (i64::from(generation) << 32) | index as i64
}

fn parts(handle: i64) -> (usize, u32) {
    (
        (handle & i64::from(u32::MAX)) as usize,
        (handle >> 32) as u32,
    )
}

/// A number for `value`, which goes with the database of the number `database`, unless that is 0.
pub(crate) fn make_of<T: Any + Send + Sync>(database: i64, value: T) -> Result<i64> {
    let (index, generation) = {
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        match free.places.pop() {
            Some((index, generation)) => (index as usize, generation),
            None => {
                free.used += 1;
                (free.used - 1, 1)
            }
        }
    };
    let chunk = TABLE.get(index / CHUNK);
    let chunk = chunk.ok_or_else(|| invalid("there are too many objects"))?;
    let chunk = chunk.get_or_init(|| (0..CHUNK).map(|_| Place::empty()).collect());
    let value = Box::new(value);
    chunk[index % CHUNK].store(Some(Arc::new(Entry {
        generation,
        database,
        value,
    })));
    Ok(number(index, generation))
}

/// A number for `value`.
pub(crate) fn make<T: Any + Send + Sync>(value: T) -> Result<i64> {
    make_of(0, value)
}

/// What `handle` stands for.
pub(crate) fn find<T: Any>(handle: i64) -> Result<Found<T>> {
    let (index, generation) = parts(handle);
    let entry = place(index).map(ArcSwapOption::load);
    let entry = entry.filter(|entry| match &**entry {
        Some(entry) => entry.generation == generation && entry.value.is::<T>(),
        None => false,
    });
    match entry {
        Some(entry) => Ok(Found {
            entry,
            kind: PhantomData,
        }),
        None => Err(invalid(&format!(
            "a {} was closed, or never made",
            type_name::<T>().rsplit("::").next().unwrap_or_default()
        ))),
    }
}

/// The same for a number that may be 0.
pub(crate) fn find_given<T: Any>(handle: i64) -> Result<Option<Found<T>>> {
    (handle != 0).then(|| find(handle)).transpose()
}

/// Gives a number back, unless that was done. What it stands for goes when no call uses it.
pub(crate) fn give_back(handle: i64) {
    let (index, generation) = parts(handle);
    let Some(place) = place(index) else { return };
    let before = place.load_full();
    let Some(before) = before.filter(|entry| entry.generation == generation) else {
        return;
    };
    let swapped = place.compare_and_swap(&before, None);
    let is_mine = swapped
        .as_ref()
        .is_some_and(|entry| Arc::ptr_eq(entry, &before));
    if let Some(next) = generation
        .checked_add(1)
        .filter(|next| is_mine && *next < 1 << 31)
    {
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        free.places.push((index as u32, next));
    }
}

/// Gives back the numbers of all that goes with a database.
pub(crate) fn give_back_all_of(database: i64) {
    let chunks = TABLE.iter().map_while(OnceLock::get);
    for (index, place) in chunks.flat_map(|chunk| chunk.iter()).enumerate() {
        let entry = place.load_full();
        if let Some(entry) = entry.filter(|entry| entry.database == database) {
            give_back(number(index, entry.generation));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_stands_for_one_object_until_it_is_given_back() {
        let text = make("river".to_owned()).expect("there is room");
        assert_eq!(*find::<String>(text).expect("it is there"), "river");
        assert!(find::<u32>(text).is_err(), "it is no number");
        give_back(text);
        give_back(text);
        let other = make("brook".to_owned()).expect("there is room");
        assert!(find::<String>(text).is_err(), "it was given back");
        assert_ne!(text, other);
        give_back(other);
    }

    #[test]
    fn what_goes_with_a_database_goes_with_it() {
        let database = make(1u8).expect("there is room");
        let of_it = make_of(database, 2u8).expect("there is room");
        let kept = find::<u8>(of_it).expect("it is there");
        give_back_all_of(database);
        assert!(find::<u8>(of_it).is_err());
        assert_eq!(*kept, 2, "a call that runs keeps it");
        assert_eq!(*find::<u8>(database).expect("it is there"), 1);
        give_back(database);
    }
}
