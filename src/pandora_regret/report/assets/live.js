// Prices, frequencies and the spread of prices that a reader may change: all figures of the first screen follow.

const SEEN = 0.002;  // of the longest bar: a part that is smaller cannot be seen, and is not in the legend

function bringToLife(bars) {
  const comparison = JSON.parse(document.getElementById("comparison").textContent);
  const view = comparison.models.map((model) => model.scores.expected_cost);
  const rules = JSON.parse(document.getElementById("rules").textContent);
  const page = { comparison, rules, formats: formatsOf(bars), view, order: [...view.keys()], followers: [] };
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

// What model a costs more than model b, with its interval; recalibrated, either of them, where that is asked.
function gapOf({ comparison, result, base, view }, a, b, again = [false, false]) {
  const [first, second] = [a, b].map((m) => comparison.models[m].name);
  const turned = comparison.differences.find((gap) => gap.model === second && gap.against === first);
  const gap = turned ?? comparison.differences.find((each) => each.model === first && each.against === second);
  const sign = turned ? -1 : 1;
  const [low, high] = gap.low === null ? [null, null] : [sign * gap.low, sign * gap.high].sort((x, y) => x - y);
  const [ours, theirs] = [a, b].map((m, n) => view[m].value - (again[n] ? view[m].saved : 0));
  const rows = (from, m, n) => from.models[m][again[n] ? "later" : "rows"];
  const wider = result ? widerBy(
    { error: differenceError(result.shares, rows(result, a, 0), rows(result, b, 1)) },
    { error: differenceError(base.shares, base.models[a].rows, base.models[b].rows) },
  ) : 1;
  return { value: ours - theirs, trusted: !gap.warning, ...limitsAround(ours - theirs, { value: sign * gap.difference, low, high }, wider) };
}

function widerBy(now, then) {
  return then.error > 0 ? now.error / then.error : 1;
}

function showBars({ view, order, formats }) {
  const list = document.getElementById("bars");
  const reach = Math.max(...view.map((model) => Math.max(model.value, model.high ?? 0)));
  const items = [...list.children].sort((a, b) => a.dataset.model - b.dataset.model);
  document.querySelectorAll("#recal-key").forEach((key) => { key.hidden = !view.some((model) => model.saved > SEEN * reach); });
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
    const written = roughly(formats, amount);
    text.textContent = width >= Math.max(7, written.length) ? written : "";
  });
}

function fillCell(cell, value, text) {
  cell.dataset.value = value;
  cell.textContent = text;
}

function showVerdict(page) {
  const place = document.getElementById("verdict");
  if (isStated(page)) {
    place.dataset.kind = page.comparison.verdict.kind;
    place.replaceChildren(...page.verdict.map((node) => node.cloneNode(true)));
  } else {
    const { kind, sentences } = verdictAt(page);
    place.replaceChildren(...sentences.map((sentence, n) => paragraph(sentence, n === 0 ? "verdict" : "standfirst")));
    place.dataset.kind = kind;
  }
  const { order, view, comparison, formats } = page;
  const said = order.slice(0, 3).map((m) => `${plain(comparison.models[m].name)} ${money(formats, view[m].value, decimalsFor(view[m], formats))}`);
  document.getElementById("now").textContent = `${isStated(page) ? document.getElementById("prices").dataset.first : "At your prices"}: ${said.join(" · ")}`;
}

function paragraph(text, name) {
  const made = document.createElement("p");
  made.className = name;
  made.textContent = unbroken(text);
  return made;
}

// The library's rule, by its own table of sentences and of what decides: see comparison/judge.py and words.py.
function verdictAt(page) {
  const standing = standingOf(page), { order, gaps, costs, again } = standing, [leader] = order;
  const name = (m) => plain(page.comparison.models[m].name), named = (list) => someOf(page, list.map(name));
  const words = { leader: name(leader), cost: roughly(page.formats, costs[leader]), n: order.length, what: page.rules.what, sure: "" };
  const say = (key, more = {}) => page.rules.sentences[key].replace(/\{(\w+)\}/g, (_, word) => ({ ...words, ...more })[word]);
  const status = new Map([...gaps].map(([m, gap]) => [m, statusOf(page, gap, costs[leader])]));
  const those = (wanted) => order.filter((m) => status.get(m) === wanted), [more, level, open] = ["more", "level", "open"].map(those);
  const kind = page.rules.kinds.find(([each]) => those(each).length)?.[1] ?? "single";
  const gapOver = (m, over = " more") => perCase(page.formats, gaps.get(m), over), last = order.at(-1);
  const sentences = {
    single: () => [say("single")],
    level: () => [say("level", { names: named(order) }), gaps.get(last).value ? say("spread", { other: name(last), gap: gapOver(last) }) : say("same")],
    deploy: () => [
      say(again ? "recalibrated" : "deploy"),
      ...(level.length ? [say("beside", { names: named(level), are: level.length === 1 ? "is" : "are" })] : []),
      say(level.length ? "next" : "runner_up", { other: name(more[0]), gap: gapOver(more[0]) }),
    ],
    undecided: () => [
      say(again ? "recalibrated_open" : "undecided", { names: named([leader, ...open]) }),
      ...(gaps.get(open[0]).low === null ? [say("unsure")] : [say("ahead", { other: name(open[0]), gap: gapOver(open[0], "") }), ...neededFor(page, open.map((m) => gaps.get(m)), say)]),
      ...(more.length ? [say("others", { names: named(more), s: more.length === 1 ? "s" : "" })] : []),
    ],
  }[kind]();
  return { kind, sentences: [...sentences, ...besides(page, standing, name, say)] };
}

// What recalibrating does to the leader, or to all.
function besides({ comparison, view, formats, rules }, { order: [leader], first, again, margin }, name, say) {
  const { saved } = view[leader];
  const own = comparison.models[leader].recalibrated?.saved.low > 0 && saved >= margin;
  return [
    ...(again ? [say("as_is", { first: name(first), ours: roughly(formats, view[first].value), theirs: roughly(formats, view[leader].value) })] : []),
    ...(!again && own ? [say("saves", { saved: `${roughly(formats, saved)} per case` })] : []),
  ];
}

function marginOf({ comparison, view }) {
  const { margin, share } = comparison.verdict;
  return share === null ? margin : share * Math.min(...view.map((model) => model.value));
}

function asTheyAre(page, again = false) {
  const costs = page.view.map((model) => model.value - (again ? model.saved : 0));
  const order = [...costs.keys()].sort((a, b) => costs[a] - costs[b] || a - b), [leader, ...others] = order;
  return { costs, order, again, gaps: new Map(others.map((m) => [m, gapOf(page, m, leader, [again, again])])) };
}

// Models as they are; or all recalibrated, where that changes who is the cheapest by more than the margin.
function standingOf(page) {
  const now = asTheyAre(page), margin = marginOf(page), [first] = now.order;
  const later = asTheyAre(page, page.comparison.models.every((model) => model.recalibrated)), [best] = later.order;
  const beyond = (gap) => gap.trusted && gap.low > 0 && gap.value > margin;
  const changes = best !== first && beyond(gapOf(page, first, best, [false, true])) && beyond(later.gaps.get(first));
  return { ...(later.again && changes ? later : now), first, margin };
}

function statusOf({ comparison, rules, view, ...page }, gap, cost = 0) {
  if (gap.low === null) return "open";
  const units = comparison.data.clusters ?? comparison.data.rows;
  const unseen = gap.trusted && units >= rules.few ? 0 : (rules.unseen / units) * cost;
  if (Math.max(-gap.low, gap.high) + unseen <= marginOf({ comparison, view })) return "level";
  return gap.trusted && gap.low > 0 ? "more" : "open";
}

// So many more cases that no interval is wider than the margin.
function neededFor(page, gaps, say) {
  const margin = marginOf(page), { rows } = page.comparison.data, { share } = page.comparison.verdict;
  const half = Math.max(...gaps.map((gap) => Math.min(gap.value - gap.low, gap.high - gap.value)));
  const casesFor = (difference, width) => Math.ceil(rows * ((2 * width / difference) ** 2 - 1));
  const roundedUp = (number, size = 10 ** Math.max(0, String(number).length - 2)) => (Math.ceil(number / size) * size).toLocaleString("en-US");
  const cases = casesFor(margin, half), [{ value, low, high }] = gaps, fewer = casesFor(value, Math.min(value - low, high - value));
  if (!(cases > 0) || !Number.isFinite(cases) || gaps.some((gap) => !gap.trusted)) return [];
  const worth = roughly(page.formats, margin) + (share === null ? "" : ` (${Number((100 * share).toPrecision(6))} % of the cost)`);
  const moreCases = (number) => `${roundedUp(number)} more case${number === 1 ? "" : "s"}`;
  const seen = besideItsInterval(page.formats, gaps[0]);
  if (value > margin && fewer > 0) return [say("needed_for_both", { fewer: moreCases(fewer), seen, cases: roundedUp(cases), margin: worth })];
  return [say("needed", { cases: moreCases(cases), margin: worth })];
}

function someOf({ rules }, names) {
  const few = names.length <= rules.most_names, kept = rules.most_names - 1;
  return listed(few ? names : [...names.slice(0, kept), `${names.length - kept} others`]);
}

function yearBox(page, box) {
  const cases = box.querySelector("#cases"), instead = box.querySelector("#instead"), chosen = box.querySelector("#chosen");
  const saving = box.querySelector("#saving"), question = saving.textContent;
  const say = () => {
    const number = readNumber(cases.value), empty = cases.value.trim() === "", valid = Number.isFinite(number) && number >= 0;
    cases.setAttribute("aria-invalid", String(!valid && !empty));
    box.classList.toggle("empty", !valid);
    chosen.textContent = chosenOf(page).name;
    saving.textContent = valid
      ? `At ${cases.value} cases per year, ${savingOf(page, number, Number(instead.value))}`
      : empty ? question : "Type how many cases there are per year, such as 12,000.";
  };
  box.addEventListener("input", say);
  page.followers.push(say);
  say();
}

// The model that the verdict would choose, whether recalibrated, and whether that is at the stated prices.
function chosenOf(page) {
  const { verdict, models } = page.comparison;
  const stated = !page.result || isStated(page), standing = stated ? null : standingOf(page);
  const leader = stated ? models.findIndex((model) => model.name === verdict.leader) : standing.order[0];
  return { stated, leader, again: stated ? verdict.recalibrated : standing.again, name: plain(models[leader].name) };
}

// What the verdict's choice saves, in its own terms: as models are, or recalibrated.
function savingOf(page, cases, m) {
  const { models } = page.comparison, names = models.map((model) => plain(model.name));
  const { stated, leader, again } = chosenOf(page);
  if (m === leader) return `${names[m]} is the cheapest already.`;
  const gap = again && stated ? models[m].recalibrated.against_best : gapOf(page, m, leader, [again, again]);
  const yearly = Object.fromEntries(["value", "low", "high"].map((end) => [end, gap[end] === null ? null : cases * gap[end]]));
  return `${names[leader]}${again ? ", recalibrated," : ""} instead of ${names[m]} saves ${moneyBetween(page.formats, yearly)} per year.`;
}
