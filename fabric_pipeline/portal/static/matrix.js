// The matrix in use: loads its cells, moves a cursor by keys with a live line that reads it out, shows what is
// under the pointer, opens links, folds clean rows. Painting is in matrix_paint.js.
"use strict";
(() => {
  const box = document.querySelector("[data-matrix]");
  if (!box) return;
  const frame = box.querySelector(".matrix-frame");
  const canvas = box.querySelector("canvas");
  const tip = box.querySelector(".matrix-tip");
  const said = box.querySelector("[data-said]");
  const opener = box.querySelector("[data-open]");
  const wait = document.querySelector("[data-wait]");
  const folds = document.querySelector("[data-folds]");
  const { view, HEAD, NO_LINK, NO_DATA, UNLIMITED, level, visible, foldText, readColours, layOut, draw, later, firstLine, lineOf } =
    window.matrixPainter(frame);
  const STATES = ["", "watch", "warning", "critical"];

  const bytes = (text) => Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
  const isLink = (code) => level(code) !== NO_LINK;
  const standsOut = (code) => (view.data.marks && code >> 4) > 0 || (level(code) > 0 && level(code) < UNLIMITED);

  function prepare(section) {
    section.bytes = bytes(section.cells);
    section.columns = section.groups.flatMap(([, names]) => names);
    section.isOpen = section.open === section.rows.length;
    if (section.values) section.ratios = new DataView(bytes(section.values).buffer);
  }

  const codeAt = (at) => view.data.sections[at.number].bytes[at.row * view.data.sections[at.number].columns.length + at.column];

  function words(at) {
    const section = view.data.sections[at.number], index = at.row * section.columns.length + at.column, code = section.bytes[index];
    const name = visible(view.data.marks ? section.rows[at.row][1] + section.columns[at.column] : `${section.rows[at.row][0]} to ${section.columns[at.column]}`);
    if (section.notes[index]) return [name, section.notes[index]];
    const plain = view.data.levels[level(code)];
    if (section.ratios && level(code) !== NO_DATA) {
      return [name, `${(section.ratios.getUint16(index * 2, true) / 100).toFixed(2)} times the median of its class (${view.data.classes[code >> 4]})`];
    }
    const state = view.data.marks ? STATES[code >> 4] : "";
    return [name, state ? `${state}; ${plain}` : plain];
  }

  function address(at) {
    const section = view.data.sections[at.number], part = section.heads[1];
    const drop = new URL(box.dataset.matrix, location.href).searchParams.get("drop");
    return part && `${part}${encodeURIComponent(section.rows[at.row][1] + section.columns[at.column])}?drop=${encodeURIComponent(drop)}`;
  }

  function nodeAddress(line) {
    const section = view.data.sections[line.number], part = section.heads[0];
    const drop = new URL(box.dataset.matrix, location.href).searchParams.get("drop");
    return part && `${part}${encodeURIComponent(section.rows[line.row][1].slice(0, -1))}?drop=${encodeURIComponent(drop)}`;
  }

  function moveTo(at, look = true) {
    view.cursor = at;
    const section = view.data.sections[at.number], line = lineOf(at);
    if (look && line) {
      if (line.y - HEAD < frame.scrollTop) frame.scrollTop = Math.max(0, line.y - HEAD);
      if (line.y + line.high > frame.scrollTop + view.height) frame.scrollTop = line.y + line.high - view.height + 4;
      const x = section.at[at.column];
      if (x - view.label < frame.scrollLeft) frame.scrollLeft = x - view.label;
      if (x + section.cell > frame.scrollLeft + view.width) frame.scrollLeft = x + section.cell - view.width + 12;
    }
    const [name, text] = words(at);
    said.textContent = `${name}: ${text}.`;
    const link = address(at);
    opener.hidden = !link;
    if (link) opener.href = link;
    later();
  }

  const rowLines = () => view.lines.filter((line) => line.kind === "row");
  const cellsOf = (line) => {
    const { bytes: all, columns } = view.data.sections[line.number], from = line.row * columns.length;
    return [...columns.keys()].filter((column) => isLink(all[from + column]));
  };

  function nearest(line, column) {
    const there = cellsOf(line);
    if (!there.length) return null;
    const best = there.reduce((kept, one) => (Math.abs(one - column) < Math.abs(kept - column) ? one : kept));
    return { number: line.number, row: line.row, column: best };
  }

  // From row to row with steps over rows that have no link at all.
  function step(amount) {
    const rows = rowLines(), now = view.cursor ? rows.findIndex((line) => line.number === view.cursor.number && line.row === view.cursor.row) : 0;
    const way = Math.sign(amount) || 1;
    let place = Math.max(0, Math.min(rows.length - 1, now + amount));
    for (; place >= 0 && place < rows.length; place += way) {
      const found = nearest(rows[place], view.cursor ? view.cursor.column : 0);
      if (found) return found;
    }
    return null;
  }

  function sideways(way) {
    const there = cellsOf({ number: view.cursor.number, row: view.cursor.row }), place = there.indexOf(view.cursor.column) + way;
    return there[place] === undefined ? null : { ...view.cursor, column: there[place] };
  }

  function jump(way) {
    const places = [];
    for (const line of rowLines()) {
      const section = view.data.sections[line.number], from = line.row * section.columns.length;
      for (let column = 0; column < section.columns.length; column += 1) {
        if (standsOut(section.bytes[from + column])) places.push({ number: line.number, row: line.row, column });
      }
    }
    if (!places.length) return null;
    const before = (one) => view.cursor && (one.number - view.cursor.number || one.row - view.cursor.row || one.column - view.cursor.column);
    const found = way > 0 ? places.find((one) => !view.cursor || before(one) > 0) : places.findLast((one) => view.cursor && before(one) < 0);
    return found ?? (way > 0 ? places[0] : places.at(-1));
  }

  const KEYS = {
    ArrowRight: () => sideways(1), ArrowLeft: () => sideways(-1), ArrowDown: () => step(1), ArrowUp: () => step(-1),
    PageDown: () => step(10), PageUp: () => step(-10), n: () => jump(1), N: () => jump(1), p: () => jump(-1), P: () => jump(-1),
    Home: () => nearest(view.cursor, 0), End: () => nearest(view.cursor, 1e9),
  };

  canvas.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { tip.hidden = true; return; }
    if (event.altKey || event.metaKey || (event.ctrlKey && !/^(Home|End)$/.test(event.key))) return;
    if (event.key === "Enter" && view.cursor) {
      const link = address(view.cursor);
      if (link) location.href = link;
      return;
    }
    if (!(event.key in KEYS)) return;
    event.preventDefault();
    tip.hidden = true;
    const isFirst = !view.cursor;
    if (isFirst) view.cursor = step(0);
    if (!view.cursor) return;
    const rows = rowLines(), isJump = /^[npNP]$/.test(event.key);
    if (isFirst && isJump) view.cursor = null;
    let next = isFirst && !isJump ? view.cursor : KEYS[event.key]();
    if (event.ctrlKey) next = event.key === "Home" ? nearest(rows[0], 0) : nearest(rows.at(-1), 1e9);
    if (next ?? view.cursor) moveTo(next ?? view.cursor);
  });
  canvas.addEventListener("focus", () => { if (!view.cursor && view.data) { const first = step(0); if (first) moveTo(first, false); } });

  function under(event) {
    const area = canvas.getBoundingClientRect(), x = event.clientX - area.left, y = event.clientY - area.top;
    const line = view.lines[firstLine(y + frame.scrollTop)];
    if (!line || y < HEAD - 4 || y + frame.scrollTop > view.tall) return {};
    if (line.kind !== "row" || x < view.label - 6) return { line, isName: line.kind === "row" };
    const section = view.data.sections[line.number], sheet = x + frame.scrollLeft;
    const column = section.at.findIndex((start) => sheet >= start && sheet < start + section.cell);
    const at = { number: line.number, row: line.row, column };
    return column >= 0 && isLink(codeAt(at)) ? { line, at } : { line };
  }

  function showTip(event, at) {
    const [name, text] = words(at);
    const title = document.createElement("b"), below = document.createElement("span");
    title.textContent = name;
    below.textContent = text;
    tip.replaceChildren(title, below);
    tip.hidden = false;
    const area = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(8, Math.min(event.clientX + 14, window.innerWidth - area.width - 8))}px`;
    const below_ = event.clientY + 18, fits = below_ + area.height < window.innerHeight - 8;
    tip.style.top = `${fits ? below_ : event.clientY - area.height - 12}px`;
  }

  canvas.addEventListener("pointermove", (event) => {
    if (!view.data || event.pointerType === "touch") return;
    const { line, at, isName } = under(event);
    canvas.classList.toggle("can-open", Boolean((at && address(at)) || line?.kind === "fold" || (isName && nodeAddress(line))));
    if (at) showTip(event, at); else tip.hidden = true;
  });
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
  canvas.addEventListener("click", (event) => {
    if (!view.data) return;
    const { line, at, isName } = under(event);
    if (line?.kind === "fold") { toggle(line.number); return; }
    if (isName && nodeAddress(line)) { location.href = nodeAddress(line); return; }
    if (!at) return;
    moveTo(at, false);
    if (event.pointerType !== "touch" && address(at)) location.href = address(at);
  });

  function toggle(number) {
    const section = view.data.sections[number];
    section.isOpen = !section.isOpen;
    if (!section.isOpen && view.cursor?.number === number && view.cursor.row >= section.open) view.cursor = null;
    buttons();
    layOut();
  }

  // The same switch as the line in the picture, for keyboards and screen readers.
  function buttons() {
    if (!folds) return;
    const focused = [...folds.children].indexOf(document.activeElement);
    folds.replaceChildren(...view.data.sections.flatMap((section, number) => {
      if (section.open === section.rows.length) return [];
      const button = document.createElement("button");
      button.type = "button";
      button.className = "button small";
      button.setAttribute("aria-expanded", String(section.isOpen));
      button.textContent = `${section.isOpen ? "Fold" : "Show"} ${foldText(section)}`;
      button.addEventListener("click", () => toggle(number));
      return [button];
    }));
    if (focused >= 0) folds.children[focused]?.focus();
  }

  // The cell of the link that the address names; a folded part is opened for it.
  function choose(link) {
    if (!link || !view.data.marks) return;
    for (const [number, section] of view.data.sections.entries()) {
      const row = section.rows.findIndex((one) => link.startsWith(one[1]) && section.columns.includes(link.slice(one[1].length)));
      if (row < 0) continue;
      const at = { number, row, column: section.columns.indexOf(link.slice(section.rows[row][1].length)) };
      if (!lineOf(at)) toggle(number);
      if (lineOf(at)) moveTo(at);
      return;
    }
  }

  async function load() {
    try {
      const answer = await fetch(box.dataset.matrix, { headers: { Accept: "application/json" } });
      if (!answer.ok) throw new Error(String(answer.status));
      view.data = await answer.json();
      view.data.sections.forEach(prepare);
      await document.fonts.load("12px 'JetBrains Mono'");
    } catch {
      wait.textContent = "The picture could not be loaded. The table below does not need it; reload the page to try again.";
      wait.classList.add("wrong");
      return;
    }
    box.hidden = false;
    wait.hidden = true;
    readColours();
    buttons();
    layOut();
    choose(new URL(location.href).searchParams.get("link"));
    box.dataset.ready = "yes";
    frame.addEventListener("scroll", () => { tip.hidden = true; later(); }, { passive: true });
    let before = frame.clientWidth;
    new ResizeObserver(() => { if (frame.clientWidth !== before) { before = frame.clientWidth; layOut(); before = frame.clientWidth; } }).observe(box);
    document.addEventListener("themechange", () => { readColours(); draw(); });
  }
  load();
})();
