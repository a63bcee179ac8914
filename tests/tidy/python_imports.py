"""Which modules of the package import which, wherever the import stands: at the top, in a function, for types only."""

from __future__ import annotations

import ast
from collections.abc import Mapping

NO_MODULES = {"_native", "__version__"}
"""What the package's door has besides modules: importing it makes nobody depend on what else is there."""


class Package:
    """``sources``: the text of each module by its dotted name; a package is named as such."""

    def __init__(self, sources: Mapping[str, str], packages: frozenset[str] = frozenset()) -> None:
        self.names = set(sources)
        self.uses = {name: self._uses(name, text, name in packages) for name, text in sources.items()}

    def _uses(self, module: str, text: str, is_package: bool) -> set[str]:
        found: set[str] = set()
        parent = module.split(".") if is_package else module.split(".")[:-1]
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                found |= {each.name for each in node.names}
            elif isinstance(node, ast.ImportFrom):
                above = parent[: len(parent) - node.level + 1] if node.level else []
                base = ".".join([*above, *([node.module] if node.module else [])])
                for each in node.names:
                    inner = f"{base}.{each.name}"
                    found.add(inner if inner in self.names or each.name in NO_MODULES else base)
        return (found & self.names) - {module}
