"""Where untrusted code runs: a submission's cells, and its answers when the judge asks them.

One process a submission. It holds nothing worth stealing: no probe before it is asked, no oracle, no verdict, no other
submission. What it sends is taken by the judge as bytes from a stranger, so nothing here has to be protected from the
code it runs; the layers of `sandbox` protect everything else.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import inspect
import os
import random
import re
import sys
import types

from ffnlib.examination import evidence
from ffnlib.grading.worker import frames, sandbox, stand_ins

MAGIC = re.compile(r"^\s*[%!?]|=\s*[%!]|\?\s*$", re.MULTILINE)
DEFINING = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)


def work(channel, memory: int, seconds: float, rules: tuple[int, str] = (-1, "")) -> None:
    """Enter the sandbox, run the cells that arrive, then reply to questions until the judge hangs up."""
    kept = [channel.fileno()] + ([rules[0]] if rules[0] >= 0 else [])
    sandbox.close_descriptors(*kept)
    prepare_interpreter()
    frames.send(channel, ("layers", tuple(sandbox.enter(memory, seconds, rules))))
    cells, watched = frames.receive(channel)
    bindings, outdated = run_cells(channel, cells, watched)
    frames.send(channel, ("loaded", outdated))
    answer_questions(channel, bindings)


def prepare_interpreter() -> None:
    """Give every submission the same start: no environment, nothing to read or see, the same seeds."""
    os.environ.clear()
    os.environ["MPLBACKEND"] = "Agg"
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.sep  # optimisers make it when it is not there, and no folder can be made
    sys.stdin = os.fdopen(0)  # nothing: input() meets the end of the file
    sys.stdout = sys.stderr = sys.__stdout__ = sys.__stderr__ = evidence.Silence()
    sys.argv = [""]
    stand_ins.install()
    random.seed(0)
    sys.modules["numpy"].random.seed(0)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(0)


# ---------------------------------------------------------------- cells


def run_cells(channel, cells, watched: tuple[str, ...]) -> tuple[dict, tuple]:
    """Run cells in one namespace; return {(name, cell number): object} for every time a watched name was bound.

    Beside it come those of the keys whose object uses names that mean something else by the time all cells have run.
    """
    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    namespace = main.__dict__
    shell = Shell(namespace)
    namespace["get_ipython"] = lambda: shell
    namespace["display"] = stand_ins.NOTHING
    bindings, used = {}, {}
    for number, source in cells:
        before = {name: namespace.get(name, bindings) for name in watched}  # bindings itself: no cell can bind that
        raised = run_cell(source, f"<cell {number}>", namespace)
        bound = [name for name in watched if namespace.get(name, bindings) is not before[name]]
        bound = [name for name in bound if name in namespace]
        for name in bound:
            bindings[name, number] = namespace[name]
            used[name, number] = names_used(namespace[name], namespace)
        frames.send(channel, ("ran", number, raised, tuple(bound)))
    return bindings, tuple([key for key in used if used[key] != names_used(bindings[key], namespace)])


def names_used(value, namespace: dict) -> dict[str, int]:
    """Return the identities of the names that a function of the notebook uses, itself or through others of it."""
    found, ahead = {}, [value]
    while ahead:
        value = ahead.pop()
        codes = [value.__code__] if type(value) is types.FunctionType else []
        while codes:
            code = codes.pop()
            codes += [constant for constant in code.co_consts if type(constant) is types.CodeType]
            for name in code.co_names:
                if name in namespace and name not in found:
                    found[name] = id(namespace[name])
                    ahead.append(namespace[name])
    return found


def run_cell(source: str, filename: str, namespace: dict):
    """Run one cell and return how it failed, described, or None.

    What a failing cell defines after the point of failure is defined all the same, and so are the names that it would
    have been the first to assign: a cell can fail here for what works where it was written.
    """
    statements: list = []
    try:
        tree = parsed(source, filename)
        statements = tree.body
        run(tree, filename, namespace)
    except BaseException as error:
        failed = failing_line(error, filename)
        for statement in statements:
            if statement.lineno > failed and (isinstance(statement, DEFINING) or names_anew(statement, namespace)):
                rescue(statement, filename, namespace)
        return evidence.describe(error)
    return None


def run(tree: ast.Module, filename: str, namespace: dict) -> None:
    """Run the tree of a cell; as in Jupyter, `await` may stand outside a function."""
    code = compile(tree, filename, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    if not code.co_flags & inspect.CO_COROUTINE:
        exec(code, namespace)
        return
    import asyncio

    async def cell():
        await eval(code, namespace)

    asyncio.run(cell())


def names_anew(statement: ast.stmt, namespace: dict) -> bool:
    """Return whether a statement does nothing but assign to names that do not exist yet."""
    if not isinstance(statement, (ast.Assign, ast.AnnAssign)):
        return False
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    names = [part for target in targets for part in (target.elts if isinstance(target, ast.Tuple) else [target])]
    return not [name for name in names if not isinstance(name, ast.Name) or name.id in namespace]


def failing_line(error: BaseException, filename: str) -> int:
    """Return the line of the cell at which it failed, 0 when it never started."""
    entry = error.__traceback__
    while entry is not None:
        if entry.tb_frame.f_code.co_filename == filename:
            return entry.tb_lineno
        entry = entry.tb_next
    return 0


def rescue(statement: ast.stmt, filename: str, namespace: dict) -> None:
    """Run a definition that stands behind a failure, and let it fail quietly."""
    try:
        exec(compile(ast.Module([statement], []), filename, "exec", dont_inherit=True), namespace)
    except BaseException:
        return


class Shell:
    """What `get_ipython()` returns: commands that time or capture code run that code, all others do nothing."""

    RUNNING = ("time", "timeit", "capture", "prun", "memit", "mprun", "lprun")

    def __init__(self, namespace: dict):
        self.namespace = namespace

    def run_line_magic(self, name, line, *_more):
        """Run the code on the line of a `%time`."""
        if name == "time":
            exec(compile(line, f"<%{name}>", "exec", dont_inherit=True), self.namespace)
        return stand_ins.NOTHING

    def run_cell_magic(self, name, _line, body):
        """Run the cell under a `%%time` or `%%capture`."""
        if name in self.RUNNING:
            exec(compile(body, f"<%%{name}>", "exec", dont_inherit=True), self.namespace)
        return stand_ins.NOTHING

    def __getattr__(self, _name):
        return stand_ins.NOTHING


def parsed(source: str, filename: str) -> ast.Module:
    """Return the tree of a cell; IPython's commands become calls that do nothing."""
    try:
        return ast.parse(source, filename)
    except SyntaxError:
        if not MAGIC.search(source):
            raise
    # the stand-in for IPython is set aside: here the real transformer is wanted, and it shows nothing
    finders, sys.meta_path = sys.meta_path, [f for f in sys.meta_path if type(f) is not stand_ins.SilentFinder]
    silent = {name: sys.modules.pop(name) for name in list(sys.modules) if name.split(".")[0] == "IPython"}
    try:
        transformer = importlib.import_module("IPython.core.inputtransformer2")
        return ast.parse(transformer.TransformerManager().transform_cell(source), filename)
    finally:
        for name in [name for name in sys.modules if name.split(".")[0] == "IPython"]:
            del sys.modules[name]
        sys.modules.update(silent)
        sys.meta_path = finders


# ---------------------------------------------------------------- questions


def answer_questions(channel, bindings: dict) -> None:
    """Reply to the judge's questions until it hangs up."""
    respond, asked = None, None
    while True:
        try:
            name, number, question = frames.receive(channel)
        except frames.Ended:
            return
        if asked != (name, number) or question.action == "look":
            asked = (name, number)
            respond = evidence.respondent(bindings[asked])
        question = with_functions(channel, question)
        try:
            reply = respond(question)
        except BaseException as error:  # a KeyboardInterrupt that the answer itself has raised
            reply = question.action != "watch" and evidence.Observation(raised=evidence.describe(error))
        frames.send(channel, ("reply", reply))


def with_functions(channel, question):
    """Return the question with every handle replaced by the function it stands for, which asks the judge."""
    args = tuple([function_of(channel, arg) if type(arg) is evidence.Handle else arg for arg in question.args])
    return evidence.Question(question.action, question.name, args, question.again, question.weights, question.inputs)


def function_of(channel, handle) -> evidence.Remote:
    """Return a function that sends its arguments to the judge and hands back what the judge computes."""

    def ask_the_judge(*args):
        frames.send(channel, ("given", handle.number, args))
        kind, value = frames.receive(channel)
        if kind == "gave":
            return value
        name, text = value
        raised = getattr(builtins, name, RuntimeError)
        raise (raised if isinstance(raised, type) and issubclass(raised, Exception) else RuntimeError)(text)

    return evidence.Remote(ask_the_judge, handle.calls)


def main() -> None:
    """Work over a connection to the judge, where workers cannot be forked."""
    import socket

    port, memory, seconds = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    token = sys.stdin.buffer.read(32)
    channel = socket.create_connection(("127.0.0.1", port))
    channel.sendall(token)
    sys.modules["numpy"].random.seed(0)  # loaded now, while it can be read

    work(channel, memory, seconds)
