// Devices and contexts.
#include "fake.h"

static __thread fake_context *current;  // of this OS thread

static int driver_missing(void) { return fake_fail(RT_DRIVER, NULL, "Call driver api drvGetDevNum failed, drvRetCode=7."); }

static int bad_id(long id) {
  char range[32];
  snprintf(range, sizeof range, "[0, %d)", fake.visible_count);
  return fake_value(RT_DEVICE_ID, fake.release >= R91 ? "EE1003" : "EE1001", "deviceId", id, range);
}

static bool known(int32_t id) { return id >= 0 && id < fake.visible_count && fake.devices > 0; }

static fake_device *device(int32_t id) { return &fake.device[fake.visible[id]]; }

int fake_usable(fake_device *d) {
  fake_check_init();
  if (fake.strict_init && !fake.inits) return fake_fail(UNINITIALIZE, NULL, "ACL is not initialized");
  return d && d->lost ? fake_fail(RT_DRIVER, NULL, "device %d is lost: drvRetCode=46", d->id) : 0;
}

fake_context *fake_current(void) {
  if (!current || (fake_live(current, CONTEXT) && current->o.alive)) return current;
  fake_violate("stale-context", "the current context of this thread was destroyed, or its device reset");
  return NULL;
}

// The thread of a stream acts in the stream's context.
void fake_adopt(fake_context *c) { current = c; }

static fake_context *new_context(fake_device *d, bool primary) {
  fake_context *c = fake_new(CONTEXT, sizeof *c);
  c->device = d, c->primary = primary, c->o.spared = primary;
  c->stream = fake_new(STREAM, sizeof *c->stream);
  c->stream->o.spared = true;
  c->stream->ctx = c, c->stream->device = d, c->stream->id = fake.streams_made++;
  d->streams++;
  return c;
}

aclError aclrtGetDeviceCount(uint32_t *count) {
  CALL;
  if (!count) return fake_null("count");
  *count = 0;
  if (!fake.driver) return driver_missing();
  if (fake.devices && fake.visible_refused) return fake_fail(RT_NO_DEVICE, NULL, "ASCEND_RT_VISIBLE_DEVICES leaves no device");
  *count = fake.visible_count;
  return 0;
}

aclError aclrtSetDevice(int32_t id) {
  CALL;
  if (!fake.driver) return driver_missing();
  if (!known(id)) return bad_id(id);
  fake_device *d = device(id);
  int code = fake_usable(d);
  if (code) return code;
  if (!fake.starts) return fake_fail(RT_DEV_SETUP, NULL, "device %d cannot be set up: the service process did not start", d->id);
  if (!d->started && fake.set_device_ms) fake_sleep(NULL, fake.set_device_ms * 1000.0);
  if (!d->started && fake.release >= R91) fake_thread("RT_SEND"), fake_thread("RT_RECV");
  d->started = true;
  if (!d->set++) d->primary = new_context(d, true);
  current = d->primary;
  return 0;
}

// Everything of the device dies with its last set; what was made by hand
// should have been taken down by hand.
static void down(fake_device *d, bool forced) {
  if (fake.device_gone) fake.device_gone(d);
  for (object *o = fake_first(), *next; o; o = next) {
    next = o->after;
    fake_device *of = o->kind == STREAM ? ((fake_stream *)o)->device : o->kind == EVENT ? ((fake_event *)o)->device : NULL;
    if (of != d || o->spared) continue;
    fake_violate("reset-with-live", "%s %p", o->kind == STREAM ? "stream" : "event", (void *)o);
    if (o->kind == EVENT) fake_end(o);
    else fake_stream_gone((fake_stream *)o);
  }
  for (object *o = fake_first(), *next; o; o = next) {
    next = o->after;
    if (o->kind != CONTEXT || ((fake_context *)o)->device != d) continue;
    if (!o->spared) fake_violate("reset-with-live", "context %p", (void *)o);
    fake_kill_context((fake_context *)o);
    next = fake_first();  // a context takes its stream with it
  }
  fake_memory_gone(d, forced);
  d->primary = NULL, d->set = 0;
}

static int reset(int32_t id, bool force) {
  if (!fake.driver) return driver_missing();
  if (!known(id)) return fake.devices ? bad_id(id) : fake_fail(RT_RELEASE, "EE1018", "%s failed. Reason: The device has not been set or has already been reset.", fake_call());
  fake_device *d = device(id);
  if (!d->set) return fake_fail(RT_RELEASE, fake.release >= HEAD ? "EE1018" : "EE1001", "%s failed. Reason: Device %d has not been set or has already been reset.", fake_call(), id);
  if (force || d->set == 1) down(d, force);
  else d->set--;
  return 0;
}

aclError aclrtResetDevice(int32_t id) {
  CALL;
  return reset(id, false);
}

aclError aclrtResetDeviceForce(int32_t id) {
  CALL;
  return reset(id, true);
}

aclError aclrtGetDevice(int32_t *id) {
  CALL;
  if (!id) return fake_null("deviceId");
  NEED_CONTEXT(c);
  for (int i = 0; i < fake.visible_count; i++)
    if (device(i) == c->device) *id = i;
  return 0;
}

aclError aclrtGetRunMode(aclrtRunMode *mode) {
  CALL;
  if (!mode) return fake_null("runMode");
  *mode = fake.rc ? ACL_DEVICE : ACL_HOST;
  return 0;
}

aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t *free, size_t *total) {
  CALL;
  if (!free) return fake_null("free");
  if (!total) return fake_null("total");
  NEED_CONTEXT(c);
  if (attr < 0 || (int)attr > 17) return fake_fail(RT_MEM_TYPE, NULL, "memory type %d is unknown", (int)attr);
  *total = fake.memory;
  *free = fake.memory - c->device->used;
  return 0;
}

aclError aclrtQueryDeviceStatus(int32_t id, aclrtDeviceStatus *status) {
  CALL;
  if (!status) return fake_null("deviceStatus");
  if (!fake.driver) return driver_missing();
  *status = known(id) && device(id)->lost ? ACL_RT_DEVICE_STATUS_ABNORMAL : ACL_RT_DEVICE_STATUS_NORMAL;
  return 0;
}

aclError aclrtGetDeviceUtilizationRate(int32_t id, aclrtUtilizationInfo *info) {
  CALL;
  if (!info) return fake_null("utilizationInfo");
  if (info->extend) return fake_value(INVALID_PARAM, "EH0007", "utilizationExtend", 1, "NULL");
  int busy = known(id) && device(id)->running ? 100 : 0;
  info->cube = busy, info->vector = busy, info->aicpu = 0, info->memory = -1;
  return 0;
}

aclError aclGetDeviceCapability(uint32_t id, aclDeviceInfo what, int64_t *value) {
  CALL;
  if (!value) return fake_null("value");
  if (what < 0 || what > 2) return fake_value(INVALID_PARAM, "EH0007", "deviceInfo", what, "[0, 2]");
  if (!fake.driver) return driver_missing();
  if (!known(id)) return fake_fail(INTERNAL, NULL, "no platform information of device %u", id);
  *value = (int64_t[]){8, 7, 16 << 20}[what];
  return 0;
}

aclError aclrtCreateContext(aclrtContext *context, int32_t id) {
  CALL;
  if (!context) return fake_null("context");
  if (!known(id) || !fake.driver) return bad_id(id);
  fake_device *d = device(id);
  int code = fake_usable(d);
  if (code) return code;
  *context = current = new_context(d, false);
  return 0;
}

void fake_kill_context(fake_context *c) {
  fake_stream_gone(c->stream);
  fake_end(c);
}

aclError aclrtDestroyContext(aclrtContext context) {
  CALL;
  if (!context) return fake_null("context");
  fake_context *c = fake_live(context, CONTEXT);
  if (!c) {
    fake_violate(fake_dead(context, CONTEXT) ? "context-destroyed-twice" : "garbage-handle", "%p is no context", context);
    return fake_no_context();
  }
  if (c->primary) {
    fake_violate("default-context-destroyed", "it goes with the device");
    return fake_fail(RT_NO_CONTEXT, fake.release >= R91 ? "EE1017" : "EE1001", "%s failed. Parameter context is invalid. Reason: Primary context cannot be destroyed explicitly.", fake_call());
  }
  for (object *o = fake_first(); o; o = o->after)
    if (o->kind == STREAM && !o->spared && ((fake_stream *)o)->ctx == c) {
      fake_violate("context-with-streams", "stream %p is still there", (void *)o);
      break;
    }
  fake_kill_context(c);
  if (current == c) current = NULL;
  return 0;
}

aclError aclrtSetCurrentContext(aclrtContext context) {
  CALL;
  if (!context) return fake_null("context");
  fake_context *c = fake_live(context, CONTEXT);
  if (c) return current = c, 0;
  fake_violate(fake_dead(context, CONTEXT) ? "stale-context" : "garbage-handle", "%p is no context", context);
  if (fake.release < R91) abort();  // the real one dereferences it
  return fake_fail(RT_PARAM, fake.release >= HEAD ? "EE1018" : "EE1001", "%s failed. Reason: The context is not valid.", fake_call());
}

aclError aclrtGetCurrentContext(aclrtContext *context) {
  CALL;
  if (!context) return fake_null("context");
  NEED_CONTEXT(c);
  *context = c;
  return 0;
}

aclError aclrtCtxGetCurrentDefaultStream(aclrtStream *stream) {
  CALL;
  if (!stream) return fake_null("stream");
  NEED_CONTEXT(c);
  *stream = c->stream;
  return 0;
}
