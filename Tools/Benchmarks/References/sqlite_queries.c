/*
 * scan       all events in order, counted for each user: the counterpart of folding the log again
 * mark-all   one user's items are marked as read: every row updated, an event, the counts
 * badge      the counts of a random user, in a read transaction
 * page       the newest 20 items of a user with their contents
 * threads    the groups of a user with about a thousand items: count, unread and newest content of the newest 20
 * tick       items that expire at one time, 500 to a transaction: an event, the item and the counts of each
 * mixed-day  callers that append, look at the tray, mark and read; writes of all share commits, reads have connections
 */
#include "sqlite_store.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static void scan(void)
{
	fill_database();
	uint32_t *counts = calloc(options.users, sizeof *counts);
	uint64_t count = 0, bytes = 0;
	double start = now();
	sqlite3_stmt *statement = prepare(writer.database, "SELECT seq, user, kind, payload FROM event ORDER BY seq");
	while (sqlite3_step(statement) == SQLITE_ROW) {
		if (sqlite3_column_int(statement, 2) == 1) counts[sqlite3_column_int64(statement, 1)]++;
		if (sqlite3_column_blob(statement, 3)) bytes += (uint64_t)sqlite3_column_bytes(statement, 3);
		count++;
	}
	sqlite3_finalize(statement);
	double seconds = now() - start;
	if (count != options.events || bytes != count * payload_bytes) die("scan", "not every event is there");
	free(counts);
	report_rate(count, seconds);
}

static void append_one_event(uint64_t seq, uint32_t user)
{
	sqlite3_stmt *statement = writer.statements[statement_event];
	sqlite3_bind_int64(statement, 1, (sqlite3_int64)seq);
	sqlite3_bind_int64(statement, 2, user);
	sqlite3_bind_int64(statement, 3, (sqlite3_int64)1700000000000 + (sqlite3_int64)seq);
	sqlite3_bind_blob(statement, 4, payload(seq), 20, SQLITE_STATIC);
	run_statement(statement);
}

static void mark_all(void)
{
	fill_database();
	sqlite3_stmt *items = prepare(writer.database, "UPDATE inbox SET seen = 1, read = 1 WHERE user = 0 AND seq <= ?1");
	sqlite3_stmt *tray = prepare(writer.database, "UPDATE tray SET unseen = 0, unread = 0 WHERE user = 0");
	double start = now();
	run_statement(writer.statements[statement_begin]);
	append_one_event(options.events + 1, 0);
	sqlite3_bind_int64(items, 1, (sqlite3_int64)options.events);
	run_statement(items);
	run_statement(tray);
	run_statement(writer.statements[statement_commit]);
	report("microseconds", (now() - start) * 1e6);
	sqlite3_finalize(items);
	sqlite3_finalize(tray);
}

static int rows(sqlite3_stmt *statement, int blob)
{
	unsigned char content[record_bytes];
	int count = 0;
	while (sqlite3_step(statement) == SQLITE_ROW) {
		const void *bytes = blob < 0 ? NULL : sqlite3_column_blob(statement, blob);
		if (bytes) memcpy(content, bytes, payload_bytes);
		count++;
	}
	sqlite3_reset(statement);
	return count;
}

/* The first half of the queries only warms the caches. */
static void measure_queries(const char *sql, int blob, const uint32_t *users)
{
	sqlite3_stmt *statement = prepare(writer.database, sql);
	double start = now();
	for (uint64_t query = 0; query < options.queries; query++) {
		if (query == options.queries / 2) start = now();
		sqlite3_bind_int64(statement, 1, users[query]);
		rows(statement, blob);
	}
	report("nanoseconds", (now() - start) / (double)(options.queries - options.queries / 2) * 1e9);
	sqlite3_finalize(statement);
}

static uint32_t *allocate_users(void)
{
	uint32_t *users = calloc(options.queries, sizeof *users);
	if (!users) die("calloc", "no memory");
	return users;
}

static const char *const tray_sql = "SELECT category, total, unseen, unread FROM tray WHERE user = ?1";
static const char *const page_sql = "SELECT inbox.*, event.at, event.payload FROM inbox JOIN event USING (seq)"
				    " WHERE inbox.user = ?1 ORDER BY inbox.seq DESC LIMIT 20";

static void badge(void)
{
	fill_database();
	uint32_t *users = allocate_users();
	uint64_t random = 99;
	for (uint64_t query = 0; query < options.queries; query++)
		users[query] = (uint32_t)(next_random(&random) % options.users);
	measure_queries(tray_sql, -1, users);
	free(users);
}

static void page(void)
{
	fill_database();
	const struct event **found = sample(page_items);
	uint32_t *users = allocate_users();
	for (uint64_t query = 0; query < options.queries; query++) users[query] = found[query]->user;
	measure_queries(page_sql, 7, users);
	free(users);
}

static void threads(void)
{
	fill_database();
	const uint32_t *counts = item_counts();
	uint32_t user = 0, *users = allocate_users();
	for (uint32_t other = 0; other < options.users; other++) {
		uint32_t wanted = 1000;
		if (labs((long)counts[other] - wanted) < labs((long)counts[user] - wanted)) user = other;
	}
	for (uint64_t query = 0; query < options.queries; query++) users[query] = user;
	measure_queries("SELECT groups.*, event.payload FROM (SELECT thread, count(*), sum(1 - seen), sum(1 - read),"
			" max(seq) AS newest FROM inbox WHERE user = ?1 GROUP BY thread ORDER BY newest DESC LIMIT 20) AS groups"
			" JOIN event ON event.seq = groups.newest",
			5, users);
	free(users);
}

static void fill_dues(void)
{
	execute("CREATE TABLE due (at INTEGER NOT NULL, item INTEGER NOT NULL, user INTEGER NOT NULL,"
		" PRIMARY KEY (at, item)) WITHOUT ROWID");
	fill_database();
	execute("BEGIN; INSERT INTO due SELECT 1, seq, user FROM event; COMMIT");
}

static void expire(sqlite3_stmt *item, sqlite3_stmt *tray, uint64_t event, uint64_t seq, uint32_t user)
{
	append_one_event(event, user);
	sqlite3_bind_int64(item, 1, user);
	sqlite3_bind_int64(item, 2, (sqlite3_int64)seq);
	run_statement(item);
	sqlite3_bind_int64(tray, 1, user);
	run_statement(tray);
}

static void tick(void)
{
	enum { slice = 500 };
	fill_dues();
	sqlite3_stmt *due = prepare(writer.database, "SELECT item, user FROM due WHERE at <= 1 ORDER BY at, item LIMIT 500");
	sqlite3_stmt *gone = prepare(writer.database, "DELETE FROM due WHERE at <= 1 AND (at, item) <= (1, ?1)");
	sqlite3_stmt *item = prepare(writer.database, "DELETE FROM inbox WHERE user = ?1 AND seq = ?2");
	sqlite3_stmt *tray = prepare(
		writer.database, "UPDATE tray SET total = total - 1, unseen = unseen - 1, unread = unread - 1 WHERE user = ?1");
	uint64_t done = 0, seqs[slice];
	uint32_t users[slice];
	double start = now();
	for (int count = slice; count; done += (uint64_t)count) {
		run_statement(writer.statements[statement_begin]);
		for (count = 0; sqlite3_step(due) == SQLITE_ROW; count++) {
			seqs[count] = (uint64_t)sqlite3_column_int64(due, 0);
			users[count] = (uint32_t)sqlite3_column_int64(due, 1);
		}
		sqlite3_reset(due);
		for (int index = 0; index < count; index++)
			expire(item, tray, options.events + done + (uint64_t)index + 1, seqs[index], users[index]);
		sqlite3_bind_int64(gone, 1, count ? (sqlite3_int64)seqs[count - 1] : 0);
		run_statement(gone);
		run_statement(writer.statements[statement_commit]);
	}
	double seconds = now() - start;
	if (done != options.events) die("tick", "not everything expired");
	report_rate(done, seconds);
	for (int index = 0; index < 4; index++)
		sqlite3_finalize((sqlite3_stmt *[]){due, gone, item, tray}[index]);
}

/* A mixed day */

/* Of 149 commands in the trace 60 notify, 53 see the tray and 36 mark a thread read; each is followed by a look at the
 * tray, each fourth by a page. */
enum { notify_share = 60, see_share = 53, all_share = 149 };

struct command {
	const struct event *event;
	struct command *next;
	int kind, is_done;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t waiting = PTHREAD_COND_INITIALIZER, committed = PTHREAD_COND_INITIALIZER;
static struct command *first, **end = &first;
static uint64_t callers_left;

static void perform(struct command *command)
{
	struct command **place;
	pthread_mutex_lock(&mutex);
	command->next = NULL;
	command->is_done = 0;
	place = end;
	*place = command;
	end = &command->next;
	pthread_cond_signal(&waiting);
	while (!command->is_done) pthread_cond_wait(&committed, &mutex);
	pthread_mutex_unlock(&mutex);
}

static int kind_of(uint64_t seq)
{
	uint64_t place = seq * 61 % all_share;
	return place < notify_share ? 0 : place < notify_share + see_share ? 1 : 2;
}

static void *run_day(void *argument)
{
	uint64_t caller = *(uint64_t *)argument;
	sqlite3 *database = open_database();
	sqlite3_stmt *tray = prepare(database, tray_sql), *page = prepare(database, page_sql);
	const struct event *events = workload();
	for (uint64_t index = caller; index < options.events; index += options.callers) {
		struct command command = {&events[index], NULL, kind_of(events[index].seq), 0};
		perform(&command);
		sqlite3_bind_int64(tray, 1, events[index].user);
		rows(tray, -1);
		if (index / options.callers % 4) continue;
		sqlite3_bind_int64(page, 1, events[index].user);
		rows(page, 7);
	}
	sqlite3_finalize(tray);
	sqlite3_finalize(page);
	sqlite3_close(database);
	pthread_mutex_lock(&mutex);
	callers_left--;
	pthread_cond_signal(&waiting);
	pthread_mutex_unlock(&mutex);
	return NULL;
}

static struct command *take(void)
{
	pthread_mutex_lock(&mutex);
	while (!first && callers_left) pthread_cond_wait(&waiting, &mutex);
	struct command *group = first;
	first = NULL;
	end = &first;
	pthread_mutex_unlock(&mutex);
	return group;
}

static void answer(struct command *group)
{
	pthread_mutex_lock(&mutex);
	for (struct command *next; group; group = next) {
		next = group->next;
		group->is_done = 1;
	}
	pthread_cond_broadcast(&committed);
	pthread_mutex_unlock(&mutex);
}

static void mark(sqlite3_stmt *items, sqlite3_stmt *tray, const struct command *command)
{
	append_one_event(command->event->seq, command->event->user);
	sqlite3_bind_int64(items, 1, command->event->user);
	if (command->kind == 2) sqlite3_bind_int64(items, 2, command->event->thread);
	run_statement(items);
	sqlite3_bind_int64(tray, 1, command->event->user);
	sqlite3_bind_int64(tray, 2, sqlite3_changes(writer.database));
	run_statement(tray);
}

static void write_day(void)
{
	/* A partial index, so that only what changes is looked for. */
	execute("CREATE INDEX IF NOT EXISTS unseen ON inbox (user, seq) WHERE seen = 0;"
		"CREATE INDEX IF NOT EXISTS unread ON inbox (user, thread) WHERE read = 0");
	sqlite3_stmt *see = prepare(writer.database, "UPDATE inbox SET seen = 1 WHERE user = ?1 AND seen = 0");
	sqlite3_stmt *seen = prepare(writer.database, "UPDATE tray SET unseen = unseen - ?2 WHERE user = ?1");
	sqlite3_stmt *read = prepare(writer.database, "UPDATE inbox SET read = 1, seen = 1 WHERE user = ?1 AND thread = ?2 AND read = 0");
	sqlite3_stmt *done = prepare(writer.database, "UPDATE tray SET unread = unread - ?2 WHERE user = ?1");
	for (struct command *group; (group = take());) {
		run_statement(writer.statements[statement_begin]);
		for (struct command *command = group; command; command = command->next) {
			if (command->kind == 0) append_events(command->event, 1);
			else if (command->kind == 1) mark(see, seen, command);
			else mark(read, done, command);
		}
		run_statement(writer.statements[statement_commit]);
		answer(group);
	}
	for (int index = 0; index < 4; index++)
		sqlite3_finalize((sqlite3_stmt *[]){see, seen, read, done}[index]);
}

static void mixed_day(void)
{
	pthread_t *threads = calloc(options.callers, sizeof *threads);
	uint64_t *numbers = calloc(options.callers, sizeof *numbers);
	workload();
	callers_left = options.callers;
	double start = now();
	for (uint64_t index = 0; index < options.callers; index++) {
		numbers[index] = index;
		if (pthread_create(&threads[index], NULL, run_day, &numbers[index])) die("pthread_create", "failed");
	}
	write_day();
	for (uint64_t index = 0; index < options.callers; index++) pthread_join(threads[index], NULL);
	report_rate(options.events, now() - start);
	free(threads);
	free(numbers);
}

const struct test sqlite_tests[] = {
	{"scan", scan}, {"mark-all", mark_all}, {"badge", badge}, {"page", page}, {"threads", threads},
	{"tick", tick}, {"mixed-day", mixed_day}, {NULL, NULL},
};
