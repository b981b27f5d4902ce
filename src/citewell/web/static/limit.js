// A box that says when its text is too long, and keeps it: a limit of the browser's own would cut what is pasted.

for (const box of document.querySelectorAll("textarea[data-most]")) {
  const most = Number(box.dataset.most);
  const check = () => box.setCustomValidity(
    box.value.trim().length > most ? `A question may have up to ${most.toLocaleString("en")} characters; this one is longer.` : "",
  );
  box.addEventListener("input", check);
  check();
}
