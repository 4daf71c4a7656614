"use strict";
// Without this script all steps are listed; with it, one at a time can be looked at.
const find = (id) => document.getElementById(id);
const rows = [...document.querySelectorAll("#steps tbody tr")];
const slider = find("step");
let timer = null;
let showsAll = true;

function show(number) {
  showsAll = false;
  find("all").hidden = false;
  slider.value = Math.min(Math.max(number, 0), rows.length - 1);
  rows.forEach((row, index) => { row.hidden = index !== Number(slider.value); });
  find("number").textContent = `${slider.value} of ${rows.length - 1}`;
}

function pause() {
  clearInterval(timer);
  timer = null;
  find("play").textContent = "Play";
}

function forward() {
  const next = showsAll ? 0 : Number(slider.value) + 1;
  if (next >= rows.length) pause();
  else show(next);
}

find("previous").addEventListener("click", () => { pause(); show(Number(slider.value) - 1); });
find("next").addEventListener("click", () => { pause(); forward(); });
slider.addEventListener("input", () => { pause(); show(Number(slider.value)); });
find("play").addEventListener("click", () => {
  if (timer !== null) { pause(); return; }
  find("play").textContent = "Pause";
  forward();
  timer = setInterval(forward, 500);
});
find("all").addEventListener("click", () => {
  pause();
  showsAll = true;
  find("all").hidden = true;
  rows.forEach((row) => { row.hidden = false; });
  find("number").textContent = "";
});
find("controls").hidden = false;
