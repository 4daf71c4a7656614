"""Exceptions that wbgpu raises for its users.

::

    WbgpuError
    ├── ConfigurationError        a setting or flag is wrong
    ├── InputError                something on disk is wrong
    │   ├── PairingError          ground truth and predictions do not pair up
    │   ├── VideoError            one video cannot be read as a whole
    │   ├── AlignmentError        two readable videos cannot be aligned
    │   └── ResultFileError       a JSON result cannot be read or contradicts itself
    ├── ModelError                a world model raised, or predicted what it must not
    ├── IncompatibleResultsError  two results must not be compared
    └── NothingScoredError        every episode failed, so there is no result

Messages name the argument, file or JSON path, what was expected, what came, and what to do.
The command line prints them and exits with 2.
"""

from __future__ import annotations

from pathlib import Path


class WbgpuError(Exception):
    """Base of every error that wbgpu raises on purpose."""


class ConfigurationError(WbgpuError, ValueError):
    """A setting, flag or argument is missing, unknown or out of range."""


class InputError(WbgpuError):
    """A file or folder that was given cannot be used."""


class PairingError(InputError):
    """Ground-truth and prediction episodes do not pair one to one."""


class VideoError(InputError):
    """A video is missing, unreadable, damaged or empty.

    Attributes:
        path: the file.
    """

    def __init__(self, path: str | Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = Path(path)
        self.reason = reason

    def __reduce__(self) -> tuple[type[VideoError], tuple[Path, str]]:
        # An exception is rebuilt from its message alone, which does not fit __init__.
        return type(self), (self.path, self.reason)


class AlignmentError(InputError):
    """Two readable videos differ in a way that the alignment policy forbids."""


class ResultFileError(InputError):
    """A result file is not strict JSON, not a known result, or contradicts itself.

    Attributes:
        path: the file.
        json_path: where in the document, such as ``$.episodes[2].score``; ``$`` is the whole, which
            the message leaves out.
    """

    def __init__(self, path: str | Path, json_path: str, reason: str) -> None:
        place = f"{path}" if json_path == "$" else f"{path}: {json_path}"
        super().__init__(f"{place}: {reason}")
        self.path = Path(path)
        self.json_path = json_path
        self.reason = reason

    def __reduce__(self) -> tuple[type[ResultFileError], tuple[Path, str, str]]:
        return type(self), (self.path, self.json_path, self.reason)


class ModelError(WbgpuError):
    """A world model that was evaluated raised an exception, or predicted what it must not."""


class JournalError(InputError):
    """A journal is of another evaluation, of inputs that have changed, or in use."""


class IncompatibleResultsError(WbgpuError):
    """Baseline and candidate were measured on different episodes or under different settings."""


class NothingScoredError(WbgpuError):
    """Every episode of a run failed."""


class RankError(WbgpuError):
    """One of the processes that evaluate a suite together failed or died; so the run has failed."""
