// How the three charts are drawn: latency of runs, error strips of links, errors of one link. What they share in
// time (cursor, window, run) is in charts.js; null is "no data" and is hatched, never drawn as zero.
"use strict";
window.fabricCharts = (clock, { sync, brushed, moved, reset }) => {
  const page = document.documentElement;
  const css = (name) => getComputedStyle(page).getPropertyValue(name).trim();
  const ROW = 24, AXIS = 26, FONT = '11px Inter, system-ui, sans-serif', GAP_BINS = 2;
  const NARROW = 38;

  // ---- time ---------------------------------------------------------------------------------------------
  const iso = (seconds) => new Date(Math.round(seconds) * 1000).toISOString().slice(0, 19);
  const ticks = (u, splits, axis, space, step) => splits.map((at) => {
    const text = iso(at);
    if (step >= 86400) return text.slice(5, 10);
    if (at % 86400 === 0) return text.slice(5, 10);
    return step < 60 ? text.slice(11) : text.slice(11, 16);
  });

  // ---- drawing ------------------------------------------------------------------------------------------
  const hatches = new Map();
  const hatch = (context) => {
    const colour = css("--unknown");
    if (!hatches.has(colour)) {
      const size = Math.round(6 * devicePixelRatio), tile = document.createElement("canvas");
      tile.width = tile.height = size;
      const pen = tile.getContext("2d");
      pen.strokeStyle = colour; pen.globalAlpha = 0.55; pen.lineWidth = devicePixelRatio;
      for (const shift of [-size, 0, size]) { pen.beginPath(); pen.moveTo(shift, size); pen.lineTo(shift + size, 0); pen.stroke(); }
      hatches.set(colour, tile);
    }
    return context.createPattern(hatches.get(colour), "repeat");
  };
  const spans = (values, wanted) => {
    const found = [];
    for (let i = 0; i < values.length; i++) {
      if (!wanted(values[i])) continue;
      const first = i;
      while (i + 1 < values.length && wanted(values[i + 1])) i++;
      found.push([first, i + 1]);
    }
    return found;
  };
  const inside = (u, paint) => {
    const c = u.ctx, { left, top, width, height } = u.bbox;
    c.save(); c.beginPath(); c.rect(left, top, width, height); c.clip();
    paint(c, left, top, width, height);
    c.restore();
  };
  const bands = (u, slow, cap) => inside(u, (c, left, top, width, height) => {
    c.fillStyle = css("--warning");
    for (const [first, last] of slow) {
      const a = u.valToPos(first, "x", true), b = Math.max(u.valToPos(last, "x", true), a + 2);
      c.globalAlpha = 0.12; c.fillRect(a, top, b - a, height);
      if (cap) { c.globalAlpha = 1; c.fillRect(a, top, b - a, 3 * devicePixelRatio); }
    }
  });

  const measures = (host) => {
    const style = getComputedStyle(host);
    const left = parseInt(style.getPropertyValue("--tl-left"), 10) || 46, right = parseInt(style.getPropertyValue("--tl-right"), 10) || 18;
    return { left, right };
  };
  const axisStyle = () => ({
    stroke: () => css("--muted"), font: FONT,
    grid: { stroke: () => css("--line"), width: 1 }, ticks: { stroke: () => css("--line"), width: 1, size: 5 },
  });
  const base = (host, height, extra) => {
    const { left, right } = measures(host);
    return {
      width: Math.max(120, host.clientWidth), height, padding: [8, right, extra.hasTime ? 0 : 7, 0], legend: { show: false },
      tzDate: (at) => uPlot.tzDate(new Date(at * 1000), "Etc/UTC"),
      cursor: {
        y: false, points: { show: false }, sync: { key: sync.key, scales: ["x", null] },
        drag: { x: true, y: false, setScale: false, dist: 3 }, bind: { dblclick: () => () => { reset(); return null; } },
      },
      scales: { x: { time: true, range: () => clock.view ?? clock.full }, ...extra.scales },
      axes: [
        { ...axisStyle(), show: extra.hasTime, size: AXIS, values: ticks, space: 64 },
        { ...axisStyle(), size: left, ...extra.side },
      ],
      series: extra.series,
      hooks: { setSelect: [brushed], setCursor: [moved], ...extra.hooks },
    };
  };

  // Which runs are drawn: one in ms, or all slow ones against their usual time.
  const chosenRuns = (data) => {
    const wanted = clock.run ?? data.first;
    if (wanted === "all") {
      const slow = data.runs.filter((run) => run.slow.length);
      if (slow.length) return { runs: slow.slice(0, 4), isRatio: true };
    }
    const run = data.runs.find(({ key }) => key === wanted) ?? data.runs.find(({ key }) => key === data.first) ?? data.runs[0];
    return { runs: run ? [run] : [], isRatio: false };
  };
  const middle = (values) => { const known = values.filter((v) => v !== null).sort((a, b) => a - b); return known[Math.floor(known.length / 2)] ?? 1; };
  // A short pause between two collectives is no gap; undefined joins, null parts.
  const joined = (values) => {
    const kept = values.slice();
    for (const [first, last] of spans(values, (v) => v === null)) {
      if (first > 0 && last < values.length && last - first <= GAP_BINS) kept.fill(undefined, first, last);
    }
    return kept;
  };
  const binTimes = (data, shift) => Array.from({ length: data.clock.bins }, (_, i) => data.clock.start + (i + shift) * data.clock.step);

  const latency = {
    height: (host) => (host.dataset.mini === undefined ? 168 : 116),
    table(data) {
      const { runs, isRatio } = chosenRuns(data), rows = [binTimes(data, 0.5)];
      for (const run of runs) {
        const unit = isRatio ? run.baseline ?? middle(run.p50) : 1;
        const scaled = (values) => joined(values.map((v) => (v === null ? null : v / unit)));
        if (!isRatio) rows.push(scaled(run.p50));
        rows.push(scaled(run.p99));
        rows.push(run.p99.map((v, i) => {
          const a = data.clock.start + i * data.clock.step;
          return v !== null && run.slow.some(([first, last]) => first < a + data.clock.step && last > a) ? v / unit : null;
        }));
      }
      return rows;
    },
    make(host, state) {
      const { runs, isRatio } = chosenRuns(state.data), series = [{}];
      const dashes = [[], [6, 4], [2, 3], [9, 3, 2, 3]];
      runs.forEach((run, i) => {
        if (!isRatio) series.push({ stroke: () => css("--muted"), width: 1, points: { show: false } });
        series.push({ stroke: () => css("--accent"), width: 1.6, dash: dashes[i], points: { show: false } });
        series.push({ paths: () => null, points: { show: true, size: 5.5, width: 0, fill: () => css("--warning"), stroke: () => css("--warning") } });
      });
      const range = (u, low, high) => {
        if (low === null || low === undefined) return [0, 1];
        const bottom = high > 1.8 * low ? 0 : low * 0.9;
        return [bottom, high + (high - bottom) * 0.12];
      };
      const unit = isRatio ? "×" : " ms";
      return base(host, this.height(host), {
        hasTime: host.dataset.mini !== undefined || !document.querySelector('[data-chart="strips"]') || !host.closest("[data-timeline]"), series,
        scales: { y: { range } },
        side: { space: 34, values: (u, splits) => splits.map((v) => (v === null ? "" : `${+v.toPrecision(4)}${unit}`)) },
        hooks: {
          drawClear: [(u) => {
            const now = chosenRuns(state.data).runs, { start, step, bins } = state.data.clock;
            bands(u, now.flatMap((run) => run.slow), true);
            const known = Array.from({ length: bins }, (_, i) => (now.some((run) => run.p99[i] !== null) ? 1 : null));
            inside(u, (c, left, top, width, height) => {
              c.fillStyle = hatch(c);
              for (const [a, b] of spans(known, (v) => v === null)) {
                if (b - a <= GAP_BINS) continue;
                const x = u.valToPos(start + a * step, "x", true);
                c.fillRect(x, top, u.valToPos(start + b * step, "x", true) - x, height);
              }
            });
          }],
        },
      });
    },
  };

  const strips = {
    row: (host) => (host.closest(".timeline")?.clientWidth <= 760 ? NARROW : ROW),
    height(host, state) { return state.data.strips.length * this.row(host) + AXIS + 2; },
    table: (data) => [binTimes(data, 0.5), binTimes(data, 0).map(() => null)],
    make(host, state) {
      const paint = (u) => {
        const { data } = state, { start, step } = data.clock, row = this.row(host) * devicePixelRatio;
        const slow = chosenRuns(data).runs.flatMap((run) => run.slow), isNarrow = this.row(host) === NARROW;
        bands(u, slow, false);
        inside(u, (c, left, top, width) => data.strips.forEach((strip, k) => {
          const thick = 14 * devicePixelRatio, y = top + k * row + (isNarrow ? row - thick - 3 * devicePixelRatio : (row - thick) / 2);
          const at = (i) => u.valToPos(start + i * step, "x", true);
          c.globalAlpha = 0.55; c.fillStyle = css("--pressed"); c.fillRect(left, y, width, thick);
          c.globalAlpha = 1; c.fillStyle = hatch(c);
          for (const [a, b] of spans(strip.errors, (v) => v === null)) {
            c.clearRect(at(a), y, at(b) - at(a), thick); c.fillRect(at(a), y, at(b) - at(a), thick);
          }
          const most = Math.max(...strip.errors.map((v) => v ?? 0)), colour = css(`--${strip.state === "no_data" ? "unknown" : strip.state}`);
          const dim = data.chosen !== null && data.chosen !== k ? 0.5 : 1;
          c.fillStyle = colour;
          strip.errors.forEach((v, i) => {
            if (!v) return;
            c.globalAlpha = dim * (0.3 + 0.7 * Math.sqrt(v / most));
            c.fillRect(at(i), y, Math.max(at(i + 1) - at(i), 1.5 * devicePixelRatio), thick);
          });
          c.globalAlpha = 1;
          if (data.chosen === k) { c.strokeStyle = css("--text"); c.lineWidth = devicePixelRatio; c.strokeRect(left + 0.5, y - 1, width - 1, thick + 2); }
        }));
      };
      const made = base(host, this.height(host, state), {
        hasTime: true, series: [{}, { paths: () => null, points: { show: false } }], scales: { y: { range: () => [0, 1] } },
        side: { values: () => [], grid: { show: false }, ticks: { show: false } }, hooks: { draw: [paint] },
      });
      made.padding[0] = 0;
      return made;
    },
  };

  const errors = {
    height: () => 116,
    perMinute: (data, values) => values.map((v) => (v === null ? null : (v * 60) / data.clock.step)),
    table(data) {
      const strip = data.strips[data.chosen], rows = [binTimes(data, 0), this.perMinute(data, strip.errors)];
      if (strip.multi) rows.push(this.perMinute(data, strip.multi));
      return rows;
    },
    make(host, state) {
      const strip = state.data.strips[state.data.chosen];
      const colour = () => css(strip.state === "healthy" || strip.state === "no_data" ? "--muted" : `--${strip.state}`);
      const stepped = uPlot.paths.stepped({ align: 1 });
      const series = [{}, { stroke: colour, fill: () => `${colour()}33`, width: 1.3, paths: stepped, points: { show: false } }];
      if (strip.multi) series.push({ stroke: () => css("--text"), width: 1, dash: [3, 3], paths: stepped, points: { show: false } });
      return base(host, this.height(), {
        hasTime: true, series, scales: { y: { range: (u, low, high) => [0, Math.max(1, (high ?? 0) * 1.12)] } },
        side: { space: 28, values: (u, splits) => splits.map((v) => (v >= 10000 ? `${v / 1000}k` : String(+v.toPrecision(4)))) },
        hooks: {
          drawClear: [(u) => {
            bands(u, chosenRuns(state.data).runs.flatMap((run) => run.slow), true);
            const { start, step } = state.data.clock;
            inside(u, (c, left, top, width, height) => {
              c.fillStyle = hatch(c);
              for (const [a, b] of spans(state.data.strips[state.data.chosen].errors, (v) => v === null)) {
                const x = u.valToPos(start + a * step, "x", true);
                c.fillRect(x, top, u.valToPos(start + b * step, "x", true) - x, height);
              }
            });
          }],
        },
      });
    },
  };
  return { kinds: { latency, strips, errors }, measures, chosenRuns, middle, iso, forget: () => hatches.clear() };
};
