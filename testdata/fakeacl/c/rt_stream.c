// Streams: each is a queue with a thread that works it off. Content is read
// and written when a task runs, not when it is queued, so a buffer that is
// used again too early shows.
#include "fake.h"
#include <time.h>
#include <errno.h>

struct aclrtExceptionInfo { uint32_t device; int code; };
static aclrtExceptionInfoCallback on_exception;

static void tell_exception(void *arg) { on_exception(arg); }

static int work(fake_stream *s, fake_op *op) {
  if (op->hang_ms) fake_sleep(s, op->hang_ms * 1000.0);
  if (s->device->lost) return RT_DRIVER;
  if (s->abort || s->gone) return 0;
  int code = op->fault ? op->fault : op->run(op);
  if (code && on_exception) {
    aclrtExceptionInfo info = {s->device->id, code};
    fake_callback(tell_exception, &info);
  }
  return code;
}

static void pop(fake_stream *s) {
  fake_op *op = s->head;
  s->head = op->next;
  if (!s->head) s->tail = NULL;
  if (op->drop) op->drop(op);
  free(op);
}

static bool something(void *p) {
  fake_stream *s = p;
  return s->head || s->ending;
}

static void *worker(void *p) {
  fake_stream *s = p;
  pthread_mutex_lock(&fake.lock);
  fake_name_call("device task");
  fake_adopt(s->ctx);
  for (;;) {
    fake_wait_for(something, s, -1);
    if (!s->head) break;
    int code = s->stop && s->error ? 0 : work(s, s->head);
    if (code && !s->error) s->error = code;
    pop(s);
    pthread_cond_broadcast(&fake.changed);
  }
  pthread_mutex_unlock(&fake.lock);
  return NULL;
}

fake_op *fake_op_new(int (*run)(fake_op *)) {
  fake_op *op = calloc(1, sizeof *op);
  op->run = run;
  return op;
}

void fake_op_range(fake_op *op, const void *at, size_t n, bool written) {
  if (op->ranges < sizeof op->range / sizeof *op->range && n) op->range[op->ranges++] = (fake_range){at, n, written};
}

int fake_queue(fake_stream *s, fake_op *op) {
  if (s->stop && s->error) {
    int code = s->error;
    if (op->drop) op->drop(op);
    free(op);
    return fake_fail(code, NULL, "the stream stopped at a failure");
  }
  op->stream = s, op->fault = fake.async_fault, op->hang_ms = fake.device_hang_ms;
  fake.async_fault = fake.device_hang_ms = 0;
  *(s->tail ? &s->tail->next : &s->head) = op;
  s->tail = op;
  if (!s->started) {
    s->started = true;
    pthread_create(&s->thread, NULL, worker, s);
    pthread_setname_np(s->thread, "fakeacl stream");
    pthread_detach(s->thread);
  }
  pthread_cond_broadcast(&fake.changed);
  return 0;
}

// The first task not yet done that writes into the range, or reads it.
fake_op *fake_pending(const void *at, size_t n, bool also_readers) {
  for (object *o = fake_first(); o; o = o->after) {
    if (o->kind != STREAM) continue;
    for (fake_op *op = ((fake_stream *)o)->head; op; op = op->next)
      for (size_t i = 0; i < op->ranges; i++) {
        fake_range *r = &op->range[i];
        if ((r->written || also_readers) && r->at < (const char *)at + n && (const char *)at < r->at + r->n) return op;
      }
  }
  return NULL;
}

static bool idle(void *p) { return !((fake_stream *)p)->head; }

int fake_drain(fake_stream *s, int timeout_ms) {
  uint64_t aborts = s->aborts;
  if (fake_wait_for(idle, s, timeout_ms)) return RT_STREAM_TIMEOUT;
  if (s->aborts != aborts) return RT_STREAM_ABORT;
  int code = s->error;
  s->error = 0;
  return code;
}

int fake_sleep(fake_stream *s, double us) {
  int64_t until = fake_now_us() + (int64_t)us;
  const char *call = fake_call();
  struct timespec t = {until / 1000000, until % 1000000 * 1000};
  while (fake_now_us() < until && !(s && (s->abort || s->gone))) pthread_cond_timedwait(&fake.changed, &fake.lock, &t);
  fake_name_call(call);
  return 0;
}

static bool vacant(void *p) { return ((fake_device *)p)->running < fake.parallel; }

void fake_occupy(fake_device *d) {
  fake_wait_for(vacant, d, -1);
  d->running++;
}

void fake_vacate(fake_device *d) {
  d->running--;
  pthread_cond_broadcast(&fake.changed);
}

// NULL stands for the default stream of the current context.
bool fake_stream_of(aclrtStream handle, fake_stream **out, int *code) {
  fake_context *c = fake_current();
  if (!c) return *code = fake_no_context(), false;
  if ((*code = fake_usable(c->device))) return false;
  if ((*out = handle ? fake_live(handle, STREAM) : c->stream)) return true;
  fake_violate(fake_dead(handle, STREAM) ? "stale-stream" : "garbage-handle", "%p is no stream", handle);
  *code = fake_fail(RT_HANDLE, NULL, "the stream is not valid");
  return false;
}

int fake_own_stream(aclrtStream handle, fake_context *c, fake_stream **out) {
  int code;
  if (!fake_stream_of(handle, out, &code)) return code;
  if ((*out)->ctx == c) return 0;
  fake_violate("stream-of-other-context", "%p", handle);
  return fake_fail(RT_STREAM_CONTEXT, fake.release >= R91 ? "EE1010" : "EE1001", "%s execution failed because the stream does not belong to the current context. Extended information: none.", fake_call());
}

static int create(aclrtStream *stream) {
  if (!stream) return fake_null("stream");
  NEED_CONTEXT(c);
  if (c->device->streams >= fake.stream_limit) return fake_fail(RT_NO_STREAM, NULL, "no stream is left");
  fake_stream *s = fake_new(STREAM, sizeof *s);
  s->ctx = c, s->device = c->device, s->id = fake.streams_made++;
  c->device->streams++;
  *stream = s;
  return 0;
}

aclError aclrtCreateStream(aclrtStream *stream) {
  CALL;
  return create(stream);
}

aclError aclrtCreateStreamWithConfig(aclrtStream *stream, uint32_t priority, uint32_t flag) {
  CALL;
  (void)priority, (void)flag;
  return create(stream);
}

void fake_stream_gone(fake_stream *s) {
  s->gone = s->ending = true;
  s->device->streams--;
  pthread_cond_broadcast(&fake.changed);
  fake_end(s);
}

static int destroy(aclrtStream stream, bool wait) {
  if (!stream) return fake_null("stream");
  NEED_CONTEXT(c);
  if (fake.release == R91 && fake_dead(stream, STREAM)) fake_violate("stale-stream", "destroyed twice"), abort();  // as the real one
  fake_stream *s;
  int code = fake_own_stream(stream, c, &s);
  if (code) return code;
  if (s == c->stream) {
    fake_violate("default-stream-destroyed", "it goes with its context");
    return fake_fail(RT_PARAM, NULL, "the default stream cannot be destroyed");
  }
  if (wait) fake_drain(s, -1);
  fake_stream_gone(s);
  return 0;
}

aclError aclrtDestroyStream(aclrtStream stream) {
  CALL;
  return destroy(stream, true);
}

aclError aclrtDestroyStreamForce(aclrtStream stream) {
  CALL;
  return destroy(stream, false);
}

static int told(int code) { return code ? fake_fail(code, NULL, "%s", code == RT_STREAM_TIMEOUT ? "the stream did not end in time" : "a task of the stream failed") : 0; }

static int synchronize(aclrtStream stream, int timeout_ms) {
  fake_stream *s;
  int code;
  if (!fake_stream_of(stream, &s, &code)) return code;
  if (s->ctx != fake_current()) {
    if (fake.release < R85) return fake_own_stream(stream, fake_current(), &s);
    fake.foreign_syncs++;
    fake_note("foreign-sync", "older releases refuse a stream of another context");
  }
  return told(fake_drain(s, timeout_ms));
}

aclError aclrtSynchronizeStream(aclrtStream stream) {
  CALL;
  return synchronize(stream, -1);
}

aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout) {
  CALL;
  if (timeout == 0) return fake_value(RT_PARAM, "EE1003", "timeout", 0, "-1 or more than 0");
  if (timeout < -1) return fake_value(RT_PARAM, "EH0007", "timeout", timeout, "-1 or more than 0");
  return synchronize(stream, timeout);
}

static int synchronize_device(int timeout_ms) {
  NEED_CONTEXT(c);
  int64_t until = fake_now_us() + timeout_ms * 1000LL;
  int found = 0;
  for (object *o = fake_first(), *next; o; o = next) {
    next = o->after;
    fake_stream *s = (fake_stream *)o;
    if (o->kind != STREAM || s->device != c->device || (!s->head && !s->error)) continue;
    int left = timeout_ms < 0 ? -1 : (int)((until - fake_now_us()) / 1000);
    int code = fake_drain(s, timeout_ms < 0 ? -1 : left < 1 ? 1 : left);
    if (code && !found) found = code;
    next = fake_first();  // the list may have changed meanwhile; a drained stream is passed over
    if (code == RT_STREAM_TIMEOUT) break;
  }
  return told(found);
}

aclError aclrtSynchronizeDevice(void) {
  CALL;
  return synchronize_device(-1);
}

aclError aclrtSynchronizeDeviceWithTimeout(int32_t timeout) {
  CALL;
  if (timeout == 0 || timeout < -1) return fake_value(RT_PARAM, "EE1003", "timeout", timeout, "-1 or more than 0");
  return synchronize_device(timeout);
}

aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus *status) {
  CALL;
  if (!status) return fake_null("status");
  fake_stream *s;
  int code;
  if (!fake_stream_of(stream, &s, &code)) return code;
  *status = s->head ? ACL_STREAM_STATUS_NOT_READY : ACL_STREAM_STATUS_COMPLETE;
  return 0;
}

static void abort_stream(fake_stream *s) {
  s->abort = true, s->aborts++;
  while (s->head && s->head->next) {
    fake_op *op = s->head->next;
    s->head->next = op->next;
    if (op->drop) op->drop(op);
    free(op);
  }
  s->tail = s->head;
  pthread_cond_broadcast(&fake.changed);
  fake_wait_for(idle, s, -1);
  s->abort = false, s->error = 0;
}

aclError aclrtStreamAbort(aclrtStream stream) {
  CALL;
  if (!stream) return fake_null("stream");
  fake_stream *s;
  int code;
  if (!fake_stream_of(stream, &s, &code)) return code;
  abort_stream(s);
  return 0;
}

aclError aclrtDeviceTaskAbort(int32_t id, uint32_t timeout) {
  CALL;
  (void)timeout;
  NEED_CONTEXT(c);
  for (object *o = fake_first(), *next; o; o = next) {
    next = o->after;
    if (o->kind == STREAM && ((fake_stream *)o)->device == c->device && ((fake_stream *)o)->head) abort_stream((fake_stream *)o), next = fake_first();
  }
  (void)id;
  return 0;
}

aclError aclrtSetStreamFailureMode(aclrtStream stream, uint64_t mode) {
  CALL;
  NEED_CONTEXT(c);
  if (!stream) return fake_value(RT_PARAM, "EE1003", "stream", 0, "not the default stream");
  fake_stream *s;
  int code = fake_own_stream(stream, c, &s);
  if (!code) s->stop = mode == 1;
  return code;
}

aclError aclrtStreamGetId(aclrtStream stream, int32_t *id) {
  CALL;
  if (!id) return fake_null("streamId");
  fake_stream *s;
  int code;
  if (!fake_stream_of(stream, &s, &code)) return code;
  *id = s->id;
  return 0;
}

aclError aclrtGetStreamAvailableNum(uint32_t *count) {
  CALL;
  if (!count) return fake_null("streamCount");
  NEED_CONTEXT(c);
  *count = fake.stream_limit - c->device->streams;
  return 0;
}

aclError aclrtSetExceptionInfoCallback(aclrtExceptionInfoCallback callback) {
  CALL;
  on_exception = callback;
  return 0;
}

uint32_t aclrtGetDeviceIdFromExceptionInfo(const aclrtExceptionInfo *info) { return info ? info->device : UINT32_MAX; }
