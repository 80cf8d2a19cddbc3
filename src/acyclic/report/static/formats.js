"use strict";

/* The graph as shown, in the text formats that acyclic reads back: DOT, JSON, DAGitty, CSV. The class has no weights,
   says that it is one, and is read back as a Cpdag: its open edges have no direction. */
const formats = (function () {
  function quoted(name) {
    const escaped = name.replace(/[\x00-\x1f"\\]/g, (character) => {
      if (character === '"' || character === "\\") return "\\" + character;
      if (character === "\n") return "\\n";
      return "\\x" + character.charCodeAt(0).toString(16).padStart(2, "0");
    });
    return `"${escaped}"`;
  }

  function dot(model, edges, view) {
    const isClass = view === "cpdag";
    const lines = model.nodes.map((node) => `  ${quoted(node.name)};`);
    for (const edge of edges) {
      const ends = `${quoted(model.nodes[edge.source].name)} -> ${quoted(model.nodes[edge.target].name)}`;
      const weight = ` [label="${Number(edge.weight.toPrecision(3))}", beta="${edge.weight}"]`;
      lines.push(`  ${ends}${isClass ? (edge.reversible ? " [dir=none]" : "") : weight};`);
    }
    return [isClass ? "digraph cpdag {" : "digraph {", ...lines, "}", ""].join("\n");
  }

  function dagitty(model, edges, view) {
    const isClass = view === "cpdag";
    const place = (node) => `${(node.x / 100).toFixed(3)},${(node.y / 100).toFixed(3)}`;
    const lines = model.nodes.map((node) => `${quoted(node.name)} [pos="${place(node)}"]`);
    for (const edge of edges) {
      const arrow = isClass && edge.reversible ? "--" : "->";
      const ends = `${quoted(model.nodes[edge.source].name)} ${arrow} ${quoted(model.nodes[edge.target].name)}`;
      lines.push(isClass ? ends : `${ends} [beta="${edge.weight}"]`);
    }
    return [isClass ? "pdag {" : "dag {", ...lines, "}", ""].join("\n");
  }

  function json(model, edges, view) {
    const isClass = view === "cpdag";
    const named = edges.map((edge) => ({
      source: model.nodes[edge.source].name,
      target: model.nodes[edge.target].name,
      ...(isClass ? { directed: !edge.reversible } : { weight: edge.weight }),
    }));
    const mark = isClass ? { graph: "cpdag" } : {};
    return JSON.stringify({ ...mark, nodes: model.nodes.map((node) => node.name), edges: named }, null, 1) + "\n";
  }

  /* The table of edges has the columns of edges.csv, which the page holds; in the class, also whether each is directed. */
  function csv(model, edges, view) {
    /* A name that a spreadsheet would run as a formula gets an apostrophe, which acyclic takes away when it reads. */
    const defused = (text) => (/^'*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/.test(text) ? "'" + text : text);
    const cell = (value) => {
      const given = value === undefined || value === null ? "" : value;
      const text = typeof given === "string" ? defused(given) : String(given);
      return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
    };
    const columns = [...model.columns, ...(view === "cpdag" ? ["directed"] : [])];
    const rows = edges.map((edge) => {
      const ends = { source: model.nodes[edge.source].name, target: model.nodes[edge.target].name };
      const row = { ...edge, ...ends, directed: !edge.reversible };
      return columns.map((key) => row[key]);
    });
    return [columns, ...rows].map((row) => row.map(cell).join(",") + "\r\n").join("");
  }

  return { dot, dagitty, json, csv };
})();
