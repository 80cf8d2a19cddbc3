"use strict";

/* The graph as data: who is next to whom, what a filter leaves, and what an intervention would do. */
function makeModel(data) {
  const model = {
    nodes: data.nodes,
    title: data.title,
    columns: data.columns,
    layered: data.layered,
    variables: data.variables || [],
    sample: data.sample || null,
    setEdges,
    confidence,
    passes,
    shownEdges: (filter) => model.edges.filter((edge) => passes(edge, filter)),
    findEdge: (source, target) => model.children[source].find((edge) => edge.target === target),
    ancestors: (node, filter) => reached(node, model.parents, "source", filter),
    descendants: (node, filter) => reached(node, model.children, "target", filter),
    effectsOf: (node) => spread(node, model.order, model.children, "target"),
    effectsOn: (node) => spread(node, [...model.order].reverse(), model.parents, "source"),
  };

  /* Another graph over the same nodes. */
  function setEdges(edges, order) {
    model.edges = edges;
    model.order = order;
    model.parents = data.nodes.map(() => []);
    model.children = data.nodes.map(() => []);
    edges.forEach((edge, index) => {
      edge.index = index;
      // Units decide how large a weight is; a standardised one does not depend on them.
      edge.strength = Math.abs(edge.standardised ?? edge.weight);
      model.children[edge.source].push(edge);
      model.parents[edge.target].push(edge);
    });
    model.strengths = edges.map((edge) => edge.strength).sort((a, b) => a - b);
    const largest = model.strengths.length ? model.strengths[model.strengths.length - 1] : 1;
    edges.forEach((edge) => (edge.stroke = 1.1 + 3.4 * Math.sqrt(edge.strength / largest)));
    model.hasConfidence = edges.some((edge) => edge.this_way !== undefined);
    model.standardised = edges.every((edge) => edge.standardised !== undefined);
  }

  /* In the view of the class an open edge, reversible or a near-tie, has no direction, so both speak for it. */
  function confidence(edge, view) {
    return view === "cpdag" && edge.open ? edge.either_way : edge.this_way;
  }

  function passes(edge, filter) {
    const sure = confidence(edge, filter.view);
    return edge.strength >= filter.strength && (sure === undefined || sure >= filter.confidence);
  }

  function reached(node, next, end, filter) {
    const seen = new Set();
    const waiting = [node];
    while (waiting.length) {
      for (const edge of next[waiting.pop()]) {
        if (!seen.has(edge[end]) && passes(edge, filter)) {
          seen.add(edge[end]);
          waiting.push(edge[end]);
        }
      }
    }
    return seen;
  }

  /* Sums over all directed paths of the products of weights along them, for every node behind this one. */
  function spread(node, order, next, end) {
    const effect = new Map([[node, 1]]);
    for (const here of order) {
      if (!effect.has(here)) continue;
      for (const edge of next[here]) {
        effect.set(edge[end], (effect.get(edge[end]) || 0) + effect.get(here) * edge.weight);
      }
    }
    effect.delete(node);
    return [...effect].sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
  }

  setEdges(data.edges, data.order);
  return model;
}

/* A number to a few digits, with its sign. */
function signed(value, digits = 4) {
  const text = Number(Math.abs(value).toPrecision(digits)).toString();
  return (value < 0 ? "−" : "+") + text;
}

function percent(share) {
  return share === undefined || share === null ? "–" : `${Math.round(100 * share)}%`;
}

/* JSON has no infinity: a margin without limit is a word there. */
function margin(edge) {
  return edge.margin === "inf" ? Infinity : (edge.margin ?? NaN);
}

function shownMargin(value) {
  if (Number.isNaN(value)) return "–";
  return value === Infinity ? "∞" : Number(value.toPrecision(3)).toString();
}

function isAssumed(edge) {
  return !["independence", "knowledge"].includes(edge.support);
}

/* Whether the view shows a direction: in the class where all its members agree by more than a near-tie. */
function isDirected(edge, view) {
  return view === "cpdag" ? !edge.open : edge.decided;
}
