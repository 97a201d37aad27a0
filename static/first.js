// What must be settled before the first paint: theme, lab, and what the link hides. Small, because the paint waits for
// it; all other scripts come later. It reads the link and the stored theme, and writes attributes of <html>.
(() => {
  "use strict";
  const root = document.documentElement;

  try {
    const theme = localStorage.getItem("attention-lab-theme");
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  } catch {
    // storage may be blocked
  }

  // Until the form can be folded, the style sheet folds it, so that nothing moves after the first paint.
  if (matchMedia("(max-width: 999px)").matches) root.dataset.folding = "1";

  const values = new URLSearchParams(location.hash.slice(1));
  if (["calculator", "walkthrough", "heatmap", "check"].includes(values.get("lab"))) root.dataset.lab = values.get("lab");
  if (values.get("embed") === "1") root.dataset.embed = "1";
  if (values.get("hide")) root.dataset.hide = values.get("hide").split(",").join(" ");
  if (window.parent !== window && window.origin === "null") root.dataset.closed = "1"; // sandboxed: no saving, no printing
  // The prerendered answer is the opening calculator's. For any other link it would be a wrong answer, so it is hidden.
  if ([...values.keys()].some((key) => !["lab", "embed", "hide"].includes(key)) || root.dataset.lab !== "calculator") {
    root.dataset.pending = "1";
  }

  // A script that does not arrive (or one that it imports) says so only here, on its element.
  addEventListener(
    "error",
    ({ target }) => {
      if (target.tagName !== "SCRIPT" || root.dataset.python === "ready") return;
      root.dataset.python = "failed";
      root.dataset.failure = "a part of the page could not be fetched. Check the connection and reload the page.";
      document.dispatchEvent(new CustomEvent("lab-failed", { bubbles: true, detail: { text: root.dataset.failure } }));
    },
    true, // such an error does not bubble
  );
})();
