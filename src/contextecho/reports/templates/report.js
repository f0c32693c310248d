"use strict";
const root = document.documentElement;
const tip = document.getElementById("tip");
const theme = document.getElementById("theme");

const isDark = () =>
  root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
const nameTheme = () => { theme.textContent = isDark() ? "Light" : "Dark"; };
theme.addEventListener("click", () => {
  root.dataset.theme = isDark() ? "light" : "dark";
  nameTheme();
});
theme.hidden = false;
nameTheme();

const show = (element) => {
  tip.textContent = element.dataset.tip || element.getAttribute("aria-label");
  tip.hidden = false;
  const at = element.getBoundingClientRect();
  const below = at.bottom + tip.offsetHeight + 12 < innerHeight;
  tip.style.left = Math.max(8, Math.min(at.left, innerWidth - tip.offsetWidth - 8)) + "px";
  tip.style.top = (below ? at.bottom + 8 : Math.max(8, at.top - tip.offsetHeight - 8)) + "px";
};
const hide = () => { tip.hidden = true; };
document.addEventListener("pointerover", (event) => {
  const mark = event.target.closest("[data-tip]");
  if (mark) show(mark); else hide();
});
document.addEventListener("focusin", (event) => {
  if (event.target.matches("svg .row:focus-visible")) show(event.target); else hide();
});
document.addEventListener("focusout", hide);
document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
