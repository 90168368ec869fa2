// Prices, frequencies and the spread of prices that a reader may change: all figures of the first screen follow.

function bringToLife(bars) {
  const comparison = JSON.parse(document.getElementById("comparison").textContent);
  const view = comparison.models.map((model) => model.scores.expected_cost);
  const page = { comparison, formats: formatsOf(bars), view, order: [...view.keys()], followers: [] };
  document.querySelectorAll("#year").forEach((box) => yearBox(page, box));
  document.querySelectorAll("#prices[data-live]").forEach((section) => live(page, section));
}

function live(page, section) {
  Object.assign(page, { section, cases: readCases(page.comparison) });
  page.state = structuredClone(page.cases.stated);
  page.base = costsAt(page.cases, page.cases.stated);
  page.verdict = [...document.getElementById("verdict").childNodes].map((node) => node.cloneNode(true));
  page.flips = new Map([...section.querySelectorAll(".flip")].map((flip) => [flip, flip.textContent]));
  priceRows(page);
  scenarioButtons(page);
  mixRows(page);
  document.querySelectorAll("#prior").forEach((select) => {
    select.addEventListener("change", () => { page.state.prior = select.value; update(page); });
  });
  document.querySelectorAll("[data-reset]").forEach((button) => button.addEventListener("click", () => reset(page)));
  document.querySelectorAll("#case").forEach((box) => workedCase(page, box));
  update(page);
}

function reset(page) {
  page.state = structuredClone(page.cases.stated);
  document.querySelectorAll("#prior").forEach((select) => { select.value = page.state.prior; });
  update(page);
}

function isStated({ state, cases }) {
  return JSON.stringify(state) === JSON.stringify(cases.stated);
}

function update(page) {
  page.result = costsAt(page.cases, page.state);
  page.view = page.comparison.models.map((model, m) => liveModel(page, model, m));
  page.order = [...page.view.keys()].sort((a, b) => page.view[a].value - page.view[b].value || a - b);
  document.documentElement.classList.toggle("altered", !isStated(page));
  showPrices(page);
  showMix(page);
  showBars(page);
  showVerdict(page);
  page.followers.forEach((follow) => follow());
  clearTimeout(page.later);
  const rows = [...page.section.querySelectorAll("li[data-class]")];
  if (isStated(page)) rows.forEach((row) => showFlip(page, row));
  else page.later = setTimeout(() => showFlips(page, rows), 60);
}

// The exact figure at the stated prices, plus what the sample says that the change of prices does to it.
function liveModel({ result, base }, model, m) {
  const exact = model.scores.expected_cost, now = result.models[m], then = base.models[m];
  const value = exact.value + now.cost - then.cost;
  const saved = model.recalibrated ? model.recalibrated.saved.value + now.saved - then.saved : 0;
  return { value, ...limitsAround(value, exact, widerBy(now, then)), unavoidable: model.unavoidable + result.unavoidable - base.unavoidable, saved };
}

function limitsAround(value, exact, wider) {
  if (exact.low === null || exact.high === null) return { low: null, high: null };
  return { low: value - wider * (exact.value - exact.low), high: value + wider * (exact.high - exact.value) };
}

// What model a costs more than model b, with its interval.
function gapOf({ comparison, result, base, view }, a, b) {
  const wider = result ? widerBy(differenceOf(result, a, b), differenceOf(base, a, b)) : 1;
  const [first, second] = [a, b].map((m) => comparison.models[m].name);
  const turned = comparison.differences.find((gap) => gap.model === second && gap.against === first);
  const gap = turned ?? comparison.differences.find((each) => each.model === first && each.against === second);
  const sign = turned ? -1 : 1;
  const [low, high] = gap.low === null ? [null, null] : [sign * gap.low, sign * gap.high].sort((x, y) => x - y);
  const value = view[a].value - view[b].value;
  return { value, trusted: !gap.warning, ...limitsAround(value, { value: sign * gap.difference, low, high }, wider) };
}

function widerBy(now, then) {
  return then.error > 0 ? now.error / then.error : 1;
}

function showBars({ view, order, formats }) {
  const list = document.getElementById("bars");
  const reach = Math.max(...view.map((model) => Math.max(model.value, model.high ?? 0)));
  const items = [...list.children].sort((a, b) => a.dataset.model - b.dataset.model);
  items.forEach((item, m) => fillBar(item, view[m], reach, formats));
  list.append(...order.map((m) => items[m]));
}

function fillBar(item, model, reach, formats) {
  const least = Math.min(model.unavoidable, model.value);
  const saved = Math.min(Math.max(model.saved, 0), model.value - least);
  let x = 0;
  for (const [kind, amount] of [["unavoidable", least], ["recal", saved], ["waste", model.value - least - saved]]) {
    placePart(item, kind, amount, x, (100 * amount) / reach, formats);
    x += (100 * amount) / reach;
  }
  const decimals = decimalsFor(model, formats);
  const total = item.querySelector(".total");
  fillCell(total, model.value, money(formats, model.value, decimals));
  item.querySelectorAll(".range").forEach((range) => {
    range.textContent = rangeOf(model, decimals, "–");
    Object.assign(range.dataset, { low: model.low, high: model.high });
  });
  item.querySelectorAll(".whisker").forEach((line) => {
    line.setAttribute("x1", `${(100 * Math.max(model.low, 0)) / reach}%`);
    line.setAttribute("x2", `${(100 * model.high) / reach}%`);
  });
  item.querySelector(".end").setAttribute("cx", `${x}%`);
}

function placePart(item, kind, amount, x, width, formats) {
  item.querySelectorAll(`rect.${kind}`).forEach((rect) => {
    rect.setAttribute("x", `${x}%`);
    rect.setAttribute("width", `${width}%`);
    rect.dataset.value = amount;
  });
  item.querySelectorAll(`text.${kind}`).forEach((text) => {
    text.setAttribute("x", `${x + width / 2}%`);
    text.textContent = width >= 7 ? roughly(formats, amount) : "";
  });
}

function fillCell(cell, value, text) {
  cell.dataset.value = value;
  cell.textContent = text;
}

function showVerdict(page) {
  const place = document.getElementById("verdict");
  if (isStated(page)) place.replaceChildren(...page.verdict.map((node) => node.cloneNode(true)));
  else place.replaceChildren(...verdictAt(page).map((sentence, n) => paragraph(sentence, n === 0 ? "verdict" : "standfirst")));
  const { order, view, comparison, formats } = page;
  const said = order.slice(0, 3).map((m) => `${plain(comparison.models[m].name)} ${money(formats, view[m].value, decimalsFor(view[m], formats))}`);
  document.getElementById("now").textContent = `${isStated(page) ? "At the stated prices" : "At your prices"}: ${said.join(" · ")}`;
}

function paragraph(text, name) {
  const made = document.createElement("p");
  made.className = name;
  made.textContent = text;
  return made;
}

// The same rule as the library's: deploy only what the data tell apart from every other model.
function verdictAt(page) {
  const { order, view, comparison, formats, base } = page;
  const names = comparison.models.map((model) => plain(model.name));
  const [leader, ...others] = order;
  const amount = money(formats, view[leader].value, decimalsFor(view[leader], formats));
  if (others.length === 0) return [`At these prices ${names[leader]} costs ${amount} per case.`];
  const gaps = others.map((m) => ({ m, ...gapOf(page, m, leader) }));
  const open = gaps.filter((gap) => !(gap.low > 0 && gap.trusted)).map((gap) => names[gap.m]);
  const apart = `${names[gaps[0].m]} costs ${perCase(formats, gaps[0], " more")}.`;
  const first = open.length === 0
    ? `At these prices, deploy ${names[leader]}: it costs ${amount} per case, the least of ${order.length} models.`
    : `At these prices ${names[leader]} and ${open.length > 2 ? `${open.length} others` : listed(open)} cannot be told apart.`;
  const stated = leaderOf(base.models.map((model) => model.cost));
  const changed = stated === leader ? [] : [`At the stated prices ${names[stated]} is the cheapest.`];
  return [first, [apart, ...changed, ...recalibratedFirst(page, gaps, names)].join(" ")];
}

// The first whose saving is beyond doubt and that then costs no more than the leader, which may be recalibrated, too.
function recalibratedFirst({ comparison, view, order, formats }, gaps, names) {
  const recalibrated = (m) => view[m].value - view[m].saved;
  const [leader] = order, least = Math.min(view[leader].value, recalibrated(leader));
  const lifted = gaps.find(({ m }) => comparison.models[m].recalibrated?.saved.low > 0 && recalibrated(m) <= least);
  if (!lifted) return [];
  return [`Recalibrated, ${names[lifted.m]} would cost ${roughly(formats, recalibrated(lifted.m))}, no more than ${names[leader]}.`];
}

function yearBox(page, box) {
  const cases = box.querySelector("#cases"), instead = box.querySelector("#instead");
  const say = () => {
    const number = Number(cases.value.replace(/[,\s']/g, ""));
    const valid = cases.value.trim() !== "" && Number.isFinite(number) && number >= 0;
    cases.setAttribute("aria-invalid", String(!valid));
    document.getElementById("cases-said").textContent = `At ${cases.value} cases per year: `;
    document.getElementById("saving").textContent = valid ? savingOf(page, number, Number(instead.value)) : "Type how many cases there are per year, such as 12,000.";
  };
  box.addEventListener("input", say);
  page.followers.push(say);
  say();
}

function savingOf(page, cases, m) {
  const leader = page.order[0], names = page.comparison.models.map((model) => plain(model.name));
  if (m === leader) return `${names[m]} is the cheapest already.`;
  const gap = gapOf(page, m, leader);
  const yearly = Object.fromEntries(["value", "low", "high"].map((end) => [end, gap[end] === null ? null : cases * gap[end]]));
  return `${names[leader]} instead of ${names[m]} saves ${moneyBetween(page.formats, yearly)} per year.`;
}
