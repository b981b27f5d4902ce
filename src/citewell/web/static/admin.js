// The list of documents: tick all, and keys.


const all = document.querySelector("[data-all]");
const ticks = [...document.querySelectorAll('input[name="id"]')];
if (all && ticks.length) {
  all.hidden = false;
  all.addEventListener("change", () => ticks.forEach((one) => { one.checked = all.checked; }));
}
