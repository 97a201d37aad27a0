// What the bench does in the page of the real head: fetched (or found in the cache), then one sentence after the other
// through all layers. `BENCH.sentences` are they, `BENCH.memory` is the address that tells the memory of this page's process.
const LABS = (() => {
  const sleep = (time) => new Promise((resolve) => setTimeout(resolve, time));
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];

  async function head() {
    const until = async (holds, what) => {
      const limit = performance.now() + 60000;
      while (!holds()) {
        if (performance.now() > limit) throw new Error(`${what} took more than 60 s`);
        await frame();
      }
    };
    const show = async (text, layer) => {
      const begin = performance.now();
      const words = document.getElementById("sentence");
      location.hash = `lab=heatmap&model=minilm&layer=${layer}&modelhead=3&text=${encodeURIComponent(text)}`;
      const status = () => document.querySelector(".heat-status")?.textContent ?? "";
      const stale = () => document.getElementById("results").hasAttribute("data-stale");
      await until(() => status().includes(`layer ${layer}, head 3 · ${text.split(" ").length + 2} pieces`) && !stale() && words.value === text, text);
      return performance.now() - begin;
    };
    location.hash = "lab=heatmap&text=ready";
    await sleep(500);
    const source = document.getElementById("model");
    source.value = "minilm";
    source.dispatchEvent(new Event("input", { bubbles: true }));
    await until(() => document.documentElement.dataset.model === "ready", "fetching the model");
    await show("a short one", 0);
    const shown = [];
    for (const text of BENCH.sentences) {
      await sleep(300);
      await show("a short one", 0);
      await sleep(300);
      shown.push(await show(text, 5));
    }
    const memory = async () => {
      await sleep(1000);
      const bytes = await (await fetch(BENCH.memory)).json();
      return bytes === null ? null : bytes / 1e6;
    };
    const usual = await memory();
    const { loadPyodide } = await import(new URL("./runtime.mjs", location.href).href);
    const python = await loadPyodide({});
    python.globals.set("_texts", python.toPy(BENCH.sentences));
    const times = python.runPython(`
import time
from attention_lab.model.encoder import Current, Pass
_times = []
for _text in _texts:
    _pass, _begin = Pass(Current.encoder, _text), time.perf_counter()
    _pass.layer(5)
    _times.append(1000 * (time.perf_counter() - _begin))
_times`).toJs();
    await show(Array(126).fill("cat").join(" "), 5);
    return { shown: median(shown.slice(1)), pass: median(times.slice(1)), memory: usual, longest: await memory() };
  }

  return { head };
})();
