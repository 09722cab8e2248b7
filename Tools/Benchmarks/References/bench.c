#define _GNU_SOURCE
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { pool_bytes = 1 << 20, block_bytes = 4096, max_read_bytes = 1 << 16 };

struct options options = {
	.name = "bulk", .events = 1000000, .users = 100000, .batch = 1000, .callers = 64, .queries = 100000,
	.distribution = "zipf",
};

static unsigned char pool[pool_bytes];
static int reported;

_Noreturn void die(const char *what, const char *why)
{
	fprintf(stderr, "%s: %s: %s\n", backend.name, what, why);
	exit(1);
}

double now(void)
{
	static int clock = -1;
	struct timespec time;
	if (clock < 0) clock = getenv("TRAYLOG_BENCH_CPU_TIME") ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC;
	clock_gettime(clock, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* Seconds of processor time of all threads of this process. */
static double processor_now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* SplitMix64. */
uint64_t next_random(uint64_t *state)
{
	uint64_t word = *state += 0x9e3779b97f4a7c15u;
	word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9u;
	word = (word ^ (word >> 27)) * 0x94d049bb133111ebu;
	return word ^ (word >> 31);
}

static void *allocate(uint64_t count, size_t size)
{
	void *memory = calloc(count ? count : 1, size);
	if (!memory) die("calloc", strerror(errno));
	return memory;
}

/* So that pages hold neither zeros nor repetition. */
static void fill_pool(void)
{
	uint64_t state = 42;
	for (size_t offset = 0; offset < pool_bytes; offset += 8) {
		uint64_t word = next_random(&state);
		memcpy(pool + offset, &word, 8);
	}
}

const unsigned char *payload(uint64_t seq)
{
	return pool + (seq * 64) % (pool_bytes - max_read_bytes);
}

/* Workload */

static double *zipf_sums(void)
{
	double *sums = allocate(options.users, sizeof *sums), sum = 0;
	for (uint64_t rank = 0; rank < options.users; rank++) sums[rank] = sum += 1 / (double)(rank + 1);
	return sums;
}

static uint32_t zipf_user(const double *sums, uint64_t *random)
{
	double point = (double)(next_random(random) >> 11) * 0x1p-53 * sums[options.users - 1];
	uint64_t low = 0, high = options.users - 1;
	while (low < high) {
		uint64_t middle = (low + high) / 2;
		if (sums[middle] <= point) low = middle + 1;
		else high = middle;
	}
	return (uint32_t)((low * 61803 + 7) % options.users);
}

static uint32_t heavy_user(uint64_t index, uint64_t *random)
{
	uint64_t user = next_random(random) % options.users;
	return index % 10 ? 0 : (uint32_t)user;
}

const struct event *workload(void)
{
	static struct event *events;
	if (events) return events;
	events = allocate(options.events, sizeof *events);
	int zipf = !strcmp(options.distribution, "zipf"), heavy = !strcmp(options.distribution, "heavy");
	double *sums = zipf ? zipf_sums() : NULL;
	uint64_t random = 7;
	for (uint64_t index = 0; index < options.events; index++) {
		uint32_t user = zipf ? zipf_user(sums, &random)
			: heavy ? heavy_user(index, &random) : (uint32_t)(next_random(&random) % options.users);
		uint32_t sender = (uint32_t)(next_random(&random) % options.users);
		events[index] = (struct event){index + 1, user, sender % thread_count};
	}
	free(sums);
	return events;
}

static int by_user(const void *left, const void *right)
{
	const struct event *one = left, *other = right;
	if (one->user != other->user) return one->user < other->user ? -1 : 1;
	return one->seq < other->seq ? -1 : one->seq > other->seq;
}

const struct event *sorted_by_user(const struct event *events, uint64_t count)
{
	static struct event *sorted;
	static uint64_t room;
	if (count > room) {
		free(sorted);
		sorted = allocate(room = count, sizeof *sorted);
	}
	memcpy(sorted, events, count * sizeof *sorted);
	qsort(sorted, count, sizeof *sorted, by_user);
	return sorted;
}

const uint32_t *item_counts(void)
{
	static uint32_t *counts;
	if (counts) return counts;
	counts = allocate(options.users, sizeof *counts);
	const struct event *events = workload();
	for (uint64_t index = 0; index < options.events; index++) counts[events[index].user]++;
	return counts;
}

const struct event **sample(uint64_t least_items)
{
	const struct event *events = workload(), **found = allocate(options.queries, sizeof *found);
	const uint32_t *counts = item_counts();
	uint64_t random = 99, count = 0, tries = 0;
	while (count < options.queries) {
		const struct event *event = &events[next_random(&random) % options.events];
		if (counts[event->user] >= least_items) found[count++] = event;
		else if (++tries > 1000 * options.queries) die("workload", "no user has so many items");
	}
	return found;
}

/* Files */

static void path_of(char *path, size_t size, const char *name)
{
	if (snprintf(path, size, "%s/%s", options.directory, name) >= (int)size) die(options.directory, "path too long");
}

static double syncs_per_second(double seconds)
{
	char path[4096];
	path_of(path, sizeof path, "sync.probe");
	int file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (file < 0) die(path, strerror(errno));
	/* The blocks exist before the clock starts: a log, too, mostly writes pages that the file has. */
	for (int block = 0; block < 64; block++)
		if (pwrite(file, pool, block_bytes, (off_t)block * block_bytes) != block_bytes) die(path, strerror(errno));
	if (fsync(file)) die(path, strerror(errno));
	uint64_t count = 0;
	double start = now(), elapsed;
	do {
		off_t place = (off_t)(count % 64) * block_bytes;
		if (pwrite(file, pool + count % 4096, block_bytes, place) != block_bytes) die(path, strerror(errno));
		if (fdatasync(file)) die(path, strerror(errno));
		count++;
		elapsed = now() - start;
	} while (elapsed < seconds);
	close(file);
	unlink(path);
	return (double)count / elapsed;
}

int needs_filling(void)
{
	char path[4096];
	path_of(path, sizeof path, "filled");
	return access(path, F_OK) != 0;
}

void filled(void)
{
	char path[4096];
	path_of(path, sizeof path, "filled");
	int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (file < 0) die(path, strerror(errno));
	close(file);
}

/* Figures */

void report(const char *key, double value)
{
	printf("%s\"%s\":%.3f", reported++ ? "," : "{", key, value);
}

void report_rate(uint64_t events, double seconds)
{
	report("perSecond", (double)events / seconds);
	report("seconds", seconds);
}

static void report_processor_time(uint64_t events, double seconds)
{
	report("processorNanoseconds", seconds * 1e9 / (double)events);
}

static int by_value(const void *left, const void *right)
{
	uint32_t one = *(const uint32_t *)left, other = *(const uint32_t *)right;
	return one < other ? -1 : one > other;
}

void report_latencies(uint32_t *nanoseconds, uint64_t count)
{
	qsort(nanoseconds, count, sizeof *nanoseconds, by_value);
	report("p50", nanoseconds[count / 2] / 1e3);
	report("p99", nanoseconds[count - 1 - count / 100] / 1e3);
}

void report_file_bytes(const char *name)
{
	char path[4096];
	struct stat file;
	path_of(path, sizeof path, name);
	if (stat(path, &file)) die(path, strerror(errno));
	report("bytesPerEvent", (double)file.st_size / (double)options.events);
}

/* Cases that all have */

void append_all(void)
{
	const struct event *events = workload();
	for (uint64_t done = 0; done < options.events; done += options.batch) {
		uint64_t left = options.events - done;
		backend.append(events + done, left < options.batch ? left : options.batch);
	}
}

static void run_bulk(void)
{
	workload();
	double processor = processor_now(), start = now();
	append_all();
	report_rate(options.events, now() - start);
	report_processor_time(options.events, processor_now() - processor);
}

/* A caller that waits: the writer posts its semaphore when the event is durable. */
struct caller {
	sem_t durable;
	struct caller *next;
	uint64_t count;
	uint32_t *latencies;
};

static pthread_mutex_t queue_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue_filled = PTHREAD_COND_INITIALIZER;
static struct caller *queue_first, **queue_end = &queue_first;
static uint64_t queue_count;

static void *run_caller(void *argument)
{
	struct caller *self = argument;
	for (uint64_t done = 0; done < self->count; done++) {
		double start = now();
		pthread_mutex_lock(&queue_mutex);
		self->next = NULL;
		*queue_end = self;
		queue_end = &self->next;
		/* Only the first one can find the writer asleep. */
		if (queue_count++ == 0) pthread_cond_signal(&queue_filled);
		pthread_mutex_unlock(&queue_mutex);
		while (sem_wait(&self->durable)) { }
		self->latencies[done] = (uint32_t)((now() - start) * 1e9);
	}
	return NULL;
}

/* Takes at most `batch` waiting callers from the queue; the chain ends with NULL. */
static struct caller *take_group(uint64_t *count)
{
	pthread_mutex_lock(&queue_mutex);
	while (!queue_first) pthread_cond_wait(&queue_filled, &queue_mutex);
	struct caller *group = queue_first, **end = &queue_first;
	for (*count = 0; *end && *count < options.batch; ++*count) end = &(*end)->next;
	queue_first = *end;
	*end = NULL;
	if (!queue_first) queue_end = &queue_first;
	queue_count -= *count;
	pthread_mutex_unlock(&queue_mutex);
	return group;
}

static void start_callers(struct caller *all, pthread_t *threads, uint32_t *latencies)
{
	for (uint64_t index = 0; index < options.callers; index++) {
		sem_init(&all[index].durable, 0, 0);
		all[index].count = options.events / options.callers + (index < options.events % options.callers);
		all[index].latencies = latencies;
		latencies += all[index].count;
		int code = pthread_create(&threads[index], NULL, run_caller, &all[index]);
		if (code) die("pthread_create", strerror(code));
	}
}

/* Many callers of one event each, one queue, and one thread that commits what has gathered. */
static void run_callers(void)
{
	struct caller *all = allocate(options.callers, sizeof *all);
	pthread_t *threads = allocate(options.callers, sizeof *threads);
	uint32_t *latencies = allocate(options.events, sizeof *latencies);
	const struct event *events = workload();
	double processor = processor_now(), start = now();
	start_callers(all, threads, latencies);
	for (uint64_t done = 0, count; done < options.events; done += count) {
		struct caller *group = take_group(&count);
		backend.append(events + done, count);
		while (group) {
			/* Read before the post: the caller may queue itself again at once. */
			struct caller *next = group->next;
			sem_post(&group->durable);
			group = next;
		}
	}
	for (uint64_t index = 0; index < options.callers; index++) pthread_join(threads[index], NULL);
	report_rate(options.events, now() - start);
	report_processor_time(options.events, processor_now() - processor);
	report_latencies(latencies, options.events);
}

static void run_sync(void)
{
	report("syncsPerSecond", syncs_per_second(0.3));
}

static const struct test common_tests[] = {{"bulk", run_bulk}, {"callers", run_callers}, {NULL, NULL}};

static uint64_t number(const char *text)
{
	char *end;
	errno = 0;
	unsigned long long value = strtoull(text, &end, 10);
	if (errno || *text == '-' || end == text || *end || !value) die(text, "not a number from 1");
	return value;
}

static void read_options(int count, char **arguments)
{
	int option;
	while ((option = getopt(count, arguments, "c:o:n:u:b:t:q:d:")) != -1) {
		switch (option) {
		case 'c': options.name = optarg; break;
		case 'o': options.directory = optarg; break;
		case 'n': options.events = number(optarg); break;
		case 'u': options.users = number(optarg); break;
		case 'b': options.batch = number(optarg); break;
		case 't': options.callers = number(optarg); break;
		case 'q': options.queries = number(optarg); break;
		case 'd': options.distribution = optarg; break;
		default: exit(64);
		}
	}
	if (!options.directory || optind != count) {
		fputs("usage: see bench.h\n", stderr);
		exit(64);
	}
}

static int run_test(const struct test *tests)
{
	for (; tests && tests->name; tests++) {
		if (strcmp(tests->name, options.name)) continue;
		backend.open();
		tests->run();
		backend.close();
		return 1;
	}
	return 0;
}

int main(int count, char **arguments)
{
	read_options(count, arguments);
	if (mkdir(options.directory, 0700) && errno != EEXIST) die(options.directory, strerror(errno));
	fill_pool();
	if (!strcmp(options.name, "sync")) run_sync();
	else if (!run_test(backend.tests) && !run_test(common_tests)) die(options.name, "no such case");
	puts("}");
	return 0;
}
