/*
 * Kills a program at a file operation:
 *
 *   LD_PRELOAD=…/kills.so KILL="DIRECTORY NTH EFFECT" PROGRAM …
 *
 * An operation is a write, a sync, a change of length, or a file that is made, linked, renamed or removed, each below the
 * directory. They are counted from 1. Right before the n-th of them the process ends by SIGKILL; with EFFECT 1 right after it, with
 * 2 after half of a write. One that ends by itself had fewer.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char directory[4096];
static size_t length;
static long nth, count;
static int effect;

__attribute__((constructor)) static void start(void)
{
	const char *setting = getenv("KILL");
	if (!setting) return;
	if (sscanf(setting, "%4095s %ld %d", directory, &nth, &effect) != 3) {
		dprintf(2, "kills: KILL is not understood\n");
		abort();
	}
	length = strlen(directory);
}

static void end(void)
{
	kill(getpid(), SIGKILL);
	for (;;) pause();
}

static int is_below(const char *path)
{
	return length && !strncmp(path, directory, length) && (!path[length] || path[length] == '/');
}

static int concerns(int descriptor)
{
	if (!length) return 0;
	char link[64], path[4096];
	snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
	int saved = errno;
	ssize_t size = readlink(link, path, sizeof path - 1);
	errno = saved;
	if (size < 0) return 0;
	path[size] = 0;
	return is_below(path);
}

/* Whether this is the operation at which the process ends. */
static int is_last(int is_concerned)
{
	if (!is_concerned) return 0;
	pthread_mutex_lock(&lock);
	int result = ++count == nth;
	pthread_mutex_unlock(&lock);
	if (result && effect == 0) end();
	return result;
}

#define RUN(is_concerned, call)                 \
	do {                                    \
		int last = is_last(is_concerned); \
		long result = (call);           \
		if (last) end();                \
		return result;                  \
	} while (0)

EXPORTED ssize_t write(int descriptor, const void *bytes, size_t size)
{
	int last = is_last(concerns(descriptor));
	ssize_t result = syscall(SYS_write, descriptor, bytes, last && effect == 2 ? size / 2 : size);
	if (last) end();
	return result;
}

EXPORTED ssize_t pwrite(int descriptor, const void *bytes, size_t size, off_t offset)
{
	int last = is_last(concerns(descriptor));
	ssize_t result = syscall(SYS_pwrite64, descriptor, bytes, last && effect == 2 ? size / 2 : size, offset);
	if (last) end();
	return result;
}

EXPORTED ssize_t pwrite64(int descriptor, const void *bytes, size_t size, off64_t offset)
{
	return pwrite(descriptor, bytes, size, offset);
}

EXPORTED int fsync(int descriptor) { RUN(concerns(descriptor), syscall(SYS_fsync, descriptor)); }
EXPORTED int fdatasync(int descriptor) { RUN(concerns(descriptor), syscall(SYS_fdatasync, descriptor)); }
EXPORTED int ftruncate(int descriptor, off_t size)
{
	RUN(concerns(descriptor), syscall(SYS_ftruncate, descriptor, size));
}
EXPORTED int ftruncate64(int descriptor, off64_t size)
{
	RUN(concerns(descriptor), syscall(SYS_ftruncate, descriptor, size));
}
EXPORTED ssize_t copy_file_range(int from, off64_t *start, int to, off64_t *place, size_t size, unsigned int flags)
{
	int last = is_last(concerns(to));
	struct stat status;
	/* Programs ask for more than there is. */
	if (last && effect == 2 && !fstat(from, &status) && (size_t)status.st_size < size) size = (size_t)status.st_size;
	if (last && effect == 2) size /= 2;
	ssize_t result = syscall(SYS_copy_file_range, from, start, to, place, size, flags);
	if (last) end();
	return result;
}

EXPORTED int rename(const char *path, const char *to)
{
	RUN(is_below(to), syscall(SYS_renameat2, AT_FDCWD, path, AT_FDCWD, to, 0));
}
EXPORTED int renameat(int from, const char *path, int into, const char *to)
{
	RUN(is_below(to), syscall(SYS_renameat2, from, path, into, to, 0));
}
EXPORTED int renameat2(int from, const char *path, int into, const char *to, unsigned int flags)
{
	RUN(is_below(to), syscall(SYS_renameat2, from, path, into, to, flags));
}
EXPORTED int link(const char *path, const char *to)
{
	RUN(is_below(to), syscall(SYS_linkat, AT_FDCWD, path, AT_FDCWD, to, 0));
}
EXPORTED int unlink(const char *path) { RUN(is_below(path), syscall(SYS_unlinkat, AT_FDCWD, path, 0)); }
EXPORTED int mkdir(const char *path, mode_t mode) { RUN(is_below(path), syscall(SYS_mkdirat, AT_FDCWD, path, mode)); }

EXPORTED int unlinkat(int place, const char *path, int flags)
{
	RUN(is_below(path), syscall(SYS_unlinkat, place, path, flags));
}

static int opened(int place, const char *path, int flags, mode_t mode)
{
	RUN((flags & O_CREAT) && is_below(path), syscall(SYS_openat, place, path, flags, mode));
}

/* The body of each way to open a file; only those that create one have a mode. */
#define OPENED(place) \
	va_list arguments; \
	va_start(arguments, flags); \
	mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0; \
	va_end(arguments); \
	return opened(place, path, flags, mode)

EXPORTED int open(const char *path, int flags, ...) { OPENED(AT_FDCWD); }
EXPORTED int open64(const char *path, int flags, ...) { OPENED(AT_FDCWD); }
EXPORTED int openat(int place, const char *path, int flags, ...) { OPENED(place); }
EXPORTED int openat64(int place, const char *path, int flags, ...) { OPENED(place); }
