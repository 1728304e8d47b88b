// Settings: FAKEACL_CONFIG is a JSON file, or the JSON itself. And what
// loading does: the constructor imitates CANN's (facts/acl.md 0.3).
#include "fake.h"
#include <ctype.h>
#include <signal.h>
#include <unistd.h>

#ifndef FAKE_RELEASE
#define FAKE_RELEASE HEAD
#endif

static void die(const char *what) {
  fprintf(stderr, "fakeacl: FAKEACL_CONFIG: %s\n", what);
  abort();
}

static json *read_settings(void) {
  const char *said = getenv("FAKEACL_CONFIG");
  if (!said || !*said) return NULL;
  char *text = NULL, error[256];
  size_t n = strlen(said);
  if (*said != '{') {
    FILE *f = fopen(said, "r");
    if (!f) die("no such file");
    text = malloc(1 << 20);
    n = fread(text, 1, 1 << 20, f);
    fclose(f);
  }
  json *j = json_parse(text ? text : said, n, 10, error, sizeof error);
  free(text);
  if (!j) die(error);
  return j;
}

static void check_keys(const json *j, const char *const *keys, size_t n);

static void fault(const json *j) {
  static const char *const keys[] = {"call", "text", "once", "at", "times", "every", "code", "async", "hang_ms", "device_hang_ms", "lost", "abort", "kill"};
  check_keys(j, keys, sizeof keys / sizeof *keys);
  if (fake.faults == sizeof fake.fault / sizeof *fake.fault) die("more faults than there is room for");
  fake_fault *f = &fake.fault[fake.faults++];
  snprintf(f->call, sizeof f->call, "%s", json_text(j, "call", ""));
  snprintf(f->text, sizeof f->text, "%s", json_text(j, "text", ""));
  if (!*f->call) die("a fault without the call it befalls");
  snprintf(f->once, sizeof f->once, "%s", json_text(j, "once", ""));
  f->at = json_number(j, "at", 1), f->times = json_number(j, "times", 1), f->every = json_number(j, "every", 0);
  f->code = json_number(j, "code", 0), f->async = json_number(j, "async", 0);
  f->hang_ms = json_number(j, "hang_ms", 0), f->device_hang_ms = json_number(j, "device_hang_ms", 0);
  f->lost = json_number(j, "lost", 0), f->abort = json_number(j, "abort", 0), f->kill = json_number(j, "kill", 0);
}

static const char *const known[] = {"release", "devices", "driver", "backend", "stub", "run_mode", "soc", "memory", "strict_init", "stale_text", "own_text",
  "signals", "altstack", "abort", "starts", "latency_us", "latency_per_item_us", "copy_mb_s", "load_ms", "set_device_ms", "parallel", "streams", "events", "faults"};

// A misspelt setting would be a test that tests nothing.
static void check_keys(const json *j, const char *const *keys, size_t n) {
  for (const json *c = j ? j->child : NULL; c; c = c->next) {
    bool found = false;
    for (size_t i = 0; i < n; i++) found |= !strcmp(keys[i], c->key);
    if (!found) fprintf(stderr, "fakeacl: unknown setting %s\n", c->key), abort();
  }
}

static int release_of(const char *word) {
  static const struct { const char *word; int release; } releases[] = {{"6.0", R60}, {"8.5.0", R85}, {"9.1.0", R91}, {"head", HEAD}};
  for (int i = 0; i < 4; i++)
    if (!strcmp(word, releases[i].word)) return releases[i].release;
  die("release must be 6.0, 8.5.0, 9.1.0 or head");
  return 0;
}

static void settle(const json *j) {
  const char *release = json_text(j, "release", NULL);
  fake.release = release ? release_of(release) : FAKE_RELEASE;
  fake.devices = json_number(j, "devices", 1);
  if (fake.devices < 0 || fake.devices > FAKE_MAX_DEVICES) die("devices must be 0 to 16");
  fake.driver = json_number(j, "driver", 1);
  fake.backend = json_number(j, "backend", 1);
  fake.stub = json_number(j, "stub", 0);
  fake.starts = json_number(j, "starts", 1);
  fake.rc = !strcmp(json_text(j, "run_mode", "host"), "device");
  snprintf(fake.soc, sizeof fake.soc, "%s", json_text(j, "soc", "Ascend310P3"));
  fake.memory = json_number(j, "memory", 1 << 30);
  fake.strict_init = json_number(j, "strict_init", 0);
  fake.stale_text = json_number(j, "stale_text", fake.release >= R85);
  fake.own_text = json_number(j, "own_text", fake.release >= R85);
  fake.signals = json_number(j, "signals", 1);
  fake.altstack = json_number(j, "altstack", fake.release >= HEAD);
  fake.aborts = json_number(j, "abort", 0);
  fake.latency_a_us = json_number(j, "latency_us", 0), fake.latency_c_us = json_number(j, "latency_per_item_us", 0);
  fake.copy_mb_s = json_number(j, "copy_mb_s", 0);
  fake.load_ms = json_number(j, "load_ms", 0), fake.set_device_ms = json_number(j, "set_device_ms", 0);
  fake.parallel = json_number(j, "parallel", 1);
  fake.stream_limit = json_number(j, "streams", 1024), fake.event_limit = json_number(j, "events", 1023);
  json *f = json_get(j, "faults");
  for (json *c = f ? f->child : NULL; c; c = c->next) fault(c);
}

// Only a list that ascends without a break counts, up to its first bad token;
// what does not ascend, or begins badly, hides every device (facts/acl.md 5.2).
static void see_devices(void) {
  const char *p = getenv("ASCEND_RT_VISIBLE_DEVICES");
  fake.visible_set = p;
  if (!p) {
    for (int i = 0; i < fake.devices; i++) fake.visible[fake.visible_count++] = i;
    return;
  }
  long before = -1;
  while (isdigit((unsigned char)*p)) {
    char *end;
    long id = strtol(p, &end, 10);
    if (id >= fake.devices) break;
    if (id <= before) {
      fake.visible_count = 0;
      break;
    }
    fake.visible[fake.visible_count++] = before = id;
    if (*end != ',') break;
    p = end + 1;
  }
  fake.visible_refused = !fake.visible_count;
}

static struct sigaction before_us[65];

// Puts the previous handler back and raises the signal again, as CANN's does.
static void captured(int number, siginfo_t *info, void *context) {
  (void)info, (void)context;
  sigaction(number, &before_us[number], NULL);
  raise(number);
}

bool fake_captures(int number) {
  struct sigaction now;
  return !sigaction(number, NULL, &now) && now.sa_sigaction == captured;
}

static void *idle(void *nothing) {
  sigset_t none;
  sigfillset(&none);
  pthread_sigmask(SIG_BLOCK, &none, NULL);
  (void)nothing;
  for (;;) pause();
  return NULL;
}

void fake_thread(const char *name) {
  pthread_t t;
  if (pthread_create(&t, NULL, idle, NULL)) return;
  pthread_setname_np(t, name);
  pthread_detach(t);
}

static char alternate[64 << 10];

bool fake_owns_altstack(void) {
  stack_t s;
  return !sigaltstack(NULL, &s) && s.ss_sp == alternate;
}

static void capture(void) {
  static const int numbers[] = {2, 3, 4, 5, 6, 7, 8, 11, 15, 24, 25, 31, 35};
  if (fake.altstack) sigaltstack(&(stack_t){.ss_sp = alternate, .ss_size = sizeof alternate}, NULL);
  const char *said = getenv("ASCEND_COREDUMP_SIGNAL");
  if (!fake.signals || (said && !strcmp(said, "none"))) return;
  struct sigaction ours = {.sa_sigaction = captured, .sa_flags = SA_SIGINFO | (fake.release >= HEAD ? SA_ONSTACK : 0)};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) sigaction(numbers[i], &ours, &before_us[numbers[i]]);
  fake_thread("AtraceMonitor");
}

static void forked(void) { fake_violate("fork", "a process that uses ACL must not fork"); }

__attribute__((constructor)) static void loaded(void) {
  pthread_condattr_t c;
  pthread_condattr_init(&c);
  pthread_condattr_setclock(&c, CLOCK_MONOTONIC);
  pthread_cond_init(&fake.changed, &c);
  pthread_mutex_init(&fake.lock, NULL);
  snprintf(fake.report, sizeof fake.report, "%s", getenv("FAKEACL_REPORT") ? getenv("FAKEACL_REPORT") : "");
  snprintf(fake.ort, sizeof fake.ort, "%s", getenv("FAKEACL_ORT") ? getenv("FAKEACL_ORT") : "");
  json *j = read_settings();
  check_keys(j, known, sizeof known / sizeof *known);
  settle(j);
  json_free(j);
  see_devices();
  for (int i = 0; i < FAKE_MAX_DEVICES; i++) fake.device[i].id = i;
  capture();
  if (fake.driver && (fake.release < R91 || !fake.devices)) fake_thread("PlogFlush");
  if (fake.release == R91) fake_thread("WatchdogMonitor");
  pthread_atfork(forked, NULL, NULL);
}
