// Keeps the whole served site for visits without network. One cache per build: a page and everything it loads come from
// the same build, never from two. The build puts `const BUILD = {id, files: {path: "sha256-…"}}` in front.
// It does not keep the single file, nor anything that is fetched only on request.

const SCOPE = self.registration.scope;
const FAMILY = `attention-lab ${SCOPE} `;
const CACHE = FAMILY + BUILD.id;

// Hosts differ in how they name index.html, so it is asked for as the folder.
const addressOf = (path) => new URL(path === "index.html" ? "./" : path, SCOPE).href;

function pathOf(address) {
  const { origin, pathname } = new URL(address);
  const folder = new URL(SCOPE);
  if (origin !== folder.origin || !pathname.startsWith(folder.pathname)) return undefined;
  const path = decodeURIComponent(pathname.slice(folder.pathname.length)) || "index.html";
  return Object.hasOwn(BUILD.files, path) ? path : undefined;
}

// The browser's own cache first, so that a first visit downloads nothing twice; past it if that holds another build.
async function download(path) {
  const integrity = BUILD.files[path];
  let answer;
  try {
    answer = await fetch(addressOf(path), { integrity });
  } catch {
    answer = await fetch(addressOf(path), { integrity, cache: "reload" });
  }
  if (!answer.ok) throw new Error(`${path}: the server answered ${answer.status}`);
  // a redirected answer may not be given to a navigation
  return answer.redirected ? new Response(answer.body, { headers: answer.headers }) : answer;
}

async function install() {
  const cache = await caches.open(CACHE);
  const paths = Object.keys(BUILD.files);
  const next = async () => {
    for (let path = paths.pop(); path !== undefined; path = paths.pop()) {
      if (!(await cache.match(addressOf(path)))) await cache.put(addressOf(path), await download(path));
    }
  };
  await Promise.all([next(), next(), next()]);
}

async function forgetOldBuilds() {
  for (const name of await caches.keys()) {
    if (name.startsWith(FAMILY) && name !== CACHE) await caches.delete(name);
  }
}

async function answer(request, path) {
  // A newer build is ready and this is the only page: let it take over, and load the page again from it.
  if (request.mode === "navigate" && self.registration.waiting && (await self.clients.matchAll()).length < 2) {
    self.registration.waiting.postMessage("take over");
    return new Response("", { headers: { Refresh: "0" } });
  }
  const cache = await caches.open(CACHE);
  return (await cache.match(addressOf(path), { ignoreVary: true })) ?? fetch(request);
}

self.addEventListener("install", (event) => event.waitUntil(install()));
self.addEventListener("activate", (event) => event.waitUntil(forgetOldBuilds()));
self.addEventListener("message", (event) => {
  if (event.data === "take over") self.skipWaiting();
});
self.addEventListener("fetch", (event) => {
  const path = event.request.method === "GET" ? pathOf(event.request.url) : undefined;
  if (path !== undefined) event.respondWith(answer(event.request, path));
});
