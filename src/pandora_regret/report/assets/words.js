// Numbers and names as the rest of the page writes them.

const CENT = 0.01;
const TENS = 10;  // from here on, money whose interval is some units wide is written without cents
const LARGE = [[1e12, " trillion"], [1e9, " billion"], [1e6, " million"]];

function formatsOf(element) {
  const { prefix, suffix, digits } = element.dataset;
  return { prefix, suffix, digits: Number(digits) };
}

// How many decimals show two digits of half an interval's width, below 0 for tens; of money none or two.
function decimalsFor({ low, high }, formats) {
  if (low === null || !(high > low)) return formats.digits;
  const decimals = 1 - Math.floor(Math.log10(Number(((high - low) / 2).toPrecision(2))));
  const largest = Math.max(-low, high), inCents = formats.digits === 2 && largest >= 1;
  const digits = Math.min(inCents && decimals === 1 ? (largest >= TENS ? 0 : 2) : decimals, formats.digits);
  const told = toldFromZero(digits, low, high);
  return inCents && told === 1 ? 2 : told;
}

// More decimals where a limit of an interval that excludes zero would be written as 0.
function toldFromZero(decimals, low, high) {
  const nearest = low * high > 0 ? Math.min(Math.abs(low), Math.abs(high)) : 0;
  while (nearest > 0 && nearest * 10 ** decimals <= 0.5) decimals += 1;
  return decimals;
}

function fixed(value, decimals) {
  const unit = 10 ** -decimals, rounded = decimals < 0 ? Math.round(value / unit) * unit : value;
  const places = Math.max(0, decimals);
  const text = Math.abs(rounded).toLocaleString("en-US", { minimumFractionDigits: places, maximumFractionDigits: places });
  return `${rounded < 0 && /[1-9]/.test(text) ? "−" : ""}${text}`;
}

function money(formats, value, decimals = formats.digits) {
  const text = fixed(value, decimals), sign = text.startsWith("−") ? "−" : "";
  return sign + formats.prefix + text.slice(sign.length) + formats.suffix;
}

// A sum as a person would say it, as money of the library: three digits, cents where people pay in them.
function roughly(formats, value) {
  const rounded = Number(value.toPrecision(3)), size = Math.abs(rounded);
  const [scale, word] = LARGE.find(([large]) => size >= large) ?? [1, ""];
  const hasCents = formats.digits === 2, exact = Math.abs(value);
  const inCents = hasCents && exact >= CENT && size < 100 && !Number.isInteger(rounded);
  const shown = hasCents && exact < CENT ? 2 : 3;  // digits
  const digits = size > 0 ? Math.max(0, shown - 1 - Math.floor(Math.log10(size / scale))) : 0;
  const text = inCents ? fixed(rounded, 2) : String(fixed(rounded / scale, digits)).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");
  const sign = text.startsWith("−") ? "−" : "";
  const isOne = text === "1" && [" typical test prices", " tests", " looks"].includes(formats.suffix);
  const suffix = isOne ? formats.suffix.slice(0, -1) : formats.suffix;
  return sign + formats.prefix + text.slice(sign.length) + word + suffix;
}

function rangeOf({ low, high }, decimals, joined = " to ", scale = 1) {
  return low === null ? "" : fixed(low / scale, decimals) + (low < 0 ? " to " : joined) + fixed(high / scale, decimals);
}

// "$1.31 million (0.93 to 1.64)", as money_between of the library.
function moneyBetween(formats, estimate) {
  if (estimate.low === null) return roughly(formats, estimate.value);
  const largest = Math.max(...["value", "low", "high"].map((end) => Math.abs(estimate[end])));
  const [scale, word] = LARGE.find(([size]) => largest >= size) ?? [1, ""];
  const decimals = decimalsFor(estimate, formats) + Math.round(Math.log10(scale));
  const text = money({ ...formats, suffix: word + formats.suffix }, estimate.value / scale, decimals);
  return `${text} (${rangeOf(estimate, decimals, " to ", scale)})`;
}

// "$64 per case more (24 to 104)"
function perCase(formats, estimate, more) {
  const [amount, range] = moneyBetween(formats, estimate).split(" (");
  return `${amount} per case${more}${range ? ` (${range}` : ""}`;
}

// An amount with the digits that it has beside its interval; with its own where those are all 0.
function besideItsInterval(formats, estimate) {
  const written = (value) => moneyBetween(formats, { ...estimate, value }).split(" (")[0];
  if (written(estimate.value) !== written(0)) return written(estimate.value);
  const hasCents = formats.digits === 2;
  const rounded = hasCents ? estimate.value : Number(estimate.value.toPrecision(2));
  return roughly(formats, rounded);
}

function plain(name) {
  return name.replace(/[\u202a-\u202e\u2066-\u2069]/g, "");
}

// No line ends between a number and its per cent sign, or before a last number: as unbroken of the library.
function unbroken(text) {
  return text.replaceAll(" %", "\u00a0%").replace(/ (\d[\d,.]*)$/, "\u00a0$1");
}

function listed(names) {
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}
