// Runs: what is refused before, what happens on the device, what comes back.
#include "model.h"

typedef struct { model *m; aclmdlDataset *in, *out; bool sync; } job;

static int mismatch(const char *what, int i, size_t has, size_t need) {
  return fake_fail(fake.release < R85 ? GE_PARAM : GE_FAILURE, "E13025", "Input tensor is invalid. Reason: %s %d has %zu bytes, %zu are needed.", what, i, has, need);
}

// Lengths, as the static executor compares them: against the padded size, with
// 64 bytes of grace. Nothing is compared once a gear was set (facts/acl.md 5.5).
static int lengths(const job *j) {
  const description *d = &j->m->file.runs;
  for (int i = 0; i < d->inputs && j->in->gear < 0; i++)
    if (j->in->buffer[i]->size + 64 < padded(d->in[i].size)) return mismatch("input", i, j->in->buffer[i]->size, padded(d->in[i].size));
  for (int i = 0; i < d->outputs && j->in->gear < 0; i++) {
    const aclDataBuffer *b = j->out->buffer[i];
    if (!b->data && !b->size && j->sync) continue;
    if (b->size + 64 < padded(d->out[i].size)) return mismatch("output", i, b->size, padded(d->out[i].size));
    if (b->size < d->out[i].size) return fake_fail(GE_INTERNAL, "E19999", "output %d: invalid buffer_length %zu, %zu are needed", i, b->size, (size_t)d->out[i].size);
  }
  return 0;
}

static int counts(const job *j) {
  const description *d = &j->m->file.runs;
  if (j->m->file.dynamic && (j->in->n < d->inputs || j->out->n < d->outputs)) return fake_value(INVALID_PARAM, "EH0001", "number of buffers", j->in->n, "that of the model");
  if (!j->m->file.dynamic && (j->in->n != d->inputs || j->out->n != d->outputs))
    return fake_fail(fake.release < R85 ? GE_PARAM : GE_FAILURE, "E13025", "Input tensor is invalid. Reason: the number of inputs or outputs of the dataset and the model are inconsistent.");
  return 0;
}

// memory looks at the buffers as the device would find them.
static void memory(const aclmdlDataset *d, const char *what, bool may_be_null) {
  for (int i = 0; i < d->n; i++) {
    const aclDataBuffer *b = fake_live(d->buffer[i], BUFFER);
    if (!b) {
      fake_violate("stale-data-buffer", "%s %d", what, i);
      continue;
    }
    if (!b->data && may_be_null) continue;
    region *r = fake_region(b->data, 1);
    if (!r || (r->pinned && !fake.rc)) fake_violate("host-memory-in-dataset", "%s %d: %p", what, i, b->data);
    else if (!r->alive) fake_violate("use-after-free", "%s %d: %p was freed", what, i, b->data);
    else if ((uintptr_t)b->data % 64) fake_violate("unaligned-buffer", "%s %d: %p is no multiple of 64", what, i, b->data);
    else if ((char *)b->data + b->size > r->at + r->size) fake_violate("buffer-beyond-allocation", "%s %d: %zu bytes at %p", what, i, b->size, b->data);
  }
}

static void races(const job *j) {
  for (int i = 0; i < j->in->n; i++)
    if (fake_pending(j->in->buffer[i]->data, j->in->buffer[i]->size, false)) fake_violate("read-before-sync", "input %d is written by work that has not ended", i);
  for (int i = 0; i < j->out->n; i++)
    if (j->out->buffer[i]->size && fake_pending(j->out->buffer[i]->data, j->out->buffer[i]->size, true)) fake_violate("write-in-flight", "output %d is used by work that has not ended", i);
}

static int shapes(const job *j) {
  const description *d = &j->m->file.runs;
  for (int i = 0; i < d->inputs && j->m->file.dynamic; i++)
    for (int k = 0; k < d->in[i].rank; k++) {
      aclTensorDesc *t = j->in->shape[i];
      int64_t v = !t ? d->in[i].dims[k] : k < t->rank ? t->dims[k] : -1;
      const int64_t *range = d->in[i].range[k];
      if (v < 0 || (k < d->in[i].ranges && (v < range[0] || (range[1] > 0 && v > range[1])))) return fake_value(INVALID_PARAM, "EH0001", "shape", v, "one within the range of the model");
    }
  return 0;
}

static int own(const job *j, const fake_stream *s) {
  model *m = j->m;
  NEED_CONTEXT(c);
  if (c != m->ctx) {
    fake_violate("model-in-other-context", "model %u", m->id);
    return fake_fail(RT_MODEL_CONTEXT, "EE1010", "%s execution failed because the model does not belong to the current context. Extended information: none.", fake_call());
  }
  int mode = j->sync ? 1 : 2;
  if (!m->file.dynamic && m->mode && m->mode != mode) {
    fake_violate("mixed-execute", "model %u was run %s before", m->id, m->mode == 1 ? "synchronously" : "asynchronously");
    return fake_fail(GE_FAILURE, "E19999", "NnExecute not support mix execute");
  }
  if (m->executing && (j->sync || m->on != s)) {
    fake_violate("model-run-twice", "model %u has a run that has not ended", m->id);
    return fake_fail(GE_FAILURE, "E19999", "the model is executing");
  }
  return 0;
}

static int judge(const job *j, const fake_stream *s) {
  int code = own(j, s);
  if (code || (code = counts(j))) return code;
  memory(j->in, "input", false);
  memory(j->out, "output", j->sync);
  for (int i = 0; i < j->in->n && j->m->file.dynamic; i++)
    if (!j->in->buffer[i]->data) return fake_fail(INVALID_PARAM, NULL, "input %d is a null pointer", i);
  if (!j->m->file.dynamic && (code = lengths(j))) return code;
  if ((code = shapes(j))) return code;
  if (j->m->file.runs.kind != NO_GEARS && (j->in->gear < 0 || j->in->buffer[j->in->gear_at]->changed != j->in->gear_mark))
    fake_violate("gear-not-set", "no gear was set in this dataset since its buffer changed");
  j->m->mode = j->sync ? 1 : 2;
  fake.executes++;
  return 0;
}

// ---- on the device

// gear is what the gear input holds; -1: nothing sensible.
static int gear_now(const job *j) {
  const description *d = &j->m->file.runs;
  int largest = 0;
  for (int g = 1; g < d->gears; g++)
    if (memcmp(d->gear[g], d->gear[largest], sizeof *d->gear[g]) && d->gear[g][0] > d->gear[largest][0]) largest = g;
  if (j->m->gear < 0) return largest;
  const aclDataBuffer *b = j->in->buffer[j->m->file.gear_input];
  size_t each = b->size >= 8ul * d->width ? 8 : 4;
  if (fake_room(b->data) < each * d->width) return -1;
  uint64_t row[128] = {0};
  for (int i = 0; i < d->width; i++) memcpy(&row[i], (char *)fake_shadow(b->data) + i * each, each);
  for (int g = 0; g < d->gears; g++)
    if (!memcmp(d->gear[g], row, d->width * sizeof *row)) return g;
  return -1;
}

// input points into the device's memory, so that whoever writes there too soon
// changes the result. What is too short is read past its end, like there.
static int input(const job *j, int i, int gear, value *v, void **owned) {
  const tensor *t = &j->m->file.runs.in[i];
  const aclDataBuffer *b = j->in->buffer[i];
  v->rank = t->rank, v->dtype = t->dtype, v->size = type_size(t->dtype);
  gear_dims(j->m, gear, i, v->dims);
  if (j->in->shape[i] && j->m->file.dynamic) memcpy(v->dims, j->in->shape[i]->dims, t->rank * sizeof *v->dims);
  for (int k = 0; k < t->rank; k++) v->size *= v->dims[k];
  size_t room = fake_room(b->data), has = b->size < room ? b->size : room;
  if (!room) return fake_violate("use-after-free", "input %d is no live device memory", i), RT_AICORE;
  v->data = fake_shadow(b->data);
  if (has >= v->size) return 0;
  fake_violate("short-input", "input %d has %zu bytes, the run reads %zu", i, has, v->size);
  *owned = malloc(v->size);
  memset(*owned, 0xDB, v->size);
  memcpy(*owned, v->data, has);
  v->data = *owned;
  return 0;
}

static int output(const job *j, int i, const value *v) {
  aclDataBuffer *b = j->out->buffer[i];
  if (!b->data && j->sync) {
    int code = fake_take(&b->data, v->size ? v->size : 1, false, 32);
    if (code) return code;
    b->size = v->size;
  }
  size_t room = fake_room(b->data), has = b->size < room ? b->size : room;
  if (has < v->size) {
    fake_violate("short-output", "output %d has %zu bytes, the run writes %zu", i, has, v->size);
    if (j->m->file.dynamic && j->sync) return fake_fail(GE_FAILURE, "E19999", "output %d needs %zu bytes, the buffer has %zu", i, v->size, has);
    return RT_AICORE;
  }
  memcpy(fake_shadow(b->data), v->data, v->size);
  if (!j->m->file.dynamic) return 0;
  aclTensorDesc *t = j->out->shape[i];
  if (!t) t = j->out->shape[i] = fake_new(TENSOR_DESC, sizeof *t), t->o.spared = true;
  t->rank = v->rank, t->dtype = v->dtype, t->format = ACL_FORMAT_ND;
  memcpy(t->dims, v->dims, sizeof v->dims);
  return 0;
}

static int calculate(job *j, run *r, int gear, fake_stream *s) {
  fake_device *d = j->m->device;
  fake_occupy(d);
  int64_t begin = fake_now_us();
  const char *call = fake_call();
  pthread_mutex_unlock(&fake.lock);
  const char *bad = compute(j->m, r);
  pthread_mutex_lock(&fake.lock);
  fake_name_call(call);
  double left = fake.latency_a_us + fake.latency_c_us * item_count(j->m, gear < 0 ? 0 : gear) - (fake_now_us() - begin);
  if (left > 0) fake_sleep(s, left);
  fake_vacate(d);
  if (bad) fake_note("compute", "%s", bad);
  return bad ? RT_AICORE : 0;
}

static int execute(job *j, fake_stream *s) {
  const description *d = &j->m->file.runs;
  run r = {.outputs = d->outputs};
  void *owned[FAKE_MAX_IO] = {0};
  int gear = d->kind == NO_GEARS ? -1 : gear_now(j), code = 0;
  if (!j->m->alive || (d->kind != NO_GEARS && gear < 0)) return RT_MODEL_EXECUTE;
  for (int i = 0; i < d->inputs && !code; i++)
    if (i != j->m->file.gear_input) code = input(j, i, gear, &r.in[r.inputs++], &owned[i]);
  if (!code) code = calculate(j, &r, gear, s);
  if (!code && s && (s->abort || s->gone)) code = RT_STREAM_ABORT;
  for (int i = 0; i < r.outputs; i++) {
    if (!code) code = output(j, i, &r.out[i]);
    free(r.out[i].data);
  }
  for (int i = 0; i < FAKE_MAX_IO; i++) free(owned[i]);
  return code;
}

static int run_job(fake_op *op) { return execute(op->a, op->stream); }

static void drop_job(fake_op *op) {
  job *j = op->a;
  j->m->executing--, j->in->in_flight--, j->out->in_flight--;
  free(j);
}

// ---- the calls

static int begin(uint32_t id, const aclmdlDataset *input, aclmdlDataset *output, bool sync, job *j) {
  if (!input) return fake_null_model("input");
  if (!output) return fake_null_model("output");
  if (!fake.inits) return fake_fail(GE_NOT_INIT, NULL, "GeExecutor has not been initialized");
  if (!(j->m = model_of(id))) return GE_MODEL_ID;
  j->in = dataset_of(input, false), j->out = dataset_of(output, false), j->sync = sync;
  return j->in && j->out ? 0 : fake_silent(INVALID_PARAM);
}

static int queue(const job *from, fake_stream *s) {
  job *j = malloc(sizeof *j);
  *j = *from;
  fake_op *op = fake_op_new(run_job);
  op->a = j, op->drop = drop_job;
  for (int i = 0; i < j->in->n; i++) fake_op_range(op, j->in->buffer[i]->data, j->in->buffer[i]->size, false);
  for (int i = 0; i < j->out->n; i++) fake_op_range(op, j->out->buffer[i]->data, j->out->buffer[i]->size, true);
  j->m->executing++, j->in->in_flight++, j->out->in_flight++;
  j->m->on = s;
  return fake_queue(s, op);
}

// A static model tells the device's code, one of dynamic shape does not.
static int told(const job *j, int code) {
  if (!code || code == GE_FAILURE) return code;
  return fake_fail(j->m->file.dynamic ? GE_FAILURE : code, NULL, "the run failed on the device, the device says %d", code);
}

aclError aclmdlExecute(uint32_t modelId, const aclmdlDataset *input, aclmdlDataset *output) {
  CALL;
  job j;
  int code = begin(modelId, input, output, true, &j);
  if (code || (code = judge(&j, NULL))) return code;
  races(&j);
  j.m->executing++, j.in->in_flight++, j.out->in_flight++;
  int fault = fake.async_fault;
  if (fake.device_hang_ms) fake_sleep(NULL, fake.device_hang_ms * 1000.0);
  code = fault ? fault : execute(&j, NULL);
  if (!code && j.m->device->lost) code = RT_DRIVER;
  j.m->executing--, j.in->in_flight--, j.out->in_flight--;
  return told(&j, code);
}

static int asynchronous(uint32_t id, const aclmdlDataset *input, aclmdlDataset *output, aclrtStream stream) {
  job j;
  fake_stream *s;
  int code = begin(id, input, output, false, &j);
  if (code) return code;
  NEED_CONTEXT(c);
  if ((code = fake_own_stream(stream, c, &s))) return code;
  return (code = judge(&j, s)) ? code : queue(&j, s);
}

aclError aclmdlExecuteAsync(uint32_t modelId, const aclmdlDataset *input, aclmdlDataset *output, aclrtStream stream) {
  CALL;
  return asynchronous(modelId, input, output, stream);
}

// ---- with time-outs

struct aclmdlExecConfigHandle { object o; int32_t timeout[2]; };

aclmdlExecConfigHandle *aclmdlCreateExecConfigHandle(void) {
  CALL_QUIET;
  aclmdlExecConfigHandle *h = fake_new(EXEC_CONFIG, sizeof *h);
  h->timeout[0] = h->timeout[1] = -1;
  return h;
}

aclError aclmdlDestroyExecConfigHandle(const aclmdlExecConfigHandle *handle) {
  CALL;
  if (!handle) return fake_null_model("handle");
  aclmdlExecConfigHandle *h = fake_live(handle, EXEC_CONFIG);
  if (h) fake_end(h);
  else fake_violate("stale-config-handle", "%p", (const void *)handle);
  return 0;
}

aclError aclmdlSetExecConfigOpt(aclmdlExecConfigHandle *handle, aclmdlExecConfigAttr attr, const void *value, size_t size) {
  CALL;
  if (!handle) return fake_null_model("handle");
  if (!value) return fake_null_model("attrValue");
  aclmdlExecConfigHandle *h = fake_live(handle, EXEC_CONFIG);
  if (!h || (int)attr < 0 || (int)attr > 1) return fake_value(INVALID_PARAM, "EH0001", "attr", attr, "one of the two time-outs");
  if (size != 4) return fake_value(INVALID_PARAM, "EH0001", "valueSize", (long long)size, "4");
  memcpy(&h->timeout[attr], value, 4);
  return 0;
}

aclError aclmdlExecuteV2(uint32_t modelId, const aclmdlDataset *input, aclmdlDataset *output, aclrtStream stream, const aclmdlExecConfigHandle *handle) {
  CALL;
  if (!input || !output) return fake_null_model("dataset");
  if (!handle) return fake_null_model("handle");
  job j;
  fake_stream *s;
  int code = begin(modelId, input, output, true, &j);
  if (code) return code;
  NEED_CONTEXT(c);
  if ((code = fake_own_stream(stream, c, &s)) || (code = judge(&j, s)) || (code = queue(&j, s))) return code;
  aclmdlExecConfigHandle *h = fake_live(handle, EXEC_CONFIG);
  return told(&j, fake_drain(s, h && h->timeout[0] > 0 ? h->timeout[0] : -1));
}

aclError aclmdlExecuteAsyncV2(uint32_t modelId, const aclmdlDataset *input, aclmdlDataset *output, aclrtStream stream, const aclmdlExecConfigHandle *handle) {
  CALL;
  if (!handle) return fake_null_model("handle");
  return asynchronous(modelId, input, output, stream);
}
