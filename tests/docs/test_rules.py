"""The rules by which blocks are run catch what is wrong."""

from __future__ import annotations

import pytest

from tests.docs.blocks import parse_page
from tests.docs.outputs import difference, label_difference, value_difference
from tests.docs.running import PageRun
from tests.docs.shell import commands_within, statements


def run_page(text, capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    PageRun(parse_page(text, "page.md"), lambda: tuple(capfd.readouterr()), None).run()


@pytest.fixture
def page(capfd, tmp_path, monkeypatch):
    return lambda text: run_page(text, capfd, tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("```\nwbgpu --version\n```\n", "blocks of '' are not tested"),
        ("```rust\nfn main() {}\n```\n", "blocks of 'rust' are not tested"),
        ("    indented\n", "a block by indentation"),
        ("```bash\nfalse\n```\n", "exit code 1"),
        ("```bash\nwbgpu report nothing.json\n```\n", "exit code 2"),
        ("```bash\ntrue  # exit 1: FAIL\n```\n", "exit code 0"),
        ("```bash\necho a\n```\n\n```text\nb\n```\n", "not printed"),
        ("```text\nb\n```\n", "the output of what"),
        ("```python\n1 + 1  # 3\n```\n", "the page says 3, and it is 2"),
        ('```yaml title="a.yaml"\nb: 1\n```\n', "no use of a.yaml"),
        ("```yaml\nb: 1\n```\n", "give it a title"),
        ("```tree\nnowhere/a.mp4\n```\n", "not there"),
        ("<!-- not run: too slow -->\n```bash\ntrue\n```\n", "a reason is one of"),
        ("<!-- not run: needs SLURM -->\n```python\n1\n```\n", "only shell blocks"),
        ("<!-- not run: needs SLURM -->\n```bash\nsrun wbgpu gate --basline a\n```\n", "No such"),
        ("<!-- not run: needs SLURM -->\n```bash\nsrun 'wbgpu\n```\n", "no shell can read it"),
        ("<!-- not run: installs packages -->\n```bash\npip install '.[x]'\n```\n", "x"),
    ],
)
def test_what_is_wrong_fails(page, text, message):
    with pytest.raises(AssertionError) as failure:
        page(text)
    assert message in str(failure.value)


def test_a_mistyped_override_of_a_command_that_is_not_run_fails(page):
    text = "<!-- not run: needs SLURM -->\n```bash\nsrun wbgpu eval siute.num_context=4\n```\n"
    with pytest.raises(AssertionError, match="siute"):
        page(text)


def test_a_page_that_is_right(page):
    """Files, modules, shells, values and outputs."""
    page(
        """
# Page

```python title="mine.py"
NUMBER = 2 / 3
```

```python
from mine import NUMBER

NUMBER  # 0.667
print("it is", NUMBER > 0)  # (prose)
```

```text
it is True
```

1. In a list:

   ```bash
   cat > names.txt <<'EOF'
   a
   b
   EOF
   python -c 'import mine; print(mine.NUMBER)'
   wbgpu --version | wc -l
   exit 3    # exit 0 or 3
   ```

   <!-- varies -->
   ```text
   [...]
   1
   ```

```yaml
- run: grep b names.txt
```
""".replace("exit 3    #", "(exit 3)    #")
    )


def test_outputs():
    printed = "a\nb 1\nc\nd\n"
    assert difference("a\nb 1\nc\nd", printed) is None
    assert difference("a\n[...]\nd", printed) is None
    assert difference("[...]\nb 1\n[...]", printed) is None
    assert difference("b 1\n[...]", printed) is not None
    assert difference("a\nb 1\nc", printed) is not None
    assert difference("[...]\nc\n[...]\nb 1\n[...]", printed) is not None
    assert difference("in 20200101-000000-123456/x", "in 20261231-235959-654321/x") is None
    assert label_difference("stage   s\nread  0.1\nLimit: a", "stage  s\nread  7\nLimit: b") is None
    assert label_difference("read  0.1\nstage   s", "stage  s\nread  7") is not None


@pytest.mark.parametrize(
    ("comment", "value", "same"),
    [
        ("0.17", 0.1732, True),
        ("0.18", 0.1732, False),
        ("inf", float("inf"), True),
        ("{'a': 1, ...}", {"a": 1, "b": 2}, True),
        ("[1, 2]", [1, 3], False),
        ("the contract, as a test", None, True),
        ("float64 [16]", 1.0, True),
    ],
)
def test_values(comment, value, same):
    assert (value_difference(comment, value) is None) == same


def test_shell():
    found = statements("wbgpu a \\\n  'b $c'  # exit 1\n\n# only words\nwbgpu d | cat\n")
    assert [s.is_plain_wbgpu for s in found] == [True, False]
    assert found[0].words == ["wbgpu", "a", "b $c"]
    assert [s.exit_codes for s in found] == [{1}, {0}]
    assert len(statements("code=0\nwbgpu d || code=$?\n")) == 1
    assert statements("wbgpu dashboard runs/  # http://127.0.0.1:8765/, runs until Ctrl-C")[0].port
    script = "srun bash -c 'RANK=$X wbgpu eval a=1' && wbgpu gate --baseline b"
    assert commands_within(script) == [["eval", "a=1"], ["gate", "--baseline", "b"]]
