"use strict";

/* The graph as shown, in the text formats that acyclic reads back: DOT, JSON, DAGitty, CSV. */
const formats = (function () {
  function quoted(name) {
    const escaped = name.replace(/[\x00-\x1f"\\]/g, (character) => {
      if (character === '"' || character === "\\") return "\\" + character;
      if (character === "\n") return "\\n";
      return "\\x" + character.charCodeAt(0).toString(16).padStart(2, "0");
    });
    return `"${escaped}"`;
  }

  function isOpen(edge, view) {
    return view === "cpdag" && edge.reversible;
  }

  function dot(model, edges, view) {
    const lines = model.nodes.map((node) => `  ${quoted(node.name)};`);
    for (const edge of edges) {
      const ends = `${quoted(model.nodes[edge.source].name)} -> ${quoted(model.nodes[edge.target].name)}`;
      const weight = `label="${Number(edge.weight.toPrecision(3))}", beta="${edge.weight}"`;
      lines.push(`  ${ends} [${weight}${isOpen(edge, view) ? ", dir=none" : ""}];`);
    }
    return ["digraph {", ...lines, "}", ""].join("\n");
  }

  function dagitty(model, edges, view) {
    const place = (node) => `${(node.x / 100).toFixed(3)},${(node.y / 100).toFixed(3)}`;
    const lines = model.nodes.map((node) => `${quoted(node.name)} [pos="${place(node)}"]`);
    for (const edge of edges) {
      const arrow = isOpen(edge, view) ? "--" : "->";
      const ends = `${quoted(model.nodes[edge.source].name)} ${arrow} ${quoted(model.nodes[edge.target].name)}`;
      lines.push(`${ends} [beta="${edge.weight}"]`);
    }
    return [view === "cpdag" ? "pdag {" : "dag {", ...lines, "}", ""].join("\n");
  }

  function json(model, edges, view) {
    const named = edges.map((edge) => ({
      source: model.nodes[edge.source].name,
      target: model.nodes[edge.target].name,
      weight: edge.weight,
      ...(view === "cpdag" ? { directed: !edge.reversible } : {}),
    }));
    return JSON.stringify({ nodes: model.nodes.map((node) => node.name), edges: named }, null, 1) + "\n";
  }

  function csv(model, edges) {
    const cell = (value) => {
      const text = value === undefined || value === null ? "" : String(value);
      return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
    };
    const sure = model.hasConfidence ? ["confidence", "either"] : [];
    const rows = edges.map((edge) => [
      model.nodes[edge.source].name,
      model.nodes[edge.target].name,
      edge.weight,
      ...sure.map((key) => edge[key]),
      edge.support,
    ]);
    return [["source", "target", "weight", ...sure, "support"], ...rows]
      .map((row) => row.map(cell).join(",") + "\r\n")
      .join("");
  }

  return { dot, dagitty, json, csv };
})();
