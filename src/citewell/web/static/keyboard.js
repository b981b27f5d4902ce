// Keys that every page has: “/” goes to the box, j and k move through passages, “?” shows the keys; and the theme switch.

const typing = (target) => target.closest("input, textarea, select, [contenteditable]") !== null;

function move(step) {
  const hits = [...document.querySelectorAll(".hit .opens")];
  const links = hits.length ? hits : [...document.querySelectorAll(".turn .chip")];
  if (!links.length) return false;
  const here = document.activeElement?.closest(".hit, .chip") ?? document.querySelector(".hit.is-open, .chip.is-open");
  const at = here ? links.findIndex((link) => here.contains(link)) : -1;
  const next = links[Math.min(links.length - 1, Math.max(0, at + step))];
  next.focus({ preventScroll: true });
  (next.closest(".hit") ?? next).scrollIntoView({ block: "nearest" });
  return true;
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  const box = document.getElementById("q") ?? document.getElementById("filter");
  if (event.key === "/" && !typing(event.target) && box) {
    event.preventDefault();
    box.focus();
    box.select();
    return;
  }
  // From the search box the down arrow leads into the results; elsewhere a field keeps its own keys.
  const fromBox = event.target.id === "q" && event.key === "ArrowDown" && document.querySelector(".hit");
  if (typing(event.target) && !fromBox) return;
  if (event.key === "?") return document.getElementById("keys")?.showModal();
  if (event.key === "n") return location.assign("/");
  if (event.key === "e") return [...document.querySelectorAll("[data-edit]")].at(-1)?.click();
  // Inside the panel the arrows scroll what is being read.
  if (event.target.closest(".panel") && event.key.startsWith("Arrow")) return;
  const arrows = document.querySelector(".hit") ? { ArrowDown: 1, ArrowUp: -1 } : {};
  const step = { j: 1, k: -1, ...arrows }[event.key];
  if (step && move(step)) event.preventDefault();
});

// ------------------------------------------------------------------------------------------ light and dark, and help

const root = document.documentElement;
const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches);

for (const button of document.querySelectorAll("[data-theme-switch]")) {
  button.hidden = false;
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    localStorage.setItem("citewell-theme", root.dataset.theme);
  });
}
for (const button of document.querySelectorAll("[data-keys]")) {
  button.hidden = false;
  button.addEventListener("click", () => document.getElementById("keys").showModal());
}

// The menu of a small screen closes when something else is wanted.
const more = document.querySelector(".more-places");
document.addEventListener("click", (event) => {
  if (more?.open && !more.contains(event.target)) more.open = false;
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !more?.open) return;
  more.open = false;
  more.querySelector("summary").focus();
});
