"use strict";

/* Small pictures of columns as SVG: histogram, scatter with the fitted line, residuals. Rows are a sample. */
function makePlots(model) {
  const [WIDTH, HEIGHT, LEFT, BOTTOM, MARGIN] = [268, 176, 46, 30, 8];
  const LEVELS = 65535;
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

  function frame(label, xs, ys, xName, yName) {
    const [x1, x2, y1, y2] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    const toX = (x) => LEFT + ((x - x1) / (x2 - x1 || 1)) * (WIDTH - LEFT - MARGIN);
    const toY = (y) => HEIGHT - BOTTOM - ((y - y1) / (y2 - y1 || 1)) * (HEIGHT - BOTTOM - MARGIN);
    const root = make("svg", { class: "plot", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label });
    root.append(make("path", { class: "axis", d: `M${LEFT} ${MARGIN}V${HEIGHT - BOTTOM}H${WIDTH - MARGIN}` }));
    const text = (x, y, anchor, words) => root.append(make("text", { x, y, "text-anchor": anchor }, words));
    text(LEFT, HEIGHT - BOTTOM + 12, "start", shown(x1));
    text(WIDTH - MARGIN, HEIGHT - BOTTOM + 12, "end", shown(x2));
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

  /* What the parents but one leave of a column, in its own units. */
  function partial(node, except) {
    const left = values(node);
    for (const edge of model.parents[node]) {
      if (edge.source === except) continue;
      const mean = model.variables[edge.source].mean;
      values(edge.source).forEach((value, k) => (left[k] -= edge.weight * (value - mean)));
    }
    return left;
  }

  /* The pair of an edge: the target less what its other parents explain, and the line of the weight. */
  function scatter(edge) {
    if (!cells) return null;
    const { source, target, weight } = edge;
    const others = model.parents[target].length - 1;
    const [xs, ys] = [values(source), partial(target, source)];
    const given = others ? ` less its ${others} other parent${others > 1 ? "s" : ""}` : "";
    const at = frame(`${model.nodes[target].name}${given} against ${model.nodes[source].name}`, xs, ys, model.nodes[source].name, `${cut(model.nodes[target].name)}${given}`);
    dots(at, xs, ys);
    const [x0, y0] = [model.variables[source].mean, model.variables[target].mean];
    line(at, (x) => y0 + weight * (x - x0));
    return at.root;
  }

  /* What is left of a column against what its parents say: no shape should be seen. */
  function residuals(node) {
    if (!cells || !model.parents[node].length) return null;
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
