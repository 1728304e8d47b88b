// Datasets and tensor descriptions. A dataset borrows its data buffers, and
// owns the descriptions it copies.
#include "model.h"

aclmdlDataset *dataset_of(const aclmdlDataset *d, bool changing) {
  aclmdlDataset *live = fake_live(d, DATASET);
  if (!live && d) fake_violate(fake_dead(d, DATASET) ? "stale-dataset" : "garbage-handle", "%p is no dataset", (const void *)d);
  if (live && changing && live->in_flight) fake_violate("dataset-in-flight", "dataset %p belongs to a run that has not ended", (const void *)d);
  return live;
}

static bool busy(const aclDataBuffer *b) {
  for (object *o = fake_first(); o; o = o->after) {
    aclmdlDataset *d = (aclmdlDataset *)o;
    if (o->kind != DATASET || !d->in_flight) continue;
    for (int i = 0; i < d->n; i++)
      if (d->buffer[i] == b) return true;
  }
  return false;
}

aclmdlDataset *aclmdlCreateDataset(void) {
  CALL_QUIET;
  fake.buffer_busy = busy;
  aclmdlDataset *d = fake_new(DATASET, sizeof *d);
  d->gear = -1;
  return d;
}

aclError aclmdlDestroyDataset(const aclmdlDataset *dataset) {
  CALL;
  if (!dataset) return fake_null_model("dataset");
  aclmdlDataset *d = dataset_of(dataset, true);
  if (!d) return 0;
  for (int i = 0; i < FAKE_MAX_IO; i++)
    if (d->shape[i]) fake_end(d->shape[i]);
  fake_end(d);
  return 0;
}

aclError aclmdlAddDatasetBuffer(aclmdlDataset *dataset, aclDataBuffer *dataBuffer) {
  CALL;
  if (!dataset) return fake_null_model("dataset");
  if (!dataBuffer) return fake_null_model("dataBuffer");
  aclmdlDataset *d = dataset_of(dataset, true);
  if (!fake_live(dataBuffer, BUFFER)) fake_violate("stale-data-buffer", "%p is no data buffer", (void *)dataBuffer);
  if (d && d->n < FAKE_MAX_IO) d->buffer[d->n++] = dataBuffer;
  return 0;
}

size_t aclmdlGetDatasetNumBuffers(const aclmdlDataset *dataset) {
  CALL_QUIET;
  aclmdlDataset *d = dataset_of(dataset, false);
  return d ? d->n : 0;
}

aclDataBuffer *aclmdlGetDatasetBuffer(const aclmdlDataset *dataset, size_t index) {
  CALL_QUIET;
  aclmdlDataset *d = dataset_of(dataset, false);
  return d && index < (size_t)d->n ? d->buffer[index] : NULL;
}

static aclTensorDesc *desc_of(const aclTensorDesc *t) {
  aclTensorDesc *live = fake_live(t, TENSOR_DESC);
  if (!live && t) fake_violate(fake_dead(t, TENSOR_DESC) ? "stale-tensor-desc" : "garbage-handle", "%p is no tensor description", (const void *)t);
  return live;
}

aclError aclmdlSetDatasetTensorDesc(aclmdlDataset *dataset, aclTensorDesc *tensorDesc, size_t index) {
  CALL;
  if (!dataset) return fake_null_model("dataset");
  aclmdlDataset *d = dataset_of(dataset, true);
  if (!d || index >= (size_t)d->n) return fake_value(INVALID_PARAM, "EH0001", "index", (long long)index, "less than the number of buffers");
  if (d->shape[index]) fake_end(d->shape[index]), d->shape[index] = NULL;
  aclTensorDesc *t = desc_of(tensorDesc);
  if (!t) return 0;
  aclTensorDesc *copy = d->shape[index] = fake_new(TENSOR_DESC, sizeof *copy);
  object own = copy->o;
  *copy = *t, copy->o = own, copy->o.spared = true;
  return 0;
}

aclTensorDesc *aclmdlGetDatasetTensorDesc(const aclmdlDataset *dataset, size_t index) {
  CALL_QUIET;
  aclmdlDataset *d = dataset_of(dataset, false);
  return d && index < FAKE_MAX_IO ? d->shape[index] : NULL;
}

aclTensorDesc *aclCreateTensorDesc(aclDataType dataType, int numDims, const int64_t *dims, aclFormat format) {
  CALL_QUIET;
  if (numDims < 0 || (numDims > 0 && !dims)) return fake_null_model("dims"), NULL;
  aclTensorDesc *t = fake_new(TENSOR_DESC, sizeof *t);
  t->dtype = dataType, t->format = format, t->rank = numDims;
  for (int i = 0; i < numDims && i < 128; i++) t->dims[i] = dims[i];
  return t;
}

void aclDestroyTensorDesc(const aclTensorDesc *desc) {
  CALL_QUIET;
  aclTensorDesc *t = desc_of(desc);
  if (t && t->o.spared) fake_violate("destroyed-not-owned", "the description belongs to a dataset");
  else if (t) fake_end(t);
}

size_t aclGetTensorDescNumDims(const aclTensorDesc *desc) {
  CALL_QUIET;
  aclTensorDesc *t = desc_of(desc);
  return !t ? 0 : t->rank == 1 && t->dims[0] == -2 ? 0xFFFFFFFFFFFFFFFE : (size_t)t->rank;
}

aclError aclGetTensorDescDimV2(const aclTensorDesc *desc, size_t index, int64_t *dimSize) {
  CALL;
  if (!desc) return fake_null_model("desc");
  if (!dimSize) return fake_null_model("dimSize");
  aclTensorDesc *t = desc_of(desc);
  if (!t || index >= (size_t)t->rank) return fake_value(INVALID_PARAM, "EH0001", "index", (long long)index, "less than the rank");
  *dimSize = t->dims[index];
  return 0;
}

int64_t aclGetTensorDescDim(const aclTensorDesc *desc, size_t index) {
  CALL_QUIET;
  aclTensorDesc *t = desc_of(desc);
  return t && index < (size_t)t->rank ? t->dims[index] : -1;
}

aclDataType aclGetTensorDescType(const aclTensorDesc *desc) {
  CALL_QUIET;
  aclTensorDesc *t = desc_of(desc);
  return t ? (aclDataType)t->dtype : ACL_DT_UNDEFINED;
}

aclFormat aclGetTensorDescFormat(const aclTensorDesc *desc) {
  CALL_QUIET;
  aclTensorDesc *t = desc_of(desc);
  return t ? (aclFormat)t->format : ACL_FORMAT_UNDEFINED;
}

static size_t elements(const aclTensorDesc *t) {
  size_t n = 1;
  for (int i = 0; i < t->rank && i < 128; i++) {
    if (t->dims[i] < 0) return 0;
    n *= t->dims[i];
  }
  return n;
}

size_t aclGetTensorDescSize(const aclTensorDesc *desc) {
  CALL_QUIET;
  aclTensorDesc *t = desc_of(desc);
  return t ? elements(t) * aclDataTypeSize(t->dtype) : 0;
}

size_t aclGetTensorDescElementCount(const aclTensorDesc *desc) {
  CALL_QUIET;
  aclTensorDesc *t = desc_of(desc);
  return t ? elements(t) : 0;
}

const char *aclGetTensorDescName(aclTensorDesc *desc) {
  CALL_QUIET;
  aclTensorDesc *t = desc_of(desc);
  return t ? t->name : "";
}

void aclSetTensorDescName(aclTensorDesc *desc, const char *name) {
  CALL_QUIET;
  aclTensorDesc *t = desc_of(desc);
  if (t && name) snprintf(t->name, sizeof t->name, "%s", name);
}
