// The library: files dropped or chosen are sent one by one, rows follow their documents, the filter filters as one types.

import { followAll, show } from "./follow.js";

document.documentElement.classList.add("has-script");

const form = document.getElementById("upload");
const uploads = document.getElementById("uploads");
const news = document.getElementById("news");
const table = () => document.querySelector(".documents tbody");
const row = (id) => table().querySelector(`tr[data-id="${CSS.escape(id)}"]`);

// ------------------------------------------------------------------------------------------------------- rows

async function refresh(id) {
  const response = await fetch(`/documents/${encodeURIComponent(id)}/row`, { credentials: "same-origin" });
  const old = row(id);
  if (!response.ok) return old?.remove();
  const holder = document.createElement("template");
  holder.innerHTML = await response.text();
  const fresh = holder.content.querySelector("tr");
  if (old) {
    const tick = old.querySelector("input");
    if (tick) fresh.querySelector("input").checked = tick.checked;
    old.replaceWith(fresh);
  } else {
    table().prepend(fresh);
  }
  document.getElementById("listing").hidden = false;
  return fresh;
}

async function recount() {
  const response = await fetch(location.href, { credentials: "same-origin" }).catch(() => null);  // the page was left
  if (!response?.ok) return;
  const fresh = new DOMParser().parseFromString(await response.text(), "text/html").querySelector("#rows .found");
  if (fresh) document.querySelector("#rows .found").textContent = fresh.textContent;
}

const underWay = () => [...table().querySelectorAll("tr[data-under-way]")].map((one) => one.dataset.id);
let following = false;

async function followRows() {
  if (following) return;
  following = true;
  await followAll(
    underWay,
    async (found) => {
      const place = row(found.document_id);
      if (!place) return;
      const words = place.querySelector(".state");
      // A row that was waiting when the page came, and is being read now, is drawn anew.
      if (found.state === "processing" && !(words.classList.contains("busy") && place.querySelector(".words"))) {
        return void refresh(found.document_id);
      }
      show(place, found.progress);
    },
    async (id) => announce(await refresh(id)),
  );
  following = false;
  recount();
}

function announce(fresh) {
  const title = fresh?.querySelector(".title a")?.textContent;
  const notes = fresh?.dataset.notes ? ` ${fresh.dataset.notes}` : "";
  if (title) tell(`${title}: ${fresh.querySelector(".state").textContent}.${notes}`, fresh.querySelector(".state.bad") ? "bad" : "good");
}

function tell(words, colour) {
  const line = document.createElement("p");
  line.className = `notice ${colour}`;
  line.textContent = words;
  while (news.children.length > 3) news.firstElementChild.remove();
  news.append(line);
}

// ----------------------------------------------------------------------------------------------------- upload

function line(file) {
  const item = document.createElement("li");
  const name = document.createElement("span");
  const bar = document.createElement("progress");
  name.textContent = file.name;
  bar.max = 1;
  bar.value = 0;
  bar.setAttribute("aria-label", `Uploading ${file.name}`);
  item.append(name, bar);
  uploads.append(item);
  return { item, bar };
}

function refuse(item, words) {
  item.querySelector("progress")?.remove();
  const error = document.createElement("span");
  error.className = "error";
  error.setAttribute("role", "alert");
  error.textContent = words;
  item.append(error);
}

function send(file, fields, watch) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", "/api/v1/documents");
    request.setRequestHeader("X-CSRF-Token", form.dataset.csrf);
    request.upload.addEventListener("progress", (event) => watch(event.loaded / (event.total || 1)));
    request.addEventListener("error", () => reject(new Error("The server is not responding. Check that `citewell serve` is still running.")));
    request.addEventListener("load", () => {
      const body = JSON.parse(request.responseText || "{}");
      if (request.status === 202) resolve(body.documents[0]);
      else reject(new Error(body.detail ?? "The file could not be added. Try again."));
    });
    const data = new FormData();
    fields.forEach(([name, value]) => data.append(name, value));
    data.append("files", file, file.name);
    request.send(data);
  });
}

async function add(files) {
  const fields = ["tags", "journeys", "subject"].map((name) => [name, form.elements[name]?.value ?? ""]);
  const waiting = [...files].map((file) => ({ file, ...line(file) }));
  for (const { file, item, bar } of waiting) {
    if (file.size > Number(form.dataset.maxBytes)) {
      refuse(item, `Not sent: larger than ${form.dataset.maxMb} MB. ${form.dataset.advice}`);
      continue;
    }
    try {
      const found = await send(file, fields, (part) => { bar.value = part; });
      item.remove();
      const as = found.title === file.name ? "" : ` as ${found.title}`;
      if (found.was_there) tell(`${file.name} is already in the library${as} and was not added again.`, "wait");
      const fresh = await refresh(found.document_id);
      // A short document may be ready before its row is drawn.
      if (!found.was_there && fresh && !("underWay" in fresh.dataset)) announce(fresh);
      document.querySelector(".empty")?.remove();
      followRows();
    } catch (error) {
      refuse(item, error.message);
    }
  }
  recount();
}

// What is chosen is shown first: what it is, and who will find it. Nothing is sent before it is added.

let chosen = [];
const submit = form?.querySelector('button[type="submit"]');
const size = (bytes) => (bytes < 1024 * 1024 ? `${Math.max(1, Math.round(bytes / 1024))} KB` : `${(bytes / 1024 / 1024).toFixed(1)} MB`);
const counted = (count) => `${count} document${count === 1 ? "" : "s"}`;

function whoFinds() {
  const value = (name) => form.elements[name]?.value.trim() ?? "";
  const tags = (value("tags") || form.elements.tags.placeholder).split(",").map((tag) => tag.trim()).filter(Boolean);
  if (value("subject")) return `Only administrators will see ${chosen.length === 1 ? "it" : "them"}, as documents about “${value("subject")}”.`;
  const people = tags.includes("public") ? "Everyone who can use this library" : `People with the tag ${tags.map((tag) => `“${tag}”`).join(" or ")}`;
  return `${people} will find ${chosen.length === 1 ? "it" : "them"}${value("journeys") ? `, within the journey “${value("journeys")}” only` : ""}.`;
}

function review() {
  uploads.replaceChildren(...chosen.map((file, at) => {
    const item = document.createElement("li");
    const name = document.createElement("span");
    const kind = file.name.includes(".") ? file.name.split(".").pop().toUpperCase() : "text";
    name.textContent = `${file.name} · ${kind}, ${size(file.size)}`;
    const out = document.createElement("button");
    Object.assign(out, { type: "button", className: "link", textContent: "Leave out" });
    out.setAttribute("aria-label", `Leave out ${file.name}`);
    out.addEventListener("click", () => {
      chosen.splice(at, 1);
      review();
    });
    item.append(name, out);
    return item;
  }));
  document.getElementById("who-finds").textContent = chosen.length ? whoFinds() : "";
  document.getElementById("filing").open ||= chosen.length > 0;
  submit.hidden = !chosen.length;
  submit.textContent = `Add ${counted(chosen.length)}`;
}

function choose(files) {
  const readable = (file) => form.elements.files.accept.split(",").some((ending) => file.name.toLowerCase().endsWith(ending));
  // Of a folder only what can be read is taken; a file that was named by hand is tried whatever it is called.
  const taken = files.filter((file) => !file.fromFolder || readable(file));
  if (taken.length < files.length) tell(`${files.length - taken.length} of ${files.length} files of the folder cannot be read and are left out.`, "wait");
  chosen.push(...taken);
  form.elements.files.value = "";
  review();
  if (chosen.length) submit.focus();
}

const ofFolder = (file) => Object.assign(file, { fromFolder: true });

// Everything in what was dropped, folders within folders too.
async function walked(entry) {
  if (entry.isFile) return [await new Promise((resolve, reject) => entry.file(resolve, reject))];
  const reader = entry.createReader();
  const found = [];
  for (;;) {
    const part = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!part.length) return found.map(ofFolder);
    for (const one of part) found.push(...(await walked(one)));
  }
}

if (form) {
  const files = form.elements.files;
  document.getElementById("who-finds").after(submit);
  submit.hidden = true;
  files.tabIndex = -1; // the buttons open it
  for (const button of form.querySelectorAll("[data-choose]")) {
    button.hidden = false;
    button.addEventListener("click", () => {
      files.webkitdirectory = button.dataset.choose === "folder";
      files.click();
    });
  }
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const waiting = chosen.splice(0);
    review();
    add(waiting);
  });
  files.addEventListener("change", () => choose([...files.files].map((file) => (files.webkitdirectory ? ofFolder(file) : file))));
  form.addEventListener("input", (event) => {
    if (event.target.type !== "file" && chosen.length) document.getElementById("who-finds").textContent = whoFinds();
  });
}

for (const kind of ["dragenter", "dragover"]) {
  form?.addEventListener(kind, (event) => {
    event.preventDefault();
    form.classList.add("is-over");
  });
}
form?.addEventListener("dragleave", (event) => {
  if (!form.contains(event.relatedTarget)) form.classList.remove("is-over");
});
form?.addEventListener("drop", async (event) => {
  event.preventDefault();
  form.classList.remove("is-over");
  const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  const plain = [...event.dataTransfer.files];
  if (!entries.some((entry) => entry.isDirectory)) return choose(plain);
  choose((await Promise.all(entries.map(walked))).flat());
});

// ----------------------------------------------------------------------------------------------------- filter

const filter = document.querySelector(".filter");
let typed = 0;

filter?.addEventListener("input", async () => {
  const turn = ++typed;
  await new Promise((resolve) => setTimeout(resolve, 150));
  if (turn !== typed) return;
  const address = `/library?${new URLSearchParams(new FormData(filter))}`;
  const response = await fetch(address, { credentials: "same-origin" });
  if (turn !== typed || !response.ok) return;
  const found = new DOMParser().parseFromString(await response.text(), "text/html").getElementById("rows");
  document.getElementById("rows").replaceWith(found);
  history.replaceState(null, "", address);
  followRows();
});

followRows();
