// The price of a miss that a reader may move: the verdict is that of the range in which it lies.

function followMiss(section) {
  const comparison = JSON.parse(document.getElementById("comparison").textContent);
  const { lists } = comparison, slider = section.querySelector("#miss-price");
  const verdict = document.getElementById("verdict"), stated = [...verdict.childNodes].map((node) => node.cloneNode(true));
  const sentences = [...section.querySelectorAll("ul li")].map((item) => item.textContent);
  const line = section.querySelector("#miss-line"), now = section.querySelector("#miss-now");
  const { left, right } = section.dataset, first = slider.value;
  const formats = formatsOf(document.getElementById("bars"));

  function costAt(costs, price) {
    const above = Math.max(1, lists.prices.findIndex((tried) => tried >= price)), below = above - 1;
    const share = (price - lists.prices[below]) / (lists.prices[above] - lists.prices[below]);
    return costs[below].value + share * (costs[above].value - costs[below].value);
  }

  function show() {
    const price = Number(slider.value);
    const costs = Object.entries(lists.curves).map(([name, values]) => [name, costAt(values, price)]);
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

  slider.addEventListener("input", show);
  show();
}
