// The map: pan and zoom by wheel, hand, two fingers and keys, and a picked link shown beside the map without a new page.
// Everything is a plain link without this script.
"use strict";
(() => {
  const frame = document.querySelector("[data-map]");
  const svg = frame?.querySelector("svg");
  const body = document.querySelector("[data-panel-body]");
  if (!svg || !body) return;

  // ---- pan and zoom -------------------------------------------------------------------------------------
  const whole = svg.getAttribute("viewBox"), [left, top, width, height] = whole.split(" ").map(Number);
  const full = { x: left, y: top, w: width, h: height };
  const MOST = 24, STEP = 1.35;
  let box = { ...full }, asked = 0;
  const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
  const show = () => {
    frame.classList.toggle("zoomed", box.w < full.w);
    if (!asked) asked = requestAnimationFrame(() => { asked = 0; svg.setAttribute("viewBox", box.x === left && box.y === top && box.w === width ? whole : `${box.x} ${box.y} ${box.w} ${box.h}`); });
  };
  const moveTo = (x, y, w) => {
    const h = w * full.h / full.w;
    box = { w, h, x: clamp(x, full.x - w / 2, full.x + full.w - w / 2), y: clamp(y, full.y - h / 2, full.y + full.h - h / 2) };
    show();
  };
  const place = (event) => {
    const at = svg.getScreenCTM()?.inverse();
    return at ? new DOMPoint(event.clientX, event.clientY).matrixTransform(at) : { x: box.x + box.w / 2, y: box.y + box.h / 2 };
  };
  const zoom = (by, at = { x: box.x + box.w / 2, y: box.y + box.h / 2 }) => {
    const w = clamp(box.w / by, full.w / MOST, full.w), ratio = w / box.w;
    if (w === full.w) fit(); else moveTo(at.x - (at.x - box.x) * ratio, at.y - (at.y - box.y) * ratio, w);
  };
  const fit = () => { box = { ...full }; show(); };

  frame.tabIndex = 0;
  frame.setAttribute("role", "group");
  frame.setAttribute("aria-label", "Map: plus and minus zoom, arrows move, zero shows all");
  const LINE_PX = 16, PINCH_GAIN = 8;
  frame.addEventListener("wheel", (event) => {
    const turned = event.deltaY * (event.deltaMode === 1 ? LINE_PX : 1) * (event.ctrlKey ? PINCH_GAIN : 1);
    if (turned > 0 && box.w >= full.w && !event.ctrlKey) return; // all is shown: the page may scroll
    event.preventDefault();
    zoom(Math.exp(-clamp(turned, -240, 240) / 320), place(event));
  }, { passive: false });

  // One pointer moves the map, two also zoom it: what lies between them stays between them.
  const held = new Map();
  let start = null, moved = false;
  const middle = () => {
    const points = [...held.values()], [a, b] = points;
    const x = points.reduce((sum, point) => sum + point.clientX, 0) / points.length;
    const y = points.reduce((sum, point) => sum + point.clientY, 0) / points.length;
    return { clientX: x, clientY: y, apart: b ? Math.max(Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY), 1) : 0 };
  };
  const grip = () => {
    const at = held.size ? middle() : null;
    start = at && { ...at, w: box.w, on: place(at) };
  };
  const drag = () => {
    const at = middle(), size = svg.getBoundingClientRect();
    const w = clamp(start.apart ? start.w * start.apart / at.apart : start.w, full.w / MOST, full.w);
    if (w === full.w && start.apart) { fit(); return; }
    const h = w * full.h / full.w, per = Math.max(w / size.width, h / size.height);
    moveTo(start.on.x - (at.clientX - size.left - size.width / 2) * per - w / 2, start.on.y - (at.clientY - size.top - size.height / 2) * per - h / 2, w);
  };
  frame.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || event.target.closest(".corner") || held.size > 1) return;
    if (!held.size) moved = false;
    held.set(event.pointerId, event);
    grip();
  });
  frame.addEventListener("pointermove", (event) => {
    if (!held.has(event.pointerId)) return;
    held.set(event.pointerId, event);
    const at = middle();
    if (!moved && held.size < 2 && Math.hypot(at.clientX - start.clientX, at.clientY - start.clientY) < 5) return;
    if (!moved) {
      moved = true;
      for (const id of held.keys()) frame.setPointerCapture(id);
      frame.classList.add("dragging");
    }
    drag();
  });
  const release = (event) => {
    if (!held.delete(event.pointerId)) return;
    grip();
    if (!held.size) frame.classList.remove("dragging");
  };
  frame.addEventListener("pointerup", release);
  frame.addEventListener("pointercancel", release);
  frame.addEventListener("dragstart", (event) => event.preventDefault());
  frame.addEventListener("click", (event) => { if (moved) { event.preventDefault(); event.stopPropagation(); moved = false; } }, true);
  frame.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const far = box.w / 8;
    const keys = {
      "+": () => zoom(STEP), "=": () => zoom(STEP), "-": () => zoom(1 / STEP), "0": fit,
      ArrowLeft: () => moveTo(box.x - far, box.y, box.w), ArrowRight: () => moveTo(box.x + far, box.y, box.w),
      ArrowUp: () => moveTo(box.x, box.y - far, box.w), ArrowDown: () => moveTo(box.x, box.y + far, box.w),
    };
    if (keys[event.key]) { event.preventDefault(); keys[event.key](); }
  });
  const buttons = document.querySelector("[data-zoom]");
  if (buttons) {
    buttons.hidden = false;
    buttons.addEventListener("click", (event) => {
      const by = event.target.closest("button")?.dataset.by;
      if (by) ({ in: () => zoom(STEP), out: () => zoom(1 / STEP), fit })[by]();
    });
  }
  // A part that gets the focus while it is out of sight is brought into it.
  svg.addEventListener("focusin", (event) => {
    if (box.w >= full.w || !event.target.getBBox || !event.target.matches(":focus-visible")) return;
    const part = event.target.getBBox(), x = part.x + part.width / 2, y = part.y + part.height / 2;
    if (x < box.x || y < box.y || x > box.x + box.w || y > box.y + box.h) moveTo(x - box.w / 2, y - box.h / 2, box.w);
  });

  // ---- the panel ----------------------------------------------------------------------------------------
  const panel = document.querySelector("[data-panel]");
  let overview = body.querySelector("[data-back]") ? null : [...body.childNodes];
  let latest = 0;
  const mark = (component) => {
    const links = [...svg.querySelectorAll(".link")];
    links.forEach((link) => link.classList.toggle("selected", link.dataset.link === component));
    svg.classList.toggle("has-selection", links.some((link) => link.classList.contains("selected")));
  };
  const parsed = async (address) => {
    const answer = await fetch(address);
    if (!answer.ok) throw new Error(String(answer.status));
    return new DOMParser().parseFromString(await answer.text(), "text/html");
  };
  const back = () => {
    const link = document.createElement("a");
    link.className = "back";
    link.href = panel.dataset.overview;
    link.dataset.back = "";
    link.textContent = "All degraded links";
    return link;
  };
  const showLink = async (component, address, keepsFocus) => {
    const number = ++latest, drop = new URL(address, location.href).searchParams.get("drop");
    mark(component);
    try {
      const found = await parsed(`/links/${encodeURIComponent(component)}?panel=1${drop ? `&drop=${encodeURIComponent(drop)}` : ""}`);
      if (number !== latest) return;
      body.replaceChildren(back(), ...found.body.childNodes);
      settled(keepsFocus);
    } catch { location.assign(address); }
  };
  const showOverview = async (address) => {
    const number = ++latest;
    mark("");
    try {
      overview ??= [...(await parsed(address)).querySelector("[data-panel-body]").childNodes];
      if (number !== latest) return;
      body.replaceChildren(...overview);
      settled(false);
    } catch { location.assign(address); }
  };
  const settled = (keepsFocus) => {
    body.scrollTop = 0;
    const heading = body.querySelector("h1, h2, h3");
    if (heading && !keepsFocus) { heading.tabIndex = -1; heading.focus({ preventScroll: true }); }
    document.dispatchEvent(new CustomEvent("panelchange", { detail: { panel: body } }));
  };
  const picked = (link) => link.closest("[data-link]")?.dataset.link ?? link.dataset.pick;
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    const pick = event.target.closest?.("svg.map a.pick, a[data-pick]"), home = event.target.closest?.("a[data-back]");
    if (!pick && !home) return;
    const address = (pick ?? home).getAttribute("href");
    event.preventDefault();
    history.pushState(null, "", address);
    if (pick) showLink(picked(pick), address, false); else showOverview(address);
  });
  addEventListener("popstate", () => {
    const component = new URL(location.href).searchParams.get("link");
    if (component) showLink(component, location.href, true); else showOverview(panel.dataset.overview);
  });

  // ---- the drop -----------------------------------------------------------------------------------------
  const drops = document.querySelector("[data-drops]");
  if (drops) {
    drops.querySelector("button").hidden = true;
    drops.querySelector("select").addEventListener("change", () => drops.requestSubmit());
  }
})();
