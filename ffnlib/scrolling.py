"""What is wider than the page around it scrolls in a frame of its own, which a keyboard reaches."""

from html import escape


def framed(wide: str, name: str) -> str:
    """A table or the like, as HTML, in a frame that scrolls sideways; a screen reader says `name` when it gets there.

    The frame is a group and no region: of regions, a lesson would have more than a list of landmarks is good for.
    JupyterLab leaves the arrow keys alone where the attribute `data-lm-suppress-shortcuts` stands.
    """
    return (
        f'<div class="ffn-wide" role="group" aria-label="{escape(name)}" tabindex="0" '
        f'data-lm-suppress-shortcuts="true" style="overflow-x: auto; overflow-wrap: normal;">{wide}</div>'
    )
