// Where the runtime's files come from in the served site: plain files beside this module.
// The build puts `export const manifest = {...}` in front (see py/site_builder/manifest.py).

const urlOf = (name) => new URL(manifest.files[name].path, import.meta.url).href;

// The URL of a JavaScript module.
export const moduleURL = async (name) => urlOf(name);

// A Response as the network gave it: WebAssembly needs the original one for streaming and for the code cache.
export async function open(name) {
  let answer;
  try {
    answer = await fetch(urlOf(name));
  } catch {
    throw new Error(`${manifest.files[name].path} could not be fetched. Check the connection and reload the page.`);
  }
  if (!answer.ok) throw new Error(`${manifest.files[name].path} could not be fetched: the server answered ${answer.status}.`);
  return answer;
}
