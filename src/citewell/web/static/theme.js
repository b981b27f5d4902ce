// Light or dark as this browser was told; before anything is drawn, so that no page flashes.

(() => {
  const chosen = localStorage.getItem("citewell-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
})();
