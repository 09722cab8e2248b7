/*
 * Writes down what a program does to the files of a directory, and when it answers somebody:
 *
 *   LD_PRELOAD=…/trace.so TRACE="DIRECTORY FILE" PROGRAM …
 *
 * FILE gets a line for each operation: `make PATH` (of a file or a directory), `empty PATH`, `write PATH OFFSET HEX`, `sync PATH`,
 * `rename PATH PATH`, `remove PATH`, and `answer COUNT` for bytes that are sent to a peer. A write and an answer stand there before they happen, all else
 * once it has: a power cut between two lines takes no more than a simulation of them.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))

static char directory[4096];
static size_t length;
static int trace = -1;

__attribute__((constructor)) static void start(void)
{
	const char *setting = getenv("TRACE");
	char file[4096];
	if (!setting) return;
	if (sscanf(setting, "%4095s %4095s", directory, file) != 2) abort();
	length = strlen(directory);
	trace = (int)syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (trace < 0) abort();
}

static void note(const char *format, ...)
{
	char line[1 << 16];
	int saved = errno;
	va_list arguments;
	va_start(arguments, format);
	int size = vsnprintf(line, sizeof line, format, arguments);
	va_end(arguments);
	/* One write a line, so that lines of two threads do not mix. */
	if (size >= (int)sizeof line || syscall(SYS_write, trace, line, size) != size) abort();
	errno = saved;
}

static int is_below(const char *path)
{
	return trace >= 0 && !strncmp(path, directory, length) && (!path[length] || path[length] == '/');
}

/* The path of an open file below the directory; NULL for any other. */
static const char *named(int descriptor, char *path, size_t size)
{
	char link[64];
	int saved = errno;
	snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
	ssize_t count = trace < 0 ? -1 : readlink(link, path, size - 1);
	errno = saved;
	if (count < 0) return NULL;
	path[count] = 0;
	return is_below(path) ? path : NULL;
}

EXPORTED ssize_t write(int descriptor, const void *bytes, size_t count)
{
	char path[4096], digits[1 << 15];
	if (named(descriptor, path, sizeof path)) {
		if (2 * count >= sizeof digits) abort();
		digits[0] = 0;
		for (size_t index = 0; index < count; index++)
			snprintf(digits + 2 * index, 3, "%02x", ((const unsigned char *)bytes)[index]);
		note("write %s %ld %s\n", path, (long)syscall(SYS_lseek, descriptor, 0, SEEK_CUR), digits);
	}
	return syscall(SYS_write, descriptor, bytes, count);
}

EXPORTED ssize_t send(int descriptor, const void *bytes, size_t count, int flags)
{
	if (trace >= 0) note("answer %zu\n", count);
	return syscall(SYS_sendto, descriptor, bytes, count, flags, NULL, 0);
}

static int synced(int descriptor, long call)
{
	char path[4096];
	int result = (int)syscall(call, descriptor);
	if (!result && named(descriptor, path, sizeof path)) note("sync %s\n", path);
	return result;
}

EXPORTED int fsync(int descriptor) { return synced(descriptor, SYS_fsync); }
EXPORTED int fdatasync(int descriptor) { return synced(descriptor, SYS_fdatasync); }

EXPORTED int rename(const char *path, const char *to)
{
	int result = (int)syscall(SYS_renameat2, AT_FDCWD, path, AT_FDCWD, to, 0);
	if (!result && is_below(to)) note("rename %s %s\n", path, to);
	return result;
}

EXPORTED int unlink(const char *path)
{
	int result = (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
	if (!result && is_below(path)) note("remove %s\n", path);
	return result;
}

EXPORTED int mkdir(const char *path, mode_t mode)
{
	int result = (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
	if (!result && is_below(path)) note("make %s\n", path);
	return result;
}

static int opened(const char *path, int flags, mode_t mode)
{
	int result = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
	if (result >= 0 && (flags & (O_CREAT | O_TRUNC)) && is_below(path))
		note("%s %s\n", flags & O_TRUNC ? "empty" : "make", path);
	return result;
}

EXPORTED int open(const char *path, int flags, ...)
{
	va_list arguments;
	va_start(arguments, flags);
	mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
	va_end(arguments);
	return opened(path, flags, mode);
}

EXPORTED int open64(const char *path, int flags, ...)
{
	va_list arguments;
	va_start(arguments, flags);
	mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
	va_end(arguments);
	return opened(path, flags, mode);
}
