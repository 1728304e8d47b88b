// The part of ONNX Runtime's C API that ascendctl calls, by slot number: the
// API is one table of function pointers that only ever grew at its end, so a
// number means the same in every library since 1.17 (source: order and types of
// onnxruntime_c_api.h, API 14 to 29). Function and handle names are the
// vendor's; nothing of the vendor's header is needed or copied.
#ifndef ASCENDCTL_ORT_ABI_H
#define ASCENDCTL_ORT_ABI_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define ORT_API 17         // the version asked for
#define ORT_API_SLOTS 276  // the slots every library offers that has it

typedef void *const *ort_api;
typedef struct OrtStatus OrtStatus;
typedef struct OrtEnv OrtEnv;
typedef struct OrtSession OrtSession;
typedef struct OrtSessionOptions OrtSessionOptions;
typedef struct OrtRunOptions OrtRunOptions;
typedef struct OrtAllocator OrtAllocator;
typedef struct OrtMemoryInfo OrtMemoryInfo;
typedef struct OrtValue OrtValue;
typedef struct OrtTypeInfo OrtTypeInfo;
typedef struct OrtTensorTypeAndShapeInfo OrtTensorTypeAndShapeInfo;
typedef void ort_log(void *, int, const char *, const char *, const char *, const char *);

enum { ORT_SEVERITY_ERROR = 3, ORT_ALLOCATOR_ARENA = 1, ORT_MEMTYPE_DEFAULT = 0, ORT_ONNX_TENSOR = 1 };

// The one list. S gives a status (NULL is success), R a result, V nothing.
#define ORT_LIST(S, R, V)                                                                                             \
  R(1, int, GetErrorCode, (s), const OrtStatus *s)                                                                    \
  R(2, const char *, GetErrorMessage, (s), const OrtStatus *s)                                                        \
  S(4, CreateEnvWithCustomLogger, (f, p, severity, id, out), ort_log *f, void *p, int severity, const char *id, OrtEnv **out) \
  S(7, CreateSession, (e, path, o, out), const OrtEnv *e, const char *path, const OrtSessionOptions *o, OrtSession **out) \
  S(8, CreateSessionFromArray, (e, p, n, o, out), const OrtEnv *e, const void *p, size_t n, const OrtSessionOptions *o, OrtSession **out) \
  S(9, Run, (s, o, in, iv, n_in, out, n_out, ov), OrtSession *s, const OrtRunOptions *o, const char *const *in,       \
    const OrtValue *const *iv, size_t n_in, const char *const *out, size_t n_out, OrtValue **ov)                      \
  S(10, CreateSessionOptions, (out), OrtSessionOptions **out)                                                         \
  S(24, SetIntraOpNumThreads, (o, n), OrtSessionOptions *o, int n)                                                    \
  S(30, SessionGetInputCount, (s, out), const OrtSession *s, size_t *out)                                             \
  S(31, SessionGetOutputCount, (s, out), const OrtSession *s, size_t *out)                                            \
  S(33, SessionGetInputTypeInfo, (s, i, out), const OrtSession *s, size_t i, OrtTypeInfo **out)                       \
  S(34, SessionGetOutputTypeInfo, (s, i, out), const OrtSession *s, size_t i, OrtTypeInfo **out)                      \
  S(36, SessionGetInputName, (s, i, a, out), const OrtSession *s, size_t i, OrtAllocator *a, char **out)              \
  S(37, SessionGetOutputName, (s, i, a, out), const OrtSession *s, size_t i, OrtAllocator *a, char **out)             \
  S(39, CreateRunOptions, (out), OrtRunOptions **out)                                                                 \
  S(46, RunOptionsSetTerminate, (o), OrtRunOptions *o)                                                                \
  S(48, CreateTensorAsOrtValue, (a, dims, rank, dtype, out), OrtAllocator *a, const int64_t *dims, size_t rank, int dtype, OrtValue **out) \
  S(49, CreateTensorWithDataAsOrtValue, (m, p, n, dims, rank, dtype, out), const OrtMemoryInfo *m, void *p, size_t n, \
    const int64_t *dims, size_t rank, int dtype, OrtValue **out)                                                      \
  S(51, GetTensorMutableData, (v, out), OrtValue *v, void **out)                                                      \
  S(53, GetStringTensorDataLength, (v, out), const OrtValue *v, size_t *out)                                          \
  S(55, CastTypeInfoToTensorInfo, (t, out), const OrtTypeInfo *t, const OrtTensorTypeAndShapeInfo **out)              \
  S(56, GetOnnxTypeFromTypeInfo, (t, out), const OrtTypeInfo *t, int *out)                                            \
  S(60, GetTensorElementType, (t, out), const OrtTensorTypeAndShapeInfo *t, int *out)                                 \
  S(61, GetDimensionsCount, (t, out), const OrtTensorTypeAndShapeInfo *t, size_t *out)                                \
  S(62, GetDimensions, (t, out, n), const OrtTensorTypeAndShapeInfo *t, int64_t *out, size_t n)                       \
  S(63, GetSymbolicDimensions, (t, out, n), const OrtTensorTypeAndShapeInfo *t, const char **out, size_t n)           \
  S(65, GetTensorTypeAndShape, (v, out), const OrtValue *v, OrtTensorTypeAndShapeInfo **out)                          \
  S(69, CreateCpuMemoryInfo, (kind, memtype, out), int kind, int memtype, OrtMemoryInfo **out)                        \
  S(76, AllocatorFree, (a, p), OrtAllocator *a, void *p)                                                              \
  S(78, GetAllocatorWithDefaultOptions, (out), OrtAllocator **out)                                                    \
  V(92, ReleaseEnv, (e), OrtEnv *e)                                                                                   \
  V(93, ReleaseStatus, (s), OrtStatus *s)                                                                             \
  V(95, ReleaseSession, (s), OrtSession *s)                                                                           \
  V(96, ReleaseValue, (v), OrtValue *v)                                                                               \
  V(97, ReleaseRunOptions, (o), OrtRunOptions *o)                                                                     \
  V(98, ReleaseTypeInfo, (t), OrtTypeInfo *t)                                                                         \
  V(99, ReleaseTensorTypeAndShapeInfo, (t), OrtTensorTypeAndShapeInfo *t)                                             \
  V(100, ReleaseSessionOptions, (o), OrtSessionOptions *o)                                                            \
  S(127, GetStringTensorElementLength, (v, i, out), const OrtValue *v, size_t i, size_t *out)                         \
  S(128, GetStringTensorElement, (v, n, i, p), const OrtValue *v, size_t n, size_t i, void *p)                        \
  S(252, GetResizedStringTensorElementBuffer, (v, i, n, out), OrtValue *v, size_t i, size_t n, char **out)

// A slot behind the table's end would be read from whatever lies there.
#define ORT_RESULT(slot, ret, name, args, ...)                          \
  _Static_assert(slot < ORT_API_SLOTS, #name " is not in this API");    \
  static inline ret ort_##name(ort_api api, __VA_ARGS__) {                \
    return ((ret (*)(__VA_ARGS__))api[slot]) args;                        \
  }
#define ORT_STATUS(slot, name, args, ...) ORT_RESULT(slot, OrtStatus *, name, args, __VA_ARGS__)
#define ORT_VOID(slot, name, args, ...)                                 \
  _Static_assert(slot < ORT_API_SLOTS, #name " is not in this API");    \
  static inline void ort_##name(ort_api api, __VA_ARGS__) {               \
    ((void (*)(__VA_ARGS__))api[slot]) args;                              \
  }
ORT_LIST(ORT_STATUS, ORT_RESULT, ORT_VOID)

// OrtGetApiBase is the library's only symbol: it gives [0] the function that
// gives the table of a version, [1] the one that gives the library's version.
static inline void *const *ort_base(void *get_api_base) { return ((void *const *(*)(void))get_api_base)(); }
static inline ort_api ort_table(void *const *base) { return ((ort_api (*)(uint32_t))base[0])(ORT_API); }
static inline const char *ort_version(void *const *base) { return ((const char *(*)(void))base[1])(); }

// Errors come back as statuses; what the library would print besides goes
// nowhere. It is called on the library's own threads: C, not Go.
static inline void ort_quiet(void *p, int severity, const char *category, const char *id, const char *at, const char *text) {}
static inline OrtStatus *ort_env(ort_api api, OrtEnv **out) {
  return ort_CreateEnvWithCustomLogger(api, ort_quiet, NULL, ORT_SEVERITY_ERROR, "ascendctl", out);
}

// Inputs and outputs are described by twin functions.
static inline OrtStatus *ort_port_name(ort_api api, const OrtSession *s, int output, size_t i, OrtAllocator *a, char **out) {
  return output ? ort_SessionGetOutputName(api, s, i, a, out) : ort_SessionGetInputName(api, s, i, a, out);
}
static inline OrtStatus *ort_port_type(ort_api api, const OrtSession *s, int output, size_t i, OrtTypeInfo **out) {
  return output ? ort_SessionGetOutputTypeInfo(api, s, i, out) : ort_SessionGetInputTypeInfo(api, s, i, out);
}

// Strings cross in one call for all elements: each is a uint32 length, little
// endian, and its bytes. Go has checked that the n elements fill the buffer.
static inline OrtStatus *ort_fill_strings(ort_api api, OrtValue *v, const uint8_t *p, size_t n) {
  for (size_t i = 0; i < n; i++) {
    size_t len = p[0] | (size_t)p[1] << 8 | (size_t)p[2] << 16 | (size_t)p[3] << 24;
    char *to = NULL;
    OrtStatus *s = ort_GetResizedStringTensorElementBuffer(api, v, i, len, &to);
    if (s) return s;
    if (len) memcpy(to, p + 4, len);
    p += 4 + len;
  }
  return NULL;
}

// The way back; cap is the room at p. *used tells what was written: less or
// more than the caller reckoned is for the caller to refuse.
static inline OrtStatus *ort_take_strings(ort_api api, const OrtValue *v, uint8_t *p, size_t cap, size_t n, size_t *used) {
  *used = 0;
  for (size_t i = 0; i < n; i++) {
    size_t len;
    OrtStatus *s = ort_GetStringTensorElementLength(api, v, i, &len);
    if (s) return s;
    if (len > UINT32_MAX || cap - *used < 4 || cap - *used - 4 < len) return NULL;
    uint8_t *to = p + *used;
    to[0] = len, to[1] = len >> 8, to[2] = len >> 16, to[3] = len >> 24;
    if (len && (s = ort_GetStringTensorElement(api, v, len, i, to + 4))) return s;
    *used += 4 + len;
  }
  return NULL;
}
#endif
