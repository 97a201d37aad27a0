// Stands first in each measured page: notes what the page does until it is ready, and takes it all to the bench's server.
// `BENCH` is put in front: {done: address, until: "ready" | "paint", then: "" | "engine" | "edits" | one of labs.js, sizes}.
(() => {
  const seen = { longest: null, shift: null };
  const observe = (type, note) => {
    if (!PerformanceObserver.supportedEntryTypes?.includes(type)) return;
    new PerformanceObserver((list) => list.getEntries().forEach(note)).observe({ type, buffered: true });
  };
  const tasks = PerformanceObserver.supportedEntryTypes?.includes("longtask");
  if (tasks) seen.longest = 0;
  observe("longtask", (entry) => { if (!seen.ready) seen.longest = Math.max(seen.longest, entry.duration); });
  observe("layout-shift", (entry) => { if (!entry.hadRecentInput) seen.shift = (seen.shift ?? 0) + entry.value; });
  if (PerformanceObserver.supportedEntryTypes?.includes("layout-shift")) seen.shift = 0;

  const sleep = (time) => new Promise((resolve) => setTimeout(resolve, time));
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];

  // A small generator with a fixed start: the same numbers in every run.
  let state = 12345;
  const next = () => (state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff) / 0x7fffffff - 0.5;
  const matrix = (rows, columns) => Array.from({ length: rows }, () => Float64Array.from({ length: columns }, next));

  async function engine() {
    const [n, d] = [512, 64];
    const [q, k, v] = [matrix(n, d), matrix(n, d), matrix(n, d)];
    const { loadPyodide } = await import(new URL("./runtime.mjs", location.href).href);
    const python = await loadPyodide({});
    python.globals.set("_bench", [q, k, v].map((rows) => Float64Array.from(rows.flatMap((row) => [...row]))));
    python.runPython(`
import numpy as np
from attention_lab import attend
_q, _k, _v = (np.asarray(item.to_py()).reshape(${n}, ${d}) for item in _bench)`);
    const times = { python: [], plain: [] };
    for (let i = 0; i < 7; i++) {
      await sleep(20);
      let begin = performance.now();
      python.runPython("attend(_q, _k, _v); None");
      times.python.push(performance.now() - begin);
      await sleep(20);
      begin = performance.now();
      attend(q, k, v);
      times.plain.push(performance.now() - begin);
    }
    seen.engine = { python: median(times.python), plain: median(times.plain) };
    seen.heap = python._module.HEAPU8.length;
    python.runPython("_big = np.arange(1024 * 64.0).reshape(1024, 64) % 7 / 7\n_trace = attend(_big, _big, _big)");
    seen.heapAt1024 = python._module.HEAPU8.length;
  }

  // From the edit to the moment after the frame that shows it.
  function painted(change, root) {
    return new Promise((resolve, reject) => {
      const limit = setTimeout(() => reject(new Error("nothing changed for 60 s")), 60000);
      const begin = performance.now();
      const watch = new MutationObserver(() => {
        watch.disconnect();
        clearTimeout(limit);
        requestAnimationFrame(() => {
          const channel = new MessageChannel();
          channel.port1.onmessage = () => resolve(performance.now() - begin);
          channel.port2.postMessage(0);
        });
      });
      watch.observe(root, { childList: true, subtree: true, characterData: true });
      change();
    });
  }

  async function edits() {
    const root = document.querySelector(".stages") ?? document.getElementById("main");
    const text = (rows) => rows.map((row) => [...row].map((value) => value.toFixed(4)).join(" ")).join("\n");
    const fields = ["q", "k", "v"].map((id) => document.getElementById(id));
    const tell = (field) => field.dispatchEvent(new InputEvent("input", { bubbles: true }));
    seen.edits = {};
    for (const n of BENCH.sizes) {
      const d = Math.min(n, 64);
      const rows = [matrix(n, d), matrix(n, d), matrix(n, d)];
      try {
        await painted(() => fields.forEach((field, i) => { field.value = text(rows[i]); tell(field); }), root);
        const times = [];
        for (let i = 0; i < (n > 256 ? 3 : 5); i++) {
          await sleep(200);
          rows[0][0][0] = i / 8;
          const changed = text(rows[0]);
          times.push(await painted(() => { fields[0].value = changed; tell(fields[0]); }, root));
        }
        seen.edits[n] = median(times);
      } catch (error) {
        seen.edits[n] = String(error.message);
      }
    }
  }

  // The longest task that edits of 16 × 16 cause, with all that follows them; the browser tells of none under 50 ms.
  async function blocks() {
    const fields = ["q", "k", "v"].map((id) => document.getElementById(id));
    const text = (rows) => rows.map((row) => [...row].map((value) => value.toFixed(4)).join(" ")).join("\n");
    const rows = matrix(16, 16);
    let longest = 0;
    const change = async (field) => {
      field.value = text(rows);
      field.dispatchEvent(new InputEvent("input", { bubbles: true }));
      await sleep(500);
    };
    for (const field of fields) await change(field);
    const watch = new PerformanceObserver((list) => list.getEntries().forEach((entry) => { longest = Math.max(longest, entry.duration); }));
    watch.observe({ type: "longtask" });
    for (let i = 0; i < 5; i++) {
      rows[i][i] = i;
      await change(fields[i % 3]);
    }
    await sleep(300);
    watch.disconnect();
    seen.blocks = longest;
  }

  async function finish() {
    await sleep(300); // entries about long tasks come late
    try {
      if (BENCH.then === "engine") await engine();
      if (BENCH.then === "edits") await edits();
      if (BENCH.then === "edits" && tasks && document.querySelector(".stages")) await blocks();
      if (typeof LABS !== "undefined" && LABS[BENCH.then]) seen.lab = await LABS[BENCH.then]();
    } catch (error) {
      seen.error = String(error);
    }
    location.href = `${BENCH.done}?${encodeURIComponent(JSON.stringify(seen))}`;
  }

  function ready() {
    if (seen.ready) return;
    seen.ready = performance.now();
    frame().then(() => sleep(50)).then(() => {
      const paint = performance.getEntriesByName("first-contentful-paint")[0];
      seen.paint = paint ? paint.startTime : null;
      finish();
    });
  }

  if (BENCH.until === "paint") addEventListener("load", () => setTimeout(ready, 300));
  else {
    const check = () => {
      const state = document.documentElement?.dataset.python;
      if (state === "failed") seen.error = "Python did not start";
      if (state === "ready" || state === "failed") ready();
    };
    new MutationObserver(check).observe(document, { attributes: true, subtree: true, childList: true, attributeFilter: ["data-python"] });
  }
})();
