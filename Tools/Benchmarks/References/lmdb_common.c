#include "lmdb_common.h"

#include <stdlib.h>
#include <string.h>

MDB_env *environment;

void check(int code, const char *what)
{
	if (code) die(what, mdb_strerror(code));
}

void open_environment(const char *const *names, MDB_dbi *tables, unsigned count)
{
	check(mdb_env_create(&environment), "mdb_env_create");
	check(mdb_env_set_mapsize(environment, (size_t)64 << 30), "mdb_env_set_mapsize");
	check(mdb_env_set_maxdbs(environment, 8), "mdb_env_set_maxdbs");
	check(mdb_env_open(environment, options.directory, MDB_NOTLS, 0600), options.directory);
	MDB_txn *txn;
	check(mdb_txn_begin(environment, NULL, 0, &txn), "mdb_txn_begin");
	for (unsigned index = 0; index < count; index++)
		check(mdb_dbi_open(txn, names[index], names[index] ? MDB_CREATE : 0, &tables[index]), "mdb_dbi_open");
	check(mdb_txn_commit(txn), "mdb_txn_commit");
}

void close_environment(void)
{
	mdb_env_close(environment);
}

void fill_once(void)
{
	if (!needs_filling()) return;
	uint64_t batch = options.batch;
	options.batch = 20000;
	check(mdb_env_set_flags(environment, MDB_NOSYNC, 1), "mdb_env_set_flags");
	append_all();
	check(mdb_env_set_flags(environment, MDB_NOSYNC, 0), "mdb_env_set_flags");
	check(mdb_env_sync(environment, 1), "mdb_env_sync");
	options.batch = batch;
	filled();
}

struct seq_key seq_key(uint64_t seq)
{
	return (struct seq_key){__builtin_bswap64(seq)};
}

struct inbox_key inbox_key(uint32_t user, uint64_t seq)
{
	return (struct inbox_key){
		__builtin_bswap32(user), {__builtin_bswap32((uint32_t)(seq >> 32)), __builtin_bswap32((uint32_t)seq)}};
}

uint64_t seq_of(const struct inbox_key *key)
{
	uint32_t parts[2];
	memcpy(parts, (const char *)key + 4, sizeof parts);
	return (uint64_t)__builtin_bswap32(parts[0]) << 32 | __builtin_bswap32(parts[1]);
}
