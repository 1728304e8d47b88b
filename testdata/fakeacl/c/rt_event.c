// Events, and the callbacks that a subscribed thread runs.
#include "fake.h"

static int create(aclrtEvent *event, uint32_t flag, bool ex, bool plain) {
  if (!event) return fake_null("event");
  NEED_CONTEXT(c);
  if (!ex && c->device->events >= fake.event_limit) return fake_fail(RT_NO_EVENT, NULL, "no event is left");
  fake_event *e = fake_new(EVENT, sizeof *e);
  e->device = c->device, e->flag = flag, e->ex = ex, e->plain = plain;
  if (!ex) c->device->events++;
  *event = e;
  return 0;
}

aclError aclrtCreateEvent(aclrtEvent *event) {
  CALL;
  return create(event, 9, false, true);
}

aclError aclrtCreateEventWithFlag(aclrtEvent *event, uint32_t flag) {
  CALL;
  if (!flag || flag == 64) return fake_value(RT_PARAM, "EE1003", "flag", flag, "a sum of 1, 2, 8, 16, 32");
  return create(event, flag, false, false);
}

aclError aclrtCreateEventExWithFlag(aclrtEvent *event, uint32_t flag) {
  CALL;
  if (!flag) return fake_value(RT_PARAM, "EE1003", "flag", flag, "a sum of 1, 2, 8");
  return create(event, flag, true, false);
}

static int find(aclrtEvent handle, fake_event **out) {
  if (!handle) return fake_null("event");
  if ((*out = fake_live(handle, EVENT))) return 0;
  fake_violate(fake_dead(handle, EVENT) ? "stale-event" : "garbage-handle", "%p is no event", handle);
  return fake_fail(RT_HANDLE, NULL, "the event is not valid");
}

aclError aclrtDestroyEvent(aclrtEvent event) {
  CALL;
  fake_event *e;
  int code = find(event, &e);
  if (code) return code;
  if (e->recorded > e->done) fake_violate("event-in-use", "%p is recorded and not reached", event);
  if (!e->ex) e->device->events--;
  fake_end(e);
  return 0;
}

static int own(aclrtEvent event, aclrtStream stream, fake_event **e, fake_stream **s) {
  int code = find(event, e);
  if (code) return code;
  NEED_CONTEXT(c);
  if ((code = fake_own_stream(stream, c, s))) return code;
  if ((*e)->device == c->device) return 0;
  fake_violate("event-of-other-context", "%p", event);
  return fake_fail(RT_STREAM_CONTEXT, "EE1010", "%s execution failed because the event does not belong to the current context. Extended information: none.", fake_call());
}

static int run_record(fake_op *op) {
  fake_event *e = op->a;
  if ((int64_t)e->done < op->value) e->done = op->value;
  e->stamp_us = fake_now_us();
  return 0;
}

aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream) {
  CALL;
  fake_event *e;
  fake_stream *s;
  int code = own(event, stream, &e, &s);
  if (code) return code;
  if (e->waits_for_reset) fake_violate("event-without-reset", "an event made with SYNC needs aclrtResetEvent between two records");
  e->waits_for_reset = !e->ex && !e->plain && e->flag & 1;
  fake_op *op = fake_op_new(run_record);
  op->a = e, op->value = ++e->recorded;
  e->stream = s;
  return fake_queue(s, op);
}

static int nothing(fake_op *op) {
  (void)op;
  return 0;
}

aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream) {
  CALL;
  fake_event *e;
  fake_stream *s;
  int code = own(event, stream, &e, &s);
  if (code) return code;
  if (e->ex) return fake_fail(RT_UNSUPPORTED, NULL, "not for this kind of event");
  e->waits_for_reset = false;
  return fake_queue(s, fake_op_new(nothing));
}

typedef struct { fake_event *e; uint64_t want; fake_stream *s; } wait;

static bool reached(void *p) {
  wait *w = p;
  return w->e->done >= w->want || !w->e->o.alive || (w->s && (w->s->abort || w->s->gone));
}

static int run_wait(fake_op *op) {
  wait w = {op->a, op->value, op->stream};
  fake_wait_for(reached, &w, -1);
  return 0;
}

aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event) {
  CALL;
  fake_event *e;
  fake_stream *s;
  int code = own(event, stream, &e, &s);
  if (code) return code;
  if (!e->ex && !e->plain && !(e->flag & 1)) {
    fake_violate("event-without-sync", "an event made without SYNC cannot be waited on");
    if (fake.release >= R91) return fake_silent(RT_UNSUPPORTED);
  }
  if (!e->recorded) {
    fake_violate("wait-before-record", "%p was never recorded", event);
    if (e->plain && fake.release >= R91) return fake_fail(RT_PARAM, "EE1018", "Waiting for an event failed. Reason: The event has not been recorded.");
  }
  fake_op *op = fake_op_new(run_wait);
  op->a = e, op->value = e->recorded;
  return fake_queue(s, op);
}

static int synchronize(aclrtEvent event, int timeout_ms) {
  fake_event *e;
  int code = find(event, &e);
  if (code) return code;
  NEED_CONTEXT(c);
  wait w = {e, e->recorded, NULL};
  return fake_wait_for(reached, &w, timeout_ms) ? fake_fail(RT_EVENT_TIMEOUT, NULL, "the event was not reached in time") : 0;
}

aclError aclrtSynchronizeEvent(aclrtEvent event) {
  CALL;
  return synchronize(event, -1);
}

aclError aclrtSynchronizeEventWithTimeout(aclrtEvent event, int32_t timeout) {
  CALL;
  if (timeout == 0 || timeout < -1) return fake_value(RT_PARAM, "EE1003", "timeout", timeout, "-1 or more than 0");
  return synchronize(event, timeout);
}

aclError aclrtQueryEvent(aclrtEvent event, aclrtEventStatus *status) {
  CALL;
  fake_event *e;
  int code = find(event, &e);
  if (code) return code;
  if (!status) return fake_null("status");
  if (e->ex) return fake_fail(RT_UNSUPPORTED, NULL, "not for this kind of event");
  *status = e->recorded && e->done >= e->recorded ? ACL_EVENT_STATUS_COMPLETE : ACL_EVENT_STATUS_NOT_READY;
  return 0;
}

// Before the first record an Ex event is complete, any other is not ready.
aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus *status) {
  CALL;
  fake_event *e;
  int code = find(event, &e);
  if (code) return code;
  if (!status) return fake_null("status");
  bool done = e->recorded ? e->done >= e->recorded : e->ex;
  *status = done ? ACL_EVENT_RECORDED_STATUS_COMPLETE : ACL_EVENT_RECORDED_STATUS_NOT_READY;
  return 0;
}

aclError aclrtEventElapsedTime(float *ms, aclrtEvent start, aclrtEvent end) {
  CALL;
  if (!ms) return fake_null("ms");
  fake_event *a, *b;
  int code = find(start, &a);
  if (code || (code = find(end, &b))) return code;
  if (!a->done || !b->done || !(a->flag & 8) || !(b->flag & 8)) return fake_fail(RT_TIMESTAMP, NULL, "an event has no time stamp");
  if (b->stamp_us < a->stamp_us) return fake_fail(RT_REVERSAL, NULL, "the end lies before the start");
  *ms = (b->stamp_us - a->stamp_us) / 1000.0f;
  return 0;
}

aclError aclrtGetEventAvailNum(uint32_t *count) {
  CALL;
  if (!count) return fake_null("eventCount");
  NEED_CONTEXT(c);
  *count = fake.event_limit - c->device->events;
  return 0;
}

aclError aclrtSetOpWaitTimeout(uint32_t timeout) {
  CALL;
  (void)timeout;
  return 0;
}

aclError aclrtSetOpExecuteTimeOut(uint32_t timeout) {
  CALL;
  (void)timeout;
  return 0;
}

// ---- callbacks

typedef struct call_back { uint64_t thread; aclrtCallback fn; void *data; bool done; struct call_back *next; } call_back;
static call_back *waiting;

aclError aclrtSubscribeReport(uint64_t threadId, aclrtStream stream) {
  CALL;
  NEED_CONTEXT(c);
  fake_stream *s;
  int code = fake_own_stream(stream, c, &s);
  if (code) return code;
  if (s->subscriber) return fake_fail(107011, NULL, "the stream is subscribed already");
  s->subscriber = threadId;
  return 0;
}

aclError aclrtUnSubscribeReport(uint64_t threadId, aclrtStream stream) {
  CALL;
  NEED_CONTEXT(c);
  fake_stream *s;
  int code = fake_own_stream(stream, c, &s);
  if (code) return code;
  if (s->subscriber != threadId) return fake_fail(RT_THREAD_SUBSCRIBE, NULL, "the thread is not subscribed");
  s->subscriber = 0;
  return 0;
}

static bool called(void *p) { return ((call_back *)p)->done; }

static int run_callback(fake_op *op) {
  call_back *c = op->a, **to = &waiting;
  while (*to) to = &(*to)->next;
  *to = c;
  pthread_cond_broadcast(&fake.changed);
  if (op->value) fake_wait_for(called, c, -1);
  return 0;
}

aclError aclrtLaunchCallback(aclrtCallback fn, void *userData, aclrtCallbackBlockType blockType, aclrtStream stream) {
  CALL;
  if (!fn) return fake_null("fn");
  NEED_CONTEXT(c);
  fake_stream *s;
  int code = fake_own_stream(stream, c, &s);
  if (code) return code;
  if (!s->subscriber) return fake_fail(RT_NO_CALLBACK, NULL, "no thread is subscribed to the stream");
  call_back *b = calloc(1, sizeof *b);
  *b = (call_back){s->subscriber, fn, userData, false, NULL};
  fake_op *op = fake_op_new(run_callback);
  op->a = b, op->value = blockType == ACL_CALLBACK_BLOCK;
  return fake_queue(s, op);
}

static call_back **mine(void) {
  call_back **b = &waiting;
  while (*b && (*b)->thread != (uint64_t)pthread_self()) b = &(*b)->next;
  return b;
}

static bool some(void *p) {
  (void)p;
  return *mine() != NULL;
}

static bool subscribed(void) {
  for (object *o = fake_first(); o; o = o->after)
    if (o->kind == STREAM && ((fake_stream *)o)->subscriber == (uint64_t)pthread_self()) return true;
  return false;
}

aclError aclrtProcessReport(int32_t timeout) {
  CALL;
  if (timeout == 0 || timeout < -1) return fake_value(INVALID_PARAM, "EH0007", "timeout", timeout, "-1 or more than 0");
  if (!subscribed()) return fake_fail(RT_THREAD_SUBSCRIBE, NULL, "the thread is not subscribed");
  if (fake_wait_for(some, NULL, timeout)) return fake_fail(RT_REPORT_TIMEOUT, NULL, "no callback in time");
  call_back **at = mine(), *b = *at;
  *at = b->next;
  fake_callback(b->fn, b->data);
  b->done = true;
  pthread_cond_broadcast(&fake.changed);
  return 0;
}
