// The box to ask: an answer appears sentence by sentence, each once it is checked; at its end the server's drawing of it.

import "./panel.js";
import { listen, NO_ANSWER } from "./stream.js";
import { copy, make, Turn } from "./turn.js";

const form = document.getElementById("ask");
const box = document.getElementById("q");
const button = form?.querySelector(".box button");
const turns = document.getElementById("turns");
const conversation = form?.querySelector("[data-conversation]");
const record = form?.querySelector("[data-record]");
let stopping = null;

// --------------------------------------------------------------------------------------------- what the form sends

function sent(question) {
  const body = { [box.name]: question };
  for (const one of form.querySelectorAll("[data-sent]")) {
    if (one.type === "checkbox") {
      if (one.checked) (body[one.dataset.sent] ??= []).push(one.value);
    } else if (one.value) body[one.dataset.sent] = one.value;
  }
  if (form.dataset.stream === "/api/v1/ask/stream") body.hand_on = false;
  return body;
}

function talkAt(id) {
  const kept = new URLSearchParams();
  for (const one of form.querySelectorAll("[data-kept]")) {
    if (one.value && (one.type !== "checkbox" || one.checked)) kept.append(one.name, one.value);
  }
  if (record?.checked && !record.value.endsWith(":")) kept.append("record", record.value);
  return `${form.dataset.talks}${id}${kept.size ? `?${kept}` : ""}`;
}

// --------------------------------------------------------------------------------------------------------- asking

function began(id, question) {
  conversation.value = id;
  history.replaceState(null, "", talkAt(id));
  const list = document.getElementById("talks");
  const address = `${form.dataset.talks}${id}`;
  list.querySelectorAll("[aria-current]").forEach((one) => one.removeAttribute("aria-current"));
  let link = list.querySelector(`a[href="${address}"]`);
  if (!link) {
    link = make("a", { href: address, title: question, text: question });
    list.prepend(make("li", {}, link));
  }
  link.setAttribute("aria-current", "page");
  list.closest("nav").hidden = false;
}

// One service's answer into the turn; gives the id of its conversation.
async function answered(address, body, turn, signal, started) {
  let id = null;
  let ended = false;
  for await (const [name, data] of listen(address, body, { csrf: form.dataset.csrf, signal })) {
    if (name === "failed") throw new Error(data.message);
    if (name === "started") {
      id = data.conversation_id;
      started?.(id);
    } else turn.take(name, data);
    ended ||= name === "done";
  }
  if (!ended) throw new Error("The answer was interrupted.");
  return id;
}

async function ask(question, turn) {
  stopping = new AbortController();
  const { signal } = stopping;
  button.textContent = "Stop";
  turn.begin(form.dataset.passages, Number(form.dataset.usualMs) || 0);
  try {
    if (record?.checked) {
      const [vault, talk] = record.value.split(":");
      const own = new Turn(question, turn.words, `/records/${vault}`);
      turn.told.before(make("section", { class: "part from-record" }, own.told, own.answer));
      const body = talk ? { question, conversation_id: talk } : { question };
      record.value = `${vault}:${await answered(`/api/v1/records/${vault}/ask/stream`, body, own, signal)}`;
    }
    await answered(form.dataset.stream, sent(question), turn, signal, (id) => began(id, question));
    turn.finish();
    await drawn(turn);
  } catch (error) {
    turn.element.querySelector(".from-record")?.remove();
    const words = error.name === "AbortError" ? "Stopped." : error instanceof TypeError ? NO_ANSWER : error.message;
    turn.fail(words, () => ask(question, turn));
  }
  stopping = null;
  button.textContent = "Ask";
}

// What was answered is drawn by the server alone: the finished turn comes from the page of its conversation.
async function drawn(turn) {
  const at = talkAt(conversation.value);
  const response = await fetch(at, { credentials: "same-origin" });
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const finished = page.getElementById("last");
  if (!response.ok || !finished) return location.assign(at);
  const whole = document.adoptNode(finished);
  whole.querySelector(".answer")?.prepend(...turn.answer.querySelectorAll(".taken-back")); // nothing shown vanishes
  turn.element.replaceWith(whole);
  ready(whole);
  const fresh = page.querySelector("form.tools");
  if (fresh && !document.querySelector("form.tools")) form.after(document.adoptNode(fresh));
  history.replaceState(null, "", at);
}

function start(question) {
  document.body.className = "with-panel asking";
  document.querySelector("main > h1").classList.add("unseen");
  document.querySelectorAll("main > .examples, main > .notice, main > .start-doors").forEach((one) => one.remove());
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

form?.addEventListener("submit", (event) => {
  event.preventDefault();
  if (stopping) return stopping.abort();
  const question = box.value.trim();
  if (question) start(question);
  else box.focus();
});

box?.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  if (!stopping) form.requestSubmit();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !event.defaultPrevented) stopping?.abort();
});

function fit() {
  box.rows = Math.min(6, Math.max(1, box.value.split("\n").length, Math.ceil(box.value.length / 70)));
}
box?.addEventListener("input", fit);
if (box) fit();

document.addEventListener("click", (event) => {
  const example = event.target.closest("[data-example]");
  if (example && !stopping) {
    event.preventDefault();
    return start(example.textContent.trim());
  }
  const edit = event.target.closest("[data-edit]");
  if (edit && box) {
    event.preventDefault();
    box.value = edit.dataset.edit;
    fit();
    box.focus();
  }
});

// --------------------------------------------------------------------------------- what can be done with an answer

function ready(turn) {
  for (const one of turn.querySelectorAll(".copy")) {
    one.hidden = false;
    one.addEventListener("click", () => copy(turn, one));
  }
  for (const one of turn.querySelectorAll("[data-print]")) {
    one.hidden = false;
    one.addEventListener("click", () => print());
  }
}
document.querySelectorAll(".turn").forEach(ready);
document.getElementById("last")?.scrollIntoView({ block: "start" });
