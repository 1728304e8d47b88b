// aclInit and its end, versions, the chip's name.
#include "fake.h"
#include <signal.h>
#include <sys/stat.h>

bool fake_captures(int number);
bool fake_owns_altstack(void);

// Before and after ACL is up only a few calls are meant to work. The library of
// 2026 lets all of them work; the documentation says they fail.
void fake_check_init(void) {
  if (!fake.inits) fake_violate(fake.finalized ? "call-after-finalize" : "call-before-init", "%s", fake_call());
}

static char *whole(const char *path, size_t *n, int *code) {
  struct stat s;
  if (stat(path, &s)) {
    *code = fake_fail(INVALID_FILE, "EH0003", "Path %s is invalid. Reason: No such file or directory.", path);
    return NULL;
  }
  if (!S_ISREG(s.st_mode) || s.st_size > 10 << 20) {
    *code = fake_fail(INVALID_FILE, "EH0004", "File %s is invalid. Reason: %s.", path,
      S_ISREG(s.st_mode) ? "the size exceeds maximum allowed size 10485760" : "config file is not a regular file");
    return NULL;
  }
  FILE *f = fopen(path, "r");
  char *text = calloc(1, s.st_size + 1);
  *n = f ? fread(text, 1, s.st_size, f) : 0;
  if (f) fclose(f);
  return text;
}

static int mode(const json *j, const char *path) {
  json *m = json_get(j, "err_msg_mode");
  if (m && (m->type != 's' || (strcmp(m->text, "0") && strcmp(m->text, "1"))))
    return fake_fail(INVALID_PARAM, "EH0009", "aclInit failed. Value %s for parameter err_msg_mode is invalid. Reason: it must be \"0\" or \"1\".", m->type == 's' ? m->text : "of another type");
  json *d = json_get(json_get(j, "defaultDevice"), "default_device");
  if (d && d->type != 's') return fake_fail(FAILURE, "EH0004", "File %s is invalid. Reason: default_device must be a text.", path);
  if (d && (!*d->text || strspn(d->text, "0123456789") != strlen(d->text)))
    return fake_fail(FAILURE, "EH0009", "aclInit failed. Value %s for parameter default_device is invalid. Reason: it must be a number.", d->text);
  const char *dump = json_text(json_get(j, "dump"), "dump_path", NULL);
  struct stat s;
  if (dump && stat(dump, &s))
    return fake_fail(DUMP_CONFIG, "EP0003", "Value %s for configuration item dump_path in configuration file %s is invalid. Reason: The path does not exist.", dump, path);
  fake.process_text = m && !strcmp(m->text, "1");
  return 0;
}

// configure judges the file and keeps its content; NULL and {} differ.
static int configure(const char *path, char **content) {
  size_t n = 0;
  int code = 0;
  *content = strdup("NULL");
  if (!path || !*path) return 0;
  char *text = whole(path, &n, &code);
  if (!text) return code;
  char error[256];
  json *j = json_parse(text, n, 10, error, sizeof error);
  free(*content);
  *content = text;
  if (!j) return fake_fail(PARSE_FILE, "EH0004", "File %s is invalid. Reason: %s.", path, error);
  code = mode(j, path);
  json_free(j);
  return code;
}

static int begin(const char *path) {
  char *content;
  int code = configure(path, &content);
  if (!code && fake.first_config && strcmp(content, fake.first_config))
    code = fake_fail(INVALID_PARAM, "EH0004", "File %s is invalid. Reason: config content differs from that of the first initialization.", path ? path : "NULL");
  if (!code && (!fake.backend || !fake.driver || !fake.devices)) {
    if (!fake.backend) fake_fail(INTERNAL, NULL, "libruntime_v100.so: cannot open shared object file: No such file or directory");
    // The driver's own code comes first, and says little.
    else if (fake.release >= R91 && !fake.driver) fake_fail(INTERNAL, "EL0003", "The argument is invalid.");
    else if (fake.release >= R91) fake_fail(INTERNAL, "EL0001", "Device not found or invalid.");
    code = fake_fail(INTERNAL, NULL, "init SoC version failed");
    // The part for models starts first, and its number comes out as it is.
    if (!fake.backend && fake.release >= HEAD) code = GE_STATUS_PARAM;
  }
  if (code) {
    free(content);
    return code;
  }
  if (fake.first_config) free(content);
  else fake.first_config = content;
  return 0;
}

aclError aclInit(const char *configPath) {
  CALL;
  if (fake.inits) {
    fake.inits++;
    return fake_fail(REPEAT_INIT, NULL, "repeatedly initialized");
  }
  if (fake_captures(SIGTERM)) fake_violate("signals-captured", "the handlers of the program were not put back after the load, nor was ASCEND_COREDUMP_SIGNAL=none set");
  if (fake_owns_altstack()) fake_violate("altstack-captured", "the library was opened on a thread that goes on living");
  int code = begin(configPath);
  if (code) return code;
  fake.inits = 1, fake.ever = true, fake.finalized = false;
  return 0;
}

static const char *const kinds[] = {"", "context", "stream", "event", "data-buffer", "dataset", "model-desc", "tensor-desc", "config-handle", "exec-config-handle"};

int fake_memory_leaks(void);

static void leaks(void) {
  for (object *o = fake_first(); o; o = o->after)
    if (!o->spared) fake_leak(kinds[o->kind], o), o->spared = true;
  if (fake.model_leaks) fake.model_leaks();
  fake_memory_leaks();
  for (int i = 0; i < fake.devices; i++)
    if (fake.device[i].set > 0) fake_leak("device", (void *)(intptr_t)i);
}

aclError aclFinalize(void) {
  CALL;
  if (!fake.inits && fake.finalized) {
    fake_violate("finalized-twice", "ACL is not up");
    return fake_fail(REPEAT_FINALIZE, NULL, "repeatedly finalized");
  }
  if (!fake.inits && !fake.backend) return fake_fail(RT_INTERNAL, NULL, "libruntime_v100.so: cannot open shared object file: No such file or directory");
  if (!fake.inits) fake_violate("finalize-without-init", "no aclInit succeeded before");
  if (fake.inits > 1) fake_violate("finalize-for-others", "%d users of ACL in this process", fake.inits);
  if (fake.inits) leaks();
  fake.inits = 0, fake.finalized = true;
  fake_report_end();
  return 0;
}

aclError aclFinalizeReference(uint64_t *refCount) {
  CALL;
  if (!fake.inits) {
    if (refCount) *refCount = 0;
    return fake_fail(REPEAT_FINALIZE, NULL, "repeatedly finalized");
  }
  if (fake.inits == 1) leaks(), fake.finalized = true;
  if (!--fake.inits) fake_report_end();
  if (refCount) *refCount = fake.inits;
  return 0;
}

aclError aclrtGetVersion(int32_t *major, int32_t *minor, int32_t *patch) {
  CALL;
  if (!major) return fake_null("majorVersion");
  if (!minor) return fake_null("minorVersion");
  if (!patch) return fake_null("patchVersion");
  *major = 1, *minor = fake.release >= R91 ? 17 : fake.release >= R85 ? 16 : 3, *patch = 0;
  return 0;
}

const char *aclrtGetSocName(void) {
  CALL_QUIET;
  if (!fake.stub && fake.driver && fake.devices && fake.backend) return fake.soc;
  fake_silent(0);
  return NULL;
}

aclError aclsysGetCANNVersion(aclCANNPackageName name, aclCANNPackageVersion *version) {
  CALL;
  if (name < 0 || name > 7) return fake_value(INVALID_PARAM, "EH0007", "name", name, "[0, 7]");
  if (!version) return fake_null("version");
  if (!getenv("ASCEND_HOME_PATH")) return fake_fail(INVALID_FILE, NULL, "the environment variable ASCEND_HOME_PATH is not set");
  memset(version, 0, sizeof *version);
  snprintf(version->version, sizeof version->version, "%d.%d.0-simulated", fake.release / 100, fake.release / 10 % 10);
  return 0;
}

aclError aclsysGetVersionStr(char *pkgName, char *versionStr) {
  CALL;
  if (!pkgName) return fake_null("pkgName");
  if (!versionStr) return fake_null("versionStr");
  if (!getenv("ASCEND_HOME_PATH")) return fake_fail(INVALID_FILE, NULL, "the environment variable ASCEND_HOME_PATH is not set");
  snprintf(versionStr, 128, "%d.%d.0-simulated", fake.release / 100, fake.release / 10 % 10);
  return 0;
}
