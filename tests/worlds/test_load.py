from __future__ import annotations

import pytest
import yaml

from tests.conftest import REPOSITORY
from tests.worlds.documents import CART
from wbgpu.errors import ConfigurationError
from wbgpu.worlds import load_world, world_names

FILES = sorted((REPOSITORY / "configs/world").glob("*.yaml"))


def test_the_worlds_that_are_shipped():
    """A world that REGRET names is missing, or a file is not found by its name."""
    assert world_names() == [path.stem for path in FILES]
    assert {"block_to_bowl", "markov_chain", "slippery_grid", "spectator"} <= set(world_names())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_name_path_and_mapping_are_one_world(path):
    """Results name world and digest; both must not depend on how the world was asked for."""
    worlds = [
        load_world(path.stem),
        load_world(path),
        load_world(str(path)),
        load_world(yaml.safe_load(path.read_text("utf-8"))),
    ]
    assert {world.schema.world for world in worlds} == {path.stem}
    assert len({world.sha256 for world in worlds}) == 1


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_hydra_composes_the_same_world(path):
    """``world=block_to_bowl`` on a command line must not be another world than in Python."""
    from hydra import compose, initialize_config_dir
    from omegaconf import OmegaConf

    with initialize_config_dir(str(REPOSITORY / "configs"), version_base="1.3"):
        config = compose(overrides=[f"+world={path.stem}"])
    world = load_world(OmegaConf.to_container(config.world, resolve=True))
    assert world.sha256 == load_world(path).sha256
    assert world.picture == load_world(path).picture


def test_errors_name_the_file(tmp_path):
    """With several worlds in a sweep, "probabilities sum to 0.9" alone helps nobody."""
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump(CART | {"max_steps": -1}))
    with pytest.raises(ConfigurationError, match=rf"^{path}: max_steps: expected"):
        load_world(path)
    path.write_text("name: x\nname: y\n")
    with pytest.raises(ConfigurationError, match=rf"(?s)^{path}: not valid YAML.*stands twice"):
        load_world(path)
    path.write_text("- 1\n")
    with pytest.raises(ConfigurationError, match=rf"^{path}: expected key: value pairs"):
        load_world(path)
    path.write_text("")
    with pytest.raises(ConfigurationError, match=rf"^{path}: expected key: value pairs, got None"):
        load_world(path)


def test_what_there_is_not(tmp_path):
    """A misspelt name leads to the right one."""
    with pytest.raises(ConfigurationError, match="'block_too_bowl'; nearest: 'block_to_bowl'"):
        load_world("block_too_bowl")
    with pytest.raises(ConfigurationError, match=r"does not exist: .*none\.yaml"):
        load_world(str(tmp_path / "none.yaml"))
    for nothing in (None, 3):
        with pytest.raises(
            ConfigurationError, match=f"a path or a mapping, got {nothing}; names: "
        ):
            load_world(nothing)
    with pytest.raises(ConfigurationError, match="another kind"):
        load_world(tmp_path)
