"""YAML files that people write: read with the complaints that a person needs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from wbgpu.errors import ConfigurationError

_MERGE = "tag:yaml.org,2002:merge"
"""``<<``, which may stand twice, and whose keys may be overridden."""


def read_yaml(path: Path) -> Any:
    """Read one YAML document.

    Raises:
        ConfigurationError: the file is missing, no regular file or unreadable, is not YAML, or has
            a key twice in one mapping; the message names the file.
    """
    if not path.exists():
        raise ConfigurationError(f"{path}: the file does not exist")
    if not path.is_file():
        raise ConfigurationError(f"{path}: expected a configuration file, found another kind")
    try:
        return yaml.load(path.read_text(encoding="utf-8"), _UniqueKeys)
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be read ({error.strerror})") from error
    # ValueError: text that is not UTF-8, and dates and integers that Python refuses to make.
    except (yaml.YAMLError, ValueError) as error:
        raise ConfigurationError(f"{path}: not valid YAML: {error}") from error
    except RecursionError:
        raise ConfigurationError(f"{path}: nested too deeply to read") from None


class _UniqueKeys(yaml.SafeLoader):
    """PyYAML keeps the last of two equal keys without a word."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key, _ in node.value:
            # Other nodes than scalars cannot be keys; that is refused below.
            if not isinstance(key, yaml.ScalarNode) or key.tag == _MERGE:
                continue
            if (key.tag, key.value) in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key.value!r} stands twice", key.start_mark
                )
            seen.add((key.tag, key.value))
        return super().construct_mapping(node, deep)
