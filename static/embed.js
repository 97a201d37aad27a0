// Inside a frame: tells the page around it how tall the content is. Only a height is sent. It knows nothing of what is
// on the page.
(() => {
  "use strict";
  if (window.parent === window) return;

  let told = 0;
  const tell = () => {
    // The body, not the document: that is never less than the frame itself, so the frame could only grow.
    const height = Math.ceil(document.body.getBoundingClientRect().bottom + window.scrollY);
    if (!height || height === told) return;
    told = height;
    window.parent.postMessage({ type: "attention-lab:height", height }, "*");
    window.parent.postMessage({ subject: "lti.frameResize", height }, "*");
  };
  addEventListener("DOMContentLoaded", () => {
    new ResizeObserver(tell).observe(document.body);
    tell();
  });
})();
