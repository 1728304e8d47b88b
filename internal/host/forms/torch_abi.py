import os, re, sys
from importlib.util import find_spec
sys.path[:] = [p for p in sys.path if p]
spec = find_spec("torch")
if spec is None or not spec.origin:
    sys.exit("torch: No such file in the folders of python3")
path = os.path.join(os.path.dirname(spec.origin), "share", "cmake", "Torch", "TorchConfig.cmake")
try:
    with open(path, encoding="utf-8", errors="replace") as f:
        abi = re.search("_GLIBCXX_USE_CXX11_ABI=([01])", f.read())
except OSError as e:
    sys.exit("the wheel of torch cannot be read: %s" % e.strerror)
if not abi:
    sys.exit("the wheel of torch does not name its ABI")
print(abi.group(1))
