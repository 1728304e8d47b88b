// Every function of the list that tiny.c does not have, as success without work.
#include "../../acl_abi.h"
aclError tiny_fail(const char *name);
#define REST(name, args, ...) __attribute__((weak)) aclError name(__VA_ARGS__) { return tiny_fail(#name); }
#define REST_Z(name) __attribute__((weak)) aclError name(void) { return tiny_fail(#name); }
#define REST_V(ret, name, args, ...) __attribute__((weak)) ret name(__VA_ARGS__) { return (ret)0; }
#define REST_N(name, args, ...) __attribute__((weak)) void name(__VA_ARGS__) {}
#ifdef OLD // as a release that lacks what is newer
#define NEWER(name, args, ...)
#else
#define NEWER REST
#endif
ACL_LIST(REST, REST_Z, NEWER, REST_V, REST_N)
