"use strict";
// Without this script the whole page is loaded again every ten seconds.
const runs = document.getElementById("runs");
const updated = document.getElementById("updated");
let tag = "";

async function refresh() {
  try {
    const answer = await fetch(runs.dataset.source, { headers: tag ? { "If-None-Match": tag } : {} });
    if (answer.status === 200) {
      const isFirst = tag === "";
      tag = answer.headers.get("ETag");
      if (!isFirst) {
        runs.innerHTML = await answer.text();
        updated.textContent = `Updated at ${new Date().toLocaleTimeString()}.`;
      }
    }
  } catch {
    updated.textContent = "The dashboard has stopped; what is shown is old.";
  }
}

refresh();
setInterval(refresh, 2000);
