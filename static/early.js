// What must work before Python does: the status line, prerendered examples, folds, and keeping early edits.
// What must be settled before the first paint is in first.js.
// Everything else is Python's; this file hands over when <html data-python> becomes "ready".
(() => {
  "use strict";
  const root = document.documentElement;
  const say = (text, status) => {
    const line = document.getElementById("python-status");
    if (!line || root.dataset.tooOld) return; // oldest.js has said why
    line.textContent = text;
    line.dataset.status = status;
  };
  addEventListener("lab-progress", (event) => {
    const { text, fraction } = event.detail;
    say(fraction ? `${text} ${Math.round(fraction * 100)} %` : text, "loading");
  });
  const failed = (reason) => {
    if (root.dataset.python === "ready") return;
    root.dataset.python = "failed";
    const shown = root.dataset.pending ? "This state cannot be computed" : "The results shown were computed when the page was built";
    say(`Python could not start: ${reason} ${shown}. Try reloading, or another browser.`, "failed");
  };
  addEventListener("lab-failed", (event) => failed(event.detail.text));
  if (root.dataset.failure) failed(root.dataset.failure); // it happened before this ran

  document.addEventListener("DOMContentLoaded", () => {
    const form = document.getElementById("lab-form");
    form.addEventListener("submit", (event) => event.preventDefault());
    // On a narrow screen the inputs fold to one line, so that the result is in sight.
    const narrow = matchMedia("(max-width: 999px)");
    const fold = () => (document.getElementById("fold").open = !narrow.matches);
    narrow.addEventListener("change", fold);
    fold();
    delete root.dataset.folding;
    const waiting = () => root.dataset.python !== "ready";

    document.getElementById("theme").addEventListener("click", () => {
      const dark = root.dataset.theme
        ? root.dataset.theme === "dark"
        : matchMedia("(prefers-color-scheme: dark)").matches;
      root.dataset.theme = dark ? "light" : "dark";
      try {
        localStorage.setItem("attention-lab-theme", root.dataset.theme);
      } catch {
        // storage may be blocked; the theme then lasts as long as the page
      }
    });

    const prerendered = JSON.parse(document.getElementById("prerendered")?.textContent || "{}");
    const show = (name) => {
      const ready = prerendered[name];
      if (!ready) return false;
      for (const [slot, html] of Object.entries(ready.slots)) {
        const element = document.querySelector(`[data-slot="${slot}"]`);
        if (element) element.innerHTML = html;
      }
      for (const element of form.elements) {
        if (!element.name || element.name === "example") continue;
        const value = ready.values[element.name];
        if (element.type === "checkbox") {
          element.checked = element.name === "scale" ? (value ?? "sqrt_dk") !== "none" : value !== undefined;
        } else {
          element.value = value ?? { T: "1", decimals: "4" }[element.name] ?? element.defaultValue ?? "";
          if (element.tagName === "SELECT" && element.selectedIndex < 0) element.selectedIndex = 0;
        }
      }
      return true;
    };
    // Whether the page still stands as the build made it: no lab but the calculator was opened, no field changed.
    const untouched = (field) => {
      if (!field.name) return true;
      if (!field.options) return field.value === field.defaultValue && field.checked === field.defaultChecked;
      return field.selectedIndex === Math.max(0, [...field.options].findIndex((option) => option.defaultSelected));
    };
    window.labAsBuilt = () =>
      !["touched", "moved", "pending"].some((mark) => mark in root.dataset) && [...form.elements].every(untouched);

    form.addEventListener("input", (event) => {
      if (!waiting()) return;
      const name = event.target.name;
      if (!name) return;
      // All fields in the order of their last edits: Python repeats these edits on the state of the link.
      root.dataset.touched = [...(root.dataset.touched ?? "").split(" ").filter((other) => other && other !== name), name].join(" ");
      if (name === "example" && show(event.target.value)) return;
      const note = document.getElementById("stale-note");
      note.textContent = "Python is still starting: your change is kept and computed the moment it is ready.";
      note.hidden = false;
    });
  });
})();
