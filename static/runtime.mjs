// The interpreter that PyScript is told to use: Pyodide with NumPy and our package already in it.
// Everything is fetched at once, as soon as this module runs; PyScript only waits for the result.
// It reports progress and failure to the page. It does not touch the page's content.

import { manifest, moduleURL, open } from "./assets.mjs";

export const version = manifest.version;

const page = document.documentElement;
const SITE_PACKAGES = `/lib/python${manifest.python}/site-packages`;

// Pyodide insists on a folder to fetch from, although it is handed every file. Whatever it asks for there is empty and
// never leaves the page.
const NOWHERE = "data:application/octet-stream,#/";

// --- what the reader is told ----------------------------------------------------------------------------------------

const report = (type, detail) => document.dispatchEvent(new CustomEvent(type, { bubbles: true, detail }));

function progress(text, fraction) {
  if (page.dataset.python === "loading") report("lab-progress", { text, fraction });
}

function fail(error) {
  if (page.dataset.python !== "loading") return;
  page.dataset.python = "failed";
  const reason = String(error?.message ?? error).trim().split("\n").pop();
  report("lab-failed", { text: /[.!?]$/.test(reason) ? reason : `${reason}.` });
}

page.dataset.python = "loading";

// --- downloads, all started now -------------------------------------------------------------------------------------

const total = Object.values(manifest.files).reduce((sum, file) => sum + file.size, 0);
let fetched = 0;

function arrived(bytes) {
  fetched += bytes;
  const megabytes = (count) => (count / 1e6).toFixed(1);
  progress(`Fetching Python: ${megabytes(fetched)} of ${megabytes(total)} MB`, 0.7 * (fetched / total));
}

async function bytesOf(name) {
  const response = await open(name);
  if (!response.body) return new Uint8Array(await response.arrayBuffer());
  const bytes = new Uint8Array(manifest.files[name].size);
  const reader = response.body.getReader();
  let at = 0;
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    if (at + part.value.length > bytes.length) throw new Error(`${name} is longer than the build says. Reload the page.`);
    bytes.set(part.value, at);
    at += part.value.length;
    arrived(part.value.length);
  }
  if (at !== bytes.length) throw new Error(`${name} broke off after ${at} of ${bytes.length} bytes. Reload the page.`);
  return bytes;
}

async function compile() {
  const module = await WebAssembly.compileStreaming(open("wasm"));
  arrived(manifest.files.wasm.size);
  return module;
}

async function importModule(name) {
  const module = await import(await moduleURL(name));
  arrived(manifest.files[name].size);
  return module;
}

const parts = {
  wasm: compile(),
  stdlib: bytesOf("stdlib"),
  numpy: bytesOf("numpy"),
  app: bytesOf("app"),
  asm: importModule("asm"),
  loader: importModule("loader"),
};
for (const part of Object.values(parts)) part.catch(fail);

// --- start ----------------------------------------------------------------------------------------------------------

const blobURL = (bytes, type) => URL.createObjectURL(new Blob([bytes], { type }));

// Pyodide would fetch and compile its WebAssembly by itself; hand it the module that has been compiling all along.
function useCompiledModule() {
  const create = globalThis._createPyodideModule;
  const marker = Symbol("error marker"); // Pyodide's own substitute where its sentinel module cannot be compiled
  const sentinel = { create_sentinel: () => marker, is_sentinel: (value) => value === marker };
  const instantiateWasm = (imports, done) => {
    parts.wasm
      .then(async (module) => done(await WebAssembly.instantiate(module, { ...imports, sentinel }), module))
      .catch(fail);
    return {};
  };
  globalThis._createPyodideModule = (settings) => create({ ...settings, instantiateWasm });
}

// The lock file names NumPy alone; its bytes are here already and Pyodide still checks their SHA-256.
async function lockFile() {
  const lock = structuredClone(manifest.lock);
  const { numpy } = lock.packages;
  numpy.file_name = `${blobURL(await parts.numpy, "application/zip")}#/${numpy.file_name}`; // the name says it is a wheel
  return lock;
}

async function start(options) {
  const [{ loadPyodide: load }] = await Promise.all([parts.loader, parts.asm]);
  useCompiledModule();
  const stdlib = blobURL(await parts.stdlib, "application/zip");
  const lock = await lockFile();
  progress("Starting Python", 0.7);
  const pyodide = await load({
    ...options,
    indexURL: NOWHERE,
    packageBaseUrl: NOWHERE,
    stdLibURL: stdlib,
    lockFileContents: lock,
  });
  progress("Loading NumPy", 0.85);
  await pyodide.loadPackage("numpy", { messageCallback: () => {} });
  if (!pyodide.loadedPackages.numpy) throw new Error("NumPy could not be loaded: its file is damaged. Reload the page.");
  pyodide.unpackArchive(await parts.app, "zip", { extractDir: SITE_PACKAGES });
  for (const url of [stdlib, lock.packages.numpy.file_name]) URL.revokeObjectURL(url.split("#")[0]);
  progress("Opening the page", 0.95);
  return pyodide;
}

// PyScript prints an exception in main.py and goes on; the page must not wait for ever then.
function watchMain(pyodide) {
  const run = pyodide.runPythonAsync;
  pyodide.runPythonAsync = async (...call) => {
    try {
      return await run(...call);
    } catch (error) {
      fail(error);
      throw error;
    }
  };
}

export async function loadPyodide(options) {
  try {
    const pyodide = await start(options);
    watchMain(pyodide);
    return pyodide;
  } catch (error) {
    fail(error);
    throw error;
  }
}
