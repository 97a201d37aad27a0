// Runs pytest inside Pyodide under Node, with the pinned interpreter and NumPy that dist/ is built from.
// One argument, JSON: {runtime, wheels, repository, results, arguments}. The exit code is pytest's.
// Does not fetch anything and does not touch the repository.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

// Node would print the source line of an uncaught error, which is the whole of a minified module.
const stop = (error) => {
  console.error(`Pyodide stopped: ${error?.stack ?? error}`.slice(-4000));
  process.exit(1);
};
process.on("uncaughtException", stop);
process.on("unhandledRejection", stop);

const { runtime, wheels, repository, results, arguments: options } = JSON.parse(process.argv[2]);
const { loadPyodide } = await import(pathToFileURL(`${runtime}/pyodide.mjs`).href);

const pyodide = await loadPyodide({
  indexURL: `${runtime}/`,
  packages: ["numpy"],
  env: { HOME: "/home/pyodide", PYTHONDONTWRITEBYTECODE: "1", CI: process.env.CI ?? "" },
});
for (const [place, folder] of [["/repo", repository], ["/results", results]]) {
  pyodide.FS.mkdirTree(place);
  pyodide.mountNodeFS(place, folder);
}
const sitePackages = pyodide.runPython("import sysconfig; sysconfig.get_path('purelib')");
for (const wheel of wheels) {
  const file = readFileSync(wheel);
  // a Node Buffer may be a view of a larger pool: hand over exactly this file's bytes
  pyodide.unpackArchive(file.buffer.slice(file.byteOffset, file.byteOffset + file.byteLength), "wheel", {
    extractDir: sitePackages,
  });
}
pyodide.globals.set("options", pyodide.toPy(options));
const code = pyodide.runPython(`
import importlib, os, sys
importlib.invalidate_caches()
os.chdir("/repo")
import pytest
int(pytest.main(list(options)))
`);
process.exit(code);
