// Paints the sections of a matrix on one canvas: only the rows in sight, at any number of rows. Knows where
// every cell lies; keys, pointer and words are in matrix.js.
"use strict";
window.matrixPainter = (frame) => {
  const space = frame.querySelector(".matrix-space");
  const canvas = frame.querySelector("canvas");
  const context = canvas.getContext("2d");
  const NO_LINK = 15, NO_DATA = 7, UNLIMITED = 6;
  const HEAD = 30, FOLD = 26, GAP = 8, ROOM_BELOW = 230;
  const view = { data: null, lines: [], cursor: null, width: 0, height: 0, tall: 0, wide: 0, label: 120 };
  let colours = null, waiting = false;

  // A cell is a byte: the level in the low four bits, the state (or the class of a pair) above.
  const level = (code) => code & 15;
  const visible = (name) => name.replace(/\p{C}/gu, ""); // no sign that turns the direction of a line

  function readColours() {
    const style = getComputedStyle(document.documentElement);
    const of = (name) => style.getPropertyValue(name).trim();
    colours = {
      levels: [0, 1, 2, 3, 4, 5].map((step) => of(`--level-${step}`)), dot: of("--level-dot"), hatch: of("--level-hatch"),
      edge: of("--mark-edge"), surface: of("--surface"), text: of("--text"), muted: of("--muted"), line: of("--line"),
      accent: of("--accent"), raised: of("--raised"), states: ["", of("--watch"), of("--warning"), of("--critical")],
    };
    const tile = document.createElement("canvas");
    tile.width = tile.height = 6;
    const pen = tile.getContext("2d");
    pen.strokeStyle = colours.hatch;
    pen.lineWidth = 1.2;
    for (const shift of [-6, 0, 6]) { pen.moveTo(shift, 6); pen.lineTo(shift + 6, 0); }
    pen.stroke();
    colours.pattern = context.createPattern(tile, "repeat");
  }

  // Lines below each other: heading of a section, its rows, and a line for those folded away.
  function layOut() {
    view.width = frame.clientWidth;
    const sections = view.data.sections;
    context.font = "12px 'JetBrains Mono', monospace";
    const names = sections.flatMap((section) => section.rows.slice(0, 400).map((row) => row[0]));
    const longest = names.reduce((most, name) => Math.max(most, context.measureText(name.slice(0, 24)).width), 60);
    view.label = Math.min(Math.ceil(longest) + 22, Math.max(96, Math.floor(view.width * 0.24)));
    view.lines = [];
    view.tall = view.wide = 0;
    sections.forEach((section, number) => {
      const gaps = (section.groups.length - 1) * GAP;
      const fitting = Math.floor((view.width - view.label - gaps - 12) / section.columns.length);
      section.cell = Math.max(5, Math.min(view.data.marks ? 18 : 14, fitting));
      const shown = section.isOpen ? section.rows.length : section.open;
      section.row = !view.data.marks ? section.cell : shown > 40 ? 16 : 20;
      section.at = [];
      let x = view.label;
      section.groups.forEach(([, inside], group) => {
        if (group) x += GAP;
        inside.forEach(() => { section.at.push(x); x += section.cell; });
      });
      view.wide = Math.max(view.wide, x + 12);
      if (number) view.tall += 14;
      const put = (kind, high, row = -1) => { view.lines.push({ kind, number, row, y: view.tall, high }); view.tall += high; };
      put("head", HEAD);
      for (let row = 0; row < shown; row += 1) put("row", section.row, row);
      if (section.open < section.rows.length) put("fold", FOLD);
    });
    const most = Math.max(220, window.innerHeight - ROOM_BELOW);
    const bar = view.wide > view.width ? 16 : 0;
    frame.style.height = `${Math.min(view.tall + 4 + bar, most)}px`;
    space.style.width = `${Math.max(view.wide, view.width)}px`;
    space.style.height = `${view.tall + 4}px`;
    view.width = frame.clientWidth;
    view.height = Math.min(frame.clientHeight, view.tall + 4);
    const dense = window.devicePixelRatio || 1;
    canvas.width = Math.round(view.width * dense);
    canvas.height = Math.round(view.height * dense);
    canvas.style.width = `${view.width}px`;
    canvas.style.height = `${view.height}px`;
    context.setTransform(dense, 0, 0, dense, 0, 0);
    draw();
  }

  function firstLine(y) {
    let low = 0, high = view.lines.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (view.lines[middle].y + view.lines[middle].high <= y) low = middle + 1; else high = middle;
    }
    return low;
  }

  function draw() {
    waiting = false;
    context.clearRect(0, 0, view.width, view.height);
    const top = frame.scrollTop, left = frame.scrollLeft;
    const marks = [];
    for (let place = firstLine(top); place < view.lines.length && view.lines[place].y < top + view.height; place += 1) {
      const line = view.lines[place], y = line.y - top;
      if (line.kind === "row") drawRow(line, y, left, marks);
      if (line.kind === "fold") drawFold(line, y);
    }
    for (const mark of marks) drawMark(...mark);
    if (view.cursor) drawCursor(top, left);
    context.fillStyle = colours.surface;
    context.fillRect(0, 0, view.label - 6, view.height);
    for (let place = firstLine(top); place < view.lines.length && view.lines[place].y < top + view.height; place += 1) {
      const line = view.lines[place], y = line.y - top;
      if (line.kind === "row") drawName(line, y);
      if (line.kind === "head") drawHead(line, y, left);
      if (line.kind === "fold") drawFold(line, y);
    }
    const current = view.lines[firstLine(top)];
    if (current) drawHead(view.lines.find((line) => line.kind === "head" && line.number === current.number), 0, left);
  }

  function drawRow(line, y, left, marks) {
    const section = view.data.sections[line.number], count = section.columns.length, from = line.row * count;
    const high = section.row - 2, cell = section.cell - (section.cell > 5 ? 1 : 0.75);
    for (let column = 0; column < count; column += 1) {
      const x = section.at[column] - left, code = section.bytes[from + column], step = level(code);
      if (x < view.label - section.cell || x > view.width || step === NO_LINK) continue;
      if (step === NO_DATA) context.fillStyle = colours.pattern;
      else context.fillStyle = colours.levels[step < UNLIMITED ? step : 0];
      context.fillRect(x, y, cell, high);
      if (step === UNLIMITED) {
        context.fillStyle = colours.dot;
        context.beginPath();
        context.arc(x + cell / 2, y + high / 2, Math.min(2, cell / 3), 0, 7);
        context.fill();
      }
      if (view.data.marks && code >> 4) marks.push([code >> 4, x + cell / 2, y + high / 2]);
    }
  }

  // A triangle is critical, a diamond a warning, a ring something to watch, as everywhere in this portal.
  function drawMark(state, x, y) {
    const path = new Path2D(), r = 5.5;
    if (state === 3) { path.moveTo(x, y - r); path.lineTo(x + r, y + r * 0.8); path.lineTo(x - r, y + r * 0.8); path.closePath(); }
    if (state === 2) { path.moveTo(x, y - r); path.lineTo(x + r, y); path.lineTo(x, y + r); path.lineTo(x - r, y); path.closePath(); }
    if (state === 1) path.arc(x, y, 3.4, 0, 7);
    context.lineJoin = "round";
    context.strokeStyle = colours.edge;
    context.lineWidth = 3;
    context.stroke(path);
    context.fillStyle = colours.states[state];
    context.fill(path);
  }

  function drawName(line, y) {
    const section = view.data.sections[line.number], [name] = section.rows[line.row];
    const isAt = view.cursor && view.cursor.number === line.number && view.cursor.row === line.row;
    if (section.row < 11 && !isAt && line.row % Math.ceil(12 / section.row)) return;
    context.font = `${section.row < 18 ? 11 : 12}px 'JetBrains Mono', monospace`;
    context.fillStyle = isAt ? colours.text : colours.muted;
    context.textAlign = "left";
    context.textBaseline = "middle";
    context.fillText(fitted(name, view.label - 18, true), 6, y + (section.row - 2) / 2 + 0.5);
  }

  // Names of nodes differ at their ends, headings at their beginnings.
  function fitted(name, room, keepsEnd = false) {
    if (context.measureText(name).width <= room) return name;
    let kept = name;
    while (kept.length > 2 && context.measureText(`${kept}…`).width > room) kept = keepsEnd ? kept.slice(1) : kept.slice(0, -1);
    return keepsEnd ? `…${kept}` : `${kept}…`;
  }

  function drawHead(line, y, left) {
    const section = view.data.sections[line.number];
    context.fillStyle = colours.surface;
    context.fillRect(0, y, view.width, HEAD - 4);
    context.font = "11.5px Inter, sans-serif";
    context.textBaseline = "alphabetic";
    context.textAlign = "left";
    let column = 0, end = -1;
    for (const [group, names] of section.groups) {
      const x = section.at[column] - left;
      column += names.length;
      const room = section.at[column - 1] + section.cell - left - x + GAP - 4;
      if (x > end && x >= view.label - 2 && x < view.width) {
        const words = visible(group), short = words.split(" ").at(-1), space = Math.max(room, 34);
        const told = context.measureText(words).width <= space ? words : fitted(short, space);
        context.fillStyle = colours.muted;
        context.fillText(told, x, y + 16);
        end = x + context.measureText(told).width;
      }
      context.fillStyle = colours.line;
      if (x + room > view.label) context.fillRect(Math.max(x, view.label), y + 22, Math.max(0, room - GAP + 3 - Math.max(0, view.label - x)), 1);
    }
    context.fillStyle = colours.surface;
    context.fillRect(0, y, view.label - 6, HEAD - 4);
    context.fillStyle = colours.muted;
    context.fillText(section.noun[0].toUpperCase() + section.noun.slice(1), 6, y + 16);
  }

  const foldText = (section) => {
    const count = section.rows.length - section.open;
    return `${count.toLocaleString("en")} clean ${count === 1 ? section.noun : section.plural}`;
  };

  function drawFold(line, y) {
    const section = view.data.sections[line.number];
    context.fillStyle = colours.raised;
    context.fillRect(0, y + 2, Math.min(view.wide, view.width), FOLD - 4);
    context.font = "12px Inter, sans-serif";
    context.textAlign = "left";
    context.textBaseline = "middle";
    context.fillStyle = colours.muted;
    context.fillText(`${section.isOpen ? "▴ fold" : "▾ show"} ${foldText(section)}`, 6, y + FOLD / 2);
  }

  function drawCursor(top, left) {
    const line = lineOf(view.cursor);
    if (!line) return;
    const section = view.data.sections[view.cursor.number];
    context.strokeStyle = colours.accent;
    context.lineWidth = 2;
    context.strokeRect(section.at[view.cursor.column] - left - 1.5, line.y - top - 1.5, section.cell + 2, section.row + 1);
  }

  const lineOf = (at) => view.lines.find((line) => line.kind === "row" && line.number === at.number && line.row === at.row);
  const later = () => { if (!waiting) { waiting = true; requestAnimationFrame(draw); } };

  return { view, HEAD, NO_LINK, NO_DATA, UNLIMITED, level, visible, foldText, readColours, layOut, draw, later, firstLine, lineOf };
};
