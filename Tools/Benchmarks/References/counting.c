/*
 * Counts what a program asks of the C library and the disk:
 *
 *   LD_PRELOAD=…/counting.so PROGRAM …
 *
 * The program finds `traylog_counts` by dlsym: allocations, bytes allocated, bytes written to files, and syncs. A sync
 * is fdatasync, fsync, msync(MS_SYNC), or a write through a descriptor opened with O_DSYNC.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum { descriptors = 65536, counter_count = 4 };
enum { allocations, allocated_bytes, written_bytes, syncs };

static _Atomic uint64_t counters[counter_count];
static _Atomic unsigned char synchronous[descriptors];

void traylog_counts(uint64_t *into)
{
	for (int index = 0; index < counter_count; index++) into[index] = atomic_load(&counters[index]);
}

static void add(int counter, uint64_t amount)
{
	atomic_fetch_add_explicit(&counters[counter], amount, memory_order_relaxed);
}

#define REAL(name) \
	static __typeof__(&name) real; \
	if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

/* glibc's own names: dlsym itself allocates, so malloc cannot be looked up by it. */
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

static void note_allocation(size_t size)
{
	add(allocations, 1);
	add(allocated_bytes, size);
}

void *malloc(size_t size)
{
	note_allocation(size);
	return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	note_allocation(count * size);
	return __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
	note_allocation(size);
	return __libc_realloc(memory, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	note_allocation(size);
	return __libc_memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size)
{
	note_allocation(size);
	*memory = __libc_memalign(alignment, size);
	return *memory ? 0 : 12;
}

static int note_file(int file, int flags)
{
	/* O_SYNC contains O_DSYNC's bit. */
	if (file >= 0 && file < descriptors) synchronous[file] = (flags & O_DSYNC) != 0;
	return file;
}

int open(const char *path, int flags, ...)
{
	REAL(open);
	va_list arguments;
	va_start(arguments, flags);
	mode_t mode = (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(arguments, mode_t) : 0;
	va_end(arguments);
	return note_file(real(path, flags, mode), flags);
}

int open64(const char *path, int flags, ...)
{
	REAL(open64);
	va_list arguments;
	va_start(arguments, flags);
	mode_t mode = (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(arguments, mode_t) : 0;
	va_end(arguments);
	return note_file(real(path, flags, mode), flags);
}

static ssize_t note_write(int file, ssize_t written)
{
	if (written <= 0) return written;
	add(written_bytes, (uint64_t)written);
	if (file >= 0 && file < descriptors && synchronous[file]) add(syncs, 1);
	return written;
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset)
{
	REAL(pwrite);
	return note_write(file, real(file, bytes, count, offset));
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t offset)
{
	REAL(pwrite64);
	return note_write(file, real(file, bytes, count, offset));
}

ssize_t pwritev(int file, const struct iovec *parts, int count, off_t offset)
{
	REAL(pwritev);
	return note_write(file, real(file, parts, count, offset));
}

ssize_t pwritev64(int file, const struct iovec *parts, int count, off64_t offset)
{
	REAL(pwritev64);
	return note_write(file, real(file, parts, count, offset));
}

ssize_t write(int file, const void *bytes, size_t count)
{
	REAL(write);
	return note_write(file, real(file, bytes, count));
}

ssize_t writev(int file, const struct iovec *parts, int count)
{
	REAL(writev);
	return note_write(file, real(file, parts, count));
}

int fdatasync(int file)
{
	REAL(fdatasync);
	add(syncs, 1);
	return real(file);
}

int fsync(int file)
{
	REAL(fsync);
	add(syncs, 1);
	return real(file);
}

int msync(void *address, size_t length, int flags)
{
	REAL(msync);
	if (flags & MS_SYNC) add(syncs, 1);
	return real(address, length, flags);
}
