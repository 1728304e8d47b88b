import os, re, sys
seen = {}
def read(path):
    name = version = ""
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            for line in f:
                if not line.strip():
                    break
                key, _, value = line.partition(":")
                if key == "Name": name = value.strip()
                if key == "Version": version = value.strip()
    except OSError:
        return
    if name and version:
        seen.setdefault(re.sub("[-_.]+", "-", name).lower(), version.split()[0])
for folder in sys.path:
    if not folder:
        continue
    read(os.path.join(folder, "EGG-INFO", "PKG-INFO"))
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        continue
    for name in names:
        path = os.path.join(folder, name)
        if name.endswith(".dist-info"):
            read(os.path.join(path, "METADATA"))
        elif name.endswith(".egg-info"):
            read(os.path.join(path, "PKG-INFO") if os.path.isdir(path) else path)
for name in sorted(seen):
    print(name, seen[name])
