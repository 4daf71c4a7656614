"""wbgpu: did this world-model checkpoint get better or worse, where, and are we sure?

>>> import wbgpu
>>> baseline = wbgpu.evaluate("gt", "step00060", num_context=4)    # doctest: +SKIP
>>> candidate = wbgpu.evaluate("gt", "step00900", num_context=4)   # doctest: +SKIP
>>> wbgpu.gate(baseline, candidate).status                          # doctest: +SKIP
'PASS'
"""

from typing import TYPE_CHECKING, Any

from wbgpu.version import __version__

if TYPE_CHECKING:
    from wbgpu.sdk import compare, evaluate, gate, load_result

__all__ = ["__version__", "compare", "evaluate", "gate", "load_result"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from wbgpu import sdk

        return getattr(sdk, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
