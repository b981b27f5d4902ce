// A box that says when its text is too long, and keeps it: a limit of the browser's own would cut what is pasted.

for (const box of document.querySelectorAll("[data-most]")) {
  const most = Number(box.dataset.most);
  const what = box.id === "q" ? "Your question" : "This text";
  const check = () => box.setCustomValidity(
    box.value.trim().length > most ? `${what} is too long. The limit is ${most.toLocaleString("en")} characters.` : "",
  );
  box.addEventListener("input", check);
  check();
}
