// Makes the memory snapshot, in Node: node make_snapshot.mjs JOB.json. Started by snapshot.py, which writes the job and
// reads the result. Starts Pyodide, fills it (inside/), tidies its memory, writes what differs from a fresh start, and
// then proves the result by restoring it and computing with it.
//
// job: {runtime, restore, inside, libraries: [{path, file}], numpy: {path: text}, package: {path: text},
//       core (PyScript's bundle), archives, lock, id, memory and plan (where the results go)}

import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

// An uncaught error would print a line of Pyodide's source: a megabyte.
process.on("uncaughtException", (error) => {
  console.error(String(error?.message ?? error).trim().slice(-4000));
  process.exit(1);
});

const job = JSON.parse(fs.readFileSync(process.argv[2], "utf8"));
const load = (file) => import(pathToFileURL(path.resolve(file)).href);
const { apply, checksum, decode, encode, linking, restoring, restoringOptions } = await load(job.restore);
const { loadPyodide } = await load(path.join(job.runtime, "pyodide.mjs"));
await load(path.join(job.runtime, "pyodide.asm.js"));
const create = globalThis._createPyodideModule;

const SITE = "/lib/python3.13/site-packages/";
const codes = await Promise.all(job.libraries.map(({ file }) => WebAssembly.compile(fs.readFileSync(file))));
const libraries = job.libraries.map((library, i) => ({ path: library.path, code: codes[i] }));

// Docstrings would be a fifth of the snapshot. One hash seed for all, because hashes of strings are in the memory.
const env = { PYTHONOPTIMIZE: "2", PYTHONHASHSEED: "0", LANG: "C.UTF-8" };
const common = { indexURL: job.runtime + "/", env, lockFileContents: JSON.stringify(job.lock) };

const start = (wrap, options) => {
  globalThis._createPyodideModule = wrap;
  return loadPyodide({ ...common, ...options });
};

// --- PyScript's own Python package, from its bundle -------------------------------------------------------------------

// The object literal that follows `(".",` in the bundle: {pyscript: {"__init__.py": "...", ...}}.
function pyscriptSources(bundle) {
  const begin = bundle.indexOf('{pyscript:{"__init__.py":');
  if (begin < 0) return null;
  let depth = 0;
  for (let i = begin, quote = ""; i < bundle.length; i++) {
    const character = bundle[i];
    if (quote) {
      if (character === "\\") i++;
      else if (character === quote) quote = "";
    } else if ("\"'`".includes(character)) quote = character;
    else if (character === "{") depth++;
    else if (character === "}" && --depth === 0) return Function(`return ${bundle.slice(begin, i + 1)}`)();
  }
  return null;
}

const flat = (tree, folder = "") =>
  Object.entries(tree).flatMap(([name, value]) =>
    typeof value === "string" ? [[folder + name, value]] : flat(value, `${folder}${name}/`),
  );

// What PyScript runs before the page's code: it writes these files and imports the package. Where the page sees exactly
// this text it only imports, because the modules are here already.
function prelude(tree) {
  const lines = ["import os as _os", "from pathlib import Path as _Path", "_path = None"];
  const write = (folder, literal) => {
    for (const [name, value] of Object.entries(literal)) {
      lines.push(`_path = _Path("${folder}/${name}")`);
      if (typeof value === "string") lines.push(`_path.write_text(${JSON.stringify(value)},encoding="utf-8")`);
      else {
        lines.push(`if not _os.path.exists("${folder}/${name}"):`, "    _path.mkdir(parents=True, exist_ok=True)");
        write(`${folder}/${name}`, value);
      }
    }
  };
  write(".", tree);
  lines.push("import pyscript as _pyscript", "del _Path", "del _path", "del _os", "del _pyscript");
  return lines.join("\n") + "\n";
}

const tree = pyscriptSources(fs.readFileSync(job.core, "utf8"));

const settled = (value) => Promise.resolve(value);

// Ranges of words that differ; a gap shorter than 8 words is cheaper to include than to describe.
function difference(memory, from) {
  const ranges = [];
  for (let i = 0; i < memory.length; i++) {
    if (memory[i] === from[i]) continue;
    let last = i;
    for (let j = i + 1; j < memory.length && j - last <= 8; j++) if (memory[j] !== from[j]) last = j;
    ranges.push(i, last + 1 - i);
    i = last;
  }
  const words = new Uint32Array(ranges.reduce((sum, value, i) => (i % 2 ? sum + value : sum), 0));
  for (let i = 0, at = 0; i < ranges.length; at += ranges[i + 1], i += 2) {
    words.set(memory.subarray(ranges[i], ranges[i] + ranges[i + 1]), at);
  }
  return { ranges, words };
}

// --- fill --------------------------------------------------------------------------------------------------------------

let module, layout, relocations;
const python = await start(
  (settings) =>
    new Promise((resolve, reject) => {
      linking(settings, libraries, null, {
        linked: (found) => (layout = found),
        failed: reject,
        relocate(made, original) {
          const before = made.HEAPU32.slice();
          original();
          relocations = difference(made.HEAPU32, before);
        },
      });
      create(settings).then((made) => resolve((module = made)), reject);
    }),
  { _makeSnapshot: true },
);
for (const [name, text] of Object.entries({ ...job.numpy, ...job.package })) {
  python.FS.mkdirTree(path.posix.dirname(SITE + name));
  python.FS.writeFile(SITE + name, text);
}
for (const { path: name } of libraries) python.FS.writeFile(name, new Uint8Array()); // linked already: only looked for
python.FS.mkdirTree("/making");
for (const name of ["late_imports.py", "fill_snapshot.py"]) {
  python.FS.writeFile(`/making/${name}`, fs.readFileSync(path.join(job.inside, name)));
}
const inputs = { PACKAGE: job.package, PYSCRIPT: tree ? Object.fromEntries(flat(tree)) : {}, ARCHIVES: job.archives };
python.FS.writeFile("/making/inputs.json", JSON.stringify(inputs));
python.runPython(`
def _fill():
    import importlib, json, sys, types
    importlib.invalidate_caches()
    def run(name, space):
        with open("/making/" + name, encoding="utf-8") as file:
            exec(compile(file.read(), name, "exec", dont_inherit=True), space)
    late = types.ModuleType("_late_imports")
    run("late_imports.py", late.__dict__)
    sys.modules["_late_imports"] = late
    with open("/making/inputs.json", encoding="utf-8") as file:
        space = {"__name__": "fill_snapshot", **json.load(file)}
    run("fill_snapshot.py", space)
    space["fill"]()
    space.clear()
_fill()
del _fill
import gc as _gc
_gc.collect()
_gc.collect()
_gc.freeze()
del _gc`);

// --- tidy --------------------------------------------------------------------------------------------------------------

// Zero what the allocator (dlmalloc) has free and the unused part of the stack: old contents only cost bytes. A chunk is
// [size of the one before, size | flags, contents]; flag 2 says that it is in use. A free one keeps its list pointers.
function tidy(memory, bytes, heap, end) {
  let chunk = heap;
  while (chunk < end) {
    const head = memory[(chunk + 4) >>> 2];
    const size = head & ~7;
    if (size < 8 || chunk + size > end) throw new Error(`the heap cannot be walked at ${chunk}`);
    if (!(head & 2) && chunk + size < end) bytes.fill(0, chunk + (size < 256 ? 16 : 32), chunk + size);
    chunk += size;
  }
  bytes.fill(0, module._emscripten_stack_get_end(), module.stackSave());
}

const whole = python.makeMemorySnapshot();
const prefix = new Uint32Array(whole.buffer, 0, 4);
const state = JSON.parse(new TextDecoder().decode(whole.subarray(48, 48 + prefix[2])));
const bytes = whole.slice(prefix[1]);
const memory = new Uint32Array(bytes.buffer);
tidy(memory, bytes, layout.heap, module._sbrk(0));

// --- compare with a fresh start -----------------------------------------------------------------------------------------

const stop = new Error("seen");
let fresh;
const plan = { id: job.id, state, layout: { ...layout, memory: bytes.length } };
await start(
  async (settings) => {
    fresh = (await restoring(create, plan, settled(codes), settled({ relocations }))(settings)).HEAPU32.slice();
    throw stop;
  },
  { _loadSnapshot: whole },
).catch((error) => {
  if (error !== stop) throw error;
});

const file = encode(job.id, relocations, difference(memory, fresh));
plan.size = file.length;
const copy = fresh.slice();
apply(decode(file.buffer, plan).contents, copy);
if (!copy.every((word, i) => word === memory[i])) throw new Error("the ranges do not give the memory back");

// --- prove it: restore and compute ---------------------------------------------------------------------------------------

const empty = job.memory + ".empty"; // stands for the standard library's archive, which is then not needed
fs.writeFileSync(empty, "");
const again = await start(restoring(create, plan, settled(codes), settled(decode(file.buffer, plan))), {
  ...restoringOptions,
  stdLibURL: empty,
});
const proof = again.runPython(`
import _late_imports
_late_imports.awake()
from attention_lab import attend
str(attend([[1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]], [[1.0, 2.0], [3.0, 4.0]]).output.round(6).tolist())`);
if (proof !== "[[1.660477, 2.660477]]") throw new Error(`the restored Python computes ${proof}`);

if (tree) {
  const text = prelude(tree);
  plan.prelude = { length: text.length, checksum: checksum(text) };
}
fs.writeFileSync(job.memory, file);
fs.writeFileSync(job.plan, JSON.stringify(plan));
process.exit(0); // Pyodide keeps Node's event loop alive
