// The Chat page: keys, the source panel, Enter sends, and a word while the guidelines are searched.

import "./keys.js";
import "./panel.js";

const form = document.getElementById("ask");
const box = document.getElementById("q");

form?.addEventListener("submit", () => {
  form.querySelector("[role=status]").hidden = false;
  form.querySelector("button").disabled = true;
});

box?.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  form.requestSubmit();
});
