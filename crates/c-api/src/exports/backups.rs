//! Backups.

use crate::border::{ErrPtr, Result, Text, exports, given};
use crate::db::{on_db, open, rocksdb_t};
use crate::options::values::{Built, fields, made};
use crate::options::{rocksdb_env_t, rocksdb_options_t};
use std::path::PathBuf;
use whitewater::Env;
use whitewater::backup::{
    BackupEngine, BackupEngineInfo, BackupEngineOptions, RestoreOptions, ShareFilesNaming,
};

/// A directory of backups.
pub struct rocksdb_backup_engine_t(BackupEngine);

/// What there is to know of the backups in a directory.
pub struct rocksdb_backup_engine_info_t(Vec<BackupEngineInfo>);

pub type rocksdb_backup_engine_options_t = Built<Directory>;
pub type rocksdb_restore_options_t = Built<RestoreOptions>;

type Setting = Box<dyn Fn(&mut BackupEngineOptions)>;

/// Options of a directory of backups. The directory is the engine's first option, so the others are
/// set again when it changes.
pub struct Directory {
    dir: PathBuf,
    set: Vec<Setting>,
}

impl Directory {
    fn set(&mut self, set: impl Fn(&mut BackupEngineOptions) + 'static) {
        self.set.push(Box::new(set));
    }

    fn options(&self) -> Result<BackupEngineOptions> {
        let mut options = BackupEngineOptions::new(&self.dir)?;
        self.set.iter().for_each(|set| set(&mut options));
        Ok(options)
    }
}

fn naming(flags: i32) -> (ShareFilesNaming, bool) {
    // The flag says that the size is in the name; it always is in the older one.
    const WITH_SIZE: i32 = 1 << 31;
    match flags & !WITH_SIZE {
        1 => (ShareFilesNaming::LegacyCrc32cAndFileSize, true),
        _ => (ShareFilesNaming::UseDbSessionId, flags & WITH_SIZE != 0),
    }
}

fn info(infos: Option<&rocksdb_backup_engine_info_t>, index: i32) -> Option<&BackupEngineInfo> {
    infos?.0.get(usize::try_from(index).ok()?)
}

fn opened(
    options: &BackupEngineOptions,
    env: &Env,
) -> Result<Option<Box<rocksdb_backup_engine_t>>> {
    Ok(Some(Box::new(rocksdb_backup_engine_t(BackupEngine::open(
        options, env,
    )?))))
}

made! {
    rocksdb_restore_options_t = Built::default(), rocksdb_restore_options_create,
        rocksdb_restore_options_destroy;
}

fields! { rocksdb_restore_options_t {
    "keep_log_files": i32 = 0, |o, v| o.set_keep_log_files(v != 0),
        set rocksdb_restore_options_set_keep_log_files;
}}

fields! { rocksdb_backup_engine_options_t {
    "share_table_files": u8 = 1, |o, v| o.set(move |o| o.set_share_table_files(v != 0)),
        set rocksdb_backup_engine_options_set_share_table_files,
        get rocksdb_backup_engine_options_get_share_table_files;
    "sync": u8 = 1, |o, v| o.set(move |o| o.set_sync(v != 0)),
        set rocksdb_backup_engine_options_set_sync, get rocksdb_backup_engine_options_get_sync;
    "destroy_old_data": u8 = 0, |o, v| o.set(move |o| o.set_destroy_old_data(v != 0)),
        set rocksdb_backup_engine_options_set_destroy_old_data,
        get rocksdb_backup_engine_options_get_destroy_old_data;
    "backup_log_files": u8 = 1, |o, v| o.set(move |o| o.set_backup_log_files(v != 0)),
        set rocksdb_backup_engine_options_set_backup_log_files,
        get rocksdb_backup_engine_options_get_backup_log_files;
    "backup_rate_limit": u64 = 0, |o, v| o.set(move |o| o.set_backup_rate_limit(v)),
        set rocksdb_backup_engine_options_set_backup_rate_limit,
        get rocksdb_backup_engine_options_get_backup_rate_limit;
    "restore_rate_limit": u64 = 0, |o, v| o.set(move |o| o.set_restore_rate_limit(v)),
        set rocksdb_backup_engine_options_set_restore_rate_limit,
        get rocksdb_backup_engine_options_get_restore_rate_limit;
    "max_background_operations": i32 = 1,
        |o, v| o.set(move |o| o.set_max_background_operations(v)),
        set rocksdb_backup_engine_options_set_max_background_operations,
        get rocksdb_backup_engine_options_get_max_background_operations;
    "callback_trigger_interval_size": u64 = 4 << 20,
        |o, v| o.set(move |o| o.set_callback_trigger_interval_size(v)),
        set rocksdb_backup_engine_options_set_callback_trigger_interval_size,
        get rocksdb_backup_engine_options_get_callback_trigger_interval_size;
    "max_valid_backups_to_open": i32 = i32::MAX,
        |o, v| o.set(move |o| {
            o.set_max_valid_backups_to_open(usize::try_from(v).unwrap_or(0));
        }),
        set rocksdb_backup_engine_options_set_max_valid_backups_to_open,
        get rocksdb_backup_engine_options_get_max_valid_backups_to_open;
    "share_files_with_checksum_naming": i32 = 2 | (1 << 31),
        |o, v| o.set(move |o| {
            let (naming, with_size) = naming(v);
            o.set_share_files_with_checksum_naming(naming, with_size);
        }),
        set rocksdb_backup_engine_options_set_share_files_with_checksum_naming,
        get rocksdb_backup_engine_options_get_share_files_with_checksum_naming;
}}

exports! {
    fn rocksdb_backup_engine_options_create(
        dir: Text,
    ) -> Option<Box<rocksdb_backup_engine_options_t>> {
        Some(Box::new(Built::new(Directory { dir: dir.path(), set: Vec::new() })))
    }
    fn rocksdb_backup_engine_options_destroy(
        _options: Option<Box<rocksdb_backup_engine_options_t>>,
    ) {}
    fn rocksdb_backup_engine_options_set_backup_dir(
        options: Option<&mut rocksdb_backup_engine_options_t>, dir: Text,
    ) {
        if let Some(options) = options {
            options.options.dir = dir.path();
        }
    }
    fn rocksdb_backup_engine_options_set_env(
        options: Option<&mut rocksdb_backup_engine_options_t>, env: Option<&rocksdb_env_t>,
    ) {
        if let Some((options, env)) = options.zip(env) {
            let env = env.options.clone();
            options.options.set(move |options| options.set_backup_env(&env));
        }
    }
    fn rocksdb_backup_engine_open(
        options: Option<&rocksdb_options_t>, dir: Text, errptr: ErrPtr,
    ) -> Option<Box<rocksdb_backup_engine_t>> {
        errptr.run(|| {
            given(options)?;
            opened(&BackupEngineOptions::new(dir.path())?, &Env::new()?)
        })
    }
    fn rocksdb_backup_engine_open_opts(
        options: Option<&rocksdb_backup_engine_options_t>, env: Option<&rocksdb_env_t>,
        errptr: ErrPtr,
    ) -> Option<Box<rocksdb_backup_engine_t>> {
        errptr.run(|| opened(&given(options)?.options.options()?, &given(env)?.options))
    }
    fn rocksdb_backup_engine_close(_engine: Option<Box<rocksdb_backup_engine_t>>) {}
    fn rocksdb_backup_engine_create_new_backup(
        engine: Option<&mut rocksdb_backup_engine_t>, db: Option<&rocksdb_t>, errptr: ErrPtr,
    ) {
        errptr.run(|| {
            let (engine, db) = (given(engine)?, open(db)?);
            on_db!(db, db => engine.0.create_new_backup(db))
        });
    }
    fn rocksdb_backup_engine_create_new_backup_flush(
        engine: Option<&mut rocksdb_backup_engine_t>, db: Option<&rocksdb_t>, flush: u8,
        errptr: ErrPtr,
    ) {
        errptr.run(|| {
            let (engine, db) = (given(engine)?, open(db)?);
            on_db!(db, db => engine.0.create_new_backup_flush(db, flush != 0))
        });
    }
    fn rocksdb_backup_engine_purge_old_backups(
        engine: Option<&mut rocksdb_backup_engine_t>, keep: u32, errptr: ErrPtr,
    ) {
        errptr.run(|| given(engine)?.0.purge_old_backups(keep as usize));
    }
    fn rocksdb_backup_engine_verify_backup(
        engine: Option<&rocksdb_backup_engine_t>, backup_id: u32, errptr: ErrPtr,
    ) {
        errptr.run(|| given(engine)?.0.verify_backup(backup_id));
    }
    fn rocksdb_backup_engine_restore_db_from_latest_backup(
        engine: Option<&mut rocksdb_backup_engine_t>, db_dir: Text, wal_dir: Text,
        options: Option<&rocksdb_restore_options_t>, errptr: ErrPtr,
    ) {
        errptr.run(|| {
            let (engine, options) = (given(engine)?, &given(options)?.options);
            engine.0.restore_from_latest_backup(db_dir.path(), wal_dir.path(), options)
        });
    }
    fn rocksdb_backup_engine_restore_db_from_backup(
        engine: Option<&mut rocksdb_backup_engine_t>, db_dir: Text, wal_dir: Text,
        options: Option<&rocksdb_restore_options_t>, backup_id: u32, errptr: ErrPtr,
    ) {
        errptr.run(|| {
            let (engine, options) = (given(engine)?, &given(options)?.options);
            engine.0.restore_from_backup(db_dir.path(), wal_dir.path(), options, backup_id)
        });
    }
    fn rocksdb_backup_engine_get_backup_info(
        engine: Option<&rocksdb_backup_engine_t>,
    ) -> Option<Box<rocksdb_backup_engine_info_t>> {
        Some(Box::new(rocksdb_backup_engine_info_t(engine?.0.get_backup_info())))
    }
    fn rocksdb_backup_engine_info_destroy(_infos: Option<Box<rocksdb_backup_engine_info_t>>) {}
    fn rocksdb_backup_engine_info_count(infos: Option<&rocksdb_backup_engine_info_t>) -> i32 {
        infos.map_or(0, |infos| i32::try_from(infos.0.len()).unwrap_or(i32::MAX))
    }
    fn rocksdb_backup_engine_info_timestamp(
        infos: Option<&rocksdb_backup_engine_info_t>, index: i32,
    ) -> i64 {
        info(infos, index).map_or(0, |info| info.timestamp)
    }
    fn rocksdb_backup_engine_info_backup_id(
        infos: Option<&rocksdb_backup_engine_info_t>, index: i32,
    ) -> u32 {
        info(infos, index).map_or(0, |info| info.backup_id)
    }
    fn rocksdb_backup_engine_info_size(
        infos: Option<&rocksdb_backup_engine_info_t>, index: i32,
    ) -> u64 {
        info(infos, index).map_or(0, |info| info.size)
    }
    fn rocksdb_backup_engine_info_number_files(
        infos: Option<&rocksdb_backup_engine_info_t>, index: i32,
    ) -> u32 {
        info(infos, index).map_or(0, |info| info.num_files)
    }
}
