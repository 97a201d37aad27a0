// What must work before Python does: theme, the status line, prerendered examples, and keeping early edits.
// Everything else is Python's; this file hands over when <html data-python> becomes "ready".
(() => {
  "use strict";
  const root = document.documentElement;
  const stored = (key, value) => {
    try {
      if (value === undefined) return localStorage.getItem(key);
      localStorage.setItem(key, value);
    } catch {
      return null; // storage may be blocked; the theme then lasts as long as the page
    }
  };

  const theme = stored("attention-lab-theme");
  if (theme === "light" || theme === "dark") root.dataset.theme = theme;

  // Until the form can be folded, the style sheet folds it, so that nothing moves after the first paint.
  if (matchMedia("(max-width: 999px)").matches) root.dataset.folding = "1";

  const labs = ["calculator", "walkthrough", "heatmap", "check"];
  const values = new URLSearchParams(location.hash.slice(1));
  if (labs.includes(values.get("lab"))) root.dataset.lab = values.get("lab");
  if (values.get("embed") === "1") root.dataset.embed = "1";
  // The prerendered answer is the opening calculator's. For any other link it would be a wrong answer, so it is hidden.
  if ([...values.keys()].some((key) => !["lab", "embed", "hide"].includes(key)) || root.dataset.lab !== "calculator") {
    root.dataset.pending = "1";
  }

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
  // A script that does not arrive (or one that it imports) says so only here, on its element.
  addEventListener(
    "error",
    (event) => {
      if (event.target.tagName === "SCRIPT") failed("a part of the page could not be fetched.");
    },
    true,
  );

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
      stored("attention-lab-theme", root.dataset.theme);
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
    form.addEventListener("input", (event) => {
      if (!waiting()) return;
      root.dataset.touched = event.target.name;
      if (event.target.name === "example" && show(event.target.value)) return;
      const note = document.getElementById("stale-note");
      note.textContent = "Python is still starting: your change is kept and computed the moment it is ready.";
      note.hidden = false;
    });
  });
})();
