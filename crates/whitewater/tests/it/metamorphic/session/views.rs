//! Steps that read, now or at a snapshot.

use super::{Outcome, Session, pick, said};
use crate::harness::walk::Content;
use crate::harness::{Db, show};
use crate::metamorphic::draw::Nature;
use crate::metamorphic::model::{Bounds, Cursor, State, family, loose};
use crate::metamorphic::script::{check_bounds, key};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use whitewater::{ReadOptions, WideColumn, WideColumns};

impl<'a> Session<'a> {
    /// The content of `name` in a view, and the read options for that view.
    pub(super) fn view(
        &self,
        name: &str,
        view: Option<u8>,
        mut options: ReadOptions,
    ) -> Option<(Content, ReadOptions)> {
        match view.and_then(|n| pick(&self.snapshots, n)) {
            None => Some((self.state.get(name)?.clone(), options)),
            Some(i) => {
                let (snapshot, state) = &self.snapshots[i];
                options.set_snapshot(snapshot);
                Some((state.get(name)?.clone(), options))
            }
        }
    }

    fn cursor(
        &self,
        name: &str,
        content: &Content,
        bounds: &Bounds,
        options: ReadOptions,
    ) -> Cursor<'a> {
        let cf = self.db.cf_handle(name).expect("a live family");
        let iter = self.db.raw_iterator_cf_opt(&cf, options);
        let nature = &self.case.nature;
        Cursor::new(iter, content, bounds, nature.order, nature.filter)
    }

    pub(super) fn open_iter(&mut self, cf: u8, bounds: &Bounds, view: Option<u8>) -> Outcome {
        let name = family(cf);
        let Some((content, options)) = self.view(name, view, bounds.read_options()) else {
            return Ok(());
        };
        let cursor = self.cursor(name, &content, bounds, options);
        self.cursors.push(cursor);
        if self.cursors.len() > 6 {
            self.cursors.remove(0);
        }
        Ok(())
    }

    pub(super) fn use_iter(&mut self, n: u8, seed: u64) -> Outcome {
        let Some(i) = pick(&self.cursors, n) else {
            return Ok(());
        };
        let mut rng = StdRng::seed_from_u64(seed);
        if rng.random_bool(0.1) {
            return self.cursors.remove(i).scan();
        }
        for _ in 0..rng.random_range(1..12) {
            self.cursors[i].step(&mut rng, &key)?;
        }
        Ok(())
    }

    pub(super) fn prefix_scan(&mut self, cf: u8, view: Option<u8>, key: &[u8]) -> Outcome {
        let name = family(cf);
        let Some(length) = self.prefixes[name].filter(|l| *l <= key.len()) else {
            return Ok(());
        };
        let mut options = ReadOptions::default();
        options.set_prefix_same_as_start(true);
        let Some((content, options)) = self.view(name, view, options) else {
            return Ok(());
        };
        let mut cursor = self.cursor(name, &content, &Bounds::default(), options);
        cursor.with_prefix(key, length)
    }

    pub(super) fn check(&mut self, cf: u8, view: Option<u8>, seed: u64) -> Outcome {
        let name = family(cf);
        let mut rng = StdRng::seed_from_u64(seed);
        let bounds = check_bounds(&mut rng);
        let Some((content, options)) = self.view(name, view, bounds.read_options()) else {
            return Ok(());
        };
        if rng.random_bool(0.4) {
            let mut cursor = self.cursor(name, &content, &bounds, options);
            if rng.random_bool(0.3) {
                return cursor.scan();
            }
            for _ in 0..15 {
                cursor.step(&mut rng, &key)?;
            }
            return Ok(());
        }
        let mut keys: Vec<Vec<u8>> = (0..8).map(|_| key(&mut rng)).collect();
        keys.extend((0..3).map(|_| format!("s{:02}", rng.random_range(0..30)).into_bytes()));
        keys.extend((0..3).map(|_| format!("f{:02}", rng.random_range(0..30)).into_bytes()));
        let cf = self.db.cf_handle(name).expect("a live family");
        let many = self
            .db
            .multi_get_cf_opt(keys.iter().map(|k| (&cf, k)), &options);
        let slices = keys.iter().map(Vec::as_slice);
        let batched = (self.db).batched_multi_get_cf_opt(&cf, slices, false, &options);
        for ((k, many), batched) in keys.iter().zip(many).zip(batched) {
            let want = content.get(k).map(Vec::as_slice);
            let single = said("get", self.db.get_cf_opt(&cf, k, &options))?;
            let slice = said("get_pinned", self.db.get_pinned_cf_opt(&cf, k, &options))?;
            let wide = said("get_entity", self.db.get_entity_cf_opt(&cf, k, &options))?;
            let many = said("multi_get", many)?;
            let batched = said("batched_multi_get", batched)?;
            let other = wide
                .iter()
                .flat_map(WideColumns::iter)
                .find(|c| !c.name.is_empty());
            if let Some(other) = other
                && other != WideColumn::new("of", k)
            {
                return Err(format!("{} of {name} has the column {other:?}", show(k)));
            }
            for (how, got) in [
                ("get", single.as_deref()),
                ("get_pinned", slice.as_deref()),
                (
                    "get_entity",
                    wide.as_ref()
                        .map(|w| w.default_column().unwrap_or_default()),
                ),
                ("multi_get", many.as_deref()),
                ("batched_multi_get", batched.as_deref()),
            ] {
                if got != want && !(got.is_none() && loose(self.case.nature.filter, k)) {
                    return Err(format!(
                        "{how}({}) of {name} (snapshot: {view:?}) is {}, should be {}",
                        show(k),
                        got.map_or("None".to_owned(), show),
                        want.map_or("None".to_owned(), show)
                    ));
                }
            }
            let may_exist = self.db.key_may_exist_cf_opt(&cf, k, &options);
            if single.is_some() && !may_exist && !loose(self.case.nature.filter, k) {
                return Err(format!("key_may_exist({}) of {name} is false", show(k)));
            }
        }
        Ok(())
    }

    pub fn check_everything(&mut self) -> Outcome {
        check_all(self.db, self.state, &self.case.nature)?;
        self.cursors.iter_mut().try_for_each(Cursor::scan)
    }
}

/// Compares all families.
pub fn check_all(db: &Db, state: &State, nature: &Nature) -> Outcome {
    for (name, content) in state {
        let cf = db.cf_handle(name).expect("a live family");
        let all = Bounds::default();
        let iter = db.raw_iterator_cf_opt(&cf, all.read_options());
        let mut cursor = Cursor::new(iter, content, &all, nature.order, nature.filter);
        cursor.scan().map_err(|e| format!("{name}: {e}"))?;
    }
    Ok(())
}
