// Everything below only adds to a page that is complete without it.

function onEach(selector, enhance) {
  document.querySelectorAll(selector).forEach(enhance);
}

document.documentElement.classList.add("scripted");
foldTables();
onEach("#theme", switchTheme);
onEach("table.sortable", makeSortable);
onEach("#model-choice", choosePanels);
onEach("#more-bars", showAllBars);
onEach("#bars", bringToLife);
onEach("#miss", followMiss);
onEach("#save", (button) => button.addEventListener("click", saveNumbers));
