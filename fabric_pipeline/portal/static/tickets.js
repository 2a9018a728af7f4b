// Incidents and tickets: a figure asked again in place, progress of a run looked at again, rows of the edit form.
// Every page reads and works without this script; it only saves loading whole pages.
"use strict";
(() => {
  const part = async (address) => {
    const answer = await fetch(address, { headers: { Accept: "text/html" }, credentials: "same-origin" });
    if (!answer.ok) return null;
    return new DOMParser().parseFromString(await answer.text(), "text/html");
  };

  // Gives what the answer says ("same" and so on), "" when there was none.
  const ask = async (form) => {
    const button = form.querySelector("button"), asked = new URL(form.action);
    for (const [name, value] of new FormData(form)) asked.searchParams.set(name, value);
    const whole = asked.href;
    asked.searchParams.set("part", "1");
    button.disabled = true;
    const found = (await part(asked.href).catch(() => null))?.querySelector("[data-ran]");
    button.disabled = false;
    if (!found) return { whole, said: "" };
    const cell = form.closest("[data-cell]");
    cell.querySelector("[data-ran]")?.remove();
    cell.append(document.adoptNode(found));
    return { whole, found, said: found.querySelector(".state")?.textContent ?? "" };
  };
  const figures = document.querySelectorAll("form[data-figure]");
  for (const form of figures) {
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const { whole, found } = await ask(form);
      if (!found) { location.assign(whole); return; }
      found.setAttribute("role", "status");
      form.querySelector("button").focus();
    });
  }
  // All figures of a table, one after the other: the audit file answers two questions at once.
  for (const button of document.querySelectorAll("[data-run-all]")) {
    const box = button.closest("section"), forms = [...box.querySelectorAll("form[data-figure]")], told = box.querySelector("[data-run-told]");
    button.hidden = false;
    button.addEventListener("click", async () => {
      const counts = { same: 0 };
      button.disabled = true;
      for (const [n, form] of forms.entries()) {
        const said = (await ask(form)).said || "not answered";
        counts[said] = (counts[said] ?? 0) + 1;
        told.textContent = `${n + 1} of ${forms.length} run`;
      }
      button.disabled = false;
      told.textContent = Object.entries(counts).map(([said, count]) => `${count} ${said}`).join(", ");
    });
  }

  const look = async (box) => {
    const address = box.dataset.again;
    if (!address) return;
    const found = (await part(address).catch(() => null))?.querySelector("[data-progress]");
    if (!found) { setTimeout(() => look(box), 5000); return; }
    const next = document.adoptNode(found);
    box.replaceWith(next);
    const state = next.querySelector("[data-new-state] > *");
    if (state) document.querySelector("[data-state-chip]")?.replaceChildren(state.cloneNode(true));
    if (next.dataset.again) setTimeout(() => look(next), 1500);
  };
  for (const box of document.querySelectorAll("[data-progress][data-again]")) setTimeout(() => look(box), 1000);

  for (const rows of document.querySelectorAll("[data-rows]")) {
    for (const tools of rows.querySelectorAll("[data-row-tools]")) tools.hidden = false;
    rows.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      const row = button?.closest("[data-row]");
      if (!row) return;
      if ("up" in button.dataset && row.previousElementSibling) row.previousElementSibling.before(row);
      else if ("down" in button.dataset && row.nextElementSibling) row.nextElementSibling.after(row);
      else if ("drop" in button.dataset) {
        for (const text of row.querySelectorAll("input, textarea")) text.value = "";
        row.hidden = true;
        (row.nextElementSibling ?? row.previousElementSibling)?.querySelector("input, textarea")?.focus();
        return;
      }
      button.focus();
    });
  }
})();
