// The Ask page: an answer appears sentence by sentence, each once it is checked.

import "./keyboard.js";
import "./panel.js";
import { listen, NO_ANSWER } from "./stream.js";
import { Turn } from "./turn.js";

const form = document.getElementById("ask");
const box = form.elements.question;
const button = form.querySelector(".box button");
const turns = document.getElementById("turns");
const talkAt = (id) => `${form.dataset.talks ?? "/conversations/"}${id}`;
let stopping = null;

// ------------------------------------------------------------------------------------------------- the stream

function answered(question, signal) {
  const asked = { question, conversation_id: form.elements.conversation_id.value || null };
  if (form.elements.model?.value) asked.model = form.elements.model.value;
  const tags = [...form.querySelectorAll('input[name="tag"]:checked')].map((one) => one.value);
  if (tags.length) asked.tags = tags;
  if (form.elements.journey) asked.journey = form.elements.journey.value || null;
  return listen(form.dataset.stream ?? "/api/v1/ask/stream", asked, { csrf: form.dataset.csrf, signal });
}

// ------------------------------------------------------------------------------------------------- asking

function began(id, question) {
  form.elements.conversation_id.value = id;
  history.replaceState(null, "", talkAt(id));
  listed(id, question);
}

function listed(id, question) {
  const list = document.getElementById("talks");
  const address = talkAt(id);
  list.querySelectorAll("[aria-current]").forEach((one) => one.removeAttribute("aria-current"));
  let link = list.querySelector(`a[href="${address}"]`);
  if (!link) {
    link = document.createElement("a");
    link.href = address;
    link.textContent = question;
    link.title = question;
    const item = document.createElement("li");
    item.append(link);
    list.prepend(item);
  }
  link.setAttribute("aria-current", "page");
  list.closest("nav").hidden = false;
}

async function ask(question, turn) {
  stopping = new AbortController();
  button.textContent = "Stop";
  turn.begin(form.dataset.passages, Number(form.dataset.usualMs) || 0);
  let ended = false;
  try {
    for await (const [name, data] of answered(question, stopping.signal)) {
      if (name === "started") began(data.conversation_id, question);
      else if (name === "failed") throw new Error(data.message);
      else turn.take(name, data);
      ended ||= name === "done";
    }
    if (!ended) throw new Error("The answer was interrupted.");
  } catch (error) {
    const words = error.name === "AbortError" ? "Stopped." : error instanceof TypeError ? NO_ANSWER : error.message;
    turn.fail(words, () => ask(question, turn));
  }
  stopping = null;
  button.textContent = "Ask";
}

// A conversation stays in the journey it began in: what could be chosen is only told from now on.
function settle() {
  const picker = document.querySelector("form.journey");
  if (!picker) return;
  const chosen = picker.elements.journey.selectedOptions[0];
  const line = document.createElement("p");
  const name = document.createElement("b");
  line.className = "journey";
  name.textContent = chosen.value ? chosen.textContent : "for everyone";
  line.append("Journey ", name);
  picker.replaceWith(line);
}

function start(question) {
  document.body.className = "with-panel asking";
  document.querySelector("main > h1").classList.add("unseen");
  document.querySelectorAll("main > .examples, main > .notice, main > .about-journey").forEach((one) => one.remove());
  settle();
  document.getElementById("last")?.removeAttribute("id");
  const last = turns.lastElementChild; // what waits for its answer is not kept twice
  if (last?.matches(".failed") && last.querySelector(".question").textContent === question) last.remove();
  const turn = new Turn(question, JSON.parse(form.dataset.words), form.dataset.sources);
  turns.append(turn.element);
  turn.element.scrollIntoView({ block: "start" });
  box.value = "";
  box.placeholder = "Ask a follow-up";
  fit();
  ask(question, turn);
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (stopping) return stopping.abort();
  const question = box.value.trim();
  if (question) start(question);
  else box.focus();
});

box.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  if (!stopping) form.requestSubmit();
});

function fit() {
  box.rows = Math.min(6, Math.max(1, box.value.split("\n").length, Math.ceil(box.value.length / 70)));
}
box.addEventListener("input", fit);
fit();

document.addEventListener("click", (event) => {
  const example = event.target.closest("[data-example]");
  if (example && !stopping) {
    event.preventDefault();
    start(example.textContent.trim());
  }
});

for (const copy of document.querySelectorAll(".turn .copy")) {
  copy.hidden = false;
  copy.addEventListener("click", () => Turn.copy(copy.closest(".turn"), copy));
}
document.getElementById("last")?.scrollIntoView({ block: "start" });

document.querySelector("select[data-submits]")?.addEventListener("change", (event) => event.target.form.requestSubmit());
