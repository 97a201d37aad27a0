// Where the runtime's files come from in the single file: base64 inside the page itself, most of it gzip.
// Same interface as assets.mjs. The build puts `export const manifest = {...}` in front.

const texts = new Map(); // taken out of the page, so that it keeps no second copy of megabytes of text

function textOf(name) {
  if (!texts.has(name)) {
    const element = document.querySelector(`script[data-asset="${name}"]`);
    texts.set(name, element.textContent);
    element.remove();
  }
  return texts.get(name);
}

// The browser's own decoders, fastest first; the last works everywhere.
async function decoded(name) {
  const text = textOf(name);
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  try {
    return await (await fetch(`data:application/octet-stream;base64,${text}`)).blob();
  } catch {
    return slowly(text);
  }
}

function slowly(text) {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

export async function open(name) {
  const { gzip, mime } = manifest.files[name];
  const packed = new Blob([await decoded(name)]);
  const body = gzip ? packed.stream().pipeThrough(new DecompressionStream("gzip")) : packed;
  return new Response(body, { headers: { "Content-Type": mime } });
}

// At once, for Python's import, which cannot wait. Only for files that are not gzip here.
export function openNow(name) {
  return Uint8Array.fromBase64 ? Uint8Array.fromBase64(textOf(name)) : slowly(textOf(name));
}

export async function moduleURL(name) {
  const text = await (await open(name)).blob();
  return URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
}
