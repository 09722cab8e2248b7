/*
 * What one would write by hand on LMDB: events, an index of items for each user, and a record of counts for each user,
 * all in the transaction of the events.
 *
 * A transaction puts its events first (MDB_APPEND), then goes through them sorted by user: an index entry each (12
 * bytes of key, 8 of flags and thread), and one record of 64 bytes for each user in it, with the counts added up.
 *
 * page, page-deep  the 20 newest items of a user, or 20 from a place deep in the index: index entries from the
 *                  cursor backwards, and each one's event looked up and copied
 */
#include <stdlib.h>
#include <string.h>

#include "lmdb_common.h"

enum { log_table, inbox_table, state_table, table_count };

static MDB_dbi tables[table_count];

struct item {
	uint32_t flags, thread;
};

/* Counts of the tray and of its one category. */
struct state {
	uint64_t total, unseen, unread, newest, category_unseen, category_unread, seen_up_to, spare;
};

static void open_tables(void)
{
	open_environment((const char *[]){"log", "inbox", "states"}, tables, table_count);
}

static void put_events(MDB_txn *txn, const struct event *events, uint64_t count)
{
	for (uint64_t index = 0; index < count; index++) {
		struct seq_key bytes = seq_key(events[index].seq);
		MDB_val key = {sizeof bytes, &bytes};
		MDB_val value = {record_bytes, (void *)payload(events[index].seq)};
		check(mdb_put(txn, tables[log_table], &key, &value, MDB_APPEND), "mdb_put");
	}
}

static void put_items(MDB_txn *txn, const struct event *events, uint64_t count)
{
	MDB_cursor *cursor;
	check(mdb_cursor_open(txn, tables[inbox_table], &cursor), "mdb_cursor_open");
	for (uint64_t index = 0; index < count; index++) {
		struct inbox_key bytes = inbox_key(events[index].user, events[index].seq);
		struct item item = {0, events[index].thread};
		MDB_val key = {sizeof bytes, &bytes}, value = {sizeof item, &item};
		check(mdb_cursor_put(cursor, &key, &value, 0), "mdb_cursor_put");
	}
	mdb_cursor_close(cursor);
}

static void count_items(MDB_cursor *cursor, uint32_t user, uint64_t items, uint64_t newest)
{
	struct seq_key bytes = seq_key(user);
	struct state state = {0};
	MDB_val key = {sizeof bytes, &bytes}, value;
	int code = mdb_cursor_get(cursor, &key, &value, MDB_SET);
	if (!code) memcpy(&state, value.mv_data, sizeof state);
	else if (code != MDB_NOTFOUND) check(code, "mdb_cursor_get");
	state.total += items;
	state.unseen += items;
	state.unread += items;
	state.category_unseen += items;
	state.category_unread += items;
	state.newest = newest;
	key = (MDB_val){sizeof bytes, &bytes};
	value = (MDB_val){sizeof state, &state};
	check(mdb_cursor_put(cursor, &key, &value, 0), "mdb_cursor_put");
}

static void put_states(MDB_txn *txn, const struct event *events, uint64_t count)
{
	MDB_cursor *cursor;
	check(mdb_cursor_open(txn, tables[state_table], &cursor), "mdb_cursor_open");
	for (uint64_t first = 0, end; first < count; first = end) {
		for (end = first + 1; end < count && events[end].user == events[first].user; end++) { }
		count_items(cursor, events[first].user, end - first, events[end - 1].seq);
	}
	mdb_cursor_close(cursor);
}

static void append(const struct event *events, uint64_t count)
{
	MDB_txn *txn;
	check(mdb_txn_begin(environment, NULL, 0, &txn), "mdb_txn_begin");
	put_events(txn, events, count);
	const struct event *sorted = sorted_by_user(events, count);
	put_items(txn, sorted, count);
	put_states(txn, sorted, count);
	check(mdb_txn_commit(txn), "mdb_txn_commit");
}

struct reading {
	MDB_txn *txn;
	MDB_cursor *inbox;
	unsigned char contents[page_items][record_bytes];
};

static void open_reading(struct reading *reading)
{
	check(mdb_txn_begin(environment, NULL, MDB_RDONLY, &reading->txn), "mdb_txn_begin");
	check(mdb_cursor_open(reading->txn, tables[inbox_table], &reading->inbox), "mdb_cursor_open");
	mdb_txn_reset(reading->txn);
}

/* The items of `user` below `before`, newest first; how many there were. */
static int read_page(struct reading *reading, uint32_t user, uint64_t before)
{
	struct inbox_key bytes = inbox_key(user, before);
	MDB_val key = {sizeof bytes, &bytes}, entry, record;
	int count = 0;
	check(mdb_txn_renew(reading->txn), "mdb_txn_renew");
	check(mdb_cursor_renew(reading->txn, reading->inbox), "mdb_cursor_renew");
	int code = mdb_cursor_get(reading->inbox, &key, &entry, MDB_SET_RANGE);
	code = mdb_cursor_get(reading->inbox, &key, &entry, code ? MDB_LAST : MDB_PREV);
	for (; !code && count < page_items; count++) {
		if (memcmp(key.mv_data, &bytes, sizeof bytes.user_big_endian)) break;
		struct seq_key seq = seq_key(seq_of(key.mv_data));
		MDB_val event = {sizeof seq, &seq};
		check(mdb_get(reading->txn, tables[log_table], &event, &record), "mdb_get");
		memcpy(reading->contents[count], record.mv_data, record_bytes);
		code = mdb_cursor_get(reading->inbox, &key, &entry, MDB_PREV);
	}
	mdb_txn_reset(reading->txn);
	return count;
}

/* The first half of the pages only warms the caches. */
static void measure_pages(const struct event **places, int deep)
{
	struct reading reading;
	open_reading(&reading);
	double start = now();
	for (uint64_t query = 0; query < options.queries; query++) {
		if (query == options.queries / 2) start = now();
		uint64_t before = deep ? places[query]->seq : UINT64_MAX;
		if (read_page(&reading, places[query]->user, before) != page_items) die("page", "not full");
	}
	report("nanoseconds", (now() - start) / (double)(options.queries - options.queries / 2) * 1e9);
	mdb_cursor_close(reading.inbox);
	mdb_txn_abort(reading.txn);
}

static void page(void)
{
	fill_once();
	measure_pages(sample(page_items), 0);
}

/* Places of user 0, who has nine tenths of the items, within the oldest tenth of the log. */
static void page_deep(void)
{
	fill_once();
	const struct event *events = workload(), **places = calloc(options.queries, sizeof *places);
	uint64_t random = 99, oldest = options.events / 100, count = 0;
	if (!places) die("calloc", "no memory");
	while (count < options.queries) {
		const struct event *event = &events[oldest + next_random(&random) % (options.events / 10 - oldest)];
		if (event->user == 0) places[count++] = event;
	}
	measure_pages(places, 1);
}

static const struct test tests[] = {{"page", page}, {"page-deep", page_deep}, {NULL, NULL}};

const struct backend backend = {"lmdb-naive", open_tables, append, close_environment, tests};
