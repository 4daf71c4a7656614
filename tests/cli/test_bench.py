"""`wbgpu bench`: serving and playing."""

from __future__ import annotations

import json
import signal
import socket
import sys
from pathlib import Path

import pytest

from tests.bench.serving import ServerProcess, serving
from tests.bench.worlds import coin_file
from tests.cli.test_main import HEAVY, modules_after
from wbgpu.bench.limits import Limits
from wbgpu.bench.serve import open_bench
from wbgpu.cli.main import run


@pytest.fixture
def server(tmp_path):
    worlds = ["block_to_bowl", "spectator", coin_file(tmp_path)]
    with serving(open_bench(str(tmp_path / "bench.sqlite"), worlds, Limits())) as running:
        yield running


def played(capsys, server, *arguments):
    assert run(["bench", "play", "--url", server.url, *arguments]) == 0
    return json.loads(capsys.readouterr().out)


def test_plays_a_contestant_and_prints_the_result(capsys, server, tmp_path):
    output = tmp_path / "out/result.json"
    result = played(capsys, server, "--steps", "30", "--seed", "5", "--output", str(output))
    assert (result["name"], result["seed"], result["num_steps"]) == ("kt", 5, 30)
    assert json.loads(output.read_text()) == result
    result = played(
        capsys, server, "--contestant", "kt", "--steps", "9", "--name", "mine", "--practice",
        "contestant.context=[]",
    )  # fmt: skip
    assert (result["name"], result["practice"]) == ("mine", True)


def test_plays_the_answer_key_of_a_world_that_is_the_servers(capsys, server, tmp_path):
    arguments = ["--world", "spectator", "--contestant", "oracle", "--steps", "20"]
    assert played(capsys, server, *arguments)["expected_regret_nats"] == 0.0
    coin = ["--world", "coin", "--contestant", "oracle", "--steps", "20", "--world-file"]
    assert played(capsys, server, *coin, str(tmp_path / "coin.yaml"))["num_steps"] == 20
    other = tmp_path / "other.yaml"
    other.write_text(
        (tmp_path / "coin.yaml").read_text().replace("0.8", "0.7").replace("0.2", "0.3")
    )
    assert run(["bench", "play", "--url", server.url, *coin, str(other)]) == 2
    assert "another world than the one here" in capsys.readouterr().err


def test_plays_a_torch_module(capsys, server, tmp_path):
    """A checkpoint is graded on a server without the truth leaving it."""
    import torch

    class Flat(torch.nn.Module):
        def forward(self, state, action):
            zero = state[:, :1] * 0.0
            return tuple(zero.expand(-1, k) for k in (5, 2, 2, 6, 2))

    example = torch.zeros(1, 5, dtype=torch.int64), torch.zeros(1, dtype=torch.int64)
    torch.export.save(torch.export.export(Flat(), example), tmp_path / "flat.pt2")
    arguments = ["--steps", "25", "--contestant", "logits"]
    result = played(capsys, server, *arguments, f"contestant.checkpoint={tmp_path}/flat.pt2")
    assert result["log_loss_nats"] == pytest.approx(25 * 5.4806389233)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--url", "http://127.0.0.1:1"], "does not answer"),
        (["--world", "nowhere"], "has no world 'nowhere'"),
        (["--contestant", "kat"], "nearest: 'kt'"),
        (["contestant.kontext=1"], "nearest: 'contestant.context'"),
        (["--contestant", "logits"], "missing value for contestant.checkpoint"),
        (["--steps", "5000"], "max_steps: expected 1 to 1000 steps"),
        (["--name", "x" * 90], "name: expected 1 to 80"),
        (["--seed", str(2**64)], "seed: expected at most"),
    ],
)
def test_what_is_wrong_is_said_and_exits_with_2(capsys, server, arguments, message):
    assert run(["bench", "play", "--url", server.url, *arguments]) == 2
    assert message in capsys.readouterr().err


def test_playing_imports_no_torch(server, tmp_path):
    modules = modules_after("bench", "play", "--url", server.url, "--steps", "3", cwd=tmp_path)
    assert not modules & (HEAVY - {"hydra", "omegaconf"})


def test_help_needs_nothing_of_the_extra(tmp_path):
    for arguments in (["--help"], ["serve", "--help"], ["play", "--help"]):
        modules = modules_after("bench", *arguments, cwd=tmp_path)
        assert not modules & (HEAVY | {"starlette", "uvicorn", "sqlalchemy", "httpx", "numpy"})


def test_without_the_extra_it_says_what_to_install(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for module in [name for name in sys.modules if name.startswith("wbgpu.bench.")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    monkeypatch.setitem(sys.modules, "httpx", None)
    for command in ("serve", "play"):
        assert run(["bench", command]) == 2
        assert "pip install 'wbgpu[bench]'" in capsys.readouterr().err
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--world", "blok_to_bowl"], "nearest: 'block_to_bowl'"),
        (["--store", "mysql://x/y"], "expected a path or postgresql://"),
        (["--max-open-sessions", "0"], "max_open_sessions: expected more than 0"),
        (["--session-hours", "-1"], "session_seconds"),
    ],
)
def test_a_server_that_cannot_serve_says_why(capsys, monkeypatch, tmp_path, arguments, message):
    monkeypatch.chdir(tmp_path)
    assert run(["bench", "serve", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_serves_the_worlds_it_is_given(tmp_path):
    process = ServerProcess(
        str(tmp_path / "bench.sqlite"), tmp_path / "log", "--world", coin_file(tmp_path)
    )
    assert [w["name"] for w in process.server.get("/bench/worlds")["worlds"]] == ["coin"]
    assert process.stop(signal.SIGTERM) == 0


def test_a_session_says_where_its_pages_are(capsys, server, tmp_path):
    """Its public id is nowhere else that a person would look."""
    output = tmp_path / "answer.json"
    arguments = [
        "bench",
        "play",
        "--url",
        f"{server.url}/",
        "--steps",
        "3",
        "--output",
        str(output),
    ]
    for _ in range(2):  # Its own file may be written again.
        assert run(arguments) == 0
        told = capsys.readouterr()
        run_id = json.loads(told.out)["run_id"]
        assert told.err.splitlines() == [
            f"Replay: {server.url}/replay?run={run_id}",
            f"Leaderboard: {server.url}/leaderboard",
        ]
    assert run([*arguments, "--practice"]) == 0
    assert "Leaderboard" not in capsys.readouterr().err


def test_a_gate_says_what_a_bench_answer_is(capsys, server, tmp_path, monkeypatch):
    """'result_type: missing' sends people looking for a damaged file."""
    monkeypatch.chdir(tmp_path)
    played(capsys, server, "--steps", "3", "--output", "answer.json")
    assert run(["gate", "--baseline", "answer.json", "--candidate", "answer.json"]) == 2
    message = capsys.readouterr().err
    assert "answer.json" in message
    assert "a bench's answer for one session (wbgpu bench play), and not a result" in message


@pytest.mark.parametrize("command", [["bench", "serve"], ["dashboard", ".", "--no-open"]])
def test_a_taken_port_is_a_usage_error(capsys, tmp_path, monkeypatch, command):
    """Exit 1 means FAIL, and nothing is left behind."""
    monkeypatch.chdir(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert run([*command, "--port", port]) == 2
    assert capsys.readouterr().err.startswith(
        f"Error: cannot listen at --host 127.0.0.1 --port {port}: Address already in use"
    )
    assert not list(tmp_path.iterdir())
