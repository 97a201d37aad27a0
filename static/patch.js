// Make an element hold other HTML by changing only what differs: nothing else is laid out again, and scroll positions,
// focus and opened folds stay. Does not match moved elements: the first child is compared with the first, and so on.
(() => {
  "use strict";
  const fresh = document.createElement("template");

  const patchElement = (old, now) => {
    for (const { name, value } of now.attributes) {
      if (name !== "open" && old.getAttribute(name) !== value) old.setAttribute(name, value);
    }
    if (old.attributes.length !== now.attributes.length) {
      for (const name of old.getAttributeNames()) {
        if (name !== "open" && !now.hasAttribute(name)) old.removeAttribute(name);
      }
    }
    if (!now.hasAttribute("data-canvas")) patchChildren(old, now); // a mounted canvas is not ours to empty
  };

  const patchChildren = (old, now) => {
    let before = old.firstChild;
    let after = now.firstChild;
    while (after) {
      const next = after.nextSibling;
      if (!before) {
        old.append(after);
      } else {
        const following = before.nextSibling;
        if (before.nodeName !== after.nodeName) {
          before.replaceWith(after);
        } else if (after.nodeType !== Node.ELEMENT_NODE) {
          if (before.data !== after.data) before.data = after.data;
        } else if (!before.isEqualNode(after)) {
          patchElement(before, after);
        }
        before = following;
      }
      after = next;
    }
    while (before) {
      const following = before.nextSibling;
      before.remove();
      before = following;
    }
  };

  window.labPatch = (place, html) => {
    // What was typed into a field is not in its attributes, so a slot with fields is written whole.
    if (!place.firstChild || /<(input|select|textarea)/.test(html)) {
      place.innerHTML = html;
      return;
    }
    fresh.innerHTML = html;
    patchChildren(place, fresh.content);
    fresh.innerHTML = "";
  };
})();

// What changed in the form since the last call, for Python to read in one crossing. A long text is handed over only where
// it differs: [name, length, from, to, what stands there now, …]; a name that is gone has null. Decides nothing.
(() => {
  "use strict";
  const LONG = 2000;
  const told = new Map();
  const paired = /[\ud800-\udfff]/; // there Python counts otherwise

  // The names and values that a submit would send.
  const valuesOf = (form) => {
    const values = new Map();
    for (const field of form.elements) {
      const name = field.name;
      if (!name || field.disabled || field.tagName === "BUTTON") continue;
      if (field.type !== "checkbox" || field.checked) values.set(name, field.value);
    }
    return values;
  };

  const difference = (old, now) => {
    if (now.length < LONG || old.length < LONG || paired.test(now) || paired.test(old)) {
      return [0, old.length, now.toWellFormed()];
    }
    const most = Math.min(old.length, now.length);
    let head = 0;
    while (head < most && old.charCodeAt(head) === now.charCodeAt(head)) head++;
    let tail = 0;
    while (tail < most - head && old.charCodeAt(old.length - 1 - tail) === now.charCodeAt(now.length - 1 - tail)) tail++;
    return [head, old.length - tail, now.slice(head, now.length - tail)];
  };

  window.labChanges = (form, afresh) => {
    if (afresh) told.clear();
    const changes = [];
    const now = valuesOf(form);
    for (const [name, value] of now) {
      const old = told.get(name);
      if (old === value) continue;
      changes.push(name, value.length, ...difference(old ?? "", value));
      told.set(name, value);
    }
    for (const name of told.keys()) {
      if (now.has(name)) continue;
      changes.push(name, 0, 0, 0, null);
      told.delete(name);
    }
    return changes;
  };
})();
