// Follows documents while they are being read.

const PAUSE_MS = 700;

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function fetchJson(address) {
  const response = await fetch(address, { credentials: "same-origin" });
  if (!response.ok) throw new Error(String(response.status));
  return response.json();
}

export function show(place, progress) {
  const bar = place.querySelector("progress");
  if (progress.total) {
    bar.max = progress.total;
    bar.value = progress.done;
  } else {
    bar.removeAttribute("value");
  }
  place.querySelector(".words").textContent = progress.words;
}

export async function follow(place, done) {
  for (;;) {
    await pause(PAUSE_MS);
    try {
      const found = await fetchJson(`/api/v1/documents/${place.dataset.follow}`);
      if (!found.progress) return done();
      show(place, found.progress);
    } catch {
      place.querySelector(".words").textContent = "The server is not responding. Trying again…";
      await pause(4 * PAUSE_MS);
    }
  }
}

// Calls seen(document) for each that is under way and gone(id) for each that was and is no more.
export async function followAll(ids, seen, gone) {
  const waiting = new Set(ids());
  while (waiting.size) {
    await pause(PAUSE_MS);
    ids().forEach((id) => waiting.add(id));
    try {
      const { documents } = await fetchJson("/api/v1/documents?under_way=true");
      const now = new Set(documents.map((one) => one.document_id));
      documents.forEach(seen);
      for (const id of [...waiting]) {
        if (now.has(id)) continue;
        waiting.delete(id);
        await gone(id);
      }
    } catch {
      await pause(4 * PAUSE_MS);
    }
  }
}
