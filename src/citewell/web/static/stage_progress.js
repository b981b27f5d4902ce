// Says how far work has come: its stage and, past two seconds, the time left, or the time so far where that is not known.

const told = (stage, elapsedMs, usualMs) => {
  if (elapsedMs <= 2000) return `${stage}…`;
  const left = Math.ceil((usualMs - elapsedMs) / 1000);
  return `${stage}… ${left > 0 ? `about ${left} s left` : `${Math.round(elapsedMs / 1000)} s so far`}`;
};

// `stage` gives the words of now; what comes back stops the clock.
export function watch(status, stage, usualMs) {
  const started = performance.now();
  const tick = () => {
    const words = told(stage(), performance.now() - started, usualMs);
    if (status.textContent !== words) status.textContent = words;
  };
  const ticking = setInterval(tick, 500);
  status.hidden = false;
  tick();
  return () => clearInterval(ticking);
}
