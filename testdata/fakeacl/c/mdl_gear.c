// Gears: setting one, and what shapes it means.
#include "model.h"

void gear_dims(const model *m, int gear, int input, int64_t *dims) {
  const description *d = &m->file.runs;
  const tensor *t = &d->in[input];
  memcpy(dims, t->dims, sizeof t->dims);
  if (d->kind == NO_GEARS || gear < 0) return;
  const uint64_t *row = d->gear[gear];
  int all = 0, before = 0, next = 0;
  for (int i = 0; i < d->inputs; i++) all += i == m->file.gear_input ? 0 : d->in[i].rank;
  for (int i = 0; i < input; i++) {
    before += i == m->file.gear_input ? 0 : d->in[i].rank;
    for (int k = 0; k < d->in[i].rank; k++) next += d->in[i].dims[k] < 0;
  }
  bool whole = d->kind == DIMS && d->width == all;
  for (int k = 0; k < t->rank; k++) {
    if (whole) dims[k] = row[before + k];
    else if (dims[k] < 0) dims[k] = row[d->kind == BATCH ? 0 : next++ % d->width];
  }
}

double item_count(const model *m, int gear) {
  const description *d = &m->file.runs;
  if (d->kind == BATCH) return d->gear[gear][0];
  return d->kind == NO_GEARS && d->inputs && d->in[0].rank && d->in[0].dims[0] > 0 ? d->in[0].dims[0] : 1;
}

static int gear_of(const description *d, const uint64_t *row) {
  for (int g = 0; g < d->gears; g++)
    if (!memcmp(d->gear[g], row, d->width * sizeof *row)) return g;
  return -1;
}

// write puts the values where the setter was told to, right or wrong: the real
// one does not compare the index with the gear input.
static int write(model *m, aclmdlDataset *d, size_t index, const uint64_t *row, int gear) {
  aclDataBuffer *b = d->buffer[index];
  int width = m->file.runs.width;
  size_t each = b->size >= 8ul * width ? 8 : 4;
  if (b->size < each * width) return fake_fail(GE_LENGTH, NULL, "the gear input has %zu bytes", b->size);
  if (fake_room(b->data) < each * width) {
    fake_violate("gear-buffer", "%p is no device memory of this size", b->data);
    return fake_fail(GE_LENGTH, NULL, "the gear input is no device memory");
  }
  if ((int)index != m->file.gear_input) fake_violate("gear-index", "input %zu is overwritten; the gear input is %d", index, m->file.gear_input);
  if (fake_pending(b->data, b->size, true)) fake_violate("write-in-flight", "the gear input is used by work that has not ended");
  char *to = fake_shadow(b->data);
  for (int i = 0; i < width; i++) memcpy(to + i * each, &row[i], each);
  d->gear = m->gear = gear, d->gear_at = index, d->gear_mark = b->changed;
  return 0;
}

static int arguments(aclmdlDataset *dataset, size_t index, aclmdlDataset **d) {
  if (!dataset) return fake_null_model("dataset");
  *d = dataset_of(dataset, true);
  if (!*d || index >= (size_t)(*d)->n) return fake_value(INVALID_PARAM, "EH0001", "index", (long long)index, "less than the number of buffers");
  aclDataBuffer *b = fake_live((*d)->buffer[index], BUFFER);
  if (!b || !b->data) return fake_fail(INVALID_PARAM, NULL, "the buffer of the gear input is a null pointer");
  return 0;
}

static int set(uint32_t id, aclmdlDataset *d, size_t index, gear_kind kind, const uint64_t *row, int width) {
  model *m = model_of(id);
  if (!m) return GE_MODEL_ID;
  const description *r = &m->file.runs;
  if (r->kind != kind) return fake_fail(kind == DIMS && r->kind == NO_GEARS ? GE_LENGTH : GE_GEAR, NULL, "the model has no such gears");
  NEED_CONTEXT(c);
  if (c != m->ctx) {
    fake_violate("model-in-other-context", "model %u", id);
    return fake_fail(RT_MODEL_CONTEXT, "EE1010", "%s execution failed because the model does not belong to the current context. Extended information: none.", fake_call());
  }
  if (width != r->width) return fake_fail(GE_LENGTH, NULL, "%d values, the gears have %d", width, r->width);
  int gear = gear_of(r, row);
  return gear < 0 ? fake_fail(GE_GEAR, NULL, "the values are none of the gears") : write(m, d, index, row, gear);
}

aclError aclmdlSetDynamicBatchSize(uint32_t modelId, aclmdlDataset *dataset, size_t index, uint64_t batchSize) {
  CALL;
  aclmdlDataset *d;
  if (!batchSize) return dataset ? fake_fail(INVALID_PARAM, NULL, "batch 0") : fake_null_model("dataset");
  int code = arguments(dataset, index, &d);
  return code ? code : set(modelId, d, index, BATCH, &batchSize, 1);
}

aclError aclmdlSetDynamicHWSize(uint32_t modelId, aclmdlDataset *dataset, size_t index, uint64_t height, uint64_t width) {
  CALL;
  aclmdlDataset *d;
  if (!height || !width) return dataset ? fake_fail(INVALID_PARAM, NULL, "height or width 0") : fake_null_model("dataset");
  int code = arguments(dataset, index, &d);
  return code ? code : set(modelId, d, index, IMAGE, (uint64_t[]){height, width}, 2);
}

// All dims of all inputs are given; the static ones must be right.
aclError aclmdlSetInputDynamicDims(uint32_t modelId, aclmdlDataset *dataset, size_t index, const aclmdlIODims *dims) {
  CALL;
  aclmdlDataset *d;
  if (!dims) return fake_null_model("dims");
  if (!dims->dimCount) return fake_silent(INVALID_PARAM);
  int code = arguments(dataset, index, &d);
  if (code) return code;
  model *m = model_of(modelId);
  if (!m) return GE_MODEL_ID;
  const description *r = &m->file.runs;
  uint64_t row[128];
  size_t n = 0, moving = 0;
  for (int i = 0; i < r->inputs && r->kind == DIMS; i++)
    for (int k = 0; k < r->in[i].rank && i != m->file.gear_input; k++, n++) {
      if (n >= dims->dimCount) return fake_fail(GE_LENGTH, NULL, "%zu dims are too few", dims->dimCount);
      if (r->in[i].dims[k] >= 0 && r->in[i].dims[k] != dims->dims[n]) return fake_fail(GE_LENGTH, NULL, "a static dim differs");
      if (r->in[i].dims[k] < 0) row[moving++] = dims->dims[n];
    }
  if (r->kind == DIMS && n != dims->dimCount) return fake_fail(GE_LENGTH, NULL, "%zu dims, the model has %zu", dims->dimCount, n);
  if (r->width == (int)n)
    for (moving = 0; moving < n; moving++) row[moving] = dims->dims[moving];
  return set(modelId, d, index, DIMS, row, moving);
}
