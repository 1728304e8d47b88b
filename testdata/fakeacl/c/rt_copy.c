// Copies, sets, data buffers: what moves bytes.
#include "fake.h"

void fake_move(void *dst, const void *src, size_t n) {
  void *to = fake_shadow(dst), *from = fake_shadow(src);
  int64_t begin = fake_now_us();
  pthread_mutex_unlock(&fake.lock);
  if (n) memmove(to, from, n);
  pthread_mutex_lock(&fake.lock);
  double us = fake.copy_mb_s > 0 ? n / fake.copy_mb_s : 0;
  double left = us - (fake_now_us() - begin);
  if (left > 0) fake_sleep(NULL, left);
}

// side checks one end of a copy: is it of the side that the kind says, and in
// bounds?
static int side(const void *p, size_t n, bool device, bool any, const char *name) {
  region *r = fake_region(p, n);
  bool on_device = r && (!r->pinned || fake.rc);
  if (r && !r->alive) {
    fake_violate("use-after-free", "%s %p was freed", name, p);
    return fake_fail(RT_PARAM, "EE1003", "%s failed because %s is not valid.", fake_call(), name);
  }
  if (!any && !fake.rc && device != on_device) {
    fake_violate("copy-direction", "%s %p is %s memory", name, p, on_device ? "device" : "host");
    return fake_fail(RT_PARAM, "EE1003", "%s failed because %s is on the other side.", fake_call(), name);
  }
  if (r && ((const char *)p < r->at || (const char *)p + n > r->at + r->size)) {
    fake_violate("copy-out-of-bounds", "%s: %zu bytes at %p of an allocation of %zu bytes at %p", name, n, p, r->size, r->at);
    return fake_fail(RT_PARAM, "EE1003", "%s failed because %s is out of bounds.", fake_call(), name);
  }
  return 0;
}

static int judge(void *dst, size_t max, const void *src, size_t n, int kind) {
  if (max < n) return fake_value(RT_PARAM, fake.release >= R91 ? "EE1003" : "EE1001", "destMax", (long long)max, "at least count");
  if (!n && fake.release >= R91) return 0;
  if (!dst) return fake_null("dst");
  if (!src) return fake_null("src");
  if (!n) return fake_value(RT_PARAM, "EE1001", "count", 0, "(0, MAX]");
  if (kind < 0 || kind > 5 || (kind > 3 && fake.release < R85)) return fake_value(INVALID_PARAM, fake.release >= R91 ? "EH0007" : "EH0001", "kind", kind, "[0, 5]");
  return 0;
}

static int sides(void *dst, const void *src, size_t n, int kind) {
  bool any = kind == ACL_MEMCPY_DEFAULT;
  int code = side(dst, n, kind == 1 || kind == 3 || kind == 5, any, "dst");
  return code ? code : side(src, n, kind == 2 || kind == 3, any, "src");
}

aclError aclrtMemcpy(void *dst, size_t destMax, const void *src, size_t count, aclrtMemcpyKind kind) {
  CALL;
  int code = judge(dst, destMax, src, count, kind);
  if (code || !count || (dst == src && fake.release >= R91)) return code;
  NEED_CONTEXT(c);
  if ((code = sides(dst, src, count, kind))) return code;
  if (fake_pending(src, count, false)) fake_violate("read-before-sync", "%p is written by work that has not ended", src);
  if (fake_pending(dst, count, true)) fake_violate("write-in-flight", "%p is used by work that has not ended", dst);
  fake_move(dst, src, count);
  return 0;
}

static int run_copy(fake_op *op) {
  for (size_t i = 0; i < op->ranges; i++) {
    region *r = fake_region(op->range[i].at, op->range[i].n);
    if (r && !r->alive) {
      fake_violate("use-after-free", "%p was freed before the copy came to it", op->range[i].at);
      return RT_AICORE;
    }
  }
  fake_move(op->a, op->c, op->n);
  return 0;
}

static bool pageable(const void *p) { return !fake_region(p, 1); }

aclError aclrtMemcpyAsync(void *dst, size_t destMax, const void *src, size_t count, aclrtMemcpyKind kind, aclrtStream stream) {
  CALL;
  int code = judge(dst, destMax, src, count, kind);
  if (code || !count) return code;
  NEED_CONTEXT(c);
  fake_stream *s;
  if ((code = fake_own_stream(stream, c, &s)) || (code = sides(dst, src, count, kind))) return code;
  if (kind == ACL_MEMCPY_HOST_TO_HOST && !fake.rc) return fake_fail(RT_UNSUPPORTED, NULL, "a copy from host to host is not supported here");
  if (pageable(dst) || pageable(src)) {
    fake.unpinned++;
    code = fake_drain(s, -1);
    fake_move(dst, src, count);
    return code ? fake_fail(code, NULL, "a task of the stream failed") : 0;
  }
  fake_op *op = fake_op_new(run_copy);
  op->a = dst, op->c = src, op->n = count;
  fake_op_range(op, dst, count, true);
  fake_op_range(op, src, count, false);
  return fake_queue(s, op);
}

static int judge_set(void *p, size_t max, size_t n) {
  if (n && !p) return fake_null("devPtr");
  if (!n && fake.release < R91) return p ? fake_value(RT_PARAM, "EE1001", "count", 0, "(0, MAX]") : fake_null("devPtr");
  if (!n) return 0;
  // More than maxCount is left to the driver, which nobody has seen.
  if (n > max) fake_violate("memset-over-max", "count %zu of %zu", n, max);
  return 0;
}

aclError aclrtMemset(void *devPtr, size_t maxCount, int32_t value, size_t count) {
  CALL;
  int code = judge_set(devPtr, maxCount, count);
  if (code || !count) return code;
  NEED_CONTEXT(c);
  size_t room = fake_room(devPtr);
  if (room < count && room) fake_violate("copy-out-of-bounds", "%zu bytes at %p", count, devPtr), count = room;
  else if ((code = side(devPtr, count, true, false, "devPtr"))) return code;
  if (fake_pending(devPtr, count, true)) fake_violate("write-in-flight", "%p is used by work that has not ended", devPtr);
  memset(fake_shadow(devPtr), value, count);
  return 0;
}

static int run_set(fake_op *op) {
  if (fake_room(op->a) < op->n) return RT_AICORE;
  memset(fake_shadow(op->a), (int)op->value, op->n);
  return 0;
}

aclError aclrtMemsetAsync(void *devPtr, size_t maxCount, int32_t value, size_t count, aclrtStream stream) {
  CALL;
  int code = judge_set(devPtr, maxCount, count);
  if (code || !count) return code;
  NEED_CONTEXT(c);
  fake_stream *s;
  if ((code = fake_own_stream(stream, c, &s)) || (code = side(devPtr, count, true, false, "devPtr"))) return code;
  fake_op *op = fake_op_new(run_set);
  op->a = devPtr, op->n = count, op->value = value;
  fake_op_range(op, devPtr, count, true);
  return fake_queue(s, op);
}

// ---- data buffers

aclDataBuffer *aclCreateDataBuffer(void *data, size_t size) {
  CALL_QUIET;
  aclDataBuffer *b = fake_new(BUFFER, sizeof *b);
  b->data = data, b->size = size;
  return b;
}

static aclDataBuffer *buffer_of(const aclDataBuffer *b, bool changing) {
  aclDataBuffer *live = fake_live(b, BUFFER);
  if (!live && b) fake_violate(fake_dead(b, BUFFER) ? "stale-data-buffer" : "garbage-handle", "%p is no data buffer", (const void *)b);
  if (changing && live && fake.buffer_busy && fake.buffer_busy(live))
    fake_violate("dataset-in-flight", "data buffer %p belongs to a run that has not ended", (const void *)b);
  return live;
}

aclError aclDestroyDataBuffer(const aclDataBuffer *dataBuffer) {
  CALL;
  if (!dataBuffer) return fake_null("dataBuffer");
  aclDataBuffer *b = buffer_of(dataBuffer, true);
  if (b) fake_end(b);
  return 0;
}

aclError aclUpdateDataBuffer(aclDataBuffer *dataBuffer, void *data, size_t size) {
  CALL;
  if (!dataBuffer) return fake_null("dataBuffer");
  aclDataBuffer *b = buffer_of(dataBuffer, true);
  if (b) b->data = data, b->size = size, b->changed++;
  return 0;
}

void *aclGetDataBufferAddr(const aclDataBuffer *dataBuffer) {
  CALL_QUIET;
  aclDataBuffer *b = buffer_of(dataBuffer, false);
  return b ? b->data : NULL;
}

size_t aclGetDataBufferSizeV2(const aclDataBuffer *dataBuffer) {
  CALL_QUIET;
  aclDataBuffer *b = buffer_of(dataBuffer, false);
  return b ? b->size : 0;
}

uint32_t aclGetDataBufferSize(const aclDataBuffer *dataBuffer) {
  CALL_QUIET;
  aclDataBuffer *b = buffer_of(dataBuffer, false);
  return b ? (uint32_t)b->size : 0;
}

size_t aclDataTypeSize(aclDataType dataType) {
  switch ((int)dataType) {
    case -1: case 13: return 0;
    case 1: case 6: case 7: case 27: return 2;
    case 2: case 4: case 12: case 29: case 30: case 34: case 35: case 36: case 37: return 1;
    case 0: case 3: case 8: case 33: return 4;
    case 17: return 16;
    default: return 8;  // what it does not list too
  }
}
