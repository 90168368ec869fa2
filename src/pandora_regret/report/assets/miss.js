// The price of a miss that a reader may move: the verdict is that of the range in which it lies.

function followMiss(section) {
  const comparison = JSON.parse(document.getElementById("comparison").textContent);
  const { lists } = comparison, slider = section.querySelector("#miss-price");
  const verdict = document.getElementById("verdict"), stated = [...verdict.childNodes].map((node) => node.cloneNode(true));
  const sentences = [...section.querySelectorAll("ul li")].map((item) => item.textContent);
  const line = section.querySelector("#miss-line"), now = section.querySelector("#miss-now");
  const { left, right } = section.dataset, first = slider.value;
  const formats = formatsOf(document.getElementById("bars"));

  function between(numbers, price) {
    const above = Math.max(1, lists.prices.findIndex((tried) => tried >= price)), below = above - 1;
    const share = (price - lists.prices[below]) / (lists.prices[above] - lists.prices[below]);
    return numbers[below] + share * (numbers[above] - numbers[below]);
  }

  function barAt(name, price) {
    const curve = lists.curves[name], at = (part) => between(curve.map((estimate) => estimate[part]), price);
    return { value: at("value"), low: at("low"), high: at("high"), saved: 0, unavoidable: between(lists.unavoidable[name], price) };
  }

  function moveBars(price) {
    const view = comparison.models.slice(0, document.getElementById("bars").children.length).map(({ name }) => barAt(name, price));
    const order = [...view.keys()].sort((a, b) => view[a].value - view[b].value || a - b);
    showBars({ view, order, formats });
    onEach("#year", (year) => { year.hidden = slider.value !== first; });  // which counts at the stated price
    document.getElementById("bars-at").textContent = ` where a miss costs ${roughly(formats, price)}`;
  }

  function show() {
    const price = Number(slider.value);
    const costs = Object.keys(lists.curves).map((name) => [name, barAt(name, price).value]);
    costs.sort((a, b) => a[1] - b[1]);
    const told = costs.map(([name, cost]) => `${name} ${roughly(formats, cost)}`).join(", ");
    now.textContent = `${roughly(formats, price)}: ${told} per case`;
    const x = Number(left) + (Number(right) - Number(left)) * price / Number(slider.max);
    line.setAttribute("x1", x);
    line.setAttribute("x2", x);
    line.setAttribute("visibility", "visible");
    if (slider.value === first) {
      verdict.replaceChildren(...stated.map((node) => node.cloneNode(true)));
      return;
    }
    const range = lists.ranges.findIndex(({ high }) => high === null || price < high);
    const sentence = document.createElement("p");
    sentence.className = "verdict";
    sentence.textContent = sentences[range];
    verdict.replaceChildren(sentence);
  }

  slider.addEventListener("input", () => {
    show();
    moveBars(Number(slider.value));
  });
  show();
}
