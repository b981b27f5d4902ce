// A box that says when its text is too long, and keeps it: a limit of the browser's own would cut what is pasted.

for (const box of document.querySelectorAll("[data-most]")) {
  const most = Number(box.dataset.most);
  const what = box.id === "q" ? "A question" : "What is written here";
  const check = () => box.setCustomValidity(
    box.value.trim().length > most ? `${what} may have up to ${most.toLocaleString("en")} characters; this is longer.` : "",
  );
  box.addEventListener("input", check);
  check();
}
