//! What the `rocksdb` crate had in another form before 0.25, for the crates that stand in
//! for its older versions (`crates/rocksdb-0.22` and its sisters).
//!
//! A program has no use for it: [`WriteBatchIterator`](crate::WriteBatchIterator) spares the
//! copies.

/// Receives the operations of a batch on the default column family, each key and value as a
/// copy: the trait of that name in the `rocksdb` crate up to 0.23.
pub trait WriteBatchIterator {
    /// A key and the value put.
    fn put(&mut self, key: Box<[u8]>, value: Box<[u8]>);
    /// A key deleted.
    fn delete(&mut self, key: Box<[u8]>);
}

impl<T: WriteBatchIterator + ?Sized> crate::WriteBatchIterator for T {
    fn put(&mut self, key: &[u8], value: &[u8]) {
        WriteBatchIterator::put(self, key.into(), value.into());
    }

    fn delete(&mut self, key: &[u8]) {
        WriteBatchIterator::delete(self, key.into());
    }
}

#[cfg(test)]
mod tests {
    use super::WriteBatchIterator;
    use crate::WriteBatch;

    /// What was seen, a line for each operation.
    #[derive(Default)]
    struct Seen(Vec<String>);

    impl WriteBatchIterator for Seen {
        fn put(&mut self, key: Box<[u8]>, value: Box<[u8]>) {
            let (key, value) = (key.escape_ascii(), value.escape_ascii());
            self.0.push(format!("put {key} {value}"));
        }

        fn delete(&mut self, key: Box<[u8]>) {
            self.0.push(format!("delete {}", key.escape_ascii()));
        }
    }

    #[test]
    fn a_batch_is_iterated_by_the_trait_of_0_23_also_as_an_object() {
        let mut batch = WriteBatch::default();
        batch.put(b"a", b"1");
        batch.delete(b"b");
        let mut seen = Seen::default();
        batch.iterate(&mut seen);
        let object: &mut dyn WriteBatchIterator = &mut seen;
        batch.iterate(object);
        assert_eq!(seen.0, ["put a 1", "delete b"].repeat(2));
    }
}
