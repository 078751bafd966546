"""Questions with several answers, each of which is explained: open an answer to read what follows from it.

A question stands in the course once every claim it rests on is decided.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from ffnlib.course import Course, load
from ffnlib.review.pages import ON_WHITE, Page, link, opened, rich

CODE = "background: #F6F6F6; color: #1B1B1B; padding: 6px 8px; margin: 2px 0px; overflow-x: auto; white-space: pre;"


@dataclass(frozen=True)
class Answer:
    """One of the answers to a question, and why it is right or what it misses."""

    text: str
    why: str
    right: bool = False


@dataclass(frozen=True)
class Question:
    """A question, the claims its right answer rests on, and, where it asks about a program, the program."""

    id: str
    text: str
    claims: tuple[str, ...]
    answers: tuple[Answer, ...]
    code: str = ""


def right(text: str, why: str) -> Answer:
    """Return a right answer."""
    return Answer(text, why, right=True)


PROGRAMS = (
    Question(
        "relu-last",
        "The shapes fit, and no result is negative. What is wrong?",
        ("S3-13",),
        (
            Answer("Nothing: the order of the steps does not matter.", "It does. `max` is no linear map, so it cannot change places with a matrix product."),
            right("All hidden units act as one matrix; only the result bends.", "`(x W1 + b1) W2` is one linear map. The clip comes too late to give every unit a bend of its own."),
            Answer("The result is too large; divide it by `d_ff`.", "Size is not the fault. A layer divided by a number would still be one matrix and a clip."),
            Answer("`b2` has to be added after the clip.", "That lets results be negative again, and leaves the hidden units without a bend."),
        ),
        "def feed_forward(x, W1, b1, W2, b2):\n    return np.maximum(0, (x @ W1 + b1) @ W2 + b2)",
    ),
    Question(
        "flattened",
        "`x` has 5 rows of 6 numbers, `W1` has 6 rows. What happens?",
        ("S4-11",),
        (
            Answer("It mixes the rows, and nobody notices.", "It would mix them if `W1` had 30 rows. It has 6, so the product is refused."),
            right("It raises an error: 30 numbers meet a matrix with 6 rows.", "The weights of a layer for one row do not fit a whole sequence. To mix rows by accident, a new matrix is needed first."),
            Answer("It works; the result only has to be shaped back.", "There is nothing to shape back. The first product already fails."),
            Answer("It uses the first row and drops the others.", "`reshape(-1)` keeps all 30 numbers, one after the other."),
        ),
        "hidden = np.maximum(0, x.reshape(-1) @ W1 + b1)\nresult = hidden @ W2 + b2",
    ),
    Question(
        "no-biases",
        "The exercise hands you `b1` and `b2`. What does this program get wrong?",
        ("S3-11",),
        (
            Answer("Nothing: LLaMA has no biases either.", "LLaMA was trained without them. These weights come with theirs, and the results differ."),
            Answer("Only a constant is missing, the same for every input.", "That is true of `b2`. `b1` moves the place where each unit begins to fire."),
            right("Every bend goes through the origin, and a row of zeros gives zeros.", "Without `b1` a unit fires on one side of a plane through 0; without `b2` nothing is added there."),
            Answer("It fails for negative inputs.", "Negative inputs are as good as others; ReLU acts on hidden values, not on inputs."),
        ),
        "def feed_forward(x, W1, b1, W2, b2):\n    return np.maximum(0, x @ W1) @ W2",
    ),
    Question(
        "softmax-inside",
        "Somebody has read that the layer is a memory with keys and values, and writes this. What has changed?",
        ("S3-22", "S3-12"),
        (
            Answer("Nothing: keys are still compared and values added.", "The softmax runs along the rows, so each row's result depends on all the others."),
            right("A row's result now depends on the other rows.", "`axis=0` divides by a sum over the positions. The layer of the course never looks at another row."),
            Answer("The units compete within each row.", "They would with `axis=1`. With `axis=0` it is the rows that compete for a unit."),
            Answer("It became attention.", "Attention makes its keys and values from the rows. Here both are still fixed weights."),
        ),
        "scores = np.exp(x @ W1 + b1)\nhidden = scores / scores.sum(axis=0)\nresult = hidden @ W2 + b2",
    ),
    Question(
        "row-replaced",
        "24 layers in a row, with PyTorch's own weights at the start. What is wrong?",
        ("S3-18",),
        (
            Answer("The same weights should serve all 24 layers.", "Each layer has weights of its own in the original model; that is not the fault."),
            right("Each layer replaces the rows: nothing of the input is carried past it, and the gradient fades.", "With `x = x + layer(x)` there is a way past every layer, for the row and for the gradient."),
            Answer("It cannot learn at any depth.", "Two such layers learn as well as with the skip. What fails is depth with these weights."),
            Answer("A norm at the very end would repair it.", "One norm after layer 24 changes nothing for the gradient of layer 1 inside the chain."),
        ),
        "for layer in layers:      # 24 of them\n    x = layer(x)",
    ),
    Question(
        "width-one",
        "A model is copied with `d_ff = d_model` where the original has four times that. What follows?",
        ("S4-01", "S3-17"),
        (
            Answer("It raises an error.", "All shapes fit: `W1` and `W2` are square."),
            Answer("It turns the layer into an autoencoder.", "Nothing is squeezed and nothing is trained to come back. It is a narrower layer."),
            right("It runs, with a quarter of the hidden units; how much worse it is has to be measured.", "Fewer units draw fewer bends. Lesson 13 measures it: a little worse, in a small experiment."),
            Answer("It computes the same function with fewer weights.", "A narrow layer cannot copy a wide one: it has a quarter of the bends."),
        ),
        "d_ff = d_model\nW1, W2 = rng.normal(size=(d_model, d_ff)), rng.normal(size=(d_ff, d_model))",
    ),
)  # fmt: skip

SENTENCES = (
    Question(
        "not-an-mlp",
        "“A multilayer perceptron takes its whole input at once; so this layer is none.” What is wrong?",
        ("S4-14", "S3-10"),
        (
            Answer("Nothing: it is a convolution.", "It is one with kernel size 1, and that is a perceptron at every place."),
            right("Its input is one row, and that it does take at once.", "The perceptron with the same weights gives the same numbers, row by row."),
            Answer("A perceptron has one layer only.", "A perceptron with a hidden layer has two, like this one."),
            Answer("A perceptron cannot be used on a sequence.", "It can, row by row; that is what this layer does."),
        ),
    ),
    Question(
        "theorem-says-four",
        "“The 4 is backed by the universal approximation theorem.” What is wrong?",
        ("S4-12",),
        (
            Answer("The theorem holds for other networks.", "It holds for this layer, on a bounded interval. What it lacks is a number."),
            Answer("The theorem asks for 8, not 4.", "It asks for no number at all."),
            right("It says that some width is enough, and not which one.", "How many units a curve takes depends on the curve: few for one wave, many for six."),
            Answer("It holds for ReLU only.", "It holds for every activation that is no polynomial."),
        ),
    ),
    Question(
        "dead-below-zero",
        "“ReLU units die, because the gradient is 0 below 0.” What is wrong?",
        ("S4-03",),
        (
            right("A unit that is silent on one token may fire on the next, and learn from it.", "Only a unit that no input reaches is dead."),
            Answer("The gradient below 0 is small, not 0.", "For ReLU it is 0. GELU is the one with a small one."),
            Answer("Dead units are revived by the bias.", "The bias of a dead unit has gradient 0 as well."),
            Answer("Units die because of the gradient above 0.", "Above 0 the slope is 1, and the unit learns."),
        ),
    ),
    Question(
        "only-the-activation",
        "“In LLaMA only the activation was changed.” What is wrong?",
        ("S3-15",),
        (
            Answer("The activation was not changed.", "It was: SiLU stands where ReLU stood. But that is not all."),
            right("A third matrix was added.", "Gate and up are two matrices, where one led into the middle."),
            Answer("The matrices were made square.", "They lead from `d_model` to `d_ff`, as before."),
            Answer("The layer now looks at other rows.", "Gate and up both come from the same row."),
        ),
    ),
    Question(
        "eight-doubles",
        "“With 8 times in place of 4 times, the parameters double.” What is wrong?",
        ("S4-05", "S0-05"),
        (
            Answer("They grow four times as large.", "The count is a straight line in `d_ff`; the square belongs to `d_model`."),
            right("Only those of the feed-forward networks do.", "Attention, embeddings and norms do not have `d_ff` in their sizes."),
            Answer("They stay the same, since only hidden units are added.", "Every hidden unit brings a key, a value and a bias."),
            Answer("Nothing is wrong.", "In a block of 12 parts, 8 become 16: 20 in all, and not 24."),
        ),
    ),
    Question(
        "depends-on-position",
        "“The result is a combination of values that depends on the position.” What is wrong?",
        ("S3-16", "S4-21"),
        (
            right("It depends on the input at that position.", "Equal rows give equal results wherever they stand."),
            Answer("It does not depend on values.", "It is a sum of values, one for every unit that fires, and `b2`."),
            Answer("It depends on all positions.", "No row of the result changes when another row does."),
            Answer("Nothing: each position has weights of its own.", "One set of weights serves all positions."),
        ),
    ),
)  # fmt: skip

FINAL = (
    Question(
        "count-512",
        "How many parameters has one layer with `d_model = 512` and `d_ff = 2048`?",
        ("S0-07", "S3-01"),
        (
            Answer("2,097,152", "Those are the two matrices. The biases add 2,048 and 512."),
            right("2,099,712", "Two matrices of 1,048,576, and biases of 2,048 and 512."),
            Answer("1,051,136", "One of the two matrices is missing."),
            Answer("25,196,544", "That is twelve layers, six in the encoder and six in the decoder."),
        ),
    ),
    Question(
        "where-is-the-key",
        "In `x @ W1`, where does the key of unit 7 stand?",
        ("S1-01", "S3-05"),
        (
            Answer("in `W1[7]`", "That is row 7: what input 7 sends to all the units."),
            right("in `W1[:, 7]`", "Column 7 leads into unit 7. Written `W1 @ x`, it would be row 7."),
            Answer("in `W2[7]`", "That is the value of unit 7: what leads out of it."),
            Answer("in `W2[:, 7]`", "That is what all units send to output 7."),
        ),
    ),
    Question(
        "equal-cost",
        "`d_model = 4096`, `d_ff` four times that, two matrices. At which length does attention, with its projections, cost as much as the layer?",
        ("S0-14", "S1-04", "S2-01"),
        (
            Answer("1,000 to 2,000", "There `2 d` lies when `d_model` is 500 to 1,000; here it is 4,096."),
            right("8,192", "`8 T d² + 4 T² d = 16 T d²` at `T = 2 d`."),
            Answer("16,384", "There the scores and the mixing alone cost as much, without the projections."),
            Answer("24,576", "There the quadratic part equals everything else, projections and layer together."),
        ),
    ),
    Question(
        "swiglu-width",
        "A plain layer has `d_ff = 4 d`. A SwiGLU layer of the same size has which `d_ff`?",
        ("S0-20", "S4-06"),
        (
            Answer("4 d", "Then it has 12 d² where the plain one has 8 d²: half more."),
            Answer("2 d", "Then it has 6 d². The expanding part is kept; the contracting matrix has been forgotten."),
            right("8/3 d", "Three matrices of `d` times 8/3 `d` hold 8 d²."),
            Answer("4/3 d", "Then it has 4 d²: somebody has divided by three because there are three matrices; before there were two."),
        ),
    ),
    Question(
        "gelu-slope",
        "What is the slope of GELU at -1?",
        ("S4-17",),
        (
            Answer("0", "That is ReLU's. GELU still moves there."),
            Answer("small and positive", "So it is between -0.752 and 0; -1 lies further left."),
            right("small and negative", "Left of -0.752 the curve falls: -0.08 at -1."),
            Answer("1/2", "That is its slope at 0."),
        ),
    ),
    Question(
        "reordered",
        "Reordering the rows before a function or after it gives the same. What do you know of the function?",
        ("S0-17", "S3-22"),
        (
            Answer("It is position-wise.", "Attention without position codes passes this test too, and mixes rows."),
            Answer("It is linear.", "The layer passes the test, and it bends."),
            right("It has no favourite position; it may still mix rows.", "To be position-wise, a row's result must not change when another row does."),
            Answer("It was trained on shuffled text.", "No training is needed: equal treatment of rows is in the formula."),
        ),
    ),
    Question(
        "two-thirds-share",
        "Which sentence about the feed-forward networks' share of parameters holds?",
        ("S0-03", "S3-06", "S0-02"),
        (
            Answer("Two thirds of every Transformer.", "The embeddings count too: in the original base model it is two fifths."),
            Answer("Always more than attention.", "T5-v1.1-XXL has decoder blocks in which attention is larger."),
            right("Two thirds of a block, if `d_ff = 4 d` and every head has its own keys and values.", "8 d² of 12 d². Shared heads and other widths change it."),
            Answer("Half, since there are two sublayers.", "Attention has 4 d² with full heads, the layer 8 d² at four times the width."),
        ),
    ),
    Question(
        "twice-as-long",
        "A text grows from 128 to 256 tokens at `d_model = 4096`. The FLOPs of attention, projections included, grow by a factor of about",
        ("S1-03", "S0-13"),
        (
            Answer("4", "So it is far above `2 d` = 8,192 tokens, where the quadratic part rules."),
            right("2", "Below `2 d` the projections are the larger part, and they grow with the length."),
            Answer("1", "Every token is projected, so more tokens are more work."),
            Answer("8", "No part of attention grows with the cube of the length."),
        ),
    ),
    Question(
        "worked-example",
        "`FFN((1, 0)) = (2, 0)` and `FFN((0, 1)) = (1, 2)`. What is `FFN((1, 1))` in the example of the self-test?",
        ("S0-19",),
        (
            Answer("(3, 2), the sum", "Only a linear map would have to. A unit that fires for (0, 1) is silent for (1, 1)."),
            right("(3, 1)", "The unit with key (-1, 1) is at 0 there, so it adds nothing."),
            Answer("it cannot be known", "Of an unknown layer that is true; the weights of this one are given."),
            Answer("(1.5, 1), the mean", "The layer adds what its units send; it takes no mean."),
        ),
    ),
    Question(
        "key-value-sum",
        "The sum over all units of hidden value times value vector equals the layer",
        ("S0-15", "S2-15"),
        (
            Answer("always", "One thing is missing from the sum, and it is the same for every row."),
            right("once `b2` is added", "The matrix product `hidden @ W2` is that sum, row of `W2` by row of `W2`."),
            Answer("only for units that fire", "Units that do not fire add 0 with ReLU; leaving them out changes nothing."),
            Answer("only approximately", "It is the same arithmetic in another order."),
        ),
    ),
    Question(
        "share-that-fires",
        "A trained ReLU model is handed to you. Which share of its units fires for a token?",
        ("S2-06", "S3-02"),
        (
            Answer("half", "So it is at the start of training, with inputs centred at 0."),
            Answer("3 %", "So it is reported of one model. Others are reported with more than ten times that."),
            right("measure it", "Reports differ by model; ReLU by itself fixes no share."),
            Answer("all, since silent units are removed", "Silent units stay in the matrices; they are 0 on this token only."),
        ),
    ),
    Question(
        "experts-computed",
        "A layer has 8 experts and routes each token to 2. Which experts are computed for a token?",
        ("S4-08", "S2-09"),
        (
            Answer("all 8, and 6 are multiplied by 0", "The result would be the same; the work saved is the point of the routing."),
            right("2", "The others are not computed. That is what the routing saves; all 8 have to be stored."),
            Answer("1", "Some models route to one; this one does to two."),
            Answer("those of its topic", "What an expert answers to has to be measured; topics were not what was found."),
        ),
    ),
    Question(
        "tracing-and-editing",
        "Causal tracing marks one layer as most important for a fact. Where do you edit the fact?",
        ("S2-05", "S2-04"),
        (
            Answer("in that layer, as tracing has found the place", "Tracing shows where a disturbance is repaired, which need not be where an edit works."),
            right("try the layers and measure: tracing does not say", "They are two measurements: in lesson 12 edits also take where tracing shows next to nothing, and then change the neighbours too."),
            Answer("in the first layer, before anything is computed", "What an early edit changes runs through all later layers: in lesson 12 it changes the fact's neighbours as well."),
            Answer("nowhere: facts cannot be edited", "One step of rank one does change a fact; the question is what else it changes."),
        ),
    ),
    Question(
        "doubling-d-ff",
        "`d_ff` is doubled and `d_model` kept. The parameters of the layer",
        ("S0-05",),
        (
            right("double, but for `b2`", "`2 d d_ff + d_ff + d` is a straight line in `d_ff`."),
            Answer("grow four times as large", "So they do when `d_model` is doubled along with `d_ff`."),
            Answer("grow by half", "That is what a third matrix does at equal width."),
            Answer("stay, since `d_model` stays", "`W1` and `W2` both have `d_ff` as one of their sides."),
        ),
    ),
)  # fmt: skip


def wrong_programs(course: Course | None = None) -> Page:
    """Return programs with a fault, and what is and is not wrong with each."""
    return quiz(PROGRAMS, course)


def wrong_sentences(course: Course | None = None) -> Page:
    """Return sentences with a fault, and what is and is not wrong with each."""
    return quiz(SENTENCES, course)


def final_quiz(course: Course | None = None) -> Page:
    """Return the questions that close the course."""
    return quiz(FINAL, course)


def quiz(questions: tuple[Question, ...], course: Course | None = None) -> Page:
    """Return questions as a page; every answer opens by mouse, by Enter and by space, and is explained."""
    course = load() if course is None else course
    known = {claim.id for claim in course.claims}
    asked = [question for question in questions if set(question.claims) <= known]
    body = "\n".join(_asked(number, question, course) for number, question in enumerate(asked, 1))
    answers = sum(len(question.answers) for question in asked)
    words = f"{len(asked)} questions with {answers} answers, one right for each question. Every answer says why."
    return Page(words, body, "quiz")


def _asked(number: int, question: Question, course: Course) -> str:
    places = sorted({course.claim(name).lesson for name in question.claims})
    source = ", ".join(link(lesson, f"lesson {lesson[:2]}") for lesson in places)
    code = f'<pre style="{CODE}" tabindex="0">{escape(question.code)}</pre>' if question.code else ""
    answers = "\n".join(_answer(answer, source) for answer in shown_order(number, question))
    heading = f"<strong>{number}.</strong> {rich(question.text)}"
    return f'<p style="{ON_WHITE} margin: 14px 0px 2px 0px;">{heading}</p>{code}\n{answers}'


def shown_order(number: int, question: Question) -> tuple[Answer, ...]:
    """Return the answers turned by one more place with each question, so that the right one has no habitual place."""
    first = number % len(question.answers)
    return question.answers[first:] + question.answers[:first]


def _answer(answer: Answer, source: str) -> str:
    word = "Yes." if answer.right else "No."
    why = f'<p style="{ON_WHITE} margin: 2px 0px 6px 1.5em;"><strong>{word}</strong> {rich(answer.why)} ({source})</p>'
    return opened(rich(answer.text), why)
