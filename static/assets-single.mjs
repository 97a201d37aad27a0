// Where the runtime's files come from in the single file: gzip in base64, inside the page itself.
// Same interface as assets.mjs. The build puts `export const manifest = {...}` in front.

const CHUNK = 1 << 20; // characters; a multiple of 4, so that every piece of base64 decodes by itself

function* decoded(name) {
  const element = document.querySelector(`script[data-asset="${name}"]`);
  const text = element.textContent;
  element.remove(); // the page keeps no second copy of megabytes of text
  for (let at = 0; at < text.length; at += CHUNK) {
    const piece = atob(text.slice(at, at + CHUNK));
    const bytes = new Uint8Array(piece.length);
    for (let i = 0; i < piece.length; i++) bytes[i] = piece.charCodeAt(i);
    yield bytes;
  }
}

export async function open(name) {
  const { gzip, mime } = manifest.files[name];
  const packed = new Blob([...decoded(name)]);
  const body = gzip ? packed.stream().pipeThrough(new DecompressionStream("gzip")) : packed;
  return new Response(body, { headers: { "Content-Type": mime } });
}

export async function moduleURL(name) {
  const text = await (await open(name)).blob();
  return URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
}
