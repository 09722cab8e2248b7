#pragma once
#include <lmdb.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/random.h>
#include <sys/vfs.h>

// glibc declares these only under _GNU_SOURCE, which a module map cannot set.
extern int pthread_setname_np(pthread_t thread, const char *name);
extern int fallocate(int descriptor, int mode, off_t offset, off_t length);

// Swift takes the name `statfs` for the structure, so that the function cannot be called. Zero on an error.
static inline unsigned long traylog_file_system_type(const char *path) {
    struct statfs answer;
    return statfs(path, &answer) == 0 ? (unsigned long)answer.f_type : 0;
}
