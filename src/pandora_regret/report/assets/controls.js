// The rows of the price panel and of the mix of cases, and the marks at which another model becomes the cheapest.

// "12,5" and "1.200,50" are read as they are meant; a comma before three last digits separates thousands, as on this page.
function readNumber(text) {
  const plainText = text.replace(/[\s'\u2019]/g, "");
  const decimal = /^\d{1,3}(,\d{3})+$|^[^,]*$/.test(plainText) || plainText.lastIndexOf(".") > plainText.lastIndexOf(",") ? "." : ",";
  const grouped = plainText.replaceAll(decimal === "." ? "," : ".", "").replace(",", ".");
  return grouped === "" ? NaN : Number(grouped);
}

function typed(value) {
  return String(Number(value.toPrecision(value >= 1000 ? 4 : 3)));
}

function priceRows(page) {
  page.section.querySelectorAll("li[data-class]").forEach((row) => {
    const k = Number(row.dataset.class), slider = row.querySelector("input[type=range]"), field = row.querySelector("input[type=text]");
    slider.addEventListener("input", () => setPrice(page, k, page.cases.stated.prices[k] * 10 ** (slider.value / 100)));
    field.addEventListener("input", () => {
      const price = readNumber(field.value), valid = Number.isFinite(price) && price > 0;
      field.setAttribute("aria-invalid", String(!valid));
      if (valid) setPrice(page, k, price);
    });
    field.addEventListener("change", () => showPrices(page));
  });
}

function setPrice(page, k, price) {
  page.state.prices[k] = price;
  update(page);
}

function showPrices({ section, state, cases, formats }) {
  section.querySelectorAll("li[data-class]").forEach((row) => {
    const k = Number(row.dataset.class), slider = row.querySelector("input[type=range]"), field = row.querySelector("input[type=text]");
    const price = state.prices[k], same = price === cases.stated.prices[k];
    const place = Math.round(200 * Math.log10(price / cases.stated.prices[k])) / 2;
    Object.assign(slider, { min: Math.min(-100, place), max: Math.max(100, place) });
    if (document.activeElement !== slider) slider.value = place;
    row.querySelector(".marks .stated").setAttribute("x1", `${placeOf(slider, 1)}%`);
    row.querySelector(".marks .stated").setAttribute("x2", `${placeOf(slider, 1)}%`);
    slider.setAttribute("aria-valuetext", roughly(formats, price));
    if (document.activeElement !== field) {
      field.value = same ? field.defaultValue : typed(price);
      field.setAttribute("aria-invalid", "false");
    }
    const printed = row.querySelector(".no-script");
    printed.dataset.stated ??= printed.textContent;
    printed.textContent = same ? printed.dataset.stated : roughly(formats, price);
    row.classList.toggle("moved", !same);
  });
}

function scenarioButtons(page) {
  const { comparison, cases } = page;
  const buttons = document.querySelectorAll("button[data-scenario]");
  buttons.forEach((button) => button.addEventListener("click", () => {
    page.state.prices = [...(comparison.scenarios[button.dataset.scenario]?.typical ?? cases.stated.prices)];
    update(page);
  }));
  page.followers.push(() => buttons.forEach((button) => {
    const prices = comparison.scenarios[button.dataset.scenario]?.typical ?? cases.stated.prices;
    button.setAttribute("aria-pressed", String(JSON.stringify(prices) === JSON.stringify(page.state.prices)));
  }));
}

function mixRows(page) {
  document.querySelectorAll("#mix li[data-mix]").forEach((row) => {
    const k = Number(row.dataset.mix), field = row.querySelector("input[type=text]");
    row.querySelector("input[type=range]").addEventListener("input", (event) => setShare(page, k, event.target.value / 100));
    field.addEventListener("input", () => {
      const share = readNumber(field.value.replace("%", "")) / 100, valid = share >= 0 && share <= 1;
      field.setAttribute("aria-invalid", String(!valid));
      if (valid) setShare(page, k, share);
    });
    field.addEventListener("change", () => showMix(page));
  });
}

// One class becomes so frequent; the others share the rest as before.
function setShare(page, k, share) {
  const { mix } = page.state, rest = 1 - mix[k], usual = page.cases.stated.mix;
  const capped = Math.min(share, 0.99), others = rest > 1e-9 ? mix : usual, sum = rest > 1e-9 ? rest : 1 - usual[k];
  page.state.mix = mix.map((_, j) => (j === k ? capped : ((1 - capped) * others[j]) / sum));
  update(page);
}

function showMix({ state, cases }) {
  document.querySelectorAll("#mix li[data-mix]").forEach((row) => {
    const k = Number(row.dataset.mix), slider = row.querySelector("input[type=range]"), field = row.querySelector("input[type=text]");
    const percent = 100 * state.mix[k];
    if (document.activeElement !== slider) slider.value = percent;
    slider.setAttribute("aria-valuetext", `${percent.toFixed(1)} %`);
    if (document.activeElement !== field) field.value = percent.toFixed(1);
    row.classList.toggle("moved", state.mix[k] !== cases.stated.mix[k]);
  });
}

// One row at a time, since this takes longer than all else, and a reader may move on.
function showFlips(page, [row, ...rows]) {
  showFlip(page, row);
  if (rows.length) page.later = setTimeout(() => showFlips(page, rows), 0);
}

function showFlip(page, row) {
  const { cases, state, result, comparison, formats } = page;
  const k = Number(row.dataset.class), flip = row.querySelector(".flip");
  if (!flip) return;
  const crossings = isStated(page) ? statedCrossings(row) : crossingsOf(cases, state, result, k, marginOf(page));
  const open = !isStated(page) && ["below", "above"].some((side) => crossings[side] && statusOf(page, asTheyAre(page).gaps.get(crossings[side].leader)) === "open");
  for (const side of ["below", "above"]) {
    const mark = row.querySelector(`.mark.${side}`), crossing = crossings[side];
    mark.classList.toggle("off", crossing === null);
    if (crossing) mark.setAttribute("x", `${placeOf(row.querySelector("input[type=range]"), crossing.price / cases.stated.prices[k])}%`);
    mark.dataset.value = crossing?.price ?? "";
  }
  flip.textContent = isStated(page) ? page.flips.get(flip) : open ? "not settled" : flipInWords(crossings, comparison, formats);
}

function statedCrossings(row) {
  return Object.fromEntries(["below", "above"].map((side) => {
    const { price } = row.querySelector(`.mark.${side}`).dataset;
    return [side, price ? { price: Number(price) } : null];
  }));
}

// Where on a slider a price is, in percent, as a multiple of the stated one.
function placeOf(slider, multiple) {
  return Math.min(100, Math.max(0, (100 * (100 * Math.log10(multiple) - slider.min)) / (slider.max - slider.min)));
}

function flipInWords(crossings, comparison, formats) {
  const ranges = new Map();
  for (const side of ["below", "above"].filter((each) => crossings[each])) {
    const { price, leader } = crossings[side];
    ranges.set(leader, [...(ranges.get(leader) ?? []), `${side} ${roughly(formats, price)}`]);
  }
  const parts = [...ranges].map(([leader, at]) => `${plain(comparison.models[leader].name)} is the better choice ${at.join(" and ")}`);
  return parts.join("; ") || "no change";
}
