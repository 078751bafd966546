"""Which names a cell binds for the cells after it, and which it takes from the cells before it."""

import ast
import builtins
import dis
from types import CodeType

LOADS = ("LOAD_NAME", "LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS")


def bound(source):
    """Return {name: line} of every name that running `source` leaves behind in the notebook.

    Raises: SyntaxError when the cell is not plain Python (a `%magic` or a `!command`, for instance).
    """
    names = {}
    _collect(ast.parse(source), names, inside=False)
    return names


def _collect(node, names, inside):
    """Add what `node` binds at notebook level; `inside` a function or class only `global` names count."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and not inside:
        names.setdefault(node.name, node.lineno)
    if isinstance(node, ast.Global):
        for name in node.names:
            names.setdefault(name, node.lineno)
    if not inside:
        for name in _names_bound_by(node):
            names.setdefault(name, node.lineno)
    opens_scope = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda))
    # The target of a comprehension stays inside it; a walrus in its other parts does not.
    children = [node.iter, *node.ifs] if isinstance(node, ast.comprehension) else ast.iter_child_nodes(node)
    for child in children:
        _collect(child, names, inside or opens_scope)


def _names_bound_by(node):
    if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
        return [node.id]
    if isinstance(node, ast.alias):
        return [(node.asname or node.name).split(".")[0]]
    if isinstance(node, ast.ExceptHandler) and node.name:
        return [node.name]
    if isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name:
        return [node.name]
    if isinstance(node, ast.MatchMapping) and node.rest:
        return [node.rest]
    return []


def used(source):
    """Return the names that `source` takes from other cells, builtins left out."""
    # Bytecode rather than the symbol table, which since Python 3.12 lists a comprehension's own names as well.
    names, programs = set(), [compile(source, "<cell>", "exec")]
    while programs:
        program = programs.pop()
        programs += [constant for constant in program.co_consts if isinstance(constant, CodeType)]
        steps = list(dis.get_instructions(program))
        stored = {step.argval for step in steps if step.opname == "STORE_NAME"}
        names |= {step.argval for step in steps if step.opname in LOADS} - stored
    return names - set(dir(builtins)) - set(bound(source))
