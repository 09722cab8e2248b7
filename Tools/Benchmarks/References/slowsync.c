/*
 * Makes every sync of a program take longer, as on a slower disk:
 *
 *   LD_PRELOAD=…/slowsync.so SLOWSYNC_US=1000 PROGRAM …
 *
 * Delays fdatasync, fsync, msync(MS_SYNC), and writes through descriptors opened with O_DSYNC or O_SYNC, because
 * LMDB writes its meta page through one: a commit there has two syncs.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

enum { descriptors = 65536 };

static long delay_us;
static _Atomic unsigned char synchronous[descriptors];

#define REAL(name) \
	static __typeof__(&name) real; \
	if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

__attribute__((constructor)) static void start(void)
{
	const char *text = getenv("SLOWSYNC_US");
	if (text) delay_us = strtol(text, NULL, 10);
	/* Otherwise the kernel may wake a sleeper 50 µs late. Threads inherit it. */
	prctl(PR_SET_TIMERSLACK, 1UL);
}

static void delay(void)
{
	if (delay_us <= 0) return;
	int saved = errno;
	struct timespec rest = {delay_us / 1000000, delay_us % 1000000 * 1000};
	while (nanosleep(&rest, &rest) && errno == EINTR) { }
	errno = saved;
}

static int note(int file, int flags)
{
	/* O_SYNC contains O_DSYNC's bit. */
	if (file >= 0 && file < descriptors) synchronous[file] = (flags & O_DSYNC) != 0;
	return file;
}

static ssize_t delay_write(int file, ssize_t result)
{
	if (file >= 0 && file < descriptors && synchronous[file]) delay();
	return result;
}

int fdatasync(int file)
{
	REAL(fdatasync);
	delay();
	return real(file);
}

int fsync(int file)
{
	REAL(fsync);
	delay();
	return real(file);
}

int msync(void *address, size_t length, int flags)
{
	REAL(msync);
	if (flags & MS_SYNC) delay();
	return real(address, length, flags);
}

static mode_t mode_of(int flags, va_list *arguments)
{
	return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(*arguments, mode_t) : 0;
}

int open(const char *path, int flags, ...)
{
	REAL(open);
	va_list arguments;
	va_start(arguments, flags);
	mode_t mode = mode_of(flags, &arguments);
	va_end(arguments);
	return note(real(path, flags, mode), flags);
}

int open64(const char *path, int flags, ...)
{
	REAL(open64);
	va_list arguments;
	va_start(arguments, flags);
	mode_t mode = mode_of(flags, &arguments);
	va_end(arguments);
	return note(real(path, flags, mode), flags);
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset)
{
	REAL(pwrite);
	return delay_write(file, real(file, bytes, count, offset));
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t offset)
{
	REAL(pwrite64);
	return delay_write(file, real(file, bytes, count, offset));
}

ssize_t write(int file, const void *bytes, size_t count)
{
	REAL(write);
	return delay_write(file, real(file, bytes, count));
}
