"""Runs: resumed ones end as others do, options are checked, any executor serves, and nothing aborts a class."""

import contextlib
import csv
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from ffnlib.__main__ import main, make_parser
from ffnlib.grading.cli import Progress, grade_folder
from ffnlib.grading.examiner import Settings
from ffnlib.grading.journal import NAME, Journal, OtherRun
from tests.environments import environment
from tests.grading import build_submissions as golden

ROOT = Path(__file__).resolve().parents[2]
QUICK = ["right", "wrong", "half", "untouched", "not_json", "library_call", "cell_raises_before", "magics"]


@pytest.fixture
def a_class(hand_in):
    """A folder with forty quick submissions."""
    for number in range(40):
        _, data, _ = golden.KINDS[QUICK[number % len(QUICK)]]
        folder = hand_in(f"s{number:02}/01_formula.ipynb", data)
    for path in folder.rglob("*.ipynb"):
        os.utime(path, (1_700_000_000, 1_700_000_000))
    return folder


def files(out):
    return {
        str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*") if path.is_file() and path.name != NAME
    }


def started(folder, out, *more):
    command = [sys.executable, "-m", "ffnlib", "grade", str(folder), "--out", str(out), *more]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def test_a_run_that_is_killed_again_and_again_ends_with_the_same_files(a_class, tmp_path):
    draw, out, journal = random.Random(3), tmp_path / "killed", tmp_path / "killed" / NAME
    for _ in range(4):
        run = started(a_class, out, "--resume")
        before = journal.stat().st_size if journal.exists() else 0
        wanted = before + draw.randint(1, 6_000)
        while run.poll() is None and not (journal.exists() and journal.stat().st_size > wanted):
            time.sleep(0.01)
        run.send_signal(signal.SIGKILL)
        run.wait()
    assert started(a_class, out, "--resume").wait() == 2
    seed = json.loads(journal.read_text("utf-8").split("\n")[1])["seed"]
    whole = tmp_path / "whole"
    whole.mkdir()
    first_line = {"seed": seed, "limits": {"timeout": 30.0, "memory": 1024, "lesson": None}}
    (whole / NAME).write_text(json.dumps(first_line) + "\n", "utf-8")
    grade_folder(a_class, whole, resume=True)
    assert files(out) == files(whole)
    assert len(json.loads(files(out)["report.json"])["submissions"]) == 40


def descendants(pid):
    """Return the processes below one, as Linux lists them."""
    found, ahead = [], [pid]
    while ahead:
        ahead += (new := started_by(ahead.pop()))
        found += new
    return found


def started_by(pid):
    """Return the processes that one has started; none when it has ended since it was listed."""
    with contextlib.suppress(OSError):
        tasks = list(Path(f"/proc/{pid}/task").glob("*/children"))
        return [int(child) for path in tasks for child in path.read_text().split()]
    return []


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are listed as Linux does")
@pytest.mark.parametrize("moment", ["the libraries load", "answers are called"])
def test_ctrl_c_ends_in_one_sentence_and_leaves_no_process(moment, hand_in, tmp_path):
    for name in ("ann", "ben", "cho", "dan"):
        folder = hand_in(f"{name}.ipynb", golden.KINDS["endless_answer"][1])
    command = [sys.executable, "-m", "ffnlib", "grade", str(folder), "--out", str(tmp_path / "out"), "--jobs", "2"]
    run = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True, start_new_session=True)
    processes = 2 if moment == "the libraries load" else 3  # this one's server, then workers of the server
    while run.poll() is None and len(descendants(run.pid)) < processes - 1:
        time.sleep(0.01)
    time.sleep(0.05 if processes == 2 else 1)
    children = descendants(run.pid)
    os.killpg(run.pid, signal.SIGINT)  # as a terminal does
    _, said = run.communicate(timeout=60)
    assert children and run.returncode == 130
    assert said.strip() == "stopped; what is done is kept: the same command with --resume goes on from there"
    until = time.monotonic() + 60  # the system takes a moment to clear away what has ended
    while time.monotonic() < until and any(Path(f"/proc/{child}").exists() for child in children):
        time.sleep(0.05)
    assert not [child for child in children if Path(f"/proc/{child}").exists()]


def test_what_is_done_is_not_done_again_unless_it_was_changed(hand_in, tmp_path, capsys):
    hand_in("ann.ipynb")
    folder = hand_in("ben.ipynb")
    grade_folder(folder, tmp_path / "out")
    hand_in("ben.ipynb", golden.KINDS["wrong"][1])
    capsys.readouterr()
    rows = grade_folder(folder, tmp_path / "out", resume=True)
    assert "1 of 2 are done already" in capsys.readouterr().err
    assert {row["student"]: row["score"] for row in rows} == {"ann": 4.0, "ben": 0.0}


def test_a_journal_with_a_torn_line_is_read(tmp_path):
    limits = {"timeout": 30.0}
    with Journal(tmp_path / NAME, limits, resume=False) as journal:
        pass
    with open(tmp_path / NAME, "ab") as stream:
        stream.write(b'{"key": "abc", "ro')
    with Journal(tmp_path / NAME, limits, resume=True) as again:
        assert again.seed == journal.seed and again.rows == {}


def test_a_resumed_run_has_to_share_the_options(tmp_path):
    with Journal(tmp_path / NAME, {"timeout": 30.0}, resume=False):
        pass
    with pytest.raises(OtherRun, match="give the same options"):
        Journal(tmp_path / NAME, {"timeout": 5.0}, resume=True)


@pytest.mark.skipif(os.name != "posix", reason="the lock is that of POSIX")
@pytest.mark.parametrize("resume", [True, False])
def test_two_runs_do_not_write_into_one_folder(resume, hand_in, tmp_path, capsys):
    folder, out = hand_in("ann.ipynb"), tmp_path / "out"
    with Journal(out / NAME, {}, resume=False):
        before = (out / NAME).read_bytes()
        assert main(["grade", str(folder), "--out", str(out), *["--resume"] * resume]) == 3
        assert "another grading is writing into" in capsys.readouterr().err
        assert (out / NAME).read_bytes() == before
    assert main(["grade", str(folder), "--out", str(out)]) == 0


def test_a_journal_that_others_could_read_is_closed_to_them(tmp_path):
    (tmp_path / NAME).touch(0o644)
    with Journal(tmp_path / NAME, {}, resume=False):
        assert os.name != "posix" or (tmp_path / NAME).stat().st_mode & 0o077 == 0


def test_a_full_disk_ends_a_run_with_the_file_and_the_way_on(hand_in, tmp_path):
    folder, out = hand_in("ann.ipynb"), tmp_path / "out"
    for number in range(30):
        hand_in(f"s{number:02}.ipynb", golden.KINDS["wrong"][1])
    code = (
        "import resource, sys; from ffnlib.__main__ import main\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (9_000, -1)); sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", code, "grade", str(folder), "--out", str(out)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    said = run.stderr.splitlines()[-1]
    assert (
        run.returncode == 3
        and NAME in said
        and said.endswith("once that is mended, the same command with --resume goes on from there")
    )
    rows = grade_folder(folder, out, resume=True)
    assert sum(row["score"] for row in rows) == 4.0 and len(rows) == 31


def test_a_terminal_that_listens_no_more_stops_no_grading(hand_in, tmp_path):
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "ffnlib", "grade", str(hand_in("ann.ipynb")), "--out", str(tmp_path / "out")]
    with open(write, "wb") as closed:
        assert subprocess.run(command, cwd=ROOT, stdout=closed, stderr=closed).returncode == 0
    assert (tmp_path / "out" / "class.html").exists()


def test_a_name_that_is_empty_is_no_folder(hand_in, tmp_path, capsys):
    for submissions, out in (("", str(tmp_path / "out")), (str(hand_in("ann.ipynb")), "")):
        assert main(["grade", submissions, "--out", out]) == 3
        assert "and it is empty" in capsys.readouterr().err


def test_every_run_has_a_seed_of_its_own_that_others_cannot_read(tmp_path):
    journals = [Journal(tmp_path / str(n) / NAME, {}, resume=False) for n in range(5)]
    for journal in journals:
        journal.file.close()
    seeds = {journal.seed for journal in journals}
    assert len(seeds) == 5
    if os.name == "posix":
        assert (tmp_path / "0" / NAME).stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(("kinds", "status"), [(["right", "wrong"], 0), (["right", "not_json"], 2), (["no_cells"], 2)])
def test_the_exit_status_says_whether_a_human_is_needed(kinds, status, tmp_path):
    (tmp_path / "in").mkdir()
    for kind in kinds:
        (tmp_path / "in" / f"{kind}.ipynb").write_bytes(golden.KINDS[kind][1])
    assert main(["grade", str(tmp_path / "in"), "--out", str(tmp_path / "out")]) == status
    assert (tmp_path / "out" / "class.html").exists()


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--lesson", "01_formla"], "no such lesson"),
        (["--timeout", "0"], "--timeout 0.0"),
        (["--memory", "1"], "--memory 1"),
        (["--jobs", "0"], "--jobs 0"),
    ],
)
def test_options_that_cannot_be_are_refused(more, says, hand_in, tmp_path, capsys):
    assert main(["grade", str(hand_in("ann.ipynb")), "--out", str(tmp_path / "out"), *more]) == 3
    assert says in capsys.readouterr().err


def test_what_cannot_be_graded_is_said_and_leaves_an_earlier_run_alone(hand_in, tmp_path, capsys):
    folder, out = hand_in("ann.ipynb"), tmp_path / "out"
    (tmp_path / "empty").mkdir()
    assert main(["grade", str(folder), "--out", str(out)]) == 0
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    for submissions, to, says in (
        (tmp_path / "empty", out, "nothing is in it"),
        (folder, folder, "cannot go among the submissions"),
        (folder, folder / "ann.ipynb", "this is a file"),
    ):
        assert main(["grade", str(submissions), "--out", str(to)]) == 3
        assert says in capsys.readouterr().err
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before


def test_a_folder_that_is_not_there_is_said(tmp_path, capsys):
    assert main(["grade", str(tmp_path / "none"), "--out", str(tmp_path / "out")]) == 3
    assert "there is no such folder" in capsys.readouterr().err


def test_one_lesson_of_many(hand_in, grade):
    hand_in("ann/01_formula.ipynb")
    hand_in("ann/broken.ipynb", b"")
    made = [golden.cell("def gelu(x):\n    return x", "answer", "gelu")]
    folder = hand_in("ann/05_activations.ipynb", golden.notebook(made, metadata={"ffn": {"lesson": "05_activations"}}))
    rows = {row["file"]: row for row in grade(folder, lesson="01_formula")}
    assert {file: (row["lesson"], row["status"], row["score"]) for file, row in rows.items()} == {
        "ann/01_formula.ipynb": ("01_formula", "graded", 4.0),
        "ann/05_activations.ipynb": (None, "other-lesson", None),
        "ann/broken.ipynb": (None, "needs-human", None),
    }


def test_who_handed_in_another_lesson_only_is_not_lost(hand_in, tmp_path):
    hand_in("ann.ipynb")
    made = [golden.cell("def gelu(x):\n    return x", "answer", "gelu")]
    hand_in("ben/05_activations.ipynb", golden.notebook(made, metadata={"ffn": {"lesson": "05_activations"}}))
    made = [golden.cell("def swiglu(x):\n    return x", "answer", "swiglu")]
    folder = hand_in("ben/06_gated_units.ipynb", golden.notebook(made))
    os.utime(folder / "ben" / "06_gated_units.ipynb", (1, 1))
    assert main(["grade", str(folder), "--out", str(tmp_path / "out"), "--lesson", "01_formula"]) == 2
    with open(tmp_path / "out" / "grades.csv", encoding="utf-8") as stream:
        scores = {row["student_id"]: (row["assignment"], row["score"]) for row in csv.DictReader(stream)}
    assert scores == {"ann": ("01_formula", "4.0"), "ben": ("01_formula", "")}
    page = (tmp_path / "out" / "class.html").read_text("utf-8")
    assert "it is the lesson 05_activations" in page and "06_gated_units" not in page  # the newest is enough
    assert "3 submissions: 1 graded, 1 for you to look at" in page and "1 of another lesson" in page


def test_every_option_of_grade_says_what_it_is_and_what_it_is_without():
    parser = make_parser("grade")._subparsers._group_actions[0].choices["grade"]
    assert (parser.get_default("timeout"), parser.get_default("memory")) == (Settings.timeout, Settings.memory)
    for action in parser._actions:
        assert action.help
        if not action.required and action.dest != "help":
            assert "(default: " in action.help
        if action.default and action.dest != "help":
            assert f"(default: {action.default:g})" in action.help


def test_any_executor_serves(a_class, tmp_path):
    # a process of a pool started afresh, as on another machine: everything it needs travels
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as executor:
        rows = grade_folder(a_class, tmp_path / "out", executor=executor)
    expected = [golden.KINDS[QUICK[n % 8]][2]["score"] for n in range(40)]
    assert Counter(row["score"] for row in rows) == Counter(expected)


def test_a_dask_cluster_serves(a_class, tmp_path):
    python = environment("dask", "distributed>=2024.5", "numpy>=2", "platformdirs", "ipython")
    code = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from distributed import LocalCluster
from ffnlib.__main__ import main, make_parser
from ffnlib.grading.cli import grade_folder
from pathlib import Path
if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        rows = grade_folder(Path({str(a_class)!r}), Path({str(tmp_path / "out")!r}), dask=cluster.scheduler_address)
    print(sum(row["score"] or 0 for row in rows), len(rows))
"""
    script = tmp_path / "cluster.py"
    script.write_text(code, "utf-8")
    environment_variables = {**os.environ, "PYTHONPATH": str(ROOT)}
    run = subprocess.run([python, script], capture_output=True, text=True, timeout=300, env=environment_variables)
    expected = sum(golden.KINDS[QUICK[n % 8]][2]["score"] or 0 for n in range(40))
    assert run.stdout.split() == [str(expected), "40"], run.stderr[-2000:]


def test_dask_that_is_not_installed_is_said(hand_in, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert main(["grade", str(hand_in("ann.ipynb")), "--out", str(tmp_path / "out"), "--dask", "tcp://x:1"]) == 3
    assert "ffnlib[dask]" in capsys.readouterr().err


class Terminal:
    def __init__(self, terminal):
        self.text, self.terminal = "", terminal

    def isatty(self):
        return self.terminal

    def write(self, text):
        self.text += text

    def flush(self):
        pass


def test_progress_is_a_bar_on_a_terminal_and_lines_elsewhere():
    for terminal in (True, False):
        stream = Terminal(terminal)
        progress = Progress(20, 0, stream)
        for _ in range(20):
            progress.show()
        assert ("\r" in stream.text) == terminal
        assert "20/20" in stream.text or "20 of 20" in stream.text
        assert stream.text.count("\n") <= 10


@pytest.mark.parametrize(("kind", "status"), [("right", 0), ("wrong", 2), ("not_json", 2)])
def test_checking_one_notebook_prints_every_verdict(kind, status, tmp_path, capsys):
    path = tmp_path / "mine.ipynb"
    path.write_bytes(golden.KINDS[kind][1])
    assert main(["check", str(path)]) == status
    printed = capsys.readouterr().out
    if kind != "not_json":
        assert all(f"{name} - " in printed for name in golden.IDS)
    if kind == "wrong":
        assert "called" in printed and "this is exactly what comes out when" in printed


@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
def test_a_letter_that_the_output_lacks_is_spelt_out(encoding, tmp_path):
    path = tmp_path / "mine.ipynb"
    path.write_bytes(golden.notebook(golden.cells(before=["ü = 1 / 0"])))
    environment_variables = {**os.environ, "PYTHONIOENCODING": encoding}
    command = [sys.executable, "-m", "ffnlib", "check", str(path)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, env=environment_variables)
    assert run.returncode == 0 and {"ascii": b"\\xfc = 1 / 0", "utf-8": "ü = 1 / 0".encode()}[encoding] in run.stdout


@pytest.mark.skipif(os.name != "posix", reason="signals and pipes as POSIX has them")
def test_a_pipe_that_closes_early_ends_a_command_without_a_traceback(tmp_path):
    read, write = os.pipe()
    os.close(read)
    path = tmp_path / "mine.ipynb"
    path.write_bytes(golden.KINDS["right"][1])
    with open(write, "wb") as closed:
        command = [sys.executable, "-m", "ffnlib", "check", str(path)]
        run = subprocess.run(command, cwd=ROOT, stdout=closed, stderr=subprocess.PIPE)
    assert (run.returncode, run.stderr) == (141, b"")


def test_nothing_slow_is_imported_before_ctrl_c_is_understood():
    code = "import sys, ffnlib.__main__; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-S", "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert not {"argparse", "subprocess", "re", "numpy"}.intersection(run.stdout.split())


def test_checking_a_file_that_is_not_there_is_said(tmp_path, capsys):
    assert main(["check", str(tmp_path / "none.ipynb")]) == 3
    assert "cannot be read" in capsys.readouterr().err


def test_a_library_that_is_missing_here_needs_a_human_and_aborts_nothing(hand_in, grade, monkeypatch):
    from ffnlib.grading import workshop

    find = workshop.importlib.util.find_spec
    monkeypatch.setattr(workshop.importlib.util, "find_spec", lambda name: None if name == "torch" else find(name))
    hand_in("ann.ipynb")
    folder = hand_in("ben.ipynb", golden.KINDS["torch_answer"][1])
    ann, ben = grade(folder)
    assert (ann["score"], ann["status"]) == (4.0, "graded")
    assert (ben["score"], ben["status"], ben["max_score"]) == (None, "needs-human", 4.0)
    assert "it needs torch" in ben["notes"][0]


def test_a_server_that_was_killed_is_replaced(hand_in, tmp_path):
    from ffnlib.grading.workshop import Workshop

    workshop = Workshop(256, 5.0)
    try:
        workshop.worker().end()
        for server in workshop.servers.values():
            if server.process is not None:
                server.process.kill()
                server.process.wait()
        workshop.worker().end()
    finally:
        workshop.close()


def test_a_mistake_of_the_graders_costs_nobody_points_and_aborts_nothing(hand_in, grade, monkeypatch, tmp_path):
    from ffnlib.grading import examiner, interview

    judged = examiner.judge

    def failing(exercise, probes, evidence):
        return 1 / 0 if exercise.id == "relu" else judged(exercise, probes, evidence)

    monkeypatch.setattr(examiner, "judge", failing)
    (row,) = grade(hand_in("ann.ipynb"))
    assert (row["status"], row["score"]) == ("needs-human", None)
    assert row["exercises"][0]["status"] == "broken" and "our mistake" in row["exercises"][0]["message"]
    assert [each["points"] for each in row["exercises"]] == [None, 1.0, 1.0, 1.0]
    assert "not judged, which is our mistake: relu" in row["notes"]
    assert "give those points by hand" in (tmp_path / "out" / "class.html").read_text("utf-8")
    feedback = (tmp_path / "out" / "feedback" / "ann" / "01_formula.html").read_text("utf-8")
    assert "relu: could not be judged, ? of 1" in feedback and "3 of 4 points so far" in feedback
    monkeypatch.setattr(interview, "parts_of", lambda *_: 1 / 0)
    (row,) = grade(hand_in("ann.ipynb"))
    assert (row["status"], row["score"], row["max_score"]) == ("needs-human", None, 4.0)
    assert "our mistake" in row["notes"][0]
