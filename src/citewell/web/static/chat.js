// The Chat page: rules appear one by one, each once it is checked; without this script the form sends as any form does.

import "./keyboard.js";
import "./panel.js";
import { NO_ANSWER, listen } from "./stream.js";

const form = document.getElementById("ask");
const box = document.getElementById("q");
const button = form?.querySelector(".box button");
const turns = document.getElementById("turns");
const at = (id) => `/guidelines/chat/${id}`;
const STAGES = { searching: "Searching the guidelines…", reading: "Reading…", writing: "Writing…", checking: "Checking each sentence…" };
let stopping = null;

function make(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

// ------------------------------------------------------------------------------------------------- one message

class Turn {
  constructor(message) {
    this.help = make("div");
    this.told = make("p", { class: "own-words notice wait" });
    this.told.hidden = true;
    this.answer = make("div", { class: "answer", "aria-live": "polite" });
    this.status = make("p", { class: "working", role: "status" });
    this.element = make("article", { class: "turn", id: "last" }, make("h2", { class: "question" }, message), this.help, this.told, this.answer, this.status);
  }

  take(name, data) {
    if (name === "working") this.status.textContent = STAGES[data.stage];
    else if (name === "told" && data.is_emergency) this.#help(data.text);
    else if (name === "told") this.#tell(data.text);
    else if (name === "sentence" && data.shown) this.answer.append(make("p", { class: "sentence", "data-index": data.index }, data.text));
    else if (name === "replace" && !data.shown) this.answer.querySelector(`[data-index="${data.index}"]`)?.classList.add("taken-back");
  }

  // The way to help stands first and is read out at once.
  #help(text) {
    this.help.replaceChildren(make("div", { class: "notice bad emergency", role: "alert" }, make("p", {}, text)));
  }

  #tell(text) {
    this.told.textContent = text;
    this.told.hidden = false;
  }

  fail(words, again) {
    const retry = make("button", { type: "button", class: "quiet" }, "Try again");
    retry.addEventListener("click", again, { once: true });
    this.answer.replaceChildren(make("div", { class: "notice bad", role: "alert" }, make("p", {}, words), retry));
    this.told.hidden = true;
    this.status.textContent = "";
  }
}

// What was said is drawn by the server alone: the finished turn comes from the page of its session.
async function drawn(id, turn) {
  const chosen = form.elements.guideline?.value;
  const response = await fetch(chosen ? `${at(id)}?guideline=${encodeURIComponent(chosen)}` : at(id), { credentials: "same-origin" });
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const finished = page.getElementById("last");
  if (!response.ok || !finished) return location.assign(at(id));
  turn.element.replaceWith(document.adoptNode(finished));
  for (const part of ["nav.talks", "form.tools"]) {
    const fresh = page.querySelector(part);
    const old = document.querySelector(part);
    if (fresh && old) old.replaceWith(document.adoptNode(fresh));
    else if (fresh) form.after(document.adoptNode(fresh));
  }
}

async function ask(message, turn) {
  stopping = new AbortController();
  button.textContent = "Stop";
  turn.answer.replaceChildren();
  turn.take("working", { stage: "searching" });
  const sent = { message, session_id: form.elements.session_id.value || null, guideline: form.elements.guideline?.value || null };
  let ended = false;
  try {
    for await (const [name, data] of listen("/api/v1/chat/stream", sent, { csrf: form.elements.csrf.value, signal: stopping.signal })) {
      if (name === "failed") throw new Error(data.message);
      if (name === "started") {
        form.elements.session_id.value = data.conversation_id;
        history.replaceState(null, "", at(data.conversation_id));
      } else turn.take(name, data);
      ended ||= name === "done";
    }
    if (!ended) throw new Error("The answer was interrupted.");
    await drawn(form.elements.session_id.value, turn);
  } catch (error) {
    const words = error.name === "AbortError" ? "Stopped." : error instanceof TypeError ? NO_ANSWER : error.message;
    turn.fail(words, () => ask(message, turn));
  }
  stopping = null;
  button.textContent = "Ask";
}

// ------------------------------------------------------------------------------------------------- asking

form?.addEventListener("submit", (event) => {
  event.preventDefault();
  if (stopping) return stopping.abort();
  const message = box.value.trim();
  if (!message) return box.focus();
  document.body.className = "with-panel asking";
  document.querySelector("main > h1")?.classList.add("unseen");
  document.querySelectorAll("main > .examples, main > .notice").forEach((one) => one.remove());
  document.getElementById("last")?.removeAttribute("id");
  const turn = new Turn(message);
  turns.append(turn.element);
  turn.element.scrollIntoView({ block: "start" });
  box.value = "";
  box.placeholder = "Ask a follow-up";
  ask(message, turn);
});

box?.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  if (!stopping) form.requestSubmit();
});
