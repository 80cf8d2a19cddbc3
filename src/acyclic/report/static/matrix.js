"use strict";

/* The weights as a matrix, both ways in topological order; names where they fit. */
function drawMatrix(model, canvas) {
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const ratio = Math.min(window.devicePixelRatio || 1, 2);
  let [room, cell, rank] = [0, 1, []];

  function draw(state) {
    const d = model.nodes.length;
    cell = Math.max(Math.min(Math.floor(760 / d), 22), 1);
    const named = cell >= 11;
    const names = model.order.map((node) => model.nodes[node].label);
    room = named ? 7 * Math.max(...names.map((name) => name.length)) + 12 : 2;
    const side = Math.ceil(room + cell * d + 2);
    canvas.width = side * ratio;
    canvas.height = side * ratio;
    canvas.style.width = `${side}px`;
    canvas.setAttribute("aria-label", `Weights of ${model.edges.length} edges as a matrix of ${d} rows and columns; the table of edges lists them`);
    rank = [];
    model.order.forEach((node, place) => (rank[node] = place));
    const paint = canvas.getContext("2d");
    paint.scale(ratio, ratio);
    paint.fillStyle = colour("raised");
    paint.fillRect(room, room, cell * d, cell * d);
    const largest = model.strengths[model.strengths.length - 1] || 1;
    const inset = cell > 4 ? 0.5 : 0;
    for (const edge of model.shownEdges(state)) {
      paint.globalAlpha = 0.2 + 0.8 * Math.sqrt(edge.strength / largest);
      paint.fillStyle = colour(edge.weight > 0 ? "positive" : "negative");
      paint.fillRect(room + cell * rank[edge.target] + inset, room + cell * rank[edge.source] + inset, cell - 2 * inset, cell - 2 * inset);
      if (edge.index === state.edge) {
        paint.globalAlpha = 1;
        paint.strokeStyle = colour("ink");
        paint.strokeRect(room + cell * rank[edge.target], room + cell * rank[edge.source], Math.max(cell, 3), Math.max(cell, 3));
      }
    }
    paint.globalAlpha = 1;
    if (named) write(paint, names);
  }

  function write(paint, names) {
    paint.fillStyle = colour("ink");
    paint.font = `${Math.min(12, cell - 1)}px system-ui, sans-serif`;
    paint.textBaseline = "middle";
    names.forEach((name, place) => {
      const middle = room + cell * (place + 0.5);
      paint.textAlign = "right";
      paint.fillText(name, room - 6, middle);
      paint.save();
      paint.translate(middle, room - 6);
      paint.rotate(-Math.PI / 2);
      paint.textAlign = "left";
      paint.fillText(name, 0, 0);
      paint.restore();
    });
  }

  /* The edge under a pointer. */
  function find(event) {
    const frame = canvas.getBoundingClientRect();
    const scale = canvas.width / ratio / frame.width;
    const place = (offset) => model.order[Math.floor((offset * scale - room) / cell)];
    const [source, target] = [place(event.clientY - frame.top), place(event.clientX - frame.left)];
    return source === undefined || target === undefined ? undefined : model.findEdge(source, target);
  }

  return { draw, find };
}
