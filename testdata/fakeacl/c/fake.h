// The inside of the double. One lock guards everything; it is let go only
// while something takes time (a copy, a run, a wait).
#ifndef FAKEACL_FAKE_H
#define FAKEACL_FAKE_H
#define _GNU_SOURCE
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "acl.h"

// Releases whose behaviour differs. R60 stands for the sources of 2022 and
// before, HEAD for those of 2026-08, whose answers were taken from the real
// library (facts/acl.md section 9).
enum { R60 = 600, R85 = 850, R91 = 910, HEAD = 920 };

enum { INVALID_PARAM = 100000, UNINITIALIZE, REPEAT_INIT, INVALID_FILE, PARSE_FILE = 100006, DUMP_CONFIG = 100009,
  REPEAT_FINALIZE = 100037, STUB_MODE = 100039, RT_PARAM = 107000, RT_DEVICE_ID, RT_NO_CONTEXT, RT_STREAM_CONTEXT, RT_MODEL_CONTEXT,
  RT_TIMESTAMP = 107006, RT_REVERSAL, RT_THREAD_SUBSCRIBE = 107012, RT_NO_CALLBACK = 107015, RT_MEM_TYPE = 107016, RT_HANDLE = 107017,
  RT_STREAM_ABORT = 107023, GE_PARAM = 145000, GE_NOT_INIT, GE_PATH, GE_MODEL_ID, GE_SIZE = 145006, GE_LENGTH = 145012, GE_GEAR,
  NOT_SUPPORTED = 200001, RT_UNSUPPORTED = 207000, RT_MEMORY, RT_NO_DEVICE = 207004, RT_NO_EVENT = 207007, RT_NO_STREAM,
  GE_DEVICE_MEMORY = 245002, INTERNAL = 500000, FAILURE, GE_FAILURE, RT_INTERNAL = 507000, RT_RELEASE = 507007, RT_MODEL_EXECUTE = 507011,
  RT_REPORT_TIMEOUT, RT_AICORE = 507015, RT_DEV_SETUP = 507033, RT_STREAM_TIMEOUT = 507046, RT_EVENT_TIMEOUT, RT_DRIVER = 507899,
  GE_INTERNAL = 545000, GE_STATUS_PARAM = 0x50100001 };

enum { FAKE_MAX_DEVICES = 16, FAKE_MAX_IO = 64 };

// Anything with a handle. Dead ones are kept for a while, so that the use of
// one is told from the use of garbage.
typedef enum { NO_KIND, CONTEXT, STREAM, EVENT, BUFFER, DATASET, MODEL_DESC, TENSOR_DESC, CONFIG, EXEC_CONFIG } fake_kind;
typedef struct object {
  fake_kind kind;
  bool alive, spared;  // spared: not a leak (default contexts and streams, what a dataset made)
  struct object *before, *after;
} object;
void *fake_new(fake_kind kind, size_t size);
void *fake_live(const void *handle, fake_kind kind);  // NULL: never was, is dead, or is of another kind
bool fake_dead(const void *handle, fake_kind kind);
void fake_end(void *o);
object *fake_first(void);

// A range of memory of a device, or of pinned or registered host memory.
typedef struct region {
  char *at;  // as the caller sees it
  size_t size, taken;
  int device;  // -1: registered host memory
  bool pinned, alive;
  int used_by;  // models that lie in it
} region;
region *fake_region(const void *p, size_t n);  // the region that p..p+n touches
void *fake_shadow(const void *p);             // where the double itself may read and write it
size_t fake_room(const void *p);               // bytes from p to the end of its live region
int fake_take(void **out, size_t size, bool pinned, size_t pad);
int fake_give(void *p, bool pinned);
void fake_move(void *dst, const void *src, size_t n);  // lets the lock go; takes what the bandwidth says

typedef struct fake_context fake_context;
typedef struct fake_stream fake_stream;
typedef struct fake_op fake_op;
typedef struct fake_event fake_event;

typedef struct fake_device {
  int id, set;
  bool lost, started;
  fake_context *primary;
  size_t used, taken;  // memory; address space
  char *arena, *shadow;
  int running, streams, events;
} fake_device;

struct fake_context {
  object o;
  fake_device *device;
  bool primary;
  fake_stream *stream;  // the default one
};

typedef struct { const char *at; size_t n; bool written; } fake_range;

// What waits in a stream. run is called with the lock held, on the thread of
// the stream, and answers a code that the next synchronise will tell.
struct fake_op {
  fake_op *next;
  fake_stream *stream;
  int (*run)(fake_op *);
  void (*drop)(fake_op *);  // frees what it owns
  void *a, *b;
  const void *c;
  size_t n;
  int64_t value;
  int fault, hang_ms;
  size_t ranges;
  fake_range range[2 * FAKE_MAX_IO];
};

struct fake_stream {
  object o;
  fake_context *ctx;
  fake_device *device;
  int id;
  fake_op *head, *tail;  // head is running
  int error;             // of a failed task, not yet told
  bool abort, stop, ending, started, gone;
  uint64_t aborts;
  uint64_t subscriber;
  pthread_t thread;
};

struct fake_event {
  object o;
  fake_device *device;
  uint32_t flag;
  bool ex, plain;
  uint64_t recorded, done;  // how many Records were queued, and reached
  bool waits_for_reset;
  int64_t stamp_us;
  const fake_stream *stream;
};

struct aclDataBuffer { object o; void *data; size_t size; uint64_t changed; };

// ---- the process
typedef struct fake_site { const char *name; atomic_uint_least64_t calls; struct fake_site *next; bool seen; } fake_site;
typedef struct { int code; } fake_scope;

typedef struct fake_fault {
  char call[64], text[256], once[256];
  uint64_t at, times, every, seen;
  int code, hang_ms, async, device_hang_ms;
  bool lost, abort, kill;
} fake_fault;

typedef struct fake_state {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  int release, devices, visible[FAKE_MAX_DEVICES], visible_count;
  bool driver, backend, stub, rc, visible_refused, visible_set, strict_init, stale_text, own_text, signals, altstack, aborts, starts, process_text, hidden;
  char soc[64], ort[1024], report[1024];
  size_t memory;
  double latency_a_us, latency_c_us, copy_mb_s;
  int load_ms, set_device_ms, parallel, stream_limit, event_limit;
  fake_fault fault[64];
  int faults;
  fake_device device[FAKE_MAX_DEVICES];
  int inits;
  bool ever, finalized;  // an aclInit succeeded once; aclFinalize was called since
  char *first_config;
  uint64_t violations, leaks, executes, unpinned, foreign_syncs, streams_made;
  int async_fault, device_hang_ms;  // of the call being made, for the task it queues
  int (*model_leaks)(void);         // of the model library, once it is there
  void (*device_gone)(fake_device *);
  bool (*buffer_busy)(const aclDataBuffer *);
} fake_state;
extern fake_state fake;

fake_scope fake_enter(fake_site *site);
void fake_leave(fake_scope *);
const char *fake_call(void);
void fake_name_call(const char *name);
#define CALL_QUIET                       \
  static fake_site site_ = {.name = __func__}; \
  __attribute__((cleanup(fake_leave))) fake_scope scope_ = fake_enter(&site_)
#define CALL \
  CALL_QUIET;  \
  if (scope_.code) return scope_.code

void fake_callback(void (*fn)(void *), void *arg);
void fake_violate(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));
void fake_report_end(void);
void fake_leak(const char *kind, const void *handle);
void fake_note(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));

// ---- error texts: each answers the code. exx is the code of the text, NULL
// where the real library leaves only a line in the TraceBack.
int fake_fail(int code, const char *exx, const char *format, ...) __attribute__((format(printf, 3, 4)));
int fake_silent(int code);               // a failure without a text
int fake_null(const char *param);        // 100000: EH0008, EH0002 before HEAD
int fake_null_model(const char *param);  // 100000: EH0002 on the model side
int fake_value(int code, const char *exx, const char *param, long long value, const char *expected);
int fake_no_context(void);  // 107002
void fake_own_text(void);
bool fake_text_unread(void);

// ---- context and streams
fake_context *fake_current(void);  // of this thread, NULL: none, or a dead one (a violation)
void fake_adopt(fake_context *c);
int fake_usable(fake_device *d);   // 0, or the code of a lost device
void fake_check_init(void);
bool fake_stream_of(aclrtStream handle, fake_stream **out, int *code);  // NULL is the default stream
int fake_own_stream(aclrtStream handle, fake_context *c, fake_stream **out);
int fake_queue(fake_stream *s, fake_op *op);
fake_op *fake_op_new(int (*run)(fake_op *));
void fake_op_range(fake_op *op, const void *at, size_t n, bool written);
fake_op *fake_pending(const void *at, size_t n, bool also_readers);
int fake_drain(fake_stream *s, int timeout_ms);  // -1: for ever; 507046, or the stream's error
int fake_wait_for(bool (*done)(void *), void *arg, int timeout_ms);  // 0 or 1: not in time
int fake_sleep(fake_stream *s, double us);                           // without the lock; ends early when s is aborted
void fake_occupy(fake_device *d);
void fake_vacate(fake_device *d);
void fake_kill_context(fake_context *c);
void fake_stream_gone(fake_stream *s);
void fake_memory_gone(fake_device *d, bool forced);
int fake_memory_leaks(void);
void fake_thread(const char *name);
int64_t fake_now_us(void);
#define NEED_CONTEXT(c)                   \
  fake_context *c = fake_current();       \
  if (!c) return fake_no_context();       \
  int lost_##c = fake_usable(c->device); \
  if (lost_##c) return lost_##c

// ---- JSON
typedef struct json { char type; char *text; double number; struct json *child, *next; char *key; } json;  // type: { [ s n b 0
json *json_parse(const char *text, size_t n, int max_depth, char *error, size_t error_size);
json *json_get(const json *j, const char *key);
const char *json_text(const json *j, const char *key, const char *otherwise);
double json_number(const json *j, const char *key, double otherwise);
void json_free(json *j);
#endif
