"use strict";

/* The drawing: Cytoscape shows it, the coordinates were computed when the page was made. */
function drawGraph(model, container) {
  const LARGE = 1200;
  const large = model.edges.length > LARGE;
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

  /* The layout is stretched to the shape of the box: centres move apart, never closer, and labels keep their size. */
  const [HEIGHT, BOW, FURTHEST] = [30, 0.1, 5];
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
      if (!large) cy.edges().forEach((drawn) => drawn.data(controls(edgeAt(drawn.data("index")))));
    });
  }

  /* Where the whole is small on the screen, labels are as much larger as leaves them apart: rows have room for that. */
  function findLabelScale(zoom) {
    if (zoom > 0.55 || model.nodes.length > 400) return 1;
    let most = Math.min(0.6 / zoom, 2.6);
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
    const [start, end] = [edge.source, edge.target].map((index) => {
      const { x, y, width } = model.nodes[index];
      return { x: x * stretch.x, y: y * stretch.y, width: width * larger };
    });
    const [dx, dy] = [end.x - start.x, end.y - start.y];
    const square = dx * dx + dy * dy;
    const ahead = dx - (start.width + end.width) / 2;
    if (!model.layered || ahead < 20) return { weights: [0.5], distances: [-BOW * Math.sqrt(square)] };
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
          "font-size": 12,
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
      { selector: "edge.labelled", style: { label: "data(text)" } },
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
        ...(large ? {} : controls(edge)),
      },
      classes: [isAssumed(edge) ? "assumed" : "", edge.change || ""].join(" "),
    };
  }

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
    const [start, end] = [drawn.sourceEndpoint(), drawn.targetEndpoint()];
    const bends = drawn.controlPoints() || [];
    const path = [`M${start.x} ${start.y}`];
    bends.forEach((bend, k) => {
      const next = k + 1 < bends.length ? { x: (bend.x + bends[k + 1].x) / 2, y: (bend.y + bends[k + 1].y) / 2 } : end;
      path.push(`Q${bend.x} ${bend.y} ${next.x} ${next.y}`);
    });
    if (!bends.length) path.push(`L${end.x} ${end.y}`);
    const stroke = drawn.style("line-color");
    const opacity = drawn.hasClass("faded") ? 0.14 : drawn.data("opacity");
    const line = make("path", { d: path.join(""), fill: "none", stroke, "stroke-width": drawn.data("stroke"), opacity });
    if (drawn.hasClass("assumed") && !drawn.hasClass("open")) line.setAttribute("stroke-dasharray", "6 4");
    if (drawn.hasClass("open")) return [line];
    const before = bends.length ? bends[bends.length - 1] : start;
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
  }

  arrangeAndFit();
  return { cy, node, edge, fit, arrange: arrangeAndFit, redraw, update, svg, png, restyle: () => cy.style(style()) };
}
