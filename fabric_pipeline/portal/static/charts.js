// Charts on one clock: one cursor, one run and one window for all of them; the window stands in the address.
// Data come from /api/series; how each chart is drawn is in charts_draw.js.
"use strict";
(() => {
  if (!window.uPlot || !window.fabricCharts) return;
  const clock = { full: null, view: null, run: new URL(location.href).searchParams.get("run"), charts: new Set() };
  const sync = uPlot.sync("fabric-clock");
  const answers = new Map();

  const fetched = (url) => {
    if (!answers.has(url)) {
      answers.set(url, fetch(url, { headers: { accept: "application/json" } }).then((answer) => {
        if (!answer.ok) { answers.delete(url); throw new Error(String(answer.status)); }
        return answer.json();
      }));
      if (answers.size > 40) answers.delete(answers.keys().next().value);
    }
    return answers.get(url);
  };

  const { kinds, measures, chosenRuns, middle, iso, forget } = window.fabricCharts(clock, { sync, brushed, moved, reset: () => reset() });
  const clockTime = (seconds) => iso(seconds).slice(11);
  const parsed = (text) => { const plain = text.trim().replace(" ", "T"), ms = Date.parse(/[zZ]|[+-]\d\d:\d\d$/.test(plain) ? plain : `${plain}Z`); return Number.isNaN(ms) ? null : ms / 1000; };

  // ---- one window, one cursor -----------------------------------------------------------------------------
  let isBrushing = false;
  function brushed(u) {
    if (u.select.width <= 3) return;
    const a = u.posToVal(u.select.left, "x"), b = u.posToVal(u.select.left + u.select.width, "x");
    u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    if (isBrushing) return; // the other charts take part in the same brush
    isBrushing = true;
    requestAnimationFrame(() => { isBrushing = false; clock.charts.forEach(({ chart }) => chart.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false)); zoom(a, b); });
  }
  const zoom = (a, b) => {
    const least = 2 * (first()?.data.clock.native ?? 1);
    if (b - a < least) { const mid = (a + b) / 2; a = mid - least / 2; b = mid + least / 2; }
    // Whole seconds, as the address has them: a permalink shows exactly the same.
    clock.view = [Math.max(clock.full[0], Math.round(a)), Math.min(clock.full[1], Math.round(b))];
    if (clock.view[1] <= clock.view[0]) clock.view = null;
    shown(); addressed();
  };
  const reset = () => { clock.view = null; shown(); addressed(); };
  const first = () => clock.charts.values().next().value;
  const shown = () => {
    const [min, max] = clock.view ?? clock.full ?? [0, 1];
    for (const one of clock.charts) one.chart.setScale("x", { min, max });
    document.querySelectorAll("[data-window]").forEach((form) => {
      form.elements.from.value = iso(min).replace("T", " "); form.elements.to.value = iso(max).replace("T", " ");
      const button = form.querySelector("[data-reset]");
      if (button) button.hidden = clock.view === null;
    });
    refine();
  };
  const addressed = () => {
    if (!clock.full) return;
    const address = new URL(location.href);
    if (clock.view) { address.searchParams.set("from", `${iso(clock.view[0])}Z`); address.searchParams.set("to", `${iso(clock.view[1])}Z`); } else { address.searchParams.delete("from"); address.searchParams.delete("to"); }
    if (clock.run !== null) address.searchParams.set("run", clock.run);
    history.replaceState(history.state, "", address);
    linked();
  };
  // Links of the strips keep the window, so that the next page shows the same time.
  const linked = () => document.querySelectorAll(".tl-labels a, a[data-keep-window]").forEach((link) => {
    const address = new URL(link.href);
    for (const name of ["from", "to"]) { if (clock.view) address.searchParams.set(name, `${iso(clock.view[name === "from" ? 0 : 1])}Z`); else address.searchParams.delete(name); }
    if (clock.run !== null) address.searchParams.set("run", clock.run); else address.searchParams.delete("run");
    link.href = address.pathname + address.search;
  });
  // Finer bins for a narrow window, where the readings are finer than what is drawn.
  const refine = () => {
    for (const one of clock.charts) {
      const coarse = one.whole.clock.step > 1.5 * one.whole.clock.native, url = new URL(one.url, location.href);
      if (!coarse) continue;
      if (!clock.view) { replace(one, one.whole); continue; }
      const view = clock.view;
      url.searchParams.set("from", `${iso(view[0])}Z`); url.searchParams.set("to", `${iso(view[1])}Z`);
      fetched(url.pathname + url.search).then((data) => { if (clock.view === view && one.host.isConnected) replace(one, data); }, () => {});
    }
  };
  const replace = (one, data) => {
    if (one.data === data) return;
    one.data = data;
    one.chart.setData(kinds[one.kind].table(data), false);
    one.chart.redraw();
  };

  let waiting = 0, pointed = null; // the last word of all charts counts: leaving one chart may be entering another
  function moved(u) {
    pointed = u.cursor.left >= 0 ? u.posToVal(u.cursor.left, "x") : null;
    waiting ||= requestAnimationFrame(() => { waiting = 0; told(pointed); });
  }
  const told = (at) => document.querySelectorAll("[data-readout]").forEach((line) => {
    const one = [...clock.charts].find((each) => each.kind === "latency" || each.kind === "strips");
    if (!one) return;
    if (at === null) { line.textContent = line.dataset.help; return; }
    const { data } = one, i = Math.floor((at - data.clock.start) / data.clock.step);
    const parts = [];
    const { runs } = chosenRuns(data), timed = runs.filter((run) => (run.p99[i] ?? null) !== null);
    for (const run of timed) {
      const ratio = run.p99[i] / (run.baseline ?? middle(run.p50));
      parts.push(`${runs.length > 1 ? `${run.title} ` : ""}p99 ${+run.p99[i].toPrecision(3)} ms, ${ratio.toFixed(2)}× its usual`);
    }
    if (!timed.length) parts.push("no timing");
    const loud = data.strips.map((strip) => ({ strip, v: strip.errors[i] })).filter(({ v }) => v);
    loud.sort((a, b) => b.v - a.v);
    parts.push(loud.length ? loud.slice(0, 3).map(({ strip, v }) => `${strip.name} ${Math.round(v).toLocaleString("en")} errors`).join(", ") : "no errors on the links drawn");
    const time = document.createElement("b");
    time.textContent = `${clockTime(at)} UTC`;
    line.replaceChildren(time, `  ${parts.join(" · ")}`);
  });

  // ---- life of a chart ------------------------------------------------------------------------------------
  const urlOf = (host) => host.dataset.series ?? host.closest("[data-series]")?.dataset.series;
  const empty = (host, text) => { const span = document.createElement("span"); span.textContent = text; host.classList.add("empty"); host.replaceChildren(span); host.dataset.ready = "none"; };
  const draw = async (host) => {
    host.dataset.mounted = "";
    const url = urlOf(host), kind = host.dataset.chart;
    let data;
    try { data = await fetched(url); } catch { empty(host, "the series could not be read; reload the page"); return; }
    if (!host.isConnected) return;
    if (!data.clock) { empty(host, "no reading carries a time"); return; }
    if (kind === "errors" && (data.chosen === null || data.strips[data.chosen].errors.every((v) => v === null))) { empty(host, "no data: no error counter of this link was read with times"); return; }
    if (kind === "latency" && !data.runs.length) { empty(host, "no data: no collective with a time"); return; }
    if (!clock.full) {
      clock.full = [data.clock.start, data.clock.start + data.clock.step * data.clock.bins];
      clock.view = addressWindow();
    }
    const one = { host, kind, url, data, whole: data, chart: null };
    one.chart = new uPlot(kinds[kind].make(host, one), kinds[kind].table(data), host);
    clock.charts.add(one);
    sync.sub(one.chart);
    if (kind === "latency") host.closest(".timeline")?.classList.toggle("ratio", chosenRuns(data).isRatio);
    if (kind === "strips") host.closest(".tl-strips").classList.add("drawn");
    host.dataset.ready = "yes";
    sizes.observe(host);
    if (clock.view) shown(); else linked();
  };
  const addressWindow = () => {
    const asked = new URL(location.href).searchParams, a = parsed(asked.get("from") ?? ""), b = parsed(asked.get("to") ?? "");
    if (a === null || b === null || b <= a || b <= clock.full[0] || a >= clock.full[1]) return null;
    const view = [Math.max(a, clock.full[0]), Math.min(b, clock.full[1])];
    return view[0] === clock.full[0] && view[1] === clock.full[1] ? null : view;
  };
  const drop = (one) => { sync.unsub(one.chart); one.chart.destroy(); clock.charts.delete(one); sizes.unobserve(one.host); };
  const again = (one) => { const { host } = one; drop(one); delete host.dataset.ready; draw(host); };
  const sizes = new ResizeObserver((entries) => entries.forEach(({ target }) => {
    const one = [...clock.charts].find((each) => each.host === target), width = Math.floor(target.clientWidth);
    if (!one || width < 60 || Math.abs(one.chart.width - width) < 1) return;
    const made = kinds[one.kind];
    const { left, right } = measures(target);
    one.chart.axes[1].size = () => left;
    one.chart.padding = [one.kind === "strips" ? 0 : 8, right, one.chart.axes[0].show ? 0 : 7, 0].map((v) => () => v);
    one.chart.setSize({ width, height: made.height(target, one) });
  }));
  const mount = (root) => {
    [...clock.charts].filter((one) => !one.host.isConnected).forEach(drop);
    root.querySelectorAll("[data-chart]:not([data-mounted])").forEach(draw);
  };
  // A panel that is exchanged in place brings charts of its own; they join the same clock.
  new MutationObserver((changes) => { if (changes.some((change) => change.addedNodes.length || change.removedNodes.length)) { mount(document); follow(); } })
    .observe(document.body, { childList: true, subtree: true });
  document.addEventListener("themechange", () => { forget(); clock.charts.forEach(({ chart }) => chart.redraw(false, true)); });
  addEventListener("popstate", () => { if (clock.full) { clock.view = addressWindow(); shown(); linked(); } });

  const bind = (root) => {
    root.querySelectorAll("[data-run-choice]").forEach((choice) => {
      choice.hidden = false;
      const select = choice.querySelector("[data-run]");
      const known = (name) => [...select.options].some(({ value }) => value === name);
      if (known(clock.run)) select.value = clock.run; else { clock.run = null; select.value = [...select.options].find((option) => option.defaultSelected)?.value ?? select.options[0].value; }
      select.addEventListener("change", () => { clock.run = select.value; addressed(); [...clock.charts].forEach(again); });
    });
    root.querySelectorAll("[data-window]").forEach((form) => {
      form.addEventListener("submit", (event) => {
        const a = parsed(form.elements.from.value), b = parsed(form.elements.to.value);
        if (!clock.full || a === null || b === null) return; // the server answers the plain form
        event.preventDefault();
        const wrong = b <= a ? "The end is not after the start." : b <= clock.full[0] || a >= clock.full[1] ? "The readings of this drop lie outside this time." : "";
        form.elements.to.setCustomValidity(wrong);
        if (wrong) { form.elements.to.reportValidity(); return; }
        zoom(a, b);
      });
      form.addEventListener("input", () => form.elements.to.setCustomValidity(""));
      form.querySelector("[data-reset]")?.addEventListener("click", () => { reset(); form.elements.from.focus(); });
    });
    root.querySelectorAll("[data-readout]").forEach((line) => { line.textContent = line.dataset.help; });
  };
  // Beside a map the charts set off the link of the panel, whichever way it came there.
  const follow = async () => {
    const section = document.querySelector("[data-timeline]");
    if (!section || !document.querySelector("[data-panel]")) return;
    const link = document.querySelector("[data-panel-link]")?.dataset.panelLink ?? "";
    if (link === (section.dataset.asked ?? section.dataset.chosen)) return;
    section.dataset.asked = link;
    const asked = new URL(location.href).searchParams;
    asked.set("drop", section.dataset.drop);
    asked.set("at", location.pathname);
    if (link) asked.set("link", link); else asked.delete("link");
    const answer = await fetch(`/timeline?${asked}`).catch(() => null);
    if (!answer?.ok || section.dataset.asked !== link) return;
    const made = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("[data-timeline]");
    if (!made || !section.isConnected) return;
    section.replaceWith(document.adoptNode(made));
    bind(made); mount(document); linked();
  };
  // The window and the run stay in the address when a link is picked without a new page.
  document.addEventListener("panelchange", addressed);
  // Charts of a page that should not wait for them: the rest is read while they are made.
  const fill = async (box) => {
    const asked = new URL(box.dataset.lazyTimeline, location.href), here = new URL(location.href).searchParams;
    for (const name of ["from", "to", "run"]) if (here.has(name)) asked.searchParams.set(name, here.get(name));
    asked.searchParams.set("at", location.pathname);
    const said = box.querySelector("a, p"), before = said.textContent;
    said.textContent = "Reading the charts of this drop";
    const answer = await fetch(asked.pathname + asked.search).catch(() => null);
    const made = answer?.ok ? new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("[data-timeline]") : null;
    if (!made) { said.textContent = before; return; }
    box.replaceChildren(document.adoptNode(made));
    bind(box); mount(document); linked();
  };
  bind(document);
  mount(document);
  document.querySelectorAll("[data-lazy-timeline]").forEach(fill);
})();
