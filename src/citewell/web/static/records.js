// The pages of a record: keys, the source panel, answers that come sentence by sentence, whether they helped, progress.

import "./panel.js";
import { listen, NO_ANSWER } from "./stream.js";

const LOCKED = 423;
const STAGES = { searching: "Searching your record…", reading: "Reading…", writing: "Writing…", checking: "Checking each sentence…" };
const form = document.getElementById("ask");
const box = document.getElementById("q");
const turns = document.getElementById("turns");
let stopping = null;

function make(tag, { text, ...rest } = {}, ...children) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  for (const [name, value] of Object.entries(rest)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

// ------------------------------------------------------------------------------------------------------------- asking

// What is shown while an answer comes; the server's own drawing of it takes its place at the end.
class Coming {
  constructor(question) {
    this.question = question;
    this.told = make("div", { class: "told" });
    this.answer = make("div", { class: "answer", "aria-live": "polite" });
    this.status = make("p", { class: "working", role: "status", text: "Searching your record…" });
    const heading = make("h2", { class: "question", text: question });
    this.element = make("article", { class: "turn", id: "last" }, heading, this.told, this.answer, this.status);
  }

  take(name, data) {
    if (name === "told") this.#tell(data);
    else if (name === "sentence" && data.shown) {
      const kind = data.text.startsWith("•") ? "sentence item" : "sentence";
      this.answer.append(make("p", { class: kind, "data-index": data.index, text: data.text }));
    } else if (name === "replace" && !data.shown) this.answer.querySelector(`[data-index="${data.index}"]`)?.remove();
    else if (name === "working") this.status.textContent = STAGES[data.stage];
  }

  // The way to help stands apart and is read out at once.
  #tell({ text, is_emergency: isEmergency }) {
    const words = make("p", { class: isEmergency ? "" : "own-words", text });
    this.told.append(isEmergency ? make("div", { class: "notice bad emergency", role: "alert" }, words) : words);
  }

  fail(words, again) {
    const button = make("button", { type: "button", class: "quiet", text: "Try again" });
    button.addEventListener("click", again);
    this.status.replaceWith(make("div", { class: "notice bad", role: "alert" }, make("p", { text: `${words} Your question has been saved.` }), button));
  }
}

async function drawn(coming, answerId, conversationId) {
  const response = await fetch(`${form.dataset.base}/answers/${answerId}?conversation_id=${conversationId}`, { credentials: "same-origin" });
  if (!response.ok) return;
  const found = new DOMParser().parseFromString(await response.text(), "text/html").querySelector("article");
  coming.element.replaceWith(found);
  found.setAttribute("tabindex", "-1");
}

function began(id) {
  form.elements.conversation_id.value = id;
  history.replaceState(null, "", `${form.dataset.base}/conversations/${id}`);
  const forget = document.getElementById("forget");
  forget.querySelector("form").action = `${form.dataset.base}/conversations/${id}/delete`;
  forget.hidden = false;
}

function listed(id, question) {
  const list = document.getElementById("talks");
  const address = `${form.dataset.base}/conversations/${id}`;
  list.querySelectorAll("[aria-current]").forEach((one) => one.removeAttribute("aria-current"));
  let link = list.querySelector(`a[href="${address}"]`);
  if (!link) {
    link = make("a", { href: address, title: question, text: question.length > 50 ? `${question.slice(0, 49)}…` : question });
    list.prepend(make("li", {}, link));
  }
  link.setAttribute("aria-current", "page");
  list.closest("nav").hidden = false;
}

async function ask(question) {
  document.getElementById("last")?.removeAttribute("id");
  const coming = new Coming(question);
  turns.append(coming.element);
  coming.element.scrollIntoView({ block: "start" });
  stopping = new AbortController();
  const button = form.querySelector(".box button");
  button.textContent = "Stop";
  try {
    const body = { question, conversation_id: form.elements.conversation_id.value || null };
    let answer = null;
    for await (const [name, data] of listen(form.dataset.stream, body, { csrf: form.dataset.csrf, signal: stopping.signal })) {
      if (name === "started") began(data.conversation_id);
      else if (name === "failed") throw new Error(data.message);
      else if (name === "done") answer = data;
      else coming.take(name, data);
    }
    if (!answer) throw new Error("The answer was interrupted.");
    await drawn(coming, answer.id, answer.conversation_id);
    listed(answer.conversation_id, question);
  } catch (error) {
    if (error.status === LOCKED) return location.assign(`${form.dataset.base}/unlock`);
    const words = error.name === "AbortError" ? "Stopped." : error instanceof TypeError ? NO_ANSWER : error.message;
    coming.fail(words, () => {
      coming.element.remove();
      ask(question);
    });
  } finally {
    stopping = null;
    button.textContent = "Ask";
  }
}

form?.addEventListener("submit", (event) => {
  event.preventDefault();
  if (stopping) return stopping.abort();
  const question = box.value.trim();
  if (!question) return box.focus();
  document.body.className = "with-panel asking records";
  document.getElementById("title").classList.add("unseen");
  document.querySelectorAll("main > .examples, main > .notice:not(.elsewhere), main > .empty, main > .today").forEach((one) => one.remove());
  box.value = "";
  box.placeholder = "Ask a follow-up";
  ask(question);
});

box?.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  if (!stopping) form.requestSubmit();
});

// ----------------------------------------------------------------------------------------------- whether it helped

document.addEventListener("submit", async (event) => {
  const helped = event.target.closest("[data-feedback]");
  if (!helped) return;
  event.preventDefault();
  const pressed = event.submitter;
  const said = pressed.getAttribute("aria-pressed") === "true" ? null : pressed.value === "yes";
  const response = await fetch(helped.dataset.feedback, {
    method: "PUT",
    credentials: "same-origin",
    headers: { "Content-Type": "application/json", "X-CSRF-Token": helped.elements.csrf.value },
    body: JSON.stringify({ is_helpful: said }),
  });
  if (!response.ok) return helped.submit();
  for (const one of helped.querySelectorAll("button")) one.setAttribute("aria-pressed", String(said !== null && (one.value === "yes") === said));
});

// -------------------------------------------------------------------------------------------- a word while it is read

const PAUSE_MS = 700;

async function follow(place, address) {
  const bar = place.querySelector("progress");
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    const found = await fetch(address, { credentials: "same-origin" }).then((one) => (one.ok ? one.json() : null), () => null);
    if (!found?.words) continue;
    place.querySelector(".words").textContent = found.words;
    if (found.total) Object.assign(bar, { max: found.total, value: found.done });
    else bar.removeAttribute("value");
  }
}

for (const other of document.querySelectorAll("form:has([role=status]):not(#ask)")) {
  other.addEventListener("submit", () => {
    const place = other.querySelector("[role=status]");
    place.hidden = false;
    other.querySelector("button").disabled = true;
    if (other.dataset.progress) follow(place, other.dataset.progress);
  });
}
