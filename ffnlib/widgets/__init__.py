"""Controls that move a picture: `explore(function, title, name=Slider(...))`, and the widgets made of it."""

from ffnlib.widgets.controls import Choice, Matrix, Slider, Toggle
from ffnlib.widgets.explorer import Explorer, explore
from ffnlib.widgets.two_four_two import tiny_layer, tiny_layer_picture

__all__ = ["Choice", "Explorer", "Matrix", "Slider", "Toggle", "explore", "tiny_layer", "tiny_layer_picture"]
