// A source on a page of its own: shows the marked words.

document.getElementById("marked")?.scrollIntoView({ block: "center" });
