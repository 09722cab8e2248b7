/* The LMDB environment of lmdb_log.c and lmdb_naive.c. */
#ifndef LMDB_COMMON_H
#define LMDB_COMMON_H

#include <lmdb.h>

#include "bench.h"

extern MDB_env *environment;

void check(int code, const char *what);
/* Opens `count` tables with the given names; syncs only at the end while the directory is being filled. */
void open_environment(const char *const *names, MDB_dbi *tables, unsigned count);
void close_environment(void);
/* Fills a new directory with the workload, in large transactions and without syncs. */
void fill_once(void);

/* Keys sort as numbers. */
struct seq_key {
	uint64_t big_endian;
};
struct inbox_key {
	uint32_t user_big_endian;
	uint32_t seq_big_endian[2];
};

struct seq_key seq_key(uint64_t seq);
struct inbox_key inbox_key(uint32_t user, uint64_t seq);
uint64_t seq_of(const struct inbox_key *key);

#endif
