#pragma once
#include <linux/stat.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>

// glibc declares these only under _GNU_SOURCE, which a module map cannot set.
extern int pthread_setname_np(pthread_t thread, const char *name);
extern int dup3(int old, int new, int flags);
extern int fallocate(int descriptor, int mode, off_t offset, off_t length);
extern int statx(int directory, const char *path, int flags, unsigned mask, struct statx *answer);

// The names that lead to an open file; 0 on an error. Swift takes the name `statx` for the structure.
static inline unsigned traylog_name_count(int descriptor) {
    struct statx answer;
    const int empty_path = 0x1000;
    return statx(descriptor, "", empty_path, STATX_NLINK, &answer) == 0 ? answer.stx_nlink : 0;
}

// Swift takes the name `statfs` for the structure, so that the function cannot be called. Zero on an error.
static inline unsigned long traylog_file_system_type(const char *path) {
    struct statfs answer;
    return statfs(path, &answer) == 0 ? (unsigned long)answer.f_type : 0;
}

// Asks the processor to bring a line of memory near, without waiting for it.
static inline void traylog_prefetch(const void *address) { __builtin_prefetch(address); }

// The C library declares setpriority with a type that Swift cannot name. On Linux 0 is the calling thread.
static inline int traylog_set_niceness(int niceness) { return setpriority(PRIO_PROCESS, 0, niceness); }

// The environment of this process, for a program that it starts; Swift refuses the variable, which anybody may change.
static inline char *const *traylog_environment(void) {
    extern char **environ;
    return environ;
}
