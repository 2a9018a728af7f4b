// The strip of drops: arrow keys go from mark to mark with one stop for Tab, and the key in use is kept on the
// next page. Without this script every mark is a plain link.
"use strict";
(() => {
  const KEPT = "drop-strip-focus";
  // A link that was picked without a new page goes along to every other drop.
  const follow = () => {
    const link = new URL(location.href).searchParams.get("link"), form = document.querySelector("[data-drops]");
    if (form) {
      const field = form.elements.namedItem("link") ?? Object.assign(document.createElement("input"), { type: "hidden", name: "link" });
      field.value = link ?? "";
      if (link) form.append(field); else field.remove();
    }
    for (const mark of document.querySelectorAll("[data-drop-strip]:not(.pair) a[href]")) {
      const address = new URL(mark.getAttribute("href"), location.href);
      if (link) address.searchParams.set("link", link); else address.searchParams.delete("link");
      mark.setAttribute("href", address.pathname + address.search);
    }
  };
  if (document.querySelector("[data-panel]")) {
    document.addEventListener("panelchange", follow);
    addEventListener("popstate", follow);
  }
  for (const strip of document.querySelectorAll("[data-drop-strip]")) {
    const rows = [...strip.querySelectorAll("svg.row")].map((row) => [...row.querySelectorAll("a.drop")].sort((a, b) => a.getBoundingClientRect().left - b.getBoundingClientRect().left));
    rows.forEach((marks, place) => {
      const stop = (chosen) => marks.forEach((mark) => mark.setAttribute("tabindex", mark === chosen ? "0" : "-1"));
      const shown = marks.find((mark) => mark.hasAttribute("aria-current")) ?? marks[0];
      if (!shown) return;
      stop(shown);
      const go = (mark) => { if (mark) { stop(mark); mark.focus(); } };
      for (const mark of marks) {
        mark.addEventListener("keydown", (event) => {
          if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
          const at = marks.indexOf(mark);
          const keys = { ArrowLeft: marks[at - 1], ArrowRight: marks[at + 1], Home: marks[0], End: marks.at(-1) };
          if (event.key in keys) { event.preventDefault(); go(keys[event.key]); }
          if (event.key === "Enter") sessionStorage.setItem(KEPT, String(place));
        });
      }
      if (sessionStorage.getItem(KEPT) === String(place)) { sessionStorage.removeItem(KEPT); shown.focus({ preventScroll: true }); }
    });
  }
})();
