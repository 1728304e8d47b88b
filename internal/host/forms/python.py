import sys
from importlib.util import find_spec
sys.path[:] = [p for p in sys.path if p]
print("version=%d.%d.%d" % sys.version_info[:3])
print("path=" + sys.executable)
# The Python half of these is there also when the C half was not built.
halves = {"bz2", "ctypes", "lzma", "sqlite3", "ssl"}
for name in sys.argv[1:]:
    try:
        there = find_spec(name) is not None and (name not in halves or find_spec("_" + name) is not None)
    except Exception:
        there = False
    print(name + ("=true" if there else "=false"))
