/* Every kind of handle used wrongly: after its database was closed, closed twice, destroyed in the
 * wrong order, null. Nothing of it may crash, read freed memory or leak; what can fail says why.
 *
 * What rocksdb/c.h leaves to the caller stays there: nothing but a database is used after it was
 * destroyed. Run by scripts/c-test, with the compiler's sanitizers if asked to. */

#include "check.h"

#include <stdatomic.h>

#define CLOSED "the database is closed"
#define NULL_HANDLE "a handle is null"

static rocksdb_options_t *options;
static rocksdb_readoptions_t *reads;
static rocksdb_writeoptions_t *writes;
static rocksdb_transactiondb_options_t *locks;
static rocksdb_transaction_options_t *begins;
static rocksdb_optimistictransaction_options_t *begins_optimistic;
static atomic_int logged;

static void put(rocksdb_t *db, const char *key) {
  OK(rocksdb_put(db, writes, key, strlen(key), TEXT("value"), &err));
}

/* A fresh database with the keys a, b and c. */
static rocksdb_t *open_db(const char *name) {
  rocksdb_t *db = NULL;
  OK(rocksdb_destroy_db(options, name, &err));
  OK(db = rocksdb_open(options, name, &err));
  put(db, "a");
  put(db, "b");
  put(db, "c");
  return db;
}

/* The database can be opened, so nothing keeps it open. */
static void is_free(const char *name) {
  rocksdb_t *db = NULL;
  OK(db = rocksdb_open(options, name, &err));
  rocksdb_close(db);
  OK(rocksdb_destroy_db(options, name, &err));
}

static void writes_are_refused(rocksdb_t *db) {
  rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
  rocksdb_flushoptions_t *flush = rocksdb_flushoptions_create();
  rocksdb_writebatch_put(batch, TEXT("a"), TEXT("b"));
  FAILS(CLOSED, rocksdb_put(db, writes, TEXT("a"), TEXT("b"), &err));
  FAILS(CLOSED, rocksdb_merge(db, writes, TEXT("a"), TEXT("b"), &err));
  FAILS(CLOSED, rocksdb_delete(db, writes, TEXT("a"), &err));
  FAILS(CLOSED, rocksdb_singledelete(db, writes, TEXT("a"), &err));
  FAILS(CLOSED, rocksdb_write(db, writes, batch, &err));
  FAILS(CLOSED, rocksdb_flush(db, flush, &err));
  FAILS(CLOSED, rocksdb_flush_wal(db, 1, &err));
  FAILS(CLOSED, rocksdb_disable_file_deletions(db, &err));
  FAILS(CLOSED, rocksdb_try_catch_up_with_primary(db, &err));
  rocksdb_compact_range(db, NULL, 0, NULL, 0);
  rocksdb_cancel_all_background_work(db, 1);
  rocksdb_writebatch_destroy(batch);
  rocksdb_flushoptions_destroy(flush);
}

static void reads_are_refused(rocksdb_t *db) {
  size_t len = 7;
  uint64_t number = 0;
  unsigned char found = 9;
  char *value = NULL, *text = NULL, *errs[2] = {NULL, NULL}, *values[2];
  const char *keys[2] = {"a", "b"};
  size_t lengths[2] = {1, 1}, sizes[2];
  FAILS(CLOSED, value = rocksdb_get(db, reads, TEXT("a"), &len, &err));
  CHECK(value == NULL && len == 0);
  FAILS(CLOSED, CHECK(rocksdb_get_pinned(db, reads, TEXT("a"), &err) == NULL));
  rocksdb_multi_get(db, reads, 2, keys, lengths, values, sizes, errs);
  for (int at = 0; at < 2; at++) {
    CHECK(values[at] == NULL && sizes[at] == 0 && strstr(errs[at], CLOSED));
    rocksdb_free(errs[at]);
  }
  /* What cannot be looked for may be there. */
  CHECK(rocksdb_key_may_exist(db, reads, TEXT("a"), &text, &len, NULL, 0, &found) == 1);
  CHECK(found == 0 && text == NULL);
  CHECK(rocksdb_create_iterator(db, reads) == NULL);
  CHECK(rocksdb_create_snapshot(db) == NULL);
  CHECK(rocksdb_property_value(db, "rocksdb.stats") == NULL);
  CHECK(rocksdb_property_int(db, "rocksdb.estimate-num-keys", &number) != 0);
  CHECK(rocksdb_get_latest_sequence_number(db) == 0);
  CHECK(rocksdb_livefiles(db) == NULL);
  CHECK(rocksdb_get_column_family_metadata(db) == NULL);
  CHECK(rocksdb_get_default_column_family_handle(db) == NULL);
  FAILS(CLOSED, CHECK(rocksdb_get_updates_since(db, 0, NULL, &err) == NULL));
  FAILS(CLOSED, rocksdb_approximate_sizes(db, 1, keys, lengths, keys + 1, lengths, &number, &err));
}

static void makers_are_refused(rocksdb_t *db) {
  rocksdb_ingestexternalfileoptions_t *ingest = rocksdb_ingestexternalfileoptions_create();
  rocksdb_memory_consumers_t *consumers = rocksdb_memory_consumers_create();
  const char *files[1] = {"nowhere.sst"};
  rocksdb_memory_consumers_add_db(consumers, db);
  FAILS(CLOSED, rocksdb_create_column_family(db, options, "late", &err));
  FAILS(CLOSED, CHECK(rocksdb_checkpoint_object_create(db, &err) == NULL));
  FAILS(CLOSED, rocksdb_ingest_external_file(db, files, 1, ingest, &err));
  FAILS(CLOSED, CHECK(rocksdb_approximate_memory_usage_create(consumers, &err) == NULL));
  rocksdb_memory_consumers_destroy(consumers);
  rocksdb_ingestexternalfileoptions_destroy(ingest);
}

static void closed_databases(void) {
  part("a database after it was closed, and closed again");
  rocksdb_t *db = open_db("closed");
  rocksdb_close(db);
  rocksdb_close(db);
  writes_are_refused(db);
  reads_are_refused(db);
  makers_are_refused(db);
  rocksdb_close(db);
  is_free("closed");

  part("a database that waiting for compactions has closed");
  rocksdb_wait_for_compact_options_t *wait = rocksdb_wait_for_compact_options_create();
  rocksdb_wait_for_compact_options_set_close_db(wait, 1);
  db = open_db("closed");
  OK(rocksdb_wait_for_compact(db, wait, &err));
  FAILS(CLOSED, rocksdb_wait_for_compact(db, wait, &err));
  rocksdb_close(db);
  rocksdb_wait_for_compact_options_destroy(wait);
  is_free("closed");
}

static void iterators(void) {
  part("an iterator after its database, its options and its column family");
  rocksdb_t *db = open_db("iterator");
  rocksdb_readoptions_t *own = rocksdb_readoptions_create();
  rocksdb_iterator_t *iter = rocksdb_create_iterator(db, own);
  size_t len;
  rocksdb_readoptions_destroy(own);
  CHECK(rocksdb_iter_valid(iter) == 0);
  CHECK(rocksdb_iter_key(iter, &len) == NULL && len == 0);
  rocksdb_iter_next(iter);
  rocksdb_iter_prev(iter);
  rocksdb_close(db);
  int keys = 0;
  for (rocksdb_iter_seek_to_first(iter); rocksdb_iter_valid(iter); rocksdb_iter_next(iter)) {
    CHECK(rocksdb_iter_key(iter, &len) != NULL && len == 1);
    keys++;
  }
  CHECK(keys == 3);
  OK(rocksdb_iter_get_error(iter, &err));
  CHECK(rocksdb_iter_value(iter, &len) == NULL && len == 0);
  rocksdb_iter_next(iter);
  FAILS("lock", rocksdb_open(options, "iterator", &err));
  rocksdb_iter_destroy(iter);
  is_free("iterator");

  part("iterators over several column families, one of which is null");
  db = open_db("iterator");
  rocksdb_column_family_handle_t *handles[2] = {rocksdb_get_default_column_family_handle(db), NULL};
  rocksdb_iterator_t *both[2] = {NULL, NULL};
  FAILS(NULL_HANDLE, rocksdb_create_iterators(db, reads, handles, both, 2, &err));
  CHECK(both[0] == NULL && both[1] == NULL);
  CHECK(rocksdb_create_iterator_cf(db, reads, NULL) == NULL);
  rocksdb_column_family_handle_destroy(handles[0]);
  rocksdb_close(db);
  is_free("iterator");
}

static void snapshots(void) {
  part("a snapshot after its database, and of another one");
  rocksdb_t *db = open_db("snapshot"), *other = open_db("other");
  rocksdb_readoptions_t *at = rocksdb_readoptions_create();
  const rocksdb_snapshot_t *first = rocksdb_create_snapshot(db);
  const rocksdb_snapshot_t *second = rocksdb_create_snapshot(db);
  size_t len;
  rocksdb_readoptions_set_snapshot(at, first);
  FAILS("snapshot", rocksdb_get(other, at, TEXT("a"), &len, &err));
  rocksdb_close(db);
  CHECK(rocksdb_snapshot_get_sequence_number(first) == 3);
  rocksdb_release_snapshot(db, first);
  rocksdb_release_snapshot(NULL, second);
  /* The options have the snapshot, but no longer the database. */
  is_free("snapshot");
  FAILS("snapshot", rocksdb_get(other, at, TEXT("a"), &len, &err));
  rocksdb_readoptions_set_snapshot(at, NULL);
  char *value = NULL;
  OK(value = rocksdb_get(other, at, TEXT("a"), &len, &err));
  CHECK(len == 5);
  rocksdb_free(value);
  rocksdb_readoptions_destroy(at);
  rocksdb_close(other);
  is_free("other");
}

static void values(void) {
  part("a pinned value after its database");
  rocksdb_t *db = open_db("value");
  rocksdb_pinnableslice_t *value = NULL;
  size_t len;
  OK(value = rocksdb_get_pinned(db, reads, TEXT("a"), &err));
  rocksdb_close(db);
  const char *bytes = rocksdb_pinnableslice_value(value, &len);
  CHECK(len == 5 && memcmp(bytes, "value", 5) == 0);
  rocksdb_pinnableslice_destroy(value);
  is_free("value");
}

static void entities(void) {
  part("columns of a value and of an iterator after their database");
  const char *names[2] = {"name", ""}, *values[2] = {"ada", "a"};
  size_t name_lengths[2] = {4, 0}, value_lengths[2] = {3, 1}, len;
  rocksdb_t *db = open_db("entity");
  rocksdb_column_family_handle_t *family = rocksdb_get_default_column_family_handle(db);
  rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
  OK(rocksdb_put_entity_cf(db, writes, family, TEXT("b"), 2, names, name_lengths, values,
                           value_lengths, &err));
  rocksdb_pinnablewidecolumns_t *found = NULL;
  OK(found = rocksdb_get_entity_cf(db, reads, family, TEXT("b"), &err));
  FAILS("NotFound", CHECK(rocksdb_get_entity_cf(db, reads, family, TEXT("d"), &err) == NULL));
  rocksdb_iterator_t *iter = rocksdb_create_iterator(db, reads);
  CHECK(rocksdb_iter_columns(iter) == NULL);
  rocksdb_iter_seek(iter, TEXT("b"));
  rocksdb_widecolumns_t *columns = rocksdb_iter_columns(iter);
  rocksdb_iter_destroy(iter);
  rocksdb_close(db);
  CHECK(rocksdb_pinnablewidecolumns_size(found) == 2 && rocksdb_widecolumns_size(columns) == 2);
  const char *name = rocksdb_pinnablewidecolumns_name(found, 1, &len);
  CHECK(len == 4 && memcmp(name, "name", 4) == 0);
  const char *value = rocksdb_widecolumns_value(columns, 1, &len);
  CHECK(len == 3 && memcmp(value, "ada", 3) == 0);
  CHECK(rocksdb_pinnablewidecolumns_value(found, 2, &len) == NULL && len == 0);
  CHECK(rocksdb_widecolumns_name(columns, 2, &len) == NULL && len == 0);
  FAILS("lock", rocksdb_open(options, "entity", &err));
  rocksdb_pinnablewidecolumns_destroy(found);
  rocksdb_widecolumns_destroy(columns);

  part("columns that are no columns");
  FAILS(CLOSED, rocksdb_put_entity_cf(db, writes, family, TEXT("b"), 0, NULL, NULL, NULL, NULL,
                                      &err));
  FAILS(CLOSED, CHECK(rocksdb_get_entity_cf(db, reads, family, TEXT("b"), &err) == NULL));
  FAILS("null", rocksdb_writebatch_put_entity_cf(batch, family, TEXT("b"), 2, names, name_lengths,
                                                 values, NULL, &err));
  names[1] = "name", name_lengths[1] = 4;
  FAILS("order", rocksdb_writebatch_put_entity_cf(batch, family, TEXT("b"), 2, names, name_lengths,
                                                  values, value_lengths, &err));
  CHECK(rocksdb_writebatch_count(batch) == 0);
  rocksdb_writebatch_destroy(batch);
  rocksdb_column_family_handle_destroy(family);
  is_free("entity");
}

static void families(void) {
  part("a column family after it was dropped, of another database, after its database");
  rocksdb_t *db = open_db("family"), *other = open_db("other");
  rocksdb_column_family_handle_t *old = NULL, *new = NULL;
  size_t len;
  OK(old = rocksdb_create_column_family(db, options, "side", &err));
  rocksdb_iterator_t *iter = rocksdb_create_iterator_cf(db, reads, old);
  FAILS("olumn family", rocksdb_put_cf(other, writes, old, TEXT("a"), TEXT("b"), &err));
  FAILS("olumn family", rocksdb_drop_column_family(other, old, &err));
  OK(rocksdb_drop_column_family(db, old, &err));
  FAILS("olumn family", rocksdb_drop_column_family(db, old, &err));
  FAILS("olumn family", rocksdb_put_cf(db, writes, old, TEXT("a"), TEXT("b"), &err));
  /* Another one of its name is not it. */
  OK(new = rocksdb_create_column_family(db, options, "side", &err));
  FAILS("olumn family", rocksdb_drop_column_family(db, old, &err));
  OK(rocksdb_put_cf(db, writes, new, TEXT("a"), TEXT("b"), &err));
  FAILS(NULL_HANDLE, rocksdb_put_cf(db, writes, NULL, TEXT("a"), TEXT("b"), &err));
  rocksdb_iter_seek_to_first(iter);
  CHECK(rocksdb_iter_valid(iter) == 0);
  rocksdb_iter_destroy(iter);
  rocksdb_close(db);
  FAILS(CLOSED, rocksdb_put_cf(db, writes, new, TEXT("a"), TEXT("b"), &err));
  CHECK(rocksdb_column_family_handle_get_id(new) == 2);
  char *name = rocksdb_column_family_handle_get_name(old, &len);
  CHECK(len == 4);
  rocksdb_free(name);
  /* Handles do not keep their database open. */
  db = NULL;
  const char *names[2] = {"default", "side"};
  const rocksdb_options_t *lists[2] = {options, options};
  rocksdb_column_family_handle_t *handles[2];
  OK(db = rocksdb_open_column_families(options, "family", 2, names, lists, handles, &err));
  rocksdb_close(db);
  rocksdb_column_family_handle_destroy(handles[0]);
  rocksdb_column_family_handle_destroy(handles[1]);
  rocksdb_column_family_handle_destroy(old);
  rocksdb_column_family_handle_destroy(new);
  rocksdb_close(other);
  OK(rocksdb_destroy_db(options, "family", &err));
  is_free("other");
}

static rocksdb_transactiondb_t *open_locking(const char *name) {
  rocksdb_transactiondb_t *db = NULL;
  OK(db = rocksdb_transactiondb_open(options, locks, name, &err));
  return db;
}

static void ended_transactions(rocksdb_transactiondb_t *db) {
  rocksdb_transaction_t *txn = rocksdb_transaction_begin(db, writes, begins, NULL);
  size_t len;
  OK(rocksdb_transaction_put(txn, TEXT("a"), TEXT("1"), &err));
  FAILS("name", rocksdb_transaction_prepare(txn, &err));
  FAILS("NotFound", rocksdb_transaction_rollback_to_savepoint(txn, &err));
  FAILS("name length", rocksdb_transaction_set_name(txn, TEXT(""), &err));
  OK(rocksdb_transaction_commit(txn, &err));
  FAILS(":", rocksdb_transaction_commit(txn, &err));
  FAILS(":", rocksdb_transaction_rollback(txn, &err));
  FAILS(":", rocksdb_transaction_put(txn, TEXT("a"), TEXT("1"), &err));
  txn = rocksdb_transaction_begin(db, writes, begins, txn);
  OK(rocksdb_transaction_set_name(txn, TEXT("left"), &err));
  OK(rocksdb_transaction_put(txn, TEXT("p"), TEXT("1"), &err));
  OK(rocksdb_transaction_prepare(txn, &err));
  FAILS(":", rocksdb_transaction_put(txn, TEXT("q"), TEXT("1"), &err));
  char *name = rocksdb_transaction_get_name(txn, &len);
  CHECK(len == 4);
  rocksdb_free(name);
  rocksdb_transaction_destroy(txn);
}

static void transactions(void) {
  part("transactions that have ended");
  rocksdb_transactiondb_t *db = open_locking("locking");
  ended_transactions(db);

  part("a transaction after its database, its iterator and snapshot after both");
  rocksdb_readoptions_t *at = rocksdb_readoptions_create();
  rocksdb_transaction_t *txn = rocksdb_transaction_begin(db, writes, begins, NULL);
  const rocksdb_snapshot_t *snapshot = rocksdb_transaction_get_snapshot(txn);
  rocksdb_t *base = rocksdb_transactiondb_get_base_db(db);
  size_t len;
  OK(rocksdb_transaction_put(txn, TEXT("a"), TEXT("2"), &err));
  rocksdb_transactiondb_close(db);
  rocksdb_transactiondb_close(db);
  FAILS(CLOSED, rocksdb_put(base, writes, TEXT("a"), TEXT("b"), &err));
  rocksdb_transactiondb_close_base_db(base);
  CHECK(rocksdb_transaction_begin(db, writes, begins, NULL) == NULL);
  CHECK(rocksdb_transactiondb_create_iterator(db, reads) == NULL);
  CHECK(rocksdb_transactiondb_create_snapshot(db) == NULL);
  CHECK(rocksdb_transactiondb_get_prepared_transactions(db, &len) == NULL || len == 0);
  FAILS(CLOSED, rocksdb_transactiondb_put(db, writes, TEXT("a"), TEXT("b"), &err));
  rocksdb_iterator_t *iter = rocksdb_transaction_create_iterator(txn, reads);
  OK(rocksdb_transaction_commit(txn, &err));
  rocksdb_transaction_destroy(txn);
  rocksdb_readoptions_set_snapshot(at, snapshot);
  rocksdb_iter_seek_to_first(iter);
  CHECK(rocksdb_iter_valid(iter) == 1);
  rocksdb_iter_destroy(iter);
  db = open_locking("locking");
  FAILS("destroyed", rocksdb_transactiondb_get(db, at, TEXT("a"), &len, &err));
  rocksdb_free((void *)snapshot);
  rocksdb_readoptions_destroy(at);

  part("prepared transactions, found again, after their database");
  rocksdb_transaction_t **left = rocksdb_transactiondb_get_prepared_transactions(db, &len);
  CHECK(left != NULL && len == 1);
  rocksdb_transactiondb_close(db);
  OK(rocksdb_transaction_rollback(left[0], &err));
  rocksdb_transaction_destroy(left[0]);
  rocksdb_free(left);
  db = open_locking("locking");
  rocksdb_transactiondb_close(db);
  OK(rocksdb_destroy_db(options, "locking", &err));

  part("a database without transactions of a kind");
  rocksdb_t *plain = open_db("plain");
  CHECK(rocksdb_transaction_begin((void *)plain, writes, begins, NULL) == NULL);
  txn = rocksdb_optimistictransaction_begin((void *)plain, writes, begins_optimistic, NULL);
  CHECK(txn == NULL);
  rocksdb_close(plain);
  is_free("plain");
}

static void optimistic(void) {
  part("an optimistic transaction after its database");
  rocksdb_optimistictransactiondb_t *db = NULL;
  OK(db = rocksdb_optimistictransactiondb_open(options, "optimistic", &err));
  rocksdb_t *base = rocksdb_optimistictransactiondb_get_base_db(db);
  put(base, "a");
  rocksdb_transaction_t *txn =
      rocksdb_optimistictransaction_begin(db, writes, begins_optimistic, NULL);
  OK(rocksdb_transaction_put(txn, TEXT("a"), TEXT("mine"), &err));
  put(base, "a");
  FAILS("busy", rocksdb_transaction_commit(txn, &err));
  rocksdb_optimistictransactiondb_close(db);
  rocksdb_optimistictransactiondb_close(db);
  FAILS(":", rocksdb_transaction_set_name(txn, TEXT("name"), &err));
  OK(rocksdb_transaction_rollback(txn, &err));
  rocksdb_transaction_destroy(txn);
  CHECK(rocksdb_optimistictransaction_begin(db, writes, begins_optimistic, NULL) == NULL);
  rocksdb_optimistictransactiondb_close_base_db(base);
  is_free("optimistic");
}

static void batches(void) {
  part("an indexed batch after its database; its iterator after the batch");
  rocksdb_t *db = open_db("batch");
  rocksdb_writebatch_wi_t *batch = rocksdb_writebatch_wi_create(0, 1);
  size_t len;
  rocksdb_writebatch_wi_put(batch, TEXT("z"), TEXT("new"));
  rocksdb_iterator_t *base = rocksdb_create_iterator(db, reads);
  rocksdb_iterator_t *iter = rocksdb_writebatch_wi_create_iterator_with_base(batch, base);
  rocksdb_close(db);
  FAILS(CLOSED,
        rocksdb_writebatch_wi_get_from_batch_and_db(batch, db, reads, TEXT("z"), &len, &err));
  FAILS(CLOSED, rocksdb_write_writebatch_wi(db, writes, batch, &err));
  char *value = NULL;
  OK(value = rocksdb_writebatch_wi_get_from_batch(batch, options, TEXT("z"), &len, &err));
  CHECK(len == 3);
  rocksdb_free(value);
  FAILS("NotFound", rocksdb_writebatch_wi_rollback_to_save_point(batch, &err));
  rocksdb_writebatch_wi_destroy(batch);
  int keys = 0;
  for (rocksdb_iter_seek_to_first(iter); rocksdb_iter_valid(iter); rocksdb_iter_next(iter)) keys++;
  CHECK(keys == 4);
  rocksdb_iter_destroy(iter);
  CHECK(rocksdb_writebatch_wi_create_iterator_with_base(NULL, NULL) == NULL);
  is_free("batch");

  part("batches without savepoint, of bytes that are none");
  rocksdb_writebatch_t *plain = rocksdb_writebatch_create();
  FAILS("NotFound", rocksdb_writebatch_rollback_to_save_point(plain, &err));
  FAILS("NotFound", rocksdb_writebatch_pop_save_point(plain, &err));
  rocksdb_writebatch_destroy(plain);
  db = open_db("batch");
  rocksdb_writebatch_t *wrong = rocksdb_writebatch_create_from(TEXT("twelve bytes, and some more"));
  FAILS("orrupt", rocksdb_write(db, writes, wrong, &err));
  rocksdb_writebatch_destroy(wrong);
  FAILS(NULL_HANDLE, rocksdb_write(db, writes, NULL, &err));
  rocksdb_close(db);
  is_free("batch");
}

static void backups(void) {
  part("a backup engine of a closed database, without backups, and what it has told after it");
  rocksdb_t *db = open_db("backed"), *closed = open_db("backed2");
  rocksdb_restore_options_t *restore = rocksdb_restore_options_create();
  rocksdb_backup_engine_t *engine = NULL;
  OK(engine = rocksdb_backup_engine_open(options, "backups", &err));
  FAILS(":",
        rocksdb_backup_engine_restore_db_from_latest_backup(engine, "to", "to", restore, &err));
  FAILS(":", rocksdb_backup_engine_restore_db_from_backup(engine, "to", "to", restore, 9, &err));
  FAILS(":", rocksdb_backup_engine_verify_backup(engine, 9, &err));
  rocksdb_close(closed);
  FAILS(CLOSED, rocksdb_backup_engine_create_new_backup(engine, closed, &err));
  FAILS(NULL_HANDLE, rocksdb_backup_engine_create_new_backup(engine, NULL, &err));
  FAILS(NULL_HANDLE, rocksdb_backup_engine_create_new_backup(NULL, db, &err));
  OK(rocksdb_backup_engine_create_new_backup(engine, db, &err));
  OK(rocksdb_backup_engine_purge_old_backups(engine, 7, &err));
  rocksdb_close(db);
  const rocksdb_backup_engine_info_t *info = rocksdb_backup_engine_get_backup_info(engine);
  rocksdb_backup_engine_close(engine);
  CHECK(rocksdb_backup_engine_info_count(info) == 1);
  CHECK(rocksdb_backup_engine_info_backup_id(info, 0) == 1);
  CHECK(rocksdb_backup_engine_info_backup_id(info, 1) == 0);
  CHECK(rocksdb_backup_engine_info_size(info, -1) == 0);
  rocksdb_backup_engine_info_destroy(info);
  rocksdb_backup_engine_options_t *dir = rocksdb_backup_engine_options_create("backups");
  FAILS(NULL_HANDLE, rocksdb_backup_engine_open_opts(dir, NULL, &err));
  rocksdb_backup_engine_options_destroy(dir);
  rocksdb_restore_options_destroy(restore);
  is_free("backed");
  is_free("backed2");
}

static void checkpoints(void) {
  part("a checkpoint after its database, and where something is");
  rocksdb_t *db = open_db("checked");
  rocksdb_checkpoint_t *checkpoint = NULL;
  OK(checkpoint = rocksdb_checkpoint_object_create(db, &err));
  FAILS("xist", rocksdb_checkpoint_create(checkpoint, "checked", 0, &err));
  FAILS(":", rocksdb_checkpoint_create(checkpoint, NULL, 0, &err));
  rocksdb_close(db);
  FAILS(CLOSED, rocksdb_checkpoint_create(checkpoint, "copy", 0, &err));
  FAILS(CLOSED, rocksdb_checkpoint_export_column_family(checkpoint, NULL, "copy", &err));
  rocksdb_checkpoint_object_destroy(checkpoint);
  is_free("checked");
}

static void logs_and_files(void) {
  part("the log and lists of files after their database");
  rocksdb_t *db = open_db("logged");
  rocksdb_wal_iterator_t *log = NULL;
  uint64_t number;
  OK(log = rocksdb_get_updates_since(db, 0, NULL, &err));
  const rocksdb_livefiles_t *files = rocksdb_livefiles(db);
  rocksdb_column_family_metadata_t *about = rocksdb_get_column_family_metadata(db);
  rocksdb_close(db);
  int updates = 0;
  for (; rocksdb_wal_iter_valid(log); rocksdb_wal_iter_next(log)) {
    rocksdb_writebatch_t *batch = rocksdb_wal_iter_get_batch(log, &number);
    CHECK(rocksdb_writebatch_count(batch) == 1);
    rocksdb_writebatch_destroy(batch);
    updates++;
  }
  CHECK(updates == 3);
  OK(rocksdb_wal_iter_status(log, &err));
  rocksdb_wal_iter_next(log);
  rocksdb_wal_iter_destroy(log);
  CHECK(rocksdb_livefiles_count(files) == 0 && rocksdb_livefiles_name(files, 5) == NULL);
  rocksdb_livefiles_destroy(files);
  CHECK(rocksdb_column_family_metadata_get_level_metadata(about, 1000) == NULL);
  rocksdb_column_family_metadata_destroy(about);
  is_free("logged");

  part("a writer of tables that was not opened, and one that has finished");
  rocksdb_envoptions_t *env = rocksdb_envoptions_create();
  rocksdb_sstfilewriter_t *writer = rocksdb_sstfilewriter_create(env, options);
  FAILS(":", rocksdb_sstfilewriter_put(writer, TEXT("a"), TEXT("b"), &err));
  FAILS(":", rocksdb_sstfilewriter_finish(writer, &err));
  OK(rocksdb_sstfilewriter_open(writer, "table.sst", &err));
  OK(rocksdb_sstfilewriter_put(writer, TEXT("b"), TEXT("b"), &err));
  FAILS(":", rocksdb_sstfilewriter_put(writer, TEXT("a"), TEXT("b"), &err));
  OK(rocksdb_sstfilewriter_finish(writer, &err));
  FAILS(":", rocksdb_sstfilewriter_finish(writer, &err));
  FAILS(":", rocksdb_sstfilewriter_put(writer, TEXT("c"), TEXT("b"), &err));
  OK(rocksdb_sstfilewriter_open(writer, "table.sst", &err));
  rocksdb_sstfilewriter_destroy(writer);
  rocksdb_envoptions_destroy(env);
}

static void count_lines(void *state, unsigned int level, char *line, size_t len) {
  (void)state, (void)level, (void)line;
  logged += len > 0;
}

static void order(void) {
  part("what options were given, destroyed before the database");
  rocksdb_options_t *own = rocksdb_options_create_copy(options);
  rocksdb_cache_t *cache = rocksdb_cache_create_lru(1 << 20);
  rocksdb_env_t *env = rocksdb_create_default_env();
  rocksdb_ratelimiter_t *limiter = rocksdb_ratelimiter_create(1 << 30, 100000, 10);
  rocksdb_write_buffer_manager_t *manager = rocksdb_write_buffer_manager_create(1 << 24, false);
  rocksdb_sst_file_manager_t *files = rocksdb_sst_file_manager_create(env);
  rocksdb_block_based_table_options_t *table = rocksdb_block_based_options_create();
  rocksdb_logger_t *logger = rocksdb_logger_create_callback_logger(0, count_lines, NULL);
  rocksdb_block_based_options_set_block_cache(table, cache);
  rocksdb_options_set_block_based_table_factory(own, table);
  rocksdb_options_set_env(own, env);
  rocksdb_options_set_ratelimiter(own, limiter);
  rocksdb_options_set_write_buffer_manager(own, manager);
  rocksdb_options_set_sst_file_manager(own, files);
  rocksdb_options_set_info_log(own, logger);
  rocksdb_t *db = NULL;
  OK(db = rocksdb_open(own, "order", &err));
  rocksdb_logger_destroy(logger);
  rocksdb_block_based_options_destroy(table);
  rocksdb_sst_file_manager_destroy(files);
  rocksdb_write_buffer_manager_destroy(manager);
  rocksdb_ratelimiter_destroy(limiter);
  rocksdb_env_destroy(env);
  rocksdb_cache_destroy(cache);
  rocksdb_options_destroy(own);
  rocksdb_flushoptions_t *flush = rocksdb_flushoptions_create();
  put(db, "a");
  OK(rocksdb_flush(db, flush, &err));
  rocksdb_flushoptions_destroy(flush);
  rocksdb_close(db);
  CHECK(logged > 0);
  is_free("order");
}

static void null_arguments(void) {
  part("null where something is optional, and where nothing is");
  rocksdb_t *db = open_db("null");
  size_t len;
  char *value = NULL;
  OK(rocksdb_put(db, writes, NULL, 0, NULL, 0, &err));
  OK(value = rocksdb_get(db, reads, NULL, 0, &len, &err));
  CHECK(value != NULL && len == 0);
  rocksdb_free(value);
  OK(value = rocksdb_get(db, reads, TEXT("a"), NULL, &err));
  CHECK(value != NULL);
  rocksdb_free(value);
  rocksdb_put(db, writes, TEXT("a"), TEXT("b"), NULL);
  rocksdb_put(NULL, writes, TEXT("a"), TEXT("b"), NULL);
  FAILS(NULL_HANDLE, rocksdb_put(db, NULL, TEXT("a"), TEXT("b"), &err));
  FAILS(NULL_HANDLE, rocksdb_get(db, NULL, TEXT("a"), &len, &err));
  FAILS(NULL_HANDLE, rocksdb_put(NULL, writes, TEXT("a"), TEXT("b"), &err));
  FAILS(NULL_HANDLE, rocksdb_open(NULL, "null", &err));
  FAILS(":", rocksdb_open(options, NULL, &err));
  CHECK(rocksdb_property_value(db, NULL) == NULL);
  CHECK(rocksdb_create_iterator(db, NULL) == NULL);
  rocksdb_compact_range(db, NULL, 0, NULL, 0);
  rocksdb_options_set_comparator(options, NULL);
  rocksdb_options_set_merge_operator(options, NULL);
  rocksdb_options_set_compaction_filter(options, NULL);
  rocksdb_options_set_prefix_extractor(options, NULL);
  rocksdb_options_set_block_based_table_factory(options, NULL);
  rocksdb_options_set_env(options, NULL);
  rocksdb_options_set_info_log(options, NULL);
  /* The text of an error before is freed. */
  char *err = NULL;
  rocksdb_put(NULL, writes, TEXT("a"), TEXT("b"), &err);
  rocksdb_put(NULL, writes, TEXT("a"), TEXT("b"), &err);
  rocksdb_free(err);
  rocksdb_close(db);
  is_free("null");

  part("null handles destroyed");
  rocksdb_free(NULL);
  rocksdb_close(NULL);
  rocksdb_iter_destroy(NULL);
  rocksdb_release_snapshot(NULL, NULL);
  rocksdb_pinnableslice_destroy(NULL);
  rocksdb_pinnablewidecolumns_destroy(NULL);
  rocksdb_widecolumns_destroy(NULL);
  rocksdb_column_family_handle_destroy(NULL);
  rocksdb_transaction_destroy(NULL);
  rocksdb_transactiondb_close(NULL);
  rocksdb_optimistictransactiondb_close(NULL);
  rocksdb_writebatch_destroy(NULL);
  rocksdb_writebatch_wi_destroy(NULL);
  rocksdb_backup_engine_close(NULL);
  rocksdb_checkpoint_object_destroy(NULL);
  rocksdb_sstfilewriter_destroy(NULL);
  rocksdb_wal_iter_destroy(NULL);
  rocksdb_options_destroy(NULL);
  rocksdb_cache_destroy(NULL);
  rocksdb_comparator_destroy(NULL);
  rocksdb_livefiles_destroy(NULL);
}

int main(void) {
  options = rocksdb_options_create();
  reads = rocksdb_readoptions_create();
  writes = rocksdb_writeoptions_create();
  locks = rocksdb_transactiondb_options_create();
  begins = rocksdb_transaction_options_create();
  begins_optimistic = rocksdb_optimistictransaction_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_transaction_options_set_set_snapshot(begins, 1);
  closed_databases();
  iterators();
  snapshots();
  values();
  entities();
  families();
  transactions();
  optimistic();
  batches();
  backups();
  checkpoints();
  logs_and_files();
  order();
  null_arguments();
  rocksdb_optimistictransaction_options_destroy(begins_optimistic);
  rocksdb_transaction_options_destroy(begins);
  rocksdb_transactiondb_options_destroy(locks);
  rocksdb_writeoptions_destroy(writes);
  rocksdb_readoptions_destroy(reads);
  rocksdb_options_destroy(options);
  fprintf(stderr, "PASS\n");
  return 0;
}
