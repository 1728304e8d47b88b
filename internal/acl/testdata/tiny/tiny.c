// A simulated ACL of a few hundred lines for the binding's own rules: what it
// frees, in which order, on which thread, and what it never hands to the
// library. It computes y = 2x. TINY_FAIL="call:code,call:code" makes calls fail.
// TINY_LOG names a file that gets a line for each call that matters, and at
// aclFinalize one with what is left over.
#define _GNU_SOURCE
#include "../../acl_abi.h"
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int inits, live;
static _Thread_local char text[4096];
static _Thread_local int context;

static void say(const char *format, ...) {
  const char *file = getenv("TINY_LOG");
  int fd = file ? open(file, O_WRONLY | O_APPEND | O_CREAT, 0600) : -1;
  if (fd < 0) return;
  va_list ap;
  va_start(ap, format);
  vdprintf(fd, format, ap);
  va_end(ap);
  dprintf(fd, " @%d\n", gettid());
  close(fd);
}

aclError tiny_fail(const char *name) {
  const char *all = getenv("TINY_FAIL"), *at = all ? strstr(all, name) : NULL;
  if (!at || at[strlen(name)] != ':') return 0;
  int code = atoi(at + strlen(name) + 1);
  const char *words = getenv("TINY_TEXT");
  snprintf(text, sizeof text, "%s", words ? words : "[PID: 7] 2026-11-30-10:00:00.000.001 Invalid_Argument(EE1003): made up.\n        TraceBack (most recent call last):\n        at [FILE:/opt/build/a/b.cc]\n\n[PID: 7] older(EE9999): older");
  return code;
}
#define FAIL(name) do { aclError e = tiny_fail(#name); if (e) return e; } while (0)

const char *aclGetRecentErrMsg(void) {
  static _Thread_local char out[4096];
  strcpy(out, text);
  text[0] = 0;
  return out[0] ? out : NULL;
}

#ifdef SIGNALS
static void bad(int n) { _exit(77); }
__attribute__((constructor)) static void constructor(void) {
  struct sigaction a = {.sa_handler = bad};
  int all[] = {2, 3, 4, 5, 6, 7, 8, 11, 15, 24, 25, 31, 35};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) sigaction(all[i], &a, NULL);
  static char stack[65536]; // as releases after 9.1 do
  sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, NULL);
  say("coredump=%s", getenv("ASCEND_COREDUMP_SIGNAL"));
}
#endif
#ifdef SIMULATED
int fakeacl_is_simulated(void) { return 1; }
#endif

aclError aclInit(const char *config) { FAIL(aclInit); inits++, live = 0; say("init %s", config ? config : "-"); return 0; }
aclError aclFinalize(void) { say("finalize left %d", live); live = 0; return 0; }
#ifndef OLD
aclError aclFinalizeReference(uint64_t *n) { *n = --inits; say("reference left %d", live); return 0; }
aclError aclrtGetVersion(int32_t *a, int32_t *b, int32_t *c) { *a = 1, *b = 16, *c = 0; return 0; }
#endif
const char *aclrtGetSocName(void) { return "Ascend310P3"; }
aclError aclrtGetDeviceCount(uint32_t *n) { *n = 2; return 0; }
aclError aclrtSetDevice(int32_t id) { FAIL(aclrtSetDevice); live++; say("set %d", id); return 0; }
aclError aclrtResetDevice(int32_t id) { live--; say("reset %d", id); return 0; }
aclError aclrtGetRunMode(aclrtRunMode *m) { *m = getenv("TINY_RC") ? ACL_DEVICE : ACL_HOST; return 0; }
aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t *f, size_t *t) {
  FAIL(aclrtGetMemInfo);
  *f = 1 << 20, *t = attr == ACL_DDR_MEM ? 1 << 21 : 0;
  return 0;
}

// A handle is a small block, so that a double free is caught by the C library.
static void *handle(const char *what) { live++; say("new %s", what); return malloc(16); }
static aclError drop(const char *what, void *p) { live--; say("drop %s", what); free(p); return 0; }
aclError aclrtCreateContext(aclrtContext *c, int32_t id) { FAIL(aclrtCreateContext); *c = handle("context"); context = 1; return 0; }
aclError aclrtDestroyContext(aclrtContext c) { context = 0; return drop("context", c); }
aclError aclrtCreateStream(aclrtStream *s) { FAIL(aclrtCreateStream); if (!context) return 107002; *s = handle("stream"); return 0; }
aclError aclrtDestroyStream(aclrtStream s) { return drop("stream", s); }
aclError aclrtCreateEvent(aclrtEvent *e) { *e = handle("event"); return 0; }
aclError aclrtDestroyEvent(aclrtEvent e) { return drop("event", e); }
aclError aclrtMalloc(void **p, size_t n, aclrtMemMallocPolicy policy) {
  FAIL(aclrtMalloc);
  if (!context) return 107002;
  *p = aligned_alloc(64, (n + 63) / 64 * 64 + 64);
  memset(*p, 0xa5, n);
  live++;
  say("malloc %zu", n);
  return 0;
}
aclError aclrtFree(void *p) { return drop("memory", p); }
aclError aclrtMallocHost(void **p, size_t n) { return aclrtMalloc(p, n, 0); }
aclError aclrtFreeHost(void *p) { return drop("pinned", p); }
aclError aclrtMemcpy(void *d, size_t max, const void *s, size_t n, aclrtMemcpyKind kind) {
  FAIL(aclrtMemcpy);
  say("memcpy kind %d", kind);
  memcpy(d, s, n);
  return 0;
}
aclError aclrtMemcpyAsync(void *d, size_t max, const void *s, size_t n, aclrtMemcpyKind kind, aclrtStream stream) {
  FAIL(aclrtMemcpyAsync);
  memcpy(d, s, n);
  return 0;
}
aclError aclrtMemset(void *p, size_t max, int32_t v, size_t n) { memset(p, v, n); return 0; }
#ifndef OLD
aclError aclrtQueryEventStatus(aclrtEvent e, aclrtEventRecordedStatus *s) { *s = ACL_EVENT_RECORDED_STATUS_COMPLETE; return 0; }
#endif

// Models: the file's name says the kind. Input 0 is x, FLOAT [-1 or 8, 4].
typedef struct { char kind[16]; size_t gear; } model;
static model models[64];
static uint32_t count;
static model *at(uint32_t id) { return id > 0 && id <= count ? &models[id - 1] : NULL; }
static int gears(const model *m) { return m->kind[0] == 'g'; }

static aclError load(const char *path, uint32_t *id) {
  FAIL(aclmdlLoadFromFile);
  if (!context) return 107002;
  const char *base = strrchr(path, '/');
  model *m = &models[count++];
  snprintf(m->kind, sizeof m->kind, "%s", base ? base + 1 : path);
  m->gear = strstr(m->kind, "first") ? 0 : 1;
  *id = count;
  live++;
  say("load %s", m->kind);
  return 0;
}
aclError aclmdlLoadFromFile(const char *path, uint32_t *id) { return load(path, id); }
aclError aclmdlLoadFromMem(const void *data, size_t n, uint32_t *id) {
  say("from memory %zu", n);
  char name[16] = "";
  memcpy(name, data, n < 15 ? n : 15);
  return load(name, id);
}
aclError aclmdlLoadFromFileWithMem(const char *path, uint32_t *id, void *w, size_t wn, void *g, size_t gn) {
  say("with memory %zu %zu", wn, gn);
  return load(path, id);
}
aclError aclmdlUnload(uint32_t id) { live--; say("unload"); return 0; }
aclError aclmdlQuerySize(const char *path, size_t *w, size_t *g) { FAIL(aclmdlQuerySize); *w = 320000, *g = 90624; return 0; }

struct aclmdlDesc { model *m; };
aclmdlDesc *aclmdlCreateDesc(void) { return calloc(1, sizeof(aclmdlDesc)); }
aclError aclmdlDestroyDesc(aclmdlDesc *d) { free(d); return 0; }
aclError aclmdlGetDesc(aclmdlDesc *d, uint32_t id) { FAIL(aclmdlGetDesc); d->m = at(id); return d->m ? 0 : 145003; }
static int isGear(const aclmdlDesc *d, size_t i) { return gears(d->m) && i == d->m->gear; }
size_t aclmdlGetNumInputs(aclmdlDesc *d) { return gears(d->m) ? 2 : 1; }
size_t aclmdlGetNumOutputs(aclmdlDesc *d) { return 1; }
const char *aclmdlGetInputNameByIndex(const aclmdlDesc *d, size_t i) { return isGear(d, i) ? "ascend_mbatch_shape_data" : "x"; }
const char *aclmdlGetOutputNameByIndex(const aclmdlDesc *d, size_t i) { return "acl_modelId_1_output_0"; }
const char *aclmdlGetTensorRealName(const aclmdlDesc *d, const char *name) { return name[0] == 'a' ? "/Double:0:y" : NULL; }
static aclError dims(const aclmdlDesc *d, aclmdlIODims *out) {
  int64_t n = gears(d->m) || d->m->kind[0] == 'd' ? -1 : 8;
  int two = strstr(d->m->kind, "image") || strstr(d->m->kind, "dims");
  *out = (aclmdlIODims){.dimCount = strstr(d->m->kind, "bad") ? 129 : 2, .dims = {n, two ? -1 : 4}};
  return 0;
}
aclError aclmdlGetInputDimsV2(const aclmdlDesc *d, size_t i, aclmdlIODims *out) { return dims(d, out); }
aclError aclmdlGetOutputDims(const aclmdlDesc *d, size_t i, aclmdlIODims *out) { return dims(d, out); }
#ifndef OLD
aclError aclmdlGetInputDimsRange(const aclmdlDesc *d, size_t i, aclmdlIODimsRange *r) {
  *r = (aclmdlIODimsRange){.rangeCount = d->m->kind[0] == 'd' ? 2 : 0, .range = {{1, 8}, {4, 4}}};
  return 0;
}
#endif
size_t aclmdlGetInputSizeByIndex(aclmdlDesc *d, size_t i) { return isGear(d, i) ? 16 : 128; }
size_t aclmdlGetOutputSizeByIndex(aclmdlDesc *d, size_t i) { return d->m->kind[0] == 'd' ? 0 : 128; }
aclError aclmdlGetDynamicBatch(const aclmdlDesc *d, aclmdlBatch *b) {
  *b = (aclmdlBatch){.batchCount = strstr(d->m->kind, "batch") ? 3 : 0, .batch = {1, 4, 8}};
  return 0;
}
aclError aclmdlGetDynamicHW(const aclmdlDesc *d, size_t i, aclmdlHW *hw) {
  if (i != (size_t)-1) return 100000;
  *hw = (aclmdlHW){.hwCount = strstr(d->m->kind, "image") ? 2 : 0, .hw = {{8, 4}, {4, 2}}};
  return 0;
}
aclError aclmdlGetInputDynamicGearCount(const aclmdlDesc *d, size_t i, size_t *n) { *n = strstr(d->m->kind, "dims") ? 2 : 0; return 0; }
aclError aclmdlGetInputDynamicDims(const aclmdlDesc *d, size_t i, aclmdlIODims *out, size_t n) {
  for (size_t k = 0; k < n; k++) out[k] = (aclmdlIODims){.dimCount = 2, .dims = {8 >> k, 4}};
  return 0;
}

struct aclDataBuffer { void *p; size_t n; };
struct aclmdlDataset { aclDataBuffer *b[4]; size_t n; };
struct aclTensorDesc { int64_t dims[2]; size_t n; };
static aclTensorDesc last;
aclmdlDataset *aclmdlCreateDataset(void) { live++; return calloc(1, sizeof(aclmdlDataset)); }
aclError aclmdlDestroyDataset(const aclmdlDataset *d) { return drop("dataset", (void *)d); }
aclError aclmdlAddDatasetBuffer(aclmdlDataset *d, aclDataBuffer *b) { FAIL(aclmdlAddDatasetBuffer); d->b[d->n++] = b; return 0; }
aclDataBuffer *aclCreateDataBuffer(void *p, size_t n) {
  aclDataBuffer *b = calloc(1, sizeof *b);
  b->p = p, b->n = n, live++;
  return b;
}
aclError aclDestroyDataBuffer(const aclDataBuffer *b) { return drop("wrapper", (void *)b); }
aclError aclUpdateDataBuffer(aclDataBuffer *b, void *p, size_t n) { b->p = p, b->n = n; return 0; }
void *aclGetDataBufferAddr(const aclDataBuffer *b) { return b->p; }
size_t aclGetDataBufferSizeV2(const aclDataBuffer *b) { return b->n; }
aclTensorDesc *aclCreateTensorDesc(aclDataType type, int n, const int64_t *dims, aclFormat format) {
  aclTensorDesc *d = calloc(1, sizeof *d);
  for (int i = 0; i < n && i < 2; i++) d->dims[d->n++] = dims[i];
  live++;
  return d;
}
void aclDestroyTensorDesc(const aclTensorDesc *d) { drop("tensor", (void *)d); }
aclError aclmdlSetDatasetTensorDesc(aclmdlDataset *d, aclTensorDesc *t, size_t i) { last = *t; return 0; }
aclTensorDesc *aclmdlGetDatasetTensorDesc(const aclmdlDataset *d, size_t i) { return &last; }
size_t aclGetTensorDescNumDims(const aclTensorDesc *d) { return d->n; }
aclError aclGetTensorDescDimV2(const aclTensorDesc *d, size_t i, int64_t *n) { *n = d->dims[i]; return 0; }

static aclError set(aclmdlDataset *d, size_t i, uint64_t a, uint64_t b) {
  uint64_t both[2] = {a, b};
  memcpy(d->b[i]->p, both, d->b[i]->n < 16 ? d->b[i]->n : 16);
  say("gear %zu: %d %d", i, (int)a, (int)b);
  return 0;
}
aclError aclmdlSetDynamicBatchSize(uint32_t id, aclmdlDataset *d, size_t i, uint64_t n) { return set(d, i, n, 0); }
aclError aclmdlSetDynamicHWSize(uint32_t id, aclmdlDataset *d, size_t i, uint64_t h, uint64_t w) { return set(d, i, h, w); }
aclError aclmdlSetInputDynamicDims(uint32_t id, aclmdlDataset *d, size_t i, const aclmdlIODims *x) { return set(d, i, x->dims[0], x->dims[1]); }
aclError aclmdlGetCurOutputDims(const aclmdlDesc *d, size_t i, aclmdlIODims *out) { return dims(d, out); }

static aclError run(uint32_t id, const aclmdlDataset *in, aclmdlDataset *out) {
  model *m = at(id);
  aclDataBuffer *x = in->b[gears(m) && m->gear == 0], *y = out->b[0];
  if (!y->p) { y->n = x->n; aclrtMalloc(&y->p, y->n, 0); }
  for (size_t i = 0; i < x->n / 4 && i < y->n / 4; i++) ((float *)y->p)[i] = 2 * ((float *)x->p)[i];
  return 0;
}
aclError aclmdlExecute(uint32_t id, const aclmdlDataset *in, aclmdlDataset *out) { FAIL(aclmdlExecute); return run(id, in, out); }
aclError aclmdlExecuteAsync(uint32_t id, const aclmdlDataset *in, aclmdlDataset *out, aclrtStream s) { FAIL(aclmdlExecuteAsync); return run(id, in, out); }
