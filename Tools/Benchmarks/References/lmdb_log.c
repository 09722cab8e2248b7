/*
 * The ceiling: a program that does nothing but append records of 200 bytes to LMDB, and read them again.
 *
 * bulk, callers  keys are 8 bytes of sequence number, big-endian, put with MDB_APPEND; commits are durable
 * bytes          bulk; the size of the file at the end
 * scan           all records in order, 8 bytes of each looked at
 * get            a table of one 64-byte record for each user; a random one by key, each in its own read transaction
 *
 * Read transactions are renewed, not begun again, which is LMDB's cheapest way.
 */
#include <string.h>

#include "lmdb_common.h"

static MDB_dbi table;

static void open_log(void)
{
	open_environment((const char *[]){NULL}, &table, 1);
}

static void append(const struct event *events, uint64_t count)
{
	MDB_txn *txn;
	check(mdb_txn_begin(environment, NULL, 0, &txn), "mdb_txn_begin");
	for (uint64_t index = 0; index < count; index++) {
		struct seq_key bytes = seq_key(events[index].seq);
		MDB_val key = {sizeof bytes, &bytes};
		MDB_val value = {record_bytes, (void *)payload(events[index].seq)};
		check(mdb_put(txn, table, &key, &value, MDB_APPEND), "mdb_put");
	}
	check(mdb_txn_commit(txn), "mdb_txn_commit");
}

static void measure_bytes(void)
{
	append_all();
	report_file_bytes("data.mdb");
}

static void scan(void)
{
	fill_once();
	MDB_txn *txn;
	MDB_cursor *cursor;
	MDB_val key, value;
	uint64_t count = 0, sum = 0, word;
	double start = now();
	check(mdb_txn_begin(environment, NULL, MDB_RDONLY, &txn), "mdb_txn_begin");
	check(mdb_cursor_open(txn, table, &cursor), "mdb_cursor_open");
	while (!mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) {
		memcpy(&word, value.mv_data, sizeof word);
		sum += word;
		count++;
	}
	mdb_cursor_close(cursor);
	mdb_txn_abort(txn);
	double seconds = now() - start;
	if (count != options.events || !sum) die("scan", "not every record is there");
	report_rate(count, seconds);
}

static void fill_states(void)
{
	if (!needs_filling()) return;
	MDB_txn *txn;
	check(mdb_txn_begin(environment, NULL, 0, &txn), "mdb_txn_begin");
	for (uint64_t user = 0; user < options.users; user++) {
		struct seq_key bytes = seq_key(user);
		MDB_val key = {sizeof bytes, &bytes}, value = {state_bytes, (void *)payload(user)};
		check(mdb_put(txn, table, &key, &value, MDB_APPEND), "mdb_put");
	}
	check(mdb_txn_commit(txn), "mdb_txn_commit");
	filled();
}

static void get(void)
{
	fill_states();
	MDB_txn *txn;
	unsigned char record[state_bytes];
	uint64_t random = 99, sum = 0;
	check(mdb_txn_begin(environment, NULL, MDB_RDONLY, &txn), "mdb_txn_begin");
	mdb_txn_reset(txn);
	/* The first half only warms the caches. */
	double start = 0;
	for (uint64_t query = 0; query < 2 * options.queries; query++) {
		if (query == options.queries) start = now();
		struct seq_key bytes = seq_key(next_random(&random) % options.users);
		MDB_val key = {sizeof bytes, &bytes}, value;
		check(mdb_txn_renew(txn), "mdb_txn_renew");
		check(mdb_get(txn, table, &key, &value), "mdb_get");
		memcpy(record, value.mv_data, sizeof record);
		mdb_txn_reset(txn);
		sum += record[0];
	}
	report("nanoseconds", (now() - start) / (double)options.queries * 1e9);
	mdb_txn_abort(txn);
	if (!sum) die("get", "nothing was read");
}

static const struct test tests[] = {{"bytes", measure_bytes}, {"scan", scan}, {"get", get}, {NULL, NULL}};

const struct backend backend = {"lmdb-log", open_log, append, close_environment, tests};
