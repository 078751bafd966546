// Draws what Python describes: native controls with names, the picture, its sentence. It computes nothing.

const TYPING_PAUSE = 300; // ms without a key before a typed number is taken
const PATIENCE = 5000; // ms after which an unanswered question is remarked on, and no longer holds back the next
const NO_ANSWER = "Python has not answered: it is busy, or it was restarted and this cell must run again.";

function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

// The attribute keeps JupyterLab's own keys (arrows, letters, delete) away from a control that has the focus. It must be
// on the control itself: a shortcut's selector is tried on the focused element before its parents are asked.
function control(tag, label, attributes = {}, ...children) {
  return element(tag, { "aria-label": label, "data-lm-suppress-shortcuts": "true", ...attributes }, ...children);
}

// Each maker returns the node, what it holds now, and how it is set from outside.
const makers = {
  slider(spec, moved) {
    const input = control("input", spec.label, { type: "range", min: spec.low, max: spec.high, step: spec.step });
    const readout = element("output", { class: "ffn-readout" });
    const say = () => {
      readout.textContent = input.value + spec.unit;
      input.setAttribute("aria-valuetext", input.value + spec.unit);
    };
    input.addEventListener("input", () => { say(); moved(); });
    return {
      node: element("label", { class: "ffn-control" }, element("span", {}, spec.label), input, readout),
      value: () => input.value,
      set: (value) => { input.value = value; say(); },
    };
  },

  choice(spec, moved) {
    const options = spec.options.map((text) => element("option", { value: text }, text));
    const input = control("select", spec.label, {}, ...options);
    input.addEventListener("change", () => moved());
    return {
      node: element("label", { class: "ffn-control" }, element("span", {}, spec.label), input),
      value: () => input.value,
      set: (value) => { input.value = value; },
    };
  },

  toggle(spec, moved) {
    const input = control("input", spec.label, { type: "checkbox" });
    input.addEventListener("change", () => moved());
    return {
      node: element("label", { class: "ffn-control" }, input, element("span", {}, spec.label)),
      value: () => input.checked,
      set: (value) => { input.checked = value; },
    };
  },

  matrix(spec, moved) {
    const field = (name) => control("input", name, { type: "number", step: spec.step });
    const fields = spec.names.map((row) => row.map(field));
    const heading = (text) => element("span", { class: "ffn-heading", "aria-hidden": "true" }, text);
    const grid = element("div", { class: "ffn-grid" });
    const named = spec.rows.length > 0;
    grid.style.gridTemplateColumns = `${named ? "auto " : ""}repeat(${spec.columns.length}, auto)`;
    grid.append(...(named ? [heading("")] : []), ...spec.columns.map(heading));
    fields.forEach((row, at) => grid.append(...(named ? [heading(spec.rows[at])] : []), ...row));
    const halfTyped = new Set();
    const held = new Map(); // the number last taken from each field
    for (const input of fields.flat()) {
      // A browser leaves out a comma that it does not take for a decimal mark, and 0,5 would become 05.
      input.addEventListener("beforeinput", (event) => {
        if (!event.data?.includes(",")) return;
        event.preventDefault();
        document.execCommand("insertText", false, event.data.replace(",", "."));
      });
      // A half-typed number ("", "-") waits: it is only taken, and remarked on, when the field is left.
      input.addEventListener("input", () => {
        if (input.value === "") halfTyped.add(input);
        else { halfTyped.delete(input); moved(TYPING_PAUSE); }
      });
      input.addEventListener("change", () => { halfTyped.delete(input); moved(); });
    }
    return {
      node: element("fieldset", { class: "ffn-matrix" }, element("legend", {}, spec.label), grid),
      value: () => fields.map((row) => row.map((input) => halfTyped.has(input) ? held.get(input) : input.value)),
      // A field that already holds the number keeps its text, so that "0." can become "0.5" under the fingers.
      set: (rows) => rows.forEach((row, r) => row.forEach((value, c) => {
        const input = fields[r][c];
        held.set(input, value);
        if (halfTyped.has(input)) return;
        if (input.value === "" || Number(input.value) !== value) input.value = String(value);
      })),
    };
  },
};

function render({ model, el }) {
  const picture = element("div", { class: "ffn-picture" });
  const words = element("p", { class: "ffn-words", "aria-live": "polite" });
  const note = element("p", { class: "ffn-note", "aria-live": "polite" });
  const controls = {};

  let timer = null; // a question about to be sent
  let waiting = null; // for the answer to the last one
  let unsent = false; // something moved since then

  // A screen reader waits with what changes inside a busy element, so it says the last sentence and none on the way.
  function busy() {
    root.setAttribute("aria-busy", String(timer !== null || waiting !== null));
  }

  function ask() {
    timer = null;
    if (waiting !== null) {
      unsent = true; // one question at a time: the answer to the newest position is the one that counts
      return;
    }
    unsent = false;
    waiting = setTimeout(() => { waiting = null; busy(); note.textContent = NO_ANSWER; }, PATIENCE);
    const asked = Object.fromEntries(Object.entries(controls).map(([name, control]) => [name, control.value()]));
    model.send({ turn: model.get("turn") + 1, asked });
  }

  function moved(pause = 0) {
    clearTimeout(timer);
    timer = setTimeout(ask, pause);
    busy();
  }

  function answered() {
    clearTimeout(waiting);
    waiting = null;
    if (unsent) ask();
    if (timer === null && waiting === null) settle();
    show(); // also while a hand still moves: a picture one step behind says more than one that stands still
    busy();
  }

  function settle() {
    for (const [name, control] of Object.entries(controls)) control.set(model.get("positions")[name]);
  }

  function show() {
    picture.innerHTML = model.get("body");
    // Setting an equal text again would make a screen reader say it again.
    const sentence = `In words: ${model.get("words")}`;
    if (words.textContent !== sentence) words.textContent = sentence;
    if (note.textContent !== model.get("note")) note.textContent = model.get("note");
  }

  const panel = element("div", { class: "ffn-controls" });
  for (const spec of model.get("controls")) {
    controls[spec.name] = makers[spec.kind](spec, moved);
    panel.append(controls[spec.name].node);
  }
  const root = element("div", { class: "ffn-explorer", role: "group", "aria-label": model.get("title") });
  root.append(element("p", { class: "ffn-title" }, model.get("title")), panel, note, picture, words);
  el.append(root);
  settle();
  show();

  model.on("change:turn", answered);
  return () => {
    clearTimeout(timer);
    clearTimeout(waiting);
    model.off("change:turn", answered);
  };
}

export default { render };
