// What every page does: the theme button, and the slash key for the search field. Nothing else runs everywhere.
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
})();
