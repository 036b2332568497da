//! How a transaction ends.

use super::{Inner, State, Transaction};
use crate::db::validation::Noted;
use crate::txn::database::UndecidedTransaction;
use crate::txn::errors::expired;
use crate::txn::optimistic::Optimistic;
use crate::txn::policy::{Pessimistic, Policy};
use std::mem;
use whitewater_storage::{Error, Result, planted};

impl Transaction {
    /// Logs the batch, so that the transaction can be committed or rolled back even after the
    /// database was closed, or has died.
    ///
    /// # Errors
    /// `InvalidArgument` if it has no name, is prepared or has ended, or is optimistic; `Expired`
    /// if the expiration is over; errors of [`prepare_section`]: the transaction can then be used
    /// on.
    ///
    /// [`prepare_section`]: crate::db::Engine::prepare_section
    pub fn prepare(&self) -> Result<()> {
        let inner = &mut *self.inner.borrow_mut();
        let Policy::Pessimistic(this) = &self.policy else {
            return Err(Error::invalid(
                "Two phase commit not supported for optimistic transactions.",
            ));
        };
        let Some(name) = &inner.name else {
            return Err(Error::invalid(
                "Cannot prepare a transaction that has not been named.",
            ));
        };
        let ended = match inner.state {
            State::Started => None,
            State::Prepared => Some("prepared"),
            State::Committed => Some("committed"),
            State::RolledBack => Some("rolledback"),
        };
        if let Some(ended) = ended {
            return Err(Error::invalid(format_args!(
                "Transaction has already been {ended}."
            )));
        }
        // What is protected no longer expires.
        if this.owner.is_expired() || !this.owner.protect() {
            return Err(expired());
        }
        let prepared = self.prepared_batch(inner).and_then(|stamped| {
            let spec = &self.write_spec;
            match &stamped {
                Some((batch, stamped)) => {
                    (self.engine).prepare_stamped_section(name, (batch, stamped), spec)
                }
                None => (self.engine).prepare_section(name, inner.batch.batch(), spec),
            }
        });
        match prepared {
            Ok(section) => {
                inner.section = Some(section);
                inner.state = State::Prepared;
                planted!(PreparedRobbed => this.owner.unprotect());
                Ok(())
            }
            Err(e) => {
                this.owner.unprotect();
                Err(e)
            }
        }
    }

    /// Writes the batch, and gives the locks back when it is visible. An optimistic transaction
    /// first checks that its keys have not changed.
    ///
    /// # Errors
    /// `Busy` if they have, and other errors of [`write_validated`];
    /// `Expired` if the expiration is over; `InvalidArgument` if it has ended, or should have been
    /// prepared; errors of the write: the transaction can then be used on, committed again, and
    /// rolled back. A prepared one is prepared as before then.
    ///
    /// [`write_validated`]: crate::db::Engine::write_validated
    pub fn commit(&self) -> Result<()> {
        let inner = &mut *self.inner.borrow_mut();
        match inner.state {
            State::Started => self.commit_unprepared(inner),
            State::Prepared => self.commit_prepared(inner),
            State::Committed => Err(Error::invalid("Transaction has already been committed.")),
            State::RolledBack => Err(Error::invalid("Transaction has already been rolledback.")),
        }
    }

    fn commit_unprepared(&self, inner: &mut Inner) -> Result<()> {
        if self
            .policy
            .pessimistic()
            .is_some_and(|p| p.owner.is_expired())
        {
            return Err(expired());
        }
        if !self.skip_prepare {
            return Err(Error::invalid("Txn not prepared"));
        }
        if inner.commit_time.count() > 0 {
            return Err(Error::invalid(
                "Commit-time batch contains values that will not be committed.",
            ));
        }
        match &self.policy {
            Policy::Pessimistic(this) => self.write_locked(inner, this)?,
            Policy::Optimistic(this) => self.write_validated(inner, this)?,
        }
        self.end_committed(inner);
        Ok(())
    }

    /// Writes the batch, whose keys are locked.
    fn write_locked(&self, inner: &mut Inner, this: &Pessimistic) -> Result<()> {
        if !this.owner.protect() {
            return Err(expired());
        }
        if inner.batch.count() == 0 {
            return Ok(());
        }
        let stamped = match self.stamped_batch(inner) {
            Ok(stamped) => stamped,
            Err(e) => {
                this.owner.unprotect();
                return Err(e);
            }
        };
        planted!(LocksReleasedEarly => self.release_keys(inner));
        if let Some((batch, stamped)) = stamped {
            let written = self.engine.write(batch, &stamped, &self.write_spec);
            return written.inspect_err(|_| this.owner.unprotect());
        }
        let batch = inner.batch.lend();
        let (batch, written) = self.engine.write_and_return(batch, &self.write_spec);
        inner.batch.give_back(batch);
        written.inspect_err(|_| this.owner.unprotect())
    }

    /// Writes the batch if nobody has changed a key that was noted.
    fn write_validated(&self, inner: &mut Inner, this: &Optimistic) -> Result<()> {
        let noted = inner.tracker.iter().map(|(family, key, tracked)| Noted {
            family,
            key,
            since: tracked.valid_at,
        });
        let noted: Vec<_> = noted.collect();
        let batch = inner.batch.lend();
        let (batch, written) = this.db.write_validated(&noted, batch, &self.write_spec);
        inner.batch.give_back(batch);
        written
    }

    fn commit_prepared(&self, inner: &mut Inner) -> Result<()> {
        if let Some(section) = &inner.section {
            let time = self.section_time(inner, section)?;
            let time = time.as_ref().map(|time| &time[..]);
            let commit_time = (inner.commit_time.count() > 0).then_some(&inner.commit_time);
            (self.engine).commit_section_at(section, time, commit_time, &self.write_spec)?;
        }
        self.end_committed(inner);
        Ok(())
    }

    fn end_committed(&self, inner: &mut Inner) {
        inner.state = State::Committed;
        inner.section = None;
        self.clear(inner);
        self.free_name(inner);
    }

    /// Forgets what was written, and gives the locks back. The transaction can be used on, unless
    /// it was prepared.
    ///
    /// # Errors
    /// `InvalidArgument` if it has ended, or its locks were stolen; errors of
    /// [`rollback_section`]: it is prepared as before then.
    ///
    /// [`rollback_section`]: crate::db::Engine::rollback_section
    pub fn rollback(&self) -> Result<()> {
        let inner = &mut *self.inner.borrow_mut();
        let robbed = || {
            self.policy
                .pessimistic()
                .is_some_and(Pessimistic::is_robbed)
        };
        match inner.state {
            State::Started if robbed() => Err(Error::invalid(
                "Two phase transaction is not in state for rollback.",
            )),
            State::Started => {
                self.clear(inner);
                Ok(())
            }
            State::Prepared => {
                if let Some(section) = &inner.section {
                    self.engine.rollback_section(section, &self.write_spec)?;
                }
                inner.state = State::RolledBack;
                inner.section = None;
                self.clear(inner);
                Ok(())
            }
            State::Committed => Err(Error::invalid(
                "This transaction has already been committed.",
            )),
            State::RolledBack => Err(Error::invalid(
                "Two phase transaction is not in state for rollback.",
            )),
        }
    }

    /// Forgets all operations and keys.
    fn clear(&self, inner: &mut Inner) {
        inner.savepoints.clear();
        inner.batch.clear();
        inner.commit_time.clear();
        inner.stamps.written = false;
        self.release_keys(inner);
        if inner.snapshot.is_none() {
            inner.boundary = None;
        }
    }

    fn free_name(&self, inner: &Inner) {
        if let Some(this) = self.policy.pessimistic()
            && let Some(name) = &inner.name
        {
            this.db.free_name(name);
        }
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        let inner = &mut *self.inner.borrow_mut();
        planted!(UndecidedUnlocked => self.release_keys(inner));
        if let Some(this) = self.policy.pessimistic()
            && let (State::Prepared, Some(section)) = (inner.state, inner.section.take())
        {
            // It keeps its name and its locks (X9, K6).
            return this.db.leave_undecided(UndecidedTransaction {
                section,
                owner: this.owner.clone(),
                keys: mem::take(&mut inner.tracker),
                wait: this.wait(),
            });
        }
        self.release_keys(inner);
        if inner.state != State::Committed {
            self.free_name(inner);
        }
    }
}
