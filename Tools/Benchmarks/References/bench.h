/*
 * What the reference programs share: options, the workload of Workload.swift, callers that wait in a queue, figures.
 *
 *   PROGRAM -c CASE -o DIR [-n EVENTS] [-u USERS] [-b BATCH] [-t CALLERS] [-q QUERIES] [-d zipf|uniform|heavy]
 *
 * A program prints one JSON object of numbers. Cases that only read fill a new directory first and find it filled the
 * next time.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdint.h>
#include <stddef.h>

enum { record_bytes = 200, payload_bytes = 156, thread_count = 1000, page_items = 20, state_bytes = 64 };

struct options {
	const char *name, *directory;
	uint64_t events, users, batch, callers, queries;
	const char *distribution;
};
extern struct options options;

/* Whose event it is and in which thread; the event's seq is its place in the workload, from 1. */
struct event {
	uint64_t seq;
	uint32_t user, thread;
};

struct test {
	const char *name;
	void (*run)(void);
};

/* A store of some kind. `append` returns when all events are durable, as one transaction. */
struct backend {
	const char *name;
	void (*open)(void);
	void (*append)(const struct event *events, uint64_t count);
	void (*close)(void);
	/* Further cases, and own forms of bulk and callers; ends with a NULL name. */
	const struct test *tests;
};
extern const struct backend backend;

_Noreturn void die(const char *what, const char *why);
/* Seconds; of processor time where TRAYLOG_BENCH_CPU_TIME is set. */
double now(void);
uint64_t next_random(uint64_t *state);

/* The events from the first one on; valid until the end. */
const struct event *workload(void);
/* 156 or 200 bytes that belong to an event; at most 64 KiB may be read. */
const unsigned char *payload(uint64_t seq);
/* By user, then seq. */
const struct event *sorted_by_user(const struct event *events, uint64_t count);
/* As many random events as there are queries; their users are as frequent among them as in the log. */
const struct event **sample(uint64_t least_items);
/* Items of each user at the end of the workload. */
const uint32_t *item_counts(void);

/* Once at least: whether the directory has to be filled, which is noted for the next time by `filled`. */
int needs_filling(void);
void filled(void);

void report(const char *key, double value);
void report_rate(uint64_t events, double seconds);
/* Sorts them. */
void report_latencies(uint32_t *nanoseconds, uint64_t count);
void report_file_bytes(const char *name);

/* Appends the whole workload in transactions of `batch`. */
void append_all(void);

#endif
