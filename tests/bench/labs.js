// What the bench does in the pages of single labs, by name (`BENCH.then`); each returns its figures in milliseconds.
const LABS = (() => {
  const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];
  const painted = () => new Promise((done) => requestAnimationFrame(() => {
    const channel = new MessageChannel();
    channel.port1.onmessage = done;
    channel.port2.postMessage(0);
  }));

  // One step of the walkthrough, style and layout included. The plain page has `next`.
  async function steps() {
    const forward = globalThis.next ?? (() => document.querySelector("[data-walk=next]").click());
    const times = [];
    for (let i = 0; i < 90; i++) {
      await painted();
      const begin = performance.now();
      forward();
      document.body.offsetHeight;
      times.push(performance.now() - begin);
    }
    return { step: median(times), slowest: Math.max(...times) };
  }

  // One word of a sentence changed, until the frame that shows it is painted.
  async function sentences() {
    const box = document.getElementById("sentence");
    const figures = {};
    for (const count of [64, 256]) {
      const words = Array.from({ length: count }, (_, i) => `word${i}`);
      const times = [];
      for (let k = 0; k < 12; k++) {
        const next = words.slice();
        next[(k * 7) % count] = `edit${k}`;
        await painted();
        await painted();
        const begin = performance.now();
        box.value = next.join(" ");
        box.dispatchEvent(new Event("input", { bubbles: true }));
        await painted();
        if (k >= 2) times.push(performance.now() - begin);
      }
      figures[count] = median(times);
    }
    return figures;
  }

  // The first diagnosis in a page, and one of the largest problem the page shows as tables: forgotten division by the root.
  async function diagnoses() {
    const { loadPyodide } = await import(new URL("./runtime.mjs", location.href).href);
    const python = await loadPyodide({});
    const figures = {};
    for (const [n, m, d] of [[4, 5, 3], [64, 64, 32]]) {
      python.runPython(`
import numpy as np
from attention_lab import Options, attend, diagnose
_random = np.random.default_rng(7)
_q, _k, _v = _random.normal(size=(${n}, ${d})), _random.normal(size=(${m}, ${d})), _random.normal(size=(${m}, 4))
_wrong = attend(_q, _k, _v, Options(scale="none")).output`);
      const begin = performance.now();
      const name = python.runPython("diagnose(_q, _k, _v, _wrong).candidates[0].id");
      figures[`${n}x${m}`] = performance.now() - begin;
      if (name !== "S1") throw new Error(`the mistake was taken for ${name}`);
    }
    return figures;
  }

  return { steps, sentences, diagnoses };
})();
