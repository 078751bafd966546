"""Errors whose text alone says what went wrong, whatever the exercise."""

from __future__ import annotations

import re
from collections import Counter

from ffnlib.examination.evidence import Raised

ARRAY_IN_IF = (
    "an if on an array",
    "if, and, or, not, min and max ask one question of a whole array, which has many answers",
    "np.where, np.maximum, np.minimum, & and | work entry by entry",
)
ARRAY_IN_MATH = (
    "a function for single numbers",
    "a function for single numbers, from math or float(...) or int(...), is given a whole array",
    "the functions of np work entry by entry; ffnlib.activations.erf does as well",
)
MATH_TOO_LARGE = (
    "overflow raised",
    "a function of math raises an error for a number whose result is too large for a float",
    "np.exp gives inf there; better is a formula whose exponential cannot overflow",
)
FRACTIONS_IN_WHOLE = (
    "fractions in an integer array",
    "an array of whole numbers cannot take fractions: a += ... writes into a itself, and np.zeros_like(a) has its type",
    "write a = a + ... for a new array; to fill one, ask for dtype=float or np.zeros(a.shape)",
)
SECOND_IS_AXIS = (
    "an array where an axis belongs",
    "np.max, np.min, np.sum and their like take one array, and read a second one as the axis",
    "np.maximum and np.minimum compare two things entry by entry",
)
FRACTION_FOR_WHOLE = (
    "a float where a whole number is needed",
    "a float stands where a whole number is needed: as a size, as an axis, or as the end of a slice or a range",
    "// gives a whole number where / gives a float; np.maximum compares two things, np.max reads the second as an axis",
)
NUMBER_FOR_ROW = (
    "a single number where a row belongs",
    "a single number reaches a function that needs an axis: a loop over one vector gives its numbers, not rows",
    "let the function work on the whole of x: @ and axis=-1 act on the last axis, whatever comes before it",
)
NUMBER_FOR_ARRAY = (
    "a single number where an array belongs",
    "in this call a single number is treated as an array, and it has no axes, entries or methods of arrays",
    "np.maximum, np.clip, np.copy and other functions of np take both; or begin with x = np.asarray(x)",
)
NO_SUCH_FUNCTION = (
    "a function NumPy does not have",
    "NumPy has no function of this name; PyTorch may have one",
    "compare the names: np.concatenate is torch.cat, np.expand_dims or [..., None] is unsqueeze",
)
FUNCTION_HANDED_ON = (
    "no array handed on",
    "a given function receives something that is no array, such as a function that was not called",
    "f(ln(x)) calls ln first and hands its result on; f(ln) hands on ln itself",
)
NOTHING_TO_STACK = (
    "no rows",
    "there are no rows in this call, and np.stack, np.concatenate and np.vstack need at least one array",
    "a product with @ works for no rows as well; or begin with np.zeros(x.shape) and fill it",
)
AXES_TAKEN_APART = (
    "a fixed number of axes",
    "a shape is taken apart into a fixed number of names, and this call has another number of axes",
    "x.shape[-1] is the last axis whatever comes before it; ... stands for all the others",
)
AXIS_MISSING = (
    "a fixed number of axes",
    "an axis is asked for that the array of this call does not have",
    "count from the end: -1 is the last axis, -2 the one before it; ... stands for all the others",
)
OUT_OF_MEMORY = (
    "more memory than there is",
    "the memory ran out: an array or a list is made that is far larger than the result",
    "write the shape of every intermediate result beside its line; does a loop end, does a list stop growing?",
)
CHOICE_MISSING = (
    "np.where with two arguments",
    "np.where takes a condition and two choices, and here one choice is missing",
    "np.where(condition, where it holds, where it does not)",
)
NO_SUCH_METHOD = (
    "a method NumPy does not have",
    "a NumPy array has no attribute of this name; PyTorch's tensors may have one",
    "look for the function of np: np.maximum, np.clip, np.transpose; [..., None] adds an axis",
)
TOO_FEW_ARGUMENTS = (
    "arguments missing in a call",
    "the answer calls a function with fewer arguments than it takes",
    "which names stand in the brackets of its definition? hand all of them on",
)
LAYER_FOR_RESULT = (
    "a layer where its result is needed",
    "a class of torch.nn makes a layer, and what comes out is that layer, not what it makes of x",
    "torch.relu(h) computes at once; torch.nn.ReLU()(h) makes the layer first and then calls it",
)
NUMPY_ON_TENSOR = (
    "a function of NumPy on a tensor",
    "a function of NumPy is given a tensor of PyTorch, and would lose the way back to its gradient",
    "torch has its own functions: torch.relu, torch.maximum, torch.exp",
)
TWO_PRECISIONS = (
    "two number types of PyTorch",
    "two tensors of different number types meet: the numbers of this call come in as float64 or as whole numbers, and "
    "torch.zeros, torch.tensor and torch.nn make float32",
    "make the others with dtype=torch.float64, and bring whole numbers there with .to(torch.float64)",
)
ONE_A_ROW = (
    "one number a row, without an axis",
    "an array with one number for each row meets the rows themselves, and numpy lays it along the last axis instead",
    "[..., None], or keepdims=True where it is made, gives it a last axis of length 1",
)
MEAN_OF_TRUTHS = (
    "a mean of truth values in PyTorch",
    "PyTorch's mean takes neither truth values nor whole numbers, NumPy's takes both",
    "turn them into numbers first: .double().mean(-1)",
)
TUPLE_FOR_ARRAY = (
    "a tuple used as an array",
    "a tuple is used as an array; np.where with a condition alone, and np.nonzero, return one: an array for each axis",
    "np.flatnonzero gives one array of positions; a mask such as H == 0 can be counted without positions",
)
FUNCTION_NOT_CALLED = (
    "a function where its result is needed",
    "a function itself stands in a calculation, and not what it gives",
    "call it: f(...), with the brackets and what goes in",
)
NONE_IN_CALCULATION = (
    "None in a calculation",
    "None stands in a calculation: it comes from a function without return, or from one that changes a list in place",
    "look for a return that is missing in a function of yours; print, sort and append return None",
)
NUMBERS_CALLED = (
    "numbers called like a function",
    "brackets stand right behind a number or an array, and that calls it like a function",
    "is a * or @ missing there, or has a function's name been given to a number?",
)
TOO_MANY_ARGUMENTS = (
    "too many arguments in a call",
    "the answer calls a function with more arguments than it takes",
    "which names stand in the brackets of its definition? hand on these alone",
)
ONE_BY_ONE_IN_CALCULATION = (
    "values handed out one by one in a calculation",
    "map, filter, zip and generators hand their values out one by one, and cannot be calculated with",
    "list(...) makes a list of them, np.array(list(...)) an array",
)
MATRIX_FIRST = (
    "no matrix for np.linalg",
    "np.linalg.solve and np.linalg.inv are given a vector where a matrix belongs",
    "np.linalg.solve(A, b) takes the matrix first",
)
LIST_FOR_ARRAY = (
    "a list where an array belongs",
    "a list is calculated with as if it were an array: + joins lists, and they have no other arithmetic and no .sum()",
    "np.array(...) makes an array of it",
)
KNOWN = (
    ("AttributeError", "'list' object has no attribute", LIST_FOR_ARRAY),
    ("TypeError", "can't multiply sequence by non-int", LIST_FOR_ARRAY),
    ("TypeError", "'list' and", LIST_FOR_ARRAY),
    ("TypeError", "and 'list'", LIST_FOR_ARRAY),
    ("TypeError", "bad operand type for unary -: 'list'", LIST_FOR_ARRAY),
    ("LinAlgError", "must be at least two-dimensional", MATRIX_FIRST),
    ("TypeError", "'function'", FUNCTION_NOT_CALLED),
    ("TypeError", "'builtin_function_or_method'", FUNCTION_NOT_CALLED),
    ("TypeError", "'numpy.ufunc'", FUNCTION_NOT_CALLED),
    ("TypeError", "'NoneType'", NONE_IN_CALCULATION),
    ("AttributeError", "'function' object has no attribute", FUNCTION_NOT_CALLED),
    ("AttributeError", "'NoneType' object has no attribute", NONE_IN_CALCULATION),
    ("TypeError", "'numpy.ndarray' object is not callable", NUMBERS_CALLED),
    ("TypeError", "'numpy.float64' object is not callable", NUMBERS_CALLED),
    ("TypeError", "'float' object is not callable", NUMBERS_CALLED),
    ("TypeError", "'int' object is not callable", NUMBERS_CALLED),
    ("TypeError", "'Tensor' object is not callable", NUMBERS_CALLED),
    ("MemoryError", "", OUT_OF_MEMORY),
    ("RuntimeError", "can't allocate memory", OUT_OF_MEMORY),
    ("ValueError", "truth value of an", ARRAY_IN_IF),
    ("RuntimeError", "Boolean value of Tensor", ARRAY_IN_IF),
    ("TypeError", "converted to a scalar index", SECOND_IS_AXIS),
    ("TypeError", "can be converted to Python scalars", ARRAY_IN_MATH),
    ("TypeError", "can be converted to a scalar", ARRAY_IN_MATH),
    ("TypeError", "object cannot be interpreted as an integer", FRACTION_FOR_WHOLE),
    ("TypeError", "slice indices must be integers", FRACTION_FOR_WHOLE),
    ("TypeError", "indices must be integers or slices, not float", FRACTION_FOR_WHOLE),
    ("AxisError", "axis -1 is out of bounds for array of dimension 0", NUMBER_FOR_ROW),
    ("AxisError", "is out of bounds for array of dimension 0", SECOND_IS_AXIS),
    ("ValueError", "does not have enough dimensions (has 0", NUMBER_FOR_ROW),
    ("TypeError", "len() of unsized object", NUMBER_FOR_ARRAY),
    ("TypeError", "float64' has no len()", NUMBER_FOR_ARRAY),
    ("TypeError", "iteration over a 0-d array", NUMBER_FOR_ARRAY),
    ("TypeError", "float' object is not iterable", NUMBER_FOR_ARRAY),
    ("TypeError", "float' object is not subscriptable", NUMBER_FOR_ARRAY),
    ("AttributeError", "'float' object has no attribute", NUMBER_FOR_ARRAY),
    ("AttributeError", "'int' object has no attribute", NUMBER_FOR_ARRAY),
    ("AttributeError", "module 'numpy' has no attribute", NO_SUCH_FUNCTION),
    ("TypeError", "the given function takes arrays and numbers", FUNCTION_HANDED_ON),
    ("OverflowError", "math range error", MATH_TOO_LARGE),
    ("TypeError", "Cannot cast ufunc", FRACTIONS_IN_WHOLE),
    ("ValueError", "need at least one array to", NOTHING_TO_STACK),
    ("ValueError", "values to unpack", AXES_TAKEN_APART),
    ("IndexError", "Dimension out of range", AXIS_MISSING),
    ("RuntimeError", "the number of subscripts in the equation", AXIS_MISSING),
    ("ValueError", "einstein sum subscripts string contains too many", AXIS_MISSING),
    ("ValueError", "operand has more dimensions than subscripts", AXIS_MISSING),
    ("TypeError", "required positional argument", TOO_FEW_ARGUMENTS),
    ("TypeError", "positional argument but", TOO_MANY_ARGUMENTS),
    ("TypeError", "positional arguments but", TOO_MANY_ARGUMENTS),
    ("TypeError", "'map' and", ONE_BY_ONE_IN_CALCULATION),
    ("TypeError", "'generator' and", ONE_BY_ONE_IN_CALCULATION),
    ("TypeError", "and 'generator'", ONE_BY_ONE_IN_CALCULATION),
    ("TypeError", "and 'map'", ONE_BY_ONE_IN_CALCULATION),
    ("TypeError", "must be Tensor, not", LAYER_FOR_RESULT),
    ("RuntimeError", "Can't call numpy() on Tensor", NUMPY_ON_TENSOR),
    ("AttributeError", "'numpy.ndarray' object has no attribute", NO_SUCH_METHOD),
    ("AttributeError", "'numpy.float64' object has no attribute", NO_SUCH_METHOD),
    ("ValueError", "either both or neither of x and y", CHOICE_MISSING),
    ("AttributeError", "'tuple' object has no attribute", TUPLE_FOR_ARRAY),
    ("RuntimeError", "must be either a floating point or complex dtype", MEAN_OF_TRUTHS),
    ("RuntimeError", "have the same dtype", TWO_PRECISIONS),
    ("RuntimeError", "mixed dtype", TWO_PRECISIONS),
    ("RuntimeError", "expected scalar type", TWO_PRECISIONS),
    ("RuntimeError", "to be equal to src.dtype", TWO_PRECISIONS),
    ("RuntimeError", "source and destination dtypes match", TWO_PRECISIONS),
)
NUMPY_WILL_DO = "NumPy and PyTorch are here, and enough: a softmax is np.exp and a sum"
SHAPES_STEP = "write the shape of every intermediate result beside its line"
SHAPES = (
    (
        r"matmul: .*size (\d+) is different from (\d+)",
        "in a @ b each row of a needs as many numbers as b has rows, and here {1} meet {0}",
    ),
    (
        r"solve1?: .*size (\d+) is different from (\d+)",
        "np.linalg.solve(A, b) needs as many numbers in b as A has rows, and here {0} meet {1}",
    ),
    (
        r"index (\d+) is out of bounds for axis \d+ with size (\d+)",
        "position {0} is asked for where there are {1}: counting starts at 0",
    ),
    (
        r"size of axis is (\d+) but size of corresponding boolean axis is (\d+)",
        "{1} truth values choose along an axis of {0}: each entry of the axis needs one",
    ),
    (
        r"broadcast together with shapes (\(\d+,\)) (\(\d+,\))",
        "vectors of shapes {0} and {1} meet entry by entry, as in +, - and *; np.outer makes all products",
    ),
    (
        r"broadcast together with shapes (\([\d,]*\)) (\([\d,]*\))",
        "shapes {0} and {1} meet entry by entry, where lengths, counted from the last, must be equal or 1",
    ),
)


def explained(errors: list[Raised | None]) -> tuple[str, str, str] | None:
    """Return name, cause and next step of an error that explains most of the wrong calls (None: no error), or None."""
    raised = [error for error in errors if error is not None]
    if 2 * len(raised) <= len(errors):
        return None
    named, times = Counter(map(cause, raised)).most_common(1)[0]
    return named if 2 * times > len(errors) else None


def of_shapes(error: Raised | None) -> tuple[str, str, str] | None:
    """Return name, cause and next step of an error about shapes: what NumPy says, in plain words; None of any other.

    >>> of_shapes(Raised(("ValueError",), "matmul: ... (size 4 is different from 3)"))[1]
    'in a @ b each row of a needs as many numbers as b has rows, and here 3 meet 4'
    >>> of_shapes(Raised(("IndexError",), "index 5 is out of bounds for axis 0 with size 5"))[1]
    'position 5 is asked for where there are 5: counting starts at 0'
    >>> of_shapes(Raised(("ValueError",), "operands could not be broadcast together with shapes (0,4) (5,) "))[1]
    'shapes (0,4) and (5,) meet entry by entry, where lengths, counted from the last, must be equal or 1'
    """
    for pattern, words in SHAPES:
        found = re.search(pattern, error.text) if error else None
        if found:
            return "shapes that do not fit", words.format(*found.groups()), SHAPES_STEP
    return None


def cause(error: Raised) -> tuple[str, str, str] | None:
    """Return name, cause and next step of one error that is known, or None."""
    for kind, text, cause in KNOWN:
        if kind in error.types and text in error.text:
            return cause
    if "ValueError" in error.types and _rows_meet_one_a_row(error.text):
        return ONE_A_ROW
    if "ModuleNotFoundError" in error.types:
        return "a package that is not here", f"a package is imported that is not here: {error.text}", NUMPY_WILL_DO
    if "NameError" in error.types and "UnboundLocalError" not in error.types:
        because = f"a name is used that nothing defines: {error.text}"
        return "unknown name", because, "import it, or define it inside the answer; is it spelt as where it is defined?"
    return None


def _rows_meet_one_a_row(text: str) -> bool:
    """Return whether two shapes do not fit, and would if the shorter one had a last axis of length 1.

    >>> _rows_meet_one_a_row("operands could not be broadcast together with shapes (3,) (3,5)")
    True
    >>> _rows_meet_one_a_row("operands could not be broadcast together with shapes (2,) (3,5)")
    False
    """
    if "broadcast together" not in text:
        return False
    shapes = [tuple(map(int, re.findall(r"\d+", shape))) for shape in re.findall(r"\(([\d, ]*)\)", text)]
    short, long = sorted(shapes[:2], key=len) if len(shapes) >= 2 else ((), ())
    return 0 < len(short) == len(long) - 1 and short == long[:-1]
