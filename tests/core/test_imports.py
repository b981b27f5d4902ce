"""No modules import each other in a circle."""

from __future__ import annotations

from graphlib import TopologicalSorter

import grimp


def test_no_module_imports_itself_over_others() -> None:
    graph = grimp.build_graph("citewell", cache_dir=None)  # imports within functions and for types alone among them
    imported = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    order = tuple(TopologicalSorter(imported).static_order())  # a CycleError names the circle
    assert "citewell.app" in order
    assert order.index("citewell.wiring") < order.index("citewell.app") < order.index("citewell.api.app")
