"use strict";

/* The page: controls, panel, table, downloads. Names reach the document as text only. */
(function () {
  const byId = (id) => document.getElementById(id);
  const make = (name, text, attributes = {}) => {
    const element = document.createElement(name);
    if (text !== undefined) element.textContent = text;
    Object.entries(attributes).forEach(([key, value]) => element.setAttribute(key, value));
    return element;
  };
  const model = makeModel(JSON.parse(byId("graph-data").textContent));
  const state = {
    weight: 0,
    confidence: 0,
    view: "dag",
    highlight: "both",
    labels: model.edges.length <= 40,
    node: null,
    edge: null,
    found: new Set(),
    sort: { key: "strength", descending: true },
    limit: 300,
  };
  const systemDark = window.matchMedia("(prefers-color-scheme: dark)");
  setTheme(systemDark.matches);
  const graph = drawGraph(model, byId("graph"));

  /* Theme: the system's until the reader chooses; paper is always light. */
  function setTheme(dark) {
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    byId("theme").setAttribute("aria-pressed", String(dark));
  }

  function changeTheme(dark) {
    setTheme(dark);
    graph.restyle();
  }

  const isDark = () => document.documentElement.dataset.theme === "dark";
  byId("theme").addEventListener("click", () => changeTheme(!isDark()));
  systemDark.addEventListener("change", (event) => changeTheme(event.matches));
  let darkOnScreen = false;
  window.addEventListener("beforeprint", () => {
    darkOnScreen = isDark();
    changeTheme(false);
  });
  window.addEventListener("afterprint", () => changeTheme(darkOnScreen));

  function update() {
    graph.update(state);
    const shown = model.shownEdges(state);
    const isClass = state.view === "cpdag";
    const open = isClass ? shown.filter((edge) => edge.open).length : 0;
    const ties = isClass ? shown.filter((edge) => edge.open && !edge.reversible).length : 0;
    const tied = ties ? `, ${ties} nearly tied` : "";
    const kinds = isClass ? `: ${shown.length - open} directed, ${open - ties} undirected${tied}` : "";
    byId("count").textContent = `Showing ${shown.length} of ${model.edges.length} edges${kinds}.`;
    fillTable(shown);
    fillPanel();
  }

  /* Controls */
  byId("names").append(...model.nodes.map((node) => make("option", undefined, { value: node.name })));
  const slider = byId("weight");
  slider.max = String(model.strengths.length);
  byId("confidence-field").hidden = !model.hasConfidence;
  byId("labels").checked = state.labels;

  function readSliders() {
    const step = Number(slider.value);
    state.weight = step === 0 ? 0 : step < model.strengths.length ? model.strengths[step] : Infinity;
    const shown = step < model.strengths.length ? Number(state.weight.toPrecision(3)).toString() : "all";
    byId("weight-value").textContent = shown;
    slider.setAttribute("aria-valuetext", shown);
    state.confidence = Number(byId("confidence").value) / 100;
    byId("confidence-value").textContent = percent(state.confidence);
    byId("confidence").setAttribute("aria-valuetext", percent(state.confidence));
  }

  byId("controls").addEventListener("submit", (event) => event.preventDefault());
  for (const id of ["weight", "confidence"]) {
    byId(id).addEventListener("input", () => {
      readSliders();
      update();
    });
  }
  document.querySelectorAll('input[name="view"]').forEach((radio) =>
    radio.addEventListener("change", () => {
      state.view = radio.value;
      update();
    }),
  );
  byId("highlight").addEventListener("change", (event) => {
    state.highlight = event.target.value;
    update();
  });
  byId("labels").addEventListener("change", (event) => {
    state.labels = event.target.checked;
    update();
  });
  byId("search").addEventListener("input", search);
  byId("search").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && state.found.size) select(bestMatch());
  });

  function search() {
    const wanted = byId("search").value.toLowerCase();
    const matches = (node) => wanted !== "" && node.name.toLowerCase().includes(wanted);
    state.found = new Set(model.nodes.flatMap((node, index) => (matches(node) ? [index] : [])));
    const exact = model.nodes.findIndex((node) => node.name === byId("search").value);
    if (exact >= 0) select(exact);
    else update();
  }

  function bestMatch() {
    const wanted = byId("search").value.toLowerCase();
    const starting = [...state.found].find((index) => model.nodes[index].name.toLowerCase().startsWith(wanted));
    return starting === undefined ? [...state.found][0] : starting;
  }

  /* Selection */
  function select(node, edge = null) {
    state.node = node;
    state.edge = edge;
    update();
    if (node !== null) reveal(graph.node(node));
  }

  function reveal(drawn) {
    const box = drawn.renderedBoundingBox();
    const outside = box.x1 < 0 || box.y1 < 0 || box.x2 > graph.cy.width() || box.y2 > graph.cy.height();
    if (graph.cy.zoom() < 0.35) graph.cy.zoom(0.8);
    else if (!outside) return;
    graph.cy.center(drawn);
  }

  graph.cy.on("tap", "node", (event) => select(event.target.data("index")));
  graph.cy.on("tap", "edge", (event) => select(null, event.target.data("index")));
  graph.cy.on("tap", (event) => {
    if (event.target === graph.cy) select(null);
  });

  /* Hover */
  const tip = byId("tip");
  graph.cy.on("mouseover", "node, edge", (event) => {
    const index = event.target.data("index");
    tip.textContent = event.target.isNode() ? model.nodes[index].name : describe(model.edges[index]).join("\n");
    tip.hidden = false;
  });
  graph.cy.on("mousemove", "node, edge", (event) => {
    const { x, y } = event.renderedPosition;
    tip.style.left = `${Math.min(x + 14, graph.cy.width() - tip.offsetWidth - 4)}px`;
    tip.style.top = `${Math.min(y + 14, graph.cy.height() - tip.offsetHeight - 4)}px`;
  });
  graph.cy.on("mouseout", "node, edge", () => {
    tip.hidden = true;
  });

  function describe(edge) {
    const open = state.view === "cpdag" && edge.open;
    const ends = `${model.nodes[edge.source].name} ${open ? "–" : "→"} ${model.nodes[edge.target].name}`;
    const interval = edge.lower === undefined || edge.lower === null ? "" : ` (90 % of draws: ${signed(edge.lower)} to ${signed(edge.upper)})`;
    const sure = model.hasConfidence ? [`this way ${percent(edge.this_way)}, either way ${percent(edge.either_way)}`] : [];
    return [ends, `weight ${signed(edge.weight)}${interval}`, ...sure, `direction: ${support(edge)}`];
  }

  /* Zoom: the wheel belongs to the page until the graph is clicked. */
  const box = byId("graph");
  const zoomBy = (factor) => graph.cy.zoom({ level: graph.cy.zoom() * factor, renderedPosition: { x: graph.cy.width() / 2, y: graph.cy.height() / 2 } });
  box.addEventListener("pointerdown", () => {
    box.focus({ preventScroll: true });
    graph.cy.userZoomingEnabled(true);
  });
  box.addEventListener("pointerleave", () => {
    graph.cy.userZoomingEnabled(false);
    tip.hidden = true;
  });
  byId("zoom-in").addEventListener("click", () => zoomBy(1.3));
  byId("zoom-out").addEventListener("click", () => zoomBy(1 / 1.3));
  byId("fit").addEventListener("click", graph.fit);

  /* Keyboard */
  const keys = {
    ArrowLeft: () => step(model.parents, "source"),
    ArrowRight: () => step(model.children, "target"),
    ArrowUp: () => along(-1),
    ArrowDown: () => along(1),
    "+": () => zoomBy(1.3),
    "-": () => zoomBy(1 / 1.3),
    0: () => graph.fit(),
    Escape: () => select(null),
  };
  box.addEventListener("keydown", (event) => {
    if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    keys[event.key]();
  });

  function step(next, end) {
    if (state.node === null) return select(model.order[0]);
    const edges = next[state.node].filter((edge) => model.passes(edge, state));
    const strongest = edges.sort((a, b) => Math.abs(b.weight) - Math.abs(a.weight))[0];
    if (strongest) select(strongest[end]);
  }

  function along(direction) {
    if (state.node === null) return select(model.order[0]);
    const here = model.nodes[state.node];
    const column = model.nodes
      .map((node, index) => ({ index, y: node.y, layer: node.layer }))
      .filter((node) => node.layer === here.layer)
      .sort((a, b) => a.y - b.y);
    const place = column.findIndex((node) => node.index === state.node) + direction;
    if (column[place]) select(column[place].index);
  }

  /* Panel */
  function fillPanel() {
    const panel = byId("panel");
    if (state.node !== null) panel.replaceChildren(...nodePanel(state.node));
    else if (state.edge !== null) panel.replaceChildren(...edgePanel(model.edges[state.edge]));
    else panel.replaceChildren(make("p", "Select a variable or an edge to see what leads to it and what follows from it.", { class: "hint" }));
  }

  function edgePanel(edge) {
    const [ends, ...rest] = describe(edge);
    return [make("h3", ends), ...rest.map((line) => make("p", line)), nodeList("Ends", [[edge.source, ""], [edge.target, ""]])];
  }

  function nodePanel(node) {
    const shown = (edges, end) => edges.filter((edge) => model.passes(edge, state)).map((edge) => [edge[end], edgeNumbers(edge)]);
    const effects = (list) => list.map(([other, effect]) => [other, signed(effect)]);
    return [
      make("h3", model.nodes[node].name),
      nodeList("Parents", shown(model.parents[node], "source")),
      nodeList("Children", shown(model.children[node], "target")),
      nodeList("Total effect on", effects(model.effectsOf(node))),
      nodeList("Total effect of", effects(model.effectsOn(node))),
      make("p", "Total effects sum over all directed paths of the whole DAG; filters do not change them.", { class: "hint" }),
    ];
  }

  function edgeNumbers(edge) {
    const sure = model.confidence(edge, state.view);
    return signed(edge.weight) + (sure === undefined ? "" : ` · ${percent(sure)}`);
  }

  function nodeList(title, entries) {
    const most = 25;
    const items = entries.slice(0, most).map(([node, numbers]) => {
      const item = make("li");
      const link = make("button", model.nodes[node].name, { type: "button" });
      link.addEventListener("click", () => select(node));
      item.append(link, make("span", numbers));
      return item;
    });
    if (entries.length > most) items.push(make("li", `and ${entries.length - most} more`));
    const part = make("div");
    const list = make("ul");
    list.append(...(items.length ? items : [make("li", "none")]));
    part.append(make("h4", `${title} (${entries.length})`), list);
    return part;
  }

  /* Table */
  const columns = [
    { key: "source", title: "from", value: (edge) => model.nodes[edge.source].name },
    { key: "target", title: "to", value: (edge) => model.nodes[edge.target].name },
    { key: "weight", title: "weight", number: true, value: (edge) => edge.weight, text: (edge) => signed(edge.weight) },
    { key: "strength", title: "|weight|", number: true, value: (edge) => Math.abs(edge.weight), text: (edge) => Number(Math.abs(edge.weight).toPrecision(4)).toString() },
    ...(model.hasConfidence
      ? [
          { key: "this_way", title: "this way", number: true, value: (edge) => edge.this_way, text: (edge) => percent(edge.this_way) },
          { key: "either_way", title: "either way", number: true, value: (edge) => edge.either_way, text: (edge) => percent(edge.either_way) },
        ]
      : []),
    ...(model.columns.includes("margin")
      ? [{ key: "margin", title: "margin", number: true, value: margin, text: (edge) => shownMargin(margin(edge)) }]
      : []),
    { key: "class", title: "in the class", value: (edge) => (edge.reversible ? "undirected" : edge.open ? "near-tie" : "directed") },
    { key: "support", title: "direction rests on", value: support },
  ];

  function makeHeader() {
    const cells = columns.map((column) => {
      const cell = make("th", undefined, { scope: "col", ...(column.number ? { class: "number" } : {}) });
      const button = make("button", column.title, { type: "button" });
      button.addEventListener("click", () => {
        const same = state.sort.key === column.key;
        state.sort = { key: column.key, descending: same ? !state.sort.descending : Boolean(column.number) };
        update();
      });
      cell.append(button);
      return cell;
    });
    document.querySelector("#edges thead tr").replaceChildren(...cells);
  }

  function compare(a, b) {
    return typeof a === "number" ? a - b : String(a).localeCompare(String(b));
  }

  function fillTable(shown) {
    const { key, descending } = state.sort;
    const column = columns.find((each) => each.key === key);
    const sorted = [...shown].sort((a, b) => (descending ? -1 : 1) * compare(column.value(a), column.value(b)));
    document.querySelectorAll("#edges th").forEach((cell, place) => {
      const sort = columns[place].key !== key ? "none" : descending ? "descending" : "ascending";
      cell.setAttribute("aria-sort", sort);
      const mark = { none: "", ascending: " ▲", descending: " ▼" }[sort];
      cell.firstChild.textContent = columns[place].title + mark;
    });
    const rows = sorted.slice(0, state.limit).map((edge) => {
      const row = make("tr");
      row.append(...columns.map((each) => make("td", (each.text || each.value)(edge), each.number ? { class: "number" } : {})));
      return row;
    });
    document.querySelector("#edges tbody").replaceChildren(...rows);
    byId("more").hidden = sorted.length <= state.limit;
    byId("more").textContent = `Show all ${sorted.length} edges`;
  }

  byId("more").addEventListener("click", () => {
    state.limit = Infinity;
    update();
  });

  /* Matrix: name the cell under the pointer. */
  const matrix = byId("matrix");
  matrix.addEventListener("pointermove", (event) => {
    const frame = matrix.getBoundingClientRect();
    const scale = matrix.viewBox.baseVal.width / frame.width;
    const place = (offset) => Math.floor((offset * scale - Number(matrix.dataset.room)) / Number(matrix.dataset.cell));
    const [row, column] = [place(event.clientY - frame.top), place(event.clientX - frame.left)].map((each) => model.order[each]);
    const edge = row === undefined || column === undefined ? undefined : model.children[row].find((each) => each.target === column);
    byId("cell").textContent = edge ? describe(edge).slice(0, 2).join(": ") : "\u00a0";
  });

  /* Downloads */
  function save(name, content, type) {
    const address = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
    const link = make("a", undefined, { href: address, download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
  }

  const shown = () => model.shownEdges(state);
  const writers = {
    svg: () => save("graph.svg", graph.svg(), "image/svg+xml"),
    png: () => save("graph.png", graph.png()),
    dot: () => save("graph.dot", formats.dot(model, shown(), state.view), "text/vnd.graphviz"),
    json: () => save("graph.json", formats.json(model, shown(), state.view), "application/json"),
    dagitty: () => save("graph.dagitty", formats.dagitty(model, shown(), state.view), "text/plain"),
    csv: () => save("edges.csv", formats.csv(model, shown(), state.view), "text/csv"),
  };
  document.querySelectorAll("[data-format]").forEach((button) => button.addEventListener("click", () => writers[button.dataset.format]()));

  makeHeader();
  readSliders();
  update();
  document.documentElement.dataset.ready = "true";
})();
