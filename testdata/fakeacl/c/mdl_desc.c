// Descriptions of models.
#include "model.h"

static aclmdlDesc *desc_of(const aclmdlDesc *d) {
  aclmdlDesc *live = fake_live(d, MODEL_DESC);
  if (!live && d) fake_violate(fake_dead(d, MODEL_DESC) ? "stale-model-desc" : "garbage-handle", "%p is no model description", (const void *)d);
  return live;
}

aclmdlDesc *aclmdlCreateDesc(void) {
  CALL_QUIET;
  return fake_new(MODEL_DESC, sizeof(aclmdlDesc));
}

aclError aclmdlDestroyDesc(aclmdlDesc *modelDesc) {
  CALL;
  if (!modelDesc) return fake_null_model("modelDesc");
  aclmdlDesc *d = desc_of(modelDesc);
  if (d) fake_end(d);
  return 0;
}

aclError aclmdlGetDesc(aclmdlDesc *modelDesc, uint32_t modelId) {
  CALL;
  if (!modelDesc) return fake_null_model("modelDesc");
  aclmdlDesc *d = desc_of(modelDesc);
  if (!d) return fake_silent(INVALID_PARAM);
  memset(&d->d, 0, sizeof d->d), d->m = NULL;
  model *m = model_of(modelId);
  if (!m) return GE_MODEL_ID;
  d->m = m, d->id = modelId, d->d = m->file.runs;
  return 0;
}

static int from_memory(aclmdlDesc *d, const void *model, size_t n) {
  om *o = malloc(sizeof *o);
  int code = om_parse(model, n, o);
  memset(&d->d, 0, sizeof d->d), d->m = NULL;
  if (!code) d->d = o->told;
  free(o);
  return code;
}

static int not_ready(void) { return fake_fail(GE_NOT_INIT, NULL, "GeExecutor has not been initialized"); }

aclError aclmdlGetDescFromFile(aclmdlDesc *modelDesc, const char *modelPath) {
  CALL;
  if (!modelDesc) return fake_null_model("modelDesc");
  if (!modelPath) return fake_null_model("modelPath");
  aclmdlDesc *d = desc_of(modelDesc);
  if (!d) return fake_silent(INVALID_PARAM);
  if (!fake.inits) return not_ready();
  size_t n;
  int code;
  char *data = om_read(modelPath, &n, &code);
  if (!data) return code;
  code = from_memory(d, data, n);
  free(data);
  return code;
}

aclError aclmdlGetDescFromMem(aclmdlDesc *modelDesc, const void *model, size_t modelSize) {
  CALL;
  if (!modelDesc) return fake_null_model("modelDesc");
  if (!model) return fake_null_model("model");
  aclmdlDesc *d = desc_of(modelDesc);
  if (!d) return fake_silent(INVALID_PARAM);
  if (!fake.inits) return not_ready();
  return from_memory(d, model, modelSize);
}

static const tensor *tensor_at(const aclmdlDesc *desc, bool output, size_t i) {
  aclmdlDesc *d = desc_of(desc);
  if (!d) return NULL;
  size_t n = output ? d->d.outputs : d->d.inputs;
  return i < n ? &(output ? d->d.out : d->d.in)[i] : NULL;
}

size_t aclmdlGetNumInputs(aclmdlDesc *modelDesc) {
  CALL_QUIET;
  aclmdlDesc *d = desc_of(modelDesc);
  return d ? d->d.inputs : 0;
}

size_t aclmdlGetNumOutputs(aclmdlDesc *modelDesc) {
  CALL_QUIET;
  aclmdlDesc *d = desc_of(modelDesc);
  return d ? d->d.outputs : 0;
}

const char *aclmdlGetInputNameByIndex(const aclmdlDesc *modelDesc, size_t index) {
  CALL_QUIET;
  const tensor *t = tensor_at(modelDesc, false, index);
  return t ? t->name : "";
}

const char *aclmdlGetOutputNameByIndex(const aclmdlDesc *modelDesc, size_t index) {
  CALL_QUIET;
  const tensor *t = tensor_at(modelDesc, true, index);
  return t ? t->name : "";
}

static int index_of(const aclmdlDesc *desc, bool output, const char *name, size_t *index) {
  if (!desc) return fake_null_model("modelDesc");
  if (!name) return fake_null_model("name");
  if (!index) return fake_null_model("index");
  const tensor *t;
  for (size_t i = 0; (t = tensor_at(desc, output, i)); i++)
    if (!strcmp(t->name, name)) return *index = i, 0;
  return fake_silent(INVALID_PARAM);
}

aclError aclmdlGetInputIndexByName(const aclmdlDesc *modelDesc, const char *name, size_t *index) {
  CALL;
  return index_of(modelDesc, false, name, index);
}

aclError aclmdlGetOutputIndexByName(const aclmdlDesc *modelDesc, const char *name, size_t *index) {
  CALL;
  return index_of(modelDesc, true, name, index);
}

static int dims(const aclmdlDesc *desc, bool output, size_t index, bool v2, aclmdlIODims *to) {
  if (!desc) return fake_null_model("modelDesc");
  if (!to) return fake_null_model("dims");
  const tensor *t = tensor_at(desc, output, index);
  if (!t) return fake_value(INVALID_PARAM, "EH0001", "index", (long long)index, "less than the number of tensors");
  memset(to, 0, sizeof *to);
  snprintf(to->name, sizeof to->name, "%s", t->name);
  to->dimCount = v2 ? t->rank_v2 : t->rank;
  memcpy(to->dims, v2 ? t->dims_v2 : t->dims, to->dimCount * sizeof *to->dims);
  return 0;
}

aclError aclmdlGetInputDims(const aclmdlDesc *modelDesc, size_t index, aclmdlIODims *to) {
  CALL;
  return dims(modelDesc, false, index, false, to);
}

aclError aclmdlGetInputDimsV2(const aclmdlDesc *modelDesc, size_t index, aclmdlIODims *to) {
  CALL;
  return dims(modelDesc, false, index, true, to);
}

aclError aclmdlGetOutputDims(const aclmdlDesc *modelDesc, size_t index, aclmdlIODims *to) {
  CALL;
  return dims(modelDesc, true, index, false, to);
}

aclError aclmdlGetInputDimsRange(const aclmdlDesc *modelDesc, size_t index, aclmdlIODimsRange *range) {
  CALL;
  if (!range) return fake_null_model("dimsRange");
  const tensor *t = tensor_at(modelDesc, false, index);
  if (!t) return fake_value(INVALID_PARAM, "EH0001", "index", (long long)index, "less than the number of tensors");
  memset(range, 0, sizeof *range);
  range->rangeCount = t->rank;
  for (int i = 0; i < t->rank; i++) {
    range->range[i][0] = i < t->ranges ? t->range[i][0] : t->dims[i];
    range->range[i][1] = i < t->ranges ? t->range[i][1] : t->dims[i];
  }
  return 0;
}

// learn finds the output shapes of a gear by running it once on zeros.
static bool learn(model *m, int gear) {
  if (m->out_rank[gear][0]) return true;
  run r = {.inputs = m->file.runs.inputs - 1, .outputs = m->file.runs.outputs};
  for (int i = 0; i < r.inputs; i++) {
    const tensor *t = &m->file.runs.in[i];
    r.in[i].rank = t->rank, r.in[i].dtype = t->dtype, r.in[i].size = type_size(t->dtype);
    gear_dims(m, gear, i, r.in[i].dims);
    for (int k = 0; k < t->rank; k++) r.in[i].size *= r.in[i].dims[k];
    r.in[i].data = calloc(1, r.in[i].size + 1);
  }
  bool ok = !compute(m, &r);
  for (int i = 0; i < r.inputs; i++) free(r.in[i].data);
  for (int i = 0; i < r.outputs; i++) {
    m->out_rank[gear][i] = r.out[i].rank;
    memcpy(m->out_dims[gear][i], r.out[i].dims, sizeof r.out[i].dims);
    free(r.out[i].data);
  }
  return ok;
}

aclError aclmdlGetCurOutputDims(const aclmdlDesc *modelDesc, size_t index, aclmdlIODims *to) {
  CALL;
  const aclmdlDesc *d = modelDesc ? desc_of(modelDesc) : NULL;
  if (d && d->m && d->m->alive && d->m->gear >= 0 && d->m->gear_by != d->m->file.runs.kind && index < (size_t)d->d.outputs && to)
    return fake_fail(FAILURE, "E19999", "the gear was set by the setter of another kind");
  int code = dims(modelDesc, true, index, false, to);
  if (code) return code;
  model *m = d->m;
  if (!m || !m->alive) return model_of(d->id) ? 0 : GE_MODEL_ID;
  if (m->file.dynamic) return fake_fail(NOT_SUPPORTED, NULL, "not for a model of dynamic shape");
  if (m->file.runs.kind == NO_GEARS || m->gear < 0 || !learn(m, m->gear)) return 0;
  to->dimCount = m->out_rank[m->gear][index];
  memcpy(to->dims, m->out_dims[m->gear][index], to->dimCount * sizeof *to->dims);
  return 0;
}

aclFormat aclmdlGetInputFormat(const aclmdlDesc *modelDesc, size_t index) {
  CALL_QUIET;
  const tensor *t = tensor_at(modelDesc, false, index);
  return t ? (aclFormat)t->format : ACL_FORMAT_UNDEFINED;
}

aclFormat aclmdlGetOutputFormat(const aclmdlDesc *modelDesc, size_t index) {
  CALL_QUIET;
  const tensor *t = tensor_at(modelDesc, true, index);
  return t ? (aclFormat)t->format : ACL_FORMAT_UNDEFINED;
}

aclDataType aclmdlGetInputDataType(const aclmdlDesc *modelDesc, size_t index) {
  CALL_QUIET;
  const tensor *t = tensor_at(modelDesc, false, index);
  return t ? (aclDataType)t->dtype : ACL_DT_UNDEFINED;
}

aclDataType aclmdlGetOutputDataType(const aclmdlDesc *modelDesc, size_t index) {
  CALL_QUIET;
  const tensor *t = tensor_at(modelDesc, true, index);
  return t ? (aclDataType)t->dtype : ACL_DT_UNDEFINED;
}

size_t aclmdlGetInputSizeByIndex(aclmdlDesc *modelDesc, size_t index) {
  CALL_QUIET;
  const tensor *t = tensor_at(modelDesc, false, index);
  return t ? t->size : 0;
}

size_t aclmdlGetOutputSizeByIndex(aclmdlDesc *modelDesc, size_t index) {
  CALL_QUIET;
  const tensor *t = tensor_at(modelDesc, true, index);
  return t ? t->size : 0;
}

const char *aclmdlGetTensorRealName(const aclmdlDesc *modelDesc, const char *name) {
  CALL_QUIET;
  const tensor *t;
  for (int output = 0; name && output < 2; output++)
    for (size_t i = 0; (t = tensor_at(modelDesc, output, i)); i++)
      if (!strcmp(t->name, name)) return t->name;
  return NULL;
}

// ---- gears, as the description tells them

aclError aclmdlGetDynamicBatch(const aclmdlDesc *modelDesc, aclmdlBatch *batch) {
  CALL;
  if (!modelDesc) return fake_null_model("modelDesc");
  if (!batch) return fake_null_model("batch");
  aclmdlDesc *d = desc_of(modelDesc);
  memset(batch, 0, sizeof *batch);
  if (!d || d->d.kind != BATCH) return 0;
  batch->batchCount = d->d.gears;
  for (int i = 0; i < d->d.gears; i++) batch->batch[i] = d->d.gear[i][0];
  return 0;
}

static int all_inputs(size_t index) {
  return index == (size_t)-1 ? 0 : fake_value(INVALID_PARAM, "EH0001", "index", (long long)index, "-1");
}

// The index is not looked at, though it is documented to be -1.
aclError aclmdlGetDynamicHW(const aclmdlDesc *modelDesc, size_t index, aclmdlHW *hw) {
  CALL;
  if (!modelDesc) return fake_null_model("modelDesc");
  if (!hw) return fake_null_model("hw");
  aclmdlDesc *d = desc_of(modelDesc);
  (void)index;
  memset(hw, 0, sizeof *hw);
  if (!d || d->d.kind != IMAGE) return 0;
  hw->hwCount = d->d.gears;
  for (int i = 0; i < d->d.gears; i++) hw->hw[i][0] = d->d.gear[i][0], hw->hw[i][1] = d->d.gear[i][1];
  return 0;
}

aclError aclmdlGetInputDynamicGearCount(const aclmdlDesc *modelDesc, size_t index, size_t *count) {
  CALL;
  if (!modelDesc) return fake_null_model("modelDesc");
  if (!count) return fake_null_model("gearCount");
  aclmdlDesc *d = desc_of(modelDesc);
  int code = all_inputs(index);
  if (code) return code;
  *count = d && d->d.kind == DIMS ? d->d.gears : 0;
  return 0;
}

aclError aclmdlGetInputDynamicDims(const aclmdlDesc *modelDesc, size_t index, aclmdlIODims *to, size_t count) {
  CALL;
  if (!modelDesc) return fake_null_model("modelDesc");
  if (!to) return fake_null_model("dims");
  aclmdlDesc *d = desc_of(modelDesc);
  int code = all_inputs(index);
  if (code) return code;
  if (!d || (d->d.kind == DIMS && (int)count < d->d.gears)) return fake_value(INVALID_PARAM, "EH0001", "gearCount", (long long)count, "the number of gears");
  for (int i = 0; i < d->d.gears && d->d.kind == DIMS; i++) {
    // A gear of the file may name the changing dimensions only.
    size_t n = 0;
    int next = 0;
    memset(&to[i], 0, sizeof to[i]);
    for (int t = 0; t < d->d.inputs - 1; t++)
      for (int k = 0; k < d->d.in[t].rank && n < 128; k++) {
        int64_t v = d->d.in[t].dims[k];
        to[i].dims[n++] = v < 0 ? (int64_t)d->d.gear[i][next++] : v;
      }
    to[i].dimCount = n;
  }
  return 0;
}
