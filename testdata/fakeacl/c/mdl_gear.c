// Gears: setting one, and what shapes it means.
#include "model.h"

void gear_dims(const model *m, int gear, int input, int64_t *dims) {
  const description *d = &m->file.runs;
  const tensor *t = &d->in[input];
  memcpy(dims, t->dims, sizeof t->dims);
  if (d->kind == NO_GEARS || gear < 0) return;
  int next = 0;
  for (int i = 0; i < input; i++)
    for (int k = 0; k < d->in[i].rank; k++) next += d->in[i].dims[k] < 0;
  for (int k = 0; k < t->rank; k++)
    if (dims[k] < 0) dims[k] = d->gear[gear][d->kind == BATCH ? 0 : next++ % d->width];
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
// one does not compare the index with the gear input, nor the context with the
// model's.
static int write(model *m, aclmdlDataset *d, size_t index, const uint64_t *row, int gear, gear_kind by) {
  aclDataBuffer *b = d->buffer[index];
  int width = m->file.runs.width;
  size_t each = b->size >= 8ul * width ? 8 : 4;
  NEED_CONTEXT(c);
  if (fake_room(b->data) < each * width) {
    fake_violate("gear-buffer", "%p is no device memory of this size", b->data);
    return fake_fail(GE_LENGTH, NULL, "the gear input is no device memory");
  }
  if ((int)index != m->file.gear_input) fake_violate("gear-index", "input %zu is overwritten; the gear input is %d", index, m->file.gear_input);
  if (fake_pending(b->data, b->size, true)) fake_violate("write-in-flight", "the gear input is used by work that has not ended");
  char *to = fake_shadow(b->data);
  for (int i = 0; i < width; i++) memcpy(to + i * each, &row[i], each);
  d->gear = m->gear = gear, m->gear_by = by, d->gear_at = index, d->gear_mark = b->changed;
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

static int fits(const aclDataBuffer *b, int width) {
  return b->size >= 4ul * width ? 0 : fake_fail(GE_LENGTH, "E19999", "Dynamic input size [%zu] is less than [%d]", b->size, 4 * width);
}

// set compares the values alone: a setter of another kind does where the gears
// have as many values as it.
static int set(model *m, aclmdlDataset *d, size_t index, gear_kind by, const uint64_t *row, int width) {
  const description *r = &m->file.runs;
  int gear = r->kind != NO_GEARS && width == r->width ? gear_of(r, row) : -1;
  if (gear < 0) return fake_fail(GE_GEAR, "E19999", "the values cannot match the gear of model");
  int code = fits(d->buffer[index], width);
  return code ? code : write(m, d, index, row, gear, by);
}

static int set_row(uint32_t id, aclmdlDataset *dataset, size_t index, gear_kind by, const uint64_t *row, int width) {
  aclmdlDataset *d;
  int code = arguments(dataset, index, &d);
  if (code || (code = fits(d->buffer[index], width))) return code;
  model *m = model_of(id);
  return m ? set(m, d, index, by, row, width) : GE_MODEL_ID;
}

aclError aclmdlSetDynamicBatchSize(uint32_t modelId, aclmdlDataset *dataset, size_t index, uint64_t batchSize) {
  CALL;
  if (!batchSize) return dataset ? fake_fail(INVALID_PARAM, NULL, "batch 0") : fake_null_model("dataset");
  return set_row(modelId, dataset, index, BATCH, &batchSize, 1);
}

aclError aclmdlSetDynamicHWSize(uint32_t modelId, aclmdlDataset *dataset, size_t index, uint64_t height, uint64_t width) {
  CALL;
  if (!height || !width) return dataset ? fake_fail(INVALID_PARAM, NULL, "height or width 0") : fake_null_model("dataset");
  return set_row(modelId, dataset, index, IMAGE, (uint64_t[]){height, width}, 2);
}

// All dims of all inputs are given; the static ones must be right. A model
// without gears has none.
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
  size_t n = 0, open = 0, all = 0;
  for (int i = 0; i < r->inputs && r->kind != NO_GEARS; i++) all += i == m->file.gear_input ? 0 : r->in[i].rank;
  if (all != dims->dimCount || all > 128) return fake_fail(GE_LENGTH, "E19999", "%zu dims, the inputs have %zu", dims->dimCount, all);
  for (int i = 0; i < r->inputs; i++)
    for (int k = 0; k < r->in[i].rank && i != m->file.gear_input; k++, n++)
      if (r->in[i].dims[k] < 0) row[open++] = dims->dims[n];
      else if (r->in[i].dims[k] != dims->dims[n]) return fake_fail(GE_LENGTH, "E19999", "dim %zu is static", n);
  return set(m, d, index, DIMS, row, open);
}
