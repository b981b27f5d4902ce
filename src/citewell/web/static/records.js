// The pages of a record: keys, the source panel, Enter sends, and a word while something is looked up or read.

import "./keys.js";
import "./panel.js";

for (const form of document.querySelectorAll("form:has([role=status])")) {
  form.addEventListener("submit", () => {
    form.querySelector("[role=status]").hidden = false;
    form.querySelector("button").disabled = true;
  });
}

const box = document.getElementById("q");

box?.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  box.form.requestSubmit();
});
