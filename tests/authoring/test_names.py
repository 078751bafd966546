"""What a cell takes from other cells is found wherever it is used, and nothing else is."""

import pytest

from ffnlib.authoring.names import used


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("print(a + b)", "ab"),
        ("a = b\nprint(a)", "b"),
        ("def f(x, y=a):\n    z = b\n    return x + y + z + c", "abc"),
        ("f = lambda x: x + a", "a"),
        ("print([a + x for x in b if c])", "abc"),
        ("def f(n):\n    return [a * x for x in range(n)]", "a"),
        ("class K:\n    x = a\n    y = x\n    def m(self):\n        return b", "ab"),
        ("def f():\n    x = 1\n    def g():\n        return x + a\n    return g", "a"),
        ("@a\ndef f(x: b) -> c:\n    return x", "abc"),
        ("import a\nprint(a.b, len('c'))", ""),
        ("for x in a:\n    print(x)", "a"),
        ("a.b = 1\nc[0] = 2", "ac"),
    ],
)
def test_names_taken_from_other_cells(source, names):
    assert used(source) == set(names)
