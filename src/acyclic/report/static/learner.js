"use strict";

/* Learning again under knowledge. This is acyclic/discrete/refine.py and acyclic/data/knowledge.py in another language,
   around the same kernels: both come to the same graph. It is one function because a worker gets its text. Matrices have
   one entry for each pair of columns, row after row: [i * d + j] is the edge from i to j. */
function makeLearner() {
  /* A set of columns for each column, as bits: all that paths lead to. */
  function closure(matrix, d) {
    const words = (d + 31) >>> 5;
    const rows = new Uint32Array(d * words);
    for (let i = 0; i < d; i++) for (let j = 0; j < d; j++) if (matrix[i * d + j]) rows[i * words + (j >>> 5)] |= 1 << (j & 31);
    for (let k = 0; k < d; k++)
      for (let i = 0; i < d; i++)
        if ((rows[i * words + (k >>> 5)] >>> (k & 31)) & 1) for (let w = 0; w < words; w++) rows[i * words + w] |= rows[k * words + w];
    return (i, j) => ((rows[i * words + (j >>> 5)] >>> (j & 31)) & 1) === 1;
  }

  /* Statements as matrices of what is allowed and required, and what is wrong with them. */
  function compile(names, statements) {
    const d = names.length;
    const index = new Map(names.map((name, position) => [name, position]));
    const allowed = new Uint8Array(d * d).fill(1);
    const required = new Uint8Array(d * d);
    const all = names.map((_, position) => position);
    const ends = (name) => (index.has(name) ? [index.get(name)] : name === "*" ? all : []);
    for (let i = 0; i < d; i++) allowed[i * d + i] = 0;
    for (const [source, target] of statements.forbidden || []) for (const i of ends(source)) for (const j of ends(target)) allowed[i * d + j] = 0;
    for (const name of statements.roots || []) for (const i of all) allowed[i * d + index.get(name)] = 0;
    for (const name of statements.sinks || []) for (const j of all) allowed[index.get(name) * d + j] = 0;
    for (const [source, target] of statements.required || []) required[index.get(source) * d + index.get(target)] = 1;
    const tier = new Int32Array(d).fill(-1);
    (statements.tiers || []).forEach((members, position) => members.forEach((name) => (tier[index.get(name)] = position)));
    const closed = new Set(statements.closed_tiers || []);
    for (const i of all)
      for (const j of all) {
        const backward = tier[j] >= 0 && tier[i] > tier[j];
        if (backward || (tier[i] === tier[j] && closed.has(tier[i]))) allowed[i * d + j] = 0;
      }
    const faults = [];
    for (const [source, target] of statements.required || []) {
      if (!allowed[index.get(source) * d + index.get(target)]) faults.push({ kind: "against", source, target });
    }
    const path = closure(required, d);
    if (all.some((i) => path(i, i))) faults.push({ kind: "cycle" });
    for (const i of all) for (const j of all) if (path(j, i)) allowed[i * d + j] = 0;
    const free = !required.some(Boolean) && all.every((i) => all.every((j) => i === j || allowed[i * d + j]));
    return { d, allowed, required, faults, free };
  }

  /* What has to come before what in an order: acyclic.data.mask.Mask.must_precede. */
  function findPrecedence({ d, allowed, required }) {
    const [reach, path] = [closure(allowed, d), closure(required, d)];
    const before = new Uint8Array(d * d);
    for (let i = 0; i < d; i++) for (let j = 0; j < d; j++) before[i * d + j] = (reach(i, j) && !reach(j, i)) || path(i, j) ? 1 : 0;
    return before;
  }

  /* The order, with columns put off until all that must precede them has come. */
  function extendOrder(order, before, d) {
    if (!before) return order;
    const waits = new Int32Array(d);
    for (let i = 0; i < d; i++) for (let j = 0; j < d; j++) waits[j] += before[i * d + j];
    const left = [...order];
    const found = [];
    while (left.length) {
      const [next] = left.splice(left.findIndex((node) => waits[node] === 0), 1);
      found.push(next);
      for (let j = 0; j < d; j++) waits[j] -= before[next * d + j];
    }
    return found;
  }

  /* Edges that all graphs of the class share: acyclic.graphs.equivalence.find_compelled. */
  function findCompelled(graph, d) {
    const order = sortTopologically(graph, d);
    const rank = new Int32Array(d);
    order.forEach((node, place) => (rank[node] = place));
    const fixed = new Uint8Array(d * d);
    for (const y of order) {
      const into = [];
      for (let i = 0; i < d; i++) if (graph[i * d + y]) into.push(i);
      if (!into.length) continue;
      const latest = into.reduce((a, b) => (rank[b] > rank[a] ? b : a));
      let all = into.some((w) => w !== latest && !graph[w * d + latest]);
      for (let w = 0; w < d && !all; w++) all = fixed[w * d + latest] === 1 && !graph[w * d + y];
      for (const w of into) fixed[w * d + y] = all ? 1 : fixed[w * d + latest];
    }
    return fixed;
  }

  function sortTopologically(graph, d) {
    const waits = new Int32Array(d);
    for (let i = 0; i < d; i++) for (let j = 0; j < d; j++) waits[j] += graph[i * d + j];
    const ready = [];
    for (let j = 0; j < d; j++) if (!waits[j]) ready.push(j);
    const order = [];
    while (ready.length) {
      const node = ready.shift();
      order.push(node);
      for (let j = 0; j < d; j++) if (graph[node * d + j] && --waits[j] === 0) ready.push(j);
    }
    return order;
  }

  /* Meek's four rules to closure, in place; both matrices are d x d, and lines has both ways of an open edge. */
  function close(arrows, lines, joined, d) {
    const forced = (a, b) => {
      for (const c of joined[a]) {
        if (arrows[c * d + a] && c !== b && !joined[b].has(c)) return true;
        if (arrows[a * d + c] && arrows[c * d + b]) return true;
      }
      const into = [...joined[a]].filter((c) => lines[a * d + c] && arrows[c * d + b]);
      if (into.some((c, k) => into.slice(k + 1).some((e) => !joined[c].has(e)))) return true;
      for (const c of joined[a]) {
        if (!lines[a * d + c] || joined[c].has(b)) continue;
        for (const e of joined[c]) if (arrows[c * d + e] && arrows[e * d + b] && joined[a].has(e)) return true;
      }
      return false;
    };
    for (let changed = true; changed; ) {
      changed = false;
      for (let a = 0; a < d; a++)
        for (const b of joined[a])
          if (lines[a * d + b] && forced(a, b)) {
            direct(arrows, lines, a, b, d);
            changed = true;
          }
    }
  }

  function direct(arrows, lines, a, b, d) {
    arrows[a * d + b] = 1;
    lines[a * d + b] = lines[b * d + a] = 0;
  }

  /* The member of the class in which open edges lead along an order, as far as rules and knowledge let them. */
  function chooseMember(graph, mask, order) {
    const d = mask.d;
    const compelled = findCompelled(graph, d);
    const [arrows, lines] = [new Uint8Array(d * d), new Uint8Array(d * d)];
    const joined = Array.from({ length: d }, () => new Set());
    for (let i = 0; i < d; i++)
      for (let j = 0; j < d; j++)
        if (graph[i * d + j]) {
          joined[i].add(j);
          joined[j].add(i);
          if (compelled[i * d + j]) arrows[i * d + j] = 1;
          else lines[i * d + j] = lines[j * d + i] = 1;
        }
    for (let i = 0; i < d; i++)
      for (const j of joined[i])
        if (lines[i * d + j] && (mask.required[i * d + j] || (mask.allowed[i * d + j] && !mask.allowed[j * d + i]))) direct(arrows, lines, i, j, d);
    const rank = new Int32Array(d);
    order.forEach((node, place) => (rank[node] = place));
    for (const i of order)
      for (;;) {
        close(arrows, lines, joined, d);
        const later = [...joined[i]].filter((j) => lines[i * d + j] && rank[j] > rank[i]).sort((a, b) => rank[a] - rank[b]);
        if (!later.length) break;
        direct(arrows, lines, i, later[0], d);
      }
    return arrows;
  }

  /* Coefficients of one column of a matrix of moments on others, by Cholesky's factor. */
  function regress(G, width, own, response) {
    const m = own.length;
    const L = own.map((a) => own.map((b) => G[a * width + b]));
    const z = own.map((a) => G[a * width + response]);
    for (let p = 0; p < m; p++) {
      for (let q = 0; q < p; q++) {
        for (let k = 0; k < q; k++) L[p][q] -= L[p][k] * L[q][k];
        L[p][q] /= L[q][q];
        L[p][p] -= L[p][q] * L[p][q];
        z[p] -= L[p][q] * z[q];
      }
      L[p][p] = Math.sqrt(Math.max(L[p][p], 1e-12));
      z[p] /= L[p][p];
    }
    for (let p = m - 1; p >= 0; p--) {
      for (let q = p + 1; q < m; q++) z[p] -= L[q][p] * z[q];
      z[p] /= L[p][p];
    }
    return z;
  }

  /* How much each parent of a category explains beyond the others: acyclic.scores.counts.CountScore.strength. */
  function measureStrengths(graph, { codes, weight, levels }, d) {
    const rows = weight.length;
    const deviance = (j, parents) => {
      const cells = new Map();
      for (let k = 0; k < rows; k++) {
        const key = parents.map((i) => codes[i * rows + k]).join();
        if (!cells.has(key)) cells.set(key, new Float64Array(levels[j]));
        cells.get(key)[codes[j * rows + k]] += weight[k];
      }
      let total = 0;
      for (const cell of cells.values()) {
        const whole = cell.reduce((sum, count) => sum + count, 0);
        for (const count of cell) if (count) total -= 2 * count * Math.log(count / whole);
      }
      return total;
    };
    const strengths = new Float64Array(d * d);
    for (let j = 0; j < d; j++) {
      const parents = Array.from({ length: d }, (_, i) => i).filter((i) => graph[i * d + j]);
      const left = parents.length ? deviance(j, parents) : 0;
      for (const i of parents) {
        const others = deviance(j, parents.filter((other) => other !== i));
        strengths[i * d + j] = Math.max(others > 0 ? Math.sqrt(Math.max(1 - left / others, 0)) : 0, 2.2250738585072014e-308);
      }
    }
    return strengths;
  }

  function draw({ places, drawn, at }, i, part, scale, d) {
    const count = places.length / d;
    const values = Array.from({ length: count }, (_, k) => scale * part.reduce((sum, beta, f) => sum + beta * drawn[(at[i] + f) * count + k], 0));
    return { at: Array.from(places.slice(i * count, (i + 1) * count)), of: [], values: [values], errors: [] };
  }

  /* Slopes between standardised columns, by least squares on the parents. The features of a column do not correlate and
     the first is the column itself, so that its coefficient is the slope of the line through a curve; one without a trend
     has its spread: acyclic.discrete.fitted.Fitted.slopes. Curves are told by what they add at some places. */
  function fit(graph, { d, R, blocks, counts, deviation, canon }) {
    const [slopes, curves] = [new Float64Array(d * d), new Map()];
    if (counts) return { slopes: measureStrengths(graph, counts, d), curves };
    const [G, width, at] = blocks ? [blocks.moments, blocks.at[d], blocks.at] : [R, d, Array.from({ length: d + 1 }, (_, i) => i)];
    for (let j = 0; j < d; j++) {
      const [own, parents] = [[], []];
      for (let i = 0; i < d; i++) {
        const level = graph[i * d + j];
        if (level) parents.push([i, own.length, level]);
        for (let k = 0; k < level; k++) own.push(at[i] + k);
      }
      const beta = regress(G, width, own, at[j]);
      for (const [i, first, level] of parents) {
        const part = beta.slice(first, first + level);
        const spread = Math.hypot(...part);
        slopes[i * d + j] = Math.abs(part[0]) < 0.01 * spread ? spread : part[0];
        if (level > 1) curves.set(i * d + j, draw(blocks, i, part, deviation[canon[j]], d));
      }
    }
    return { slopes, curves };
  }

  function decode(text, kind) {
    const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    return new kind(bytes.buffer);
  }

  /* A symmetric matrix from its upper triangle. */
  function mirror(text, size) {
    const upper = decode(text, Float64Array);
    const whole = new Float64Array(size * size);
    for (let i = 0, k = 0; i < size; i++) for (let j = i; j < size; j++, k++) whole[i * size + j] = whole[j * size + i] = upper[k];
    return whole;
  }

  /* The problem of the page with its arrays unpacked; columns are in canonical order. */
  function unpack(problem) {
    const d = problem.canon.length;
    const { blocks, counts, unit } = problem;
    if (counts) {
      const whole = { weight: Int32Array.from(counts.weight), levels: Int32Array.from(counts.levels) };
      return { ...problem, d, counts: { ...counts, ...whole, codes: decode(counts.codes, Uint8Array) } };
    }
    if (!blocks) return { ...problem, d, R: mirror(problem.correlation, d), unit: unit ? decode(unit, Float64Array) : null };
    const whole = Object.fromEntries(["at", "level_at", "levels", "responses", "bent", "shaped"].map((name) => [name, Int32Array.from(blocks[name])]));
    const numbers = { moments: mirror(blocks.moments, blocks.at[d]), prices: decode(blocks.prices, Float64Array), places: decode(blocks.places, Float64Array), drawn: decode(blocks.drawn, Float64Array) };
    return { ...problem, d, blocks: { ...blocks, ...whole, ...numbers, rows: blocks.rows ? decode(blocks.rows, Float64Array) : null } };
  }

  /* Runs the kernel; everything is in canonical order. */
  function search(wasm, problem, mask) {
    const { d, R, unit, blocks, counts, settings } = problem;
    const before = mask.free ? null : findPrecedence(mask);
    const order = extendOrder(problem.start, before, d);
    const transposed = (matrix) => Uint8Array.from({ length: d * d }, (_, k) => matrix[(k % d) * d + Math.floor(k / d)]);
    const rooms = [];
    const put = (array) => {
      if (!array) return 0;
      const at = wasm.live_room(array.byteLength);
      if (!at) throw new Error("no memory");
      rooms.push(at);
      new Uint8Array(wasm.memory.buffer).set(new Uint8Array(array.buffer, array.byteOffset, array.byteLength), at);
      return at;
    };
    let needed = 0;
    for (let j = 0; j < d; j++) {
      let count = 0;
      for (let i = 0; i < d; i++) count += mask.required[i * d + j];
      needed = Math.max(needed, count);
    }
    const most = Math.min(d, Math.floor(problem.n) - 2, problem.most_parents + needed);
    const rules = mask.free ? [0, 0, 0] : [put(transposed(mask.allowed)), put(transposed(mask.required)), put(before)];
    const [graphAt, scoreAt] = [put(new Uint8Array(d * d)), put(new Float64Array(1))];
    const { exact, detours, insertions, temperature, patience, descent, work, tolerance, branches } = settings;
    const held = [...rules, most, detours, put(Int32Array.from(order))];
    const effort = [insertions, temperature, patience, descent, work, tolerance, branches, graphAt, scoreAt];
    const all = (table, names) => names.map((name) => put(table[name]));
    let status;
    if (blocks) {
      const features = all(blocks, ["at", "level_at", "levels", "responses", "bent", "shaped", "moments", "prices"]);
      const shape = [blocks.n_rows, put(blocks.rows), blocks.shape_price];
      status = wasm.live_blocks(d, ...features, problem.n, problem.price, ...shape, ...held, ...effort);
    } else if (counts) {
      const prices = [counts.unit, counts.extra, counts.sample_size];
      status = wasm.live_counts(d, counts.weight.length, ...all(counts, ["codes", "weight", "levels"]), ...prices, ...held, ...effort);
    } else {
      status = wasm.live_learn(d, put(R), problem.n, problem.price, put(unit), ...held, exact, ...effort);
    }
    const graph = new Uint8Array(wasm.memory.buffer.slice(graphAt, graphAt + d * d));
    const [score] = new Float64Array(wasm.memory.buffer.slice(scoreAt, scoreAt + 8));
    rooms.forEach((at) => wasm.live_free(at));
    if (status < 0) throw new Error("no memory");
    return { graph: exact || unit || blocks ? graph : chooseMember(graph, mask, problem.start), score };
  }

  /* What orients an edge that neither knowledge nor its class does: acyclic.learners.ordering.orient_by_edge. */
  function findOrienter(graph, { d, unit, blocks }) {
    if (!blocks) return () => (unit ? "equal-variances" : "undetermined");
    const bent = Array.from({ length: d }, (_, j) => Array.from({ length: d }, (_, i) => graph[i * d + j] > 1).some(Boolean));
    if (!blocks.rows && !bent.some(Boolean)) return () => "undetermined";
    return (i, j) => (!blocks.shaped[i] || !blocks.shaped[j] ? "undetermined" : bent[i] || bent[j] ? "curvature" : blocks.rows ? "noise-shape" : "undetermined");
  }

  /* From statements to edges with weights, columns by their positions in the page. */
  function learn(wasm, problem, names, statements) {
    const { d, canon, deviation } = problem;
    const mask = compile(canon.map((node) => names[node]), statements);
    if (mask.faults.length) return { faults: mask.faults };
    const { graph, score } = search(wasm, problem, mask);
    const plain = graph.map((level) => Math.min(level, 1));
    const [compelled, orient] = [findCompelled(plain, d), findOrienter(graph, problem)];
    const { slopes, curves } = fit(graph, problem);
    const edges = [];
    for (let i = 0; i < d; i++)
      for (let j = 0; j < d; j++)
        if (graph[i * d + j]) {
          const known = mask.required[i * d + j] || !mask.allowed[j * d + i];
          const [source, target] = [canon[i], canon[j]];
          const standardised = slopes[i * d + j];
          edges.push({
            source,
            target,
            standardised,
            weight: problem.counts ? standardised : (standardised * deviation[target]) / deviation[source],
            reversible: !compelled[i * d + j],
            ...(curves.has(i * d + j) ? { told: curves.get(i * d + j) } : {}),
            support: known ? "knowledge" : compelled[i * d + j] ? "independence" : orient(i, j),
          });
        }
    edges.sort((a, b) => a.source - b.source || a.target - b.target);
    return { score, edges, order: sortTopologically(plain, d).map((node) => canon[node]), faults: [] };
  }

  async function start(kernel) {
    const { instance } = await WebAssembly.instantiate(decode(kernel, Uint8Array), {});
    instance.exports._initialize();
    return instance.exports;
  }

  return { compile, unpack, learn, start };
}
