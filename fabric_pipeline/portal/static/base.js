// What every page does: the theme button, the slash key for the search field, and asking now and then whether
// there is something newer than what is shown. Nothing else runs everywhere.
"use strict";
(() => {
  const root = document.documentElement;
  const button = document.querySelector("[data-theme-button]");
  const show = () => { if (button) button.textContent = root.dataset.theme === "dark" ? "Light" : "Dark"; };
  button?.addEventListener("click", () => {
    root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
    document.cookie = `theme=${root.dataset.theme};path=/;max-age=31536000;samesite=strict`;
    show();
    document.dispatchEvent(new CustomEvent("themechange"));
  });
  document.addEventListener("keydown", (event) => {
    const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName ?? "");
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      document.getElementById("find")?.focus();
    }
  });
  show();

  // ---- something newer: said once, politely; the page itself stays as it is until the reader wants the new one
  const shown = document.querySelector("[data-shown]"), news = document.querySelector("[data-news]");
  const LOOK_EVERY_MS = 20000;
  let said = "";
  const address = (keepsDrop) => {
    const url = new URL(location.href);
    if (url.pathname.startsWith("/compare")) return "/";
    if (!keepsDrop) for (const name of ["drop", "from", "to"]) url.searchParams.delete(name);
    return url.pathname + url.search;
  };
  const say = (what, words, link, href) => {
    if (what === said) return;
    said = what;
    const bar = document.createElement("div"), text = document.createElement("span");
    bar.className = "bar news";
    text.append(`${words} `);
    if (link) {
      const open = document.createElement("a");
      open.href = href;
      open.textContent = link;
      text.append(open);
    }
    bar.append(text);
    news.replaceChildren(bar);
  };
  const look = async () => {
    if (document.visibilityState !== "visible") return;
    const drop = shown.dataset.shown.split("@")[0];
    let found;
    try {
      const answer = await fetch(`/api/freshness?drop=${encodeURIComponent(drop)}`, { cache: "no-store" });
      if (!answer.ok) return;
      found = await answer.json();
    } catch { return; } // the portal is not there at the moment: the next look will tell
    if (found.state === "running" && found.newest === drop) say(`run ${drop}`, `A run is writing drop ${drop}. This page shows what was read before.`);
    else if (found.newest && found.newest !== shown.dataset.newest) say(found.newest, `A newer drop has been read: ${found.newest}.`, "Show the new drop", address(false));
    else if (found.shown && found.shown !== shown.dataset.shown) say(found.shown, `Drop ${drop} has been processed again since this page was made.`, "Show the new state", address(true));
    else if (found.unread.length) say(`unread ${found.unread}`, `A run is reading ${found.unread.join(", ")}; nothing of it can be shown yet.`);
  };
  if (shown && news) setInterval(look, Number(news.dataset.everyMs) || LOOK_EVERY_MS);
})();
