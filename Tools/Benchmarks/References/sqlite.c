/*
 * SQLite 3 in WAL mode with synchronous=FULL: each commit syncs the WAL. Statements are prepared once; tables without
 * rowid where the key is the order; a cache of 256 MiB; the file mapped. A transaction inserts its events in the order
 * of the log, its items sorted by user, and one upsert for each user in it, with the counts added up. Checkpoints
 * are SQLite's own, each 10,000 pages.
 */
#include "sqlite_store.h"

#include <stdio.h>

struct connection writer;

static const char *const schema =
	"CREATE TABLE IF NOT EXISTS event (seq INTEGER PRIMARY KEY, user INTEGER NOT NULL, kind INTEGER NOT NULL,"
	" at INTEGER NOT NULL, payload BLOB NOT NULL);"
	"CREATE TABLE IF NOT EXISTS inbox (user INTEGER NOT NULL, seq INTEGER NOT NULL, thread INTEGER NOT NULL,"
	" category INTEGER NOT NULL, seen INTEGER NOT NULL, read INTEGER NOT NULL, PRIMARY KEY (user, seq)) WITHOUT ROWID;"
	"CREATE TABLE IF NOT EXISTS tray (user INTEGER NOT NULL, category INTEGER NOT NULL, total INTEGER NOT NULL,"
	" unseen INTEGER NOT NULL, unread INTEGER NOT NULL, PRIMARY KEY (user, category)) WITHOUT ROWID;";

static const char *const texts[statement_count] = {
	[statement_event] = "INSERT INTO event VALUES (?1, ?2, 1, ?3, ?4)",
	[statement_item] = "INSERT INTO inbox VALUES (?1, ?2, ?3, 1, 0, 0)",
	[statement_tray] = "INSERT INTO tray VALUES (?1, 1, ?2, ?2, ?2) ON CONFLICT DO UPDATE SET total = total + ?2,"
			   " unseen = unseen + ?2, unread = unread + ?2",
	[statement_begin] = "BEGIN IMMEDIATE",
	[statement_commit] = "COMMIT",
};

void expect(int code, int wanted, const char *what)
{
	if (code != wanted) die(what, sqlite3_errstr(code));
}

void execute(const char *sql)
{
	expect(sqlite3_exec(writer.database, sql, NULL, NULL, NULL), SQLITE_OK, sql);
}

sqlite3 *open_database(void)
{
	sqlite3 *database;
	char path[4096];
	snprintf(path, sizeof path, "%s/store.db", options.directory);
	expect(sqlite3_open_v2(path, &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL),
	       SQLITE_OK, path);
	const char *pragmas = "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-262144;"
			      "PRAGMA wal_autocheckpoint=10000; PRAGMA mmap_size=4294967296; PRAGMA temp_store=MEMORY;";
	expect(sqlite3_exec(database, pragmas, NULL, NULL, NULL), SQLITE_OK, pragmas);
	return database;
}

sqlite3_stmt *prepare(sqlite3 *database, const char *sql)
{
	sqlite3_stmt *statement;
	expect(sqlite3_prepare_v3(database, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL), SQLITE_OK, sql);
	return statement;
}

void run_statement(sqlite3_stmt *statement)
{
	int code;
	while ((code = sqlite3_step(statement)) == SQLITE_ROW) { }
	expect(code, SQLITE_DONE, sqlite3_sql(statement));
	sqlite3_reset(statement);
}

static void open_store(void)
{
	writer.database = open_database();
	execute(schema);
	for (int index = 0; index < statement_count; index++)
		writer.statements[index] = prepare(writer.database, texts[index]);
}

static void close_store(void)
{
	for (int index = 0; index < statement_count; index++) sqlite3_finalize(writer.statements[index]);
	expect(sqlite3_close(writer.database), SQLITE_OK, "sqlite3_close");
}

void append_events(const struct event *events, uint64_t count)
{
	sqlite3_stmt *statement = writer.statements[statement_event];
	for (uint64_t index = 0; index < count; index++) {
		sqlite3_bind_int64(statement, 1, (sqlite3_int64)events[index].seq);
		sqlite3_bind_int64(statement, 2, events[index].user);
		sqlite3_bind_int64(statement, 3, (sqlite3_int64)1700000000000 + (sqlite3_int64)events[index].seq);
		sqlite3_bind_blob(statement, 4, payload(events[index].seq), payload_bytes, SQLITE_STATIC);
		run_statement(statement);
	}
	const struct event *sorted = sorted_by_user(events, count);
	statement = writer.statements[statement_item];
	for (uint64_t index = 0; index < count; index++) {
		sqlite3_bind_int64(statement, 1, sorted[index].user);
		sqlite3_bind_int64(statement, 2, (sqlite3_int64)sorted[index].seq);
		sqlite3_bind_int64(statement, 3, sorted[index].thread);
		run_statement(statement);
	}
	statement = writer.statements[statement_tray];
	for (uint64_t first = 0, end; first < count; first = end) {
		for (end = first + 1; end < count && sorted[end].user == sorted[first].user; end++) { }
		sqlite3_bind_int64(statement, 1, sorted[first].user);
		sqlite3_bind_int64(statement, 2, (sqlite3_int64)(end - first));
		run_statement(statement);
	}
}

static void append(const struct event *events, uint64_t count)
{
	run_statement(writer.statements[statement_begin]);
	append_events(events, count);
	run_statement(writer.statements[statement_commit]);
}

void fill_database(void)
{
	if (!needs_filling()) return;
	uint64_t batch = options.batch;
	options.batch = 20000;
	execute("PRAGMA synchronous=OFF");
	append_all();
	execute("PRAGMA wal_checkpoint(TRUNCATE)");
	execute("PRAGMA synchronous=FULL");
	options.batch = batch;
	filled();
}

const struct backend backend = {"sqlite", open_store, append, close_store, sqlite_tests};
