// Runs before PyScript, which opens IndexedDB when it starts. In a frame with sandbox="allow-scripts" alone, and where the
// reader blocks storage, that throws. This puts a small in-memory stand-in in its place there; it stores nothing.
(() => {
  "use strict";
  try {
    indexedDB.deleteDatabase("attention-lab-probe"); // throws where opening one would, and leaves nothing behind
    return;
  } catch {
    // blocked: go on
  }

  // An event target that fires once, soon, to its handler property and its listeners alike.
  const firing = (type, members) => {
    const target = Object.assign(new EventTarget(), members);
    target.addEventListener(type, (event) => target[`on${type}`]?.(event));
    setTimeout(() => target.dispatchEvent(new Event(type)));
    return target;
  };
  const request = (result) => firing("success", { result });

  const stores = new Map();
  const store = (name) => {
    if (!stores.has(name)) stores.set(name, new Map());
    const items = stores.get(name);
    return {
      get: (key) => request(items.get(key)),
      getKey: (key) => request(items.has(key) ? key : undefined),
      getAll: () => request([...items.values()]),
      getAllKeys: () => request([...items.keys()]),
      count: () => request(items.size),
      put: (value, key) => request(items.set(key, value) && key),
      delete: (key) => request(items.delete(key) && undefined),
      clear: () => request(items.clear()),
      openCursor: () => request(null),
      openKeyCursor: () => request(null),
    };
  };

  const transaction = () => firing("complete", { objectStore: store, commit() {} });

  const database = Object.assign(new EventTarget(), {
    name: "in-memory",
    version: 1,
    objectStoreNames: { contains: () => true, length: 1 },
    createObjectStore: store,
    transaction,
    close() {},
  });

  const memory = { open: () => request(database), deleteDatabase: () => request(undefined) };
  Object.defineProperty(window, "indexedDB", { value: memory, configurable: true });
})();
