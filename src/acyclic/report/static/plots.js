"use strict";

/* Small pictures of columns as SVG: histogram, scatter with what was fitted, residuals. Rows are a sample. */
function makePlots(model) {
  const [WIDTH, HEIGHT, LEFT, BOTTOM, MARGIN] = [268, 176, 46, 30, 8];
  const LEVELS = 65535;
  // Of a normal distribution 90 % are within so many standard errors.
  const WITHIN = 1.645;
  const cells = model.sample ? decode(model.sample.cells) : null;

  function decode(text) {
    const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    return new Uint16Array(bytes.buffer);
  }

  /* The sampled values of a column. */
  function values(node) {
    const { low, high } = model.variables[node];
    const count = model.sample.rows;
    return Array.from(cells.subarray(node * count, (node + 1) * count), (step) => low + (step / LEVELS) * (high - low || 1));
  }

  function make(name, attributes, text) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    Object.entries(attributes).forEach(([key, value]) => element.setAttribute(key, value));
    if (text !== undefined) element.textContent = text;
    return element;
  }

  const shown = (value) => Number(value.toPrecision(3)).toString().replace("-", "−");
  const cut = (name) => (name.length > 30 ? name.slice(0, 29) + "…" : name);

  function frame(label, xs, ys, xName, yName, numbers = true) {
    const [x1, x2, y1, y2] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    const toX = (x) => LEFT + ((x - x1) / (x2 - x1 || 1)) * (WIDTH - LEFT - MARGIN);
    const toY = (y) => HEIGHT - BOTTOM - ((y - y1) / (y2 - y1 || 1)) * (HEIGHT - BOTTOM - MARGIN);
    const root = make("svg", { class: "plot", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label });
    root.append(make("path", { class: "axis", d: `M${LEFT} ${MARGIN}V${HEIGHT - BOTTOM}H${WIDTH - MARGIN}` }));
    const text = (x, y, anchor, words) => root.append(make("text", { x, y, "text-anchor": anchor }, words));
    if (numbers) {
      text(LEFT, HEIGHT - BOTTOM + 12, "start", shown(x1));
      text(WIDTH - MARGIN, HEIGHT - BOTTOM + 12, "end", shown(x2));
    }
    text((LEFT + WIDTH) / 2, HEIGHT - 5, "middle", cut(xName));
    text(LEFT - 4, HEIGHT - BOTTOM, "end", shown(y1));
    text(LEFT - 4, MARGIN + 8, "end", shown(y2));
    root.append(make("text", { transform: `translate(11 ${(HEIGHT - BOTTOM) / 2}) rotate(-90)`, "text-anchor": "middle" }, cut(yName)));
    return { root, toX, toY, x1, x2 };
  }

  function dots(at, xs, ys) {
    const path = xs.map((x, k) => `M${at.toX(x).toFixed(1)} ${at.toY(ys[k]).toFixed(1)}h0`).join("");
    at.root.append(make("path", { class: "points", d: path }));
  }

  function line(at, height, name = "fitted") {
    at.root.append(make("path", { class: name, d: `M${at.toX(at.x1)} ${at.toY(height(at.x1))}L${at.toX(at.x2)} ${at.toY(height(at.x2))}` }));
  }

  function histogram(node) {
    const { counts, low, high } = model.variables[node];
    if (!counts) return null;
    const at = frame(`Histogram of ${model.nodes[node].name}`, [low, high], [0, Math.max(...counts)], model.nodes[node].name, "rows");
    const step = ((high - low || 1) / counts.length);
    counts.forEach((count, k) => {
      const [x, y] = [at.toX(low + k * step), at.toY(count)];
      const width = at.toX(low + (k + 1) * step) - x;
      at.root.append(make("rect", { class: "bar", x: x.toFixed(1), y: y.toFixed(1), width: Math.max(width - 0.8, 0.5).toFixed(1), height: Math.max(HEIGHT - BOTTOM - y, 0).toFixed(1) }));
    });
    return at.root;
  }

  /* Where a value is among the places at which an edge is told: the number of its level, or between two places. */
  function place(told, value) {
    if (told.codes) {
      const far = told.numbers.map((number) => Math.abs(number - value));
      return told.codes[far.indexOf(Math.min(...far))];
    }
    const last = told.at.length - 1;
    return Math.min(Math.max(((value - told.at[0]) / (told.at[last] - told.at[0] || 1)) * last, 0), last);
  }

  /* What an edge adds to a number at a value of its source: by its curve, its levels, or the line of its weight. */
  function added(edge, value) {
    if (!edge.told) return edge.weight * (value - model.variables[edge.source].mean);
    const [known, at] = [edge.told.values[0], place(edge.told, value)];
    const below = Math.floor(at);
    return known[below] + (at - below) * ((known[below + 1] ?? known[below]) - known[below]);
  }

  const isShares = (edge) => Boolean(edge.told && edge.told.of.length);

  /* What the parents but one leave of a column, in its own units. */
  function partial(node, except) {
    const left = values(node);
    for (const edge of model.parents[node]) {
      if (edge.source === except) continue;
      values(edge.source).forEach((value, k) => (left[k] -= added(edge, value)));
    }
    return left;
  }

  /* The fitted values of an edge with their band; of levels, dots with bars. */
  function drawTold(at, told, row, base, name = "fitted") {
    const xs = told.codes ? told.at.map((_, k) => k) : told.at;
    const spot = (x, y) => `${at.toX(x).toFixed(1)} ${at.toY(y).toFixed(1)}`;
    const [ys, errors] = [told.values[row].map((y) => base + y), told.errors[row] || told.at.map(() => 0)];
    const [low, high] = [-WITHIN, WITHIN].map((step) => ys.map((y, k) => y + step * errors[k]));
    if (told.codes) {
      at.root.append(make("path", { class: `${name} bars`, d: xs.map((x, k) => `M${spot(x, low[k])}L${spot(x, high[k])}`).join("") }));
      ys.forEach((y, k) => at.root.append(make("circle", { class: `${name} level`, cx: at.toX(xs[k]).toFixed(1), cy: at.toY(y).toFixed(1), r: 3.5 })));
      return;
    }
    const edge = [...xs.map((x, k) => spot(x, high[k])), ...xs.map((x, k) => spot(x, low[k])).reverse()];
    at.root.append(make("path", { class: "band", d: `M${edge.join("L")}Z` }));
    at.root.append(make("path", { class: name, d: `M${xs.map((x, k) => spot(x, ys[k])).join("L")}` }));
  }

  /* The names of the levels under the axis, as many as there is room for. */
  function nameLevels(at, levels) {
    const step = Math.ceil(levels.length / 6);
    levels.forEach((level, k) => {
      if (k % step) return;
      const words = level.length > 9 ? level.slice(0, 8) + "…" : level;
      at.root.append(make("text", { x: at.toX(k).toFixed(1), y: HEIGHT - BOTTOM + 12, "text-anchor": "middle" }, words));
    });
  }

  /* The probabilities of a category's levels, with the source of the edge set to each of its values. */
  function shares(edge) {
    const { told, source, target } = edge;
    const xs = told.codes ? [-0.5, told.at.length - 0.5] : told.at;
    const names = [source, target].map((node) => model.nodes[node].name);
    const at = frame(`Probabilities of ${names[1]} by ${names[0]}`, xs, [0, 1], names[0], `share of ${cut(names[1])}`, !told.codes);
    if (told.codes) nameLevels(at, told.at);
    told.of.forEach((level, row) => {
      drawTold(at, told, row, 0, `fitted shade-${row}`);
      // Its name is where the level is likeliest.
      const peak = told.values[row].indexOf(Math.max(...told.values[row]));
      const x = at.toX(told.codes ? peak : told.at[peak]);
      const anchor = x < LEFT + 60 ? "start" : x > WIDTH - 60 ? "end" : "middle";
      const y = Math.max(at.toY(told.values[row][peak]) - (told.codes ? 8 : 5), MARGIN + 8);
      at.root.append(make("text", { x: (x + (anchor === "start" ? 6 : 0)).toFixed(1), y: y.toFixed(1), "text-anchor": anchor }, cut(level)));
    });
    return at.root;
  }

  /* The pair of an edge: the target less what its other parents explain, and what the edge adds. */
  function scatter(edge) {
    if (isShares(edge)) return shares(edge);
    if (!cells) return null;
    const { source, target, told } = edge;
    const others = model.parents[target].length - 1;
    const byLevel = Boolean(told && told.codes);
    // Levels are places beside each other, with their rows spread a little.
    const xs = byLevel ? values(source).map((value, k) => place(told, value) + 0.25 * Math.sin(k * 12.9898)) : values(source);
    const ys = partial(target, source);
    const given = others ? ` less its ${others} other parent${others > 1 ? "s" : ""}` : "";
    const ends = byLevel ? [-0.5, told.at.length - 0.5] : xs;
    const at = frame(`${model.nodes[target].name}${given} against ${model.nodes[source].name}`, ends, ys, model.nodes[source].name, `${cut(model.nodes[target].name)}${given}`, !byLevel);
    if (byLevel) nameLevels(at, told.at);
    dots(at, xs, ys);
    const y0 = model.variables[target].mean;
    if (told) drawTold(at, told, 0, y0);
    else line(at, (x) => y0 + added(edge, x));
    return at.root;
  }

  /* What is left of a column against what its parents say: no shape should be seen. */
  function residuals(node) {
    if (!cells || !model.parents[node].length || model.parents[node].some(isShares)) return null;
    const mean = model.variables[node].mean;
    const rest = partial(node, -1).map((value) => value - mean);
    const fitted = values(node).map((value, k) => value - rest[k]);
    const at = frame(`Residuals of ${model.nodes[node].name} against what its parents say`, fitted, rest, "by its parents", "residual");
    dots(at, fitted, rest);
    line(at, () => 0, "zero");
    return at.root;
  }

  return { histogram, scatter, residuals };
}
