/* Faults at the n-th call that changes a file below a folder: a kill, a full disk, or a flipped bit.
   Loaded with LD_PRELOAD; quiet until `faults_arm`. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum { NONE, COUNT, KILL, FULL, FLIP };

static int mode = NONE;
static long target = 0;
static long *counter = 0; /* the number of calls, whether the fault was met, and then a byte for each call */
static char *kinds = 0;
static long most = 0;

enum { MOVES, TAKES_ROOM, WRITES };
static char below[PATH_MAX];

void faults_arm(int what, long at, const char *folder, long *calls, long bytes) {
    strncpy(below, folder, PATH_MAX - 1);
    target = at;
    counter = calls;
    counter[0] = counter[1] = 0;
    kinds = (char *)(calls + 2);
    most = bytes - 2 * sizeof(long);
    mode = what;
}

static int is_below(const char *path) {
    char whole[PATH_MAX * 2], here[PATH_MAX];
    if (!path) return 0;
    if (path[0] != '/') {
        if (!getcwd(here, sizeof here)) return 0;
        snprintf(whole, sizeof whole, "%s/%s", here, path);
        path = whole;
    }
    return strncmp(path, below, strlen(below)) == 0;
}

static int fd_is_below(int fd) {
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n <= 0) return 0;
    path[n] = 0;
    return strncmp(path, below, strlen(below)) == 0;
}

static long count(int kind) {
    long now = __sync_add_and_fetch(counter, 1);
    if (mode == COUNT && now < most) kinds[now] = kind;
    if ((mode == KILL || mode == FLIP) && now == target) counter[1] = mode == KILL || kind == WRITES;
    if (mode == FULL && now >= target && kind != MOVES) counter[1] = 1;
    return now;
}

static void die(void) { kill(getpid(), SIGKILL); for (;;) pause(); }

/* Returns 1 where the call is to fail for want of room. */
static int meet(int takes_room) {
    long now = count(takes_room ? TAKES_ROOM : MOVES);
    if (mode == KILL && now == target) die();
    if (mode == FULL && now >= target && takes_room) { errno = ENOSPC; return 1; }
    return 0;
}

#define NEXT(name) __typeof__(name) *next = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)
#define PATH_CALL(result, name, parameters, arguments, path, room)                   \
    result name parameters {                                                         \
        NEXT(name);                                                                  \
        if (mode != NONE && is_below(path) && meet(room)) return -1;                 \
        return next arguments;                                                       \
    }

ssize_t write(int fd, const void *buffer, size_t size) {
    NEXT(write);
    if (mode == NONE || size == 0 || !fd_is_below(fd)) return next(fd, buffer, size);
    long now = count(WRITES);
    if (mode == KILL && now == target) { next(fd, buffer, size / 2); die(); }
    if (mode == FULL && now >= target) { errno = ENOSPC; return -1; }
    if (mode == FLIP && now == target) {
        char *copy = malloc(size);
        memcpy(copy, buffer, size);
        copy[size / 2] ^= 1 << (target % 8);
        ssize_t written = next(fd, copy, size);
        free(copy);
        return written;
    }
    return next(fd, buffer, size);
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
    NEXT(writev);
    if (mode == NONE || !fd_is_below(fd)) return next(fd, parts, count);
    ssize_t total = 0;
    for (int i = 0; i < count; i++) {
        ssize_t written = write(fd, parts[i].iov_base, parts[i].iov_len);
        if (written < 0) return total ? total : -1;
        total += written;
        if ((size_t)written < parts[i].iov_len) break;
    }
    return total;
}

PATH_CALL(int, rename, (const char *a, const char *b), (a, b), b, 0)
PATH_CALL(int, unlink, (const char *a), (a), a, 0)
PATH_CALL(int, rmdir, (const char *a), (a), a, 0)
PATH_CALL(int, mkdir, (const char *a, mode_t m), (a, m), a, 1)

#define OPEN(name)                                                                   \
    int name(const char *path, int flags, ...) {                                     \
        NEXT(name);                                                                  \
        va_list rest; va_start(rest, flags);                                         \
        mode_t bits = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(rest, mode_t) : 0;    \
        va_end(rest);                                                                \
        if (mode != NONE && (flags & O_CREAT) && is_below(path) && meet(1)) return -1; \
        return next(path, flags, bits);                                              \
    }
OPEN(open)
OPEN(open64)
