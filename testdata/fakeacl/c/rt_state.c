// The process as the double sees it: settings, the report, what every call
// does first, and the objects behind handles.
#include "fake.h"
#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <signal.h>
#include <stdarg.h>
#include <time.h>
#include <unistd.h>
#include <sys/syscall.h>

// The product looks for this name to label what it shows.
__attribute__((visibility("default"))) const char fakeacl_is_simulated[] = "simulated: fakeacl computes on the CPU, no NPU is used";

fake_state fake;
static __thread const char *current_call;
static fake_site *sites;
static uint64_t ended_at = UINT64_MAX;  // violations told with the last end
static __thread bool inside_callback;

// ---- the report: one JSON object a line, each written in one piece

static void escape(char *to, size_t n, const char *from) {
  size_t i = 0;
  for (; *from && i + 7 < n; from++) {
    unsigned char c = *from;
    if (c == '"' || c == '\\') to[i++] = '\\', to[i++] = c;
    else if (c < 32) i += snprintf(to + i, n - i, "\\u%04x", c);
    else to[i++] = c;
  }
  to[i] = 0;
}

static void report(const char *text) {
  static int lines;
  if (lines++ > 10000) return;  // whoever is wrong so often is known by now
  int fd = *fake.report ? open(fake.report, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644) : -1;
  if (fd < 0) return;
  if (write(fd, text, strlen(text)) < 0) perror("fakeacl: report");
  close(fd);
}

static void event(const char *kind, const char *name, const char *format, va_list args) {
  char detail[512], safe[1024], out[1400];
  vsnprintf(detail, sizeof detail, format, args);
  escape(safe, sizeof safe, detail);
  snprintf(out, sizeof out, "{\"event\":\"%s\",\"name\":\"%s\",\"call\":\"%s\",\"detail\":\"%s\",\"pid\":%d,\"thread\":%ld}\n", kind, name,
    fake_call(), safe, getpid(), syscall(SYS_gettid));
  report(out);
}

void fake_violate(const char *name, const char *format, ...) {
  va_list args;
  va_start(args, format);
  fake.violations++;
  event("violation", name, format, args);
  va_end(args);
  if (fake.aborts) {
    fprintf(stderr, "fakeacl: violation %s in %s\n", name, fake_call());
    abort();
  }
}

void fake_note(const char *name, const char *format, ...) {
  va_list args;
  va_start(args, format);
  event("note", name, format, args);
  va_end(args);
}

void fake_leak(const char *kind, const void *handle) {
  char name[64];
  snprintf(name, sizeof name, "leak-%s", kind);
  fake.leaks++;
  fake_violate(name, "%p is still there", handle);
}

__attribute__((visibility("default"))) uint64_t fake_violations(void) { return fake.violations; }

// Told by aclFinalize and at the end of the process: the end of a Go program
// runs no destructor.
void fake_report_end(void) {
  char out[8192];
  int n = snprintf(out, sizeof out, "{\"event\":\"end\",\"pid\":%d,\"violations\":%lu,\"leaks\":%lu,\"executes\":%lu,\"unpinned\":%lu,\"finalized\":%s,\"calls\":{",
    getpid(), fake.violations, fake.leaks, fake.executes, fake.unpinned, fake.inits ? "false" : "true");
  const char *comma = "";
  for (fake_site *s = sites; s && n < (int)sizeof out - 200; s = s->next, comma = ",")
    n += snprintf(out + n, sizeof out - n, "%s\"%s\":%lu", comma, s->name, (unsigned long)s->calls);
  snprintf(out + n, sizeof out - n, "}}\n");
  report(out);
  ended_at = fake.violations;
}

__attribute__((destructor)) static void at_exit(void) {
  if (fake.inits || ended_at != fake.violations) fake_report_end();
}

// ---- what every call does first

const char *fake_call(void) { return current_call ? current_call : "load"; }

void fake_name_call(const char *name) { current_call = name; }

int64_t fake_now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000LL + t.tv_nsec / 1000;
}

static void pause_ms(int ms) {
  struct timespec t = {ms / 1000, ms % 1000 * 1000000L};
  while (nanosleep(&t, &t) && errno == EINTR);
}

// due counts the call and tells whether the fault befalls it. A fault with
// "once" befalls one process only: the one that makes the file.
static bool due(fake_fault *f, const char *name) {
  if (strcmp(f->call, name)) return false;
  f->seen++;
  if (f->every ? f->seen % f->every : f->seen < f->at || f->seen >= f->at + f->times) return false;
  int fd = *f->once ? open(f->once, O_CREAT | O_EXCL | O_CLOEXEC, 0644) : -1;
  if (*f->once && fd < 0) return false;
  if (fd >= 0) close(fd);
  return true;
}

static int faults(const char *name) {
  fake.async_fault = fake.device_hang_ms = 0;
  for (int i = 0; i < fake.faults; i++) {
    fake_fault *f = &fake.fault[i];
    if (!due(f, name)) continue;
    fake_note("fault", "%s, call %lu", name, f->seen);
    if (f->kill) kill(getpid(), SIGKILL);
    if (f->abort) abort();
    if (f->hang_ms) pthread_mutex_unlock(&fake.lock), pause_ms(f->hang_ms), pthread_mutex_lock(&fake.lock), current_call = name;
    if (f->lost)
      for (int d = 0; d < fake.devices; d++) fake.device[d].lost = true;
    fake.async_fault = f->async, fake.device_hang_ms = f->device_hang_ms;
    if (f->code) return fake_fail(f->code, NULL, "%s", *f->text ? f->text : "a scripted fault");
  }
  return 0;
}

// Callbacks may not allocate, free, launch or synchronise.
static bool forbidden_in_callback(const char *name) {
  return strstr(name, "Malloc") || strstr(name, "Free") || strstr(name, "Launch") || strstr(name, "Synchronize") || strstr(name, "Destroy") || strstr(name, "Execute");
}

fake_scope fake_enter(fake_site *site) {
  atomic_fetch_add(&site->calls, 1);
  pthread_mutex_lock(&fake.lock);
  if (!site->seen) site->seen = true, site->next = sites, sites = site;
  current_call = site->name;
  if (inside_callback && forbidden_in_callback(site->name)) fake_violate("call-in-callback", "%s", site->name);
  if (fake.stub) return (fake_scope){fake_silent(STUB_MODE)};
  if (!fake.backend && !strncmp(site->name, "aclrt", 5))
    return (fake_scope){fake_fail(RT_INTERNAL, NULL, "libruntime_v100.so: cannot open shared object file: No such file or directory")};
  return (fake_scope){fake.faults ? faults(site->name) : 0};
}

void fake_leave(fake_scope *scope) {
  (void)scope;
  pthread_mutex_unlock(&fake.lock);
}

void fake_callback(void (*fn)(void *), void *arg) {
  pthread_mutex_unlock(&fake.lock);
  inside_callback = true;
  fn(arg);
  inside_callback = false;
  pthread_mutex_lock(&fake.lock);
}

int fake_wait_for(bool (*done)(void *), void *arg, int timeout_ms) {
  const char *call = current_call;
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  if (timeout_ms > 0) {
    until.tv_sec += timeout_ms / 1000, until.tv_nsec += timeout_ms % 1000 * 1000000L;
    if (until.tv_nsec >= 1000000000L) until.tv_sec++, until.tv_nsec -= 1000000000L;
  }
  int late = 0;
  while (!done(arg) && !late)
    late = (timeout_ms < 0 ? pthread_cond_wait(&fake.changed, &fake.lock) : pthread_cond_timedwait(&fake.changed, &fake.lock, &until)) == ETIMEDOUT;
  current_call = call;
  return late && !done(arg);
}

// ---- objects

static void *live_tree, *dead_tree;
static object *first, *last;
enum { GRAVES = 65536 };
static object *graves[GRAVES];
static size_t grave;

static int by_address(const void *a, const void *b) { return (uintptr_t)a < (uintptr_t)b ? -1 : (uintptr_t)a > (uintptr_t)b; }

void *fake_new(fake_kind kind, size_t size) {
  object *o = calloc(1, size);
  o->kind = kind, o->alive = true;
  o->before = last;
  *(last ? &last->after : &first) = o;
  last = o;
  tsearch(o, &live_tree, by_address);
  return o;
}

void *fake_live(const void *handle, fake_kind kind) {
  object **o = handle ? tfind(handle, &live_tree, by_address) : NULL;
  return o && (*o)->kind == kind ? *o : NULL;
}

bool fake_dead(const void *handle, fake_kind kind) {
  object **o = handle ? tfind(handle, &dead_tree, by_address) : NULL;
  return o && (*o)->kind == kind;
}

void fake_end(void *p) {
  object *o = p;
  o->alive = false;
  *(o->before ? &o->before->after : &first) = o->after;
  *(o->after ? &o->after->before : &last) = o->before;
  tdelete(o, &live_tree, by_address);
  object *old = graves[grave];
  if (old) tdelete(old, &dead_tree, by_address), free(old);
  graves[grave] = o;
  grave = (grave + 1) % GRAVES;
  tsearch(o, &dead_tree, by_address);
}

object *fake_first(void) { return first; }
