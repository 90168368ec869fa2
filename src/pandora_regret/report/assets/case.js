// One case under two models: what each would test, in order, until it has found the truth.

const MOST_STEPS = 8;

function workedCase(page, box) {
  const { cases } = page, selects = [...box.querySelectorAll("select")];
  let touched = false;
  const refresh = () => {
    const row = Number(box.dataset.row);
    touched = true;
    box.querySelector("#case-truth").textContent = page.comparison.data.classes[cases.truth[row]];
    const plans = box.querySelectorAll(".plan");
    selects.forEach((select, side) => {
      plans[side].querySelector(".no-script").textContent = select.selectedOptions[0].textContent;
      drawPlan(plans[side], planOf(page, cases.models[select.value], row), page);
    });
  };
  selects.forEach((select) => select.addEventListener("change", refresh));
  box.querySelector("#another").addEventListener("click", () => {
    box.dataset.row = nextCase(page, selects.map((select) => cases.models[select.value]), Number(box.dataset.row));
    refresh();
  });
  page.followers.push(() => { if (touched || !isStated(page)) refresh(); });
}

// The next case, in a scattered order, that the two models do not work up alike.
function nextCase(page, [first, second], row) {
  const { rows } = page.cases, stride = strideOf(rows);
  for (let step = 1; step < rows; step += 1) {
    const next = (row + step * stride) % rows;
    if (planOf(page, first, next).spent !== planOf(page, second, next).spent) return next;
  }
  return (row + stride) % rows;
}

function strideOf(rows) {
  const common = (a, b) => (b ? common(b, a % b) : a);
  let stride = Math.max(1, Math.round(0.618 * rows));
  while (common(stride, rows) > 1) stride += 1;
  return stride;
}

function chancesOf(cases, model, row) {
  const odds = model.odds.subarray(row * (cases.k - 1), (row + 1) * (cases.k - 1));
  const against = [...odds].map((each) => -each);
  against.splice(cases.truth[row], 0, 0);
  const highest = Math.max(...against), raw = against.map((each) => Math.exp(each - highest));
  return shareOut(raw);
}

function planOf({ cases, state }, model, row) {
  const chances = chancesOf(cases, model, row), { prices } = state, truth = cases.truth[row];
  const order = [...chances.keys()].sort((a, b) => chances[b] / prices[b] - chances[a] / prices[a] || prices[a] - prices[b] || a - b);
  const until = order.slice(0, order.indexOf(truth) + 1);
  const spent = until.reduce((sum, k) => sum + prices[k], 0);
  return { steps: until.map((k, n) => ({ k, number: n + 1, chance: chances[k], found: k === truth })), spent, never: order.length - until.length };
}

function drawPlan(place, { steps, spent, never }, { comparison, state, formats }) {
  const skipped = Math.max(0, steps.length - MOST_STEPS);
  const shown = skipped ? [...steps.slice(0, MOST_STEPS - 1), null, steps.at(-1)] : steps;
  place.querySelector("ol").replaceChildren(...shown.map((step) => (step ? stepItem(step, comparison, state, formats) : skippedItem(skipped))));
  fillCell(place.querySelector(".paid"), spent, roughly(formats, spent));
  place.querySelector(".never").textContent = spared(never);
}

function spared(never) {
  if (never === 0) return "Every test was made.";
  return never === 1 ? "The other test was not needed." : `The other ${never} tests were not needed.`;
}

function stepItem({ k, number, chance, found }, comparison, state, formats) {
  const item = document.createElement("li"), name = document.createElement("bdi");
  item.value = number;
  item.classList.toggle("found", found);
  name.textContent = comparison.data.classes[k];
  item.append(name, span("chance", `${(100 * chance).toFixed(chance < 0.1 ? 1 : 0)} %`), span("price", roughly(formats, state.prices[k])));
  return item;
}

function skippedItem(number) {
  const item = document.createElement("li");
  item.className = "skipped";
  item.textContent = `${number} more in between`;
  return item;
}

function span(name, text) {
  const made = document.createElement("span");
  made.className = name;
  made.textContent = text;
  return made;
}
