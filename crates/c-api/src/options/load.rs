//! Options from the options file of a database.

use super::{rocksdb_cache_t, rocksdb_env_t, rocksdb_options_t};
use crate::border::{ErrPtr, Malloced, Out, OwnedList, Text, array, copied, exports, given};
use libc::c_char;
use std::ptr;
use whitewater::{Error, ErrorKind, Options};

exports! {
    fn rocksdb_load_latest_options(
        path: Text, env: Option<&rocksdb_env_t>, ignore_unknown: bool,
        cache: Option<&rocksdb_cache_t>, db_options: Out<Option<Box<rocksdb_options_t>>>,
        len: Out<usize>, names: Out<*mut *mut c_char>,
        family_options: Out<*mut Box<rocksdb_options_t>>, errptr: ErrPtr,
    ) {
        len.set(0);
        db_options.set(None);
        names.set(ptr::null_mut());
        family_options.set(ptr::null_mut());
        errptr.run(|| {
            let (env, cache) = (given(env)?.options.clone(), given(cache)?.options.clone());
            let (options, mut families, passed_over) =
                Options::load_latest_with_errors(path.path(), env, cache)?;
            // An object of the user is only named there: the caller sets it.
            let matters = |e: &&Error| e.kind() != ErrorKind::NotSupported && !ignore_unknown;
            if let Some(e) = passed_over.iter().find(matters) {
                return Err(e.clone());
            }
            let own = |options| Box::new(rocksdb_options_t::new(options));
            len.set(families.len());
            names.set(array(families.iter().map(|f| copied(f.name().as_bytes())).collect()));
            let options_of = families.iter_mut().map(|f| own(f.options_mut().clone()));
            family_options.set(array(options_of.collect()));
            db_options.set(Some(own(options)));
            Ok(())
        });
    }
    fn rocksdb_load_latest_options_destroy(
        db_options: Option<Box<rocksdb_options_t>>, names: OwnedList<Malloced>,
        family_options: OwnedList<Option<Box<rocksdb_options_t>>>, len: usize,
    ) {
        drop(db_options);
        names.take(len).into_iter().for_each(Malloced::free);
        drop(family_options.take(len));
    }
}
