// The opening heatmap before Python is ready: the build drew it into templates, this puts it in place and fills the form.
// It computes nothing; any other sentence or setting waits for Python.
(() => {
  "use strict";
  const root = document.documentElement;
  const plain = new Set(["lab", "embed", "hide"]);

  const open = () => {
    if (root.dataset.python === "ready" || root.dataset.touched) return;
    const values = new URLSearchParams(location.hash.slice(1));
    if (values.get("lab") !== "heatmap" || [...values.keys()].some((key) => !plain.has(key))) return;
    root.dataset.moved = "1";
    for (const other of document.querySelectorAll("[data-lab-panel='calculator'] [data-slot]")) other.replaceChildren();
    for (const template of document.querySelectorAll("template[data-for-slot]")) {
      const place = document.querySelector(`[data-slot="${template.dataset.forSlot}"]`);
      place.replaceChildren(template.content.cloneNode(true));
    }
    for (const field of document.querySelectorAll("[data-opening]")) field.value = field.dataset.opening;
    document.getElementById("causal").checked = true;
    for (const link of document.querySelectorAll("nav [data-lab-link]")) {
      if (link.dataset.labLink === "heatmap") link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    root.dataset.lab = "heatmap";
    delete root.dataset.pending;
  };

  document.addEventListener("DOMContentLoaded", open);
  addEventListener("hashchange", open);
})();
