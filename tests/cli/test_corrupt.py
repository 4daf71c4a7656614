from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.corruptions.videos import textured_video
from wbgpu.cli.main import run
from wbgpu.records.strict_json import read_json
from wbgpu.video.encode import write_video

QUICK = ["corruption=[freeze,scramble,blur]", "metrics=[psnr,temporal_stability,dynamic_mse]"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for seed, name in enumerate(("a.mp4", "b/c.mp4")):
        write_video(tmp_path / "gt" / name, textured_video(16, seed), 5, lossless=True)
    return tmp_path


def corrupt(*more: str) -> int:
    return run(["corrupt", "suite.ground_truth=gt", *QUICK, "hydra.run.dir=out", *more])


def test_a_study_is_a_table_plots_and_a_result(folder, capsys):
    assert corrupt("suite.num_context=2") == 0
    console = capsys.readouterr().out
    assert "2 episodes of gt, the ground truth itself corrupted, 2 context frames" in console
    assert "Seen by no metric: none." in console
    assert {path.name for path in Path("out").iterdir()} == {
        "corruptions.json",
        "corruptions.md",
        "responses.png",
        "ordering.png",
    }
    study = read_json("out/corruptions.json")
    assert study["severities"] == [0.0, 0.25, 0.5, 0.75, 1.0]
    freeze = study["corruptions"]["freeze"]["metrics"]
    assert freeze["psnr"]["verdict"] == "ordered"
    assert freeze["psnr"]["means"][0] == 60.0
    assert set(freeze["psnr"]["episodes"]) == {"a.mp4", "b/c.mp4"}
    assert freeze["temporal_stability"]["verdict"] == "rewarded"
    report = Path("out/corruptions.md").read_text("utf-8")
    assert "temporal_stability rewards freeze" in report
    assert "![Every metric against severity](responses.png)" in report


def test_the_same_study_is_the_same_files(folder, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    contents = []
    for device in ("auto", "cpu"):
        assert corrupt("severities=[0.5,1]", f"device={device}") == 0
        document = read_json("out/corruptions.json")
        document.pop("configuration")
        document.pop("command")
        files = [Path("out", name).read_bytes() for name in ("responses.png", "ordering.png")]
        contents.append((document, *files))
    assert contents[0] == contents[1]


def test_json_is_printed_and_saved_elsewhere(folder, capsys):
    assert corrupt("severities=[1]", "output=study.json", "--json") == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["corruptions"]["blur"]["metrics"]["psnr"]["verdict"] == "ordered"
    assert read_json("study.json")["result_type"] == "corruption_study"


def test_predictions_are_corrupted_where_they_are_given(folder, capsys):
    for seed, name in enumerate(("a.mp4", "b/c.mp4")):
        write_video(folder / "p" / name, textured_video(16, seed + 7), 5, lossless=True)
    assert corrupt("suite.predictions=p", "severities=[1]") == 0
    assert "p corrupted" in capsys.readouterr().out
    study = read_json("out/corruptions.json")
    assert study["corruptions"]["blur"]["metrics"]["psnr"]["verdict"] == "rewarded"


def test_an_episode_that_cannot_be_read_is_named_and_the_others_are_studied(folder, capsys):
    Path("gt/d.mp4").write_bytes(b"no video")
    assert corrupt("severities=[1]") == 2
    printed = capsys.readouterr()
    assert "d.mp4" in printed.err
    assert "2 episodes of gt" in printed.out
    assert "d.mp4" in Path("out/corruptions.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("severities=[0.5,0.5]", "severities: expected rising numbers above 0"),
        ("severities=[0,1]", "severities: expected"),
        ("severities=[0.5,2]", "severities: expected"),
        ("severities=[]", "severities: expected"),
        ("severities=[true]", "severities: expected"),
        ("seed=-1", "seed: expected an integer >= 0"),
        ("corruption=[frieze]", "nearest: 'freeze'"),
        ("corruption=[]", "corruption: at least one"),
        ("corruption.scramble.group_frames=1", "corruption.scramble.group_frames: expected at"),
        ("suite.ground_truth=none", "none"),
        ("suite.num_contxt=1", "nearest: 'suite.num_context'"),
        (
            "+metrics.track_error={_target_: wbgpu.metrics.track_agreement.TrackError, tracker: "
            "{_target_: wbgpu.tracking.SuppliedFolder, folder: tracks}}",
            "metrics.track_error.tracker: tracks that were made before are not those of corrupted",
        ),
        ("loader.window_frames=0", "loader.window_frames: must be at least 1"),
    ],
)
def test_what_is_wrong_is_named(folder, capsys, override, message):
    assert corrupt(override) == 2
    assert message in capsys.readouterr().err
    assert not Path("out").exists()
