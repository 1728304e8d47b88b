// The part of libascendcl that ascendctl calls: declarations of our own, with the
// vendor's names and types, so that the same header can be held against a list
// of ABI facts (testdata/abi.txt) or beside the vendor's headers. One ABI serves
// CANN 5.0 to 9.x on x86_64 and aarch64: names were added, none changed (source:
// vendor headers of 25 releases). Nothing is linked.
#ifndef ASCENDCTL_ACL_ABI_H
#define ASCENDCTL_ACL_ABI_H
#include <stddef.h>
#include <stdint.h>

typedef int aclError;
typedef void *aclrtContext;
typedef void *aclrtStream;
typedef void *aclrtEvent;
typedef struct aclmdlDesc aclmdlDesc;
typedef struct aclmdlDataset aclmdlDataset;
typedef struct aclDataBuffer aclDataBuffer;
typedef struct aclTensorDesc aclTensorDesc;

typedef enum aclDataType {
  ACL_DT_UNDEFINED = -1, ACL_FLOAT = 0, ACL_FLOAT16 = 1, ACL_INT8 = 2, ACL_INT32 = 3, ACL_UINT8 = 4, ACL_INT16 = 6,
  ACL_UINT16 = 7, ACL_UINT32 = 8, ACL_INT64 = 9, ACL_UINT64 = 10, ACL_DOUBLE = 11, ACL_BOOL = 12, ACL_STRING = 13,
  ACL_COMPLEX64 = 16, ACL_COMPLEX128 = 17, ACL_BF16 = 27, ACL_INT4 = 29, ACL_FLOAT8_E5M2 = 35, ACL_FLOAT8_E4M3FN = 36
} aclDataType;
typedef enum aclFormat { ACL_FORMAT_UNDEFINED = -1, ACL_FORMAT_NCHW = 0, ACL_FORMAT_NHWC = 1, ACL_FORMAT_ND = 2 } aclFormat;
typedef enum aclrtRunMode { ACL_DEVICE = 0, ACL_HOST = 1 } aclrtRunMode;
typedef enum aclrtMemMallocPolicy { ACL_MEM_MALLOC_HUGE_FIRST = 0 } aclrtMemMallocPolicy;
typedef enum aclrtMemAttr { ACL_DDR_MEM = 0, ACL_HBM_MEM = 1 } aclrtMemAttr;
typedef enum aclrtMemcpyKind {
  ACL_MEMCPY_HOST_TO_HOST = 0, ACL_MEMCPY_HOST_TO_DEVICE = 1, ACL_MEMCPY_DEVICE_TO_HOST = 2, ACL_MEMCPY_DEVICE_TO_DEVICE = 3
} aclrtMemcpyKind;
typedef enum aclrtEventRecordedStatus {
  ACL_EVENT_RECORDED_STATUS_NOT_READY = 0, ACL_EVENT_RECORDED_STATUS_COMPLETE = 1
} aclrtEventRecordedStatus;
typedef enum aclrtDeviceStatus { ACL_RT_DEVICE_STATUS_NORMAL = 0, ACL_RT_DEVICE_STATUS_ABNORMAL = 1 } aclrtDeviceStatus;
typedef enum aclrtLastErrLevel { ACL_RT_THREAD_LEVEL = 0 } aclrtLastErrLevel;

typedef struct aclmdlIODims { char name[128]; size_t dimCount; int64_t dims[128]; } aclmdlIODims;
typedef struct aclmdlIODimsRange { size_t rangeCount; int64_t range[128][2]; } aclmdlIODimsRange;
typedef struct aclmdlBatch { size_t batchCount; uint64_t batch[128]; } aclmdlBatch;
typedef struct aclmdlHW { size_t hwCount; uint64_t hw[128][2]; } aclmdlHW;
typedef struct aclrtUtilizationInfo {
  int32_t cubeUtilization, vectorUtilization, aicpuUtilization, memoryUtilization;
  void *utilizationExtend; // must be NULL
} aclrtUtilizationInfo;

// The one list. E and Z give a status and are in every release since 5.0 (Z has
// no parameters); O gives a status and is newer or not everywhere; V gives a
// value, N nothing, both since 5.0.
#define ACL_LIST(E, Z, O, V, N) \
  /* Initialisation and errors */                                                                                    \
  E(aclInit, (configPath), const char *configPath)                                                                   \
  Z(aclFinalize)                                                                                                     \
  O(aclFinalizeReference, (refCount), uint64_t *refCount)                                                            \
  O(aclrtGetVersion, (majorVersion, minorVersion, patchVersion), int32_t *majorVersion, int32_t *minorVersion,       \
      int32_t *patchVersion)                                                                                         \
  V(const char *, aclrtGetSocName, (), void)                                                                         \
  V(const char *, aclGetRecentErrMsg, (), void)                                                                      \
  O(aclrtGetLastError, (level), aclrtLastErrLevel level)                                                             \
  V(size_t, aclDataTypeSize, (dataType), aclDataType dataType)                                                       \
  /* Device */                                                                                                       \
  E(aclrtGetDeviceCount, (count), uint32_t *count)                                                                   \
  E(aclrtSetDevice, (deviceId), int32_t deviceId)                                                                    \
  E(aclrtResetDevice, (deviceId), int32_t deviceId)                                                                  \
  O(aclrtResetDeviceForce, (deviceId), int32_t deviceId)                                                             \
  E(aclrtGetDevice, (deviceId), int32_t *deviceId)                                                                   \
  E(aclrtGetRunMode, (runMode), aclrtRunMode *runMode)                                                               \
  E(aclrtGetMemInfo, (attr, free, total), aclrtMemAttr attr, size_t *free, size_t *total)                            \
  O(aclrtGetDeviceUtilizationRate, (deviceId, utilizationInfo), int32_t deviceId,                                    \
      aclrtUtilizationInfo *utilizationInfo)                                                                         \
  O(aclrtQueryDeviceStatus, (deviceId, deviceStatus), int32_t deviceId, aclrtDeviceStatus *deviceStatus)             \
  Z(aclrtSynchronizeDevice)                                                                                          \
  /* Context */                                                                                                      \
  E(aclrtCreateContext, (context, deviceId), aclrtContext *context, int32_t deviceId)                                \
  E(aclrtDestroyContext, (context), aclrtContext context)                                                            \
  E(aclrtSetCurrentContext, (context), aclrtContext context)                                                         \
  E(aclrtGetCurrentContext, (context), aclrtContext *context)                                                        \
  /* Stream */                                                                                                       \
  E(aclrtCreateStream, (stream), aclrtStream *stream)                                                                \
  E(aclrtDestroyStream, (stream), aclrtStream stream)                                                                \
  O(aclrtDestroyStreamForce, (stream), aclrtStream stream)                                                           \
  E(aclrtSynchronizeStream, (stream), aclrtStream stream)                                                            \
  O(aclrtSynchronizeStreamWithTimeout, (stream, timeout), aclrtStream stream, int32_t timeout)                       \
  O(aclrtStreamAbort, (stream), aclrtStream stream)                                                                  \
  /* Event */                                                                                                        \
  E(aclrtCreateEvent, (event), aclrtEvent *event)                                                                    \
  E(aclrtDestroyEvent, (event), aclrtEvent event)                                                                    \
  E(aclrtRecordEvent, (event, stream), aclrtEvent event, aclrtStream stream)                                         \
  E(aclrtStreamWaitEvent, (stream, event), aclrtStream stream, aclrtEvent event)                                     \
  E(aclrtSynchronizeEvent, (event), aclrtEvent event)                                                                \
  O(aclrtSynchronizeEventWithTimeout, (event, timeout), aclrtEvent event, int32_t timeout)                           \
  O(aclrtQueryEventStatus, (event, status), aclrtEvent event, aclrtEventRecordedStatus *status)                      \
  E(aclrtEventElapsedTime, (ms, startEvent, endEvent), float *ms, aclrtEvent startEvent, aclrtEvent endEvent)        \
  O(aclrtSetOpExecuteTimeOut, (timeout), uint32_t timeout)                                                           \
  /* Memory */                                                                                                       \
  E(aclrtMalloc, (devPtr, size, policy), void **devPtr, size_t size, aclrtMemMallocPolicy policy)                    \
  E(aclrtFree, (devPtr), void *devPtr)                                                                               \
  E(aclrtMallocHost, (hostPtr, size), void **hostPtr, size_t size)                                                   \
  E(aclrtFreeHost, (hostPtr), void *hostPtr)                                                                         \
  E(aclrtMemcpy, (dst, destMax, src, count, kind), void *dst, size_t destMax, const void *src, size_t count,         \
      aclrtMemcpyKind kind)                                                                                          \
  E(aclrtMemcpyAsync, (dst, destMax, src, count, kind, stream), void *dst, size_t destMax, const void *src,          \
      size_t count, aclrtMemcpyKind kind, aclrtStream stream)                                                        \
  E(aclrtMemset, (devPtr, maxCount, value, count), void *devPtr, size_t maxCount, int32_t value, size_t count)       \
  E(aclrtMemsetAsync, (devPtr, maxCount, value, count, stream), void *devPtr, size_t maxCount, int32_t value,        \
      size_t count, aclrtStream stream)                                                                              \
  /* Model: load and unload */                                                                                       \
  E(aclmdlQuerySize, (fileName, workSize, weightSize), const char *fileName, size_t *workSize, size_t *weightSize)   \
  E(aclmdlQuerySizeFromMem, (model, modelSize, workSize, weightSize), const void *model, size_t modelSize,           \
      size_t *workSize, size_t *weightSize)                                                                          \
  E(aclmdlLoadFromFile, (modelPath, modelId), const char *modelPath, uint32_t *modelId)                              \
  E(aclmdlLoadFromMem, (model, modelSize, modelId), const void *model, size_t modelSize, uint32_t *modelId)          \
  E(aclmdlLoadFromFileWithMem, (modelPath, modelId, workPtr, workSize, weightPtr, weightSize),                       \
      const char *modelPath, uint32_t *modelId, void *workPtr, size_t workSize, void *weightPtr,                     \
      size_t weightSize)                                                                                             \
  E(aclmdlLoadFromMemWithMem, (model, modelSize, modelId, workPtr, workSize, weightPtr, weightSize),                 \
      const void *model, size_t modelSize, uint32_t *modelId, void *workPtr, size_t workSize, void *weightPtr,       \
      size_t weightSize)                                                                                             \
  E(aclmdlUnload, (modelId), uint32_t modelId)                                                                       \
  /* Model: description */                                                                                           \
  V(aclmdlDesc *, aclmdlCreateDesc, (), void)                                                                        \
  E(aclmdlDestroyDesc, (modelDesc), aclmdlDesc *modelDesc)                                                           \
  E(aclmdlGetDesc, (modelDesc, modelId), aclmdlDesc *modelDesc, uint32_t modelId)                                    \
  O(aclmdlGetDescFromFile, (modelDesc, modelPath), aclmdlDesc *modelDesc, const char *modelPath)                     \
  V(size_t, aclmdlGetNumInputs, (modelDesc), aclmdlDesc *modelDesc)                                                  \
  V(size_t, aclmdlGetNumOutputs, (modelDesc), aclmdlDesc *modelDesc)                                                 \
  V(const char *, aclmdlGetInputNameByIndex, (modelDesc, index), const aclmdlDesc *modelDesc, size_t index)          \
  V(const char *, aclmdlGetOutputNameByIndex, (modelDesc, index), const aclmdlDesc *modelDesc, size_t index)         \
  E(aclmdlGetInputIndexByName, (modelDesc, name, index), const aclmdlDesc *modelDesc, const char *name,              \
      size_t *index)                                                                                                 \
  E(aclmdlGetOutputIndexByName, (modelDesc, name, index), const aclmdlDesc *modelDesc, const char *name,             \
      size_t *index)                                                                                                 \
  E(aclmdlGetInputDims, (modelDesc, index, dims), const aclmdlDesc *modelDesc, size_t index, aclmdlIODims *dims)     \
  E(aclmdlGetInputDimsV2, (modelDesc, index, dims), const aclmdlDesc *modelDesc, size_t index, aclmdlIODims *dims)   \
  O(aclmdlGetInputDimsRange, (modelDesc, index, dimsRange), const aclmdlDesc *modelDesc, size_t index,               \
      aclmdlIODimsRange *dimsRange)                                                                                  \
  E(aclmdlGetOutputDims, (modelDesc, index, dims), const aclmdlDesc *modelDesc, size_t index, aclmdlIODims *dims)    \
  E(aclmdlGetCurOutputDims, (modelDesc, index, dims), const aclmdlDesc *modelDesc, size_t index,                     \
      aclmdlIODims *dims)                                                                                            \
  V(aclFormat, aclmdlGetInputFormat, (modelDesc, index), const aclmdlDesc *modelDesc, size_t index)                  \
  V(aclFormat, aclmdlGetOutputFormat, (modelDesc, index), const aclmdlDesc *modelDesc, size_t index)                 \
  V(aclDataType, aclmdlGetInputDataType, (modelDesc, index), const aclmdlDesc *modelDesc, size_t index)              \
  V(aclDataType, aclmdlGetOutputDataType, (modelDesc, index), const aclmdlDesc *modelDesc, size_t index)             \
  V(size_t, aclmdlGetInputSizeByIndex, (modelDesc, index), aclmdlDesc *modelDesc, size_t index)                      \
  V(size_t, aclmdlGetOutputSizeByIndex, (modelDesc, index), aclmdlDesc *modelDesc, size_t index)                     \
  V(const char *, aclmdlGetTensorRealName, (modelDesc, name), const aclmdlDesc *modelDesc, const char *name)         \
  /* Gears and dynamic shape */                                                                                      \
  E(aclmdlGetDynamicBatch, (modelDesc, batch), const aclmdlDesc *modelDesc, aclmdlBatch *batch)                      \
  E(aclmdlGetDynamicHW, (modelDesc, index, hw), const aclmdlDesc *modelDesc, size_t index, aclmdlHW *hw)             \
  E(aclmdlGetInputDynamicGearCount, (modelDesc, index, gearCount), const aclmdlDesc *modelDesc, size_t index,        \
      size_t *gearCount)                                                                                             \
  E(aclmdlGetInputDynamicDims, (modelDesc, index, dims, gearCount), const aclmdlDesc *modelDesc, size_t index,       \
      aclmdlIODims *dims, size_t gearCount)                                                                          \
  E(aclmdlSetDynamicBatchSize, (modelId, dataset, index, batchSize), uint32_t modelId, aclmdlDataset *dataset,       \
      size_t index, uint64_t batchSize)                                                                              \
  E(aclmdlSetDynamicHWSize, (modelId, dataset, index, height, width), uint32_t modelId, aclmdlDataset *dataset,      \
      size_t index, uint64_t height, uint64_t width)                                                                 \
  E(aclmdlSetInputDynamicDims, (modelId, dataset, index, dims), uint32_t modelId, aclmdlDataset *dataset,            \
      size_t index, const aclmdlIODims *dims)                                                                        \
  E(aclmdlSetDatasetTensorDesc, (dataset, tensorDesc, index), aclmdlDataset *dataset, aclTensorDesc *tensorDesc,     \
      size_t index)                                                                                                  \
  V(aclTensorDesc *, aclmdlGetDatasetTensorDesc, (dataset, index), const aclmdlDataset *dataset, size_t index)       \
  /* Datasets, buffers, tensor descriptions */                                                                       \
  V(aclmdlDataset *, aclmdlCreateDataset, (), void)                                                                  \
  E(aclmdlDestroyDataset, (dataset), const aclmdlDataset *dataset)                                                   \
  E(aclmdlAddDatasetBuffer, (dataset, dataBuffer), aclmdlDataset *dataset, aclDataBuffer *dataBuffer)                \
  V(size_t, aclmdlGetDatasetNumBuffers, (dataset), const aclmdlDataset *dataset)                                     \
  V(aclDataBuffer *, aclmdlGetDatasetBuffer, (dataset, index), const aclmdlDataset *dataset, size_t index)           \
  V(aclDataBuffer *, aclCreateDataBuffer, (data, size), void *data, size_t size)                                     \
  E(aclDestroyDataBuffer, (dataBuffer), const aclDataBuffer *dataBuffer)                                             \
  E(aclUpdateDataBuffer, (dataBuffer, data, size), aclDataBuffer *dataBuffer, void *data, size_t size)               \
  V(void *, aclGetDataBufferAddr, (dataBuffer), const aclDataBuffer *dataBuffer)                                     \
  V(size_t, aclGetDataBufferSizeV2, (dataBuffer), const aclDataBuffer *dataBuffer)                                   \
  V(aclTensorDesc *, aclCreateTensorDesc, (dataType, numDims, dims, format), aclDataType dataType, int numDims,      \
      const int64_t *dims, aclFormat format)                                                                         \
  N(aclDestroyTensorDesc, (desc), const aclTensorDesc *desc)                                                         \
  V(size_t, aclGetTensorDescNumDims, (desc), const aclTensorDesc *desc)                                              \
  E(aclGetTensorDescDimV2, (desc, index, dimSize), const aclTensorDesc *desc, size_t index, int64_t *dimSize)        \
  V(aclDataType, aclGetTensorDescType, (desc), const aclTensorDesc *desc)                                            \
  V(size_t, aclGetTensorDescSize, (desc), const aclTensorDesc *desc)                                                 \
  V(size_t, aclGetTensorDescElementCount, (desc), const aclTensorDesc *desc)                                         \
  /* Execute */                                                                                                      \
  E(aclmdlExecute, (modelId, input, output), uint32_t modelId, const aclmdlDataset *input, aclmdlDataset *output)    \
  E(aclmdlExecuteAsync, (modelId, input, output, stream), uint32_t modelId, const aclmdlDataset *input,              \
      aclmdlDataset *output, aclrtStream stream)

// 1. Prototypes: what makes an ABI check possible. Nothing links against them.
#define ACL_PROTO(name, args, ...) aclError name(__VA_ARGS__);
#define ACL_PROTO_Z(name) aclError name(void);
#define ACL_PROTO_V(ret, name, args, ...) ret name(__VA_ARGS__);
#define ACL_PROTO_N(name, args, ...) void name(__VA_ARGS__);
ACL_LIST(ACL_PROTO, ACL_PROTO_Z, ACL_PROTO, ACL_PROTO_V, ACL_PROTO_N)

// 2. The table of pointers, one per process: a process loads one CANN.
#define ACL_SLOT(name, args, ...) aclError (*name)(__VA_ARGS__);
#define ACL_SLOT_Z(name) aclError (*name)(void);
#define ACL_SLOT_V(ret, name, args, ...) ret (*name)(__VA_ARGS__);
#define ACL_SLOT_N(name, args, ...) void (*name)(__VA_ARGS__);
typedef struct acl_api { ACL_LIST(ACL_SLOT, ACL_SLOT_Z, ACL_SLOT, ACL_SLOT_V, ACL_SLOT_N) } acl_api;
extern acl_api acl_t;

// 3. What Go calls. A status comes with the text of its failure, fetched before
// anything else can run on the thread; the text is the caller's to free. A call
// that states another thread than the one it runs on does not happen.
typedef struct acl_ret { aclError code; char *text; } acl_ret;
enum { ACL_WRONG_THREAD = -1, ACL_MISSING = -2 };
#define ACL_CALL(name, args, ...) acl_ret c_##name(uint64_t self, __VA_ARGS__);
#define ACL_CALL_Z(name) acl_ret c_##name(uint64_t self);
#define ACL_CALL_V(ret, name, args, ...) ret c_##name(__VA_ARGS__);
#define ACL_CALL_N(name, args, ...) void c_##name(__VA_ARGS__);
ACL_LIST(ACL_CALL, ACL_CALL_Z, ACL_CALL, ACL_CALL_V, ACL_CALL_N)

uint64_t acl_thread(void);                        // gives the calling thread a name, never 0
int acl_claim(void);                              // 1 for the one who may fill the table, until acl_release
void acl_release(void);
const char *acl_bind(void *const *libs, size_t n); // NULL, or the required symbol that none of them has
const char *acl_name(size_t row, int *required, int *found); // NULL behind the last row

// Handlers of all signals, to be put back after foreign code ran.
typedef struct acl_signals acl_signals;
acl_signals *acl_signals_save(void); // NULL without memory
uint64_t acl_signals_restore(acl_signals *s); // frees it; bit n: signal n had been changed
#endif
