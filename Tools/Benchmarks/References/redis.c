/*
 * Redis over a Unix socket, by hiredis; with-redis starts the server (an append-only file, synced before each
 * answer). A transaction is one pipeline: MULTI, the payloads appended to a list by one command, for each user (in
 * order) one command with all new items of a sorted set and one for each of the counts, added up, and EXEC. In bulk two
 * are in flight, so the server need not wait for the client.
 *
 * memory   what the server's memory was at most after bulk
 */
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

enum { pipeline_depth = 2, most_arguments = 2048 };

static redisContext *context;
/* Answers of one transaction that are still to come, oldest transaction first. */
static uint64_t expected[pipeline_depth + 1];
static int under_way;

static const char *const counts[] = {"total", "message.unseen", "message.unread"};

static void open_store(void)
{
	char path[4200];
	snprintf(path, sizeof path, "%s/redis.sock", options.directory);
	context = redisConnectUnix(path);
	if (!context || context->err) die(path, context ? context->errstr : "no context");
}

static void close_store(void)
{
	redisFree(context);
}

static void command(int count, const char **arguments, const size_t *lengths)
{
	if (redisAppendCommandArgv(context, count, arguments, lengths)) die("Redis", context->errstr);
	expected[under_way]++;
}

static void plain(const char *name)
{
	size_t length = strlen(name);
	command(1, &name, &length);
}

static void push_payloads(const struct event *events, uint64_t count)
{
	static const char *arguments[most_arguments];
	static size_t lengths[most_arguments];
	arguments[0] = "RPUSH";
	arguments[1] = "log";
	lengths[0] = 5;
	lengths[1] = 3;
	for (uint64_t index = 0; index < count; index++) {
		arguments[index + 2] = (const char *)payload(events[index].seq);
		lengths[index + 2] = payload_bytes;
	}
	command((int)count + 2, arguments, lengths);
}

/* Members are the item's number and its thread; the score puts them in order. */
static void add_items(const struct event *events, uint64_t count)
{
	static const char *arguments[2 * most_arguments];
	static size_t lengths[2 * most_arguments];
	static char texts[2 * most_arguments][32];
	arguments[0] = "ZADD";
	lengths[0] = 4;
	lengths[1] = (size_t)snprintf(texts[1], sizeof texts[1], "i:%u", events->user);
	arguments[1] = texts[1];
	for (uint64_t index = 0; index < count; index++) {
		char **place = (char *[]){texts[2 * index + 2], texts[2 * index + 3]};
		lengths[2 * index + 2] = (size_t)snprintf(place[0], 32, "%llu", (unsigned long long)events[index].seq);
		lengths[2 * index + 3] =
			(size_t)snprintf(place[1], 32, "%llu:%u", (unsigned long long)events[index].seq, events[index].thread);
		arguments[2 * index + 2] = place[0];
		arguments[2 * index + 3] = place[1];
	}
	command(2 * (int)count + 2, arguments, lengths);
}

static void add_counts(uint32_t user, uint64_t count)
{
	char key[32], amount[32];
	int key_length = snprintf(key, sizeof key, "t:%u", user);
	int amount_length = snprintf(amount, sizeof amount, "%llu", (unsigned long long)count);
	for (size_t index = 0; index < sizeof counts / sizeof *counts; index++)
		command(4, (const char *[]){"HINCRBY", key, counts[index], amount},
			(size_t[]){7, (size_t)key_length, strlen(counts[index]), (size_t)amount_length});
}

static void send_events(const struct event *events, uint64_t count)
{
	if (count + 2 > most_arguments) die("redis", "a transaction is too large");
	expected[under_way] = 0;
	plain("MULTI");
	push_payloads(events, count);
	const struct event *sorted = sorted_by_user(events, count);
	for (uint64_t first = 0, end; first < count; first = end) {
		for (end = first + 1; end < count && sorted[end].user == sorted[first].user; end++) { }
		add_items(sorted + first, end - first);
		add_counts(sorted[first].user, end - first);
	}
	plain("EXEC");
	under_way++;
	int sent = 0;
	while (!sent)
		if (redisBufferWrite(context, &sent)) die("Redis", context->errstr);
}

static void receive(void)
{
	for (uint64_t left = expected[0]; left; left--) {
		redisReply *reply;
		if (redisGetReply(context, (void **)&reply)) die("Redis", context->errstr);
		if (reply->type == REDIS_REPLY_ERROR) die("Redis", reply->str);
		/* The last reply answers EXEC, and has all results. */
		if (left == 1 && reply->type != REDIS_REPLY_ARRAY) die("Redis", "the transaction was not executed");
		freeReplyObject(reply);
	}
	memmove(expected, expected + 1, (size_t)--under_way * sizeof *expected);
}

static void append(const struct event *events, uint64_t count)
{
	send_events(events, count);
	receive();
}

static void append_pipelined(void)
{
	const struct event *events = workload();
	for (uint64_t done = 0; done < options.events; done += options.batch) {
		uint64_t left = options.events - done;
		if (under_way == pipeline_depth) receive();
		send_events(events + done, left < options.batch ? left : options.batch);
	}
	while (under_way) receive();
}

static void bulk(void)
{
	workload();
	double start = now();
	append_pipelined();
	report_rate(options.events, now() - start);
}

static void memory(void)
{
	append_pipelined();
	redisReply *reply = redisCommand(context, "INFO memory");
	const char *found = reply && reply->str ? strstr(reply->str, "used_memory_peak:") : NULL;
	if (!found) die("Redis", "INFO has no used_memory_peak");
	report("bytes", strtod(strchr(found, ':') + 1, NULL));
	freeReplyObject(reply);
}

static const struct test tests[] = {{"bulk", bulk}, {"memory", memory}, {NULL, NULL}};

const struct backend backend = {"redis", open_store, append, close_store, tests};
