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
                skip_concurrency_control: Option<bool> = None,
                    "Transactions lock nothing and check nothing, so randomtransaction finds that changes were lost. Needs transaction_db. auto: with unordered_write, as RocksDB's program does. (Not a RocksDB flag.)";
                txn_write_policy: String = "",
                    "When the changes of transactions get into memtables: 0 or write_committed, at their commit; 1 or write_prepared, or 2 or write_unprepared, when they are prepared. Needs transaction_db. Empty: 1 with unordered_write, as RocksDB's program does, otherwise 0. (Not a flag of RocksDB's db_bench; its db_stress has it.)";
            }
        ] $($rest)* }
    };
}

pub(super) use transactions;
