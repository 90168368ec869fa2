// Tables that sort by a press on a heading; undefined values stay at the end, whatever the direction.

function makeSortable(table) {
  for (const heading of table.tHead.rows[0].cells) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    button.addEventListener("click", () => sortBy(table, heading));
    heading.append(button);
  }
}

function sortBy(table, heading) {
  const direction = nextDirection(heading);
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", direction);
  const rows = [...table.tBodies[0].rows];
  rows.sort((a, b) => compareCells(a.cells[heading.cellIndex], b.cells[heading.cellIndex], direction));
  table.tBodies[0].append(...rows);
}

function nextDirection(heading) {
  const shown = heading.getAttribute("aria-sort");
  if (shown) return shown === "ascending" ? "descending" : "ascending";
  return heading.dataset.better === "higher" ? "descending" : "ascending";
}

function compareCells(a, b, direction) {
  const sign = direction === "ascending" ? 1 : -1;
  if (a.dataset.value === undefined) return sign * a.textContent.localeCompare(b.textContent, "en", { numeric: true });
  const missing = (a.dataset.value === "") - (b.dataset.value === "");
  return missing || sign * (Number(a.dataset.value) - Number(b.dataset.value));
}
