// Copies the address of what is shown, with its drop, link, mask, window and run; for a chat a line of words before
// it. The drop is always named: the newest one of today is another one tomorrow.
"use strict";
(() => {
  const address = (box) => {
    const here = new URL(location.href);
    here.hash = "";
    if (box.dataset.drop && !here.searchParams.has("drop") && !here.searchParams.has("a")) here.searchParams.set("drop", box.dataset.drop);
    return here;
  };
  const plain = (node) => node?.textContent.replace(/\s+/g, " ").trim() ?? "";
  const large = (text) => text.slice(0, 1).toUpperCase() + text.slice(1);
  // Beside a map the panel says what is looked at, on every other page the title does.
  const words = (here) => {
    const panel = document.querySelector("[data-panel-link]"), title = document.title.replace(/ · fabric_pipeline$/, "");
    const parts = [panel ? `${large(plain(panel.querySelector(".state")))}: ${plain(panel.querySelector(".lp-title"))}, ${panel.dataset.panelLink}` : title];
    const drop = here.searchParams.get("drop");
    if (drop && !parts[0].includes(drop)) parts.push(`drop ${drop}`);
    const [from, to] = ["from", "to"].map((name) => here.searchParams.get(name)?.replace("T", " ").replace(/Z$/, ""));
    if (from && to) parts.push(`${from} to ${to.slice(0, 10) === from.slice(0, 10) ? to.slice(11) : to} UTC`);
    return parts.join(", ");
  };
  // Without the right to the clipboard (plain http off this machine) the text stands ready to be copied by hand.
  const byHand = (box, text) => {
    const field = document.createElement("textarea");
    field.readOnly = true; field.value = text; field.rows = 2;
    field.setAttribute("aria-label", "Copy this");
    box.querySelector("textarea")?.remove();
    box.append(field);
    field.focus(); field.select();
  };
  for (const box of document.querySelectorAll("[data-copy]")) {
    const told = box.querySelector("[role=status]");
    box.hidden = false;
    box.addEventListener("click", async (event) => {
      const as = event.target.closest("button")?.dataset.as;
      if (!as) return;
      const here = address(box), text = as === "text" ? `${words(here)}\n${here.href}` : here.href;
      try {
        await navigator.clipboard.writeText(text);
        told.textContent = "Copied";
        setTimeout(() => { told.textContent = ""; }, 4000);
      } catch { byHand(box, text); }
    });
  }
})();
