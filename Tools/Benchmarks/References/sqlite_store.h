/* The SQLite reference in two parts: sqlite.c appends, sqlite_queries.c has the cases that read or mark. */
#ifndef SQLITE_STORE_H
#define SQLITE_STORE_H

#include <sqlite3.h>

#include "bench.h"

enum { statement_event, statement_item, statement_tray, statement_begin, statement_commit, statement_count };

struct connection {
	sqlite3 *database;
	sqlite3_stmt *statements[statement_count];
};
extern struct connection writer;

void expect(int code, int wanted, const char *what);
void execute(const char *sql);
sqlite3 *open_database(void);
sqlite3_stmt *prepare(sqlite3 *database, const char *sql);
/* Steps to the end and makes the statement ready for its next use. */
void run_statement(sqlite3_stmt *statement);
void append_events(const struct event *events, uint64_t count);
/* Without syncs. */
void fill_database(void);

extern const struct test sqlite_tests[];

#endif
