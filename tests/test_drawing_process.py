"""Figures are drawn by a process of their own, and here where it does not draw them."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from kneebench.brief import Brief, drawing, rendering
from kneebench.brief.rendering import DrawingProcess
from kneebench.brief.section import Figure
from kneebench.commands import campaigns
from tests.recorded.record import unpack
from tests.recordings import recorded

START = rendering._started


@pytest.fixture(scope="module", autouse=True)
def drawn_apart(drawn_once: None) -> Iterator[None]:
    """By the process that other tests do without."""
    with pytest.MonkeyPatch.context() as here:
        here.setattr(rendering, "_started", START)
        yield


def a_figure(name: str = "one", **spec: object) -> Figure:
    rows = {"values": [{"x": 1, "y": 2}]}
    encoding = {axis: {"field": axis, "type": "quantitative"} for axis in "xy"}
    whole = {"data": rows, "mark": "point", "encoding": encoding, **spec}
    return Figure(name=name, number="Fig. 1", title="t", caption="c", alt="a", spec=whole)


def drawers() -> list[psutil.Process]:
    mine = psutil.Process().children()
    return [one for one in mine if rendering.PROGRAM.name in " ".join(one.cmdline())]


def started() -> psutil.Process:
    """The one drawer; a process that has just been started may have no name yet."""
    until = time.monotonic() + 10
    while not (found := drawers()) and time.monotonic() < until:
        time.sleep(0.01)
    (drawer,) = found
    return drawer


def test_it_draws_what_this_process_draws_and_ends_with_the_block() -> None:
    figures = [a_figure("one"), a_figure("two", mark="line")]
    with DrawingProcess() as process:
        process.begin(figures)
        drawer = started()
        drawn = [process.svg(figure) for figure in figures]
    assert drawn == [drawing.svg(figure) for figure in figures]
    assert not drawer.is_running()


def test_the_process_that_was_started_ahead_draws_the_next_page() -> None:
    rendering.start_ahead()
    ahead = started()
    with DrawingProcess() as process:
        process.begin([a_figure()])
        assert drawers() == [ahead]
        assert "<svg" in process.svg(a_figure())
    assert not drawers()


def test_the_command_starts_it_before_it_reads_the_campaign(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def load(name: str, root: Path) -> None:
        raise FileNotFoundError(started().pid)

    monkeypatch.setattr(campaigns, "load_named", load)
    with pytest.raises(FileNotFoundError) as read:
        campaigns.write_brief("latest", out=Path("page.html"))
    with DrawingProcess():
        assert drawers() == [psutil.Process(read.value.args[0])]


def test_a_figure_that_was_not_begun_is_drawn_here() -> None:
    with DrawingProcess() as process:
        assert process.svg(a_figure()) == drawing.svg(a_figure())


def test_an_error_of_a_specification_is_raised_here_and_the_next_figure_drawn() -> None:
    wrong, right = a_figure("wrong", mark={"no": "mark"}), a_figure("right")
    with DrawingProcess() as process:
        process.begin([wrong, right])
        with pytest.raises(ValueError, match="conversion failed"):
            process.svg(wrong)
        assert "<svg" in process._begun["right"].result()


def test_a_process_that_ends_draws_nothing_and_the_page_is_whole() -> None:
    with DrawingProcess() as process:
        drawer = started()
        drawer.kill()
        drawer.wait()
        process.begin([a_figure()])
        assert process._begun["one"].result() == ""
        assert process.svg(a_figure()) == drawing.svg(a_figure())


def test_a_program_whose_reader_was_killed_ends_without_a_word() -> None:
    command = [sys.executable, str(rendering.PROGRAM)]
    piped = subprocess.PIPE
    with subprocess.Popen(command, stdin=piped, stdout=piped, stderr=piped) as process:
        assert process.stdin and process.stdout and process.stderr
        process.stdout.close()
        process.stdin.write(f"{drawing.complete(a_figure())}\n".encode())
        process.stdin.close()
        assert (process.stderr.read(), process.wait()) == (b"", 0)


def test_a_page_is_whole_where_no_process_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    brief = Brief(recorded("plateau"))
    figures = sum(len(section.figures) for section in brief.sections)
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert brief.html().count('role="img"') == figures > 3


SHORT_OF_MEMORY = """
import resource, sys
from pathlib import Path
from kneebench.brief import Brief
from kneebench.brief.drawing import Undrawn
from kneebench.results import load
resource.setrlimit(resource.RLIMIT_AS, (6_000_000 * 1024,) * 2)
brief = Brief(load(sys.argv[1]))
brief.write(Path(sys.argv[2]))
try:
    brief.figures(Path(sys.argv[3]), ("png",))
except Undrawn as error:
    print(error)
"""


def test_a_brief_without_memory_for_figures_is_whole_and_says_how_to_draw_them(
    tmp_path: Path,
) -> None:
    folder, page = unpack("plateau", tmp_path), tmp_path / "x.html"
    words = [sys.executable, "-c", SHORT_OF_MEMORY, folder, page, tmp_path / "figures"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "may have; run `ulimit -v unlimited`, then `kneebench brief" in done.stdout
    text = page.read_text()
    figures = sum(len(section.figures) for section in Brief(recorded("plateau")).sections)
    assert text.count("<p>Not drawn: the engine for drawing needs more") == figures
    assert text.rstrip().endswith("</html>")


def test_an_error_within_the_block_leaves_no_process() -> None:
    with pytest.raises(KeyError), DrawingProcess() as process:
        drawer = started()
        process.begin(a_figure(str(number)) for number in range(50))
        raise KeyError
    assert not drawer.is_running()


def test_the_program_ends_with_its_input() -> None:
    with DrawingProcess() as process:
        drawer = started()
        assert process._process is not None and process._process.stdin is not None
        process._process.stdin.close()
        assert drawer.wait(timeout=20) == 0


def test_sections_are_made_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    brief = Brief(recorded("plateau"))
    first = brief.sections
    brief.write(tmp_path / "page.html")
    assert all(one is other for one, other in zip(first, brief.sections, strict=True))
