"""Controls that move a picture: `explore(function, title, name=Slider(...))`, and the widgets made of it."""

from ffnlib.widgets.activation_curve import activation_curve, activation_curve_picture
from ffnlib.widgets.adding_inputs import adding_inputs, adding_inputs_picture
from ffnlib.widgets.controls import Choice, Matrix, Slider, Toggle
from ffnlib.widgets.crossover_explorer import crossover_explorer, crossover_picture
from ffnlib.widgets.explorer import Explorer, explore
from ffnlib.widgets.fact_editor import fact_editor, fact_editor_picture
from ffnlib.widgets.fading_gradients import fading_gradients, fading_gradients_picture
from ffnlib.widgets.gate_and_up import gate_and_up, gate_and_up_picture
from ffnlib.widgets.model_size import model_size, model_size_picture
from ffnlib.widgets.moving_rows import moving_rows, moving_rows_picture
from ffnlib.widgets.neuron_browser import neuron_browser, neuron_picture
from ffnlib.widgets.tokens_to_experts import flow_picture, tokens_to_experts, tokens_to_experts_picture
from ffnlib.widgets.two_four_two import tiny_layer, tiny_layer_picture
from ffnlib.widgets.work_left import work_left, work_left_picture

__all__ = [
    "Choice",
    "Explorer",
    "Matrix",
    "Slider",
    "Toggle",
    "activation_curve",
    "activation_curve_picture",
    "adding_inputs",
    "adding_inputs_picture",
    "crossover_explorer",
    "crossover_picture",
    "explore",
    "fact_editor",
    "fact_editor_picture",
    "fading_gradients",
    "fading_gradients_picture",
    "flow_picture",
    "gate_and_up",
    "gate_and_up_picture",
    "model_size",
    "model_size_picture",
    "moving_rows",
    "moving_rows_picture",
    "neuron_browser",
    "neuron_picture",
    "tiny_layer",
    "tiny_layer_picture",
    "tokens_to_experts",
    "tokens_to_experts_picture",
    "work_left",
    "work_left_picture",
]
