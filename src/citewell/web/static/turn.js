// One question and its answer, built while the answer comes; it looks as the server draws it (_turn.html).

import { watch } from "./stage_progress.js";

const STAGES = { searching: "Searching", reading: "Reading", writing: "Writing", checking: "Checking each sentence" };
const counted = (count, one) => `${count.toLocaleString("en")} ${one}${count === 1 ? "" : "s"}`;
const number = (value) => value.toFixed(2);
const raised = (words) => words.slice(0, 1).toUpperCase() + words.slice(1);

function make(tag, { text, ...rest } = {}, ...children) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  for (const [name, value] of Object.entries(rest)) if (value !== null) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

// Places are not sources: a list of ten items from one document is one source.
const sources = (citations) => `${counted(citations.length, "citation")} from ${counted(new Set(citations.map((one) => one.document_id)).size, "document")}`;

let sourcesAt = "";

function address(source) {
  const chunk = source.source_id.slice(source.source_id.lastIndexOf(":") + 1);
  return { base: `${sourcesAt}/documents/${source.document_id}`, query: `chunk=${chunk}&start=${source.start}&end=${source.end}` };
}

function opening(source, attributes) {
  const { base, query } = address(source);
  return make("a", { href: `${base}/source?${query}#marked`, "data-panel": `${base}/panel?${query}`, ...attributes });
}

const place = (source) => [source.section?.split(" > ").pop(), source.page && `page ${source.page}`].filter(Boolean).join(", ");

function chip(source) {
  const where = place(source);
  const title = `${source.document}${where ? `, ${where}` : ""}: “${source.quote}”`;
  return opening(source, { class: "chip", title, "aria-label": `Source ${source.n}: ${title}`, text: source.n });
}

function opens(source) {
  const where = place(source);
  const link = opening(source, { text: source.document });
  return where ? [link, make("span", { class: "place", text: where })] : [link];
}

// Where an answer was looked for, as the server says it (phrases.looked_in).
function lookedIn(scope) {
  const count = counted(scope.documents, "document");
  const tags = scope.tags.filter((tag) => tag !== "public").map((tag) => `“${tag}”`);
  const tagged = tags.length ? `tagged ${tags.join(" or ")}, or ` : "";
  let told = scope.tags.includes("*") ? `Searched all ${count}` : `Searched ${count}: ${tagged}for everyone`;
  if (scope.journey && scope.journey !== "*") told += `; includes the journey “${scope.journey}”`;
  if (scope.subject) told += `; includes documents about “${scope.subject}”`;
  return `${told}.`;
}

// What of the passages the writer was not shown; the server says it in the same words (left_out_words).
function leftOutWords({ left_out: out, shortened, evidence }) {
  if (!out) return shortened ? `Not shown to the model: the end of ${shortened} of ${evidence.length} passages.` : null;
  return `Not shown to the model: ${out} of ${out + evidence.length} passages${shortened ? `; ${shortened} shortened` : ""}.`;
}

function details(kind, summary, ...children) {
  return make("details", { class: kind }, make("summary", { text: summary }), ...children);
}

export class Turn {
  constructor(question, words, sources = "") {
    sourcesAt = sources;
    this.question = question;
    this.words = words;
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
    } else if (name === "told" && data.is_emergency) this.#help(data.text);
    else if (name === "sentence") this.#sentence(data);
    else if (name === "replace") this.#replace(data);
    else if (name === "done") this.#done(data);
  }

  // The way to help stands first and is read out at once.
  #help(text) {
    this.told.replaceChildren(make("div", { class: "notice bad emergency", role: "alert" }, make("p", { text })));
  }

  #verdict(name) {
    const [mark, words, colour] = this.words.verdicts[name];
    return make("span", { class: `verdict ${colour}`, title: raised(words) },
      make("span", { "aria-hidden": "true", text: mark }), make("span", { class: "unseen", text: words }));
  }

  #reasons(data) {
    const told = data.verdict !== "supported" && data.reasons?.length;
    return told ? [make("span", { class: "reasons", text: data.reasons.join("; ") })] : [];
  }

  #line(data) {
    const kind = data.text.startsWith("•") ? "sentence item" : "sentence";
    const line = make("p", { class: kind, "data-index": data.index }, data.text);
    const marks = make("span", { class: "marks" });
    for (const source of data.sources) marks.append(chip(source), " ");
    marks.append(this.#verdict(data.verdict));
    line.append(" ", marks, ...this.#reasons(data));
    return line;
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

  #done(answer) {
    this.stop();
    this.status.hidden = true;
    this.element.dataset.answer = answer.id;
    this.element.dataset.action = answer.action;
    this.end.replaceChildren(...this.#ending(answer));
  }

  *#ending(answer) {
    for (const [word, right] of Object.entries(answer.corrected ?? {})) {
      yield make("p", { class: "added" }, "Showing results for ", make("b", { text: right }), `. You typed “${word}”.`);
    }
    if (answer.action === "ROUTE") yield this.#routed(answer);
    const said = answer.text.slice(answer.emergency?.text.length ?? 0).trim();
    if (answer.action === "REFUSE" && said) yield make("p", { class: "notice busy", text: said });
    if (answer.action === "QUALIFY") yield make("p", { class: "reservation", text: `${raised(answer.reason)}.` });
    if (answer.withheld?.length) yield this.#withheld(answer);
    if (answer.sentences.length) yield this.#about(answer);
    const leftOut = leftOutWords(answer);
    if (leftOut) yield make("p", { class: "left-out", text: leftOut });
    if (answer.evidence.length || answer.action === "ROUTE") yield this.#searched(answer);
    if (answer.citations.length) {
      const items = answer.citations.map((one) => make("li", { value: one.n }, ...opens(one), " ", make("q", { text: one.quote })));
      yield make("section", { class: "references" }, make("h3", { text: "Sources" }), make("ol", {}, ...items));
    }
  }

  #routed(answer) {
    const { route } = answer;
    const words = make("p", {}, "The documents do not answer this well enough. ");
    if (route.owner_email) {
      words.append("Sent to ", make("b", { text: route.owner_email }));
      words.append(["system", "public"].includes(route.tag) ? "." : `, the owner of “${route.tag}”.`);
    } else {
      words.append("No owner is set for this topic, so it is in the administrators’ inbox.");
    }
    words.append(" The reply will appear under ", make("a", { href: "/asked", text: "Sent" }), ".");
    const fallback = route.fallback ? ", so it was sent to an administrator" : "";
    const why = details("why", "Why it was sent on", make("p", { text: `${route.reason}${fallback}.` }));
    return make("div", { class: "notice wait routed" }, words, why);
  }

  #withheld(answer) {
    const lines = answer.withheld.map((one) => make("p", {}, one.text, " ", this.#verdict(one.verdict), " ", ...this.#reasons(one)));
    return details("withheld", `${counted(answer.withheld.length, "sentence")} withheld: ${this.#because(answer)}`, ...lines);
  }

  // Why sentences were withheld, by their verdicts; counted where there is more than one reason.
  #because(answer) {
    const named = answer.withheld.map((one) => (answer.action === "ROUTE" && one.verdict === "supported" ? "routed" : one.verdict));
    const reasons = this.words.withheld
      .map(([name, words]) => [named.filter((one) => one === name).length, words])
      .filter(([count]) => count);
    return reasons.map(([count, words]) => (reasons.length === 1 ? words : `${count} ${words}`)).join(", ");
  }

  #about(answer) {
    const { overall, retrieval, coverage, llm, calibrated } = answer.confidence;
    const [, word] = this.words.levels.find(([least]) => calibrated >= least);
    const none = answer.model === "extractive" ? "none: the answer is quoted, so there is no model to ask"
      : "none: the model gave no readable estimate, so the combined score is capped at 0.90";
    const own = llm === null ? none : `${number(llm)}: how sure the model says it is`;
    const rows = [
      ["Passages", `${number(retrieval)}: how closely they match the question`],
      ["Wording", `${number(coverage)}: how much of the answer's wording is found in them`],
      ["Model's own estimate", own],
      ["Combined", `${number(overall)}: the three above, by a fixed formula`],
      ["Confidence", `${number(Math.min(calibrated, 0.99))}: ${this.words.calibrated}`],
    ].flatMap(([name, value]) => [make("dt", { text: name }), make("dd", { text: value })]);
    const why = details("why", "Why", make("dl", {}, ...rows));
    why.firstChild.append(make("span", { class: "unseen", text: " this confidence" }));
    const copy = make("button", { type: "button", class: "link copy", text: "Copy with references" });
    copy.addEventListener("click", () => Turn.copy(this.element, copy));
    return make("div", { class: "about" },
      make("span", { class: "confidence" }, make("b", { text: word }), ` ${number(Math.min(calibrated, 0.99))}`),
      make("span", { text: sources(answer.citations) }),
      make("span", { text: `${(answer.took_ms / 1000).toFixed(1)} s` }),
      why, make("a", { href: `/audit/${answer.id}`, text: "Audit record" }), copy);
  }

  #searched(answer) {
    const count = answer.evidence.length;
    const told = [];
    if (answer.scope) told.push(lookedIn(answer.scope));
    if (answer.query && answer.query !== this.question) told.push(`Searched for “${answer.query}”.`);
    if (count) told.push(`Based on ${counted(count, "passage")}, ${answer.model === "extractive" ? "quoted word for word" : `worded by ${answer.model}`}.`);
    else told.push("No passage was close enough to the question to use.");
    const flag = (one) => (one.is_suspicious ? [" ", make("span", { class: "flagged", text: this.words.instruction })] : []);
    const list = count ? [make("ol", {}, ...answer.evidence.map((one) => make("li", {}, ...opens(one), ...flag(one))))] : [];
    return details("searched", "What was searched", ...told.map((text) => make("p", { text })), ...list);
  }

  fail(words, again) {
    this.stop();
    this.status.hidden = true;
    const button = make("button", { type: "button", class: "quiet", text: "Try again" });
    button.addEventListener("click", again);
    const kept = this.answer.childElementCount ? "Your question and the sentences above have been saved." : "Your question has been saved.";
    this.end.replaceChildren(make("div", { class: "notice bad", role: "alert" },
      make("p", { text: `${words} ${kept}` }), button));
  }

  // The answer as plain text, its sources numbered below it.
  static async copy(turn, button) {
    const lines = [...turn.querySelectorAll(".sentence:not(.taken-back)")].map((line) => {
      const text = line.firstChild.textContent.trim();
      return text + [...line.querySelectorAll(".chip")].map((one) => ` [${one.textContent}]`).join("");
    });
    const references = [...turn.querySelectorAll(".references li")].map((item) => {
      const where = item.querySelector(".place")?.textContent;
      return `[${item.value}] ${item.querySelector("a").textContent}${where ? `, ${where}` : ""}: “${item.querySelector("q").textContent}”`;
    });
    const question = turn.querySelector(".question").textContent;
    const text = [question, "", ...lines, "", "References", ...references].join("\n");
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Your browser blocked copying";
    }
    setTimeout(() => { button.textContent = "Copy with references"; }, 2000);
  }
}
