"use strict";

/* What drives a column, and what follows from it: as acyclic.trust.explaining has it, from the numbers in the page. */
function makeAsk(model, data) {
  const ask = data.ask;
  const d = model.nodes.length;
  const bounds = new Map(ask.bounds.map(([i, j, least, most]) => [i * d + j, [least, most]]));
  const draws = ask.draws && unpack(ask.draws);
  const fill = (key, values) => ask.say[key].replace(/\{(\w+)\}/g, (_, name) => values[name]);
  const short = (value, digits) => Number(value.toPrecision(digits)).toString().replace("-", "−");
  const number = (value) => (value > 0 ? "+" : "") + short(value, 2);

  function bytes(text) {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0)).buffer;
  }

  function unpack(packed) {
    const places = new Uint32Array(bytes(packed.places));
    const weights = new Float32Array(bytes(packed.weights));
    let start = 0;
    return packed.counts.map((count) => {
      const edges = [];
      for (let k = start; k < start + count; k++) edges.push([Math.floor(places[k] / d), places[k] % d, weights[k]]);
      start += count;
      return edges;
    });
  }

  /* Total effects on a node, or of it, in one drawn graph: along paths of one edge more each time. */
  function addPaths(edges, node, onto, weigh) {
    let total = new Float64Array(d);
    total[node] = 1;
    for (let step = 0; step < d; step++) {
      const next = new Float64Array(d);
      next[node] = 1;
      for (const [i, j, weight] of edges) {
        if (onto) next[i] += weigh(weight) * total[j];
        else next[j] += weigh(weight) * total[i];
      }
      if (next.every((value, k) => value === total[k])) break;
      total = next;
    }
    return total;
  }

  /* What is left where paths cancel each other is rounding. */
  function drawnEffects(edges, node, onto) {
    const carried = addPaths(edges, node, onto, Math.abs);
    const total = addPaths(edges, node, onto, (weight) => weight).map((value, k) => (Math.abs(value) > 1e-12 * carried[k] ? value : 0));
    total[node] = 0;
    return total;
  }

  function quantile(sorted, share) {
    const at = share * (sorted.length - 1);
    const low = Math.floor(at);
    return sorted[low] + (at - low) * (sorted[Math.min(low + 1, sorted.length - 1)] - sorted[low]);
  }

  /* Whether the given nodes block every path: in the moral graph of all ancestors no path without them is left. */
  function isSeparated(one, other, given, cut) {
    const parents = (node) => model.parents[node].filter((edge) => edge.source !== cut).map((edge) => edge.source);
    const kept = new Set();
    const waiting = [one, other, ...given];
    while (waiting.length) {
      const node = waiting.pop();
      if (kept.has(node)) continue;
      kept.add(node);
      waiting.push(...parents(node));
    }
    const around = new Map([...kept].map((node) => [node, new Set()]));
    for (const node of kept) {
      const family = [node, ...parents(node)];
      for (const a of family) for (const b of family) if (a !== b) around.get(a).add(b);
    }
    const blocked = new Set(given);
    const seen = new Set([one]);
    const front = [one];
    while (front.length) {
      for (const next of around.get(front.pop())) {
        if (seen.has(next) || blocked.has(next)) continue;
        seen.add(next);
        front.push(next);
      }
    }
    return !seen.has(other);
  }

  function adjustment(cause, outcome) {
    let chosen = model.parents[cause].map((edge) => edge.source).sort((a, b) => a - b);
    if (chosen.includes(outcome)) return [];
    for (const node of [...chosen]) {
      const rest = chosen.filter((other) => other !== node);
      if (isSeparated(cause, outcome, rest, cause)) chosen = rest;
    }
    return chosen;
  }

  /* Effects on a node, or of it, the largest first; without intervals and bounds where the page learned again. */
  function effects(node, onto, changed) {
    const point = new Map(onto ? model.effectsOn(node) : model.effectsOf(node));
    const spread = !changed && draws ? draws.map((edges) => drawnEffects(edges, node, onto)) : null;
    const found = [];
    for (let other = 0; other < d; other++) {
      const [cause, outcome] = onto ? [other, node] : [node, other];
      const effect = point.get(other) || 0;
      const [least, most] = (!changed && bounds.get(cause * d + outcome)) || [effect, effect];
      if (other === node || (!effect && !least && !most)) continue;
      const scale = ask.deviations.length ? ask.deviations[cause] / ask.deviations[outcome] : 1;
      const values = spread && spread.map((total) => total[other]).sort((a, b) => a - b);
      found.push({
        other, cause, outcome, effect, least, most, scale,
        lower: values ? quantile(values, (1 - ask.level) / 2) : null,
        upper: values ? quantile(values, (1 + ask.level) / 2) : null,
        confidence: values ? values.filter((value) => value !== 0).length / values.length : null,
      });
    }
    const size = (row) => Math.abs(row.effect * row.scale);
    return found.sort((a, b) => !a.effect - !b.effect || size(b) - size(a) || a.other - b.other);
  }

  function sentence(row) {
    const ends = { cause: model.nodes[row.cause].name, outcome: model.nodes[row.outcome].name };
    const scaled = ask.deviations.length > 0;
    const unit = scaled ? fill("deviation", { value: short(ask.deviations[row.cause], 3) }) : ask.say.unit;
    const between = (low, high) => ({ low: number(low * row.scale), high: number(high * row.scale) });
    if (!row.effect) return fill("maybe", { ...ends, unit, ...between(row.least, row.most) });
    const size = number(row.effect * row.scale);
    let said = fill("raise", { ...ends, unit, size: scaled ? fill("deviations", { size }) : size });
    if (row.lower !== null) said += fill("interval", between(row.lower, row.upper));
    if (row.confidence !== null) said += fill("confidence", { share: Math.floor(100 * row.confidence + 0.5) });
    if (row.least < row.most) said += fill("bounds", between(row.least, row.most));
    const held = adjustment(row.cause, row.outcome).map((node) => model.nodes[node].name);
    return held.length ? said + fill("adjust", { names: held.join(", ") }) : said;
  }

  /* Bars of the effects, each with its interval; the sentences say the same. */
  function chart(rows) {
    const space = "http://www.w3.org/2000/svg";
    const make = (name, attributes, text) => {
      const element = document.createElementNS(space, name);
      Object.entries(attributes).forEach(([key, value]) => element.setAttribute(key, value));
      if (text !== undefined) element.textContent = text;
      return element;
    };
    const [width, step] = [480, 24];
    const longest = Math.max(...rows.map((row) => model.nodes[row.other].label.length));
    const [left, right] = [16 + 7.4 * Math.min(longest, 24), width - 8];
    const ends = rows.flatMap((row) => [row.effect, row.lower ?? 0, row.upper ?? 0].map((value) => value * row.scale));
    const [low, high] = [Math.min(0, ...ends), Math.max(0, ...ends)];
    const x = (value) => left + ((right - left) * (value - low)) / (high - low || 1);
    const drawing = make("svg", { viewBox: `0 0 ${width} ${rows.length * step + 8}`, class: "chart effects", role: "img", "aria-label": "Bar chart of the effects in the sentences beside it" });
    drawing.append(make("path", { class: "axis", d: `M${x(0)} 2V${rows.length * step + 4}` }));
    rows.forEach((row, k) => {
      const [y, value] = [k * step + 5, row.effect * row.scale];
      const label = model.nodes[row.other].label;
      drawing.append(make("text", { x: left - 8, y: y + 13, "text-anchor": "end" }, label));
      drawing.append(make("rect", { class: value < 0 ? "negative" : "positive", x: x(Math.min(0, value)), y, width: Math.abs(x(value) - x(0)), height: step - 10 }));
      if (row.lower === null) return;
      const [a, b] = [x(row.lower * row.scale), x(row.upper * row.scale)];
      const middle = y + (step - 10) / 2;
      drawing.append(make("path", { class: "whisker", d: `M${a} ${middle}H${b}M${a} ${middle - 4}v8M${b} ${middle - 4}v8` }));
    });
    return drawing;
  }

  return { effects, sentence, chart, say: fill, notes: ask.notes, most: ask.most };
}
