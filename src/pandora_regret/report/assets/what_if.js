// The what-if box: the library's search_order and search_cost for one forecast, in the page.

const SUM_TOLERANCE = 2 ** -26;  // the library's, the square root of float64's epsilon
const TIE = 4.5 * Number.EPSILON;  // the library's: quotients that differ by no more, relatively, tie

// Falling p / c, impossible classes last and the cheapest of them first, then by class number.
// Costs are counted in a power of two near the largest, which is exact, so that p / c does not underflow.
function searchOrder(probabilities, costs) {
  const unit = 2 ** Math.floor(Math.log2(Math.max(...costs)));
  const merit = probabilities.map((p, k) => p / (costs[k] / unit));
  const ifImpossible = probabilities.map((p, k) => (p === 0 ? costs[k] : 0));
  const byQuotient = [...costs.keys()].sort((a, b) => merit[b] - merit[a] || ifImpossible[a] - ifImpossible[b] || a - b);
  // A class belongs to a run of ties if it ties with the run's first class; ties go by class number.
  const runs = [];
  for (const k of byQuotient) {
    const first = runs.at(-1)?.[0];
    const ties = first !== undefined && (merit[first] > 0 || ifImpossible[first] === ifImpossible[k]) && merit[first] - merit[k] <= TIE * merit[first];
    if (ties) runs.at(-1).push(k);
    else runs.push([k]);
  }
  return runs.flatMap((run) => run.sort((a, b) => a - b));
}

function searchSteps(probabilities, costs) {
  let spent = 0, found = 0, expected = 0;
  const steps = searchOrder(probabilities, costs).map((k) => {
    spent += costs[k];
    found += probabilities[k];
    expected += probabilities[k] * spent;
    return { k, spent, found };
  });
  return { steps, expected };
}

function readNumber(input) {
  return input.value.trim() === "" ? NaN : Number(input.value);
}

function complaintAbout(input, name) {
  const value = readNumber(input);
  const isCost = input.classList.contains("cost");
  const what = `${isCost ? "The cost" : "The probability"} of ${name}`;
  if (input.value.trim() === "") return `${what} is missing.`;
  if (!Number.isFinite(value)) return `${what} is “${input.value}”, which is not a number such as ${isCost ? "12.50" : "0.25"}.`;
  if (isCost) return value > 0 ? "" : `${what} is ${value}; it must be above 0.`;
  return value >= 0 && value <= 1 ? "" : `${what} is ${value}; it must lie between 0 and 1.`;
}

function whatIf(question) {
  const probabilities = [...question.querySelectorAll("input.probability")];
  const costs = [...question.querySelectorAll("input.cost")];
  const names = [...question.querySelectorAll(".asked tbody bdi")].map((name) => name.textContent);
  const answer = () => {
    const complaint = firstComplaint(probabilities, costs, names);
    document.getElementById("complaint").textContent = complaint;
    document.getElementById("answer").hidden = complaint !== "";
    if (complaint === "") showAnswer(question, names, searchSteps(probabilities.map(readNumber), costs.map(readNumber)));
  };
  question.addEventListener("input", answer);
  document.getElementById("rescale").addEventListener("click", () => { rescale(probabilities); answer(); });
  answer();
}

function firstComplaint(probabilities, costs, names) {
  const complaints = [probabilities, costs].flatMap((inputs) => inputs.map((input, k) => {
    const complaint = complaintAbout(input, names[k]);
    input.setAttribute("aria-invalid", String(complaint !== ""));
    return complaint;
  }));
  const first = complaints.find((complaint) => complaint !== "");
  if (first) return first;
  const sum = probabilities.reduce((total, input) => total + readNumber(input), 0);
  return Math.abs(sum - 1) <= SUM_TOLERANCE ? "" : `The probabilities sum to ${Number(sum.toPrecision(6))}; they must sum to 1.`;
}

function rescale(inputs) {
  const values = inputs.map(readNumber);
  const sum = values.reduce((total, value) => total + value, 0);
  if (sum > 0 && Number.isFinite(sum) && values.every((value) => value >= 0)) {
    inputs.forEach((input, k) => { input.value = values[k] / sum; });
  }
}

function showAnswer(question, names, { steps, expected }) {
  const { prefix, suffix, digits } = question.dataset;
  const options = { minimumFractionDigits: Number(digits), maximumFractionDigits: Number(digits) };
  const money = (value) => prefix + value.toLocaleString("en-US", options) + suffix;
  const rows = document.getElementById("steps").tBodies[0].rows;
  steps.forEach(({ k, spent, found }, step) => {
    const [, name, spentCell, foundCell] = rows[step].cells;
    rows[step].dataset.class = k;
    name.querySelector("bdi").textContent = names[k];
    fillCell(spentCell, spent, money(spent));
    fillCell(foundCell, found, `${(100 * found).toFixed(1)} %`);
  });
  fillCell(document.getElementById("expected-total"), expected, money(expected));
}

function fillCell(cell, value, text) {
  cell.dataset.value = value;
  cell.textContent = text;
}
