"""Builds the native kernel with the package; everything else is in pyproject.toml."""

import runpy
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext

PACKAGE = Path("mclstm", "ops", "native")
SOURCES = Path(__file__).parent / "src" / PACKAGE


class BuildKernel(build_ext):
    """Runs the package's own build script; a failure leaves a package that works without the kernel."""

    def run(self) -> None:
        in_place = self.inplace or getattr(self, "editable_mode", False)
        folder = SOURCES if in_place else Path(self.build_lib) / PACKAGE
        failure = runpy.run_path(str(SOURCES / "build.py"))["build"](SOURCES / "kernel.cpp", folder)
        if failure is not None:
            self.warn(f"The native kernel was not built, backend='torch' is used instead. {failure}")

    def get_outputs(self) -> list[str]:
        return []

    def get_output_mapping(self) -> dict[str, str]:
        return {}


class AnyPython(bdist_wheel):
    """The kernel is loaded with ctypes: one wheel serves every version of Python on a platform."""

    def get_tag(self) -> tuple[str, str, str]:
        return "py3", "none", super().get_tag()[2]


kernel = Extension("mclstm.ops.native.kernel", sources=[f"src/{PACKAGE}/kernel.cpp"])
setup(ext_modules=[kernel], cmdclass={"build_ext": BuildKernel, "bdist_wheel": AnyPython})
