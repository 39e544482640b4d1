"""Builds the paper's kernels with the headers of the library; everything else is in pyproject.toml."""

import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

HERE = Path(__file__).parent.resolve()
SOURCES = HERE / "src" / "mclstm_paper" / "kernels"
sys.path.insert(0, str(HERE.parent / "src"))  # the library's build script needs no package but Python's own

from mclstm import __version__  # noqa: E402
from mclstm.ops.native.build import build  # noqa: E402


class BuildKernels(build_ext):
    """Runs the library's build script; a failure leaves a package that computes with torch."""

    def run(self) -> None:
        in_place = self.inplace or getattr(self, "editable_mode", False)
        folder = SOURCES if in_place else Path(self.build_lib, "mclstm_paper", "kernels")
        failure = build(SOURCES / "paper.cpp", folder)
        if failure is not None:
            self.warn(f"The paper's kernels were not built, torch is used instead. {failure}")

    def get_outputs(self) -> list[str]:
        return []

    def get_output_mapping(self) -> dict[str, str]:
        return {}


kernels = Extension("mclstm_paper.kernels.paper", sources=["src/mclstm_paper/kernels/paper.cpp"])
setup(version=__version__, ext_modules=[kernels], cmdclass={"build_ext": BuildKernels})
