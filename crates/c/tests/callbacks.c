/* Functions in C that many threads call at once: comparator, merge operator, compaction filter and
 * factory, prefix extractor, logger, listener. The destructor of each runs exactly once, and none
 * of its functions is called during it or later. Run by scripts/c-test. */

#include "check.h"

#include <pthread.h>
#include <stdatomic.h>

#define THREADS 8
#define ROUNDS 1000

/* A set of functions: how often they were called, are in a call, were destroyed. */
typedef struct {
  const char *what;
  atomic_long calls;
  atomic_int inside;
  atomic_int destroyed;
} fns_t;

static void enter(fns_t *fns) {
  atomic_fetch_add(&fns->inside, 1);
  if (atomic_load(&fns->destroyed) != 0) {
    fprintf(stderr, "%s is called after it was destroyed\n", fns->what);
    _exit(1);
  }
  atomic_fetch_add(&fns->calls, 1);
}

static void leave(fns_t *fns) { atomic_fetch_sub(&fns->inside, 1); }

static void destroy(void *state) {
  fns_t *fns = state;
  if (atomic_fetch_add(&fns->destroyed, 1) != 0 || atomic_load(&fns->inside) != 0) {
    fprintf(stderr, "%s is destroyed twice, or in a call\n", fns->what);
    _exit(1);
  }
}

static const char *name(void *state) {
  fns_t *fns = state;
  enter(fns);
  const char *what = fns->what;
  leave(fns);
  return what;
}

/* The order of bytes, reversed. */
static int compare(void *state, const char *a, size_t alen, const char *b, size_t blen) {
  enter(state);
  int order = memcmp(a, b, alen < blen ? alen : blen);
  if (order == 0) order = (alen > blen) - (alen < blen);
  leave(state);
  return -order;
}

/* Values that merges have made and nobody has given back. */
static atomic_long merged;

/* The largest operand. */
static char *largest(fns_t *fns, const char *old, size_t old_len, const char *const *operands,
                     const size_t *lengths, int num, unsigned char *success, size_t *len) {
  enter(fns);
  const char *best = old;
  *len = old_len;
  for (int at = 0; at < num; at++) {
    size_t common = lengths[at] < *len ? lengths[at] : *len;
    int order = best == NULL ? 1 : memcmp(operands[at], best, common);
    if (order > 0 || (order == 0 && lengths[at] > *len)) {
      best = operands[at];
      *len = lengths[at];
    }
  }
  char *result = malloc(*len + 1);
  memcpy(result, best, *len);
  atomic_fetch_add(&merged, 1);
  *success = 1;
  leave(fns);
  return result;
}

static char *full_merge(void *state, const char *key, size_t keylen, const char *old,
                        size_t old_len, const char *const *operands, const size_t *lengths,
                        int num, unsigned char *success, size_t *len) {
  (void)key, (void)keylen;
  return largest(state, old, old_len, operands, lengths, num, success, len);
}

static char *partial_merge(void *state, const char *key, size_t keylen, const char *const *operands,
                           const size_t *lengths, int num, unsigned char *success, size_t *len) {
  (void)key, (void)keylen;
  return largest(state, NULL, 0, operands, lengths, num, success, len);
}

static void delete_value(void *state, const char *value, size_t len) {
  (void)len;
  enter(state);
  if (value != NULL) {
    atomic_fetch_sub(&merged, 1);
    free((void *)value);
  }
  leave(state);
}

/* Removes values that begin with x and changes those that begin with y. */
static unsigned char filter(void *state, int level, const char *key, size_t keylen,
                            const char *value, size_t len, char **changed, size_t *changed_len,
                            unsigned char *is_changed) {
  static char z[] = "z";
  (void)level, (void)key, (void)keylen;
  enter(state);
  unsigned char removed = len > 0 && value[0] == 'x';
  if (len > 0 && value[0] == 'y') {
    *changed = z;
    *changed_len = 1;
    *is_changed = 1;
  }
  leave(state);
  return removed;
}

/* Filters that the factory has made, and those that were destroyed. */
static atomic_long made, unmade;

static void destroy_made(void *state) {
  destroy(state);
  atomic_fetch_add(&unmade, 1);
  free(state);
}

static rocksdb_compactionfilter_t *make_filter(void *state,
                                               rocksdb_compactionfiltercontext_t *context) {
  enter(state);
  CHECK(rocksdb_compactionfiltercontext_is_full_compaction(context) <= 1);
  fns_t *own = calloc(1, sizeof *own);
  own->what = "a filter of the factory";
  atomic_fetch_add(&made, 1);
  rocksdb_compactionfilter_t *result =
      rocksdb_compactionfilter_create(own, destroy_made, filter, name);
  leave(state);
  return result;
}

/* The first two bytes. */
static char *transform(void *state, const char *key, size_t len, size_t *prefix_len) {
  enter(state);
  *prefix_len = len < 2 ? len : 2;
  leave(state);
  return (char *)key;
}

static unsigned char in_domain(void *state, const char *key, size_t len) {
  (void)key;
  enter(state);
  leave(state);
  return len >= 2;
}

static void log_line(void *state, unsigned int level, char *line, size_t len) {
  (void)level, (void)line, (void)len;
  enter(state);
  leave(state);
}

/* Calls the database from the listener. */
static void flushed(void *state, rocksdb_t *db, const rocksdb_flushjobinfo_t *info) {
  size_t len;
  enter(state);
  CHECK(rocksdb_flushjobinfo_cf_name(info, &len) != NULL && len > 0);
  uint32_t reason = rocksdb_flushjobinfo_flush_reason(info);
  CHECK(reason != 0 && reason <= 0xf); /* of RocksDB's FlushReason, never kOthers */
  char *stats = rocksdb_property_value(db, "rocksdb.num-files-at-level0");
  rocksdb_free(stats);
  leave(state);
}

static void compacted(void *state, rocksdb_t *db, const rocksdb_compactionjobinfo_t *info) {
  (void)db, (void)info;
  enter(state);
  leave(state);
}

static void sealed(void *state, const rocksdb_memtableinfo_t *info) {
  (void)info;
  enter(state);
  leave(state);
}

enum { COMPARATOR, MERGE, FILTER, FACTORY, PREFIX, LOGGER, LISTENER, KINDS };

/* What one database uses. */
typedef struct {
  fns_t fns[KINDS];
  rocksdb_options_t *options, *side;
  rocksdb_comparator_t *comparator;
  rocksdb_compactionfilter_t *filter;
  rocksdb_logger_t *logger;
} user_t;

static rocksdb_options_t *small(void) {
  rocksdb_options_t *options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_options_set_create_missing_column_families(options, 1);
  rocksdb_options_set_write_buffer_size(options, 64 << 10);
  rocksdb_options_set_level0_file_num_compaction_trigger(options, 2);
  rocksdb_options_set_max_background_jobs(options, 4);
  rocksdb_options_set_memtable_prefix_bloom_size_ratio(options, 0.1);
  return options;
}

/* Options of the default column family, with a factory, and of another one, with a filter. */
static void prepare(user_t *user) {
  static const char *names[KINDS] = {"test.reversed", "test.largest", "test.filter",
                                     "test.factory",  "test.two",     "logger",
                                     "listener"};
  memset(user, 0, sizeof *user);
  for (int kind = 0; kind < KINDS; kind++) user->fns[kind].what = names[kind];
  fns_t *fns = user->fns;
  user->options = small();
  user->comparator = rocksdb_comparator_create(&fns[COMPARATOR], destroy, compare, name);
  rocksdb_options_set_comparator(user->options, user->comparator);
  rocksdb_options_set_merge_operator(
      user->options, rocksdb_mergeoperator_create(&fns[MERGE], destroy, full_merge, partial_merge,
                                                  delete_value, name));
  rocksdb_slicetransform_t *two =
      rocksdb_slicetransform_create(&fns[PREFIX], destroy, transform, in_domain, name);
  rocksdb_options_set_prefix_extractor(user->options, two);
  user->logger = rocksdb_logger_create_callback_logger(0, log_line, &fns[LOGGER]);
  rocksdb_options_set_info_log(user->options, user->logger);
  /* The column family beside has the same functions, but for the filter. */
  user->side = rocksdb_options_create_copy(user->options);
  user->filter = rocksdb_compactionfilter_create(&fns[FILTER], destroy, filter, name);
  rocksdb_options_set_compaction_filter(user->side, user->filter);
  rocksdb_options_set_compaction_filter_factory(
      user->options,
      rocksdb_compactionfilterfactory_create(&fns[FACTORY], destroy, make_filter, name));
  rocksdb_options_add_eventlistener(
      user->options,
      rocksdb_eventlistener_create(&fns[LISTENER], destroy, flushed, flushed, compacted, compacted,
                                   NULL, NULL, NULL, NULL, NULL, sealed));
}

/* Lets go of all handles; what uses the functions keeps them. */
static void let_go(user_t *user) {
  rocksdb_options_destroy(user->options);
  rocksdb_options_destroy(user->side);
  rocksdb_comparator_destroy(user->comparator);
  rocksdb_compactionfilter_destroy(user->filter);
  rocksdb_logger_destroy(user->logger);
}

/* How many sets of functions were destroyed. A logger in C has no destructor. */
static int destroyed(user_t *user) {
  int count = 0;
  for (int kind = 0; kind < KINDS; kind++) count += atomic_load(&user->fns[kind].destroyed);
  return count;
}

static void all_destroyed_once(user_t *user) {
  for (int kind = 0; kind < KINDS; kind++) {
    CHECK(atomic_load(&user->fns[kind].inside) == 0);
    CHECK(atomic_load(&user->fns[kind].destroyed) == (kind != LOGGER));
    /* From now on a call of the logger, too, is one too late. */
    atomic_store(&user->fns[kind].destroyed, 1);
  }
  CHECK(atomic_load(&made) == atomic_load(&unmade));
  CHECK(atomic_load(&merged) == 0);
}

typedef struct {
  rocksdb_t *db;
  rocksdb_column_family_handle_t **families;
  unsigned seed;
} worker_t;

static void scan(worker_t *worker, rocksdb_readoptions_t *reads, const char *key) {
  rocksdb_readoptions_set_prefix_same_as_start(reads, worker->seed / 2 % 2);
  rocksdb_iterator_t *iter =
      rocksdb_create_iterator_cf(worker->db, reads, worker->families[worker->seed % 2]);
  rocksdb_iter_seek(iter, key, strlen(key));
  for (int step = 0; step < 20 && rocksdb_iter_valid(iter); step++) rocksdb_iter_next(iter);
  OK(rocksdb_iter_get_error(iter, &err));
  rocksdb_iter_destroy(iter);
}

/* Writes, merges, reads, scans, flushes and compacts. */
static void *work(void *argument) {
  worker_t *worker = argument;
  rocksdb_writeoptions_t *writes = rocksdb_writeoptions_create();
  rocksdb_readoptions_t *reads = rocksdb_readoptions_create();
  rocksdb_flushoptions_t *flush = rocksdb_flushoptions_create();
  char key[16], value[128];
  memset(value, 'w', sizeof value);
  for (int round = 0; round < ROUNDS; round++) {
    unsigned number = rand_r(&worker->seed);
    rocksdb_column_family_handle_t *family = worker->families[number % 2];
    snprintf(key, sizeof key, "%02u%04u", number % 10, number / 16 % 500);
    value[0] = "vwxyz"[number % 5];
    OK(rocksdb_put_cf(worker->db, writes, family, key, 6, value, sizeof value, &err));
    OK(rocksdb_merge_cf(worker->db, writes, family, key, 6, value, sizeof value, &err));
    rocksdb_pinnableslice_t *found = NULL;
    OK(found = rocksdb_get_pinned_cf(worker->db, reads, family, key, 6, &err));
    rocksdb_pinnableslice_destroy(found);
    if (round % 8 == 0) scan(worker, reads, key);
    if (round % 50 == 10) OK(rocksdb_flush_cf(worker->db, flush, family, &err));
    if (round % 100 == 20) rocksdb_compact_range_cf(worker->db, family, NULL, 0, NULL, 0);
  }
  rocksdb_flushoptions_destroy(flush);
  rocksdb_readoptions_destroy(reads);
  rocksdb_writeoptions_destroy(writes);
  return NULL;
}

static rocksdb_t *open_both(user_t *user, const char *path,
                            rocksdb_column_family_handle_t **families) {
  const char *names[2] = {"default", "side"};
  const rocksdb_options_t *options[2] = {user->options, user->side};
  rocksdb_t *db = NULL;
  OK(db = rocksdb_open_column_families(user->options, path, 2, names, options, families, &err));
  return db;
}

static void many_threads(void) {
  part("many threads, with nothing but the database to keep the functions");
  user_t user;
  rocksdb_column_family_handle_t *families[2];
  prepare(&user);
  rocksdb_t *db = open_both(&user, "threads", families);
  let_go(&user);
  CHECK(destroyed(&user) == 0);
  pthread_t threads[THREADS];
  worker_t workers[THREADS];
  for (int at = 0; at < THREADS; at++) {
    workers[at] = (worker_t){db, families, at + 1};
    CHECK(pthread_create(&threads[at], NULL, work, &workers[at]) == 0);
  }
  for (int at = 0; at < THREADS; at++) pthread_join(threads[at], NULL);
  CHECK(destroyed(&user) == 0);
  rocksdb_column_family_handle_destroy(families[0]);
  rocksdb_column_family_handle_destroy(families[1]);
  rocksdb_close(db);
  for (int kind = 0; kind < KINDS; kind++) {
    fprintf(stderr, "%s: %ld calls\n", user.fns[kind].what, atomic_load(&user.fns[kind].calls));
    CHECK(atomic_load(&user.fns[kind].calls) > 1);
  }
  CHECK(atomic_load(&made) > 0);
  all_destroyed_once(&user);
}

/* Opens and closes a database of its own over and over, with options that all threads share. */
static void *reopen(void *argument) {
  user_t *user = argument;
  static atomic_int next;
  rocksdb_writeoptions_t *writes = rocksdb_writeoptions_create();
  char path[32];
  snprintf(path, sizeof path, "own%d", atomic_fetch_add(&next, 1));
  for (int round = 0; round < 4; round++) {
    rocksdb_column_family_handle_t *families[2];
    rocksdb_t *db = open_both(user, path, families);
    OK(rocksdb_merge_cf(db, writes, families[1], TEXT("0001"), TEXT("value"), &err));
    OK(rocksdb_merge(db, writes, TEXT("0001"), TEXT("value"), &err));
    rocksdb_close(db);
    rocksdb_column_family_handle_destroy(families[0]);
    rocksdb_column_family_handle_destroy(families[1]);
  }
  rocksdb_writeoptions_destroy(writes);
  return NULL;
}

static void many_databases(void) {
  part("many databases with the same functions");
  user_t user;
  prepare(&user);
  pthread_t threads[THREADS];
  for (int at = 0; at < THREADS; at++) {
    CHECK(pthread_create(&threads[at], NULL, reopen, &user) == 0);
  }
  for (int at = 0; at < THREADS; at++) pthread_join(threads[at], NULL);
  CHECK(destroyed(&user) == 0);
  let_go(&user);
  all_destroyed_once(&user);
}

static void last_users(void) {
  part("an iterator as the last user");
  user_t user;
  rocksdb_column_family_handle_t *families[2];
  size_t len;
  prepare(&user);
  rocksdb_t *db = open_both(&user, "last", families);
  let_go(&user);
  rocksdb_writeoptions_t *writes = rocksdb_writeoptions_create();
  rocksdb_readoptions_t *reads = rocksdb_readoptions_create();
  OK(rocksdb_put(db, writes, TEXT("0001"), TEXT("a"), &err));
  OK(rocksdb_merge(db, writes, TEXT("0002"), TEXT("b"), &err));
  rocksdb_iterator_t *iter = rocksdb_create_iterator(db, reads);
  rocksdb_close(db);
  rocksdb_column_family_handle_destroy(families[0]);
  rocksdb_column_family_handle_destroy(families[1]);
  CHECK(atomic_load(&user.fns[COMPARATOR].destroyed) == 0);
  rocksdb_iter_seek_to_first(iter);
  CHECK(rocksdb_iter_valid(iter) && memcmp(rocksdb_iter_key(iter, &len), "0002", 4) == 0);
  rocksdb_iter_next(iter);
  CHECK(rocksdb_iter_valid(iter) && memcmp(rocksdb_iter_key(iter, &len), "0001", 4) == 0);
  rocksdb_iter_destroy(iter);
  all_destroyed_once(&user);

  part("options that nothing was opened with, and an opening that fails");
  prepare(&user);
  let_go(&user);
  all_destroyed_once(&user);
  prepare(&user);
  rocksdb_options_set_create_if_missing(user.options, 0);
  FAILS(":", rocksdb_open(user.options, "nowhere", &err));
  CHECK(destroyed(&user) == 0);
  let_go(&user);
  all_destroyed_once(&user);

  part("functions that others take the place of");
  fns_t first = {.what = "first"}, second = {.what = "second"};
  rocksdb_options_t *options = small();
  fns_t *both[2] = {&first, &second};
  for (int at = 0; at < 2; at++) {
    rocksdb_options_set_merge_operator(
        options,
        rocksdb_mergeoperator_create(both[at], destroy, full_merge, NULL, delete_value, name));
  }
  CHECK(atomic_load(&first.destroyed) == 1 && atomic_load(&second.destroyed) == 0);
  rocksdb_options_destroy(options);
  CHECK(atomic_load(&second.destroyed) == 1);
  rocksdb_readoptions_destroy(reads);
  rocksdb_writeoptions_destroy(writes);
}

int main(void) {
  many_threads();
  many_databases();
  last_users();
  fprintf(stderr, "PASS\n");
  return 0;
}
