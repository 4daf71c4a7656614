"""Log-loss of saved logits, alone and beside the metrics of the videos."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch

import wbgpu
from tests.evaluation.saved_logits import make_tensors, save_arrays, save_safetensors
from tests.oracles import log_loss_loops
from wbgpu.cli.demo_suite import draw_episode
from wbgpu.errors import IncompatibleResultsError, InputError, PairingError
from wbgpu.evaluation import logit_reader
from wbgpu.evaluation.token_losses import TOKEN_LOG_LOSS, token_log_loss
from wbgpu.records.strict_json import to_text
from wbgpu.records.worldbench import batch_payload
from wbgpu.report.markdown import result_report
from wbgpu.video.encode import write_video

CPU = torch.device("cpu")


def by_step(tensors):
    """Mean loss of each step's tokens, by the oracle."""
    return log_loss_loops.loss_nats(tensors["logits"], tensors["targets"]).mean(dim=1).numpy()


@pytest.mark.parametrize("window_bytes", [1, 200, 1 << 20])
def test_means_over_tokens_by_step(window_bytes, tmp_path, monkeypatch):
    """Windows cut steps and tokens anywhere; a mean of their means would weigh them wrong."""
    monkeypatch.setattr(logit_reader, "WINDOW_BYTES", window_bytes)
    tensors = make_tensors()
    outcome = token_log_loss(save_safetensors(tmp_path, "a", tensors), 4, CPU)
    steps = by_step(tensors)
    prefix = np.cumsum(steps) / np.arange(1, 5)
    np.testing.assert_allclose(outcome.step, steps, rtol=1e-7)
    np.testing.assert_allclose(outcome.prefix, prefix, rtol=1e-7)
    assert outcome.value == outcome.prefix[-1]
    assert (outcome.name, outcome.metric_id) == (TOKEN_LOG_LOSS.name, TOKEN_LOG_LOSS.metric_id)
    hits = (tensors["logits"].float().argmax(-1) == tensors["targets"]).double().mean(dim=1)
    accuracy = hits.cumsum(0).numpy() / np.arange(1, 5)
    np.testing.assert_allclose(outcome.prefix_details["top1_accuracy"], accuracy, atol=1e-12)
    assert set(outcome.prefix_details) == {"top1_accuracy"}


def test_a_reference_gives_the_excess(tmp_path):
    """Another model's losses on the same tokens say what is hard; the rest is this model's."""
    tensors = make_tensors(dtype=torch.float32)
    other = make_tensors(1, dtype=torch.float32)["logits"]
    losses = log_loss_loops.loss_nats(other, tensors["targets"])
    of_losses = token_log_loss(
        save_arrays(tmp_path, "a", {**tensors, "reference_loss_nats": losses}), 4, CPU
    )
    of_logits = token_log_loss(
        save_arrays(tmp_path, "b", {**tensors, "reference_logits": other}), 4, CPU
    )
    for outcome in (of_losses, of_logits):
        details = outcome.prefix_details
        np.testing.assert_allclose(details["reference_loss_nats"][-1], losses.mean(), rtol=1e-6)
        np.testing.assert_allclose(
            details["regret_nats"][-1], outcome.value - losses.mean().item(), atol=1e-6
        )
    assert of_logits.prefix_details["expected_regret_nats"][-1] > 0
    assert "expected_regret_nats" not in of_losses.prefix_details


def test_what_goes_wrong_costs_one_value(tmp_path):
    """A file of one episode must not end a run of thousands; and infinite is not a number."""
    tensors = make_tensors()
    files = save_safetensors(tmp_path, "a", tensors)
    outcome = token_log_loss(files, 5, CPU)
    assert outcome.status == "error"
    assert "a.safetensors: logits of 4 steps, but the videos have 5" in outcome.reason
    tensors["logits"][2, 3, tensors["targets"][2, 3]] = -math.inf
    outcome = token_log_loss(save_safetensors(tmp_path, "b", tensors), 4, CPU)
    assert (outcome.status, outcome.error_type) == ("error", "InfiniteLogLoss")
    losses = log_loss_loops.loss_nats(tensors["logits"], tensors["targets"])
    mean = losses[losses.isfinite()].mean()
    others = f"; the others' mean is {mean:.4g} nats"
    assert outcome.reason == f"infinite: 1 of 24 targets have probability 0{others}"
    possible = tensors["logits"].clone()
    possible.scatter_(2, tensors["targets"][..., None], -math.inf)
    files_of_all = save_safetensors(tmp_path, "d", {**tensors, "logits": possible})
    outcome = token_log_loss(files_of_all, 4, CPU)
    assert outcome.reason == "infinite: 24 of 24 targets have probability 0"
    files.safetensors.unlink()
    assert token_log_loss(files, 4, CPU).error_type == "InputError"


@pytest.mark.parametrize("window_bytes", [1, 200, 1 << 20])
def test_a_row_that_is_wrong_is_named_by_step_and_token(window_bytes, tmp_path, monkeypatch):
    """Of the episode, not of the window that was read; and a file has no mask to be advised."""
    monkeypatch.setattr(logit_reader, "WINDOW_BYTES", window_bytes)
    tensors = make_tensors(dtype=torch.float32)
    logits, targets = tensors["logits"].clone(), tensors["targets"].clone()
    logits[2, 3, 1] = math.nan
    targets[2, 3] = 33
    ruled_out = tensors["logits"].clone()
    ruled_out[2, 3, tensors["targets"][2, 3]] = -math.inf
    losses = torch.ones(4, 6)
    losses[2, 3] = -1
    for index, (changes, message) in enumerate(
        (
            ({"logits": logits}, "logits, step 3, token 4: class 1 is nan (1 of 33 classes are)"),
            ({"targets": targets}, "target, step 3, token 4: expected 0 to 32, got 33"),
            (
                {"reference_logits": ruled_out},
                "reference_logits, step 3, token 4: gives probability 0",
            ),
            ({"reference_loss_nats": losses}, "reference_loss_nats, step 3, token 4: expected a"),
        )
    ):
        files = save_safetensors(tmp_path, f"{index}", {**tensors, **changes})
        outcome = token_log_loss(files, 4, CPU)
        assert outcome.status == "error"
        assert message in outcome.reason
        assert "valid" not in outcome.reason


@pytest.mark.parametrize(
    "dtype", [torch.uint8, torch.int8, torch.int16, torch.uint16, torch.uint32]
)
def test_targets_of_any_width(dtype, tmp_path):
    """Tokens of 8 bits over 256 classes are what is saved; 256 itself is no number of 8 bits."""
    tensors = make_tensors(shape=(2, 3, 256), dtype=torch.float32)
    tensors["targets"] %= 100
    expected = token_log_loss(save_safetensors(tmp_path, "a", tensors), 2, CPU)
    narrow = {**tensors, "targets": tensors["targets"].to(dtype)}
    for name, save in (("b", save_safetensors), ("c", save_arrays)):
        assert token_log_loss(save(tmp_path, name, narrow), 2, CPU) == expected


@pytest.fixture(scope="module")
def suite(tmp_path_factory) -> Path:
    """Two episodes of videos, the second with one broken token."""
    folder = tmp_path_factory.mktemp("tokens")
    generator = np.random.default_rng(5)
    for index in range(2):
        truth = draw_episode(generator, 6)
        write_video(folder / f"gt/sub/{index}.mp4", truth, fps=5)
        write_video(folder / f"predictions/sub/{index}.mp4", truth[::-1], fps=5)
        save_safetensors(folder / "logits", f"sub/{index}", make_tensors(index))
    return folder


def evaluate(suite, *overrides):
    return wbgpu.evaluate(
        suite / "gt",
        suite / "predictions",
        num_context=2,
        overrides=[*overrides] or [f"suite.logits={suite / 'logits'}"],
    )


def test_tokens_stand_beside_pixels(suite):
    """The same episodes and horizons in one result, report and gate."""
    result = evaluate(suite)
    for index, episode in enumerate(result.episodes):
        outcome = episode.metrics["log_loss"]
        np.testing.assert_allclose(outcome.step, by_step(make_tensors(index)), rtol=1e-7)
        assert len(outcome.prefix) == len(episode.metrics["psnr"].prefix) == 4
    assert result.protocol.metric_ids["log_loss"] == "log_loss/token-mean-1.0"
    assert result.metric_infos["log_loss"].unit == "nats per token"
    mean = result.summary.metrics["log_loss"].distribution.mean
    assert mean == pytest.approx(np.mean([by_step(make_tensors(i)).mean() for i in range(2)]))
    digests = result.provenance.input_sha256
    assert {f"{role}/sub/{i}.mp4" for role in ("logits", "targets") for i in (0, 1)} <= set(digests)
    assert json.loads(to_text(batch_payload(result)))
    report = result_report(result)
    assert f"{mean:.4g} ({mean / math.log(2):.4g} bits)" in report
    assert "log_loss, step" in report
    assert "log_loss" not in wbgpu.evaluate(suite / "gt", suite / "predictions").metric_infos


def test_other_target_tokens_are_not_compared(suite, tmp_path):
    """Another tokenizer's losses are of other things, and smaller vocabularies look better."""
    ours = evaluate(suite)
    tensors = [make_tensors(index) for index in range(2)]
    save_safetensors(tmp_path, "sub/0", tensors[0])
    tensors[1]["targets"] = tensors[1]["targets"].roll(1)
    save_safetensors(tmp_path, "sub/1", tensors[1])
    theirs = evaluate(suite, f"suite.logits={tmp_path}")
    with pytest.raises(IncompatibleResultsError, match=r"target tokens .* 'sub/1\.mp4'"):
        wbgpu.compare(ours, theirs)
    without = wbgpu.evaluate(suite / "gt", suite / "predictions", num_context=2)
    assert wbgpu.compare(ours, without).overall.change == 0


def test_pixels_do_not_move_for_the_tokens(suite):
    """A run with logits must be comparable with one without."""
    alone = wbgpu.evaluate(suite / "gt", suite / "predictions", num_context=2)
    for with_tokens, without in zip(evaluate(suite).episodes, alone.episodes, strict=True):
        others = {k: v for k, v in with_tokens.metrics.items() if k != "log_loss"}
        assert others == without.metrics
        assert with_tokens.score == without.score


def test_logits_that_are_not_there_are_said_before_the_work(suite, tmp_path):
    """After an hour of decoding it would be too late."""
    with pytest.raises(InputError, match="logits folder does not exist"):
        wbgpu.evaluate(
            suite / "gt", suite / "predictions", overrides=[f"suite.logits={tmp_path / 'x'}"]
        )
    with pytest.raises(PairingError, match="2 of 2 episodes"):
        wbgpu.evaluate(suite / "gt", suite / "predictions", overrides=[f"suite.logits={tmp_path}"])
