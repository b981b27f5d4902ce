// One question while its answer comes: checked sentences one by one. The server's own drawing takes its place at the end.

import { watch } from "./stage_progress.js";

const STAGES = { searching: "Searching", reading: "Reading", writing: "Writing", checking: "Checking each sentence" };
const counted = (count, one) => `${count.toLocaleString("en")} ${one}${count === 1 ? "" : "s"}`;

export function make(tag, { text, ...rest } = {}, ...children) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  for (const [name, value] of Object.entries(rest)) if (value !== null) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

export class Turn {
  constructor(question, words, sources = "") {
    this.question = question;
    this.words = words;
    this.sources = sources;
    this.status = make("p", { class: "working", role: "status" });
    this.told = make("div");
    this.answer = make("div", { class: "answer", "aria-live": "polite", "aria-relevant": "additions text" });
    this.end = make("div", { class: "end" });
    const heading = make("h2", { class: "question", text: question });
    this.element = make("article", { class: "turn", id: "last" }, heading, this.told, this.answer, this.status, this.end);
  }

  begin(passages, usualMs) {
    this.passages = passages;
    this.sentences = [];
    this.told.replaceChildren();
    this.answer.replaceChildren();
    this.end.replaceChildren();
    this.stage = `Searching ${passages}`;
    this.stop?.();
    this.stop = watch(this.status, () => this.stage, usualMs);
  }

  take(name, data) {
    if (name === "working") {
      const what = data.stage === "searching" ? ` ${this.passages}` : data.stage === "reading" ? ` ${counted(data.count, "passage")}` : "";
      this.stage = `${STAGES[data.stage] ?? data.stage}${what}`;
    } else if (name === "told") this.#tell(data);
    else if (name === "sentence") this.#sentence(data);
    else if (name === "replace") this.#replace(data);
  }

  // The way to help stands first and is read out at once.
  #tell({ text, is_emergency: isEmergency }) {
    const words = make("p", { text });
    this.told.replaceChildren(isEmergency ? make("div", { class: "notice bad emergency", role: "alert" }, words) : make("p", { class: "own-words", text }));
  }

  #verdict(name) {
    const [mark, words, colour] = this.words.verdicts[name];
    const said = words.slice(0, 1).toUpperCase() + words.slice(1);
    return make("span", { class: `verdict ${colour}`, title: said }, make("span", { "aria-hidden": "true", text: mark }), make("span", { class: "unseen", text: words }));
  }

  #chip(source) {
    const chunk = source.source_id.slice(source.source_id.lastIndexOf(":") + 1);
    const base = `${this.sources}/documents/${source.document_id}`;
    const query = `chunk=${chunk}&start=${source.start}&end=${source.end}`;
    const title = `${source.document}: “${source.quote}”`;
    return make("a", { class: "chip", href: `${base}/source?${query}#marked`, "data-panel": `${base}/panel?${query}`, title, "aria-label": `Source ${source.n}: ${title}`, text: source.n });
  }

  #line(data) {
    const kind = data.text.startsWith("•") ? "sentence item" : "sentence";
    const marks = make("span", { class: "marks" });
    for (const source of data.sources) marks.append(this.#chip(source), " ");
    marks.append(this.#verdict(data.verdict));
    return make("p", { class: kind, "data-index": data.index }, `${data.text} `, marks);
  }

  #sentence(data) {
    this.sentences[data.index] = data;
    if (data.shown) this.answer.append(this.#line(data));
  }

  // What was shown and is shown no more keeps its place, so that the page does not move under the reader's eyes; what
  // is shown otherwise, or only now, stands where it belongs.
  #replace(data) {
    const now = { ...this.sentences[data.index], ...data };
    this.sentences[data.index] = now;
    const line = this.answer.querySelector(`[data-index="${data.index}"]`);
    if (data.shown) {
      if (line) return line.replaceWith(this.#line(now));
      const next = [...this.answer.children].find((one) => Number(one.dataset.index) > data.index);
      return this.answer.insertBefore(this.#line(now), next ?? null);
    }
    if (!line) return;
    line.className = "sentence taken-back";
    line.replaceChildren(make("s", { text: now.text }), " ", make("span", { class: "reasons", text: "withdrawn" }));
  }

  finish() {
    this.stop();
    this.status.hidden = true;
  }

  fail(words, again) {
    this.finish();
    const retry = make("button", { type: "button", class: "quiet", text: "Try again" });
    retry.addEventListener("click", again, { once: true });
    const kept = this.answer.childElementCount ? "Your question and the sentences above have been saved." : "Your question has been saved.";
    this.end.replaceChildren(make("div", { class: "notice bad", role: "alert" }, make("p", { text: `${words} ${kept}` }), retry));
  }
}

// An answer as plain text, its sources numbered below it.
export async function copy(turn, button) {
  const words = (line) => (line.matches("tr") ? [...line.querySelectorAll("td:not(.marks)")].map((cell) => cell.textContent).join(" | ") : line.firstChild.textContent.trim());
  const lines = [...turn.querySelectorAll(".answer .sentence:not(.taken-back)")].map(
    (line) => words(line) + [...line.querySelectorAll(".chip")].map((one) => ` [${one.textContent}]`).join(""),
  );
  const references = [...turn.querySelectorAll(".references li")].map((item) => {
    const where = item.querySelector(".place")?.textContent;
    return `[${item.value}] ${item.querySelector("a").textContent}${where ? `, ${where}` : ""}: “${item.querySelector("q").textContent}”`;
  });
  const text = [turn.querySelector(".question").textContent, "", ...lines, "", "References", ...references].join("\n");
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Your browser blocked copying";
  }
  setTimeout(() => { button.textContent = "Copy with references"; }, 2000);
}
