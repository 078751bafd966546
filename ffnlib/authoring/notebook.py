"""A notebook as plain data: read, put into canonical form, written byte for byte the same every time."""

import json
import re
from pathlib import Path

KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
CELL_METADATA = ("ffn", "nbgrader", "tags", "editable", "deletable")
NOT_COMPARED_TAGS = ("nbval-skip", "nbval-ignore-output")
NOT_COMPARED_COMMENTS = ("NBVAL_SKIP", "NBVAL_IGNORE_OUTPUT")
STORED_MIMES = ("image/png", "text/html", "text/latex", "text/markdown", "text/plain")


class NotebookError(ValueError):
    """A file that is not a notebook of this course; the text says what it is instead."""


def lesson_files(root):
    """Return the solved lessons of a checkout in order.

    Raises: NotebookError when there is none.
    """
    files = sorted((root / "solutions").glob("[0-9][0-9]_*.ipynb"))
    if not files:
        raise NotebookError(f"{root / 'solutions'}: no lesson NN_name.ipynb is here; take a checkout that holds them")
    return files


def read(path):
    """Return the notebook in `path` as a dictionary whose sources and texts are single strings."""
    path = Path(path)
    try:
        notebook = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as problem:
        raise NotebookError(f"{path}: not a notebook, because it is not JSON ({problem}); restore the file") from None
    if not isinstance(notebook, dict) or notebook.get("nbformat") != 4 or "cells" not in notebook:
        raise NotebookError(f"{path}: not a notebook in format 4; open it in JupyterLab and save it again")
    for cell in notebook["cells"]:
        _join(cell, "source")
        for output in cell.get("outputs", []):
            _join(output, "text")
            for mime in output.get("data", {}):
                if not mime.endswith("json"):
                    _join(output["data"], mime)
    return notebook


def _join(mapping, key):
    if isinstance(mapping.get(key), list):
        mapping[key] = "".join(mapping[key])


def dumps(notebook):
    """Return the bytes-to-be of a notebook: sorted keys, indent 1, one list entry a line, one newline at the end."""
    notebook = json.loads(json.dumps(notebook))
    for cell in notebook["cells"]:
        cell["source"] = cell["source"].splitlines(keepends=True)
        for output in cell.get("outputs", []):
            if "text" in output:
                output["text"] = output["text"].splitlines(keepends=True)
            for mime, value in output.get("data", {}).items():
                if mime.startswith("text/") and isinstance(value, str):
                    output["data"][mime] = value.splitlines(keepends=True)
    return json.dumps(notebook, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def write(path, notebook):
    """Write `notebook` to `path` with LF line ends on every system; an unchanged file keeps its date."""
    text = dumps(notebook).encode("utf-8")
    path = Path(path)
    if not path.exists() or path.read_bytes() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)


def canonical(notebook):
    """Return a copy that keeps what the course means and drops what an editor or a kernel left behind."""
    metadata = {"kernelspec": KERNEL, "language_info": {"name": "python"}}
    if "ffn" in notebook.get("metadata", {}):
        metadata["ffn"] = notebook["metadata"]["ffn"]
    cells = [_canonical_cell(cell) for cell in notebook["cells"]]
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def _canonical_cell(cell):
    kept = {
        "cell_type": cell["cell_type"],
        "metadata": {key: cell["metadata"][key] for key in CELL_METADATA if key in cell.get("metadata", {})},
        "source": cell["source"].rstrip(),
    }
    if "id" in cell:
        kept["id"] = cell["id"]
    if cell["cell_type"] == "code":
        kept["execution_count"] = cell.get("execution_count")
        outputs = cell.get("outputs", [])
        if is_not_compared(kept):  # nobody would notice when they are wrong, so only a failure is kept
            outputs = [output for output in outputs if output["output_type"] == "error"]
        kept["outputs"] = canonical_outputs(outputs, kept["execution_count"])
    return kept


def without_outputs(notebook):
    """Return a canonical copy as it is before it was run."""
    notebook = canonical(notebook)
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell |= {"execution_count": None, "outputs": []}
    return notebook


def canonical_outputs(outputs, count):
    """Return stored outputs with merged streams and, of every picture or object, only `STORED_MIMES`."""
    kept = []
    for output in outputs:
        kind = output["output_type"]
        if kind == "stream" and kept and kept[-1].get("name") == output["name"]:
            kept[-1]["text"] += output["text"]
        elif kind == "stream":
            kept.append({"name": output["name"], "output_type": "stream", "text": output["text"]})
        elif kind == "error":
            kept.append({key: output[key] for key in ("ename", "evalue", "output_type", "traceback")})
        else:
            data = {mime: output["data"][mime] for mime in STORED_MIMES if mime in output["data"]}
            same = {"data": data, "metadata": {}, "output_type": kind}
            kept.append(same | ({"execution_count": count} if kind == "execute_result" else {}))
    return kept


def new_cell(cell_type, cell_id, source="", **ffn):
    """Return a fresh cell that carries its meaning in `metadata.ffn`."""
    cell = {"cell_type": cell_type, "id": cell_id, "metadata": {"ffn": ffn}, "source": source}
    return cell | ({"execution_count": None, "outputs": []} if cell_type == "code" else {})


def new_notebook(lesson, cells):
    """Return a canonical notebook of one lesson."""
    return canonical({"cells": cells, "metadata": {"ffn": {"lesson": lesson}}})


def meaning(cell):
    """Return what the cell says about itself: its `metadata.ffn`, or nothing."""
    return cell.get("metadata", {}).get("ffn", {})


def role(cell):
    """Return the cell's role, or None."""
    return meaning(cell).get("role")


def is_not_compared(cell):
    """Return whether nbval leaves the outputs of a code cell alone."""
    comments = [line.strip("# ") for line in cell["source"].split("\n") if line.lstrip().startswith("#")]
    tags = cell["metadata"].get("tags", [])
    return any(tag in NOT_COMPARED_TAGS for tag in tags) or any(each in NOT_COMPARED_COMMENTS for each in comments)


def exercise_of(cell):
    """Return the id of the exercise the cell belongs to, or None."""
    return meaning(cell).get("exercise")


def title(notebook):
    """Return the text of the first heading of a notebook."""
    for cell in notebook["cells"]:
        heading = re.search(r"^# +(.+)$", cell["source"], re.MULTILINE)
        if cell["cell_type"] == "markdown" and heading:
            return heading.group(1).strip()
    return "untitled"
