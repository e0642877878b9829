# SPDX-License-Identifier: LGPL-2.1-or-later
"""What pyproject.toml cannot say: the version is the library's, which is built and put into the
package."""

import os
import pathlib
import re
import subprocess

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py
from wheel.bdist_wheel import bdist_wheel

VERSION = re.search(r"^LIB_VERSION\s*:= (.*)", pathlib.Path("userspace/libdlcp/libdlcp.mk").read_text(), re.M)[1]


class BuildWithLibrary(build_py):
    def run(self):
        super().run()
        out = os.path.abspath(os.path.join("build", "python"))
        library = f"{out}/libdlcp.so.{VERSION}"
        # It comes from a make of its own, perhaps
        env = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS")}
        env.setdefault("CFLAGS", "-O2")
        subprocess.run(["make", "-s", "-C", "userspace", f"O={out}", library], check=True, env=env)
        self.copy_file(library, os.path.join(self.build_lib, "dlcp", "libdlcp.so.1"))


class WheelOfAnyPython(bdist_wheel):
    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


class WithLibrary(Distribution):
    def has_ext_modules(self):
        return True


setup(version=VERSION, distclass=WithLibrary, cmdclass={"build_py": BuildWithLibrary, "bdist_wheel": WheelOfAnyPython})
