# Says what the description says of its python3, to questions (python3 -c) only:
# an interpreter that lies to its own library could not make an environment.
def lie():
    import collections, sys
    described = %s
    if described["version"]:
        kind = collections.namedtuple("version_info", "major minor micro releaselevel serial")
        sys.version_info = kind(*described["version"], "final", 0)
    sys.executable = described["path"]
    for name in described["missing"]:
        sys.modules[name] = None
lie()
