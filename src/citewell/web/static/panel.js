// The source panel: opens links that carry data-panel beside the page instead of instead of it.

const panel = document.getElementById("source");
let opener = null;
let asked = 0;

export const isOpen = () => panel?.classList.contains("is-open") ?? false;

// Only the panel scrolls: the page must not move under the reader's eyes.
function showMarked() {
  const marked = panel.querySelector("#marked");
  if (!marked) return;
  const place = marked.getBoundingClientRect();
  const frame = panel.getBoundingClientRect();
  panel.scrollTop += place.top + place.height / 2 - frame.top - frame.height / 2;
}

const unselect = () => document.querySelectorAll(".hit.is-open, .chip.is-open").forEach((one) => one.classList.remove("is-open"));

function select(link) {
  const hit = link.closest(".hit, .chip");
  if (!hit) return;
  unselect();
  hit.classList.add("is-open");
}

// The text gets narrower beside the panel and wider without it: what was clicked stays at its height.
function staying(link, change) {
  const before = link?.getBoundingClientRect().top ?? 0;
  change();
  if (link && !panel.contains(link)) scrollBy(0, link.getBoundingClientRect().top - before);
}

function closeButton() {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "close quiet";
  button.setAttribute("aria-label", "Close source (Escape)");
  button.textContent = "×";
  button.addEventListener("click", close);
  return button;
}

function failed(address) {
  const words = document.createElement("p");
  words.className = "notice bad";
  words.textContent = "The source could not be loaded because the server is not responding. Check that `citewell serve` is still running. ";
  const again = document.createElement("a");
  again.href = address;
  again.dataset.panel = address;
  again.textContent = "Try again";
  words.append(again);
  return words;
}

export async function open(link) {
  const address = link.dataset.panel;
  const turn = ++asked;
  if (!panel.contains(link)) opener = link;
  select(link);
  panel.setAttribute("aria-busy", "true");
  staying(link, () => panel.classList.add("is-open"));
  let content;
  try {
    const response = await fetch(address, { credentials: "same-origin" });
    content = document.createRange().createContextualFragment(await response.text());
  } catch {
    content = failed(address);
  }
  if (turn !== asked) return;
  panel.replaceChildren(content);
  (panel.querySelector(".source-bar") ?? panel).prepend(closeButton());
  panel.removeAttribute("aria-busy");
  panel.scrollTop = 0;
  showMarked();
  panel.querySelector(".source-title")?.focus({ preventScroll: true });
}

export function close() {
  if (!isOpen()) return false;
  asked += 1;
  staying(opener, () => panel.classList.remove("is-open"));
  panel.removeAttribute("aria-busy");
  panel.replaceChildren();
  unselect();
  opener?.focus();
  return true;
}

if (panel) {
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-panel]");
    if (!link || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    open(link);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && close()) event.preventDefault();
  });
}
