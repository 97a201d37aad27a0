// Says so when the browser is too old for the page to compute. Written without any syntax newer than ECMAScript 5, so
// that it runs where the other scripts do not even parse. It stops nothing: what can start, starts.
(function () {
  "use strict";
  var root = document.documentElement;
  var needed = {
    DecompressionStream: function () {
      return DecompressionStream;
    },
    "constructed style sheets": function () {
      return new CSSStyleSheet() && "adoptedStyleSheets" in document;
    },
    "WebAssembly exceptions": function () {
      return WebAssembly.Exception;
    },
    "import maps": function () {
      return HTMLScriptElement.supports("importmap");
    },
    "Array.prototype.findLast": function () {
      return Array.prototype.findLast;
    },
    popover: function () {
      return "popover" in HTMLElement.prototype;
    }
  };
  var lacking = [];
  for (var name in needed) {
    try {
      if (!needed[name]()) lacking.push(name);
    } catch (error) {
      lacking.push(name);
    }
  }
  if (!lacking.length) return;
  root.setAttribute("data-too-old", lacking.join(", "));
  document.addEventListener("DOMContentLoaded", function () {
    var line = document.getElementById("python-status");
    var oldest = document.getElementById("oldest-browsers").textContent;
    line.setAttribute("data-status", "failed");
    line.textContent =
      "This browser is too old to compute here: it lacks " + lacking.join(", ") + ". Needed: " + oldest +
      " or newer. The results shown were computed when the page was built.";
  });
})();
