// Where the runtime's files come from in the served site: plain files beside this module.
// The build puts `export const manifest = {...}` in front (see Runtime.manifest in py/site_builder/runtime.py).

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

// The same bytes at once, for Python's import, which cannot wait. Binary in a synchronous request goes as text.
export function openNow(name) {
  const request = new XMLHttpRequest();
  request.open("GET", urlOf(name), false);
  request.overrideMimeType("text/plain; charset=x-user-defined");
  try {
    request.send();
  } catch {
    throw new Error(`${manifest.files[name].path} could not be fetched`);
  }
  if (request.status !== 200) throw new Error(`the server answered ${request.status} for ${manifest.files[name].path}`);
  const text = request.responseText;
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i); // the low byte
  return bytes;
}
