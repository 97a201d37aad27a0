// Steps of the opening walkthrough before Python is ready: shows the frames that the build made, packed in the page.
// It computes nothing. Any other problem, playing and predicting wait for Python, which takes over at the step on show.
(() => {
  "use strict";
  const root = document.documentElement;
  const waiting = () => root.dataset.python !== "ready";
  const opening = { example: "walkthrough-masked", causal: "top-left" };
  const link = () => new URLSearchParams(location.hash.slice(1));
  const isOpening = (values) =>
    values.get("lab") === "walkthrough" &&
    [...values].every(([key, value]) => ["lab", "step", "embed", "hide"].includes(key) || opening[key] === value);
  let frames = null;
  let step = 0;
  const shown = {};

  const unpack = async () => {
    const bytes = Uint8Array.from(atob(document.getElementById("walk-frames").textContent), (c) => c.charCodeAt(0));
    const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(plain).json();
  };

  const show = (wanted) => {
    if (!frames || !waiting()) return;
    step = Math.max(0, Math.min(wanted, frames.steps - 1));
    for (const [name, changes] of Object.entries(frames.slots)) {
      const html = changes.findLast(([at]) => at <= step)[1];
      const place = document.querySelector(`[data-slot="${name}"]`);
      if (place && shown[name] !== html) place.innerHTML = shown[name] = html;
    }
    root.dataset.step = step;
    root.dataset.steps = frames.steps;
    document.getElementById("walk-scrub").value = step;
    const phases = [...document.querySelectorAll("[data-phase]")];
    const current = phases.findLast((button) => Number(button.dataset.to) <= step);
    for (const button of phases) button.toggleAttribute("aria-current", button === current);
    current.setAttribute("aria-current", "step");
  };

  const go = (wanted) => {
    show(wanted);
    const values = link();
    values.set("lab", "walkthrough");
    values.set("step", step);
    try {
      history.replaceState(null, "", "#" + values);
    } catch {
      return; // some sandboxed frames forbid it; Python then starts at the first step
    }
    document.getElementById("announce").textContent = document.querySelector(".walk-sentence").textContent;
  };

  const fill = (values) => {
    for (const element of document.getElementById("lab-form").elements) {
      if (!(element.name in values)) continue;
      if (element.type === "checkbox") element.checked = true;
      else element.value = values[element.name];
    }
    for (const badge of document.querySelectorAll("[data-shape-of]")) {
      const rows = values[badge.dataset.shapeOf]?.split("\n");
      if (rows) badge.textContent = `${rows.length}×${rows[0].split(" ").length}`;
    }
    for (const link of document.querySelectorAll("nav [data-lab-link]")) {
      if (link.dataset.labLink === "walkthrough") link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
  };

  const open = () => {
    if (!waiting()) return;
    const values = link();
    const lab = values.get("lab") || "calculator";
    root.dataset.lab = lab;
    if (!frames || !isOpening(values)) return;
    root.dataset.moved = "1";
    fill(frames.values);
    show(Number(values.get("step")) || 0);
    delete root.dataset.pending;
  };

  // Unpacked when they are first asked for. Where that fails (an old browser, an unbuilt page) the walkthrough waits for
  // Python.
  let unpacking = null;
  const ask = async () => {
    if (!waiting() || !isOpening(link())) return;
    try {
      frames = await (unpacking ??= unpack());
      open();
    } catch {
      frames = null;
    }
  };

  document.addEventListener("DOMContentLoaded", () => {
    ask();
    addEventListener("hashchange", ask);
    const targets = { first: () => 0, back: () => step - 1, next: () => step + 1, last: () => Infinity };
    document.addEventListener("click", (event) => {
      const button = event.target.closest?.("[data-walk]");
      if (!button || !waiting()) return;
      if (button.dataset.walk === "go") go(Number(button.dataset.to));
      else if (button.dataset.walk in targets) go(targets[button.dataset.walk]());
    });
    document.addEventListener("input", (event) => {
      if (event.target.id === "walk-scrub" && waiting()) go(Number(event.target.value));
    });
    document.addEventListener("keydown", (event) => {
      if (!waiting() || root.dataset.lab !== "walkthrough" || event.ctrlKey || event.metaKey || event.altKey) return;
      if (["INPUT", "TEXTAREA", "SELECT"].includes(event.target.tagName)) return;
      const button = document.querySelector(`.walk-bar [data-key="${CSS.escape(event.key)}"]`);
      if (!button) return;
      event.preventDefault();
      button.click();
    });
  });
})();
