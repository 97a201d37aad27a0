// Starts Python from the memory snapshot that the build made: the same WebAssembly module, NumPy's two libraries linked at
// the same places, then the recorded memory on top. The build's own script uses this file too (make_snapshot.mjs).
// Every assumption is checked before Python runs. A Mismatch means: start the normal way. It does not touch the page.

export class Mismatch extends Error {}

export const FORMAT = 2;
const MAGIC = 0x414c6162;
const HEADER = 16; // words: magic, format, ranges, words, build id (8), ranges and words of the relocations, unused

// Function table: Pyodide's own part ends below SLOTS; from there come the functions whose addresses NumPy takes, then each
// library at a multiple of STEP. Engines fill their tables differently; these places are the same in all of them.
const SLOTS = 8192;
const STEP = 1024;
const NOT_YET = SLOTS - 1; // an empty place, so that a call there traps

const agree = (what, expected, found) => {
  if (expected !== found) throw new Mismatch(`${what}: the snapshot has ${expected}, this start ${found}`);
};

export const canRestore = () =>
  typeof DecompressionStream === "function" &&
  typeof WebAssembly?.instantiate === "function" &&
  new Uint8Array(new Uint32Array([1]).buffer)[0] === 1;

// 32-bit FNV-1a over numbers or the code units of a text.
export function checksum(values) {
  let sum = 0x811c9dc5;
  if (typeof values === "string") {
    for (let i = 0; i < values.length; i++) sum = Math.imul(sum ^ values.charCodeAt(i), 0x01000193);
  } else {
    for (const value of values) sum = Math.imul(sum ^ value, 0x01000193);
  }
  return sum >>> 0;
}

// --- the file: ranges of memory (position, length; in 32-bit words) and their contents -------------------------------
// Twice: first what relocating the module's data gives, then what Python has written since.

export function encode(id, relocations, contents) {
  const parts = [relocations.ranges, contents.ranges, relocations.words, contents.words];
  const file = new Uint32Array(parts.reduce((sum, part) => sum + part.length, HEADER));
  file.set([MAGIC, FORMAT, contents.ranges.length / 2, contents.words.length]);
  for (let i = 0; i < 8; i++) file[4 + i] = parseInt(id.slice(8 * i, 8 * i + 8), 16);
  file.set([relocations.ranges.length / 2, relocations.words.length], 12);
  let at = HEADER;
  for (const part of parts) {
    file.set(part, at);
    at += part.length;
  }
  return new Uint8Array(file.buffer);
}

export function decode(buffer, plan) {
  if (buffer.byteLength % 4 || buffer.byteLength < 4 * HEADER) throw new Mismatch("the snapshot is not whole");
  const file = new Uint32Array(buffer);
  agree("kind of file", MAGIC, file[0]);
  agree("format", FORMAT, file[1]);
  agree("build", plan.id, Array.from(file.subarray(4, 12), (word) => word.toString(16).padStart(8, "0")).join(""));
  let at = HEADER;
  const parts = [2 * file[12], 2 * file[2], file[13], file[3]].map((length) => file.subarray(at, (at += length)));
  agree("length", at, file.length);
  return {
    relocations: { ranges: parts[0], words: parts[2] },
    contents: { ranges: parts[1], words: parts[3] },
  };
}

export function apply({ ranges, words }, memory) {
  for (let i = 0, at = 0; i < ranges.length; i += 2) {
    memory.set(words.subarray(at, at + ranges[i + 1]), ranges[i]);
    at += ranges[i + 1];
  }
}

// --- the module ------------------------------------------------------------------------------------------------------

const names = (list, module) => list.filter((item) => item.module === module).map(({ name }) => name);

function entry(module, name) {
  return (module.GOT[name] ??= new WebAssembly.Global({ value: "i32", mutable: true }, 0));
}

// Pyodide gives every function it exports a place in the table, should a library want its address: thousands of calls
// into the engine, and in an order that differs between engines. Mark them all as done, and keep the `spare` ones, which
// neither Pyodide nor NumPy calls by name, out of its sight; `module.completeSymbols` makes up for both before another
// library is loaded.
function postpone(module, functions, spare, imports) {
  const postponed = (module.postponed ??= {});
  for (const [name, value] of Object.entries(functions)) {
    if (typeof value !== "function" || entry(module, name).value !== 0) continue;
    module.GOT[name].value = NOT_YET;
    postponed[name] = value;
  }
  module.completeSymbols = () => {
    for (const name of Object.keys(postponed)) {
      if (module.GOT[name].value === NOT_YET) module.GOT[name].value = 0;
      else delete postponed[name];
    }
    for (const [name, value] of Object.entries(spare)) {
      if (!imports[name] || imports[name].stub) imports[name] = value;
    }
    module.updateGOT({ ...postponed, ...spare });
    module.reportUndefinedSymbols();
    module.completeSymbols = () => {};
  };
}

function growTo(table, length) {
  if (table.length > length) throw new Mismatch(`the function table has ${table.length} entries instead of ${length}`);
  table.grow(length - table.length);
}

// Link the libraries before the runtime initialises: their data then lies below the heap. Without a layout, as when the
// snapshot is made, choose the places; returns them in either case.
function link(module, libraries, layout) {
  const table = module.wasmTable;
  const imports = libraries.map(({ code }) => WebAssembly.Module.imports(code));
  const wanted = imports.flatMap((list) => names(list, "GOT.func"));
  growTo(table, SLOTS + STEP);
  const functions = wanted.map((name, i) => {
    const value = module.postponed[name];
    if (!value) throw new Mismatch(`there is no function ${name}`);
    const place = layout ? layout.functions[i] : module.getFunctionAddress(value) || SLOTS + i;
    if (place >= SLOTS) table.set(place, value);
    entry(module, name).value = place;
    return place;
  });
  const places = libraries.map(({ path, code }, i) => {
    growTo(table, layout ? layout.libraries[i].table : Math.ceil(table.length / STEP) * STEP);
    const place = { path, table: table.length, memory: module.GOT.__heap_base.value };
    const own = WebAssembly.Module.exports(code).filter(({ kind }) => kind === "function");
    for (const { name } of own) if (!entry(module, name).value) module.GOT[name].value = NOT_YET;
    const flags = { loadAsync: false, global: false, nodelete: true, allowUndefined: true };
    const exported = module.loadWebAssemblyModule(code, flags, path, {}, undefined);
    module.preloadedWasm[path] = exported;
    module.loadDynamicLibrary(path, { global: false, nodelete: true }, {}, undefined);
    for (const { name } of own) if (module.GOT[name].value === NOT_YET) module.postponed[name] ??= exported[name];
    return { ...place, end: table.length };
  });
  const data = imports.flatMap((list) => names(list, "GOT.mem")).map((name) => module.GOT[name].value);
  return { functions, libraries: places, heap: module.GOT.__heap_base.value, data: checksum(data), memory: module.HEAPU8.length };
}

function checkLayout(plan, found) {
  for (const [i, place] of found.libraries.entries()) {
    for (const key of Object.keys(place)) agree(`${key} of library ${i}`, plan.libraries[i]?.[key], place[key]);
  }
  for (const key of ["heap", "data", "memory"]) agree(key, plan[key], found[key]);
}

const RELOCATE = "__wasm_apply_data_relocs";

// C++ functions: half of what the module exports.
const isSpare = (name, value) => name.startsWith("_Z") && typeof value === "function";

// Change the settings for `_createPyodideModule` so that the libraries are linked as above. `libraries` is a promise, so
// that the module is instantiated while they still arrive. `linked` is called with the layout, or `failed` with the error;
// `relocate` with the module and its own function that relocates its data, and does so.
export function linking(settings, libraries, layout, { linked, failed, relocate }) {
  const instantiate = settings.instantiateWasm;
  settings.instantiateWasm = (imports, done) =>
    instantiate(imports, (instance, code) => {
      const ofJavaScript = names(WebAssembly.Module.imports(code), "GOT.func");
      const exports = {};
      const spare = {};
      for (const [name, value] of Object.entries(instance.exports)) (isSpare(name, value) ? spare : exports)[name] = value;
      postpone(settings, exports, spare, imports.env);
      for (const name of ofJavaScript) if (entry(settings, name).value === 0) settings.GOT[name].value = NOT_YET;
      const original = instance.exports[RELOCATE];
      exports[RELOCATE] = (module) => relocate(module, original);
      done({ exports }, code);
      imports.env[RELOCATE] = original; // no JavaScript function may stand among what libraries link to
    });
  settings.preRun.push((module) => {
    module.addRunDependency("libraries");
    Promise.resolve(libraries)
      .then(async (list) => {
        await linked(link(module, list, layout));
        module.removeRunDependency("libraries");
      })
      .catch(failed);
  });
}

// Wrap Pyodide's `_createPyodideModule`. `codes` (the compiled libraries) and `snapshot` are promises. The returned
// function rejects with a Mismatch where something differs from the plan.
export function restoring(create, plan, codes, snapshot) {
  return (settings) =>
    new Promise((resolve, reject) => {
      const { layout, state } = plan;
      const libraries = codes.then((list) => layout.libraries.map(({ path }, i) => ({ path, code: list[i] })));
      let memory;
      linking(settings, libraries, layout, {
        failed: reject,
        async linked(found) {
          checkLayout(layout, found);
          memory = await snapshot;
        },
        // The function that does it is half a megabyte of code, run once: copying its result is quicker.
        relocate: (module) => apply(memory.relocations, module.HEAPU32),
      });
      Object.assign(settings, { noInitialRun: true, INITIAL_MEMORY: layout.memory });
      create(settings)
        .then((module) => {
          module.API.restoreSnapshot = () => {
            apply(memory.contents, module.HEAPU32);
            return state;
          };
          resolve(module);
        })
        .catch(reject);
    });
}

// Options for loadPyodide that go with a module from `restoring`. Nothing is fetched.
export const restoringOptions = {
  _loadSnapshot: new Uint8Array(16), // only its presence counts: the contents come through `restoring`
  stdLibURL: "data:application/zip,",
};
