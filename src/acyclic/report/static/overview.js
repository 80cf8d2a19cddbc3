"use strict";

/* A small map of the whole graph with the part that the box shows; a press in it goes there. */
function drawOverview(graph, canvas) {
  const { cy } = graph;
  const [width, height] = [168, 112];
  const ratio = window.devicePixelRatio || 1;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  let [scale, left, top, waiting] = [1, 0, 0, false];

  function draw() {
    waiting = false;
    const whole = cy.nodes().map((node) => ({ ...node.position(), index: node.data("index"), lit: node.hasClass("chosen") || node.hasClass("found") }));
    const reach = (key, pick, start) => whole.reduce((a, node) => pick(a, node[key]), start);
    const [x1, x2, y1, y2] = [reach("x", Math.min, Infinity), reach("x", Math.max, -Infinity), reach("y", Math.min, Infinity), reach("y", Math.max, -Infinity)];
    const pad = 40;
    scale = Math.min(width / (x2 - x1 + 2 * pad), height / (y2 - y1 + 2 * pad));
    [left, top] = [(x1 + x2) / 2 - width / scale / 2, (y1 + y2) / 2 - height / scale / 2];
    const shown = cy.extent();
    const inside = shown.x1 <= x1 && shown.x2 >= x2 && shown.y1 <= y1 && shown.y2 >= y2;
    canvas.hidden = inside && whole.length < 300;
    if (canvas.hidden) return;
    const paint = canvas.getContext("2d");
    const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
    paint.setTransform(ratio, 0, 0, ratio, 0, 0);
    paint.clearRect(0, 0, width, height);
    paint.fillStyle = colour("border");
    const size = whole.length > 300 ? 1.4 : 2.6;
    for (const node of whole) if (!node.lit) paint.fillRect((node.x - left) * scale - size / 2, (node.y - top) * scale - size / 2, size, size);
    paint.fillStyle = colour("negative");
    for (const node of whole) if (node.lit) paint.fillRect((node.x - left) * scale - 2.5, (node.y - top) * scale - 2.5, 5, 5);
    paint.strokeStyle = colour("accent");
    paint.lineWidth = 1.5;
    paint.strokeRect((shown.x1 - left) * scale, (shown.y1 - top) * scale, (shown.x2 - shown.x1) * scale, (shown.y2 - shown.y1) * scale);
  }

  function later() {
    if (!waiting) requestAnimationFrame(draw);
    waiting = true;
  }

  function go(event) {
    const box = canvas.getBoundingClientRect();
    const [x, y] = [left + (event.clientX - box.left) / scale, top + (event.clientY - box.top) / scale];
    cy.pan({ x: cy.width() / 2 - x * cy.zoom(), y: cy.height() / 2 - y * cy.zoom() });
  }

  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    go(event);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (event.buttons) go(event);
  });
  cy.on("viewport position", later);
  draw();
  return { update: later };
}
