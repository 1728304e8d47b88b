// Numbers come from ONNX Runtime, so that they equal those of the CPU path, or
// from a few functions a file may name.
#include <dlfcn.h>
#include <time.h>
#include "model.h"
#include "ort_abi.h"

static ort_api api;
static OrtEnv *env;
static OrtMemoryInfo *cpu;

size_t type_size(int dtype) { return aclDataTypeSize(dtype); }

// padded is the size as the compiler stores it (facts/acl.md 5.5).
size_t padded(size_t n) { return n ? (n + 32 + 31) / 32 * 32 : 0; }

// Types of ACL and of ONNX.
static const struct { int acl, onnx; } types[] = {{0, 1}, {1, 10}, {2, 3}, {3, 6}, {4, 2}, {6, 5}, {7, 4}, {8, 12}, {9, 7}, {10, 13}, {11, 11}, {12, 9}, {27, 16}};

static int onnx_type(int acl) {
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (types[i].acl == acl) return types[i].onnx;
  return 0;
}

static int acl_type(int onnx) {
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (types[i].onnx == onnx) return types[i].acl;
  return -1;
}

static __thread char said[512];

static const char *wrong(OrtStatus *s) {
  if (!s) return NULL;
  snprintf(said, sizeof said, "%s", ort_GetErrorMessage(api, s));
  ort_ReleaseStatus(api, s);
  return said;
}

static const char *open_library(void) {
  if (api) return NULL;
  if (!*fake.ort) return "FAKEACL_ORT names no libonnxruntime.so";
  void *lib = dlopen(fake.ort, RTLD_NOW | RTLD_LOCAL);
  void *base = lib ? dlsym(lib, "OrtGetApiBase") : NULL;
  if (!base) return snprintf(said, sizeof said, "%s", dlerror()), said;
  api = ort_table(ort_base(base));
  if (!api) return "this ONNX Runtime is too old";
  const char *bad = wrong(ort_env(api, &env));
  return bad ? bad : wrong(ort_CreateCpuMemoryInfo(api, ORT_ALLOCATOR_ARENA, ORT_MEMTYPE_DEFAULT, &cpu));
}

typedef struct { OrtSession *s; size_t inputs, outputs; char *in[FAKE_MAX_IO], *out[FAKE_MAX_IO]; } session;

static const char *names(session *s) {
  OrtAllocator *a;
  const char *bad = wrong(ort_GetAllocatorWithDefaultOptions(api, &a));
  if (bad || (bad = wrong(ort_SessionGetInputCount(api, s->s, &s->inputs))) || (bad = wrong(ort_SessionGetOutputCount(api, s->s, &s->outputs)))) return bad;
  if (s->inputs > FAKE_MAX_IO || s->outputs > FAKE_MAX_IO) return "too many inputs or outputs";
  for (size_t i = 0; i < s->inputs; i++)
    if ((bad = wrong(ort_port_name(api, s->s, 0, i, a, &s->in[i])))) return bad;
  for (size_t i = 0; i < s->outputs; i++)
    if ((bad = wrong(ort_port_name(api, s->s, 1, i, a, &s->out[i])))) return bad;
  return NULL;
}

const char *compute_open(model *m) {
  if (m->file.payload == 2) return NULL;
  const char *bad = open_library();
  if (bad) return bad;
  OrtSessionOptions *o;
  if ((bad = wrong(ort_CreateSessionOptions(api, &o)))) return bad;
  session *s = calloc(1, sizeof *s);
  bad = wrong(ort_SetIntraOpNumThreads(api, o, 1));
  if (!bad) bad = wrong(ort_CreateSessionFromArray(api, env, m->file.body, m->file.body_size, o, &s->s));
  ort_ReleaseSessionOptions(api, o);
  if (!bad) bad = names(s);
  if (bad) return free(s), bad;
  m->session = s;
  return NULL;
}

void compute_close(model *m) {
  session *s = m->session;
  m->session = NULL;
  if (!s) return;
  OrtAllocator *a;
  if (!wrong(ort_GetAllocatorWithDefaultOptions(api, &a))) {
    for (size_t i = 0; i < s->inputs; i++) wrong(ort_AllocatorFree(api, a, s->in[i]));
    for (size_t i = 0; i < s->outputs; i++) wrong(ort_AllocatorFree(api, a, s->out[i]));
  }
  ort_ReleaseSession(api, s->s);
  free(s);
}

static const char *take(OrtValue *v, value *to) {
  OrtTensorTypeAndShapeInfo *info;
  void *data;
  int type;
  size_t rank;
  const char *bad = wrong(ort_GetTensorTypeAndShape(api, v, &info));
  if (bad) return bad;
  if (!(bad = wrong(ort_GetTensorElementType(api, info, &type))) && !(bad = wrong(ort_GetDimensionsCount(api, info, &rank))) && rank <= 16)
    bad = wrong(ort_GetDimensions(api, info, to->dims, rank));
  ort_ReleaseTensorTypeAndShapeInfo(api, info);
  if (bad || (bad = wrong(ort_GetTensorMutableData(api, v, &data)))) return bad;
  to->rank = rank, to->dtype = acl_type(type), to->size = type_size(to->dtype);
  for (size_t i = 0; i < rank; i++) to->size *= to->dims[i];
  to->data = malloc(to->size + 1);
  memcpy(to->data, data, to->size);
  return NULL;
}

static const char *by_runtime(session *s, run *r) {
  OrtValue *in[FAKE_MAX_IO] = {0}, *out[FAKE_MAX_IO] = {0};
  const char *bad = (size_t)r->inputs != s->inputs || (size_t)r->outputs != s->outputs ? "the model has other inputs or outputs than the file says" : NULL;
  for (int i = 0; i < r->inputs && !bad; i++)
    bad = wrong(ort_CreateTensorWithDataAsOrtValue(api, cpu, r->in[i].data, r->in[i].size, r->in[i].dims, r->in[i].rank, onnx_type(r->in[i].dtype), &in[i]));
  if (!bad)
    bad = wrong(ort_Run(api, s->s, NULL, (const char *const *)s->in, (const OrtValue *const *)in, r->inputs, (const char *const *)s->out, r->outputs, out));
  for (int i = 0; i < r->outputs && !bad; i++) bad = take(out[i], &r->out[i]);
  for (int i = 0; i < FAKE_MAX_IO; i++) {
    if (in[i]) ort_ReleaseValue(api, in[i]);
    if (out[i]) ort_ReleaseValue(api, out[i]);
  }
  return bad;
}

// ---- functions by name: identity, add, argmax, sleep

static void like(value *to, const value *from) {
  *to = *from;
  to->data = malloc(from->size + 1);
  memcpy(to->data, from->data, from->size);
}

static const char *argmax(const value *in, value *out) {
  if (in->dtype != ACL_FLOAT || in->rank < 1) return "argmax is for FLOAT";
  size_t width = in->dims[in->rank - 1], rows = in->size / 4 / (width ? width : 1);
  *out = (value){.data = malloc(rows * 8 + 1), .size = rows * 8, .rank = in->rank - 1, .dtype = ACL_INT64};
  memcpy(out->dims, in->dims, sizeof in->dims);
  for (size_t i = 0; i < rows; i++) {
    const float *p = (const float *)in->data + i * width;
    size_t best = 0;
    for (size_t k = 1; k < width; k++)
      if (p[k] > p[best]) best = k;
    ((int64_t *)out->data)[i] = best;
  }
  return NULL;
}

static const char *by_name(const model *m, run *r) {
  char name[32];
  snprintf(name, sizeof name, "%.*s", (int)m->file.body_size, m->file.body);
  for (int i = 0; i < r->outputs; i++) {
    const value *in = &r->in[i < r->inputs ? i : 0];
    value *out = &r->out[i];
    if (!strcmp(name, "argmax")) {
      const char *bad = argmax(in, out);
      if (bad) return bad;
      continue;
    }
    like(out, in);
    if (!strcmp(name, "add") && in->dtype == ACL_FLOAT)
      for (size_t k = 0; k < in->size / 4; k++) ((float *)out->data)[k] += ((float *)r->in[r->inputs - 1].data)[k];
    else if (!strcmp(name, "sleep") && in->size >= 4)
      nanosleep(&(struct timespec){.tv_nsec = *(int32_t *)in->data % 1000 * 1000000L}, NULL);
    else if (strcmp(name, "identity")) return "no such function";
  }
  return NULL;
}

const char *compute(model *m, run *r) { return m->file.payload == 2 ? by_name(m, r) : by_runtime(m->session, r); }
