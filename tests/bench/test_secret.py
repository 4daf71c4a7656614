from __future__ import annotations

import stat

import pytest

from wbgpu.bench.secret import ENVIRONMENT_VARIABLE, Secret, find_secret
from wbgpu.errors import ConfigurationError, InputError

HEX = "0f" * 32


def test_a_secret_is_made_once_and_is_its_owners_alone(tmp_path):
    """Another secret would change every episode; a readable one would give all of them away."""
    file = tmp_path / "store.secret"
    first = find_secret(file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert find_secret(file).fingerprint == first.fingerprint
    assert [path.name for path in tmp_path.iterdir()] == ["store.secret"]
    other = find_secret(tmp_path / "other.secret")
    assert other.fingerprint != first.fingerprint


def test_a_secret_that_others_can_read_is_refused(tmp_path):
    file = tmp_path / "store.secret"
    find_secret(file)
    file.chmod(0o644)
    with pytest.raises(InputError, match="chmod 600"):
        find_secret(file)


def test_the_environment_comes_first(tmp_path, monkeypatch):
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, HEX)
    assert find_secret(None).fingerprint == Secret(bytes.fromhex(HEX)).fingerprint
    assert find_secret(tmp_path / "unused").fingerprint == find_secret(None).fingerprint
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["", "zz", "0f" * 31, "0f" * 65])
def test_a_bad_secret_is_refused_without_repeating_it(text, monkeypatch):
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, text)
    with pytest.raises(ConfigurationError) as raised:
        find_secret(None)
    assert not text or text not in str(raised.value)


def test_a_database_needs_a_secret_of_the_environment(monkeypatch):
    """A secret made anew at each start would break every session that is going on."""
    monkeypatch.delenv(ENVIRONMENT_VARIABLE, raising=False)
    with pytest.raises(ConfigurationError, match=ENVIRONMENT_VARIABLE):
        find_secret(None)


def test_keys_differ_by_purpose_and_secret_and_are_not_shown():
    one, two = Secret(b"1" * 32), Secret(b"2" * 32)
    keys = {s.draw_key(p) for s in (one, two) for p in ("practice", "by_seed", "own a")}
    assert len(keys) == 6
    assert "1" * 8 not in repr(one)
    assert one.fingerprint.encode() not in b"".join(keys)
