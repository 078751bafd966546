"""Which names a cell binds for the cells after it, and which it takes from the cells before it."""

import ast
import builtins
import symtable


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
    names = set()
    tables = [symtable.symtable(source, "<cell>", "exec")]
    while tables:
        table = tables.pop()
        tables += table.get_children()
        at_notebook_level = table.get_type() == "module"
        names |= {
            symbol.get_name()
            for symbol in table.get_symbols()
            if symbol.is_referenced() and (at_notebook_level or symbol.is_global())
        }
    return names - set(dir(builtins)) - set(bound(source))
