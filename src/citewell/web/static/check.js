// The Check page, a question of the inbox, a record: keys, the source panel, and a word while a text is checked.

import { watch } from "./stage_progress.js";
import "./panel.js";

const form = document.getElementById("check");

form?.addEventListener("submit", () => {
  const status = form.querySelector("[role=status]");
  const stage = status.textContent.replace("…", "");
  const sentences = form.elements.text?.value.split(/[.!?]\s|\n/).filter((one) => one.trim()).length;
  watch(status, () => stage, sentences * Number(form.dataset.usualMs) || 0);
  form.querySelector("button").disabled = true;
});
