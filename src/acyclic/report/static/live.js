"use strict";

/* What the reader states, and the graph that is learned again under it: by a worker, without a request. */
function makeLive(model, data, tell) {
  const learner = makeLearner();
  const names = model.nodes.map((node) => node.name);
  const original = { edges: model.edges, order: model.order, columns: model.columns };
  const isLive = data.live.why === undefined;
  /* Where the page learns by lines alone, the graph of the run is of another world: what changed is told against what
     lines give without the statements. */
  const usual = () => (data.live.lines && baseline && baseline.edges ? baseline.edges : original.edges);
  const PATIENCE = 30000;
  const first = tidy(data.live.knowledge || {});
  let [past, future, statements] = [[], [], first];
  let [worker, number, timer, baseline, result, fault] = [null, 0, 0, null, null, null];
  const [waiting, answers] = [new Map(), new Map()];

  /* Only what is stated, each list in one order, so that equal knowledge is equal text. */
  function tidy(given) {
    const kept = {};
    const sorted = (pairs) => [...new Map(pairs.map((pair) => [JSON.stringify(pair), pair])).entries()].sort((a, b) => (a[0] < b[0] ? -1 : 1)).map(([, pair]) => pair);
    for (const key of ["forbidden", "required"]) if ((given[key] || []).length) kept[key] = sorted(given[key]);
    const tiers = [...(given.tiers || [])].map((tier) => [...tier].sort());
    while (tiers.length && !tiers[tiers.length - 1].length) tiers.pop();
    if (tiers.length) kept.tiers = tiers;
    const closed = (given.closed_tiers || []).filter((tier) => tier < tiers.length);
    if (closed.length) kept.closed_tiers = closed;
    for (const key of ["roots", "sinks"]) if ((given[key] || []).length) kept[key] = [...given[key]];
    return kept;
  }

  const has = (list, pair) => (list || []).some(([a, b]) => a === pair[0] && b === pair[1]);
  const without = (list, pair) => (list || []).filter(([a, b]) => a !== pair[0] || b !== pair[1]);

  function forbid(source, target) {
    const pair = [source, target];
    change({ ...statements, required: without(statements.required, pair), forbidden: [...(statements.forbidden || []), pair] });
  }

  function require(source, target) {
    const [pair, back] = [[source, target], [target, source]];
    const forbidden = without(statements.forbidden, pair);
    change({ ...statements, forbidden, required: [...without(statements.required, back), pair] });
  }

  function setTier(name, position) {
    const tiers = (statements.tiers || []).map((tier) => tier.filter((each) => each !== name));
    if (position !== null) {
      while (tiers.length <= position) tiers.push([]);
      tiers[position].push(name);
    }
    change({ ...statements, tiers });
  }

  function withdraw(key, entry) {
    if (key === "tiers") return setTier(entry, null);
    const left = Array.isArray(entry) ? without(statements[key], entry) : statements[key].filter((each) => each !== entry);
    return change({ ...statements, [key]: left });
  }

  function change(wanted) {
    const next = tidy(wanted);
    if (JSON.stringify(next) === JSON.stringify(statements)) return;
    const faults = learner.compile(names, next).faults;
    if (faults.length) {
      fault = faults[0];
      tell();
      return;
    }
    past.push(statements);
    future = [];
    adopt(next);
  }

  function adopt(next) {
    [statements, fault] = [next, null];
    learn();
  }

  function step(from, to) {
    if (!from.length) return;
    to.push(statements);
    adopt(from.pop());
  }

  /* Ask the worker, unless this was asked before; only the last question counts. */
  function learn() {
    const key = JSON.stringify(statements);
    if (!isLive || key === JSON.stringify(first)) return show(null);
    if (answers.has(key)) return show(answers.get(key));
    result = { pending: true };
    tell();
    Promise.all([ask(first), ask(statements)]).then(([base, answer]) => {
      baseline = base;
      if (!answer.failed) answers.set(key, answer);
      if (key === JSON.stringify(statements)) show(answer);
    });
  }

  function ask(stated) {
    const key = JSON.stringify(stated);
    if (answers.has(key)) return Promise.resolve(answers.get(key));
    if (!worker) open();
    const id = ++number;
    return new Promise((done) => {
      waiting.set(id, (answer) => {
        if (!answer.failed) answers.set(key, answer);
        done(answer);
      });
      worker.postMessage({ id, names, statements: stated });
      clearTimeout(timer);
      timer = setTimeout(() => give({ failed: "time" }), PATIENCE);
    });
  }

  function open() {
    const text = `"use strict";${makeLearner};(${runWorker})()`;
    const address = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
    worker = new Worker(address);
    worker.onmessage = ({ data: answer }) => {
      const done = waiting.get(answer.id);
      waiting.delete(answer.id);
      if (!waiting.size) clearTimeout(timer);
      if (done) done(answer);
    };
    worker.onerror = () => give({ failed: "memory" });
    worker.postMessage({ kernel: document.getElementById("kernel").textContent.trim(), problem: data.live });
    URL.revokeObjectURL(address);
  }

  /* End the worker: all that was asked gets the same answer. */
  function give(answer) {
    worker.terminate();
    worker = null;
    const open = [...waiting.values()];
    waiting.clear();
    open.forEach((done) => done(answer));
  }

  function show(answer) {
    result = answer;
    if (!answer || answer.failed) {
      model.lost = [];
      model.columns = original.columns;
      model.setEdges(original.edges, original.order);
    } else {
      const edges = answer.edges.map(dress);
      model.setEdges(edges, answer.order);
      model.lost = usual().filter((edge) => !joined(answer.edges, edge)).map((edge, k) => ({ ...edge, change: "lost", index: edges.length + k }));
      model.columns = ["source", "target", "weight", "standardised", "support", "rests_on"];
    }
    tell(true);
  }

  const joined = (edges, { source, target }) => edges.find((edge) => (edge.source === source && edge.target === target) || (edge.source === target && edge.target === source));

  /* An edge as the page shows it. Margins are not computed again: what was a near-tie in the run stays one unless the
     knowledge fixes it. */
  function dress(edge) {
    const before = joined(usual(), edge);
    const wasDecided = before && (before.decided ?? before.support !== "undetermined");
    const same = before && before.source === edge.source;
    const tied = same && ["contested", "near-tie"].includes(before.support) && edge.support !== "knowledge";
    const support = tied ? before.support : edge.support;
    const decided = !tied && support !== "undetermined";
    const turned = before && !same && (decided || wasDecided);
    const settled = before && !turned && decided !== wasDecided;
    const change = !before ? "gained" : turned ? "turned" : settled ? (decided ? "settled" : "unsettled") : undefined;
    const open = tied || (edge.reversible && support !== "knowledge");
    return { ...edge, support, decided, open, rests_on: tied ? before.rests_on : data.say[support], bends: [], change };
  }

  function toml() {
    const quoted = (value) => (Array.isArray(value) ? `[${value.map(quoted).join(", ")}]` : JSON.stringify(value).replace(/\x7f/g, "\\u007f"));
    return Object.entries(statements).map(([key, value]) => `${key} = ${quoted(value)}\n`).join("");
  }

  return {
    isLive,
    byLines: Boolean(data.live.lines),
    state: change,
    /* What every change is compared with, learned while the reader still looks. */
    warm: () => isLive && !worker && !answers.size && ask(first),
    why: data.live.why,
    forbid,
    require,
    setTier,
    withdraw,
    toml,
    undo: () => step(past, future),
    redo: () => step(future, past),
    restart: () => change(first),
    canUndo: () => past.length > 0,
    canRedo: () => future.length > 0,
    statements: () => statements,
    isChanged: () => JSON.stringify(statements) !== JSON.stringify(first),
    isForbidden: (source, target) => has(statements.forbidden, [source, target]),
    isRequired: (source, target) => has(statements.required, [source, target]),
    tierOf: (name) => (statements.tiers || []).findIndex((tier) => tier.includes(name)),
    tiers: () => (statements.tiers || []).length,
    outcome: () => ({ result, fault, cost: result && result.score !== undefined && baseline ? result.score - baseline.score : null }),
  };
}

/* All that the worker does: its text is this function and makeLearner. */
function runWorker() {
  const learner = makeLearner();
  let ready = null;
  async function answer({ id, names, statements, kernel, problem }) {
    if (kernel) {
      ready = learner.start(kernel).then((wasm) => ({ wasm, problem: learner.unpack(problem) }));
      return;
    }
    try {
      const own = await ready;
      const started = performance.now();
      const found = learner.learn(own.wasm, own.problem, names, statements);
      postMessage({ id, ...found, seconds: (performance.now() - started) / 1000 });
    } catch {
      postMessage({ id, failed: "memory" });
    }
  }
  onmessage = ({ data }) => answer(data);
}
