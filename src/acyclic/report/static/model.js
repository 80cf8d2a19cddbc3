"use strict";

/* The graph as data: who is next to whom, what a filter leaves, and what an intervention would do. */
function makeModel(data) {
  const parents = data.nodes.map(() => []);
  const children = data.nodes.map(() => []);
  data.edges.forEach((edge, index) => {
    edge.index = index;
    children[edge.source].push(edge);
    parents[edge.target].push(edge);
  });
  const strengths = data.edges.map((edge) => Math.abs(edge.weight)).sort((a, b) => a - b);

  /* In the view of the class an open edge, reversible or a near-tie, has no direction, so both speak for it. */
  function confidence(edge, view) {
    return view === "cpdag" && edge.open ? edge.either_way : edge.this_way;
  }

  function passes(edge, filter) {
    const sure = confidence(edge, filter.view);
    return Math.abs(edge.weight) >= filter.weight && (sure === undefined || sure >= filter.confidence);
  }

  function shownEdges(filter) {
    return data.edges.filter((edge) => passes(edge, filter));
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

  return {
    nodes: data.nodes,
    edges: data.edges,
    order: data.order,
    title: data.title,
    columns: data.columns,
    parents,
    children,
    strengths,
    hasConfidence: data.edges.some((edge) => edge.this_way !== undefined),
    confidence,
    passes,
    shownEdges,
    ancestors: (node, filter) => reached(node, parents, "source", filter),
    descendants: (node, filter) => reached(node, children, "target", filter),
    effectsOf: (node) => spread(node, data.order, children, "target"),
    effectsOn: (node) => spread(node, [...data.order].reverse(), parents, "source"),
  };
}

/* A number to a few digits, with its sign. */
function signed(value, digits = 4) {
  const text = Number(Math.abs(value).toPrecision(digits)).toString();
  return (value < 0 ? "−" : "+") + text;
}

function percent(share) {
  return share === undefined || share === null ? "–" : `${Math.round(100 * share)} %`;
}

function support(edge) {
  return edge.rests_on;
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
