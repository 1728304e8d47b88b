/* What the kernel would say on the described host, for programs that are linked
 * dynamically: /etc/ld.so.preload of a laid root names this library.
 *   /proc/NAME   is /.laid/proc/NAME where that is a file; modules, cmdline and
 *                device-tree are only there when described
 *   uname(2)     release and machine from /.laid/uname, a line each
 *   statvfs(3)   sizes from /.laid/df: mount, total used available in KiB,
 *                inodes free; the real ones once /.laid/full is there */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int is_file(const char *path) {
    struct stat s;
    return !syscall(SYS_newfstatat, AT_FDCWD, path, &s, 0) && S_ISREG(s.st_mode);
}

/* Plain drops "//" and "/./" from an absolute path. */
static void plain(char *to, const char *from) {
    char *end = to + PATH_MAX - 16;
    while (*from && to < end) {
        if (from[0] == '/' && (from[1] == '/' || (from[1] == '.' && (from[2] == '/' || !from[2])))) {
            from += from[1] == '/' ? 1 : 2;
            continue;
        }
        *to++ = *from++;
    }
    *to = 0;
}

static const char *laid(const char *path) {
    static __thread char other[PATH_MAX + 8];
    static const char *const ours[] = {"modules", "cmdline", "device-tree", 0};
    char full[PATH_MAX];
    int saved = errno;
    if (!path || *path != '/') return path;
    plain(full, path);
    if (strncmp(full, "/proc/", 6)) return path;
    snprintf(other, sizeof other, "/.laid%s", full);
    int ok = is_file(other);
    errno = saved;
    for (int i = 0; ours[i] && !ok; i++) {
        size_t n = strlen(ours[i]);
        ok = !strncmp(full + 6, ours[i], n) && (full[6 + n] == '/' || !full[6 + n]);
    }
    return ok ? other : path;
}

#define OPENED(name)                                                    \
    int name(const char *path, int flags, ...) {                        \
        va_list more;                                                   \
        va_start(more, flags);                                          \
        mode_t mode = va_arg(more, mode_t);                             \
        va_end(more);                                                   \
        return REAL(name)(laid(path), flags, mode);                     \
    }
#define OPENED_AT(name)                                                 \
    int name(int dir, const char *path, int flags, ...) {               \
        va_list more;                                                   \
        va_start(more, flags);                                          \
        mode_t mode = va_arg(more, mode_t);                             \
        va_end(more);                                                   \
        return REAL(name)(dir, laid(path), flags, mode);                \
    }
OPENED(open)
OPENED(open64)
OPENED_AT(openat)
OPENED_AT(openat64)
FILE *fopen(const char *path, const char *mode) { return REAL(fopen)(laid(path), mode); }
FILE *fopen64(const char *path, const char *mode) { return REAL(fopen64)(laid(path), mode); }
DIR *opendir(const char *path) { return REAL(opendir)(laid(path)); }
int stat(const char *path, struct stat *s) { return REAL(stat)(laid(path), s); }
int stat64(const char *path, struct stat64 *s) { return REAL(stat64)(laid(path), s); }
int lstat(const char *path, struct stat *s) { return REAL(lstat)(laid(path), s); }
int lstat64(const char *path, struct stat64 *s) { return REAL(lstat64)(laid(path), s); }
int fstatat(int dir, const char *path, struct stat *s, int flags) { return REAL(fstatat)(dir, laid(path), s, flags); }
int fstatat64(int dir, const char *path, struct stat64 *s, int flags) { return REAL(fstatat64)(dir, laid(path), s, flags); }
int statx(int dir, const char *path, int flags, unsigned mask, struct statx *s) { return REAL(statx)(dir, laid(path), flags, mask, s); }
int access(const char *path, int mode) { return REAL(access)(laid(path), mode); }
int eaccess(const char *path, int mode) { return REAL(eaccess)(laid(path), mode); }
int faccessat(int dir, const char *path, int mode, int flags) { return REAL(faccessat)(dir, laid(path), mode, flags); }

/* slurp reads a small file of our own. */
static int slurp(const char *path, char *to, size_t room) {
    int fd = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, to, room - 1);
    if (fd >= 0) close(fd);
    to[n > 0 ? n : 0] = 0;
    return n > 0;
}

int uname(struct utsname *u) {
    char text[256], *line;
    if (syscall(SYS_uname, u)) return -1;
    if (!slurp("/.laid/uname", text, sizeof text) || !(line = strchr(text, '\n'))) return 0;
    *line++ = 0;
    line[strcspn(line, "\n")] = 0;
    snprintf(u->release, sizeof u->release, "%.64s", text);
    snprintf(u->machine, sizeof u->machine, "%.64s", line);
    snprintf(u->version, sizeof u->version, "#1 SMP simulated");
    return 0;
}

/* described finds the sizes of the mount with the longest path above path. */
static int described(const char *path, struct statvfs *s) {
    char table[8192], real[PATH_MAX];
    size_t best = 0;
    if (is_file("/.laid/full") || !slurp("/.laid/df", table, sizeof table) || !realpath(path, real)) return 0;
    for (char *save, *line = strtok_r(table, "\n", &save); line; line = strtok_r(0, "\n", &save)) {
        char *rest = strchr(line, ' ');
        size_t n = rest ? (size_t)(rest - line) : 0;
        size_t dir = n == 1 ? 0 : n; /* the root has no slash to spare */
        if (n <= best || strncmp(real, line, n) || (real[dir] && real[dir] != '/')) continue;
        best = n;
        unsigned long v[5] = {0};
        for (int i = 0; i < 5; i++)
            for (rest++; *rest >= '0' && *rest <= '9'; rest++) v[i] = v[i] * 10 + (*rest - '0');
        s->f_bsize = s->f_frsize = 1024;
        s->f_blocks = v[0], s->f_bfree = v[0] - v[1], s->f_bavail = v[2];
        s->f_files = v[3], s->f_ffree = s->f_favail = v[4];
    }
    return best > 0;
}

int statvfs(const char *path, struct statvfs *s) {
    int r = REAL(statvfs)(path, s), saved = errno;
    if (!r) described(path, s);
    errno = saved;
    return r;
}
int statvfs64(const char *path, struct statvfs64 *s) { return statvfs(path, (struct statvfs *)s); } /* one type on 64 bits */
