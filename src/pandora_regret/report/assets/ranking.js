// Lists that re-rank the models from another column of their table, which holds the numbers and their words.

function columnOf(list, column) {
  const rows = [...document.getElementById(list.dataset.grid).tBodies[0].rows];
  return rows.map((row) => {
    const cell = row.cells[column + 1];  // the first cell is the model's name
    return { value: cell.dataset.value === "" ? Infinity : Number(cell.dataset.value), text: cell.textContent };
  });
}

function meanRank(values, value) {
  const below = values.filter((other) => other < value).length;
  return below + (values.filter((other) => other === value).length + 1) / 2;
}

function rankBy(list, column) {
  const entries = columnOf(list, column);
  const values = entries.map((entry) => entry.value);
  const largest = Math.max(...values.filter(Number.isFinite)) || 1;
  const items = [...list.children].sort((a, b) => a.dataset.model - b.dataset.model);
  items.forEach((item, model) => fillItem(item, entries[model], meanRank(values, values[model]), largest));
  const order = [...items.keys()].sort((a, b) => (values[a] === values[b] ? a - b : values[a] - values[b]));
  list.append(...order.map((model) => items[model]));
  list.dataset.column = column;
}

function fillItem(item, entry, rank, largest) {
  item.dataset.started ??= item.dataset.rank;
  const known = Number.isFinite(entry.value);
  item.dataset.value = known ? entry.value : "";
  item.dataset.rank = rank;
  item.querySelector(".place").textContent = rank;
  item.querySelector(".amount").textContent = entry.text;
  item.querySelector("rect").setAttribute("width", `${known ? (100 * entry.value) / largest : 0}%`);
  showMove(item.querySelector(".moved"), item.dataset.started - rank);
}

function showMove(place, up) {
  place.textContent = up === 0 ? "" : `${up > 0 ? "▲" : "▼"} ${Math.abs(up)}`;
  place.title = up === 0 ? "" : `${Math.abs(up)} ${up > 0 ? "up" : "down"} from where it started`;
}

function announce(news, list, column) {
  const heading = document.getElementById(list.dataset.grid).tHead.rows[0].cells[column + 1];
  news.textContent = `${heading.dataset.name}: ${list.querySelector("bdi").textContent} comes first.`;
  return heading.dataset.name;
}

function slideAlpha(slider) {
  const list = document.getElementById(slider.dataset.ranking);
  slider.addEventListener("input", () => {
    const column = Number(slider.value);
    rankBy(list, column);
    const name = announce(document.getElementById("alpha-news"), list, column);
    slider.setAttribute("aria-valuetext", name);
    document.getElementById("alpha-shown").textContent = name;
    document.getElementById("alpha-printed").textContent = name;
  });
}

function switchScenarios(fieldset) {
  const list = document.getElementById(fieldset.dataset.ranking);
  fieldset.addEventListener("change", (event) => {
    rankBy(list, Number(event.target.value));
    const name = announce(document.getElementById("scenario-news"), list, Number(event.target.value));
    document.getElementById("scenario-printed").textContent = name;
  });
}
