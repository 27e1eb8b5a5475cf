"""Builds the package (PEP 517) with the standard library alone, so that pip installs it without a network."""

import base64
import hashlib
import os
import re
import tarfile
import zipfile

_NAME, _TAG = "waymark", "py3-none-any"
_FILES = ["pyproject.toml", "README.md", "LICENSE", "backend/wheel_of_waymark.py"]


def _version():
    with open("pyproject.toml", encoding="utf-8") as file:
        return re.search(r'^version = "([^"]+)"', file.read(), re.MULTILINE).group(1)


def _metadata():
    with open("README.md", encoding="utf-8") as file:
        readme = file.read()
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {_NAME}",
        f"Version: {_version()}",
        "License: MIT",
        "Requires-Python: >=3.9",
    ]
    lines.append("Summary: The Waymark SDK for Python: records AI agents' traces in the background")
    return "\n".join([*lines, "Description-Content-Type: text/markdown", "", readme])


def _sources():
    return sorted(f"{_NAME}/{name}" for name in os.listdir(_NAME) if name.endswith((".py", ".typed")))


def _write_wheel(directory, contents):
    info = f"{_NAME}-{_version()}.dist-info"
    contents = {
        **contents,
        f"{info}/METADATA": _metadata().encode(),
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: waymark\nRoot-Is-Purelib: true\nTag: {_TAG}\n".encode(),
    }
    with open("LICENSE", "rb") as file:
        contents[f"{info}/LICENSE"] = file.read()
    record = ""
    for path, data in contents.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += f"{path},sha256={digest},{len(data)}\n"
    contents[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    name = f"{_NAME}-{_version()}-{_TAG}.whl"
    with zipfile.ZipFile(os.path.join(directory, name), "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, data in contents.items():
            wheel.writestr(zipfile.ZipInfo(path, (2026, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)
    return name


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    contents = {}
    for path in _sources():
        with open(path, "rb") as file:
            contents[path] = file.read()
    return _write_wheel(wheel_directory, contents)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    return _write_wheel(wheel_directory, {f"{_NAME}.pth": f"{os.getcwd()}\n".encode()})


def build_sdist(sdist_directory, config_settings=None):
    root = f"{_NAME}-{_version()}"
    with tarfile.open(os.path.join(sdist_directory, f"{root}.tar.gz"), "w:gz") as archive:
        for path in _FILES + _sources():
            archive.add(path, f"{root}/{path}")
    return f"{root}.tar.gz"
