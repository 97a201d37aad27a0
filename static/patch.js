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
