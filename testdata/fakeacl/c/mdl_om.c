// Reads .om files: the container as the vendor's loader judges it
// (facts/acl.md 6 and 9), and the payload our encoder put in place of kernels
// (internal/model/omtest).
#include <errno.h>
#include <sys/stat.h>
#include "model.h"

enum { HEADER = 256, DEFINITION = 0, WEIGHTS = 1, TASKS = 2, KERNELS = 3, DESCRIBED = 8 };

typedef struct { const unsigned char *p; size_t n; } bytes;

static uint32_t u32(const unsigned char *p) { return p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24; }
static uint64_t u64(const unsigned char *p) { return u32(p) | (uint64_t)u32(p + 4) << 32; }

static bool next_u32(bytes *b, uint32_t *v) {
  if (b->n < 4) return false;
  *v = u32(b->p), b->p += 4, b->n -= 4;
  return true;
}

static bool cut(bytes *b, size_t n, bytes *out) {
  if (b->n < n) return false;
  *out = (bytes){b->p, n}, b->p += n, b->n -= n;
  return true;
}

// ---- a little protobuf: fields of one message

typedef struct { uint32_t number, wire; uint64_t value; bytes data; } field;

static bool varint(bytes *b, uint64_t *v) {
  *v = 0;
  for (int shift = 0; shift < 70; shift += 7) {
    if (!b->n) return false;
    unsigned char c = *b->p;
    b->p++, b->n--;
    *v |= (uint64_t)(c & 127) << (shift > 63 ? 63 : shift);
    if (c < 128) return true;
  }
  return false;
}

// next_field answers 1, 0 at the end, -1 for what is no message.
static int next_field(bytes *b, field *f) {
  uint64_t key;
  if (!b->n) return 0;
  if (!varint(b, &key) || !(f->number = key >> 3)) return -1;
  switch (f->wire = key & 7) {
    case 0: return varint(b, &f->value) ? 1 : -1;
    case 1: return cut(b, 8, &f->data) ? 1 : -1;
    case 2: return varint(b, &f->value) && cut(b, f->value, &f->data) ? 1 : -1;
    case 5: return cut(b, 4, &f->data) ? 1 : -1;
  }
  return -1;
}

static bool find(bytes message, uint32_t number, field *f) {
  while (next_field(&message, f) == 1)
    if (f->number == number) return true;
  return false;
}

// definition looks for the attribute soc_version, and whether it is a message.
static void definition(bytes b, om *out) {
  field f, key, value, text;
  int more;
  while ((more = next_field(&b, &f)) == 1) {
    if (f.number != 11 || f.wire != 2 || !find(f.data, 1, &key) || !find(f.data, 2, &value)) continue;
    if (key.data.n == 11 && !memcmp(key.data.p, "soc_version", 11) && find(value.data, 2, &text) && text.data.n < sizeof out->soc)
      memcpy(out->soc, text.data.p, text.data.n);
  }
  out->broken_definition = more < 0;
}

// ---- the description

static bool numbers(bytes b, int64_t *to, int *rank, int max) {
  if (b.n / 8 > (size_t)max || b.n % 8) return false;
  *rank = b.n / 8;
  for (int i = 0; i < *rank; i++) to[i] = u64(b.p + 8 * i);
  return true;
}

static bool one_tensor(bytes *b, tensor *t) {
  bytes head, name, dims, dims_v2, range;
  if (!cut(b, 32, &head)) return false;
  t->size = u64(head.p), t->format = u32(head.p + 8), t->dtype = u32(head.p + 12);
  if (!cut(b, u32(head.p + 16), &name) || !cut(b, u32(head.p + 20), &dims) || !cut(b, u32(head.p + 24), &dims_v2) || !cut(b, u32(head.p + 28), &range)) return false;
  snprintf(t->name, sizeof t->name, "%.*s", (int)name.n, name.p);
  int pairs;
  if (!numbers(dims, t->dims, &t->rank, 16) || !numbers(dims_v2, t->dims_v2, &t->rank_v2, 16) || !numbers(range, t->range[0], &pairs, 32)) return false;
  t->ranges = pairs / 2;
  return true;
}

static bool tensors(bytes b, tensor *to, int *n) {
  uint32_t count;
  if (!next_u32(&b, &count) || count > FAKE_MAX_IO) return false;
  for (*n = 0; *n < (int)count; ++*n)
    if (!one_tensor(&b, &to[*n])) return false;
  return true;
}

static bool gears(bytes b, description *d, gear_kind kind) {
  uint32_t count, width = 1;
  if (!next_u32(&b, &count) || !count || count > 128) return false;
  for (uint32_t i = 0; kind != BATCH && i < count; i++)
    if (!next_u32(&b, &width) || !width || width > 128) return false;
  d->kind = kind, d->gears = count, d->width = width;
  if (b.n < 8ul * count * width) return false;
  for (uint32_t i = 0; i < count * width; i++) d->gear[i / width][i % width] = u64(b.p + 8 * i);
  return true;
}

static bool describe(bytes b, description *d, om *more) {
  uint32_t kind, length;
  bytes data;
  while (b.n) {
    if (!next_u32(&b, &kind) || !next_u32(&b, &length) || !cut(&b, length, &data)) return false;
    if (kind == 0 && !tensors(data, d->in, &d->inputs)) return false;
    if (kind == 1 && !tensors(data, d->out, &d->outputs)) return false;
    if (kind >= BATCH && kind <= DIMS && !gears(data, d, kind)) return false;
    if (!more) continue;
    if (kind == 100 && length < sizeof more->soc) memset(more->soc, 0, sizeof more->soc), memcpy(more->soc, data.p, length);
    if (kind == 103 && length == 4) more->gear_input = u32(data.p);
    if (kind == 104 && length == 4) more->dynamic = u32(data.p);
  }
  return true;
}

static void payload(bytes b, om *out) {
  if (b.n < 32 || memcmp(b.p, "ASCSIM01", 8)) return;
  bytes said = {b.p + 32, b.n - 32}, about;
  uint64_t size = u64(b.p + 24);
  if (!cut(&said, u64(b.p + 16), &about) || said.n < size || !describe(about, &out->runs, out)) return;
  out->has_payload = true;
  out->payload = u32(b.p + 8), out->body = (const char *)said.p, out->body_size = size;
}

// ---- the container

static int invalid(const char *why) {
  return fake_fail(fake.release < R85 ? GE_SIZE : GE_PARAM, "E10001", "Value model for parameter om file is invalid. Reason: %s", why);
}

static void partition(uint32_t type, bytes data, om *out) {
  field f;
  if (type == WEIGHTS) out->weight += data.n;
  if (type == TASKS && find(data, 11, &f) && f.wire == 0 && !out->work) out->work = f.value;
  if (type == DEFINITION && !out->has_definition) out->has_definition = true, definition(data, out);
  if (type == DESCRIBED && !out->has_description) out->has_description = describe(data, &out->told, NULL);
  if (type == KERNELS && !out->has_payload) payload(data, out);
}

// One table and its partitions. The codes differ by what is wrong: too many
// entries for the body 145000, a partition beyond it 145006.
static int table(bytes *b, bool wide, om *out) {
  uint32_t count, entry = wide ? 24 : 12;
  bytes t = *b, rest;
  if (!next_u32(&t, &count)) return GE_SIZE;
  if (wide) t.p += 4, t.n = t.n < 4 ? 0 : t.n - 4;
  if (!count || count > 128 || count > t.n / entry) return invalid("Invalid om file.");
  rest = (bytes){t.p + count * entry, t.n - count * entry};
  uint64_t sum = 0;
  for (uint32_t i = 0; i < count; i++) {
    const unsigned char *e = t.p + i * entry;
    uint64_t at = wide ? u64(e + 8) : u32(e + 4), size = wide ? u64(e + 16) : u32(e + 8);
    if (at > rest.n || size > rest.n - at) return GE_SIZE;
    sum += size;
    partition(u32(e), (bytes){rest.p + at, size}, out);
  }
  if (sum > rest.n) return GE_SIZE;
  *b = (bytes){rest.p + sum, rest.n - sum};
  return 0;
}

int om_short(size_t n) { return fake_fail(GE_SIZE, "E10001", "Value %zu for parameter size is invalid. Reason: Model data size must be at least 4.", n); }

int om_parse(const void *data, size_t n, om *out) {
  const unsigned char *h = data;
  memset(out, 0, sizeof *out);
  out->gear_input = -1;
  if (n < 4) return om_short(n);
  if (n < HEADER) return invalid("the file is smaller than 256 bytes.");
  bytes body = {h + HEADER, n - HEADER};
  uint64_t length = u64(h + 184) ? u64(h + 184) : u32(h + 76);
  uint32_t version = u32(h + 8), models = u32(h + 156);
  bool wide = u64(h + 184) != 0;
  out->type = h[82], out->dynamic = version >= 0x20000000 && h[193];
  if (u32(h) != 0x444F4D49 || length != body.n) return invalid("Invalid om file.");
  if (out->type == 3) return fake_fail(GE_SIZE, NULL, "the flow model cannot be parsed");
  uint64_t tables = version >= 0x20000000 && (models > 1 || h[193]) ? models : 1;
  for (uint64_t i = 0; i < (tables ? tables : 1); i++) {
    int code = table(&body, wide, out);
    if (code == GE_SIZE && fake.release >= R85) return fake_fail(code, NULL, "the partition table does not fit the file");
    if (code) return code;
  }
  if (body.n) return fake_fail(GE_FAILURE, NULL, "the partitions do not end with the file");
  if (out->dynamic) out->work = 0;
  return 0;
}

char *om_read(const char *path, size_t *n, int *code) {
  struct stat s;
  *code = 0;
  if (stat(path, &s)) {
    *code = fake_fail(GE_PATH, fake.release >= R91 ? "E13000" : "E19000", "Path %s is empty. Reason: [Errno 2] No such file or directory.", path);
  } else if (S_ISDIR(s.st_mode)) {
    *code = fake_fail(GE_FAILURE, "E10001", "Value 0 for parameter size is invalid. Reason: %s holds no model.", path);
  } else if (!s.st_size) {
    *code = fake_fail(GE_SIZE, "E10001", "Value %s for parameter file_path is invalid. Reason: The model data size 0 is smaller than 4.", path);
  }
  if (*code) return NULL;
  FILE *f = fopen(path, "rb");
  if (!f) return *code = fake_fail(GE_PATH, NULL, "%s: %s", path, strerror(errno)), NULL;
  char *data = malloc(s.st_size);
  *n = fread(data, 1, s.st_size, f);
  fclose(f);
  return data;
}
