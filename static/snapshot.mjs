// Starts Python from the memory snapshot that the build made: the same WebAssembly module, NumPy's two libraries linked at
// the same places, then the recorded memory on top. The build's own script uses this file too (make_snapshot.mjs).
// Every assumption is checked before Python runs. A Mismatch means: start the normal way. It does not touch the page.

export class Mismatch extends Error {}

export const FORMAT = 1;
const MAGIC = 0x414c6162;
const HEADER = 16; // words: magic, format, number of ranges, number of words, build id (8), unused

// Browsers begin with a slightly different number of functions in the table. The libraries are linked above all of them.
const PADDED_TABLE = 16384;

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

export function encode(id, ranges, words) {
  const file = new Uint32Array(HEADER + ranges.length + words.length);
  file.set([MAGIC, FORMAT, ranges.length / 2, words.length]);
  for (let i = 0; i < 8; i++) file[4 + i] = parseInt(id.slice(8 * i, 8 * i + 8), 16);
  file.set(ranges, HEADER);
  file.set(words, HEADER + ranges.length);
  return new Uint8Array(file.buffer);
}

export function decode(buffer, plan) {
  if (buffer.byteLength % 4 || buffer.byteLength < 4 * HEADER) throw new Mismatch("the snapshot is not whole");
  const file = new Uint32Array(buffer);
  agree("kind of file", MAGIC, file[0]);
  agree("format", FORMAT, file[1]);
  agree("build", plan.id, Array.from(file.subarray(4, 12), (word) => word.toString(16).padStart(8, "0")).join(""));
  const start = HEADER + 2 * file[2];
  agree("length", start + file[3], file.length);
  return { ranges: file.subarray(HEADER, start), words: file.subarray(start) };
}

export function apply({ ranges, words }, memory) {
  for (let i = 0, at = 0; i < ranges.length; i += 2) {
    memory.set(words.subarray(at, at + ranges[i + 1]), ranges[i]);
    at += ranges[i + 1];
  }
}

// --- the module ------------------------------------------------------------------------------------------------------

// Link the libraries before the runtime initialises. Their data then lies below the heap and their functions above the
// padding, at the same addresses in every engine and at every start. Returns those addresses.
export function link(module, libraries) {
  const table = module.wasmTable;
  if (table.length > PADDED_TABLE) throw new Mismatch(`the function table begins with ${table.length} entries`);
  table.grow(PADDED_TABLE - table.length);
  const places = libraries.map(({ path, code }) => {
    const place = { path, table: table.length, memory: module.GOT.__heap_base.value };
    const flags = { loadAsync: false, global: false, nodelete: true, allowUndefined: true };
    module.preloadedWasm[path] = module.loadWebAssemblyModule(code, flags, path, {}, undefined);
    module.loadDynamicLibrary(path, { global: false, nodelete: true }, {}, undefined);
    return place;
  });
  return { libraries: places, table: table.length, heap: module.GOT.__heap_base.value };
}

// Where every function and variable that a library can refer to has come to lie.
const symbols = (module) => checksum(Object.values(module.GOT).map((entry) => entry.value));

// What must be the same again, recorded right after linking.
export const layout = (module, linked) => ({ ...linked, memory: module.HEAPU8.length, symbols: symbols(module) });

function checkLayout(module, linked, plan) {
  const found = layout(module, linked);
  for (const [i, place] of found.libraries.entries()) {
    for (const key of ["path", "table", "memory"]) agree(`${key} of library ${i}`, plan.layout.libraries[i]?.[key], place[key]);
  }
  for (const key of ["table", "heap", "memory", "symbols"]) agree(key, plan.layout[key], found[key]);
}

// Wrap Pyodide's `_createPyodideModule`. `libraries` and `snapshot` are promises, so that the module is instantiated
// while they still arrive. The returned function rejects with a Mismatch where something differs.
export function restoring(create, plan, libraries, snapshot) {
  return (settings) =>
    new Promise((resolve, reject) => {
      let contents;
      const hook = (module) => {
        module.addRunDependency("snapshot");
        Promise.all([libraries, snapshot])
          .then(([codes, decoded]) => {
            contents = decoded;
            const paths = plan.layout.libraries.map(({ path }, i) => ({ path, code: codes[i] }));
            checkLayout(module, link(module, paths), plan);
            module.removeRunDependency("snapshot");
          })
          .catch(reject);
      };
      const changed = { noInitialRun: true, INITIAL_MEMORY: plan.layout.memory, preRun: [...settings.preRun, hook] };
      create(Object.assign(settings, changed))
        .then((module) => {
          module.API.restoreSnapshot = () => {
            apply(contents, module.HEAPU32);
            return plan.state;
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
