// The interpreter that PyScript is told to use: Pyodide with NumPy and our package already in it.
// Everything is started at once, as soon as the page has painted; PyScript only waits for the result.
// Python comes from the build's memory snapshot; where that cannot be used, it starts the normal way.
// This module reports progress and failure to the page. It does not touch the page's content.

import { manifest, moduleURL, open, openNow } from "./assets.mjs";
import { Mismatch, canRestore, checksum, decode, restoring, restoringOptions } from "./snapshot.mjs";

export const version = manifest.version;

const page = document.documentElement;
const SITE_PACKAGES = `/lib/python${manifest.python}/site-packages`;
const STANDARD_LIBRARY = `/lib/python${manifest.python.replace(".", "")}.zip`;
const LIBRARIES = manifest.libraries.map(({ name }) => name); // the two that `import numpy` loads, in that order
const NORMALLY = ["stdlib", "numpy", "app", ...LIBRARIES];

// Pyodide insists on a folder to fetch from, although it is handed every file. Whatever it asks for there is empty and
// never leaves the page.
const NOWHERE = "data:application/octet-stream,#/";

// --- what the reader is told ----------------------------------------------------------------------------------------

const report = (type, detail) => document.dispatchEvent(new CustomEvent(type, { bubbles: true, detail }));

// Each report makes the browser draw the page again, so a quick start makes none, and a slow one four in a second.
const PAUSE = 250;
let told = performance.now();

function progress(text, fraction) {
  if (page.dataset.python !== "loading" || performance.now() - told < PAUSE) return;
  told = performance.now();
  report("lab-progress", { text, fraction });
}

function fail(error) {
  if (page.dataset.python !== "loading") return;
  page.dataset.python = "failed";
  const reason = String(error?.message ?? error).trim().split("\n").pop();
  page.dataset.failure = /[.!?]$/.test(reason) ? reason : `${reason}.`; // early.js may not listen yet
  report("lab-failed", { text: page.dataset.failure });
}

// Another module may have failed to load before this one runs (see first.js); that stays so.
if (page.dataset.python !== "failed") page.dataset.python = "loading";

// PyScript prints an exception in main.py and goes on; the page must not wait for ever then.
function watchMain(pyodide) {
  const run = pyodide.runPythonAsync;
  pyodide.runPythonAsync = async (...call) => {
    try {
      return await run(...call);
    } catch (error) {
      fail(error);
      throw error;
    } finally {
      afterMain(pyodide);
    }
  };
}

// What nothing waits for at the start: after a restore, the files of our package.
let afterMain = () => {};

// --- downloads ------------------------------------------------------------------------------------------------------

// The prerendered answer comes first: nothing large is fetched or compiled until it is painted.
const painted = new Promise((resolve) => {
  if (document.visibilityState === "hidden" || !PerformanceObserver.supportedEntryTypes?.includes("paint")) resolve();
  else new PerformanceObserver(resolve).observe({ type: "paint", buffered: true });
  setTimeout(resolve, 1000); // should it never come
});

let expected = 0;
let fetched = 0;

function arrived(bytes) {
  fetched += bytes;
  const megabytes = (count) => (count / 1e6).toFixed(1);
  progress(`Fetching Python: ${megabytes(fetched)} of ${megabytes(expected)} MB`, 0.7 * (fetched / expected));
}

// Count the bytes that go by, and see that they are as many as the build says.
function counted(name, stream) {
  const { size } = manifest.files[name];
  let count = 0;
  return stream.pipeThrough(
    new TransformStream({
      transform(part, controller) {
        count += part.length;
        arrived(part.length);
        controller.enqueue(part);
      },
      flush() {
        if (count !== size) throw new Error(`${name} has ${count} bytes, not ${size} as the build says. Reload the page.`);
      },
    }),
  );
}

async function bytesOf(name) {
  const response = await open(name);
  if (!response.body) return new Uint8Array(await response.arrayBuffer());
  return new Uint8Array(await new Response(counted(name, response.body)).arrayBuffer());
}

// WebAssembly gets the response as it came: only then can the browser keep the compiled code for the next visit.
// A server may not know the media type; the bytes are then compiled when all of them are here.
async function compile(name) {
  const response = await open(name);
  const streams = /^application\/wasm\b/.test(response.headers.get("content-type"));
  const module = await (streams
    ? WebAssembly.compileStreaming(response)
    : WebAssembly.compile(await response.arrayBuffer()));
  arrived(manifest.files[name].size);
  return module;
}

async function importModule(name) {
  const module = await import(await moduleURL(name));
  arrived(manifest.files[name].size);
  return module;
}

// The snapshot goes into one buffer made here: only such a one can be given back to the browser at once.
async function decompressed(name) {
  const { body } = await open(name);
  const reader = counted(name, body).pipeThrough(new DecompressionStream("gzip")).getReader();
  const bytes = new Uint8Array(manifest.snapshot.size);
  let at = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    if (at + value.length > bytes.length) throw new Mismatch("the snapshot is too long");
    bytes.set(value, at);
    at += value.length;
  }
  if (at < bytes.length) throw new Mismatch("the snapshot is not whole");
  return bytes.buffer;
}

const started = new Map();
function part(name, load) {
  if (!started.has(name)) {
    expected += manifest.files[name].size;
    const promise = painted.then(() => load(name));
    promise.catch(() => {}); // whoever waits for it hears of it
    started.set(name, promise);
  }
  return started.get(name);
}

const useSnapshot = Boolean(manifest.snapshot) && canRestore();
// The largest first, and the code that runs as soon as it is here last.
part("wasm", compile);
if (useSnapshot) {
  part("snapshot", decompressed);
  for (const name of LIBRARIES) part(name, compile);
} else {
  for (const name of NORMALLY) part(name, bytesOf);
}
const parts = { wasm: part("wasm", compile), loader: part("loader", importModule), asm: part("asm", importModule) };

// --- start ----------------------------------------------------------------------------------------------------------

// Where Python's output goes once PyScript has said so.
const streams = { stdout: (text) => console.log(text), stderr: (text) => console.warn(text) };
const common = {
  indexURL: NOWHERE,
  packageBaseUrl: NOWHERE,
  stdout: (text) => streams.stdout(text),
  stderr: (text) => streams.stderr(text),
};

// Run Pyodide's loader with `wrap` around its `_createPyodideModule`, and with the WebAssembly module that has been
// compiling all along.
async function load(wrap, options) {
  const [{ loadPyodide: begin }] = await Promise.all([parts.loader, parts.asm]);
  const marker = Symbol("error marker"); // Pyodide's own substitute where its sentinel module cannot be compiled
  const sentinel = { create_sentinel: () => marker, is_sentinel: (value) => value === marker };
  const create = globalThis._createPyodideModule;
  const module = parts.wasm; // a failed download rejects here, not somewhere inside Pyodide
  globalThis._createPyodideModule = (settings) =>
    new Promise((resolve, reject) => {
      settings.instantiateWasm = (imports, done) => {
        module
          .then(async (code) => done(await WebAssembly.instantiate(code, { ...imports, sentinel }), code))
          .catch(reject);
        return {};
      };
      wrap(create)(settings).then(resolve, reject);
    });
  try {
    return await begin({ ...common, ...options });
  } finally {
    globalThis._createPyodideModule = create;
  }
}

async function startFromSnapshot() {
  const plan = manifest.snapshot;
  const libraries = Promise.all(LIBRARIES.map((name) => part(name, compile)));
  const contents = part("snapshot", decompressed).then((buffer) => decode(buffer, plan));
  const pyodide = await load((create) => restoring(create, plan, libraries, contents), {
    ...restoringOptions,
    lockFileContents: structuredClone(manifest.lock),
  });
  progress("Opening the page", 0.95);
  // What is not in the snapshot is fetched when Python imports it: an import cannot wait, so neither can this.
  pyodide.registerJsModule("_attention_lab_archives", {
    unpack(name) {
      const bytes = openNow(name);
      if (name === "stdlib") pyodide.FS.writeFile(STANDARD_LIBRARY, bytes);
      else {
        pyodide._module.completeSymbols(); // the archive has further libraries
        pyodide.unpackArchive(bytes, "zip", { extractDir: SITE_PACKAGES });
      }
    },
  });
  pyodide.runPython("import _late_imports\n_late_imports.awake()\ndel _late_imports");
  afterMain = () => {
    if (page.dataset.python === "loading") return;
    afterMain = () => {};
    pyodide.runPython("import _late_imports\n_late_imports.put_files()\ndel _late_imports");
  };
  skipPrelude(pyodide, plan.prelude);
  (await contents).contents.words.buffer.transfer?.(0); // 13 MB that Python's memory now has itself
  return pyodide;
}

// PyScript begins with Python code that writes its package to files and imports it. Its modules are in the snapshot, and
// our code uses none of them, so exactly that text is left out: they are imported when something asks for them.
function skipPrelude(pyodide, prelude) {
  const run = pyodide.runPythonAsync;
  pyodide.runPythonAsync = (code, ...rest) => {
    const begins = prelude && code.length >= prelude.length ? code.slice(0, prelude.length) : "";
    if (begins && checksum(begins) === prelude.checksum) {
      code = code.slice(prelude.length);
      if (!code.trim()) return Promise.resolve();
    }
    return run(code, ...rest);
  };
}

async function startNormally() {
  const bytes = Object.fromEntries(await Promise.all(NORMALLY.map(async (name) => [name, await part(name, bytesOf)])));
  const stdlib = URL.createObjectURL(new Blob([bytes.stdlib], { type: "application/zip" }));
  progress("Starting Python", 0.7);
  const pyodide = await load((create) => create, {
    stdLibURL: stdlib,
    lockFileContents: structuredClone(manifest.lock),
    env: { PYTHONOPTIMIZE: "2", PYTHONHASHSEED: "0" }, // as in the snapshot, so that both starts behave alike
  });
  URL.revokeObjectURL(stdlib);
  progress("Loading NumPy", 0.85);
  for (const name of ["numpy", "app"]) pyodide.unpackArchive(bytes[name], "zip", { extractDir: SITE_PACKAGES });
  for (const { name, path } of manifest.libraries) pyodide.FS.writeFile(`${SITE_PACKAGES}/${path}`, bytes[name]);
  progress("Opening the page", 0.95);
  return pyodide;
}

async function start() {
  if (useSnapshot) {
    try {
      const pyodide = await startFromSnapshot();
      page.dataset.start = "snapshot";
      return pyodide;
    } catch (error) {
      // whatever it is, nothing of ours has run yet, so the normal way is open
      const reason = error instanceof Mismatch ? error.message : String(error);
      console.info(`Starting Python without the snapshot (${reason}).`);
      for (const name of [...started.keys()]) if (!["wasm", "asm", "loader"].includes(name)) started.delete(name);
      expected = fetched;
    }
  }
  page.dataset.start = "normal";
  return startNormally();
}

const ready = start();
ready.catch(fail);

export async function loadPyodide({ stdout, stderr }) {
  if (stdout) streams.stdout = stdout;
  if (stderr) streams.stderr = stderr;
  const pyodide = await ready;
  watchMain(pyodide);
  return pyodide;
}
