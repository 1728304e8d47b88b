// The model half of the double: files, descriptions, datasets, runs.
#ifndef FAKEACL_MODEL_H
#define FAKEACL_MODEL_H
#include "fake.h"

typedef struct {
  char name[256];
  uint64_t size;  // exact bytes of the largest shape; 0: open
  int format, dtype, rank, rank_v2, ranges;
  int64_t dims[16], dims_v2[16], range[16][2];
} tensor;

typedef enum { NO_GEARS, BATCH = 2, IMAGE = 3, DIMS = 4 } gear_kind;  // as the records of MODEL_INOUT_INFO are numbered

// What a file says.
typedef struct {
  int inputs, outputs;
  tensor in[FAKE_MAX_IO], out[FAKE_MAX_IO];
  gear_kind kind;
  int gears, width;
  uint64_t gear[128][128];
} description;

typedef struct {
  uint64_t work, weight;
  uint8_t type;
  bool dynamic, has_definition, broken_definition, has_description, has_payload;
  char soc[64];
  int gear_input;       // -1: none
  description told;     // of the partition that aclmdlGetDescFromMem reads
  description runs;     // of the payload
  int payload;          // 1: an ONNX model, 2: the name of a function
  const char *body;
  size_t body_size;
} om;

// om_parse answers 0 or the code that the query functions give; the text is
// said when it has one. Pointers in *out point into data.
int om_parse(const void *data, size_t n, om *out);
int om_short(size_t n);  // what it says of fewer than 4 bytes
char *om_read(const char *path, size_t *n, int *code);  // NULL: code is set and said

typedef struct model {
  uint32_t id;
  bool alive;
  fake_context *ctx;
  fake_device *device;
  om file;
  char *data;
  size_t taken;           // device memory that ACL took for it
  region *given[2];       // memory of the caller: work, weights
  int mode;               // 1: was run synchronously, 2: asynchronously
  int executing;          // runs under way or queued
  const fake_stream *on;  // the stream of the queued ones
  int gear;               // set last; -1: never
  gear_kind gear_by;      // by the setter of this kind
  void *session;          // of ONNX Runtime
  int64_t out_dims[128][FAKE_MAX_IO][16];  // of each gear, once known
  int out_rank[128][FAKE_MAX_IO];
  struct model *next;
} model;
model *model_of(uint32_t id);  // NULL: 145003 is said
int model_load(char *data, size_t n, const void *work, size_t work_size, const void *weight, size_t weight_size, uint32_t *id);

struct aclmdlDesc { object o; model *m; uint32_t id; description d; om *file; };
struct aclmdlDataset {
  object o;
  int n;
  aclDataBuffer *buffer[FAKE_MAX_IO];
  aclTensorDesc *shape[FAKE_MAX_IO];
  int gear, in_flight;  // gear: noted by a setter; -1: none
  int gear_at;          // the buffer the setter wrote to
  uint64_t gear_mark;   // state of that buffer then
};
struct aclTensorDesc { object o; int dtype, format, rank; int64_t dims[128]; char name[128]; };
aclmdlDataset *dataset_of(const aclmdlDataset *d, bool changing);

// Computing. Shapes and data are of the gear that runs.
typedef struct { void *data; size_t size; int rank; int64_t dims[16]; int dtype; } value;
typedef struct { value in[FAKE_MAX_IO], out[FAKE_MAX_IO]; int inputs, outputs; } run;
const char *compute_open(model *m);            // NULL or what is wrong
const char *compute(model *m, run *r);         // fills out; data of out is malloc'ed. Without the lock
void compute_close(model *m);
void gear_dims(const model *m, int gear, int input, int64_t *dims);
double item_count(const model *m, int gear);
size_t type_size(int dtype);
size_t padded(size_t n);
#endif
