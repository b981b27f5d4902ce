// The Check page, a question of the inbox, a record: keys, the source panel, and a word while a text is checked.

import "./keys.js";
import "./panel.js";

const form = document.getElementById("check");

form?.addEventListener("submit", () => {
  form.querySelector("[role=status]").hidden = false;
  form.querySelector("button").disabled = true;
});
