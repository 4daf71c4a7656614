"""Claims of README.md have an artifact and a command, and its numbers are the artifacts'."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys

import pytest

from tests.conftest import REPOSITORY

README = (REPOSITORY / "README.md").read_text("utf-8")
BENCHMARKS = REPOSITORY / "artifacts/benchmarks"
CLAIMS = REPOSITORY / "artifacts/claims"


def page(name):
    return (REPOSITORY / "docs" / name).read_text("utf-8")


def load(path):
    return json.loads((REPOSITORY / "artifacts" / path).read_text("utf-8"))


def rows(text, marker):
    """Cells of the table behind a comment."""
    table = text.partition(f"<!-- {marker} -->\n")[2].lstrip().split("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table.split("\n")][
        2:
    ]


EVIDENCE = rows(README, "evidence")


@pytest.fixture(scope="module")
def claims():
    return load("claims/claims.json")


@pytest.mark.parametrize("row", EVIDENCE, ids=lambda row: row[2].strip("`"))
def test_evidence(row):
    """A claim without a file, or a command that nobody can run."""
    claim, measured, command = row
    targets = re.findall(r"\]\(([^)]+)\)", measured)
    assert claim
    assert targets
    for target in targets:
        assert (REPOSITORY / target).exists(), target
    words = shlex.split(command.strip("`"))
    script = next(word for word in words if word.startswith("scripts/"))
    text = (REPOSITORY / script).read_text("utf-8")
    if words[0] == "python":
        for flag in (word for word in words if word.startswith("--")):
            assert f'"{flag}"' in text
    else:
        assert words[0] == script
        assert (REPOSITORY / script).stat().st_mode & 0o100
        for argument in (word for word in words[1:] if word.isupper()):
            assert argument in text


def test_every_claim_that_is_measured_is_told(claims):
    """And those that README names are there, and hold."""
    told = re.findall(r"--only ([\w ]+)`", README)
    assert {name for names in told for name in names.split()} == claims["claims"].keys()
    assert [name for name, one in claims["claims"].items() if not one["holds"]] == []


def test_the_script_of_the_claims_knows_them(claims):
    command = [sys.executable, "scripts/verify_claims.py", "--help"]
    ended = subprocess.run(
        command, cwd=REPOSITORY, capture_output=True, text=True, check=True, timeout=60
    )
    for name in claims["claims"]:
        assert name in ended.stdout


def test_the_table_of_claims_is_made_from_its_json(claims):
    """A typed number."""
    program = (
        "import json, sys; sys.path.insert(0, 'scripts'); import verify_claims\n"
        "document = json.load(open('artifacts/claims/claims.json'))\n"
        "sys.stdout.write(verify_claims.table(document))"
    )
    command = [sys.executable, "-c", program]
    ended = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    assert ended.stdout == (CLAIMS / "README.md").read_text("utf-8")


def test_claims_name_no_place_of_a_machine():
    for path in CLAIMS.iterdir():
        for place in ("/tmp/", "/home/", "/root/", "/work/"):
            assert place not in path.read_text("utf-8"), path


def test_what_is_measured_finds_what_is_wrong(tmp_path):
    """A comparison that finds nothing proves nothing."""
    program = (
        "import sys; sys.path.insert(0, 'scripts'); from claims.equality import compare, same\n"
        "found = {'scores': [], 'details': [], 'gates': []}\n"
        "theirs = {'a': [1.0, None], 'details': {'psnr': 200.0}, 'created_at': 1}\n"
        "compare(theirs, {'a': [1.5, None], 'details': {'psnr': 201.0}}, found)\n"
        "assert found == {'scores': [0.5], 'details': [0.005], 'gates': []}, found\n"
        "for ours in ({}, {'a': [1.0, 2.0]}, {'a': [1.0]}):\n"
        "    wrong = {'scores': [], 'details': [], 'gates': []}\n"
        "    compare({'a': [1.0, None]}, ours, wrong)\n"
        "    assert max(wrong['scores']) == float('inf'), ours\n"
        "compare({'status': 'PASS'}, {'status': 'FAIL'}, found, 'gates')\n"
        "assert found['gates'] == [float('inf')]\n"
        "assert same({'a': 'x', 'b': 'x'}, '')['holds']\n"
        "assert not same({'a': 'x', 'b': 'y'}, '')['holds']\n"
    )
    subprocess.run([sys.executable, "-c", program], cwd=REPOSITORY, check=True, timeout=60)


def test_the_committed_gate_decides_as_readme_says(tmp_path):
    """One claim measured again, of those that need no torch."""
    (tmp_path / "suite/gt").mkdir(parents=True)
    command = [sys.executable, "scripts/verify_claims.py", str(tmp_path / "suite")]
    options = ["--output", str(tmp_path), "--only", "exit_codes"]
    subprocess.run([*command, *options], cwd=REPOSITORY, check=True, timeout=300)
    found = json.loads((tmp_path / "claims.json").read_text("utf-8"))["claims"]["exit_codes"]
    assert found == load("claims/claims.json")["claims"]["exit_codes"]
    assert found["measured"] in (tmp_path / "README.md").read_text("utf-8")


def test_the_table_against_worldbench():
    measured = load("benchmarks/vs_worldbench_2_vcpu_epyc.json")
    expected = [
        [
            str(row["num_steps"]),
            f"{row['worldbench']['wall_seconds'] / row['num_episodes']:.2f} s",
            f"{row['wbgpu']['wall_seconds'] / row['num_episodes']:.3f} s",
            f"{row['wall_seconds_ratio']:.0f}x",
        ]
        for row in measured["rows"]
    ]
    assert rows(README, "benchmark") == expected
    for row in measured["rows"]:
        assert abs(row["score_difference"]) <= 1e-5


def test_seconds_of_a_cold_start(claims):
    figures = claims["claims"]["start_up"]["figures"]
    whole, torch, compiling = (
        f"{figures[name]:.1f} s"
        for name in ("eval_batch_seconds", "import_torch_seconds", "compiling_seconds")
    )
    assert (
        f"takes {whole}, of which {torch} is `import torch`; "
        f"the first one on a machine compiles for {compiling} more"
    ) in README


def test_agreement_with_worldbench(claims):
    figures = claims["claims"]["worldbench"]["figures"]
    assert "0.4.1 to 1e-5 on every episode, metric and horizon" in README.replace("\n", " ")
    for kind in ("scores", "gates", "details"):
        assert figures[f"largest_difference_of_{kind}"] <= 1e-5
        assert figures[f"num_{kind}"] > 100


def test_the_output_on_bridgedata():
    """As committed; the page says less of it."""
    block = README.partition("<!-- output on BridgeData -->\n```text\n")[2].partition("```")[0]
    committed = load("bridge_suite/step00900.json")
    text = (REPOSITORY / "artifacts/bridge_suite/step00900.txt").read_text("utf-8").split("\n")
    for line in block.splitlines():
        assert line in text or line.startswith(("[...]", "Checkpoint JSON"))
    share = committed["coverage"]["configured_weight_coverage"]
    assert f"The composite is over the other two, {share:.0%}".replace("%", " %") in README
    assert committed["coverage"]["available_metric_count"] == 2


def test_regret_of_the_counting_learner():
    result = load("checkpoint_validation/world_tokens/states_kt.json")
    block = README.partition("Contestant: kt\n")[2].partition("```")[0]
    assert f"Episodes: {result['num_seeds']} of {result['num_steps']} steps" in block
    for name in ("expected regret", "log-loss", "reference loss"):
        per_episode = result[f"{name.replace('-', '_').replace(' ', '_')}_nats"]
        numbers = re.findall(rf"^{name} +(.*)$", block, re.MULTILINE)[0].split()
        assert numbers[0] == f"{per_episode / result['num_steps']:.3f}"
        assert numbers[-1] == f"{per_episode:.4g}"


def test_error_rates_of_the_gate():
    rates = load("simulations/gate.json")
    ours = max(row["fails_either"] for row in rates["unchanged"])
    theirs = [row["fails_worldbench"] for row in rates["unchanged"]]
    text = README.replace("\n", " ")
    assert f"in at most {100 * ours:.1f} % of simulated comparisons" in text
    assert f"fails {100 * min(theirs):.0f} to {100 * max(theirs):.0f} %)" in text


def is_rounded(cell, value):
    """Whether a number is the value to the digits shown, halves either way."""
    digits = len(cell.partition(".")[2])
    return abs(float(cell) - value) <= 0.5 * 10**-digits + 1e-9


@pytest.mark.parametrize(
    ("table", "keys"),
    [
        ("coverage", ("conservative", "bootstrap_t", "student_t", "percentile")),
        ("unchanged", ("fails_composite", "fails_horizons", "fails_either", "fails_worldbench")),
    ],
)
def test_tables_of_the_statistics_of_the_gate(table, keys):
    rates = load("simulations/gate.json")[table]
    shown = rows(page("statistics-of-the-gate.md"), table)
    for cells, row in zip(shown, rates, strict=True):
        assert cells[-5] == str(row["num_episodes"])
        if table == "coverage":
            assert cells[0].startswith(row["distribution"][0])
        for cell, key in zip(cells[-4:], keys):
            assert is_rounded(cell, row[key]), (cells, key)


def test_the_whole_evaluation_against_decoding():
    measured = load("benchmarks/pipeline_2_vcpu_epyc.json")["sizes"]
    text = page("performance.md").replace("\n", " ")
    wall = {name: f"{row['fraction_of_decode']:.2f}" for name, row in measured.items()}
    assert f"at {wall['256']} times" in text or f"run at {wall['256']} times" in text
    assert f"({measured['256']['cpu_fraction_of_decode']:.2f} by CPU time" in text
    assert f"{wall['480x640']} at 480x640" in text
    assert f"at {wall['256_ten_episodes']}" in text


def test_the_table_of_frame_statistics():
    """To the digits shown."""
    measured = load("benchmarks/statistics_2_vcpu_epyc.json")["rows"]
    names = {
        "wbgpu, uniform 7x7": "wbgpu cpu, uniform 7",
        "wbgpu, Gaussian 11x11": "wbgpu cpu, Gaussian 11",
        "wbgpu, all that `wbgpu eval` asks for by default": "wbgpu cpu, all default groups",
    }
    table = {row[0]: row[1:] for row in rows(page("statistics.md"), "statistics benchmark")}
    for shown, name in names.items():
        for cell, size in zip(table[shown], ("256x256", "480x640")):
            assert is_rounded(cell, measured[name]["ms_per_pair"][size]["median"])
        errors = measured[name]["errors"].values()
        assert f"{max(map(abs, errors)):.0e}".replace("e-0", "e-") == table[shown][2]
