/*
 * Counts what a program asks of the C library and the disk:
 *
 *   LD_PRELOAD=…/counting.so PROGRAM …
 *
 * The program finds `traylog_counts` by dlsym: allocations, bytes allocated, bytes written to files, syncs, and pages that
 * syncs had to write: those of the file that were written to since its last sync, each once. A sync
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

enum { descriptors = 65536, counter_count = 5 };
enum { allocations, allocated_bytes, written_bytes, syncs, synced_pages };
/* Of the files with the first numbers, and of each the pages that a sync has to write; larger files share the bits. */
enum { files = 256, page_bytes = 4096, words = 4096 };

static _Atomic uint64_t counters[counter_count];
static _Atomic unsigned char synchronous[descriptors];
static _Atomic uint64_t unsynced[files][words];

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

static void note_pages(int file, off_t offset, ssize_t count)
{
	if (file < 0 || file >= files || offset < 0) return;
	for (off_t page = offset / page_bytes; page <= (offset + count - 1) / page_bytes; page++)
		atomic_fetch_or(&unsynced[file][page / 64 % words], UINT64_C(1) << page % 64);
}

static void note_sync(int file)
{
	add(syncs, 1);
	if (file < 0 || file >= files) return;
	for (int word = 0; word < words; word++)
		if (unsynced[file][word]) add(synced_pages, (uint64_t)__builtin_popcountll(atomic_exchange(&unsynced[file][word], 0)));
}

static ssize_t note_write(int file, ssize_t written, off_t offset)
{
	if (written <= 0) return written;
	note_pages(file, offset < 0 ? lseek(file, 0, SEEK_CUR) - written : offset, written);
	add(written_bytes, (uint64_t)written);
	if (file >= 0 && file < descriptors && synchronous[file]) add(syncs, 1);
	return written;
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset)
{
	REAL(pwrite);
	return note_write(file, real(file, bytes, count, offset), offset);
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t offset)
{
	REAL(pwrite64);
	return note_write(file, real(file, bytes, count, offset), offset);
}

ssize_t pwritev(int file, const struct iovec *parts, int count, off_t offset)
{
	REAL(pwritev);
	return note_write(file, real(file, parts, count, offset), offset);
}

ssize_t pwritev64(int file, const struct iovec *parts, int count, off64_t offset)
{
	REAL(pwritev64);
	return note_write(file, real(file, parts, count, offset), offset);
}

ssize_t write(int file, const void *bytes, size_t count)
{
	REAL(write);
	return note_write(file, real(file, bytes, count), -1);
}

ssize_t writev(int file, const struct iovec *parts, int count)
{
	REAL(writev);
	return note_write(file, real(file, parts, count), -1);
}

int fdatasync(int file)
{
	REAL(fdatasync);
	note_sync(file);
	return real(file);
}

int fsync(int file)
{
	REAL(fsync);
	note_sync(file);
	return real(file);
}

int msync(void *address, size_t length, int flags)
{
	REAL(msync);
	if (flags & MS_SYNC) add(syncs, 1);
	return real(address, length, flags);
}
