"""Extracts the layer of an architecture from an OCI layout, and prints its user and its program: layer.py LAYOUT ARCHITECTURE FILE."""

import hashlib
import json
import pathlib
import sys

layout, architecture, file = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]


def blob(descriptor):
    """Returns the blob of a descriptor, after comparing the digest."""
    content = (layout / "blobs" / descriptor["digest"].replace(":", "/")).read_bytes()
    if "sha256:" + hashlib.sha256(content).hexdigest() != descriptor["digest"]:
        sys.exit(f"{descriptor} leads to something else")
    return content


top = json.loads((layout / "index.json").read_text())
images = json.loads(blob(top["manifests"][0]))["manifests"]
manifest = json.loads(blob(next(image for image in images if image["platform"]["architecture"] == architecture)))
pathlib.Path(file).write_bytes(blob(manifest["layers"][0]))
run = json.loads(blob(manifest["config"]))["config"]
print(run["User"], *run["Entrypoint"])
