// Makes the served page work without network from the second visit on. Once Python is ready, so that it delays nothing.
// The single file does not have this script; in a frame without an origin of its own there is nothing to register.
(() => {
  "use strict";
  if (!navigator.serviceWorker || !isSecureContext || origin === "null") return;
  const root = document.documentElement;
  const register = () => {
    if (!["ready", "failed"].includes(root.dataset.python)) return;
    observer.disconnect();
    navigator.serviceWorker.register("./service-worker.js").catch(() => {}); // storage may be blocked
  };
  const observer = new MutationObserver(register);
  observer.observe(root, { attributes: true, attributeFilter: ["data-python"] });
  register();
})();
