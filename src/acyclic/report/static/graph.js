"use strict";

/* The drawing: Cytoscape shows it, the coordinates were computed when the page was made. */
function drawGraph(model, container) {
  const LARGE = 1200;
  const large = model.edges.length > LARGE;
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

  /* The layout is stretched to the shape of the box: centres move apart, never closer, and labels keep their size. */
  const [HEIGHT, BOW, FURTHEST, READABLE] = [30, 0.1, 5, 0.95];
  // Beyond so many pairs of a node and an edge, edges may lead behind nodes.
  const MOST_CHECKED = 60000;
  let [stretch, larger] = [{ x: 1, y: 1 }, 1];
  const bendsOf = new Map(model.edges.map((edge) => [`${edge.source} ${edge.target}`, edge.bends]));

  const edgeAt = (index) => model.edges[index] || model.lost[index - model.edges.length];

  function extent() {
    const bends = large ? [] : [...bendsOf.values()].flat();
    const reach = (values) => [values.reduce((a, b) => Math.min(a, b), Infinity), values.reduce((a, b) => Math.max(a, b), -Infinity)];
    const [left, right] = reach([...model.nodes.flatMap((node) => [node.x - node.width / 2, node.x + node.width / 2]), ...bends.map(([x]) => x)]);
    const [top, bottom] = reach([...model.nodes.map((node) => node.y), ...bends.map(([, y]) => y)]);
    const [first, last] = reach(model.nodes.map((node) => node.x));
    return { width: right - left, height: bottom - top + HEIGHT, across: last - first, down: bottom - top };
  }

  function arrange() {
    const { width, height, across, down } = extent();
    const wanted = (cy.width() - 48) / Math.max(cy.height() - 78, 1);
    const factor = (more, span) => (span > 0 && more > 0 ? Math.min((span + more) / span, FURTHEST) : 1);
    stretch = { x: factor(height * wanted - width, across), y: factor(width / wanted - height, down) };
    larger = findLabelScale((cy.width() - 48) / (width + (stretch.x - 1) * across));
    cy.batch(() => {
      cy.nodes().forEach((drawn) => {
        const node = model.nodes[drawn.data("index")];
        drawn.position({ x: node.x * stretch.x, y: node.y * stretch.y });
        drawn.data({ width: node.width * larger, height: Math.min(HEIGHT * larger, HEIGHT + 10), font: 13 * larger });
      });
      if (!large) cy.edges().forEach((drawn) => drawn.data({ ...controls(edgeAt(drawn.data("index"))), font: numberFont() }));
    });
  }

  /* Where the whole is small on the screen, labels are as much larger as leaves them apart: rows have room for that. */
  function findLabelScale(zoom) {
    if (zoom > READABLE || model.nodes.length > 400) return 1;
    let most = Math.min(READABLE / zoom, zoom > 0.55 ? 1.5 : 2.6);
    model.nodes.forEach((one, k) => {
      for (const other of model.nodes.slice(k + 1)) {
        if (Math.abs(one.y - other.y) * stretch.y >= HEIGHT + 12) continue;
        most = Math.min(most, (2 * Math.abs(one.x - other.x) * stretch.x - 16) / (one.width + other.width));
      }
    });
    return Math.max(most, 1);
  }

  /* Control points of a curve that is level at both ends and at every bend, relative to the line between the nodes; where
     the nodes are not in layers, or the edge leads back, it is one bow. */
  function controls(edge) {
    const [start, end] = [edge.source, edge.target].map((index) => scaled(model.nodes[index]));
    const [dx, dy] = [end.x - start.x, end.y - start.y];
    const square = dx * dx + dy * dy;
    const ahead = dx - (start.width + end.width) / 2;
    if (!model.layered || ahead < 20) return { weights: [0.5], distances: [bow(edge, start, end)] };
    const bends = (bendsOf.get(`${edge.source} ${edge.target}`) || []).map(([x, y]) => [x * stretch.x, y * stretch.y]);
    const path = [[start.x + start.width / 2, start.y], ...bends, [end.x - end.width / 2, end.y]];
    const [weights, distances] = [[], []];
    for (let k = 1; k < path.length; k++) {
      const [[left, above], [right, below]] = [path[k - 1], path[k]];
      const near = [[left + 0.3 * (right - left), above], [left + 0.7 * (right - left), below]];
      for (const [x, y] of near) {
        const [px, py] = [x - start.x, y - start.y];
        weights.push((px * dx + py * dy) / square);
        distances.push((py * dx - px * dy) / Math.sqrt(square));
      }
    }
    return { weights, distances };
  }

  /* How far the middle of a curve is beside the line between two nodes: as little as leads past all others, and none where
     it would be within one of its own. */
  const heights = model.nodes.map((node) => node.y);
  const BOWS = [BOW, -BOW, 2 * BOW, -2 * BOW, 3 * BOW, -3 * BOW];
  function bow(edge, start, end) {
    const length = Math.hypot(end.x - start.x, end.y - start.y);
    const half = { x: 2, y: Math.min(HEIGHT * larger, HEIGHT + 10) / 2 + 2 };
    const isIn = ({ x, y }, node) => Math.abs(x - node.x) < node.width / 2 + half.x && Math.abs(y - node.y) < half.y;
    const middle = (share) => ({
      x: (start.x + end.x) / 2 + share * (end.y - start.y),
      y: (start.y + end.y) / 2 - share * (end.x - start.x),
    });
    const [top, bottom] = [Math.min(...heights), Math.max(...heights)].map((y) => y * stretch.y);
    const isWithin = (share) => (({ y }) => y > top - HEIGHT / 2 && y < bottom + HEIGHT / 2)(pointAt([[start, middle(share), end]], 0.5));
    const possible = BOWS.filter((share, k) => !isIn(middle(share), start) && !isIn(middle(share), end) && (!k || isWithin(share)));
    if (!possible.length) return 0;
    const hidden = (share) => {
      const points = [0.15, 0.3, 0.45, 0.6, 0.75, 0.9].map((at) => pointAt([[start, middle(share), end]], at));
      return others.filter((node) => points.some((point) => isIn(point, node))).length;
    };
    const others = model.nodes.length * model.edges.length > MOST_CHECKED ? [] : model.nodes.filter((_, k) => k !== edge.source && k !== edge.target).map(scaled);
    const counts = possible.map(hidden);
    return -possible[counts.indexOf(Math.min(...counts))] * length;
  }

  const scaled = ({ x, y, width }) => ({ x: x * stretch.x, y: y * stretch.y, width: width * larger });

  function style() {
    const curved = {
      "curve-style": "unbundled-bezier",
      "edge-distances": "node-position",
      "control-point-weights": (edge) => edge.data("weights"),
      "control-point-distances": (edge) => edge.data("distances"),
    };
    return [
      {
        selector: "node",
        style: {
          label: "data(label)",
          shape: "round-rectangle",
          width: "data(width)",
          height: "data(height)",
          "font-size": "data(font)",
          "font-family": "system-ui, sans-serif",
          "text-valign": "center",
          color: colour("ink"),
          "background-color": colour("raised"),
          "border-width": 1,
          "border-color": colour("border"),
          "min-zoomed-font-size": 5,
        },
      },
      {
        selector: "edge",
        style: {
          width: "data(stroke)",
          "line-color": colour("positive"),
          "target-arrow-color": colour("positive"),
          "target-arrow-shape": "triangle",
          "arrow-scale": 0.9,
          "line-opacity": "data(opacity)",
          "font-size": "data(font)",
          color: colour("ink"),
          "text-background-color": colour("paper"),
          "text-background-opacity": 0.9,
          "text-background-padding": 2,
          "min-zoomed-font-size": 7,
          ...(large ? { "curve-style": "straight" } : curved),
        },
      },
      { selector: "edge[weight < 0]", style: { "line-color": colour("negative"), "target-arrow-color": colour("negative") } },
      { selector: "edge.assumed", style: { "line-style": "dashed", "line-dash-pattern": [6, 4] } },
      { selector: "edge.open", style: { "target-arrow-shape": "none", "line-style": "solid" } },
      { selector: "edge.gained", style: { "underlay-color": colour("gained"), "underlay-opacity": 0.45, "underlay-padding": 4 } },
      { selector: "edge.turned", style: { "underlay-color": colour("turned"), "underlay-opacity": 0.5, "underlay-padding": 4 } },
      { selector: "edge.lost", style: { "line-color": colour("soft"), "line-style": "dotted", "target-arrow-color": colour("soft"), "line-opacity": 0.6, width: 1.4 } },
      { selector: "edge.labelled", style: { label: "data(text)", "text-margin-x": "data(across)", "text-margin-y": "data(down)" } },
      { selector: "edge.crowded", style: { label: "" } },
      { selector: ".filtered", style: { display: "none" } },
      { selector: ".faded", style: { opacity: 0.14 } },
      { selector: "edge.faded", style: { "text-opacity": 0, "text-background-opacity": 0, "underlay-opacity": 0 } },
      { selector: "node.ancestor", style: { "background-color": colour("ancestor") } },
      { selector: "node.descendant", style: { "background-color": colour("descendant") } },
      { selector: "node.found", style: { "border-width": 3, "border-color": colour("accent") } },
      { selector: "node.chosen", style: { "background-color": colour("selected"), "border-width": 2, "border-color": colour("ink") } },
      { selector: "edge.chosen", style: { "line-opacity": 1, "overlay-color": colour("accent"), "overlay-opacity": 0.25, "overlay-padding": 4 } },
    ];
  }

  function element(edge) {
    return {
      group: "edges",
      data: {
        id: `e${edge.index}`,
        index: edge.index,
        source: `n${edge.source}`,
        target: `n${edge.target}`,
        weight: edge.weight,
        stroke: edge.stroke,
        opacity: edge.opacity ?? 1,
        text: signed(edge.standardised ?? edge.weight, 2),
        across: 0,
        down: 0,
        font: numberFont(),
        ...(large ? {} : controls(edge)),
      },
      classes: [isAssumed(edge) ? "assumed" : "", edge.change || ""].join(" "),
    };
  }

  // It would tell of edges between nodes that a reader drags onto each other.
  cytoscape.warnings(false);
  const cy = cytoscape({
    container,
    elements: {
      nodes: model.nodes.map((node, index) => ({
        data: { id: `n${index}`, index, label: node.label, width: node.width, height: HEIGHT, font: 13 },
        position: { x: node.x, y: node.y },
      })),
      edges: model.edges.map(element),
    },
    layout: { name: "preset", fit: false },
    style: style(),
    minZoom: 0.005,
    maxZoom: 6,
    userZoomingEnabled: false,
    boxSelectionEnabled: false,
    autounselectify: true,
    hideEdgesOnViewport: large,
    textureOnViewport: large,
    ...(large ? { pixelRatio: 1 } : {}),
  });

  const node = (index) => cy.getElementById(`n${index}`);
  const edge = (index) => cy.getElementById(`e${index}`);

  /* From the positions alone: Cytoscape's own fit measures every edge, which takes a second in a large graph. */
  function fit() {
    const margin = 24;
    const places = cy.nodes().map((drawn) => ({ ...drawn.position(), half: drawn.data("width") / 2 }));
    const bends = large ? [] : [...bendsOf.values()].flat().map(([x, y]) => ({ x: x * stretch.x, y: y * stretch.y, half: 0 }));
    const all = [...places, ...bends];
    const reach = (low, high) => [all.reduce((a, each) => Math.min(a, low(each)), Infinity), all.reduce((a, each) => Math.max(a, high(each)), -Infinity)];
    const [left, right] = reach((place) => place.x - place.half, (place) => place.x + place.half);
    const [top, bottom] = reach((place) => place.y - HEIGHT / 2, (place) => place.y + HEIGHT / 2);
    const foot = 30; // for the buttons below
    const room = [cy.width() - 2 * margin, cy.height() - 2 * margin - foot];
    const zoom = Math.min(room[0] / (right - left), room[1] / (bottom - top), 1.6);
    const pan = { x: (cy.width() - zoom * (left + right)) / 2, y: (cy.height() - foot - zoom * (top + bottom)) / 2 };
    cy.viewport({ zoom, pan });
  }

  /* Numbers go where they hide neither a node nor another number, the middle of their edge first; one that finds no such
     place is left to the tip and the table. Short edges choose first. */
  const MOST_PLACED = 400;
  function numberFont() {
    return 12 * Math.min(larger, 1.3);
  }
  const PLACES = [0.5, 0.44, 0.56, 0.38, 0.62, 0.32, 0.68, 0.26, 0.74, 0.2, 0.8];
  function placeNumbers() {
    const drawn = cy.edges(".labelled").not(".filtered").toArray();
    if (!drawn.length || large || drawn.length > MOST_PLACED) return;
    const taken = cy.nodes().map((each) => boxAround(each.position(), each.data("width") + 4, each.data("height") + 4));
    const curves = drawn.map((each) => ({ each, points: ((curve) => PLACES.map((share) => pointAt(curve, share)))(pieces(each)) }));
    const reach = ({ points }) => Math.hypot(points[10].x - points[9].x, points[10].y - points[9].y);
    cy.batch(() => {
      for (const curve of curves.sort((one, other) => reach(one) - reach(other))) {
        const [font, text] = [numberFont(), curve.each.data("text")];
        const boxes = curve.points.map((point) => boxAround(point, 0.62 * font * text.length + 4, font + 4));
        const crossed = (box) => curves.filter((other) => other !== curve && other.points.some((point) => isInside(point, box))).length;
        const free = boxes.map((box, k) => ({ box, k, cost: 0.4 * k + crossed(box) })).filter(({ box }) => !taken.some((other) => overlap(box, other)));
        const best = free.sort((one, other) => one.cost - other.cost)[0];
        curve.each.toggleClass("crowded", !best);
        if (!best) continue;
        taken.push(best.box);
        const place = curve.points[best.k];
        // Cytoscape puts it at the middle, the first of the places.
        curve.each.data({ across: place.x - curve.points[0].x, down: place.y - curve.points[0].y });
      }
    });
  }

  const boxAround = ({ x, y }, width, height) => ({ left: x - width / 2, right: x + width / 2, top: y - height / 2, bottom: y + height / 2 });
  const overlap = (one, other) => one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom;
  const isInside = ({ x, y }, box) => x > box.left && x < box.right && y > box.top && y < box.bottom;

  /* An edge as pieces of parabolas, start, control and end of each: from the places of its ends, which are known at once. */
  function pieces(drawn) {
    const [from, to] = [drawn.source(), drawn.target()].map((end) => ({ ...end.position(), width: end.data("width"), height: end.data("height") }));
    const [dx, dy] = [to.x - from.x, to.y - from.y];
    const length = Math.hypot(dx, dy) || 1;
    const { weights = [], distances = [] } = drawn.data();
    const bends = weights.map((share, k) => ({ x: from.x + share * dx - (distances[k] * dy) / length, y: from.y + share * dy + (distances[k] * dx) / length }));
    const [start, end] = [borderOf(from, bends[0] || to), borderOf(to, bends[bends.length - 1] || from)];
    if (!bends.length) return [[start, { x: (start.x + end.x) / 2, y: (start.y + end.y) / 2 }, end]];
    const joints = bends.slice(1).map((bend, k) => ({ x: (bend.x + bends[k].x) / 2, y: (bend.y + bends[k].y) / 2 }));
    return bends.map((bend, k) => [k ? joints[k - 1] : start, bend, joints[k] || end]);
  }

  /* Where the line from the centre of a node to a point leaves its box. */
  function borderOf(node, { x, y }) {
    const [across, down] = [x - node.x, y - node.y];
    const scale = Math.max((2 * Math.abs(across)) / node.width, (2 * Math.abs(down)) / node.height, 1e-9);
    return { x: node.x + across / scale, y: node.y + down / scale };
  }

  function pointAt(curve, share) {
    const at = Math.min(Math.floor(share * curve.length), curve.length - 1);
    const [[from, by, to], t] = [curve[at], share * curve.length - at];
    const mix = (axis) => (1 - t) ** 2 * from[axis] + 2 * t * (1 - t) * by[axis] + t ** 2 * to[axis];
    return { x: mix("x"), y: mix("y") };
  }

  /* The edges of the model anew, after it was given others. */
  function redraw() {
    cy.batch(() => {
      cy.edges().remove();
      cy.add([...model.edges, ...(model.lost || [])].map(element));
    });
  }

  /* Show what the state leaves: filter, view, selection, its ancestors and descendants. */
  function update(state) {
    cy.batch(() => {
      for (const each of [...model.edges, ...(model.lost || [])]) {
        const drawn = edge(each.index);
        drawn.toggleClass("filtered", !model.passes(each, state));
        drawn.toggleClass("open", !isDirected(each, state.view));
        drawn.toggleClass("labelled", state.labels && each.change !== "lost");
        drawn.toggleClass("chosen", state.edge === each.index);
      }
      mark(state);
    });
    placeNumbers();
  }

  function mark(state) {
    const related = state.node === null ? null : relatives(state);
    cy.nodes().forEach((drawn) => {
      const index = drawn.data("index");
      drawn.toggleClass("chosen", index === state.node);
      drawn.toggleClass("ancestor", related !== null && related.ancestors.has(index));
      drawn.toggleClass("descendant", related !== null && related.descendants.has(index));
      drawn.toggleClass("found", state.found.has(index));
      drawn.toggleClass("faded", related !== null && !related.all.has(index));
    });
    cy.edges().forEach((drawn) => {
      const each = model.edges[drawn.data("index")];
      drawn.toggleClass("faded", related !== null && (!each || !related.leads(each)));
    });
  }

  function relatives(state) {
    const near = state.highlight === "neighbours";
    const up = near
      ? new Set(model.parents[state.node].filter((each) => model.passes(each, state)).map((each) => each.source))
      : model.ancestors(state.node, state);
    const down = near
      ? new Set(model.children[state.node].filter((each) => model.passes(each, state)).map((each) => each.target))
      : model.descendants(state.node, state);
    const ancestors = state.highlight === "descendants" ? new Set() : up;
    const descendants = state.highlight === "ancestors" ? new Set() : down;
    const leads = (each) =>
      near
        ? each.source === state.node || each.target === state.node
        : (ancestors.has(each.source) && (ancestors.has(each.target) || each.target === state.node)) ||
          (descendants.has(each.target) && (descendants.has(each.source) || each.source === state.node));
    return { ancestors, descendants, leads, all: new Set([...ancestors, ...descendants, state.node]) };
  }

  /* By class, which is up to date at once; what is visible is known only after the next frame. */
  const shown = () => cy.elements().not(".filtered");

  /* The drawing as SVG, from the geometry on the screen. */
  function svg() {
    const box = shown().boundingBox();
    const make = (name, attributes, text) => {
      const element = document.createElementNS("http://www.w3.org/2000/svg", name);
      Object.entries(attributes).forEach(([key, value]) => element.setAttribute(key, value));
      // XML has no place for most control characters.
      if (text !== undefined) element.textContent = text.replace(/[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g, "\ufffd");
      return element;
    };
    const root = make("svg", {
      viewBox: `${box.x1 - 8} ${box.y1 - 8} ${box.w + 16} ${box.h + 16}`,
      width: Math.round(box.w + 16),
      height: Math.round(box.h + 16),
      "font-family": "system-ui, sans-serif",
      "font-size": 13,
    });
    shown().edges().forEach((drawn) => root.append(...svgEdge(drawn, make)));
    cy.nodes().forEach((drawn) => root.append(svgNode(drawn, make)));
    return new XMLSerializer().serializeToString(root) + "\n";
  }

  function svgEdge(drawn, make) {
    const curve = pieces(drawn);
    const [, before, end] = curve[curve.length - 1];
    const path = [`M${curve[0][0].x} ${curve[0][0].y}`, ...curve.map(([, by, to]) => `Q${by.x} ${by.y} ${to.x} ${to.y}`)];
    const stroke = drawn.style("line-color");
    const opacity = drawn.hasClass("faded") ? 0.14 : drawn.data("opacity");
    const line = make("path", { d: path.join(""), fill: "none", stroke, "stroke-width": drawn.data("stroke"), opacity });
    if (drawn.hasClass("assumed") && !drawn.hasClass("open")) line.setAttribute("stroke-dasharray", "6 4");
    if (drawn.hasClass("open")) return [line];
    const angle = (Math.atan2(end.y - before.y, end.x - before.x) * 180) / Math.PI;
    const head = make("path", { d: "M0 0L-9 -4.5L-9 4.5z", fill: stroke, opacity, transform: `translate(${end.x} ${end.y}) rotate(${angle})` });
    return [line, head];
  }

  function svgNode(drawn, make) {
    const { name, label } = model.nodes[drawn.data("index")];
    const { width, height, font } = drawn.data();
    const place = drawn.position();
    const group = make("g", { transform: `translate(${place.x} ${place.y})` });
    const fill = drawn.style("background-color");
    group.append(
      make("title", {}, name),
      make("rect", { x: -width / 2, y: -height / 2, width, height, rx: 7, fill, stroke: drawn.style("border-color") }),
      make("text", { "text-anchor": "middle", y: 0.35 * font, "font-size": font, fill: drawn.style("color") }, label),
    );
    return group;
  }

  function png() {
    const box = shown().boundingBox();
    const size = Math.max(box.w, box.h) > 3000 ? { maxWidth: 6000, maxHeight: 6000 } : { scale: 2 };
    return cy.png({ full: true, bg: colour("paper"), output: "blob", ...size });
  }

  function arrangeAndFit() {
    arrange();
    fit();
    placeNumbers();
  }

  arrangeAndFit();
  return { cy, node, edge, fit, arrange: arrangeAndFit, redraw, update, svg, png, restyle: () => cy.style(style()) };
}
