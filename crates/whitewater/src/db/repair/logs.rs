//! Turning logs into tables.

use super::tables::unknown_name;
use super::{Repair, is_damage};
use crate::memtable::{Home, Inserter, Memtable};
use crate::write::log::Link;
use std::collections::BTreeMap;
use std::sync::Arc;
use whitewater_storage::Result;
use whitewater_storage::batch::{self, Op};
use whitewater_storage::filename;
use whitewater_storage::wal::{LogReader, ReadOutcome};

impl Repair<'_> {
    /// Writes what can be read of log `number` into tables; the log is lost then.
    ///
    /// # Errors
    /// Those of the file system, not what the log holds.
    pub(super) fn convert_log(&mut self, number: u64) -> Result<()> {
        let path = filename::wal(&self.wal_dir, number);
        let mut reader = LogReader::new(self.fs.open_sequential(&path)?, number);
        let mut memtables = BTreeMap::new();
        let (mut record, mut batches) = (Vec::new(), 0u64);
        loop {
            match reader.read_record(&mut record) {
                Ok(ReadOutcome::Record) => {}
                Ok(ReadOutcome::Eof | ReadOutcome::TornTail { .. }) => break,
                Ok(ReadOutcome::Corrupt(e)) => {
                    self.log.write(&format!("Repair: skipped: {e}"));
                    continue;
                }
                Err(e) if is_damage(e.kind()) => {
                    self.log
                        .write(&format!("Repair: the log is read up to {e}"));
                    break;
                }
                Err(e) => return Err(e),
            }
            if let Err(e) = batch::check_logged(&record) {
                let e = e.in_file(&path, Some(reader.record_offset()));
                self.log.write(&format!("Repair: skipped: {e}"));
                continue;
            }
            self.apply(&record, number, &mut memtables)?;
            batches += 1;
        }
        for (id, memtable) in memtables {
            self.flush(id, &memtable)?;
        }
        self.log.write(&format!(
            "Repair: {batches} batches from {}",
            path.display()
        ));
        self.lost.push(path);
        Ok(())
    }

    fn apply(
        &mut self,
        record: &[u8],
        log: u64,
        memtables: &mut BTreeMap<u32, Arc<Memtable>>,
    ) -> Result<()> {
        let first = batch::sequence(record);
        let mut seq = first;
        for op in batch::ops(record) {
            let Op::Entry {
                cf: id,
                ty,
                key,
                value,
            } = op?
            else {
                continue;
            };
            if !self.old.has_dropped(id) {
                let family = self.family(id, &unknown_name(id)).name.clone();
                let home = Home {
                    family: &family,
                    tenant: None,
                };
                let new = || Memtable::new(self.options, home, log, 0);
                let memtable = memtables.entry(id).or_insert_with(new);
                let mut inserter = Inserter::new(false);
                inserter.add_logged(memtable, ty, key, value, seq)?;
                inserter.finish()?;
            }
            seq += 1;
        }
        if seq == first && Link::decode(record).is_none() {
            seq += 1; // log data alone took a number
        }
        self.last_sequence = self.last_sequence.max(seq.saturating_sub(1));
        let full = memtables.iter().filter(|(_, m)| m.is_full());
        let full: Vec<u32> = full.map(|(id, _)| *id).collect();
        for id in full {
            if let Some(memtable) = memtables.remove(&id) {
                self.flush(id, &memtable)?;
            }
        }
        Ok(())
    }

    fn flush(&mut self, id: u32, memtable: &Memtable) -> Result<()> {
        if memtable.is_empty() {
            return Ok(());
        }
        memtable.seal();
        let name = self.families[&id].name.clone();
        let tombstones = memtable.raw_tombstones()?;
        let tables = self.write(id, &name, memtable.sweep(), tombstones)?;
        self.family(id, &name).tables.extend(tables);
        Ok(())
    }
}
