// Everything below only adds to a page that is complete without it.

function onEach(selector, enhance) {
  document.querySelectorAll(selector).forEach(enhance);
}

document.documentElement.classList.add("scripted");
foldTables();
onEach("table.sortable", makeSortable);
onEach("#model-choice", choosePanels);
onEach("#alpha", slideAlpha);
onEach("fieldset[data-ranking]", switchScenarios);
onEach("#question", whatIf);
onEach("#save", (button) => button.addEventListener("click", saveNumbers));
