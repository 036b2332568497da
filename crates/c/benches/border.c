/* What calls through the C interface cost: puts, gets and steps of an iterator, with a library that
 * is given by its path. Run by scripts/c-bench.
 *
 *     border LIBRARY DIRECTORY [ENTRIES]
 *
 * Keys have 16 bytes and values 100; there is no compression, a block cache for everything, a log
 * without syncs. Prints a line for each workload: its name, a tab, nanoseconds per operation. */

#include <dlfcn.h>
#include <pthread.h>
#include <rocksdb/c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define KEY 16
#define VALUE 100
#define THREADS 16

#define FUNCTIONS(F)                                                                             \
  F(block_based_options_create) F(block_based_options_set_block_cache) F(cache_create_lru)       \
  F(close) F(compact_range) F(create_iterator) F(destroy_db) F(flush) F(flushoptions_create)     \
  F(free) F(get) F(get_pinned) F(iter_destroy) F(iter_key) F(iter_next) F(iter_seek_to_first)    \
  F(iter_valid) F(iter_value) F(open) F(options_create)                                          \
  F(options_set_block_based_table_factory) F(options_set_compression)                            \
  F(options_set_create_if_missing) F(pinnableslice_destroy) F(pinnableslice_value) F(put)        \
  F(readoptions_create) F(writeoptions_create)

#define DECLARE(name) __typeof__(&rocksdb_##name) name;
static struct {
  FUNCTIONS(DECLARE)
} rocks;

static void fail(const char *why) {
  fprintf(stderr, "%s\n", why);
  exit(1);
}

static void load(const char *library) {
  void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == NULL) fail(dlerror());
#define FIND(name)                                                        \
  *(void **)&rocks.name = dlsym(handle, "rocksdb_" #name);                \
  if (rocks.name == NULL) fail("there is no rocksdb_" #name);
  FUNCTIONS(FIND)
}

static rocksdb_t *db;
static rocksdb_options_t *options;
static rocksdb_writeoptions_t *writes;
static rocksdb_readoptions_t *reads;
static long entries;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1e9 + time.tv_nsec;
}

static void ended(const char *name, double began, long operations) {
  printf("%s\t%.1f\n", name, (now() - began) / operations);
}

/* The key of an entry: all entries have one, in an order that looks random. */
static void key_of(long entry, char *key) {
  unsigned long mixed = (unsigned long)entry * 0x9E3779B97F4A7C15ul;
  for (int at = 0; at < KEY; at++) key[at] = "0123456789abcdef"[mixed >> (60 - 4 * at) & 15];
}

static void check(char *err) {
  if (err != NULL) fail(err);
}

static void put_range(long from, long to) {
  char key[KEY], value[VALUE], *err = NULL;
  memset(value, 'v', VALUE);
  for (long entry = from; entry < to; entry++) {
    key_of(entry, key);
    rocks.put(db, writes, key, KEY, value, VALUE, &err);
    check(err);
  }
}

static void *put_part(void *part) {
  long at = (long)part;
  put_range(entries * at / THREADS, entries * (at + 1) / THREADS);
  return NULL;
}

static void get_all(void) {
  char key[KEY], *err = NULL;
  size_t len;
  for (long entry = 0; entry < entries; entry++) {
    key_of(entry, key);
    char *value = rocks.get(db, reads, key, KEY, &len, &err);
    check(err);
    if (value == NULL || len != VALUE) fail("a value is missing");
    rocks.free(value);
  }
}

static void get_all_pinned(void) {
  char key[KEY], *err = NULL;
  size_t len;
  for (long entry = 0; entry < entries; entry++) {
    key_of(entry, key);
    rocksdb_pinnableslice_t *value = rocks.get_pinned(db, reads, key, KEY, &err);
    check(err);
    if (value == NULL || rocks.pinnableslice_value(value, &len) == NULL || len != VALUE)
      fail("a value is missing");
    rocks.pinnableslice_destroy(value);
  }
}

static void scan(void) {
  rocksdb_iterator_t *iter = rocks.create_iterator(db, reads);
  long steps = 0;
  size_t sum = 0, len;
  for (rocks.iter_seek_to_first(iter); rocks.iter_valid(iter); rocks.iter_next(iter)) {
    rocks.iter_key(iter, &len);
    sum += len;
    rocks.iter_value(iter, &len);
    sum += len;
    steps++;
  }
  rocks.iter_destroy(iter);
  if (steps != entries || sum != (size_t)entries * (KEY + VALUE)) fail("entries are missing");
}

static void open_anew(const char *dir) {
  char *err = NULL;
  if (db != NULL) rocks.close(db);
  rocks.destroy_db(options, dir, &err);
  check(err);
  db = rocks.open(options, dir, &err);
  check(err);
}

int main(int argc, char **argv) {
  if (argc < 3) fail("border LIBRARY DIRECTORY [ENTRIES]");
  entries = argc > 3 ? atol(argv[3]) : 300000;
  load(argv[1]);
  options = rocks.options_create();
  rocks.options_set_create_if_missing(options, 1);
  rocks.options_set_compression(options, 0);
  rocksdb_block_based_table_options_t *table = rocks.block_based_options_create();
  rocks.block_based_options_set_block_cache(table, rocks.cache_create_lru(1 << 30));
  rocks.options_set_block_based_table_factory(options, table);
  writes = rocks.writeoptions_create();
  reads = rocks.readoptions_create();

  open_anew(argv[2]);
  double began = now();
  put_range(0, entries);
  ended("put", began, entries);
  began = now();
  get_all();
  ended("get from the memtable", began, entries);
  began = now();
  scan();
  ended("iterator step, memtable", began, entries);

  char *err = NULL;
  rocks.flush(db, rocks.flushoptions_create(), &err);
  check(err);
  rocks.compact_range(db, NULL, 0, NULL, 0);
  get_all(); /* fills the cache */
  began = now();
  get_all();
  ended("get from a cached table", began, entries);
  began = now();
  get_all_pinned();
  ended("get_pinned from a cached table", began, entries);
  began = now();
  scan();
  ended("iterator step, cached table", began, entries);

  open_anew(argv[2]);
  pthread_t threads[THREADS];
  began = now();
  for (long at = 0; at < THREADS; at++) pthread_create(&threads[at], NULL, put_part, (void *)at);
  for (long at = 0; at < THREADS; at++) pthread_join(threads[at], NULL);
  ended("put, 16 threads", began, entries);
  rocks.close(db);
  return 0;
}
