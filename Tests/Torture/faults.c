/*
 * Lets writes and syncs of a program fail, one after the other:
 *
 *   LD_PRELOAD=…/faults.so PROGRAM …
 *
 * An operation is a write, a sync or a change of length on any file below one directory, or a sync of a directory below
 * it. They are counted from 1. The program arms the n-th of them by `traylog_faults_arm`, or its parent by
 *
 *   FAULTS="DIRECTORY NTH ERROR EFFECT LASTS" [FAULTS_MARK=FILE]      FILE is made when the fault occurs
 *
 * EFFECT is the effect on the operation that fails: 0 nothing is done, 1 all of it is done, 2 half of a write is
 * done and its short count is the answer (a sync is not done, and fails). With LASTS every later operation fails, too,
 * undone, until `traylog_faults_lift`. While an ENOSPC is in force the file system says that it has no space left.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))

enum kind { written = 1, written_through, synced, resized, cleared };
enum effect { none, whole, half };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char directory[4096];
static size_t length;
static const char *mark;
static long nth, count, fired;
static int error_number, first_effect, lasts, in_force, fired_kind, fired_on_data;

EXPORTED void traylog_faults_arm(const char *path, long number, int error, int effect, int is_lasting)
{
	pthread_mutex_lock(&lock);
	length = (size_t)snprintf(directory, sizeof directory, "%s", path);
	nth = number;
	error_number = error;
	first_effect = effect;
	lasts = is_lasting;
	count = fired = 0;
	in_force = fired_kind = fired_on_data = 0;
	pthread_mutex_unlock(&lock);
}

EXPORTED void traylog_faults_lift(void)
{
	pthread_mutex_lock(&lock);
	nth = 0;
	in_force = 0;
	pthread_mutex_unlock(&lock);
}

static long read_locked(const long *value)
{
	pthread_mutex_lock(&lock);
	long result = *value;
	pthread_mutex_unlock(&lock);
	return result;
}

EXPORTED long traylog_faults_count(void) { return read_locked(&count); }
EXPORTED long traylog_faults_fired(void) { return read_locked(&fired); }

/* The kind of the operation that failed first; negative when its file was not the data file. */
EXPORTED int traylog_faults_kind(void)
{
	pthread_mutex_lock(&lock);
	int result = fired_on_data ? fired_kind : -fired_kind;
	pthread_mutex_unlock(&lock);
	return result;
}

__attribute__((constructor)) static void start(void)
{
	const char *setting = getenv("FAULTS");
	if (!setting) return;
	char path[4096];
	long number;
	int error, effect, is_lasting;
	if (sscanf(setting, "%4095s %ld %d %d %d", path, &number, &error, &effect, &is_lasting) != 5) {
		dprintf(2, "faults: FAULTS is not understood\n");
		abort();
	}
	mark = getenv("FAULTS_MARK");
	traylog_faults_arm(path, number, error, effect, is_lasting);
}

/* Whether the descriptor's file is below the directory, or the directory itself; 2 for a data file. */
static int concerns(int descriptor)
{
	if (!length) return 0;
	char link[64], path[4096];
	snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
	int saved = errno;
	ssize_t size = readlink(link, path, sizeof path - 1);
	errno = saved;
	if (size < (ssize_t)length) return 0;
	path[size] = 0;
	if (strncmp(path, directory, length) || (path[length] && path[length] != '/')) return 0;
	return size > 9 && !strcmp(path + size - 9, "/data.mdb") ? 2 : 1;
}

/* Counts an operation. Returns -1 when it may go on, else the effect of its failure. */
static int next(int descriptor, enum kind kind)
{
	int file = concerns(descriptor);
	if (!file) return -1;
	pthread_mutex_lock(&lock);
	int effect = -1;
	count++;
	if (in_force && lasts) {
		effect = none;
		fired++;
	} else if (nth && count == nth) {
		effect = first_effect;
		in_force = 1;
		fired = 1;
		fired_kind = kind;
		fired_on_data = file == 2;
		if (mark) {
			long made = syscall(SYS_openat, AT_FDCWD, mark, O_WRONLY | O_CREAT, 0600);
			if (made >= 0) syscall(SYS_close, made);
		}
	} else {
		in_force = in_force && lasts;
	}
	pthread_mutex_unlock(&lock);
	return effect;
}

static ssize_t plain_write(int descriptor, const void *bytes, size_t size, off_t offset)
{
	return offset >= 0 ? syscall(SYS_pwrite64, descriptor, bytes, size, offset)
	                   : syscall(SYS_write, descriptor, bytes, size);
}

/* Room is cleared ahead of what will be written there, and does without when it cannot; a page is never all zeros. */
static int is_clear(const char *bytes, size_t size)
{
	for (size_t index = 0; index < size; index++)
		if (bytes[index]) return 0;
	return 1;
}

static ssize_t one(int descriptor, const void *bytes, size_t size, off_t offset)
{
	int is_through = (fcntl(descriptor, F_GETFL) & (O_DSYNC | O_SYNC)) != 0;
	int effect = next(descriptor, is_through ? written_through : is_clear(bytes, size) ? cleared : written);
	if (effect < 0) return plain_write(descriptor, bytes, size, offset);
	if (effect == half) return plain_write(descriptor, bytes, size / 2, offset);
	if (effect == whole) plain_write(descriptor, bytes, size, offset);
	errno = error_number;
	return -1;
}

static ssize_t gather(int descriptor, const struct iovec *parts, int number, off_t offset)
{
	if (!concerns(descriptor))
		return offset >= 0 ? syscall(SYS_pwritev, descriptor, parts, number, (long)offset, 0L)
		                   : syscall(SYS_writev, descriptor, parts, number);
	size_t size = 0;
	for (int index = 0; index < number; index++) size += parts[index].iov_len;
	char *bytes = malloc(size ? size : 1), *end = bytes;
	if (!bytes) abort();
	for (int index = 0; index < number; index++) {
		memcpy(end, parts[index].iov_base, parts[index].iov_len);
		end += parts[index].iov_len;
	}
	ssize_t result = one(descriptor, bytes, size, offset);
	int saved = errno;
	free(bytes);
	errno = saved;
	return result;
}

static int other(int descriptor, enum kind kind, long call, long argument)
{
	int effect = next(descriptor, kind);
	if (effect == -1 || effect == whole) {
		int result = (int)syscall(call, descriptor, argument);
		if (effect == -1) return result;
	}
	errno = error_number;
	return -1;
}

EXPORTED ssize_t write(int descriptor, const void *bytes, size_t size) { return one(descriptor, bytes, size, -1); }
EXPORTED ssize_t pwrite(int descriptor, const void *bytes, size_t size, off_t offset)
{
	return one(descriptor, bytes, size, offset);
}
EXPORTED ssize_t pwrite64(int descriptor, const void *bytes, size_t size, off64_t offset)
{
	return one(descriptor, bytes, size, offset);
}
EXPORTED ssize_t writev(int descriptor, const struct iovec *parts, int number)
{
	return gather(descriptor, parts, number, -1);
}
EXPORTED ssize_t pwritev(int descriptor, const struct iovec *parts, int number, off_t offset)
{
	return gather(descriptor, parts, number, offset);
}
EXPORTED ssize_t pwritev64(int descriptor, const struct iovec *parts, int number, off64_t offset)
{
	return gather(descriptor, parts, number, offset);
}
EXPORTED int ftruncate(int descriptor, off_t size) { return other(descriptor, resized, SYS_ftruncate, size); }
EXPORTED int ftruncate64(int descriptor, off64_t size) { return other(descriptor, resized, SYS_ftruncate, size); }
EXPORTED int fdatasync(int descriptor) { return other(descriptor, synced, SYS_fdatasync, 0); }
EXPORTED int fsync(int descriptor) { return other(descriptor, synced, SYS_fsync, 0); }

static int is_full(int descriptor)
{
	pthread_mutex_lock(&lock);
	int result = in_force && error_number == ENOSPC;
	pthread_mutex_unlock(&lock);
	return result && concerns(descriptor);
}

EXPORTED int fstatvfs(int descriptor, struct statvfs *answer)
{
	struct statvfs64 wide;
	int result = fstatvfs64(descriptor, &wide);
	if (!result) {
		memset(answer, 0, sizeof *answer);
		answer->f_bsize = wide.f_bsize;
		answer->f_frsize = wide.f_frsize;
		answer->f_blocks = wide.f_blocks;
		answer->f_bfree = is_full(descriptor) ? 0 : wide.f_bfree;
		answer->f_bavail = is_full(descriptor) ? 0 : wide.f_bavail;
	}
	return result;
}
