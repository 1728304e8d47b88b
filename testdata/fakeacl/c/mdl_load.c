// Loading, unloading, sizes.
#include "model.h"

static model *models;
static uint32_t last_id;

static int not_ready(void) { return fake_fail(GE_NOT_INIT, NULL, "GeExecutor has not been initialized"); }

model *model_of(uint32_t id) {
  for (model *m = models; m; m = m->next)
    if (m->id == id && m->alive) return m;
  for (model *m = models; m; m = m->next)
    if (m->id == id) fake_violate("stale-model", "model %u was unloaded", id);
  fake_fail(GE_MODEL_ID, NULL, "model id %u is unknown", id);
  return NULL;
}

static int query(const void *data, size_t n, size_t *work, size_t *weight) {
  om *o = malloc(sizeof *o);
  int code = om_parse(data, n, o);
  if (!code) *work = o->work, *weight = o->weight;
  free(o);
  return code;
}

aclError aclmdlQuerySize(const char *fileName, size_t *workSize, size_t *weightSize) {
  CALL;
  if (!fileName || !workSize || !weightSize) return fake_silent(INVALID_PARAM);  // the real one leaves no text
  if (!fake.inits) return not_ready();
  size_t n;
  int code;
  char *data = om_read(fileName, &n, &code);
  if (!data) return code;
  code = query(data, n, workSize, weightSize);
  free(data);
  return code;
}

aclError aclmdlQuerySizeFromMem(const void *model, size_t modelSize, size_t *workSize, size_t *weightSize) {
  CALL;
  if (!model || !modelSize || !workSize || !weightSize) return fake_silent(INVALID_PARAM);
  if (!fake.inits) return not_ready();
  return query(model, modelSize, workSize, weightSize);
}

// Each release says it in its own way (facts/acl.md 5.5).
static int other_chip(const char *soc) {
  if (fake.release < R85) return fake_fail(507008, "E19999", "Model soc version[%s] is not support in this device[%s]", soc, fake.soc);
  if (fake.release < R91)
    return fake_fail(GE_FAILURE, "EE1001", "The argument is invalid.Reason: ModelCheckCompatibility failed, supported socVersion=%s, but the model socVersion=%s, ret: 0x7BC80", fake.soc, soc);
  if (fake.release < HEAD) return fake_fail(GE_FAILURE, "E19999", "Model soc version[%s] is not support in this device", soc);
  if (!strcmp(soc, "Ascend310") || strncmp(soc, "Ascend", 6)) return fake_fail(GE_FAILURE, "EE1011", "Checking the compatibility of the chips failed. Value %s for parameter omSocVersion is invalid. Reason: SoC version %s is invalid.", soc, soc);
  return fake_fail(GE_FAILURE, "E10001", "Value %s for parameter soc_version is invalid. Reason: Model soc version is not support in this device.", soc);
}

// judge is what a load looks at beyond the container, in its order.
static int judge(const om *o) {
  if (o->type == 5) return fake_fail(GE_FAILURE, "E19999", "bundle model does not support loading through non-bundle interfaces");
  if (!o->has_definition || o->broken_definition) return fake_fail(GE_FAILURE, "E19999", "Read proto from BinaryFile failed");
  return *o->soc && strcmp(o->soc, fake.soc) ? other_chip(o->soc) : 0;
}

// io is what inputs and outputs take of the work memory. They lie in the
// caller's buffers, so memory given for a load may be shorter by it.
static size_t io(const description *d) {
  size_t n = 0;
  for (int i = 0; i < d->inputs; i++) n += padded(d->in[i].size);
  for (int i = 0; i < d->outputs; i++) n += padded(d->out[i].size);
  return n;
}

static int place(model *m, int which, const void *at, size_t size, size_t need) {
  if (!at || (which == 0 && m->file.dynamic)) {
    m->taken += need;
    return 0;
  }
  region *r = fake_region(at, 1);
  if (!r || !r->alive || r->pinned) {
    fake_violate("model-in-foreign-memory", "%p is no device memory", at);
    return fake_fail(GE_PARAM, NULL, "the memory given is not device memory");
  }
  size_t spared = which == 0 ? io(&m->file.runs) : 0;
  if (size + spared < need) return fake_fail(GE_PARAM, NULL, "the memory given has %zu bytes, %zu are needed", size, need - spared);
  m->given[which] = r, r->used_by++;
  return 0;
}

static void release(model *m) {
  for (int i = 0; i < 2; i++)
    if (m->given[i]) m->given[i]->used_by--;
  m->device->used -= m->taken;
  if (!m->executing) compute_close(m), free(m->data);  // else a task may be reading them now
  m->data = NULL, m->alive = false, m->taken = 0;
  memset(m->given, 0, sizeof m->given);
}

static void gone(fake_device *d) {
  for (model *m = models; m; m = m->next)
    if (m->alive && m->device == d) fake_violate("reset-with-live", "model %u", m->id), release(m);
}

static int leaks(void) {
  for (model *m = models; m; m = m->next)
    if (m->alive) fake_leak("model", (void *)(uintptr_t)m->id);
  return 0;
}

static int settle(model *m, const void *work, size_t work_size, const void *weight, size_t weight_size) {
  int code = place(m, 0, work, work_size, m->file.work);
  if (!code) code = place(m, 1, weight, weight_size, m->file.weight);
  if (code) return m->taken = 0, code;
  if (m->device->used + m->taken > fake.memory) {
    size_t need = m->taken;
    m->taken = 0;
    return fake_fail(GE_DEVICE_MEMORY, "EL0004", "Failed to allocate memory requested by GE module: %zu bytes.", need);
  }
  m->device->used += m->taken;
  const char *wrong = m->file.has_payload ? compute_open(m) : "the file holds nothing that the double can compute";
  return wrong ? fake_fail(545001, NULL, "%s", wrong) : 0;
}

// model_load takes data over.
int model_load(char *data, size_t n, const void *work, size_t work_size, const void *weight, size_t weight_size, uint32_t *id) {
  model *m = calloc(1, sizeof *m);
  m->data = data, m->gear = -1, m->id = ++last_id;  // used up by a load that fails, too
  int code = om_parse(data, n, &m->file);
  if (!code) code = judge(&m->file);
  fake_context *c = code ? NULL : fake_current();
  if (!code && !c) code = fake_no_context();
  if (!code) code = fake_usable(c->device);
  if (code) return free(data), free(m), code;
  m->ctx = c, m->device = c->device;
  fake.device_gone = gone, fake.model_leaks = leaks;
  if (fake.load_ms) fake_sleep(NULL, fake.load_ms * 1000.0);
  if ((code = settle(m, work, work_size, weight, weight_size))) return release(m), free(m), code;
  m->alive = true, *id = m->id;
  m->next = models, models = m;
  return 0;
}

static int from_file(const char *path, uint32_t *id, void *work, size_t work_size, void *weight, size_t weight_size) {
  if (!path || !id) return fake_silent(INVALID_PARAM);
  if (!fake.inits) return not_ready();
  size_t n;
  int code;
  char *data = om_read(path, &n, &code);
  return data ? model_load(data, n, work, work_size, weight, weight_size, id) : code;
}

static int from_memory(const void *data, size_t n, uint32_t *id, void *work, size_t work_size, void *weight, size_t weight_size) {
  if (!data) return fake_null_model("model");
  if (!id) return fake_null_model("modelId");
  if (n && n < 4 && fake.release >= HEAD) return om_short(n);
  if (n < 256) return fake_silent(INVALID_PARAM);
  if (!fake.inits) return not_ready();
  char *copy = malloc(n);
  memcpy(copy, fake_shadow(data), n);
  return model_load(copy, n, work, work_size, weight, weight_size, id);
}

aclError aclmdlLoadFromFile(const char *modelPath, uint32_t *modelId) {
  CALL;
  return from_file(modelPath, modelId, NULL, 0, NULL, 0);
}

aclError aclmdlLoadFromMem(const void *model, size_t modelSize, uint32_t *modelId) {
  CALL;
  return from_memory(model, modelSize, modelId, NULL, 0, NULL, 0);
}

aclError aclmdlLoadFromFileWithMem(const char *modelPath, uint32_t *modelId, void *workPtr, size_t workSize, void *weightPtr, size_t weightSize) {
  CALL;
  return from_file(modelPath, modelId, workPtr, workSize, weightPtr, weightSize);
}

aclError aclmdlLoadFromMemWithMem(const void *model, size_t modelSize, uint32_t *modelId, void *workPtr, size_t workSize, void *weightPtr, size_t weightSize) {
  CALL;
  return from_memory(model, modelSize, modelId, workPtr, workSize, weightPtr, weightSize);
}

aclError aclmdlUnload(uint32_t modelId) {
  CALL;
  if (!fake.inits) return not_ready();
  model *m = model_of(modelId);
  if (!m) return GE_MODEL_ID;
  if (m->executing) fake_violate("unload-in-use", "model %u has a run that has not ended", modelId);
  if (fake_current() != m->ctx) {
    fake_violate("unload-in-other-context", "model %u", modelId);
    fake_fail(0, "EE1010", "aclmdlUnload execution failed because the model does not belong to the current context. Extended information: none.");
  }
  release(m);
  return 0;
}

// ---- load by configuration

struct aclmdlConfigHandle { object o; size_t type, mem_size, weight_size, work_size; char *path; void *mem, *weight, *work; int32_t priority; };

aclmdlConfigHandle *aclmdlCreateConfigHandle(void) {
  CALL_QUIET;
  return fake_new(CONFIG, sizeof(aclmdlConfigHandle));
}

aclError aclmdlDestroyConfigHandle(aclmdlConfigHandle *handle) {
  CALL;
  if (!handle) return fake_null_model("handle");
  aclmdlConfigHandle *h = fake_live(handle, CONFIG);
  if (h) free(h->path), fake_end(h);
  else fake_violate("stale-config-handle", "%p", (void *)handle);
  return 0;
}

aclError aclmdlSetConfigOpt(aclmdlConfigHandle *handle, aclmdlConfigAttr attr, const void *value, size_t size) {
  CALL;
  if (!handle) return fake_null_model("handle");
  if (!value) return fake_null_model("attrValue");
  aclmdlConfigHandle *h = fake_live(handle, CONFIG);
  if (!h) return fake_violate("stale-config-handle", "%p", (void *)handle), fake_silent(INVALID_PARAM);
  size_t want = attr == ACL_MDL_PRIORITY_INT32 || (int)attr == 28 ? 4 : 8;
  if ((int)attr < 0 || (int)attr > 29) return fake_value(INVALID_PARAM, "EH0001", "attr", attr, "[0, 29]");
  if (size != want) return fake_value(INVALID_PARAM, "EH0001", "valueSize", (long long)size, want == 4 ? "4" : "8");
  size_t number = 0;
  memcpy(&number, value, size);
  switch ((int)attr) {
    case ACL_MDL_PRIORITY_INT32:
      if (number > 7) return fake_value(INVALID_PARAM, "EH0001", "priority", (int32_t)number, "[0, 7]");
      h->priority = number;
      break;
    case ACL_MDL_LOAD_TYPE_SIZET:
      if (number < 1 || number > 6) return fake_value(INVALID_PARAM, "EH0001", "load type", (long long)number, "[1, 6]");
      h->type = number;
      break;
    case ACL_MDL_PATH_PTR: free(h->path), h->path = number ? strdup((char *)number) : NULL; break;
    case ACL_MDL_MEM_ADDR_PTR: h->mem = (void *)number; break;
    case ACL_MDL_MEM_SIZET: h->mem_size = number; break;
    case ACL_MDL_WEIGHT_ADDR_PTR: h->weight = (void *)number; break;
    case ACL_MDL_WEIGHT_SIZET: h->weight_size = number; break;
    case ACL_MDL_WORKSPACE_ADDR_PTR: h->work = (void *)number; break;
    case ACL_MDL_WORKSPACE_SIZET: h->work_size = number; break;
  }
  return 0;
}

aclError aclmdlLoadWithConfig(const aclmdlConfigHandle *handle, uint32_t *modelId) {
  CALL;
  if (!handle) return fake_null_model("handle");
  aclmdlConfigHandle *h = fake_live(handle, CONFIG);
  if (!h || !h->type) return fake_value(INVALID_PARAM, "EH0001", "load type", 0, "[1, 6]");
  bool file = h->type <= 2 || h->type == 5;
  if (file ? !h->path : !h->mem) return fake_value(INVALID_PARAM, "EH0001", file ? "path" : "memory address", 0, "to be set");
  bool given = h->type == 2 || h->type == 4;
  void *work = given ? h->work : NULL, *weight = given ? h->weight : NULL;
  return file ? from_file(h->path, modelId, work, h->work_size, weight, h->weight_size)
              : from_memory(h->mem, h->mem_size, modelId, work, h->work_size, weight, h->weight_size);
}

aclError aclmdlGetAippType(uint32_t modelId, size_t index, aclmdlInputAippType *type, size_t *attached) {
  CALL;
  if (!type) return fake_null_model("type");
  if (!attached) return fake_null_model("dynamicAttachedDataIndex");
  model *m = model_of(modelId);
  if (!m) return GE_MODEL_ID;
  if (index >= (size_t)m->file.runs.inputs) return fake_value(INVALID_PARAM, "EH0001", "index", (long long)index, "less than the number of inputs");
  *type = ACL_DATA_WITHOUT_AIPP, *attached = 0xFFFFFFFF;
  return 0;
}
