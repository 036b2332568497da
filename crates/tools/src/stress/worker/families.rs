//! Transient column families: looking them up, creating and dropping them.

use whitewater::{Error, ErrorKind};

use super::super::journal::{Entry, Outcome};
use super::super::script;
use super::super::store::{self, Family};
use super::{Stop, Worker};
use rand::Rng;

/// The number of slots of a dropped column family that are read once more.
const LOOKS: usize = 5;

impl<'a> Worker<'a> {
    /// Looks up which column families exist. Dropped ones can still be read through their
    /// handles.
    pub(super) fn refresh_families(&mut self) -> Result<(), String> {
        let shape = self.context.shape;
        let permanent = shape.families as usize;
        let transient = self.context.transient;
        for family in self.families.split_off(permanent) {
            if transient.is_there(family.number) {
                self.families.push(family)
            } else {
                self.read_dropped_family(&family)?
            }
        }
        for (name, _) in shape.transient_names() {
            let Some(number) = transient.current(name) else {
                continue;
            };
            if self.families.iter().any(|family| family.number == number) {
                continue;
            }
            // The handle is of this column family, not of a later one of the same name.
            let found = store::family(self.context.db, number);
            if transient.is_there(number) {
                self.families.push(found?);
            }
        }
        Ok(())
    }

    /// Reads some slots of a dropped column family.
    fn read_dropped_family(&mut self, family: &Family<'a>) -> Result<(), String> {
        for _ in 0..LOOKS {
            let slot = self.slot_of(family.number);
            // The last write was acknowledged, but may have missed the dropped column
            // family.
            if self.last.iter().any(|change| change.slot == slot) {
                continue;
            }
            match self.get_at(&family.handle, slot, None) {
                Ok(found) => self.judge(slot, found.as_deref(), "get where it is gone")?,
                Err(e) => self.failed("get where it is gone", &e)?,
            }
        }
        Ok(())
    }

    /// Whether `e` reports that the column family is gone, and it is.
    pub(super) fn is_gone(&self, number: u32, e: &Error) -> bool {
        let lasts = number < self.context.shape.families;
        let says_so = matches!(
            e.kind(),
            ErrorKind::InvalidArgument | ErrorKind::ColumnFamilyDropped
        );
        says_so && !lasts && !self.context.transient.is_there(number)
    }

    /// Drops a column family or creates another one.
    pub(super) fn change_family(&mut self) -> Result<(), Stop> {
        let context = self.context;
        let (db, transient) = (context.db, context.transient);
        if context.shape.transient == 0 {
            return Ok(());
        }
        let name = self.rng.random_range(0..context.shape.transient);
        let Some(mut turn) = transient.turn(name) else {
            return Ok(());
        };
        let goes = match turn.known() {
            Some(held) => held.is_some(),
            None => self.rng.random(),
        };
        let change = if goes {
            turn.departure()
        } else {
            turn.arrival()
        };
        // The name has a journal thread of its own, because any thread may get the turn.
        let thread = context.shape.threads + name;
        let put = |entry: Entry| {
            script::log(|| entry.to_string());
            context.journal.put(entry).map_err(|_| Stop::NoListener)
        };
        let number = change.slot.transient_family(change.held.unwrap_or(0));
        let exported = match goes {
            true => None,
            false => self.export_for(number)?,
        };
        put(Entry::Begin(thread, vec![change]))?;
        transient.hide(name);
        let text = format!("transient{name}");
        let made = match exported {
            _ if goes => db.drop_cf(&text),
            Some(exported) => self.import(number, exported)?,
            None => {
                let (fs, shape) = (&context.fs, context.shape);
                let options = store::placed(context.dir, fs, context.options, shape, number);
                options.and_then(|o| db.create_cf(&text, &o))
            }
        };
        turn.settle(change, made.is_ok());
        if made.is_ok() {
            transient.show(name, change);
        }
        put(Entry::End(
            thread,
            match made {
                Ok(()) => Outcome::Acked,
                Err(_) => Outcome::Failed,
            },
        ))?;
        match made {
            Ok(()) => Ok(()),
            Err(e) => Ok(self.failed(&format!("{change} of a family"), &e)?),
        }
    }
}
