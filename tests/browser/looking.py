"""What is asked of anything the course shows in a browser: of an output, a feedback page, a page of the site."""

WIDTHS = (1280, 600, 320)  # pixels: a screen, half of one, and the first at a zoom of 400 %

TOO_WIDE = """within => {
    const reachable = node => node.matches('[tabindex="0"]') || node.querySelector('input') !== null;
    const scrolls = node => getComputedStyle(node).overflowX === 'auto' && reachable(node);
    const closed = [...document.querySelectorAll('details:not([open])')];
    closed.forEach(one => { one.open = true; });
    const inside = node => [...node.children].flatMap(child => scrolls(child) ? [] : [child, ...inside(child)]);
    const found = [...document.querySelectorAll(within)].flatMap(part => [part, ...inside(part)])
        .filter(node => node.scrollWidth > node.clientWidth + 1 && node.clientWidth > 0)
        .filter(node => getComputedStyle(node).display !== 'inline' && !node.matches('input, select'))
        .map(node => `${node.scrollWidth} in ${node.clientWidth} px: ${node.outerHTML.slice(0, 200)}`);
    closed.forEach(one => { one.open = false; });
    return found;
}"""
MOVING = """within => [...document.querySelectorAll(within)].flatMap(part => [part, ...part.querySelectorAll('*')])
    .filter(node => {
        const look = getComputedStyle(node);
        const moves = look.transitionDuration.split(',').some(time => parseFloat(time) > 0);
        return moves || look.animationName !== 'none' || look.scrollBehavior === 'smooth';
    }).map(node => node.outerHTML.slice(0, 200))"""


def violations(page, axe, within):
    """What axe finds wrong in these parts of a page, as readable lines."""
    page.evaluate(axe)
    # without preload: axe would fetch the style sheets anew, which a page opened from a file may not
    ask = "within => axe.run({include: [[within]]}, {resultTypes: ['violations'], preload: false})"
    found = page.evaluate(ask, within)["violations"]
    return [f"{one['id']}: {node['html'][:200]}" for one in found for node in one["nodes"]]


def too_wide(page, within):
    """What runs over its place in these parts, which themselves do not scroll sideways; frames scroll by keyboard."""
    return page.evaluate(TOO_WIDE, within)


def moving(page, within):
    """What moves or fades by itself in these parts; ask it of a page that is to reduce motion."""
    return page.evaluate(MOVING, within)


def resize(page, width):
    """Give the page another width, and the time to take it."""
    page.set_viewport_size({"width": width, "height": 1000})
    page.evaluate("() => new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(drawn)))")
