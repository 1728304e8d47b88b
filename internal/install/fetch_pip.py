# Runs pip for another machine. Its options say which wheels fit; the markers of
# requirements (platform_machine, python_version) it takes from the Python it
# runs on, so they are told here.
import json, os, runpy, sys
want = json.loads(os.environ.pop("ASCENDCTL_MARKERS"))
try:
    from pip._vendor.packaging import markers
    own = markers.default_environment
except (ImportError, AttributeError):
    sys.exit("this pip does not let its markers be told")
markers.default_environment = lambda: dict(own(), **want)
sys.argv[0] = "pip"
runpy.run_module("pip", run_name="__main__", alter_sys=True)
