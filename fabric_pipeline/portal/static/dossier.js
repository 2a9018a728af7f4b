// Loads the page of a dossier again once its verification has ended.
"use strict";
(() => {
  const waiting = document.querySelector("[data-poll]");
  if (!waiting) return;
  waiting.textContent = "The diagnosis runs again from this folder alone, in a process of its own. The outcome appears here.";
  const look = async () => {
    try {
      const answer = await fetch(waiting.dataset.poll);
      if (answer.ok && (await answer.json()).is_over) { location.reload(); return; }
    } catch { /* the portal may be starting again: look once more */ }
    setTimeout(look, 1500);
  };
  setTimeout(look, 800);
})();
