/*
 * Records what a program writes to a store and when it syncs that, for the simulation of power cuts:
 *
 *   POWERCUT=DIRECTORY LD_PRELOAD=…/recorder.so PROGRAM …
 *
 * The store is DIRECTORY/store. What the program writes to DIRECTORY/acknowledged is what it tells the world: it is
 * recorded in the same order. The record is DIRECTORY/trace: for each event 24 bytes
 *
 *   kind u8 | file u8 | 0 u16 | count u32 | offset u64 | number u64      (in the machine's byte order)
 *
 * and, for writes and acknowledgements, `count` bytes. `number` counts the events from 0; the end of a sync has that of
 * its beginning, the end of a synchronous write that of the write.
 *
 * A store that is compacted fills DIRECTORY/store/rewrite/data.mdb, which then takes the name of the store's data file,
 * after the lock file beside it: these two renamings, and the syncs of both directories, are events as well.
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

enum kind { created = 1, truncated, written, write_synced, sync_begun, sync_ended, acknowledged, renamed };
/* Of the lock file of a rewrite only the name is recorded. */
enum file { none, data_file, lease_file, acknowledgements, rewrite_file, store_folder, rewrite_folder, rewrite_lock };

struct event {
	uint8_t kind, file;
	uint16_t zero;
	uint32_t count;
	uint64_t offset, number;
};

static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;
static uint64_t events;
static int trace = -1;
static char paths[rewrite_lock + 1][4096], lock_path[4096];

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
	snprintf(paths[data_file], sizeof paths[0], "%s/store/data.mdb", directory);
	snprintf(paths[lease_file], sizeof paths[0], "%s/store/writer.lock", directory);
	snprintf(paths[acknowledgements], sizeof paths[0], "%s/acknowledged", directory);
	snprintf(paths[rewrite_file], sizeof paths[0], "%s/store/rewrite/data.mdb", directory);
	snprintf(paths[rewrite_lock], sizeof paths[0], "%s/store/rewrite/lock.mdb", directory);
	snprintf(paths[rewrite_folder], sizeof paths[0], "%s/store/rewrite", directory);
	snprintf(paths[store_folder], sizeof paths[0], "%s/store", directory);
	snprintf(lock_path, sizeof lock_path, "%s/store/lock.mdb", directory);
	snprintf(path, sizeof path, "%s/trace", directory);
	trace = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (trace < 0) stop("the trace cannot be created");
}

static enum file named(const char *path)
{
	for (int file = data_file; trace >= 0 && file <= rewrite_lock; file++)
		if (!strcmp(path, paths[file])) return file;
	return none;
}

static int is_data(enum file file) { return file == data_file || file == lease_file || file == rewrite_file; }

static enum file opened(int descriptor)
{
	if (trace < 0) return none;
	char link[64], path[4096];
	snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
	int saved = errno;
	ssize_t length = readlink(link, path, sizeof path - 1);
	errno = saved;
	if (length <= 0) return none;
	path[length] = 0;
	enum file file = named(path);
	return file == rewrite_lock ? none : file;
}

/* The caller holds `order`, unless nothing could come in between. */
static uint64_t record(enum kind kind, enum file file, uint64_t offset, const void *bytes, size_t count, uint64_t of)
{
	struct event event = {kind, file, 0, (uint32_t)count, offset, of == UINT64_MAX ? events : of};
	struct iovec parts[] = {{&event, sizeof event}, {(void *)bytes, bytes ? count : 0}};
	ssize_t size = (ssize_t)(sizeof event + parts[1].iov_len);
	if (syscall(SYS_writev, trace, parts, 2) != size) stop("the trace cannot be written");
	return events++;
}

static uint64_t note(enum kind kind, enum file file, uint64_t offset, const void *bytes, size_t count, uint64_t of)
{
	pthread_mutex_lock(&order);
	uint64_t number = record(kind, file, offset, bytes, count, of);
	pthread_mutex_unlock(&order);
	return number;
}

/* Writes by one call at `offset`, or at the descriptor's own place for -1. */
static ssize_t recorded_write(int descriptor, enum file file, const void *bytes, size_t count, off_t offset)
{
	if (file == acknowledgements) {
		note(acknowledged, file, 0, bytes, count, UINT64_MAX);
		return syscall(SYS_write, descriptor, bytes, count);
	}
	int isSynchronous = (fcntl(descriptor, F_GETFL) & O_DSYNC) != 0;
	pthread_mutex_lock(&order);
	off_t place = offset >= 0 ? offset : syscall(SYS_lseek, descriptor, 0, SEEK_CUR);
	uint64_t number = record(written, file, (uint64_t)place, bytes, count, UINT64_MAX);
	/* A sync that begins now covers a plain write only if that is done by then. */
	if (isSynchronous) pthread_mutex_unlock(&order);
	ssize_t result = offset >= 0 ? syscall(SYS_pwrite64, descriptor, bytes, count, offset)
	                             : syscall(SYS_write, descriptor, bytes, count);
	if (isSynchronous) pthread_mutex_lock(&order);
	if (result != (ssize_t)count) stop("a write failed");
	if (isSynchronous) record(write_synced, file, 0, NULL, 0, number);
	pthread_mutex_unlock(&order);
	return result;
}

static int recorded_sync(int descriptor, long call)
{
	enum file file = opened(descriptor);
	if (file == none) return (int)syscall(call, descriptor);
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
	enum file file = isCreating ? named(path) : none;
	if (is_data(file) || file == rewrite_lock)
		note(flags & O_TRUNC ? truncated : created, file, 0, NULL, 0, UINT64_MAX);
	return (int)syscall(SYS_openat, folder, path, flags, mode);
}

static ssize_t pass_on(int descriptor, const void *bytes, size_t count, off_t offset)
{
	enum file file = opened(descriptor);
	if (file != none) return recorded_write(descriptor, file, bytes, count, offset);
	return offset >= 0 ? syscall(SYS_pwrite64, descriptor, bytes, count, offset)
	                   : syscall(SYS_write, descriptor, bytes, count);
}

static ssize_t gather(int descriptor, const struct iovec *parts, int count, off_t offset)
{
	if (opened(descriptor) == none)
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
	enum file file = opened(descriptor);
	if (file != none) note(truncated, file, (uint64_t)size, NULL, 0, UINT64_MAX);
	return (int)syscall(SYS_ftruncate, descriptor, size);
}

static void refuse(int descriptor, const char *why)
{
	enum file file = opened(descriptor);
	if (is_data(file)) stop(why);
}

static void refuse_name(const char *path)
{
	enum file file = named(path);
	if (file == none || file == acknowledgements || access(path, F_OK)) return;
	stop("a file of the store was replaced or removed");
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
	enum file file = named(from);
	if ((file == rewrite_file && named(to) == data_file) || (file == rewrite_lock && !strcmp(to, lock_path))) {
		pthread_mutex_lock(&order);
		record(renamed, file, 0, NULL, 0, UINT64_MAX);
		int result = (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
		if (result) stop("a renaming failed");
		pthread_mutex_unlock(&order);
		return result;
	}
	refuse_name(from);
	refuse_name(to);
	return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}
EXPORTED int unlink(const char *path)
{
	refuse_name(path);
	return (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}
