// One model's details at a time, tables folded away, and the numbers to take home.

function choosePanels(select) {
  const panels = document.querySelectorAll(".panel");
  const show = () => panels.forEach((panel) => { panel.hidden = select.value !== "all" && panel.id !== select.value; });
  select.addEventListener("change", show);
  show();
}

function foldTables() {
  document.querySelectorAll("details.folds").forEach((details) => { details.open = false; });
}

function saveNumbers() {
  const link = document.createElement("a");
  const text = document.getElementById("comparison").textContent;
  link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  link.download = "comparison.json";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// Of many models the cheapest are enough at first.
function showAllBars(button) {
  const list = document.getElementById("bars");
  list.classList.add("some");
  button.addEventListener("click", () => {
    const all = list.classList.toggle("some");
    button.setAttribute("aria-expanded", String(!all));
    button.textContent = all ? button.dataset.more : button.dataset.fewer;
  });
}
