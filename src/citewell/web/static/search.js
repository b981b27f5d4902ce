// The search page: keys, the source panel, and a word about what is happening while a search runs.

import "./panel.js";

const form = document.querySelector(".ask");

form.addEventListener("submit", (event) => {
  if (!form.elements.q.value.trim()) {
    event.preventDefault();
    form.elements.q.focus();
    return;
  }
  let status = document.querySelector(".found");
  if (!status) {
    status = document.createElement("p");
    status.className = "found";
    form.after(status);
  }
  status.setAttribute("role", "status");
  status.textContent = `Searching ${form.dataset.passages}…`;
});
