//! Transactions.

/// Passes these rows, after the rows so far, to the next group.
macro_rules! transactions {
    ([$($before:tt)*] $next:ident $($rest:ident)*) => {
        $next! { [
            $($before)*
            "Transactions" {
                transaction_db: bool = false,
                    "Open the database with pessimistic transactions (TransactionDB). randomtransaction uses them; the writes of other benchmarks lock their keys.";
                optimistic_transaction_db: bool = false,
                    "Open the database with optimistic transactions (OptimisticTransactionDB), which randomtransaction uses.";
                transaction_sets: i32 = 2,
                    "The number of sets of keys of randomtransaction; each transaction changes a key in each of them. At most 9999.";
                transaction_set_snapshot: bool = true,
                    "Transactions take a snapshot when they begin, and fail if a key that they use has been changed since. Half of the reads of randomtransaction are not for update then; without snapshots all are. (RocksDB's default is false, but its randomtransaction takes snapshots even so.)";
                transaction_lock_timeout: i64 = 100,
                    "The time in milliseconds that a transaction of randomtransaction waits for the lock of a key; 0: it does not wait. Optimistic transactions wait for none.";
                skip_concurrency_control: bool = false,
                    "Transactions lock nothing and check nothing, so randomtransaction finds that changes were lost. Needs transaction_db. (Not a RocksDB flag.)";
                txn_write_policy: String = "write_committed",
                    "When the changes of transactions are written to the memtable: write_committed, at their commit. Needs transaction_db. (Not a RocksDB flag.)";
            }
        ] $($rest)* }
    };
}

pub(super) use transactions;
