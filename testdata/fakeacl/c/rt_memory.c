// Memory of devices and pinned memory. A device's addresses are never given
// twice, so that a stale pointer is always noticed, and as the host sees them
// they cannot be touched: the content lives in a shadow at a fixed distance.
#include "fake.h"
#include <search.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096 };
static void *tree;         // of regions, dead ones too
static region *registered[1024];
static int registered_n;
static region *all[1 << 16];  // for leaks: the live ones
static size_t all_n;

static int overlap(const void *a, const void *b) {
  const region *x = a, *y = b;
  if (x->at + x->size <= y->at) return -1;
  return y->at + y->size <= x->at;
}

region *fake_region(const void *p, size_t n) {
  region want = {.at = (char *)p, .size = n ? n : 1};
  region **r = tfind(&want, &tree, overlap);
  return r ? *r : NULL;
}

size_t fake_room(const void *p) {
  region *r = fake_region(p, 1);
  return r && r->alive ? r->at + r->size - (const char *)p : 0;
}

void *fake_shadow(const void *p) {
  region *r = fake_region(p, 1);
  if (!r || r->pinned || fake.rc) return (void *)p;
  fake_device *d = &fake.device[r->device];
  return d->shadow + ((const char *)p - d->arena);
}

static size_t arena_size(void) {
  size_t n = 16 * fake.memory, least = (size_t)16 << 30, most = (size_t)1 << 40;
  return n < least ? least : n > most ? most : n;
}

static bool arena(fake_device *d) {
  if (d->arena) return true;
  void *open = mmap(NULL, arena_size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  void *shut = fake.rc ? open : mmap(NULL, arena_size(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (open == MAP_FAILED || shut == MAP_FAILED) return false;
  d->shadow = open, d->arena = shut;
  return true;
}

static void fill(void *p, size_t n, int with) { memset(p, with, n < 1 << 20 ? n : 1 << 20); }

static region *keep(char *at, size_t size, size_t taken, int device, bool pinned) {
  region *r = calloc(1, sizeof *r);
  *r = (region){.at = at, .size = size, .taken = taken, .device = device, .pinned = pinned, .alive = true};
  tsearch(r, &tree, overlap);
  if (all_n < sizeof all / sizeof *all) all[all_n++] = r;
  return r;
}

static void forget(region *r) {
  for (size_t i = 0; i < all_n; i++)
    if (all[i] == r) {
      all[i] = all[--all_n];
      break;
    }
  r->alive = false;
}

static size_t pages(size_t n) { return (n + PAGE - 1) / PAGE * PAGE; }

// An address is a multiple of 64 and of nothing more, as promised.
int fake_take(void **out, size_t size, bool pinned, size_t pad) {
  NEED_CONTEXT(c);
  fake_device *d = c->device;
  size_t taken = (size + 31) / 32 * 32 + pad, space = pages(taken + 64) + PAGE;
  if (pinned && !fake.rc) {
    char *p = mmap(NULL, pages(size + 64), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return fake_fail(RT_MEMORY, "EL0004", "Failed to allocate memory requested by APP module.");
    fill(p + 64, size, 0xCD);
    *out = keep(p + 64, size, 0, d->id, true)->at;
    return 0;
  }
  if (size > fake.memory || d->used + taken > fake.memory || !arena(d) || d->taken + space > arena_size())
    return fake_fail(RT_MEMORY, "EL0004", "Failed to allocate memory requested by APP module.");
  char *at = d->arena + d->taken + 64;
  d->taken += space, d->used += taken;
  region *r = keep(at, size, taken, d->id, pinned);
  fill(fake_shadow(at), size, 0xCD);
  *out = r->at;
  return 0;
}

static void drop(region *r) {
  forget(r);
  if (r->pinned && !fake.rc) {
    mprotect(r->at - 64, pages(r->size + 64), PROT_NONE);  // who touches it now crashes
    return;
  }
  fake.device[r->device].used -= r->taken;
  fill(fake_shadow(r->at), r->size, 0xDB);
}

int fake_give(void *p, bool pinned) {
  region *r = fake_region(p, 1);
  if (!r || r->at != p || r->device < 0) {
    fake_violate("free-of-unknown", "%p is not the start of an allocation", p);
    return fake_fail(RT_PARAM, "EE1003", "%s failed because the pointer is not one of this process.", fake_call());
  }
  if (!r->alive) {
    fake_violate("double-free", "%p", p);
    return fake_fail(RT_PARAM, "EE1003", "%s failed because the pointer was freed before.", fake_call());
  }
  if (r->pinned != pinned) {
    fake_violate("free-of-other-kind", "%p is %s memory", p, r->pinned ? "pinned host" : "device");
    return fake_fail(RT_PARAM, "EE1003", "%s failed because the pointer is of the other kind.", fake_call());
  }
  if (fake_pending(r->at, r->size, true)) fake_violate("free-in-use", "%p is used by work that has not ended", p);
  if (r->used_by) fake_violate("free-under-model", "a loaded model lies in %p", p);
  drop(r);
  return 0;
}

static int take(void **p, size_t size, bool pinned, size_t pad, const char *name) {
  if (!p) return fake_null(name);
  if (!size) return fake_value(INVALID_PARAM, fake.release >= R91 ? "EH0007" : "EH0001", "size", 0, "(0, MAX]");
  return fake_take(p, size, pinned, pad);
}

aclError aclrtMalloc(void **devPtr, size_t size, aclrtMemMallocPolicy policy) {
  CALL;
  (void)policy;
  return take(devPtr, size, false, 32, "devPtr");
}

aclError aclrtMallocAlign32(void **devPtr, size_t size, aclrtMemMallocPolicy policy) {
  CALL;
  (void)policy;
  return take(devPtr, size, false, 0, "devPtr");
}

aclError aclrtMallocHost(void **hostPtr, size_t size) {
  CALL;
  return take(hostPtr, size, true, 0, "hostPtr");
}

aclError aclrtFree(void *devPtr) {
  CALL;
  if (!devPtr) return fake_null("devPtr");
  return fake_give(devPtr, false);
}

aclError aclrtFreeHost(void *hostPtr) {
  CALL;
  if (!hostPtr) return fake_null("hostPtr");
  return fake_give(hostPtr, true);
}

aclError aclrtHostRegister(void *ptr, uint64_t size, int type, void **devPtr) {
  CALL;
  (void)type;
  if (!ptr) return fake_null("ptr");
  if (!devPtr) return fake_null("devPtr");
  NEED_CONTEXT(c);
  region *r = keep(ptr, size, 0, -1, true);
  *devPtr = ptr;
  if (registered_n < 1024) registered[registered_n++] = r;
  return 0;
}

aclError aclrtHostUnregister(void *ptr) {
  CALL;
  if (!ptr) return fake_null("ptr");
  for (int i = 0; i < registered_n; i++) {
    region *r = registered[i];
    if (r->at != ptr) continue;
    if (fake_pending(r->at, r->size, true)) fake_violate("free-in-use", "%p is used by work that has not ended", ptr);
    forget(r);
    tdelete(r, &tree, overlap);
    registered[i] = registered[--registered_n];
    return 0;
  }
  fake_violate("free-of-unknown", "%p was not registered", ptr);
  return fake_fail(507911, NULL, "the memory was not registered");
}

aclError aclrtPointerGetAttributes(const void *ptr, aclrtPtrAttributes *out) {
  CALL;
  if (!ptr) return fake_null("ptr");
  if (!out) return fake_null("attributes");
  region *r = fake_region(ptr, 1);
  *out = (aclrtPtrAttributes){.location = {r && r->device > 0 ? r->device : 0, !r ? 2 : !r->pinned}, .pageSize = PAGE};
  return 0;
}

void fake_memory_gone(fake_device *d, bool forced) {
  for (size_t i = all_n; i-- > 0;) {
    region *r = all[i];
    if (r->device != d->id) continue;
    if (!forced) fake_violate("reset-with-live", "%zu bytes of %s memory at %p", r->size, r->pinned ? "pinned" : "device", r->at);
    drop(r);
  }
}

int fake_memory_leaks(void) {
  for (size_t i = 0; i < all_n; i++) fake_leak(all[i]->device < 0 ? "registered-memory" : all[i]->pinned ? "pinned-memory" : "device-memory", all[i]->at);
  return all_n;
}
