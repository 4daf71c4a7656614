"""The leaderboard and replays, as JSON and as pages."""

from __future__ import annotations

import io
import json
import re
from html.parser import HTMLParser
from urllib.parse import urljoin

import numpy as np
import pytest
from PIL import Image

from tests.bench.serving import serving
from tests.bench.worlds import coin_file
from wbgpu.bench.client import BenchClient
from wbgpu.bench.play import play
from wbgpu.contestants import KrichevskyTrofimov, Oracle, Uniform
from wbgpu.evaluation.prequential import answer_key
from wbgpu.worlds import Renderer, load_world

WORLD = load_world("block_to_bowl")
CONTESTANTS = {
    "uniform": lambda: Uniform(WORLD.schema),
    "kt": lambda: KrichevskyTrofimov(WORLD.schema),
    "oracle": lambda: Oracle(answer_key(WORLD)),
}
HOSTILE = "<script>alert(1)</script>"


def run_of(server, contestant, *, name=None, seed=7, steps=30, practice=False):
    """Play a session to its end; its public id."""
    with BenchClient(server.url) as client:
        session = client.create_session(
            "block_to_bowl", seed, max_steps=steps, practice=practice, name=name or contestant
        )
        play(client, session, WORLD.schema, CONTESTANTS[contestant]())
    return session["run_id"]


def page(server, path):
    connection = server.connection()
    connection.request("GET", path)
    response = connection.getresponse()
    text = response.read().decode()
    connection.close()
    assert response.status == 200, text
    assert response.headers["Content-Type"].startswith("text/html")
    policy = response.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    return text


class Elements(HTMLParser):
    """Start tags of a page, with their attributes, and its text."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.text = [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data

    def named(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


def rows_of(server, world="block_to_bowl"):
    worlds = {w["name"]: w["rows"] for w in server.get("/bench/leaderboard")["worlds"]}
    return worlds[world]


def test_the_leaderboard_ranks_finished_scored_sessions(server):
    for name in ("uniform", "kt", "oracle"):
        run_of(server, name)
    run_of(server, "oracle", name="cheat", practice=True)
    server.session(name="unfinished")
    rows = rows_of(server)
    assert [row["name"] for row in rows] == ["oracle", "kt", "uniform"]
    assert rows[0]["expected_regret_nats_per_step"]["mean"] == 0.0
    for row in rows:
        interval = row["expected_regret_nats_per_step"]
        assert interval["lower"] <= interval["mean"] <= interval["upper"]
        assert row["num_steps"] == 30
        assert row["floor_nats_per_step"] > 0
    assert rows_of(server, "spectator") == []


def test_the_leaderboard_gives_no_session_away(server):
    """Its ids would open sessions."""
    path = server.session(name="unfinished")
    run_of(server, "uniform")
    text = json.dumps(server.get("/bench/leaderboard")) + page(server, "/leaderboard")
    ids = [path.rpartition("/")[2]]
    ids += [r["session_id"] for r in server.bench.store.finished("block_to_bowl", scored=True)]
    assert not [session_id for session_id in ids if session_id in text]


def test_an_infinite_regret_comes_last(open_at, tmp_path):
    with serving(open_at(tmp_path / "b.sqlite", [coin_file(tmp_path)])) as server:
        for name, probs in (("sure", [1.0, 0.0]), ("unsure", [0.5, 0.5])):
            path = server.session(env="coin", max_steps=2, name=name)
            for step in range(2):
                row = ["coin", {"Categorical": {"outcomes": ["o0", "o1"], "probs": probs}}]
                body = {"step": step, "prediction": {"per_variable": [row]}}
                assert server.call("POST", f"{path}/predict", body)[0] == 200
        rows = rows_of(server, "coin")
        assert [row["name"] for row in rows] == ["unsure", "sure"]
        assert rows[1]["expected_regret_nats_per_step"]["mean"] is None
        assert "infinite" in page(server, "/leaderboard")
        # A world without a picture has a replay without frames.
        replay = page(server, f"/replay?run={rows[0]['run_id']}")
        assert Elements(replay).named("img") == []
        assert server.call("GET", "/bench/frames/coin/0.png")[0] == 404


def test_the_page_shows_what_the_json_says_and_escapes_names(server):
    run_of(server, "uniform", name=HOSTILE)
    (row,) = rows_of(server)
    elements = Elements(page(server, "/"))
    assert elements.named("script") == []
    assert HOSTILE in elements.text
    assert f"{row['expected_regret_nats_per_step']['mean']:.4f}" in elements.text
    assert f"replay?run={row['run_id']}" in [a.get("href") for a in elements.named("a")]
    assert "Nobody has finished" in elements.text


def test_a_replay_sets_two_contestants_side_by_side(server):
    """In practice one seed is one episode, so that their forecasts are of the same outcomes."""
    runs = [run_of(server, name, practice=True) for name in ("uniform", "oracle")]
    document = server.get(f"/bench/replay?run={runs[0]}&run={runs[1]}")
    assert [c["name"] for c in document["contestants"]] == ["uniform", "oracle"]
    assert len(document["steps"]) == 30
    before = None
    for step in document["steps"]:
        assert before is None or step["state"] == before
        before = step["outcome"]
        uniform, oracle = (forecast["probabilities"] for forecast in step["forecasts"])
        assert uniform == {v.name: 1 / v.num_outcomes for v in WORLD.schema.variables}
        state = np.array(
            [[v.outcomes.index(step["state"][v.name]) for v in WORLD.schema.variables]]
        )
        truth = WORLD.transition(state, np.array([WORLD.schema.actions.index(step["action"])]))
        for variable, row in zip(WORLD.schema.variables, truth):
            happened = variable.outcomes.index(step["outcome"][variable.name])
            assert oracle[variable.name] == row[0, happened]
        assert step["forecasts"][1]["joint"] == pytest.approx(np.prod(list(oracle.values())))


def fetched(server, path):
    """Status, media type and text."""
    connection = server.connection()
    connection.request("GET", path)
    response = connection.getresponse()
    text = response.read().decode()
    connection.close()
    return response.status, response.headers.get_content_type(), text


def test_runs_of_different_episodes_are_not_compared(server):
    runs = [run_of(server, "uniform", steps=3) for _ in range(2)]
    status, document, _ = server.call("GET", f"/bench/replay?run={runs[0]}&run={runs[1]}")
    assert (status, document["title"]) == (409, "different episodes")
    # People follow links, and read no JSON.
    status, kind, text = fetched(server, f"/replay?run={runs[0]}&run={runs[1]}")
    assert (status, kind) == (409, "text/html")
    assert "<h1>No replay: different episodes</h1>" in text
    assert "The runs are of different episodes; practice runs" in text
    assert len(server.get(f"/bench/replay?run={runs[0]}")["contestants"]) == 1


def test_scored_runs_are_compared_where_the_server_pairs_them(open_at, tmp_path):
    with serving(open_at(tmp_path / "b.sqlite", paired_episodes=True)) as server:
        runs = [run_of(server, name, steps=n) for name, n in (("uniform", 5), ("kt", 9))]
        document = server.get(f"/bench/replay?run={runs[0]}&run={runs[1]}")
        assert len(document["steps"]) == 5
        assert {row["paired_episodes"] for row in rows_of(server)} == {True}


@pytest.mark.parametrize(
    ("query", "status"),
    [("", 422), ("?run=a&run=b&run=c", 422), ("?run=" + "x" * 16, 404), ("?run=%00", 404)],
)
def test_a_replay_of_nothing_is_refused(server, query, status):
    found, document, _ = server.call("GET", f"/bench/replay{query}")
    assert (found, document["field"]) == (status, "run")
    found, kind, text = fetched(server, f"/replay{query}")
    assert (found, kind) == (status, "text/html")
    assert document["detail"] in text.lower()


def test_a_run_that_goes_on_is_not_replayed(server):
    """Its outcomes are known to its client, its public id to anybody."""
    body = {"env": "block_to_bowl", "seed": 1}
    _, session, _ = server.call("POST", "/bench/sessions", body)
    assert server.call("GET", f"/bench/replay?run={session['run_id']}")[0] == 409


def test_the_replay_page_lists_all_steps_without_scripts(server):
    runs = [run_of(server, name, practice=True, steps=4) for name in ("uniform", "kt")]
    document = server.get(f"/bench/replay?run={runs[0]}&run={runs[1]}")
    elements = Elements(page(server, f"/replay?run={runs[0]}&run={runs[1]}"))
    assert len(elements.named("img")) == 8
    assert len(elements.named("meter")) == 8
    assert [a.get("src") for a in elements.named("script")] == ["static/replay.js"]
    assert "hidden" in elements.named("div")[0]
    assert "uniform (practice) against kt (practice)" in re.sub(r"\s+", " ", elements.text)
    for image, step in zip(elements.named("img")[::2], document["steps"]):
        assert image["src"] == f"bench/frames/block_to_bowl/{step['frame']}.png"


def test_pages_work_behind_a_prefix(server):
    """A proxy that serves the bench at /team/bench/ passes on what stands behind that."""
    prefix = "http://proxy/team/bench"
    run = run_of(server, "uniform", steps=2)
    links = set()
    for path in ("/", "/leaderboard", f"/replay?run={run}"):
        for _, attributes in Elements(page(server, path)).tags:
            for link in (attributes.get("href"), attributes.get("src")):
                if link is not None and not link.startswith("data:"):
                    links.add(urljoin(f"{prefix}{path}", link))
    assert len(links) >= 5
    for link in links:
        assert link.startswith(f"{prefix}/")
        connection = server.connection()
        connection.request("GET", link.removeprefix(prefix))
        assert connection.getresponse().status == 200
        connection.close()


def test_a_long_leaderboard_says_what_it_leaves_out(server, monkeypatch):
    """Ten thousand rows would be a page of megabytes for everybody who looks."""
    monkeypatch.setattr("wbgpu.bench.leaderboard.MAX_ROWS", 2)
    for name in ("uniform", "oracle", "uniform"):
        run_of(server, name, steps=2)
    world = server.get("/bench/leaderboard")["worlds"][0]
    assert world["num_sessions"] == 3
    assert [row["name"] for row in world["rows"]] == ["oracle", "uniform"]
    assert "The first 2 of 3 sessions." in page(server, "/leaderboard")


def test_a_frame_is_the_worlds_picture(server):
    connection = server.connection()
    connection.request("GET", "/bench/frames/block_to_bowl/1-0-1-5-0.png")
    response = connection.getresponse()
    pixels = np.array(Image.open(io.BytesIO(response.read())))
    connection.close()
    assert response.headers["Content-Type"] == "image/png"
    expected = Renderer(WORLD, 192).frames(np.array([[1, 0, 1, 5, 0]]))[0]
    np.testing.assert_array_equal(pixels, expected)


@pytest.mark.parametrize(
    "state", ["1", "1-0-1-5", "1-0-1-6-0", "1-0-1--5", "a-b-c-d-e", "1-0-1-5-²", "9" * 5000]
)
def test_a_frame_of_no_state_is_refused(server, state):
    from urllib.parse import quote

    assert server.call("GET", f"/bench/frames/block_to_bowl/{quote(state)}.png")[0] == 404


def test_files_of_pages_are_there_and_no_others(server):
    for name, kind in (("bench.css", "text/css"), ("replay.js", "text/javascript")):
        connection = server.connection()
        connection.request("GET", f"/static/{name}")
        response = connection.getresponse()
        assert (response.status, response.headers.get_content_type()) == (200, kind)
        assert len(response.read()) > 100
        connection.close()
    for name in ("page.html", "..%2Fserver.py", "x"):
        assert server.call("GET", f"/static/{name}")[0] == 404
