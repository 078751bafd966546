"""Wrong programs nobody listed: small edits of the oracle's own source, and of the listed wrong programs.

`tiers(exercise)` yields groups of misconceptions, simplest first: one edit, then an edit on top of a listed slip. For
counts the edits are those of the exercise's grammar: a term left out or counted twice, another input, another factor.
"""

from __future__ import annotations

import ast
import copy
import functools
import inspect
import itertools
import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ffnlib.examination.exercise import Exercise, Grammar, Misconception

OTHER_OPERATORS = {
    ast.Add: (ast.Sub, ast.Mult),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Add, ast.Div, ast.MatMult),
    ast.Div: (ast.Mult, ast.FloorDiv),
    ast.FloorDiv: (ast.Div,),
    ast.MatMult: (ast.Mult,),
    ast.Pow: (ast.Mult,),
}
OTHER_COMPARISONS = {
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
}
OTHER_NAMES = {
    "maximum": ("minimum",),
    "minimum": ("maximum",),
    "max": ("min", "sum", "mean"),
    "min": ("max",),
    "sum": ("mean", "max", "prod"),
    "mean": ("sum", "max", "median"),
    "var": ("std", "mean"),
    "std": ("var",),
    "ceil": ("floor", "rint"),
    "floor": ("ceil", "rint"),
    "argmax": ("argmin",),
    "argmin": ("argmax",),
    "exp": ("expm1", "log"),
    "tanh": ("sinh", "arctan"),
    "any": ("all",),
    "all": ("any",),
}


def tiers(exercise: Exercise) -> Iterator[Iterator[Misconception]]:
    """Yield groups of generated misconceptions, those with the fewest edits first."""
    if exercise.grammar is not None:
        yield from grammar_tiers(exercise.grammar, exercise.parameters())
    ways = (exercise.oracle, *exercise.variants)
    yield (_misconception(edit) for way in ways for edit in single_edits(way))
    yield _on_top(exercise)
    if exercise.grammar is None:  # a grammar's own pairs are those that people make
        yield _pairs(exercise)


# ---------------------------------------------------------------- edits of a program's source


def single_edits(program) -> tuple:
    """Return `(sentence, changed program)` for every small edit of a program's source; () when it has none."""
    return _single_edits(program)


@functools.lru_cache(maxsize=512)
def _single_edits(program) -> tuple:
    tree = source_tree(program)
    if tree is None:
        return ()
    edits = []
    for sentence, changed in _changed_trees(copy.deepcopy(tree)):
        compiled = _compiled(changed, program)
        if compiled is not None:
            edits.append((sentence, compiled))
    return tuple(edits)


def source_tree(program) -> ast.FunctionDef | ast.Lambda | None:
    """Return the syntax tree of a function or lambda, or None when its source cannot be found."""
    try:
        source = textwrap.dedent(inspect.getsource(program))
    except (OSError, TypeError):
        return None
    try:
        module = ast.parse(source)
    except SyntaxError:
        return _lambda_tree(program)
    node = module.body[0]
    if isinstance(node, ast.FunctionDef):
        return node
    return _lambda_tree(program)


@functools.lru_cache(maxsize=64)
def _lambdas(filename: str) -> dict:
    with open(filename, encoding="utf-8") as file:
        module = ast.parse(file.read())
    found: dict = {}
    for node in ast.walk(module):
        if isinstance(node, ast.Lambda):
            found.setdefault((node.lineno, tuple(a.arg for a in node.args.args)), node)
    return found


def _lambda_tree(program) -> ast.Lambda | None:
    code = program.__code__
    names = tuple(code.co_varnames[: code.co_argcount])
    try:
        return _lambdas(code.co_filename).get((code.co_firstlineno, names))
    except (OSError, SyntaxError):
        return None


def _changed_trees(tree) -> Iterator[tuple]:
    """Yield `(sentence, tree)` with one place of the tree changed; the change is undone before the next one."""
    parameters = [argument.arg for argument in tree.args.args]
    for place, node in _places(tree):
        for sentence, replacement in _named_replacements(place, node, parameters):
            _put(place, ast.fix_missing_locations(ast.copy_location(replacement, node)))
            try:
                yield sentence, tree
            finally:
                _put(place, node)


def _named_replacements(place: tuple, node, parameters: list[str]) -> Iterator[tuple]:
    """Yield `(sentence, replacement)` for what could stand in a place by mistake."""
    whole = isinstance(node, ast.Constant) and isinstance(place[0], (ast.expr, ast.keyword))
    before = shown(place[0] if whole else node)
    for replacement in _replacements(node, parameters):
        _put(place, replacement)
        after = shown(place[0] if whole else replacement)  # a bare number would say nothing
        _put(place, node)
        if before != after:
            yield f"`{after}` stands where `{before}` belongs", replacement
    if isinstance(place[0], (ast.Return, ast.Lambda)):
        for name in parameters:
            yield f"{name} is added to the result", ast.BinOp(node, ast.Add(), ast.Name(name, ast.Load()))
            yield f"{name} is subtracted from the result", ast.BinOp(node, ast.Sub(), ast.Name(name, ast.Load()))


def shown(node) -> str:
    """Return an expression as a message shows it: a name that is private to this course without its underscore."""
    return re.sub(r"\b_(?=[a-z])", "", ast.unparse(node))


def _places(tree) -> list[tuple]:
    """Return `(place, expression)` for every expression of a body; a place is `(parent, field, position or None)`."""
    if isinstance(tree, ast.Lambda):
        return [((tree, "body", None), tree.body), *_places_below(tree.body)]
    return [found for statement in tree.body for found in _places_below(statement)]


def _places_below(root) -> list[tuple]:
    found = []
    for parent in ast.walk(root):
        for field, value in ast.iter_fields(parent):
            children = list(enumerate(value)) if isinstance(value, list) else [(None, value)]
            found += [((parent, field, i), child) for i, child in children if isinstance(child, ast.expr)]
    return found


def _put(place: tuple, node) -> None:
    """Put an expression in a place of a tree."""
    parent, field, position = place
    if position is None:
        setattr(parent, field, node)
    else:
        getattr(parent, field)[position] = node


def _replacements(node, parameters: list[str]) -> Iterator:
    """Yield what could stand in the place of an expression by mistake."""
    if isinstance(node, ast.BinOp):
        yield from _for_operation(node)
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        for other in OTHER_COMPARISONS.get(type(node.ops[0]), ()):
            yield ast.Compare(node.left, [other()], node.comparators)
    elif isinstance(node, ast.Call):
        yield from _for_call(node)
    elif isinstance(node, ast.Constant):
        yield from _for_constant(node)
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in parameters:
        yield from (ast.Name(other, ast.Load()) for other in parameters if other != node.id)
        yield ast.Attribute(node, "T", ast.Load())
        yield ast.UnaryOp(ast.USub(), node)
    elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
        if node.attr == "T":
            yield node.value
        for other in OTHER_NAMES.get(node.attr, ()):
            yield ast.Attribute(node.value, other, ast.Load())
    elif isinstance(node, ast.UnaryOp):
        yield node.operand
    elif isinstance(node, ast.IfExp):
        yield node.body
        yield node.orelse
    if _is_quantity(node, parameters):
        yield ast.BinOp(ast.Constant(2), ast.Mult(), node)
        yield ast.BinOp(node, ast.Div(), ast.Constant(2))
        yield ast.BinOp(node, ast.Pow(), ast.Constant(2))


def _is_quantity(node, parameters: list[str]) -> bool:
    """Return whether an expression is a parameter or computed from some, so that it can be scaled by mistake."""
    if isinstance(node, ast.Name):
        return isinstance(node.ctx, ast.Load) and node.id in parameters
    return isinstance(node, (ast.BinOp, ast.Call))


def _for_operation(node: ast.BinOp) -> Iterator:
    for other in OTHER_OPERATORS.get(type(node.op), ()):
        yield ast.BinOp(node.left, other(), node.right)
    yield node.left
    yield node.right
    if isinstance(node.op, (ast.Sub, ast.Div, ast.FloorDiv, ast.MatMult)):  # not **: 2 ** count fills the memory
        yield ast.BinOp(node.right, node.op, node.left)


def _for_call(node: ast.Call) -> Iterator:
    if node.args:
        yield node.args[0]
    for position, keyword in enumerate(node.keywords):
        rest = [k for i, k in enumerate(node.keywords) if i != position]
        yield ast.Call(node.func, node.args, rest)
        if keyword.arg == "axis":
            for other in (0, -1, -2, None):
                changed = ast.keyword("axis", ast.parse(repr(other), mode="eval").body)
                yield ast.Call(node.func, node.args, [*rest, changed])
    if isinstance(node.func, ast.Name):
        for other in OTHER_NAMES.get(node.func.id, ()):
            yield ast.Call(ast.Name(other, ast.Load()), node.args, node.keywords)


def _for_constant(node: ast.Constant) -> Iterator:
    value = node.value
    if isinstance(value, bool):
        yield ast.Constant(not value)
    elif isinstance(value, (int, float)):
        for other in (value + 1, value - 1, 2 * value, value / 2, -value, 0, 1):
            other = int(other) if isinstance(value, int) and other == int(other) else other
            if other != value:
                yield ast.parse(repr(other), mode="eval").body


def _compiled(tree, program):
    """Return the changed program, living in the namespace of the original one."""
    if isinstance(tree, ast.Lambda):
        body = [ast.Return(tree.body, lineno=1, col_offset=0)]
        tree = ast.FunctionDef("edited", tree.args, body, [], None, lineno=1, col_offset=0)
    tree.decorator_list, tree.name = [], "edited"
    try:
        code = compile(ast.Module([tree], []), "<edit>", "exec")
    except (SyntaxError, ValueError):
        return None
    local: dict = {}
    exec(code, _namespace(program), local)
    return local["edited"]


@functools.lru_cache(maxsize=64)
def _namespace(program) -> dict:
    """Return the names that a program sees: those of its module and those it closes over."""
    return {**program.__globals__, **inspect.getclosurevars(program).nonlocals}


def _misconception(edit) -> Misconception:
    sentence, program = edit
    return Misconception(sentence, program, sentence, "look for this place in your own code")


def _on_top(exercise: Exercise) -> Iterator[Misconception]:
    """Yield every listed slip with one small edit on top of it."""
    for listed in exercise.misconceptions:
        for sentence, program in single_edits(listed.program):
            sentence = sentence.replace(" stands where ", " stands in the place of ").removesuffix(" belongs")
            name = f"{listed.name}; {sentence}"  # in a wrong program no part "belongs"
            yield Misconception(name, program, f"{listed.because}, and {sentence}", listed.next)


def _pairs(exercise: Exercise) -> Iterator[Misconception]:
    """Yield pairs of edits of the oracle."""
    tree = source_tree(exercise.oracle)
    if tree is None:
        return
    for _, changed in _changed_trees(copy.deepcopy(tree)):
        for _, twice in _changed_trees(changed):
            program = _compiled(twice, exercise.oracle)
            if program is not None:
                told = ", and ".join(f"`{new}` stands where `{old}` belongs" for old, new in differing(tree, twice))
                yield Misconception(told, program, told, "look for these places in your own code")


def differing(tree, changed) -> list[tuple[str, str]]:
    """Return the smallest parts in which two trees differ, as source: before and after.

    >>> left, right = ast.parse("a @ b + c", mode="eval").body, ast.parse("a * c", mode="eval").body
    >>> differing(left, right)
    [('a @ b + c', 'a * c')]
    >>> differing(left, ast.parse("a @ d + 2", mode="eval").body)
    [('b', 'd'), ('c', '2')]
    """
    if ast.dump(tree) == ast.dump(changed):
        return []
    before, after = list(ast.iter_child_nodes(tree)), list(ast.iter_child_nodes(changed))
    alike = type(tree) is type(changed) and len(before) == len(after) and _label(tree) == _label(changed)
    if not alike or not before:
        return [(shown(tree), shown(changed))]
    if any(type(a) is not type(b) for a, b in zip(before, after) if not isinstance(a, ast.expr)):
        return [(shown(tree), shown(changed))]
    return [pair for a, b in zip(before, after) for pair in differing(a, b)]


def _label(node) -> list:
    """Return what a node says by itself, its parts left out: names, numbers, attributes; never a function's name."""
    if isinstance(node, ast.FunctionDef):
        return []
    return [value for _, value in ast.iter_fields(node) if not isinstance(value, (ast.AST, list))]


# ---------------------------------------------------------------- counts, and other results put together from terms


@dataclass(frozen=True)
class CountSlip:
    """One slip in a count: its sentence, and what it changes (None: nothing).

    `inputs` changes the arguments, `terms` the dict of terms, `total` the result. Two slips of one `topic` are never
    combined.
    """

    sentence: str
    topic: str
    inputs: Callable | None = None
    terms: Callable | None = None
    total: Callable | None = None


def grammar_tiers(grammar: Grammar, parameters: tuple[str, ...] = ()) -> Iterator[Iterator[Misconception]]:
    """Yield the explanations of a count, those with the fewest slips first.

    After the slips the grammar names come those that any count can show: two arguments exchanged, one too many, twice
    or half of it. These are combined with one other slip at most,
    and four slips only where two are about the inputs.
    """
    named, general = _named_slips(grammar), _general_slips(parameters)
    yield (_combined(grammar, (slip,)) for slip in named)
    yield (_combined(grammar, (slip,)) for slip in general)
    yield _groups(grammar, itertools.combinations(named, 2))
    yield _groups(grammar, itertools.combinations(named, 3))
    yield _groups(grammar, itertools.product(named, general))
    yield _groups(grammar, (four for four in itertools.combinations(named, 4) if sum(bool(s.inputs) for s in four) > 1))


def explains_count(candidate: Misconception) -> bool:
    """Return whether a candidate comes from a grammar, so that another one may explain the same number as well."""
    return isinstance(candidate.program, functools.partial)


def plausible(candidate: Misconception, args: tuple, value) -> bool:
    """Return whether a count could come from a candidate, by one call: thousands are tried, and few deserve more."""
    try:
        return _near(candidate.program(*args), value)
    except Exception:
        return False


def _near(left, right) -> bool:
    """Return whether two results agree roughly: numbers, arrays, or several of them in a tuple or dict."""
    left = tuple(left.values()) if isinstance(left, dict) else left
    if isinstance(left, tuple) or isinstance(right, tuple):
        return len(left) == len(right) and all(map(_near, left, right))
    if isinstance(right, np.ndarray):
        return np.shape(left) == right.shape and np.allclose(left, right, rtol=1e-4, atol=1e-4, equal_nan=True)
    return left == right or (left != left and right != right) or abs(left - right) <= 1e-4 * abs(right)


def _groups(grammar: Grammar, groups) -> Iterator[Misconception]:
    return (_combined(grammar, group) for group in groups if len({slip.topic for slip in group}) == len(group))


def _named_slips(grammar: Grammar) -> list[CountSlip]:
    """Return the slips that a grammar names, in the order in which a sentence tells them."""
    slips = [CountSlip(sentence, sentence, inputs=change) for sentence, change in grammar.inputs]
    slips += [CountSlip(sentence, sentence, terms=change) for sentence, change in grammar.edits]
    for name, noun in grammar.nouns.items():
        slips.append(CountSlip(f"{noun} {be(noun)} left out", name, terms=_times(name, 0)))
        slips.append(CountSlip(f"{noun} {be(noun)} counted twice", name, terms=_times(name, 2)))
    slips += [CountSlip(sentence, sentence, total=change) for sentence, change in grammar.factors]
    return slips


def be(noun: str) -> str:
    """Return "is" or "are", as it follows a noun.

    >>> be("the norms"), be("one of the two matrices"), be("b1 and b2"), be("the bias")
    ('are', 'is', 'are', 'is')
    """
    head = noun.split(" of ")[0].split(" in ")[0]
    plural = head.endswith("s") and not head.endswith(("ss", "bias"))
    return "are" if plural or " and " in head else "is"


def _times(name: str, times: int) -> Callable:
    return lambda terms, *args: {**terms, name: terms[name] * times}


def _general_slips(parameters: tuple[str, ...]) -> list[CountSlip]:
    """Return the slips that any count can show, about its arguments and about its result."""
    slips = []
    for i, name in enumerate(parameters):
        slips += [
            CountSlip(f"{name} + 1 stands for {name}", "argument", inputs=_shifted(i, 1)),
            CountSlip(f"{name} - 1 stands for {name}", "argument", inputs=_shifted(i, -1)),
            CountSlip(f"the result is multiplied by {name} once more", "result", total=_scaled(i, 1)),
            CountSlip(f"the result is divided by {name}", "result", total=_scaled(i, -1)),
            CountSlip(f"{name} is added to the result", "result", total=_added(i, 1)),
            CountSlip(f"{name} is subtracted from the result", "result", total=_added(i, -1)),
        ]
        for j, other in enumerate(parameters):
            if i < j:
                sentence = f"{name} and {other} have changed places"
                slips.append(CountSlip(sentence, "argument", inputs=_exchanged(i, j)))
            if i != j:
                slips.append(CountSlip(f"{other} stands where {name} belongs", "argument", inputs=_copied(i, j)))
    slips += [
        CountSlip(sentence, "result", total=change)
        for sentence, change in (
            ("everything is counted twice", lambda total, *args: 2 * _number(total)),
            ("everything is counted half", lambda total, *args: exact(_number(total), 2)),
            ("1 is added to the result", lambda total, *args: _number(total) + 1),
            ("1 is subtracted from the result", lambda total, *args: _number(total) - 1),
            ("the sign is turned round", lambda total, *args: -_number(total)),
            ("the numbers are kept in 32 bits, and wrap round beyond 2,147,483,647", lambda total, *_: _wrapped(total)),
            ("the result is given in thousands", lambda total, *args: exact(_number(total), 10**3)),
            ("the result is given in millions", lambda total, *args: exact(_number(total), 10**6)),
            ("the result is given in billions", lambda total, *args: exact(_number(total), 10**9)),
        )
    ]
    return slips


def _shifted(i: int, by: int) -> Callable:
    return lambda *args: (*args[:i], _size(args[i]) + by, *args[i + 1 :])


def _exchanged(i: int, j: int) -> Callable:
    return lambda *args: (
        *args[:i],
        _like(args[i], args[j]),
        *args[i + 1 : j],
        _like(args[j], args[i]),
        *args[j + 1 :],
    )


def _copied(i: int, j: int) -> Callable:
    return lambda *args: (*args[:i], _like(args[i], args[j]), *args[i + 1 :])


def _scaled(i: int, power: int) -> Callable:
    if power > 0:
        return lambda total, *args: _number(total) * _size(args[i])
    return lambda total, *args: exact(_number(total), _size(args[i]))


def _added(i: int, sign: int) -> Callable:
    return lambda total, *args: _number(total) + sign * _size(args[i])


def _size(value):
    """Return a size as it is. **Raises** ValueError for a yes-or-no argument, so that no slip treats it as a size."""
    if isinstance(value, bool) or not isinstance(value, (int, float, Fraction)):
        raise ValueError(f"{value!r} is not a size")
    return value


def _like(value, other):
    """Return `other`. **Raises** ValueError when only one of the two is a yes-or-no argument."""
    if isinstance(value, bool) != isinstance(other, bool):
        raise ValueError(f"{other!r} cannot stand for {value!r}")
    return other


def _number(total):
    """Return a total as it is. **Raises** ValueError for several results, which no factor scales together."""
    if not isinstance(total, (int, float, Fraction)):
        raise ValueError(f"{total!r} is not one number")
    return total


def _wrapped(total) -> int:
    """Return a whole number as 32 bits keep it. **Raises** ValueError for any other."""
    if _number(total) != int(total):
        raise ValueError(f"{total!r} is not whole")
    return (int(total) + 2**31) % 2**32 - 2**31


def exact(numerator, denominator):
    """Return a quotient without rounding: an int where it is whole, a Fraction elsewhere.

    >>> exact(6, 2), exact(7, 2)
    (3, Fraction(7, 2))
    """
    if isinstance(numerator, float) or isinstance(denominator, float):
        return numerator / denominator
    quotient = Fraction(numerator) / Fraction(denominator)
    return int(quotient) if quotient.denominator == 1 else quotient


def _combined(grammar: Grammar, slips: tuple[CountSlip, ...]) -> Misconception:
    because = ", and ".join(slip.sentence for slip in slips)
    return Misconception(
        because, functools.partial(_counted, grammar, slips), because, "compare this with the terms of your own sum"
    )


def _counted(grammar: Grammar, slips: tuple[CountSlip, ...], *args):
    """Return the count that comes out with these slips."""
    given = args
    for slip in slips:
        given = slip.inputs(*given) if slip.inputs else given
    terms = grammar.terms(*given)
    for slip in slips:
        terms = slip.terms(terms, *given) if slip.terms else terms
    total = grammar.combine(terms, *given) if grammar.combine else sum(terms.values())
    for slip in slips:
        total = slip.total(total, *given) if slip.total else total
    return total
