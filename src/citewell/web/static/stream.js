// Reads an answer while it is being written: server-sent events as they come over a POST request.

export const NO_ANSWER = "The server is not responding. Check that `citewell serve` is still running.";

function* events(text) {
  for (const block of text.split("\n\n")) {
    const lines = block.split("\n");
    const name = lines.find((line) => line.startsWith("event: "))?.slice(7);
    const data = lines.find((line) => line.startsWith("data: "))?.slice(6);
    if (name && data) yield [name, JSON.parse(data)];
  }
}

// Yields [name, data] of each event; what is wrong with the question is an Error with words for a person.
export async function* listen(address, body, { csrf, signal }) {
  const response = await fetch(address, {
    method: "POST",
    credentials: "same-origin",
    headers: { "Content-Type": "application/json", "X-CSRF-Token": csrf },
    body: JSON.stringify(body),
    signal,
  });
  if (!response.ok) {
    const problem = await response.json().catch(() => ({}));
    throw Object.assign(new Error(problem.detail ?? "The question could not be sent. Try again."), { status: response.status });
  }
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let waiting = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    waiting += value;
    const end = waiting.lastIndexOf("\n\n");
    if (end < 0) continue;
    yield* events(waiting.slice(0, end));
    waiting = waiting.slice(end + 2);
  }
}
