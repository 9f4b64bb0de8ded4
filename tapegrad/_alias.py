"""A second name for a package of ours, so that `import <name>` in any package finds it.

Knows how Python finds modules. Must not know what the modules hold.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.metadata
import importlib.util
import os
import sys
import types
from collections.abc import Iterator, Sequence
from pathlib import Path

from tapegrad._errors import InputError, message


class _Distribution(importlib.metadata.Distribution):
    """A package that is installed under another name, by its version alone."""

    def __init__(self, name: str, version: str) -> None:
        self._text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"

    def read_text(self, filename: str) -> str | None:
        return self._text if filename == "METADATA" else None

    def locate_file(self, path: str | os.PathLike[str]) -> Path:
        return Path(path)


class Alias(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds `name.x` as `home.x`: the same module, of two names.

    homes: our packages by the names that they get.
    """

    def __init__(self, homes: dict[str, str]) -> None:
        self.homes = homes
        self._own: dict[str, importlib.machinery.ModuleSpec | None] = {}

    def find_distributions(
        self, context: importlib.metadata.DistributionFinder.Context | None = None
    ) -> Iterator[importlib.metadata.Distribution]:
        """What `importlib.metadata` says of the first name: the version of our package."""
        name, home = next(iter(self.homes.items()))
        if context is not None and context.name == name:
            version = getattr(sys.modules[home], "__version__", "")
            yield _Distribution(name, str(version))

    def home_of(self, fullname: str) -> str | None:
        """Our name of a module; None of one that is not ours."""
        name = fullname.partition(".")[0]
        home = self.homes.get(name)
        return None if home is None else home + fullname.removeprefix(name)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        home = self.home_of(fullname)
        found = None if home is None else importlib.util.find_spec(home)
        if found is None:
            return None
        package = found.submodule_search_locations is not None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=package)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        module = importlib.import_module(str(self.home_of(spec.name)))
        self._own[spec.name] = module.__spec__
        self._name_loaded()
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        """Nothing is to be run; the import system has taken the module's own spec away."""
        spec = module.__spec__
        if spec is not None and spec.name in self._own:
            module.__spec__ = self._own.pop(spec.name)

    def _name_loaded(self) -> None:
        """Give each module of ours that is loaded its other name.

        One that the import system loads anew it also makes an attribute of its package, in place
        of what may stand there: `autograd.misc.flatten` is a function, whose module has the same
        name.
        """
        for home, module in list(sys.modules.items()):
            for name, start in self.homes.items():
                if home == start or home.startswith(f"{start}."):
                    sys.modules.setdefault(name + home.removeprefix(start), module)

    def install(self, call: str) -> None:
        """Let imports find our packages; InputError of `call` if others of the names are there."""
        for name, home in self.homes.items():
            here = importlib.import_module(home)
            found = sys.modules.get(name)
            if found is not None and found is not here:
                where = getattr(found, "__file__", None) or "without a file"
                raise InputError(
                    message(
                        call,
                        f"that no other {name} is imported",
                        f"one ({where})",
                        f"Call install() first, before anything that imports {name}",
                    )
                )
        self._name_loaded()
        if self not in sys.meta_path:
            sys.meta_path.insert(0, self)

    def uninstall(self) -> None:
        """Take `install` back."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        for name, module in list(sys.modules.items()):
            home = self.home_of(name)
            if home is not None and module is sys.modules.get(home):
                del sys.modules[name]


__all__ = ["Alias"]
