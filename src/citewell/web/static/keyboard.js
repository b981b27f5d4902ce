// Moves through a list of passages with j and k or the arrows, and to the search box with “/”.

const typing = (target) => target.closest("input, textarea, select, [contenteditable]") !== null;

function move(step) {
  const links = [...document.querySelectorAll(".hit .opens")];
  if (!links.length) return false;
  const hit = document.activeElement?.closest(".hit") ?? document.querySelector(".hit.is-open");
  const at = hit ? links.findIndex((link) => hit.contains(link)) : -1;
  const next = links[Math.min(links.length - 1, Math.max(0, at + step))];
  next.focus({ preventScroll: true });
  next.closest(".hit").scrollIntoView({ block: "nearest" });
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
  const fromBox = event.target.id === "q" && event.key === "ArrowDown";
  if (typing(event.target) && !fromBox) return;
  // Inside the panel the arrows scroll what is being read.
  if (event.target.closest(".panel") && event.key.startsWith("Arrow")) return;
  const step = { j: 1, k: -1, ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step && move(step)) event.preventDefault();
});
