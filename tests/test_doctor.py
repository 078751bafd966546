"""The doctor says what works, and never falls over."""

import socket

import pytest

from ffnlib import doctor


def test_everything_works_where_the_tests_run(capsys):
    status = doctor.main(None)
    told = capsys.readouterr().out
    assert status == 0, told
    assert all(line.startswith("yes ") for line in told.splitlines()[: len(doctor.CHECKS)])


def test_a_progress_file_that_cannot_be_written_is_a_no_with_advice(monkeypatch, tmp_path, capsys):
    (tmp_path / "file").touch()
    monkeypatch.setenv("FFNLIB_PROGRESS", str(tmp_path / "file" / "progress.jsonl"))
    monkeypatch.setattr(doctor, "CHECKS", {"progress": doctor.check_progress})
    assert doctor.main(None) == 1
    assert "no   progress" in capsys.readouterr().out


def test_looking_at_progress_leaves_nothing_behind(progress_file):
    doctor.check_progress()
    assert not progress_file.exists()
    progress_file.write_text("{}\n")
    doctor.check_progress()
    assert progress_file.read_text() == "{}\n"


def test_a_check_that_breaks_is_a_no_not_a_traceback(capsys):
    assert not doctor.examine("thing", lambda: 1 / 0)
    assert capsys.readouterr().out == "no   thing           ZeroDivisionError: division by zero\n"


def test_numbers_that_disagree_are_noticed(monkeypatch):
    import torch

    monkeypatch.setattr(torch, "relu", lambda x: torch.clamp(x, min=1e-6))
    with pytest.raises(doctor.Unwell, match="do not trust verdicts here"):
        doctor.check_float64()


def test_missing_halves_of_the_widgets_are_named(monkeypatch, tmp_path):
    monkeypatch.setattr("sys.prefix", str(tmp_path))
    with pytest.raises(doctor.Unwell, match="JupyterLab lacks anywidget and @jupyter-widgets"):
        doctor.check_widgets()


def test_with_the_network_closed_nothing_connects():
    with socket.create_server(("127.0.0.1", 0)) as server:
        with doctor.no_network(), pytest.raises(doctor.Unwell, match="tried to reach the network"):
            socket.create_connection(server.getsockname())
        socket.create_connection(server.getsockname()).close()
