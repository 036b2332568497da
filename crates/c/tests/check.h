/* What the programs of this folder share: checks that name their line, and a few bytes. */

#ifndef WHITEWATER_CHECK_H
#define WHITEWATER_CHECK_H

#include <rocksdb/c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Ends the program unless `condition` holds. */
#define CHECK(condition)                                                        \
  do {                                                                          \
    if (!(condition)) {                                                         \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);   \
      _exit(1);                                                                 \
    }                                                                           \
  } while (0)

/* A text and its length, as two arguments. */
#define TEXT(text) (text), sizeof(text) - 1

/* The call with the place `err` has failed, or not failed. */
#define OK(call)                                                                \
  do {                                                                          \
    char *err = NULL;                                                           \
    call;                                                                       \
    if (err != NULL) {                                                          \
      fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, err);       \
      _exit(1);                                                                 \
    }                                                                           \
  } while (0)

/* The call with the place `err` has failed with a message that has `text` in it. */
#define FAILS(text, call)                                                       \
  do {                                                                          \
    char *err = NULL;                                                           \
    call;                                                                       \
    if (err == NULL || strstr(err, text) == NULL) {                             \
      fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call,             \
              err ? err : "has not failed");                                    \
      _exit(1);                                                                 \
    }                                                                           \
    rocksdb_free(err);                                                          \
  } while (0)

/* Says which part of the program begins. */
static inline void part(const char *name) { fprintf(stderr, "=== %s\n", name); }

#endif
