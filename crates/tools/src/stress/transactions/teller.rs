//! What a thread does: transfers, in transactions and without.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use whitewater::checkpoint::TransactionDBCheckpoint;
use whitewater::fs::Fs;
use whitewater::{
    Error, ErrorKind, Options, Transaction, TransactionOptions, WriteBatchWithTransaction,
    WriteOptions,
};
use whitewater_concurrent::system::{Mutex, MutexGuard};

use super::bank::{self, BankOptions, Db, family};
use super::books::{self, ACCOUNTS, MERGED_FROM, Transfer, Unread};
use super::ledger::{Event, Fate, Kept, Ledger};
use crate::stress::script;
use crate::stress::worker::Stop;

/// How many prepared transactions a thread holds at most.
const HELD: usize = 2;

/// Takes the reports of all threads.
pub struct Journal {
    ledger: Mutex<Ledger>,
    /// Whether they are also written to the standard output.
    is_piped: bool,
}

impl Journal {
    /// Continues `ledger`.
    pub fn new(ledger: Ledger, is_piped: bool) -> Journal {
        Journal {
            ledger: Mutex::new(ledger),
            is_piped,
        }
    }

    /// What is known now.
    pub fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock()
    }

    /// Reports an event. Returns the time.
    ///
    /// # Errors
    /// Nobody reads the reports.
    pub fn put(&self, event: &Event) -> Result<u64, Stop> {
        let mut ledger = self.ledger();
        ledger.take(event);
        if self.is_piped {
            let line = format!("{event}\n");
            let mut out = std::io::stdout().lock();
            let written = out.write_all(line.as_bytes()).and_then(|()| out.flush());
            written.map_err(|_| Stop::NoListener)?;
        } else {
            script::log(|| event.to_string());
        }
        Ok(ledger.now())
    }
}

/// What all threads of a life share.
pub struct Context<'a> {
    /// The database.
    pub db: &'a Db,
    /// Its directory.
    pub dir: &'a Path,
    /// Its file system.
    pub fs: &'a Arc<dyn Fs>,
    /// Its options.
    pub options: &'a BankOptions,
    /// Receives the reports.
    pub journal: &'a Journal,
    /// Whether operations may fail. A failed write may be found later, so nothing that was
    /// read is written then: all transfers are merged into accounts.
    pub faulty: bool,
    /// Distinguishes names of this life from others.
    pub life: u64,
}

impl Context<'_> {
    /// What an acknowledged write survives.
    fn kept(&self, is_synced: bool) -> Kept {
        match (is_synced, self.options.manual_wal_flush) {
            (true, _) => Kept::Disk,
            (false, true) => Kept::Memory,
            (false, false) => Kept::Process,
        }
    }

    /// Reports a write before and after it. Returns whether it succeeded.
    fn report(
        &self,
        name: &str,
        fate: Fate,
        is_synced: bool,
        write: impl FnOnce() -> Result<(), Error>,
    ) -> Result<bool, Stop> {
        let begun = self.journal.put(&Event::Begin(name.to_owned(), fate))?;
        if let Err(e) = write() {
            self.failed(&format!("{name} to {fate:?}"), &e)?;
            return Ok(false);
        }
        let kept = self.kept(is_synced);
        self.journal.put(&Event::End(name.to_owned(), kept))?;
        if kept != Kept::Memory {
            self.journal.put(&Event::Flushed(begun, kept))?;
        }
        Ok(true)
    }

    fn failed(&self, what: &str, e: &Error) -> Result<(), Stop> {
        if self.faulty {
            Ok(())
        } else {
            Err(Stop::Wrong(format!("{what}: {e}")))
        }
    }

    /// Commits the prepared `transaction`, or rolls it back. `fate` was tried before. If that
    /// fails, whoever asks for prepared transactions gets it.
    fn decide(
        &self,
        transaction: Transaction<'_, Db>,
        fate: Option<Fate>,
        is_synced: bool,
        rng: &mut StdRng,
    ) -> Result<(), Stop> {
        let name = name_of(&transaction);
        let commits = fate.map_or_else(|| rng.random_bool(0.6), |f| f == Fate::Committed);
        if commits {
            self.report(&name, Fate::Committed, is_synced, || transaction.commit())?;
        } else {
            self.report(&name, Fate::Nothing, is_synced, || transaction.rollback())?;
        }
        Ok(())
    }

    /// Takes the transactions that are prepared and that nobody has, and decides some. The others
    /// keep their locks.
    fn resolve(&self, rng: &mut StdRng) -> Result<(), Stop> {
        for transaction in self.db.prepared_transactions() {
            let name = name_of(&transaction);
            let Some(tried) = self.journal.ledger().left(&name) else {
                let what = format!("{name} is handed out, and is not prepared");
                return Err(Stop::Wrong(what));
            };
            if rng.random_bool(0.5) {
                self.decide(transaction, tried, false, rng)?;
            }
        }
        Ok(())
    }

    /// Takes over what is prepared at an opening, before threads begin.
    ///
    /// # Errors
    /// Something else is prepared than what the ledger has.
    pub fn take_over(&self, rng: &mut StdRng) -> Result<(), Stop> {
        let due: BTreeSet<String> = self
            .journal
            .ledger()
            .prepared()
            .map(str::to_owned)
            .collect();
        let found = names(self.db);
        let unique: BTreeSet<String> = found.iter().cloned().collect();
        if unique.len() != found.len() || unique != due {
            let what = format!("prepared are {found:?}, should be {due:?}");
            return Err(Stop::Wrong(what));
        }
        self.resolve(rng)
    }
}

fn name_of(transaction: &Transaction<'_, Db>) -> String {
    let name = transaction.get_name().unwrap_or_default();
    String::from_utf8_lossy(&name).into_owned()
}

fn is_merged(name: &str) -> bool {
    name.starts_with('m')
}

/// The names of transactions that are prepared and that nobody has.
pub fn names(db: &Db) -> Vec<String> {
    db.prepared_transactions().iter().map(name_of).collect()
}

/// A thread.
pub struct Teller<'a> {
    context: &'a Context<'a>,
    thread: u32,
    rng: StdRng,
    count: u64,
    held: Vec<(Transaction<'a, Db>, bool)>,
}

impl<'a> Teller<'a> {
    /// The thread number `thread`.
    pub fn new(context: &'a Context<'a>, thread: u32, seed: u64) -> Teller<'a> {
        Teller {
            context,
            thread,
            rng: StdRng::seed_from_u64(seed ^ (u64::from(thread) << 32)),
            count: 0,
            held: Vec::new(),
        }
    }

    /// Does one thing.
    ///
    /// # Errors
    /// A bug.
    pub fn step(&mut self) -> Result<(), Stop> {
        match self.rng.random_range(0..1000) {
            0..700 => self.transact(),
            700..820 => self.decide_held(),
            820..850 => self.leave_held(),
            850..890 => self.context.resolve(&mut self.rng),
            890..940 => self.write_plainly(),
            940..960 => self.audit(),
            960..980 => self.flush(),
            980..995 => self.flush_wal(),
            _ => self.checkpoint(),
        }
    }

    fn draw(&mut self, kind: char) -> (String, Transfer) {
        self.count += 1;
        let (life, thread, count) = (self.context.life, self.thread, self.count);
        let accounts = if kind == 'p' {
            0..MERGED_FROM
        } else {
            MERGED_FROM..ACCOUNTS
        };
        let transfer = Transfer {
            source: self.rng.random_range(0..2),
            accounts: std::array::from_fn(|_| self.rng.random_range(accounts.clone())),
            amount: self.rng.random_range(1..100),
        };
        (format!("{kind}{life}-{thread}-{count}"), transfer)
    }

    fn receipt(&mut self, transfer: &Transfer) -> Vec<u8> {
        let size = if self.rng.random_bool(0.1) { 4000 } else { 200 };
        transfer.receipt(self.rng.random_range(0..size))
    }

    // Long: a transaction from its first write to its end.
    fn transact(&mut self) -> Result<(), Stop> {
        let is_merged = self.context.faulty || self.rng.random_bool(0.5);
        let (name, transfer) = self.draw(if is_merged { 'm' } else { 'p' });
        let is_synced = self.rng.random_bool(0.2);
        let mut write = WriteOptions::default();
        write.set_sync(is_synced);
        let mut options = TransactionOptions::default();
        options.set_deadlock_detect(true);
        options.set_lock_timeout(self.rng.random_range(0..20));
        let transaction = self.context.db.transaction_opt(&write, &options);
        let receipt = self.receipt(&transfer);
        let is_named = self.rng.random_bool(0.6);
        if is_named && let Err(e) = transaction.set_name(name.as_bytes()) {
            return Err(Stop::Wrong(format!("naming {name}: {e}")));
        }
        if let Err(e) = self.fill(&transaction, &name, &transfer, &receipt) {
            let is_expected = matches!(e.kind(), ErrorKind::Busy | ErrorKind::TimedOut);
            return if is_expected {
                Ok(())
            } else {
                self.context.failed(&format!("writing {name}"), &e)
            };
        }
        let context = self.context;
        if !is_named {
            if self.rng.random_bool(0.1) {
                let rolled_back = transaction.rollback();
                return rolled_back.or_else(|e| context.failed("rollback", &e));
            }
            context.report(&name, Fate::Committed, is_synced, || transaction.commit())?;
            return Ok(());
        }
        if !context.report(&name, Fate::Prepared, is_synced, || transaction.prepare())? {
            return Ok(());
        }
        if self.held.len() < HELD && self.rng.random_bool(0.5) {
            self.held.push((transaction, is_synced));
            return Ok(());
        }
        context.decide(transaction, None, is_synced, &mut self.rng)
    }

    fn fill(
        &mut self,
        transaction: &Transaction<'_, Db>,
        name: &str,
        transfer: &Transfer,
        receipt: &[u8],
    ) -> Result<(), Error> {
        let db = self.context.db;
        let first = self.rng.random_range(0..2);
        if self.rng.random_bool(0.1) {
            transaction.set_savepoint();
            transaction.merge_cf(
                &family(db, 0),
                books::account(MERGED_FROM),
                7_i64.to_le_bytes(),
            )?;
            transaction.rollback_to_savepoint()?;
        }
        for number in [first, 1 - first] {
            let cf = family(db, number);
            let key = books::account(transfer.accounts[number]);
            let change = transfer.change(number);
            if is_merged(name) {
                transaction.merge_cf(&cf, key, change.to_le_bytes())?;
            } else {
                let value = transaction.get_for_update_cf(&cf, &key, true)?;
                let before = value.map_or(Ok(0), |v| books::balance(&v));
                let after = before.unwrap_or(i64::MIN / 4) + change;
                transaction.put_cf(&cf, key, after.to_le_bytes())?;
            }
            transaction.put_cf(&cf, books::receipt(name), receipt)?;
        }
        Ok(())
    }

    fn decide_held(&mut self) -> Result<(), Stop> {
        if self.held.is_empty() {
            return Ok(());
        }
        let which = self.rng.random_range(0..self.held.len());
        let (transaction, is_synced) = self.held.swap_remove(which);
        let context = self.context;
        context.decide(transaction, None, is_synced, &mut self.rng)
    }

    /// Drops a prepared transaction. Whoever asks for prepared ones gets it.
    fn leave_held(&mut self) -> Result<(), Stop> {
        if !self.held.is_empty() {
            let which = self.rng.random_range(0..self.held.len());
            drop(self.held.swap_remove(which));
        }
        Ok(())
    }

    /// Writes a batch without a transaction: a transfer, or a receipt alone.
    fn write_plainly(&mut self) -> Result<(), Stop> {
        let (name, mut transfer) = self.draw('m');
        if self.rng.random_bool(0.5) {
            transfer.amount = 0;
        }
        let is_synced = self.rng.random_bool(0.1);
        let receipt = self.receipt(&transfer);
        let db = self.context.db;
        let mut batch = WriteBatchWithTransaction::<true>::default();
        for number in 0..2 {
            let cf = family(db, number);
            batch.put_cf(&cf, books::receipt(&name), &receipt);
            if transfer.amount != 0 {
                let key = books::account(transfer.accounts[number]);
                batch.merge_cf(&cf, key, transfer.change(number).to_le_bytes());
            }
        }
        let mut options = WriteOptions::default();
        options.set_sync(is_synced);
        let context = self.context;
        let mut is_late = false;
        let begun = context
            .journal
            .put(&Event::Begin(name.clone(), Fate::Committed))?;
        if let Err(e) = db.write_opt(batch, &options) {
            is_late = true;
            if e.kind() != ErrorKind::TimedOut {
                context.failed(&name, &e)?;
            }
        }
        if !is_late {
            let kept = context.kept(is_synced);
            context.journal.put(&Event::End(name, kept))?;
            if kept != Kept::Memory {
                context.journal.put(&Event::Flushed(begun, kept))?;
            }
        }
        Ok(())
    }

    fn audit(&mut self) -> Result<(), Stop> {
        match bank::audit(self.context.db) {
            Ok(_) => Ok(()),
            Err(Unread::Wrong(what)) => Err(Stop::Wrong(format!("at a snapshot: {what}"))),
            Err(Unread::Reported(e)) => self.context.failed("reading a snapshot", &e),
        }
    }

    fn flush(&mut self) -> Result<(), Stop> {
        let db = self.context.db;
        let flushed = db.flush_cf(&family(db, self.rng.random_range(0..2)));
        flushed.or_else(|e| self.context.failed("flush", &e))
    }

    fn flush_wal(&mut self) -> Result<(), Stop> {
        let context = self.context;
        let sync = self.rng.random_bool(0.5);
        let begun = context.journal.ledger().now();
        if let Err(e) = context.db.flush_wal(sync) {
            return context.failed("flush_wal", &e);
        }
        let kept = if sync { Kept::Disk } else { Kept::Process };
        context.journal.put(&Event::Flushed(begun, kept))?;
        Ok(())
    }

    /// Makes a checkpoint and opens it.
    fn checkpoint(&mut self) -> Result<(), Stop> {
        let context = self.context;
        let before = context.journal.ledger().clone();
        self.count += 1;
        let copy = format!("copy-{}-{}-{}", context.life, self.thread, self.count);
        let copy = context.dir.with_file_name(copy);
        let made = TransactionDBCheckpoint::new(context.db);
        if let Err(e) = made.and_then(|c| c.create_checkpoint(&copy)) {
            return context.failed("checkpoint", &e);
        }
        let mut after = context.journal.ledger().clone();
        let wrong = |what: String| Stop::Wrong(format!("in a checkpoint: {what}"));
        let opened =
            BankOptions::draw(&mut self.rng, context.options.policies()).open(&copy, context.fs);
        let db = match opened {
            Ok(db) => db,
            Err(e) => return context.failed("opening a checkpoint", &e),
        };
        match bank::audit(&db) {
            Ok(books) => {
                let prepared = names(&db);
                let settled = after.settle_all(&before, Kept::Memory, &prepared, &books);
                settled.map_err(wrong)?;
            }
            Err(Unread::Wrong(what)) => return Err(wrong(what)),
            Err(Unread::Reported(e)) => context.failed("reading a checkpoint", &e)?,
        }
        drop(db);
        let mut options = Options::default();
        options.set_fs(Arc::clone(context.fs));
        let destroyed = Db::destroy(&options, &copy);
        destroyed.or_else(|e| context.failed("removing a checkpoint", &e))
    }
}
