/*
 * The ceiling that Traylog's appends are measured against: a program that does nothing but append records to LMDB.
 *
 *   lmdb_log -o DIR [-m bulk|callers|sync] [-n EVENTS] [-s BYTES] [-b BATCH] [-t CALLERS] [--sync-delay-us N]
 *
 * bulk     one thread appends EVENTS records of BYTES bytes, BATCH to a commit
 * callers  CALLERS threads append one record at a time through one queue; one thread commits what has gathered (at
 *          most BATCH at once), and every caller waits until its record is durable
 * sync     only measures how many times a second the disk completes fdatasync after a write of 4 KiB
 *
 * Keys are 8 bytes of sequence number, big-endian, put with MDB_APPEND; commits are durable (LMDB's default). Prints
 * one JSON line; "syncsPerSecond" is the rate of mode `sync`, taken just before in the same directory. The
 * record bytes are the same in every run. A delay is added to each sync by preloading slowsync.so, which lies beside
 * this program.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <lmdb.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { pool_bytes = 1 << 20, block_bytes = 4096, max_record_bytes = 1 << 16 };

static const char *directory, *mode = "bulk";
static uint64_t events = 1000000, record_bytes = 200, batch = 1000, callers = 64, delay_us;
static unsigned char pool[pool_bytes];
static MDB_env *environment;
static MDB_dbi table;
static uint64_t last_seq;

static void die(const char *what, const char *why)
{
	fprintf(stderr, "lmdb_log: %s: %s\n", what, why);
	exit(1);
}

static void check(int code, const char *what)
{
	if (code) die(what, mdb_strerror(code));
}

static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* SplitMix64, so that pages hold neither zeros nor repetition. */
static void fill_pool(void)
{
	uint64_t state = 42;
	for (size_t offset = 0; offset < pool_bytes; offset += 8) {
		uint64_t word = state += 0x9e3779b97f4a7c15u;
		word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9u;
		word = (word ^ (word >> 27)) * 0x94d049bb133111ebu;
		word ^= word >> 31;
		memcpy(pool + offset, &word, 8);
	}
}

static double syncs_per_second(double seconds)
{
	char path[4096];
	if (snprintf(path, sizeof path, "%s/sync.probe", directory) >= (int)sizeof path) die(directory, "path too long");
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

static void open_environment(void)
{
	check(mdb_env_create(&environment), "mdb_env_create");
	check(mdb_env_set_mapsize(environment, (size_t)64 << 30), "mdb_env_set_mapsize");
	check(mdb_env_open(environment, directory, MDB_NOTLS, 0600), directory);
	MDB_txn *txn;
	MDB_stat stat;
	check(mdb_txn_begin(environment, NULL, 0, &txn), "mdb_txn_begin");
	check(mdb_dbi_open(txn, NULL, 0, &table), "mdb_dbi_open");
	check(mdb_stat(txn, table, &stat), "mdb_stat");
	check(mdb_txn_commit(txn), "mdb_txn_commit");
	if (stat.ms_entries) die(directory, "not empty; give a new directory to each run");
}

static void append(MDB_txn *txn)
{
	uint64_t seq = ++last_seq, big_endian = __builtin_bswap64(seq);
	MDB_val key = {sizeof big_endian, &big_endian};
	MDB_val value = {record_bytes, pool + (seq * 64) % (pool_bytes - max_record_bytes)};
	check(mdb_put(txn, table, &key, &value, MDB_APPEND), "mdb_put");
}

static void commit_events(uint64_t count)
{
	MDB_txn *txn;
	check(mdb_txn_begin(environment, NULL, 0, &txn), "mdb_txn_begin");
	while (count--) append(txn);
	check(mdb_txn_commit(txn), "mdb_txn_commit");
}

static void run_bulk(void)
{
	for (uint64_t done = 0; done < events; done += batch)
		commit_events(events - done < batch ? events - done : batch);
}

/* A caller that waits: the writer posts its semaphore when the record is durable. */
struct caller {
	sem_t durable;
	struct caller *next;
	uint64_t count;
};

static pthread_mutex_t queue_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue_filled = PTHREAD_COND_INITIALIZER;
static struct caller *queue_first, **queue_end = &queue_first;
static uint64_t queue_count;

static void *run_caller(void *argument)
{
	struct caller *self = argument;
	for (uint64_t done = 0; done < self->count; done++) {
		pthread_mutex_lock(&queue_mutex);
		self->next = NULL;
		*queue_end = self;
		queue_end = &self->next;
		/* Only the first one can find the writer asleep. */
		if (queue_count++ == 0) pthread_cond_signal(&queue_filled);
		pthread_mutex_unlock(&queue_mutex);
		while (sem_wait(&self->durable)) { }
	}
	return NULL;
}

/* Takes at most `batch` waiting callers from the queue; the chain ends with NULL. */
static struct caller *take_group(uint64_t *count)
{
	pthread_mutex_lock(&queue_mutex);
	while (!queue_first) pthread_cond_wait(&queue_filled, &queue_mutex);
	struct caller *group = queue_first, **end = &queue_first;
	for (*count = 0; *end && *count < batch; ++*count) end = &(*end)->next;
	queue_first = *end;
	*end = NULL;
	if (!queue_first) queue_end = &queue_first;
	queue_count -= *count;
	pthread_mutex_unlock(&queue_mutex);
	return group;
}

static void run_callers(void)
{
	struct caller *all = calloc(callers, sizeof *all);
	pthread_t *threads = calloc(callers, sizeof *threads);
	if (!all || !threads) die("calloc", strerror(errno));
	for (uint64_t index = 0; index < callers; index++) {
		sem_init(&all[index].durable, 0, 0);
		all[index].count = events / callers + (index < events % callers);
		int code = pthread_create(&threads[index], NULL, run_caller, &all[index]);
		if (code) die("pthread_create", strerror(code));
	}
	while (last_seq < events) {
		uint64_t count;
		struct caller *group = take_group(&count);
		commit_events(count);
		while (group) {
			/* Read before the post: the caller may queue itself again at once. */
			struct caller *next = group->next;
			sem_post(&group->durable);
			group = next;
		}
	}
	for (uint64_t index = 0; index < callers; index++) pthread_join(threads[index], NULL);
	free(threads);
	free(all);
}

static uint64_t number(const char *text, uint64_t least, uint64_t most)
{
	char *end;
	errno = 0;
	unsigned long long value = strtoull(text, &end, 10);
	if (errno || *text == '-' || end == text || *end || value < least || value > most) die(text, "not a number in range");
	return value;
}

/* Starts this program anew with slowsync.so in front of the C library. */
static void restart_with_delay(char **arguments)
{
	char path[4096], text[32];
	ssize_t length = readlink("/proc/self/exe", path, sizeof path - 32);
	if (length < 0) die("/proc/self/exe", strerror(errno));
	path[length] = 0;
	char *name = strrchr(path, '/');
	strcpy(name ? name + 1 : path, "slowsync.so");
	if (access(path, R_OK)) die(path, strerror(errno));
	snprintf(text, sizeof text, "%llu", (unsigned long long)delay_us);
	setenv("LD_PRELOAD", path, 1);
	setenv("SLOWSYNC_US", text, 1);
	execv("/proc/self/exe", arguments);
	die("execv", strerror(errno));
}

static void read_options(int count, char **arguments)
{
	static const struct option options[] = {{"sync-delay-us", required_argument, NULL, 'd'}, {0}};
	int option;
	while ((option = getopt_long(count, arguments, "o:m:n:s:b:t:", options, NULL)) != -1) {
		switch (option) {
		case 'o': directory = optarg; break;
		case 'm': mode = optarg; break;
		case 'n': events = number(optarg, 1, UINT64_MAX); break;
		case 's': record_bytes = number(optarg, 1, max_record_bytes); break;
		case 'b': batch = number(optarg, 1, 1000000); break;
		case 't': callers = number(optarg, 1, 10000); break;
		case 'd': delay_us = number(optarg, 0, 10000000); break;
		default: exit(64);
		}
	}
	if (!directory || optind != count) {
		fputs("usage: lmdb_log -o DIR [-m bulk|callers|sync] [-n EVENTS] [-s BYTES] [-b BATCH] [-t CALLERS]"
		      " [--sync-delay-us N]\n", stderr);
		exit(64);
	}
}

int main(int count, char **arguments)
{
	read_options(count, arguments);
	if (delay_us && !getenv("SLOWSYNC_US")) restart_with_delay(arguments);
	if (mkdir(directory, 0700) && errno != EEXIST) die(directory, strerror(errno));
	fill_pool();
	if (!strcmp(mode, "sync")) {
		printf("{\"mode\":\"sync\",\"syncsPerSecond\":%.0f}\n", syncs_per_second(1));
		return 0;
	}
	int grouped = !strcmp(mode, "callers");
	if (!grouped && strcmp(mode, "bulk")) die(mode, "no such mode");
	double syncs = syncs_per_second(0.2);
	open_environment();
	double start = now();
	if (grouped) run_callers();
	else run_bulk();
	double seconds = now() - start;
	mdb_env_close(environment);
	printf("{\"mode\":\"%s\",\"events\":%llu,\"bytes\":%llu,\"batch\":%llu,\"callers\":%llu,\"seconds\":%.6f,"
	       "\"eventsPerSecond\":%.0f,\"syncsPerSecond\":%.0f}\n",
	       mode, (unsigned long long)events, (unsigned long long)record_bytes, (unsigned long long)batch,
	       (unsigned long long)(grouped ? callers : 1), seconds, (double)events / seconds, syncs);
	return 0;
}
