// What every model costs at other prices, from the sample that the page holds. comparison/embedded.py says how it is written.

const BEND = 4, EVEN = 2047, FAR = 1e12;
const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

function codesOf(text) {
  const value = new Uint8Array(128);
  for (let k = 0; k < 64; k += 1) value[DIGITS.charCodeAt(k)] = k;
  return Uint16Array.from({ length: text.length / 2 }, (_, n) => 64 * value[text.charCodeAt(2 * n)] + value[text.charCodeAt(2 * n + 1)]);
}

function oddsOf(text) {
  const odds = Float64Array.from(Array.from({ length: 2 * EVEN + 1 }, (_, code) => {
    const place = code / EVEN - 1;
    return Math.abs(place) === 1 ? place * FAR : (BEND * place) / (1 - Math.abs(place));
  }));
  return Float64Array.from(codesOf(text), (code) => odds[code]);
}

function readCases(comparison) {
  const { sample, costs, data, models } = comparison;
  const priors = Object.fromEntries(Object.entries(sample.shares).map(([name, [table]]) => [name, Float64Array.from(table)]));
  const cases = {
    k: data.classes.length,
    rows: sample.rows,
    truth: codesOf(sample.truth),
    weights: Float64Array.from(sample.weights),
    classWeights: data.class_weights,
    priors,
    stated: { prices: costs.typical, mix: shareOut(data.class_weights), prior: Object.keys(priors)[0] },
    models: models.map((model) => ({
      name: model.name,
      odds: oddsOf(sample.odds[model.name]),
      inverseTemperature: sample.inverse_temperatures[model.name],
      factors: new Float64Array(data.classes.length).fill(1),
    })),
  };
  cases.models.forEach((model, m) => correct(cases, model, models[m]));
  return cases;
}

function shareOut(weights) {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight) => weight / total);
}

// The sample's waste in each class, at the stated prices, is made to be that of all cases.
function correct(cases, model, exact) {
  const { truth, weights, k, stated } = cases;
  const waste = wasteOf(cases, model, stated, 1), sums = new Float64Array(k), totals = new Float64Array(k);
  waste.forEach((each, row) => { sums[truth[row]] += weights[row] * each; totals[truth[row]] += weights[row]; });
  exact.by_class.forEach((each, i) => {
    const ours = sums[i] / totals[i];
    if (each.expected_cost !== null && ours > 0) model.factors[i] = (each.expected_cost - stated.prices[i]) / ours;
  });
}

function shareAt(table, odds) {
  const place = ((odds / (BEND + Math.abs(odds)) + 1) * (table.length - 1)) / 2;
  const cell = Math.min(Math.floor(place), table.length - 2);
  return table[cell] + (place - cell) * (table[cell + 1] - table[cell]);
}

// What every row spends on wrong tests; `inverseTemperature` is what odds are multiplied by, 1 for the model as it is.
function wasteOf(cases, model, state, inverseTemperature) {
  const { k, rows, truth } = cases, table = cases.priors[state.prior];
  const logs = state.prices.map((price) => Math.log(price));
  const waste = new Float64Array(rows);
  for (let row = 0, at = 0; row < rows; row += 1) {
    const i = truth[row];
    let sum = 0;
    for (let j = 0; j < k; j += 1) {
      if (j === i) continue;
      sum += state.prices[j] * shareAt(table, inverseTemperature * model.odds[at] + logs[j] - logs[i]);
      at += 1;
    }
    waste[row] = sum * model.factors[i];
  }
  return waste;
}

// Each row's share of all, if classes were as frequent as the state says.
function rowShares(cases, state) {
  const usual = shareOut(cases.classWeights);
  const raw = cases.weights.map((weight, row) => (weight * state.mix[cases.truth[row]]) / (usual[cases.truth[row]] || 1));
  const total = raw.reduce((sum, weight) => sum + weight, 0);
  return raw.map((weight) => weight / total);
}

function meanOf(shares, values) {
  let sum = 0;
  for (let row = 0; row < shares.length; row += 1) sum += shares[row] * values[row];
  return sum;
}

function errorOf(shares, values) {
  const mean = meanOf(shares, values);
  let sum = 0;
  for (let row = 0; row < shares.length; row += 1) sum += (shares[row] * (values[row] - mean)) ** 2;
  return Math.sqrt(sum);
}

// Costs of all models at a state: mean, rows, rows if recalibrated, the mean saving by that; and what nobody could save.
function costsAt(cases, state) {
  const shares = rowShares(cases, state);
  const own = Float64Array.from(cases.truth, (i) => state.prices[i]);
  const models = cases.models.map((model) => {
    const waste = wasteOf(cases, model, state, 1);
    const rows = waste.map((each, row) => each + own[row]);
    const later = wasteOf(cases, model, state, model.inverseTemperature).map((each, row) => each + own[row]);
    return { rows, later, cost: meanOf(shares, rows), error: errorOf(shares, rows), saved: meanOf(shares, rows) - meanOf(shares, later) };
  });
  return { shares, models, unavoidable: meanOf(shares, own) };
}

function differenceError(shares, rows, others) {
  return errorOf(shares, rows.map((cost, row) => cost - others[row]));
}

function leaderOf(costs) {
  return costs.indexOf(Math.min(...costs));
}

// The cost of some models if test k cost `price` and all else stayed: only its own terms and its own cases move.
function costsWithPrice(cases, state, result, k, price, which) {
  const { truth, rows, k: classes } = cases, table = cases.priors[state.prior];
  const logs = state.prices.map((each) => Math.log(each));
  const moved = Math.log(price);
  return which.map((m) => {
    const { odds, factors } = cases.models[m];
    let change = 0;
    for (let row = 0; row < rows; row += 1) {
      const i = truth[row], first = row * (classes - 1), spot = first + (k < i ? k : k - 1);
      if (i !== k) {
        const far = odds[spot] - logs[i];
        change += result.shares[row] * factors[i] * (price * shareAt(table, far + moved) - state.prices[k] * shareAt(table, far + logs[k]));
        continue;
      }
      let waste = price - state.prices[k];
      for (let j = 0, at = first; j < classes; j += 1) {
        if (j === k) continue;
        const far = odds[at] + logs[j];
        waste += factors[k] * state.prices[j] * (shareAt(table, far - moved) - shareAt(table, far - logs[k]));
        at += 1;
      }
      change += result.shares[row] * waste;
    }
    return result.models[m].cost + change;
  });
}

// The nearest prices of test k below and above its own, from a tenth to ten times the stated one, at which another
// model is cheaper than the leader by the margin.
function crossingsOf(cases, state, result, k, margin) {
  const every = cases.models.map((_, m) => m), now = leaderOf(result.models.map((model) => model.cost));
  const seek = (end) => {
    const steps = Math.ceil(6 * Math.abs(Math.log10(end / state.prices[k])));
    for (let step = 1, before = state.prices[k]; step <= steps; step += 1) {
      const price = state.prices[k] * (end / state.prices[k]) ** (step / steps);
      const costs = costsWithPrice(cases, state, result, k, price, every), next = leaderOf(costs);
      if (costs[now] - costs[next] > margin) return { price: crossingBetween(cases, state, result, k, [before, price], [now, next], margin), leader: next };
      before = price;
    }
    return null;
  };
  const stated = cases.stated.prices[k], price = state.prices[k];
  return { below: seek(Math.min(stated / 10, price)), above: seek(Math.max(stated * 10, price)) };
}

function crossingBetween(cases, state, result, k, [near, far], pair, margin) {
  for (let step = 0; step < 12; step += 1) {
    const middle = Math.sqrt(near * far);
    const [ours, theirs] = costsWithPrice(cases, state, result, k, middle, pair);
    if (ours <= theirs + margin) near = middle;
    else far = middle;
  }
  return Math.sqrt(near * far);
}
