// Plays a script of ACL calls against a library it opens like the product
// does, and prints what each answered. Tests and misuse cases are such scripts:
//
//	[@T|~T] [name =] call argument...
//
// @T plays the line on thread T and waits, ~T does not wait (join T does).
// An argument is a number, NULL, 'text', $name (a value) or &name (where it
// lies). A line prints the 32-bit answer; with "name =" it keeps it instead.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef int64_t any(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t);
enum { WORDS = 16, SLOTS = 128 };
typedef struct { char name[32]; int64_t value; } slot;
static slot slots[SLOTS];
static void *libs[4];
static int libs_n;
static struct sigaction before[65];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void die(const char *what, const char *which) {
  fprintf(stderr, "play: %s: %s\n", what, which);
  exit(2);
}

static slot *slot_of(const char *name) {
  pthread_mutex_lock(&lock);
  slot *s = slots;
  while (*s->name && strcmp(s->name, name)) s++;
  if (s == slots + SLOTS - 1) die("too many names", name);
  snprintf(s->name, sizeof s->name, "%s", name);
  pthread_mutex_unlock(&lock);
  return s;
}

static int64_t argument(char *w) {
  if (*w == '$') return slot_of(w + 1)->value;
  if (*w == '&') return (int64_t)&slot_of(w + 1)->value;
  if (*w == '\'') return w[strlen(w) - 1] = 0, (int64_t)strdup(w + 1);
  if (!strcmp(w, "NULL")) return 0;
  char *end;
  int64_t v = strtoll(w, &end, 0);
  if (*end) die("no argument", w);
  return v;
}

static int64_t call(const char *name, char **w, int n);

static void nothing(void *p) { (void)p; }

// A callback must not do this.
static void synchronizes(void *p) {
  (void)p;
  call("aclrtSynchronizeDevice", NULL, 0);
}

static int64_t call(const char *name, char **w, int n) {
  any *f = NULL;
  int64_t a[8] = {0};
  for (int i = 0; i < libs_n && !f; i++) *(void **)&f = dlsym(libs[i], name);
  if (!f) die("no such function", name);
  for (int i = 0; i < n && i < 8; i++) a[i] = !strcmp(w[i], "callback") ? (int64_t)nothing : !strcmp(w[i], "badcallback") ? (int64_t)synchronizes : argument(w[i]);
  return f(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]);
}

static void say(const char *text) {
  pthread_mutex_lock(&lock);
  for (; text && *text; text++) *text == '\n' ? fputs("\\n", stdout) : putchar(*text);
  fputs(text ? "\n" : "NULL\n", stdout);
  fflush(stdout);
  pthread_mutex_unlock(&lock);
}

static void say_number(int64_t v) {
  char text[32];
  snprintf(text, sizeof text, "%ld", (long)v);
  say(text);
}

static void load(const char *path, const char *name) {
  FILE *f = fopen(path, "rb");
  if (!f) die("no file", path);
  fseek(f, 0, SEEK_END);
  long n = ftell(f);
  char *p = malloc(n + 1), size[40];
  rewind(f);
  if (fread(p, 1, n, f) != (size_t)n) die("cannot read", path);
  fclose(f);
  slot_of(name)->value = (int64_t)p;
  snprintf(size, sizeof size, "%s.n", name);
  slot_of(size)->value = n;
}

static void save(const char *path, const void *p, size_t n) {
  FILE *f = fopen(path, "wb");
  if (!f || fwrite(p, 1, n, f) != n || fclose(f)) die("cannot write", path);
}

// signals prints those whose handler the load changed, with + for SA_ONSTACK.
static void signals(void) {
  char text[512] = "";
  for (int i = 1; i < 65; i++) {
    struct sigaction now;
    if (sigaction(i, NULL, &now) || now.sa_handler == before[i].sa_handler) continue;
    snprintf(text + strlen(text), sizeof text - strlen(text), "%s%d%s", *text ? " " : "", i, now.sa_flags & SA_ONSTACK ? "+" : "");
  }
  say(text);
}

static int by_name(const void *a, const void *b) { return strcmp(a, b); }

static void threads(void) {
  char names[64][32], text[1024] = "";
  int n = 0;
  DIR *d = opendir("/proc/self/task");
  for (struct dirent *e; (e = readdir(d)) && n < 64;) {
    char path[300];
    snprintf(path, sizeof path, "/proc/self/task/%s/comm", e->d_name);
    FILE *f = *e->d_name == '.' ? NULL : fopen(path, "r");
    if (!f) continue;
    if (fscanf(f, "%31[^\n]", names[n]) == 1) n++;
    fclose(f);
  }
  closedir(d);
  qsort(names, n, sizeof *names, by_name);
  for (int i = 0; i < n; i++) snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i ? " " : "", names[i]);
  say(text);
}

static void put(int64_t to, int64_t width, int64_t v) { memcpy((void *)to, &v, width); }

static int64_t get(int64_t from, int64_t width) {
  int64_t v = 0;
  memcpy(&v, (void *)from, width);
  return width == 4 ? (int32_t)v : v;
}

// built answers whether the word is one of ours.
static int built(char **w, int n) {
  struct timespec t;
  stack_t s;
  pid_t child;
#define IS(word, least) (!strcmp(w[0], word) && n > least)
  if (IS("load", 2)) load((char *)argument(w[1]), w[2]);
  else if (IS("save", 3)) save((char *)argument(w[1]), (void *)argument(w[2]), argument(w[3]));
  else if (IS("peek", 1)) say_number(*(volatile char *)argument(w[1]));
  else if (IS("host", 3)) slot_of(w[1])->value = (int64_t)memset(aligned_alloc(64, (argument(w[2]) + 63) / 64 * 64), argument(w[3]), argument(w[2]));
  else if (IS("let", 2)) slot_of(w[1])->value = argument(w[2]) + (n > 3 ? argument(w[3]) : 0);
  else if (IS("put", 4)) put(argument(w[1]) + argument(w[2]), argument(w[3]), argument(w[4]));
  else if (IS("get", 3)) say_number(get(argument(w[1]) + argument(w[2]), argument(w[3])));
  else if (IS("fill", 4)) memset((char *)argument(w[1]) + argument(w[2]), argument(w[3]), argument(w[4]));
  else if (IS("print", 1)) say_number(argument(w[1]));
  else if (IS("print32", 1)) say_number((int32_t)argument(w[1]));
  else if (IS("text", 0)) say((char *)call("aclGetRecentErrMsg", NULL, 0));
  else if (IS("str", 1)) say((char *)call(w[1], w + 2, n - 2));
  else if (IS("val", 1)) say_number(call(w[1], w + 2, n - 2));
  else if (IS("do", 1)) call(w[1], w + 2, n - 2);
  else if (IS("self", 1)) slot_of(w[1])->value = (int64_t)pthread_self();
  else if (IS("signals", 0)) signals();
  else if (IS("threads", 0)) threads();
  else if (IS("altstack", 0)) sigaltstack(NULL, &s), say_number(s.ss_flags & SS_DISABLE ? 0 : (int64_t)s.ss_size);
  else if (IS("sleep", 1)) t = (struct timespec){argument(w[1]) / 1000, argument(w[1]) % 1000 * 1000000}, nanosleep(&t, NULL);
  else if (IS("fork", 0)) (child = fork()) ? waitpid(child, NULL, 0) : (_exit(0), 0);
  else if (IS("setenv", 2)) setenv(w[1], (char *)argument(w[2]), 1);
  else return 0;
  return 1;
}

// words cuts a line; a 'text' may hold blanks.
static int words(char *line, char **w) {
  int n = 0;
  for (char *p = line; *p && n < WORDS;) {
    while (*p == ' ' || *p == '\t') p++;
    if (!*p) break;
    w[n++] = p;
    char end = *p == '\'' ? '\'' : ' ';
    for (p++; *p && *p != end; p++);
    if (*p == '\'') p++;
    if (*p) *p++ = 0;
  }
  return n;
}

static void play(char *line) {
  char *w[WORDS];
  int n = words(line, w);
  if (!n || built(w, n)) return;
  if (n > 2 && !strcmp(w[1], "=")) slot_of(w[0])->value = call(w[2], w + 3, n - 3);
  else say_number((int32_t)call(w[0], w + 1, n - 1));
}

// ---- threads

typedef struct actor { char name; char line[4096]; int busy; pthread_mutex_t lock; pthread_cond_t changed; pthread_t thread; } actor;
static actor *actors[128];

static void *act(void *p) {
  actor *a = p;
  pthread_mutex_lock(&a->lock);
  for (;;) {
    while (!a->busy) pthread_cond_wait(&a->changed, &a->lock);
    pthread_mutex_unlock(&a->lock);
    play(a->line);
    pthread_mutex_lock(&a->lock);
    a->busy = 0;
    pthread_cond_broadcast(&a->changed);
  }
  return NULL;
}

static void join(actor *a) {
  pthread_mutex_lock(&a->lock);
  while (a->busy) pthread_cond_wait(&a->changed, &a->lock);
  pthread_mutex_unlock(&a->lock);
}

static void hand(char name, const char *line, int wait) {
  actor *a = actors[(int)name & 127];
  if (!a) {
    a = actors[(int)name & 127] = calloc(1, sizeof *a);
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->changed, NULL);
    pthread_create(&a->thread, NULL, act, a);
  }
  join(a);
  pthread_mutex_lock(&a->lock);
  snprintf(a->line, sizeof a->line, "%s", line);
  a->busy = 1;
  pthread_cond_broadcast(&a->changed);
  pthread_mutex_unlock(&a->lock);
  if (wait) join(a);
}

static void *open_all(void *p) {
  for (char **path = p; *path && libs_n < 4; path++)
    if (!(libs[libs_n++] = dlopen(*path, RTLD_NOW | RTLD_GLOBAL))) die("dlopen", dlerror());
  return NULL;
}

// play [-here] LIBRARY... : the script comes from standard input. Libraries are
// opened on a thread of their own, as they should be; with -here on this one.
int main(int argc, char **argv) {
  (void)argc;
  for (int i = 1; i < 65; i++) sigaction(i, NULL, &before[i]);
  pthread_t t;
  if (argv[1] && !strcmp(argv[1], "-here")) open_all(argv + 2);
  else if (!pthread_create(&t, NULL, open_all, argv + 1)) pthread_join(t, NULL);
  char line[4096];
  while (fgets(line, sizeof line, stdin)) {
    line[strcspn(line, "\n")] = 0;
    char *p = line + strspn(line, " \t");
    if (!*p || *p == '#') continue;
    if (*p == '@' || *p == '~') hand(p[1], p + 2, *p == '@');
    else if (!strncmp(p, "join ", 5)) join(actors[(int)p[5] & 127]);
    else play(p);
  }
  fflush(stdout);
  return 0;
}
