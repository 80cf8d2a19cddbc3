"use strict";

/* The page: controls, panel, table, knowledge, downloads. Names reach the document as text only. */
(function () {
  const byId = (id) => document.getElementById(id);
  const make = (name, text, attributes = {}) => {
    const element = document.createElement(name);
    if (text !== undefined) element.textContent = text;
    Object.entries(attributes).forEach(([key, value]) => element.setAttribute(key, value));
    return element;
  };
  const press = (text, act, attributes = {}) => {
    const button = make("button", text, { type: "button", ...attributes });
    button.addEventListener("click", act);
    return button;
  };
  const data = JSON.parse(byId("graph-data").textContent);
  const model = makeModel(data);
  const state = {
    strength: 0,
    confidence: 0,
    view: "dag",
    highlight: "both",
    labels: model.edges.length <= 40,
    node: null,
    edge: null,
    found: new Set(),
    sort: { key: model.standardised ? "standardised" : "weight", descending: true },
    limit: 300,
  };
  const systemDark = window.matchMedia("(prefers-color-scheme: dark)");
  setTheme(systemDark.matches);
  const graph = drawGraph(model, byId("graph"));
  const overview = drawOverview(graph, byId("overview"));
  const matrix = drawMatrix(model, byId("matrix"));
  const plots = makePlots(model);
  const live = makeLive(model, data, showKnowledge);
  const ask = makeAsk(model, data);

  /* Theme: the system's until the reader chooses; paper is always light. */
  function setTheme(dark) {
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    byId("theme").setAttribute("aria-pressed", String(dark));
  }

  function changeTheme(dark) {
    setTheme(dark);
    graph.restyle();
    overview.update();
    matrix.draw(state);
  }

  const isDark = () => document.documentElement.dataset.theme === "dark";
  byId("theme").addEventListener("click", () => changeTheme(!isDark()));
  systemDark.addEventListener("change", (event) => changeTheme(event.matches));
  let darkOnScreen = false;
  /* Paper gets the drawing as lines, which are sharp at any size. */
  window.addEventListener("beforeprint", () => {
    darkOnScreen = isDark();
    changeTheme(false);
    const drawing = new DOMParser().parseFromString(graph.svg(), "image/svg+xml").documentElement;
    ["width", "height"].forEach((side) => drawing.removeAttribute(side));
    byId("paper").replaceChildren(document.importNode(drawing, true));
  });
  window.addEventListener("afterprint", () => {
    byId("paper").replaceChildren();
    changeTheme(darkOnScreen);
  });

  function update() {
    graph.update(state);
    overview.update();
    const shown = model.shownEdges(state);
    const undecided = shown.filter((edge) => !edge.decided).length;
    const isClass = state.view === "cpdag";
    const open = isClass ? shown.filter((edge) => edge.open).length : 0;
    const ties = isClass ? shown.filter((edge) => edge.open && !edge.reversible).length : 0;
    const tied = ties ? `, ${ties} nearly tied` : "";
    const loose = undecided ? `; the direction of ${undecided} is not decided` : "";
    const kinds = isClass ? `: ${shown.length - open} directed, ${open - ties} undirected${tied}` : loose;
    byId("count").textContent = `Showing ${shown.length} of ${model.edges.length} edges${kinds}.`;
    fillTable(shown);
    fillPanel();
    matrix.draw(state);
  }

  /* Controls */
  byId("names").append(...model.nodes.map((node) => make("option", undefined, { value: node.name })));
  const slider = byId("weight");
  byId("labels").checked = state.labels;

  function readSliders() {
    slider.max = String(model.strengths.length);
    byId("confidence-field").hidden = !model.hasConfidence;
    byId("weight-name").textContent = model.standardised ? "effects" : "weights";
    const step = Number(slider.value);
    state.strength = step === 0 ? 0 : step < model.strengths.length ? model.strengths[step] : Infinity;
    const shown = step < model.strengths.length ? Number(state.strength.toPrecision(3)).toString() : "all";
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
    state.edge = edge !== null && edge >= model.edges.length ? null : edge;
    update();
    if (node !== null) reveal(graph.node(node));
    if (state.edge !== null) revealRow();
  }

  function reveal(drawn) {
    const box = drawn.renderedBoundingBox();
    const outside = box.x1 < 0 || box.y1 < 0 || box.x2 > graph.cy.width() || box.y2 > graph.cy.height();
    if (graph.cy.zoom() < 0.35) graph.cy.zoom(0.8);
    else if (!outside) return;
    graph.cy.center(drawn);
  }

  /* The row of the selected edge, within the box of the table: the page stays where it is. */
  function revealRow() {
    const row = document.querySelector("#edges tr.chosen");
    if (!row) return;
    const box = row.closest(".scroll");
    const offset = row.offsetTop - box.scrollTop;
    if (offset < 40 || offset + row.offsetHeight > box.clientHeight) box.scrollTop = row.offsetTop - box.clientHeight / 2;
  }

  graph.cy.on("tap", "node", (event) => select(event.target.data("index")));
  graph.cy.on("tap", "edge", (event) => select(null, event.target.data("index")));
  graph.cy.on("tap", (event) => {
    if (event.target === graph.cy) select(null);
  });

  /* Hover */
  const tip = byId("tip");
  const edgeOf = (index) => model.edges[index] || model.lost[index - model.edges.length];
  graph.cy.on("mouseover", "node, edge", (event) => {
    const index = event.target.data("index");
    tip.textContent = event.target.isNode() ? model.nodes[index].name : describe(edgeOf(index)).join("\n");
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

  const sign = (edge) => (isDirected(edge, state.view) ? "→" : "–");
  const nameEdge = (edge) => `${model.nodes[edge.source].name} ${sign(edge)} ${model.nodes[edge.target].name}`;

  function describe(edge) {
    const interval = edge.lower === undefined || edge.lower === null ? "" : ` (90 % of draws: ${signed(edge.lower)} to ${signed(edge.upper)})`;
    const effect = edge.standardised === undefined ? [] : [`standardised ${signed(edge.standardised, 3)}`];
    const sure = edge.this_way === undefined ? [] : [`this way ${percent(edge.this_way)}, either way ${percent(edge.either_way)}`];
    const likely = edge.probability === undefined ? [] : [`there with probability ${percent(edge.probability)}; if so, in this direction with ${percent(edge.direction_probability)}`];
    const gone = edge.change === "lost" ? ["no longer there under what was stated"] : [];
    const slope = edge.slope === undefined || edge.effect === "line" ? [] : [`${edge.effect}, on average with the slope ${signed(edge.slope, 3)}`];
    const share = edge.share === undefined ? [] : [`explains ${percent(edge.share)} of what varies in ${model.nodes[edge.target].name}, beside the other parents`];
    return [nameEdge(edge), ...gone, `weight ${signed(edge.weight)}${interval}`, ...effect, ...slope, ...share, ...sure, ...likely, `direction: ${edge.rests_on}`];
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

  /* The whole window for the drawing and its panel. */
  const stage = document.querySelector(".stage");
  function setFull(full) {
    stage.classList.toggle("full", full);
    document.body.classList.toggle("behind", full);
    byId("full").setAttribute("aria-pressed", String(full));
    if (full && document.fullscreenEnabled) document.documentElement.requestFullscreen().catch(() => {});
    else if (!full && document.fullscreenElement) document.exitFullscreen().catch(() => {});
  }
  byId("full").addEventListener("click", () => setFull(!stage.classList.contains("full")));
  document.addEventListener("fullscreenchange", () => {
    if (!document.fullscreenElement) setFull(false);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && stage.classList.contains("full")) setFull(false);
  });
  let [lastWidth, lastHeight] = [box.clientWidth, box.clientHeight];
  new ResizeObserver(() => {
    if (!box.clientWidth || (box.clientWidth === lastWidth && box.clientHeight === lastHeight)) return;
    [lastWidth, lastHeight] = [box.clientWidth, box.clientHeight];
    graph.cy.resize();
    graph.arrange();
    overview.update();
  }).observe(box);

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
    const strongest = edges.sort((a, b) => b.strength - a.strength)[0];
    if (strongest) select(strongest[end]);
  }

  function along(direction) {
    if (state.node === null) return select(model.order[0]);
    const here = model.nodes[state.node];
    const column = model.nodes
      .map((node, index) => ({ index, y: node.y, layer: node.layer }))
      .filter((node) => !model.layered || node.layer === here.layer)
      .sort((a, b) => a.y - b.y);
    const place = column.findIndex((node) => node.index === state.node) + direction;
    if (column[place]) select(column[place].index);
  }

  /* Panel: made anew only when what it shows is another, so that the keyboard does not lose its place. */
  let panelShows = null;
  function fillPanel() {
    const panel = byId("panel");
    const now = JSON.stringify([state.node, state.edge, state.view, state.strength, state.confidence, live.statements(), model.edges.length]);
    if (now === panelShows) return;
    panelShows = now;
    if (state.node !== null || state.edge !== null) live.warm();
    if (state.node !== null) panel.replaceChildren(...nodePanel(state.node));
    else if (state.edge !== null) panel.replaceChildren(...edgePanel(model.edges[state.edge]));
    else panel.replaceChildren(make("p", "Select a variable or an edge to see what leads to it, what follows from it, and the rows behind it.", { class: "hint" }));
  }

  function picture(drawing, caption) {
    if (!drawing) return [];
    const figure = make("figure");
    figure.append(drawing, make("figcaption", caption));
    return [figure];
  }

  function edgePanel(edge) {
    const [ends, ...rest] = describe(edge);
    const [source, target] = [edge.source, edge.target].map((node) => model.nodes[node].name);
    const others = model.parents[edge.target].length - 1;
    const drawn = edge.told ? `${edge.told.codes ? "dots are what each level" : "the curve is what it"} adds, with 90 % intervals` : "the line is the weight";
    const rows = others ? `What the other parents leave of ${target}` : "A sample of the rows";
    const caption = edge.told && edge.told.of.length ? `Probabilities, averaged over the rows, with 90 % intervals` : `${rows}; ${drawn}.`;
    const actions = make("div", undefined, { class: "actions", role: "group", "aria-label": "State what you know of this edge" });
    actions.append(
      press("Forbid", () => live.forbid(source, target)),
      press("Require", () => live.require(source, target)),
      press("Reverse", () => live.require(target, source)),
    );
    return [
      make("h3", ends),
      ...rest.map((line) => make("p", line)),
      ...picture(plots.scatter(edge), caption),
      actions,
      nodeList("Ends", [[edge.source, ""], [edge.target, ""]]),
    ];
  }

  function columnFacts(node) {
    const column = model.variables[node];
    if (!column) return [];
    const missing = column.missing ? `, ${percent(column.missing)} missing` : "";
    const short = (value) => Number(value.toPrecision(4)).toString().replace("-", "−");
    return [make("p", `${column.kind}, mean ${short(column.mean)}, standard deviation ${short(column.deviation)}${missing}`, { class: "hint" })];
  }

  function tierChoice(name) {
    const field = make("div", undefined, { class: "field" });
    const choice = make("select", undefined, { id: "tier" });
    choice.append(make("option", "no tier", { value: "" }));
    for (let k = 0; k <= live.tiers(); k++) choice.append(make("option", `tier ${k + 1}`, { value: String(k) }));
    choice.value = live.tierOf(name) < 0 ? "" : String(live.tierOf(name));
    choice.addEventListener("change", () => live.setTier(name, choice.value === "" ? null : Number(choice.value)));
    field.append(make("label", "Tier: no edge leads from a later one into an earlier one", { for: "tier" }), choice);
    return field;
  }

  function nodePanel(node) {
    const shown = (edges, end) => edges.filter((edge) => model.passes(edge, state)).map((edge) => [edge[end], edgeNumbers(edge)]);
    const effects = (list) => list.map(([other, effect]) => [other, signed(effect)]);
    const name = model.nodes[node].name;
    return [
      make("h3", name),
      ...columnFacts(node),
      ...(model.variables[node] ? picture(plots.histogram(node), "All rows") : []),
      nodeList("Parents", shown(model.parents[node], "source")),
      nodeList("Children", shown(model.children[node], "target")),
      nodeList("Total effect on", effects(model.effectsOf(node))),
      nodeList("Total effect of", effects(model.effectsOn(node))),
      make("p", "Total effects sum over all directed paths of the whole DAG; filters do not change them.", { class: "hint" }),
      ...picture(plots.residuals(node), "What its parents leave, in a sample of the rows"),
      tierChoice(name),
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
      item.append(press(model.nodes[node].name, () => select(node)), make("span", numbers));
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
  const TEXTS = ["source", "target", "rests_on"];
  /* Titles and texts are those of the terminal and of Python; only what the page learned by itself it says by itself. */
  const FORMATS = { this_way: percent, either_way: percent, probability: percent, direction_probability: percent, margin: shownMargin };
  const VALUES = {
    source: (edge) => model.nodes[edge.source].name,
    target: (edge) => model.nodes[edge.target].name,
    weight: (edge) => (model.standardised ? edge.weight : edge.strength),
    standardised: (edge) => edge.strength,
    margin,
  };
  function listColumns() {
    const columns = data.shown
      .filter(([key]) => model.columns.includes(key))
      .map(([key, title]) => ({
        key,
        title,
        number: !TEXTS.includes(key),
        leads: key === "source",
        value: VALUES[key] || ((edge) => edge[key]),
        text: TEXTS.includes(key) ? undefined : (edge) => edge.shown?.[key] ?? (FORMATS[key] || ((value) => signed(value, 3)))(key === "margin" ? margin(edge) : edge[key]),
      }));
    const inClass = { key: "class", title: "in the class", value: (edge) => (edge.reversible ? "undirected" : edge.open ? "near-tie" : "directed") };
    return state.view === "cpdag" ? [...columns, inClass] : columns;
  }

  function fillHeader(columns) {
    const { key, descending } = state.sort;
    const cells = columns.map((column) => {
      const cell = make("th", undefined, { scope: "col", ...(column.number ? { class: "number" } : {}) });
      const sort = column.key !== key ? "none" : descending ? "descending" : "ascending";
      cell.setAttribute("aria-sort", sort);
      const mark = { none: "", ascending: " ▲", descending: " ▼" }[sort];
      cell.append(
        press(column.title + mark, () => {
          const same = state.sort.key === column.key;
          state.sort = { key: column.key, descending: same ? !state.sort.descending : Boolean(column.number) };
          update();
          document.querySelector(`#edges th:nth-child(${columns.indexOf(column) + 1}) button`).focus();
        }),
      );
      return cell;
    });
    document.querySelector("#edges thead tr").replaceChildren(...cells);
  }

  function compare(a, b) {
    return typeof a === "number" ? a - b : String(a).localeCompare(String(b));
  }

  let tableShows = null;
  function fillTable(shown) {
    const columns = listColumns();
    const { key, descending } = state.sort;
    const now = JSON.stringify([state.sort, state.limit, state.view, shown.map((edge) => [edge.source, edge.target, edge.weight, edge.support])]);
    if (now !== tableShows) {
      fillHeader(columns);
      const column = columns.find((each) => each.key === key) || columns[2];
      const sorted = [...shown].sort((a, b) => (descending ? -1 : 1) * compare(column.value(a), column.value(b)));
      document.querySelector("#edges tbody").replaceChildren(...sorted.slice(0, state.limit).map((edge) => makeRow(edge, columns)));
      byId("more").hidden = sorted.length <= state.limit;
      byId("more").textContent = `Show all ${sorted.length} edges`;
      byId("rest").textContent = sorted.length > 30 ? `The ${sorted.length} edges are all in the page and in edges.csv; 30 are printed.` : "";
      tableShows = now;
    }
    document.querySelectorAll("#edges tbody tr").forEach((row) => {
      const chosen = row.dataset.index === String(state.edge);
      row.classList.toggle("chosen", chosen);
      row.querySelector("button").setAttribute("aria-pressed", String(chosen));
    });
  }

  function makeRow(edge, columns) {
    const row = make("tr", undefined, { "data-index": String(edge.index) });
    for (const each of columns) {
      const cell = make("td", each.leads ? undefined : (each.text || each.value)(edge), each.number ? { class: "number" } : {});
      if (each.leads) cell.append(make("button", each.value(edge), { type: "button" }));
      row.append(cell);
    }
    row.addEventListener("click", () => select(null, state.edge === edge.index ? null : edge.index));
    return row;
  }

  byId("more").addEventListener("click", () => {
    state.limit = Infinity;
    update();
  });

  /* Matrix: name the cell under the pointer; a click selects it. */
  byId("matrix").addEventListener("pointermove", (event) => {
    const edge = matrix.find(event);
    byId("cell").textContent = edge ? describe(edge).slice(0, 2).join(": ") : "\u00a0";
  });
  byId("matrix").addEventListener("click", (event) => {
    const edge = matrix.find(event);
    if (edge) select(null, edge.index);
  });

  /* Ask: a variable, and what drives it or follows from it. */
  function answer() {
    const name = byId("ask-target").value;
    const node = model.nodes.findIndex((each) => each.name === name);
    const box = byId("ask-answer");
    if (node < 0) {
      box.replaceChildren(make("p", name ? "No variable has this name." : "Choose a variable.", { class: "hint" }));
      return;
    }
    const way = document.querySelector('input[name="ask-way"]:checked').value;
    const rows = ask.effects(node, way === "drives", live.isChanged());
    const title = make("h3", ask.say(rows.length ? way : `${way}-none`, { target: name }));
    const shown = rows.slice(0, ask.most);
    const list = make("ol");
    list.append(
      ...shown.map((row) => {
        const item = make("li");
        const edge = model.findEdge(row.cause, row.outcome);
        item.append(press(`${ask.sentence(row)}.`, () => (edge ? select(null, edge.index) : select(row.other))));
        return item;
      }),
    );
    const more = rows.length > shown.length ? [make("p", ask.say("more", { count: rows.length - shown.length }))] : [];
    const changed = live.isChanged() ? ["the page learned again: intervals, confidence and bounds of the run are left out"] : ask.notes;
    const notes = rows.length ? changed.map((note) => make("p", `Note: ${note}.`, { class: "hint" })) : [];
    box.replaceChildren(title, ...(rows.length ? [list, ask.chart(shown)] : []), ...more, ...notes);
  }

  byId("ask-form").addEventListener("submit", (event) => event.preventDefault());
  byId("ask-target").addEventListener("input", answer);
  document.querySelectorAll('input[name="ask-way"]').forEach((radio) => radio.addEventListener("change", answer));
  /* To begin with, the variable that the run asked about, or the one on which the most others act. */
  const drivers = model.nodes.map((_, node) => model.ancestors(node, { strength: 0, confidence: 0, view: "dag" }).size);
  if (model.edges.length) byId("ask-target").value = data.ask.target ?? model.nodes[drivers.indexOf(Math.max(...drivers))].name;

  /* Knowledge */
  const WHY = {
    "no-table": "This page was made from a result file, without the table, so that it cannot learn again by itself.",
    "no-kernel": "acyclic was installed here without its WebAssembly kernel, so that this page cannot learn again by itself.",
    "too-large": "There are too many columns for this page to learn again by itself.",
    "other-method": "This graph was learned by a method that this page has no kernel for, so that it cannot learn again by itself.",
    "no-rows": "This page was made without rows, which its categories are counted from, so that it cannot learn again by itself.",
    threshold: "Small weights were cut from this graph, which this page does not do, so that it cannot learn again by itself.",
    knowledge: "The run was held to signs, bounds or a file of knowledge that this page does not hold, so that it cannot learn again by itself.",
  };
  const LINES = "It learns by lines and normal noise alone: what the graph of the run rests on beyond them takes more than this page holds. What changes is told against the graph that lines alone give; for the whole, run the command below.";
  const COMMAND = "acyclic learn TABLE --knowledge knowledge.toml --out DIR";

  /* `anew`: the model has other edges. */
  function showKnowledge(anew = false) {
    if (anew) {
      const chosen = state.edge;
      state.edge = null;
      slider.value = "0";
      graph.redraw();
      readSliders();
      if (chosen !== null) panelShows = null;
    }
    update();
    answer();
    fillStated();
    const { result, fault, cost } = live.outcome();
    byId("live-status").textContent = fault ? sayFault(fault) : sayOutcome(result, cost);
    byId("live-status").classList.toggle("warning", Boolean(fault));
    const show = Boolean(result && !result.pending && !result.failed);
    byId("changes-part").hidden = !show;
    if (show) fillChanges();
    byId("command").hidden = live.isLive && !live.byLines && !(result && result.failed);
    byId("live-legend").hidden = !show;
    byId("undo").disabled = !live.canUndo();
    byId("redo").disabled = !live.canRedo();
    byId("restart").disabled = !live.isChanged();
    byId("toml").disabled = !live.isChanged();
  }

  function sayFault(fault) {
    if (fault.kind === "cycle") return "Not taken: the required edges would close a cycle.";
    return `Not taken: ${fault.source} → ${fault.target} is required, but something else that is stated forbids it.`;
  }

  function sayOutcome(result, cost) {
    if (!live.isLive) return "";
    if (!result) return live.isChanged() ? "" : "Nothing is stated beyond what the run was given: the graph is that of the run.";
    if (result.pending) return "Learning again…";
    if (result.failed) return "That takes too long, or more memory than a page has: run the command below.";
    const lost = model.lost.length;
    const count = (kind) => model.edges.filter((edge) => edge.change === kind).length;
    const price = Math.abs(cost) < 5e-4 ? "It costs nothing in score." : cost > 0 ? `It costs ${Number(cost.toPrecision(3))} in score (BIC): the table speaks against it by so much.` : `The score is even ${Number((-cost).toPrecision(3))} better: this search met a better graph.`;
    return `Learned again in ${result.seconds < 0.095 ? "under 0.1" : result.seconds.toFixed(1)} s: edges gained ${count("gained")}, lost ${lost}, turned ${count("turned")}, newly decided ${count("settled")}. ${price}`;
  }

  function fillStated() {
    const items = [];
    const add = (text, key, entry) => {
      const item = make("li");
      item.append(make("span", text), press("Remove", () => live.withdraw(key, entry), { "aria-label": `Remove: ${text}` }));
      items.push(item);
    };
    const stated = live.statements();
    for (const pair of stated.forbidden || []) add(`no edge ${pair[0]} → ${pair[1]}`, "forbidden", pair);
    for (const pair of stated.required || []) add(`an edge ${pair[0]} → ${pair[1]}`, "required", pair);
    (stated.tiers || []).forEach((tier, k) => tier.forEach((name) => add(`${name} is in tier ${k + 1}`, "tiers", name)));
    for (const name of stated.roots || []) add(`${name} has no parents`, "roots", name);
    for (const name of stated.sinks || []) add(`${name} has no children`, "sinks", name);
    byId("stated").replaceChildren(...(items.length ? items : [make("li", "nothing yet")]));
  }

  function fillChanges() {
    const WORDS = { gained: "gained", turned: "turned", settled: "now decided", unsettled: "no longer decided", lost: "lost" };
    const changed = [...model.edges.filter((edge) => edge.change), ...model.lost];
    const items = changed.slice(0, 60).map((edge) => {
      const item = make("li");
      const name = press(nameEdge(edge), () => select(null, edge.change === "lost" ? null : edge.index));
      item.append(make("span", WORDS[edge.change], { class: `mark ${edge.change}` }), name);
      return item;
    });
    if (changed.length > 60) items.push(make("li", `and ${changed.length - 60} more`));
    byId("changes").replaceChildren(...(items.length ? items : [make("li", "nothing")]));
  }

  function statePair(act) {
    const [source, target] = ["state-from", "state-to"].map((id) => byId(id).value);
    const known = [source, target].every((name) => model.nodes.some((node) => node.name === name));
    byId("state-fault").textContent = !known ? "Name two variables of the table." : source === target ? "Name two different variables." : "";
    if (known && source !== target) act(source, target);
  }

  byId("state-form").addEventListener("submit", (event) => event.preventDefault());
  byId("state-forbid").addEventListener("click", () => statePair(live.forbid));
  byId("state-require").addEventListener("click", () => statePair(live.require));
  byId("undo").addEventListener("click", live.undo);
  byId("redo").addEventListener("click", live.redo);
  byId("restart").addEventListener("click", live.restart);
  byId("toml").addEventListener("click", () => save("knowledge.toml", live.toml(), "application/toml"));
  byId("live-why").textContent = live.isLive
    ? `Forbid, require or reverse edges, or put variables into tiers: the page then learns again by itself, without any request. ${live.byLines ? LINES : "Margins, confidence and the verdict stay those of the run."}`
    : `${WHY[live.why]} What is stated here can be saved and given to the command.`;
  byId("command").textContent = COMMAND;

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

  readSliders();
  showKnowledge();
  document.documentElement.dataset.ready = "true";
})();
