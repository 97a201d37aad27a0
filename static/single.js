// The single file only: turn the modules in the page into blob: URLs under one import map, then start PyScript.
// It runs last in the body, as a classic script, because an import map must stand before the first module
// (Firefox takes no second one). The build fills in nothing here; it names everything in data attributes.
(() => {
  "use strict";
  const imports = {};
  for (const element of document.querySelectorAll("script[data-module]")) {
    const blob = new Blob([element.textContent], { type: "text/javascript" });
    imports[element.dataset.module] = URL.createObjectURL(blob);
  }
  const { start, nonce, lock } = document.currentScript.dataset;
  const map = document.createElement("script");
  map.type = "importmap";
  map.nonce = nonce;
  map.textContent = JSON.stringify({ imports });
  document.head.append(map);
  // From here on the page's policy lets no inline script run, not even one with this nonce.
  const policy = document.createElement("meta");
  policy.httpEquiv = "Content-Security-Policy";
  policy.content = lock;
  document.head.append(policy);

  for (const name of start.split(" ")) {
    import(name).catch((error) => {
      document.documentElement.dataset.python = "failed";
      const text = `This browser could not start the page's own modules (${error.message}).`;
      document.dispatchEvent(new CustomEvent("lab-failed", { bubbles: true, detail: { text } }));
    });
  }
})();
