//! Read-only and secondary instances beside the one that writes. They show everything that
//! the thread has logged so far.

use std::sync::Arc;

use rand::Rng;
use whitewater::{Error, ErrorKind};

use super::super::store::{self, Db, total};
use super::Worker;

impl Worker<'_> {
    /// Opens a second instance, or lets the secondary one catch up, and compares its
    /// content.
    pub(super) fn read_through_second_instance(&mut self) -> Result<(), String> {
        let follows = self.rng.random_bool(0.7);
        let other = if follows {
            self.catch_up()
        } else {
            self.open_second_instance(false)
        };
        let other = match other {
            Ok(other) => other,
            // Logs were repeatedly deleted before they could be read.
            Err(e) if e.kind() == ErrorKind::TryAgain => return Ok(()),
            Err(e) => return self.failed("opening beside", &e),
        };
        let shape = self.context.shape;
        let families = store::permanent(&other, shape)?;
        let content = store::content(&other, shape, &families, &total, &|_| true);
        let mine = std::mem::replace(&mut self.mine, self.kept.clone());
        let what = if follows {
            "secondary instance"
        } else {
            "instance opened to read"
        };
        let compared = self.compare(content, &families, what);
        self.mine = mine;
        drop(families);
        if follows && self.rng.random_bool(0.8) {
            self.follower = Some(other);
        }
        compared
    }

    fn catch_up(&mut self) -> Result<Db, Error> {
        match self.follower.take() {
            None => self.open_second_instance(true),
            Some(follower) => {
                follower.try_catch_up_with_primary()?;
                Ok(follower)
            }
        }
    }

    fn open_second_instance(&self, follows: bool) -> Result<Db, Error> {
        let context = self.context;
        let own = context
            .dir
            .with_file_name(format!("secondary-{}", self.thread));
        let own = follows.then_some(own.as_path());
        store::open_second_instance(
            context.dir,
            own,
            &Arc::clone(&context.fs),
            context.options,
            context.shape,
        )
    }
}
