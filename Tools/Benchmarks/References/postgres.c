/*
 * PostgreSQL over a Unix socket, by libpq; with-postgres starts the server. One prepared statement is a transaction:
 * it gets all events as binary arrays, and inserts events, items and counts from them (counts added up, users in
 * order). In bulk, libpq's pipeline mode keeps up to four in flight, so the server need not wait for the client.
 */
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

enum { parameters = 4, pipeline_depth = 4, oid_int4 = 23, oid_int8 = 20, oid_bytea = 17 };

static PGconn *connection;

static const char *const schema =
	"CREATE TABLE event (seq bigint PRIMARY KEY, usr int NOT NULL, kind smallint NOT NULL,"
	" at bigint NOT NULL, payload bytea NOT NULL);"
	"ALTER TABLE event ALTER payload SET STORAGE PLAIN;"
	"CREATE TABLE inbox (usr int NOT NULL, seq bigint NOT NULL, thread int NOT NULL, category smallint NOT NULL,"
	" seen boolean NOT NULL, read boolean NOT NULL, PRIMARY KEY (usr, seq));"
	"CREATE TABLE tray (usr int NOT NULL, category smallint NOT NULL, total bigint NOT NULL,"
	" unseen bigint NOT NULL, unread bigint NOT NULL, PRIMARY KEY (usr, category)) WITH (fillfactor = 50);";

static const char *const statement =
	"WITH events AS (INSERT INTO event SELECT seq, usr, 1, 1700000000000 + seq, payload"
	" FROM unnest($1::bigint[], $2::int[], $4::bytea[]) AS new (seq, usr, payload)),"
	" items AS (INSERT INTO inbox SELECT usr, seq, thread, 1, false, false"
	" FROM unnest($1::bigint[], $2::int[], $3::int[]) AS new (seq, usr, thread) ORDER BY usr, seq)"
	" INSERT INTO tray AS old SELECT usr, 1, count(*), count(*), count(*) FROM unnest($2::int[]) AS new (usr)"
	" GROUP BY usr ORDER BY usr ON CONFLICT (usr, category) DO UPDATE SET total = old.total + excluded.total,"
	" unseen = old.unseen + excluded.unseen, unread = old.unread + excluded.unread";

struct buffer {
	char *bytes;
	size_t used, room;
};
static struct buffer buffers[parameters];

static void expect(PGresult *result, ExecStatusType wanted)
{
	if (PQresultStatus(result) != wanted) die("PostgreSQL", PQerrorMessage(connection));
	PQclear(result);
}

static void open_store(void)
{
	char target[4200];
	snprintf(target, sizeof target, "host=%s user=bench dbname=postgres", options.directory);
	connection = PQconnectdb(target);
	if (PQstatus(connection) != CONNECTION_OK) die("PostgreSQL", PQerrorMessage(connection));
	expect(PQexec(connection, schema), PGRES_COMMAND_OK);
	expect(PQprepare(connection, "append", statement, 0, NULL), PGRES_COMMAND_OK);
}

static void close_store(void)
{
	PQfinish(connection);
}

static void put(struct buffer *buffer, const void *bytes, size_t count)
{
	if (buffer->used + count > buffer->room) {
		buffer->room = 2 * (buffer->used + count);
		buffer->bytes = realloc(buffer->bytes, buffer->room);
		if (!buffer->bytes) die("realloc", "no memory");
	}
	memcpy(buffer->bytes + buffer->used, bytes, count);
	buffer->used += count;
}

static void put_number(struct buffer *buffer, uint32_t number)
{
	number = __builtin_bswap32(number);
	put(buffer, &number, sizeof number);
}

/* PostgreSQL's binary array of one dimension: dimensions, has nulls, type, length, lower bound. */
static void start_array(struct buffer *buffer, uint32_t type, uint64_t count)
{
	buffer->used = 0;
	const uint32_t head[] = {1, 0, type, (uint32_t)count, 1};
	for (int index = 0; index < 5; index++) put_number(buffer, head[index]);
}

static void make_parameters(const struct event *events, uint64_t count)
{
	static const uint32_t types[parameters] = {oid_int8, oid_int4, oid_int4, oid_bytea};
	for (int index = 0; index < parameters; index++) start_array(&buffers[index], types[index], count);
	for (const struct event *event = events; event < events + count; event++) {
		uint64_t seq = __builtin_bswap64(event->seq);
		put_number(&buffers[0], sizeof seq);
		put(&buffers[0], &seq, sizeof seq);
		put_number(&buffers[1], 4);
		put_number(&buffers[1], event->user);
		put_number(&buffers[2], 4);
		put_number(&buffers[2], event->thread);
		put_number(&buffers[3], payload_bytes);
		put(&buffers[3], payload(event->seq), payload_bytes);
	}
}

static void send_events(const struct event *events, uint64_t count)
{
	static const int formats[parameters] = {1, 1, 1, 1};
	const char *values[parameters];
	int lengths[parameters];
	make_parameters(events, count);
	for (int index = 0; index < parameters; index++) {
		values[index] = buffers[index].bytes;
		lengths[index] = (int)buffers[index].used;
	}
	if (!PQsendQueryPrepared(connection, "append", parameters, values, lengths, formats, 0))
		die("PostgreSQL", PQerrorMessage(connection));
}

static void append(const struct event *events, uint64_t count)
{
	send_events(events, count);
	PGresult *result;
	while ((result = PQgetResult(connection))) expect(result, PGRES_COMMAND_OK);
}

/* The answer of one transaction, and its end. */
static void receive(void)
{
	expect(PQgetResult(connection), PGRES_COMMAND_OK);
	PQclear(PQgetResult(connection));
	expect(PQgetResult(connection), PGRES_PIPELINE_SYNC);
}

static void bulk(void)
{
	const struct event *events = workload();
	if (!PQenterPipelineMode(connection)) die("PostgreSQL", PQerrorMessage(connection));
	int under_way = 0;
	double start = now();
	for (uint64_t done = 0; done < options.events; done += options.batch) {
		uint64_t left = options.events - done;
		if (under_way == pipeline_depth) {
			receive();
			under_way--;
		}
		send_events(events + done, left < options.batch ? left : options.batch);
		/* A sync ends the transaction, which the server then makes durable. */
		if (!PQpipelineSync(connection)) die("PostgreSQL", PQerrorMessage(connection));
		under_way++;
	}
	while (under_way--) receive();
	report_rate(options.events, now() - start);
}

static const struct test tests[] = {{"bulk", bulk}, {NULL, NULL}};

const struct backend backend = {"postgres", open_store, append, close_store, tests};
