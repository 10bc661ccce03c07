(function () {
  "use strict";
  var all = Array.prototype.slice.call(document.querySelectorAll("[data-k]"));
  var byKey = new Map();
  function keys(element) { return element.getAttribute("data-k").split(" ").filter(Boolean); }
  all.forEach(function (element) {
    keys(element).forEach(function (key) {
      if (!byKey.has(key)) { byKey.set(key, []); }
      byKey.get(key).push(element);
    });
  });
  var marked = [];
  function mark(element) {
    marked.forEach(function (old) { old.classList.remove("on"); });
    marked = [];
    if (!element) { return; }
    keys(element).forEach(function (key) { marked = marked.concat(byKey.get(key)); });
    marked.forEach(function (one) { one.classList.add("on"); });
  }
  function owner(event) { return event.target.closest ? event.target.closest("[data-k]") : null; }
  document.addEventListener("mouseover", function (event) { var at = owner(event); if (at) { mark(at); } });
  document.addEventListener("focusin", function (event) { mark(owner(event)); });
  document.addEventListener("click", function (event) {
    var at = owner(event);
    if (!at) { return; }
    var home = at.closest(".code, .flow");
    var other = marked.find(function (one) { return one.closest(".code, .flow") !== home; });
    if (other) { other.scrollIntoView({ block: "nearest", inline: "nearest" }); }
  });
})();
