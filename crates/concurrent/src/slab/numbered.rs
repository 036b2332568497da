//! Things that have numbers, the lowest that are free.

use super::numbers::Numbers;

/// Things by their numbers.
#[derive(Debug)]
pub(super) struct Numbered<T> {
    things: Vec<Option<T>>,
    /// The numbers below `things.len()` that nothing has.
    unused: Numbers,
}

impl<T> Numbered<T> {
    pub(super) const fn new() -> Self {
        Numbered {
            things: Vec::new(),
            unused: Numbers::new(),
        }
    }

    /// More than the highest number.
    pub(super) fn end(&self) -> usize {
        self.things.len()
    }

    pub(super) fn get_mut(&mut self, number: usize) -> Option<&mut T> {
        self.things.get_mut(number)?.as_mut()
    }

    /// All of them, by number.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.things.iter().flatten()
    }

    /// Adds a thing. Returns its number.
    pub(super) fn add(&mut self, thing: T) -> usize {
        if let Some(number) = self.unused.lowest() {
            self.unused.remove(number);
            self.things[number] = Some(thing);
            return number;
        }
        self.things.push(Some(thing));
        self.things.len() - 1
    }

    /// Takes out the thing of this number.
    pub(super) fn remove(&mut self, number: usize) -> Option<T> {
        let thing = self.things.get_mut(number)?.take()?;
        self.unused.insert(number);
        while let Some(None) = self.things.last() {
            self.things.pop();
            self.unused.remove(self.things.len());
        }
        Some(thing)
    }
}
