from __future__ import annotations

import asyncio
import json
import os

import httpx
import pytest

from tests.records.regret_results import regret_result
from tests.records.results import simple_suite
from tests.report.pages import HOSTILE
from wbgpu import sdk
from wbgpu.dashboard.app import create_app
from wbgpu.dashboard.runs import RunFolder
from wbgpu.records.strict_json import write_json
from wbgpu.records.worldbench import gate_payload

BEFORE = simple_suite({"a": [80.0, 70.0]}, checkpoint_name="before")
AFTER = simple_suite({"a": [70.0, 60.0]}, checkpoint_name="after")


@pytest.fixture
def folder(tmp_path):
    sdk.save_result(BEFORE, tmp_path / "runs/before.json")
    sdk.save_result(AFTER, tmp_path / "runs/after/batch.json")
    sdk.save_result(AFTER, tmp_path / "runs/latest/batch.json")
    sdk.save_result(regret_result("kt"), tmp_path / "runs/kt.json")
    write_json(tmp_path / "runs/gate.json", gate_payload(sdk.gate(BEFORE, AFTER)))
    (tmp_path / "runs/package.json").write_text('{"name": "not a result"}')
    (tmp_path / "runs/half.json").write_text('{"result_type": "batch_eval')
    sdk.save_result(BEFORE, tmp_path / "secret.json")
    return tmp_path / "runs"


class Client:
    """Asks the application without a network."""

    def __init__(self, app):
        self._app = app

    def get(self, path, **arguments):
        async def ask():
            transport = httpx.ASGITransport(app=self._app)
            async with httpx.AsyncClient(transport=transport, base_url="http://testserver") as one:
                return await one.get(path, **arguments)

        return asyncio.run(ask())


def client_of(target):
    return Client(create_app(RunFolder(target), num_films=0, hosts=("testserver",)))


def test_it_lists_results_and_verdicts_and_nothing_else(folder):
    """worldbench's dashboard crashes on batch and gate files."""
    text = client_of(folder).get("/").text
    assert text.count('<th scope="row">') == 4
    for expected in ("before.json", "after/batch.json", "kt.json", "before -&gt; after", "60.00"):
        assert expected in text
    assert '<span class="badge FAIL">FAIL</span>' in text
    assert "package.json" not in text
    assert "latest" not in text


def test_a_run_has_its_report_and_its_comparison(folder):
    client = client_of(folder)
    alone = client.get("/report", params={"run": "after/batch.json"})
    assert alone.status_code == 200
    assert "Evaluation of after" in alone.text
    both = client.get("/report", params={"run": "after/batch.json", "against": "before.json"})
    assert "after against before" in both.text
    assert "Regression detected:" in both.text
    assert "Regret of kt" in client.get("/report", params={"run": "kt.json"}).text
    text = client.get("/", params={"baseline": "before.json"}).text
    assert 'href="/report?run=after%2Fbatch.json&amp;against=before.json"' in text
    # Regret and pixels cannot be compared.
    assert "run=kt.json&amp;against" not in text


@pytest.mark.parametrize(
    "path", ["../secret.json", "/etc/passwd", "package.json", "gate.json", "", "latest/batch.json"]
)
def test_what_is_not_listed_is_not_read(folder, path):
    assert client_of(folder).get("/report", params={"run": path}).status_code == 404
    response = client_of(folder).get("/report", params={"run": "before.json", "against": path})
    assert response.status_code == 404


def test_a_file_that_no_link_can_name_hides_no_other(folder):
    """One name that is not UTF-8 made every page an error."""
    odd = os.fsencode(folder) + b"/odd\xff.json"
    with open(odd, "wb") as file:
        file.write((folder / "before.json").read_bytes())
    assert client_of(folder).get("/").text.count('<th scope="row">') == 4


def test_verdicts_are_the_gates_and_name_its_configuration(folder):
    """A wbgpu.yml flips the gate's verdict, so it flips the dashboard's, which says so."""
    pair = {"run": "after/batch.json", "against": "before.json"}
    assert 'class="badge FAIL"' in client_of(folder).get("/report", params=pair).text
    loose = sdk.Thresholds(
        max_overall_drop=50,
        max_metric_drop=50,
        max_horizon_drop=50,
        min_composite_improvement=-50,
    )
    app = create_app(
        RunFolder(folder),
        hosts=("testserver",),
        num_films=0,
        policy=loose,
        configuration_file="team/wbgpu.yml",
    )
    text = Client(app).get("/report", params=pair).text
    assert 'class="badge PASS"' in text
    assert "team/wbgpu.yml" in text


def test_regret_without_evidence_has_a_report(folder):
    """An infinite regret has nothing to weigh, and its page asked for another policy's limits."""
    sdk.save_result(regret_result("reckless", num_steps=60, seeds=(0, 1)), folder / "reckless.json")
    sdk.save_result(regret_result("oracle", num_steps=60, seeds=(0, 1)), folder / "oracle.json")
    app = create_app(RunFolder(folder), hosts=("testserver",), num_films=0, policy="noninferiority")
    pair = {"run": "reckless.json", "against": "oracle.json"}
    response = Client(app).get("/report", params=pair)
    assert response.status_code == 200
    assert "ruled out what happened" in response.text


def test_the_list_stays_fresh(folder):
    """A script asks every two seconds; what has not changed is not sent again."""
    client = client_of(folder)
    first = client.get("/runs")
    tag = first.headers["ETag"]
    assert client.get("/runs", headers={"If-None-Match": tag}).status_code == 304
    sdk.save_result(simple_suite({"a": [99.0]}, checkpoint_name="newest"), folder / "new.json")
    os.utime(folder / "new.json", ns=(2**62, 2**62))
    second = client.get("/runs", headers={"If-None-Match": tag})
    assert second.status_code == 200
    assert second.text.index("newest") < second.text.index("before.json")


def test_a_file_that_changed_has_a_new_report(folder):
    client = client_of(folder)
    assert "75.00" not in client.get("/report", params={"run": "before.json"}).text
    sdk.save_result(simple_suite({"a": [75.0]}, checkpoint_name="other"), folder / "before.json")
    text = client.get("/report", params={"run": "before.json"}).text
    assert "Composite score: 75.00" in text


def test_a_file_that_contradicts_itself_says_so(folder):
    document = json.loads((folder / "before.json").read_text())
    document["episodes"][0]["score"] = -50
    (folder / "before.json").write_text(json.dumps(document))
    response = client_of(folder).get("/report", params={"run": "before.json"})
    assert response.status_code == 422
    assert "$.episodes[0].score" in response.text


def test_a_file_that_the_gate_refuses_is_marked(folder):
    """Else it stands among the others with its score, and may be taken as the baseline."""
    client = client_of(folder)
    assert "REFUSED" not in client.get("/").text
    document = json.loads((folder / "before.json").read_text())
    document["episodes"][0]["score"] = -50
    (folder / "before.json").write_text(json.dumps(document))
    text = client.get("/").text
    assert text.count(">REFUSED</span>") == 1
    assert "$.episodes[0].score" in text
    assert 'href="/?baseline=before.json"' not in text


def test_a_verdict_has_its_report(folder):
    client = client_of(folder)
    assert 'href="/verdict?run=gate.json"' in client.get("/").text
    page = client.get("/verdict", params={"run": "gate.json"})
    assert page.status_code == 200
    assert "&#34;status&#34;: &#34;FAIL&#34;" in page.text
    (folder / "gate.md").write_text("# Gate: FAIL\n\n- <b>worse</b>\n")
    text = client.get("/verdict", params={"run": "gate.json"}).text
    assert "# Gate: FAIL\n" in text
    assert "&lt;b&gt;worse" in text
    (folder / "gate.md").unlink()
    (folder / "gate.md").symlink_to(folder.parent / "secret.json")
    assert "gate.md" not in client.get("/verdict", params={"run": "gate.json"}).text
    for path in ("before.json", "../secret.json", "latest/batch.json", ""):
        assert client.get("/verdict", params={"run": path}).status_code == 404


def test_what_was_made_last_comes_first(folder):
    """A copied file is new on the disk, and its column says another time."""
    for name, day in (("old", "01"), ("recent", "03")):
        made = simple_suite({"a": [9.0]}, checkpoint_name=name, created_at=f"2031-01-{day}T00:00Z")
        sdk.save_result(made, folder / f"{name}.json")
    os.utime(folder / "old.json", ns=(2**62, 2**62))
    text = client_of(folder).get("/").text
    assert text.index("recent.json") < text.index("old.json") < text.index("before.json")


def test_one_result_may_be_served_alone(folder):
    text = client_of(folder / "before.json").get("/").text
    assert text.count('<th scope="row">') == 1


def test_hostile_names_stay_names_and_no_other_host_reads(folder):
    made = simple_suite({"a": [75.0]}, checkpoint_name=HOSTILE[1])
    sdk.save_result(made, folder / "hostile.json")
    client = client_of(folder)
    response = client.get("/")
    assert "<img" not in response.text
    assert "script-src 'self'" in response.headers["Content-Security-Policy"]
    assert client.get("/", headers={"Host": "elsewhere.example"}).status_code == 400
