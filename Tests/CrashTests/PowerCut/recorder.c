/*
 * Records what a program writes to a store and when it syncs that, for the simulation of power cuts:
 *
 *   POWERCUT=DIRECTORY LD_PRELOAD=…/recorder.so PROGRAM …
 *
 * The store is DIRECTORY/store, or what POWERCUT_STORE names in DIRECTORY. What the program writes to DIRECTORY/acknowledged is what it tells the world: it is
 * recorded in the same order. The record is DIRECTORY/trace: for each event 24 bytes
 *
 *   kind u8 | file u8 | environment u16 | count u32 | offset u64 | number u64      (in the machine's byte order)
 *
 * and, for writes and acknowledgements, `count` bytes. `number` counts the events from 0. The end of a sync repeats the
 * number of its beginning; the end of a synchronous write repeats the number of the write.
 *
 * The store's data file is DIRECTORY/store/data-N/data.mdb, with its journal beside it, where DIRECTORY/store/CURRENT names data-N. A compaction fills
 * another environment and renames CURRENT.new. N is the environment of an event; data-1.new, which becomes data-1 when a
 * new store is whole, counts as 0. Making, renaming and removing these names are events as well, and syncs of directories.
 *
 * A process that only reads the store, and tells the world what it saw, joins the record with POWERCUT_JOINS=1 in its
 * environment. DIRECTORY/order keeps the events of both in one order.
 *
 * An event is recorded at the side from which a simulation can only lose more than a disk would: a write before
 * anything can rest on it, the end of a sync before the program hears of it, an acknowledgement before it leaves.
 * Whatever changes a file of the store in another way than those below ends the program, because a simulation without
 * it would be wrong.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { created = 1, truncated, written, write_synced, sync_begun, sync_ended, acknowledged, renamed, removed };
enum name { none, data_file, folder, acknowledgements, store_folder, next_file, current_file, journal_file };

struct file {
	enum name name;
	uint16_t environment;
};

struct event {
	uint8_t kind, file;
	uint16_t environment;
	uint32_t count;
	uint64_t offset, number;
};

/* Shared by the processes of one record. */
static struct order {
	pthread_mutex_t lock;
	uint64_t events;
} *order;
static int trace = -1;
static char store[4096], acknowledged_path[4096];

static void stop(const char *why)
{
	dprintf(2, "recorder: %s\n", why);
	abort();
}

__attribute__((constructor)) static void start(void)
{
	const char *directory = getenv("POWERCUT");
	if (!directory) return;
	char path[4096];
	const char *name = getenv("POWERCUT_STORE");
	snprintf(store, sizeof store, "%s/%s", directory, name ? name : "store");
	snprintf(acknowledged_path, sizeof acknowledged_path, "%s/acknowledged", directory);
	int joins = getenv("POWERCUT_JOINS") != NULL;
	int beginning = joins ? 0 : O_CREAT | O_TRUNC;
	snprintf(path, sizeof path, "%s/order", directory);
	int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | beginning | O_CLOEXEC, 0600);
	if (file < 0 || (!joins && syscall(SYS_ftruncate, file, sizeof *order))) stop("the order cannot be shared");
	order = (void *)syscall(SYS_mmap, NULL, sizeof *order, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (order == MAP_FAILED) stop("the order cannot be shared");
	if (!joins) {
		pthread_mutexattr_t shared;
		pthread_mutexattr_init(&shared);
		pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
		pthread_mutex_init(&order->lock, &shared);
	}
	snprintf(path, sizeof path, "%s/trace", directory);
	trace = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_APPEND | beginning | O_CLOEXEC, 0600);
	if (trace < 0) stop("the trace cannot be created");
}

static struct file named(const char *path)
{
	struct file file = {none, 0};
	size_t length = strlen(store);
	if (trace < 0) return file;
	if (!strcmp(path, acknowledged_path)) file.name = acknowledgements;
	if (strncmp(path, store, length)) return file;
	const char *rest = path + length;
	if (!*rest) file.name = store_folder;
	if (!strcmp(rest, "/CURRENT")) file.name = current_file;
	if (!strcmp(rest, "/CURRENT.new")) file.name = next_file;
	if (strncmp(rest, "/data-", 6)) return file;
	char *end;
	file.environment = (uint16_t)strtoul(rest + 6, &end, 10);
	if (!strncmp(end, ".new", 4)) {
		file.environment = 0;
		end += 4;
	}
	if (!*end) file.name = folder;
	if (!strcmp(end, "/data.mdb")) file.name = data_file;
	if (!strcmp(end, "/journal")) file.name = journal_file;
	return file;
}

static int is_data(struct file file)
{
	return file.name == data_file || file.name == journal_file || file.name == next_file || file.name == current_file;
}

static struct file opened(int descriptor)
{
	struct file unknown = {none, 0};
	if (trace < 0) return unknown;
	char link[64], path[4096];
	snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
	int saved = errno;
	ssize_t length = readlink(link, path, sizeof path - 1);
	errno = saved;
	if (length <= 0) return unknown;
	path[length] = 0;
	return named(path);
}

/* The caller holds `order`, unless nothing could come in between. */
static uint64_t record(enum kind kind, struct file file, uint64_t offset, const void *bytes, size_t count, uint64_t of)
{
	struct event event = {kind, (uint8_t)file.name, file.environment, (uint32_t)count, offset, of == UINT64_MAX ? order->events : of};
	struct iovec parts[] = {{&event, sizeof event}, {(void *)bytes, bytes ? count : 0}};
	ssize_t size = (ssize_t)(sizeof event + parts[1].iov_len);
	if (syscall(SYS_writev, trace, parts, 2) != size) stop("the trace cannot be written");
	return order->events++;
}

static uint64_t note(enum kind kind, struct file file, uint64_t offset, const void *bytes, size_t count, uint64_t of)
{
	pthread_mutex_lock(&order->lock);
	uint64_t number = record(kind, file, offset, bytes, count, of);
	pthread_mutex_unlock(&order->lock);
	return number;
}

/* Writes by one call at `offset`, or at the descriptor's own place for -1. */
static ssize_t recorded_write(int descriptor, struct file file, const void *bytes, size_t count, off_t offset)
{
	if (file.name == acknowledgements) {
		note(acknowledged, file, 0, bytes, count, UINT64_MAX);
		return syscall(SYS_write, descriptor, bytes, count);
	}
	int isSynchronous = (fcntl(descriptor, F_GETFL) & O_DSYNC) != 0;
	pthread_mutex_lock(&order->lock);
	off_t place = offset >= 0 ? offset : syscall(SYS_lseek, descriptor, 0, SEEK_CUR);
	uint64_t number = record(written, file, (uint64_t)place, bytes, count, UINT64_MAX);
	/* A sync that begins now covers a plain write only if that is done by then. */
	if (isSynchronous) pthread_mutex_unlock(&order->lock);
	ssize_t result = offset >= 0 ? syscall(SYS_pwrite64, descriptor, bytes, count, offset)
	                             : syscall(SYS_write, descriptor, bytes, count);
	if (isSynchronous) pthread_mutex_lock(&order->lock);
	if (result != (ssize_t)count) stop("a write failed");
	if (isSynchronous) record(write_synced, file, 0, NULL, 0, number);
	pthread_mutex_unlock(&order->lock);
	return result;
}

static int recorded_sync(int descriptor, long call)
{
	struct file file = opened(descriptor);
	if (file.name == none || file.name == current_file) return (int)syscall(call, descriptor);
	uint64_t number = note(sync_begun, file, 0, NULL, 0, UINT64_MAX);
	int result = (int)syscall(call, descriptor);
	if (result) stop("a sync failed");
	note(sync_ended, file, 0, NULL, 0, number);
	return result;
}

static int recorded_open(int folder, const char *path, int flags, va_list *arguments)
{
	int isCreating = (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE;
	mode_t mode = isCreating ? va_arg(*arguments, mode_t) : 0;
	struct file file = named(path);
	/* A journal that is there is opened, not made. */
	if (isCreating && is_data(file) && !(file.name == journal_file && !access(path, F_OK)))
		note(flags & O_TRUNC ? truncated : created, file, 0, NULL, 0, UINT64_MAX);
	return (int)syscall(SYS_openat, folder, path, flags, mode);
}

static ssize_t pass_on(int descriptor, const void *bytes, size_t count, off_t offset)
{
	struct file file = opened(descriptor);
	if (file.name != none) return recorded_write(descriptor, file, bytes, count, offset);
	return offset >= 0 ? syscall(SYS_pwrite64, descriptor, bytes, count, offset)
	                   : syscall(SYS_write, descriptor, bytes, count);
}

static ssize_t gather(int descriptor, const struct iovec *parts, int count, off_t offset)
{
	if (opened(descriptor).name == none)
		return offset >= 0 ? syscall(SYS_pwritev, descriptor, parts, count, (long)offset, 0L)
		                   : syscall(SYS_writev, descriptor, parts, count);
	size_t size = 0;
	for (int index = 0; index < count; index++) size += parts[index].iov_len;
	char *bytes = malloc(size), *end = bytes;
	if (!bytes) stop("out of memory");
	for (int index = 0; index < count; index++) {
		memcpy(end, parts[index].iov_base, parts[index].iov_len);
		end += parts[index].iov_len;
	}
	ssize_t result = pass_on(descriptor, bytes, size, offset);
	free(bytes);
	return result;
}

static int resize(int descriptor, off_t size)
{
	struct file file = opened(descriptor);
	if (file.name != none) note(truncated, file, (uint64_t)size, NULL, 0, UINT64_MAX);
	return (int)syscall(SYS_ftruncate, descriptor, size);
}

static void refuse(int descriptor, const char *why)
{
	struct file file = opened(descriptor);
	if (is_data(file)) stop(why);
}

static void refuse_name(const char *path)
{
	enum name name = named(path).name;
	if (name == none || name == acknowledgements || access(path, F_OK)) return;
	stop("a file of the store was replaced or removed");
}

/* A change of a name, recorded before anything can rest on it. */
static int recorded_name(enum kind kind, struct file file, const char *path, const char *to)
{
	pthread_mutex_lock(&order->lock);
	long result = to ? syscall(SYS_renameat2, AT_FDCWD, path, AT_FDCWD, to, 0)
	                 : syscall(SYS_unlinkat, AT_FDCWD, path, file.name == folder ? AT_REMOVEDIR : 0);
	int saved = errno;
	if (!result) record(kind, file, 0, NULL, 0, UINT64_MAX);
	pthread_mutex_unlock(&order->lock);
	errno = saved;
	return (int)result;
}

#define EXPORTED __attribute__((visibility("default")))

EXPORTED ssize_t write(int descriptor, const void *bytes, size_t count)
{
	return pass_on(descriptor, bytes, count, -1);
}
EXPORTED ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t offset)
{
	return pass_on(descriptor, bytes, count, offset);
}
EXPORTED ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off64_t offset)
{
	return pass_on(descriptor, bytes, count, offset);
}
EXPORTED ssize_t writev(int descriptor, const struct iovec *parts, int count)
{
	return gather(descriptor, parts, count, -1);
}
EXPORTED ssize_t pwritev(int descriptor, const struct iovec *parts, int count, off_t offset)
{
	return gather(descriptor, parts, count, offset);
}
EXPORTED ssize_t pwritev64(int descriptor, const struct iovec *parts, int count, off64_t offset)
{
	return gather(descriptor, parts, count, offset);
}
EXPORTED int ftruncate(int descriptor, off_t size) { return resize(descriptor, size); }
EXPORTED int ftruncate64(int descriptor, off64_t size) { return resize(descriptor, size); }
EXPORTED int fdatasync(int descriptor) { return recorded_sync(descriptor, SYS_fdatasync); }
EXPORTED int fsync(int descriptor) { return recorded_sync(descriptor, SYS_fsync); }

#define OPENING(name, folder, parameters) \
	EXPORTED int name parameters \
	{ \
		va_list arguments; \
		va_start(arguments, flags); \
		int descriptor = recorded_open(folder, path, flags, &arguments); \
		va_end(arguments); \
		return descriptor; \
	}
OPENING(open, AT_FDCWD, (const char *path, int flags, ...))
OPENING(open64, AT_FDCWD, (const char *path, int flags, ...))
OPENING(openat, folder, (int folder, const char *path, int flags, ...))
OPENING(openat64, folder, (int folder, const char *path, int flags, ...))

/* What follows is not used on a store. */

EXPORTED void *mmap(void *address, size_t length, int protection, int flags, int descriptor, off_t offset)
{
	if (descriptor >= 0 && (protection & PROT_WRITE) && !(flags & MAP_PRIVATE))
		refuse(descriptor, "a file of the store is written through a map");
	return (void *)syscall(SYS_mmap, address, length, protection, flags, descriptor, offset);
}
EXPORTED int fallocate(int descriptor, int mode, off_t offset, off_t length)
{
	refuse(descriptor, "fallocate on a file of the store");
	return (int)syscall(SYS_fallocate, descriptor, mode, offset, length);
}
EXPORTED ssize_t copy_file_range(
	int from, off64_t *from_offset, int to, off64_t *to_offset, size_t length, unsigned flags)
{
	refuse(to, "copy_file_range to a file of the store");
	return syscall(SYS_copy_file_range, from, from_offset, to, to_offset, length, flags);
}
EXPORTED int rename(const char *from, const char *to)
{
	struct file file = named(from), target = named(to);
	int is_switch = file.name == next_file && target.name == current_file;
	int is_first = file.name == folder && !file.environment && target.name == folder && target.environment == 1;
	if (is_switch || is_first) return recorded_name(renamed, file, from, to);
	refuse_name(from);
	refuse_name(to);
	return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}
EXPORTED int unlink(const char *path)
{
	struct file file = named(path);
	if (file.name == data_file || file.name == journal_file || file.name == next_file)
		return recorded_name(removed, file, path, NULL);
	refuse_name(path);
	return (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}
EXPORTED int rmdir(const char *path)
{
	struct file file = named(path);
	if (file.name == folder) return recorded_name(removed, file, path, NULL);
	refuse_name(path);
	return (int)syscall(SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR);
}
EXPORTED int mkdir(const char *path, mode_t mode)
{
	struct file file = named(path);
	int result = (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
	int saved = errno;
	if (!result && file.name == folder) note(created, file, 0, NULL, 0, UINT64_MAX);
	errno = saved;
	return result;
}
