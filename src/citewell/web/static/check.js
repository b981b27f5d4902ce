// The Check page: the source panel, and a word about what is happening while a text is checked.

import "./keys.js";
import "./panel.js";

const form = document.getElementById("check");

form.addEventListener("submit", () => {
  form.querySelector("[role=status]").hidden = false;
  form.querySelector("button").disabled = true;
});
