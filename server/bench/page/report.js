// SPDX-License-Identifier: Apache-2.0
//
// Draws the charts of a bench report from the JSON in the page. No network, no libraries.
'use strict';

const data = JSON.parse(document.getElementById('data').textContent);
const policies = data.policies;
const byId = (id) => document.getElementById(id);

function el(name, attributes, ...children) {
  const svg = ['svg', 'g', 'rect', 'line', 'circle', 'text', 'title'].includes(name);
  const node = svg ? document.createElementNS('http://www.w3.org/2000/svg', name)
                   : document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) node.setAttribute(key, value);
  for (const child of children) node.append(child);
  return node;
}

const text = (x, y, content, extra = {}) => el('text', {x, y, ...extra}, content);
const titled = (node, title) => { node.append(el('title', {}, title)); return node; };
// null: not measured.
const median = (policy, name) => policy.measures[name]?.median ?? null;
const greatest = (values) => Math.max(0, ...values.filter((value) => value !== null)) || 1;

// A measure of a policy as people read it: scaled, with its decimals and unit.
function shown(name, value) {
  if (value === null) return '\u2013';
  const {scale, decimals, unit} = data.measures[name];
  return (value * scale).toFixed(decimals) + (unit ? '\u202f' + unit : '');
}

// Round numbers from low to high, about `count` of them.
function ticks(low, high, count) {
  const raw = (high - low) / count || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].find((factor) => factor * power >= raw) * power;
  const list = [];
  for (let n = Math.ceil(low / step - 1e-9); n * step <= high * (1 + 1e-9); ++n) list.push(n * step);
  return list;
}

const tickLabel = (value) => String(Number(value.toPrecision(6)));
// Of the longest of these texts, and a gap.
const widthOf = (texts) => 12 + 7 * Math.max(...texts.map((each) => each.length));
const nameWidth = () => widthOf(policies.map((policy) => policy.policy));

// One row per policy: names to the left, values to the right, marks between on a shared axis.
// options: low, high, label (of all), value(policy) -> text, marks(policy, x, y) -> nodes,
// rowHeight, axisScale.
function rowChart(id, options) {
  const box = byId(id);
  const width = Math.max(280, box.clientWidth);
  const left = nameWidth(), right = widthOf(policies.map(options.value)), row = options.rowHeight ?? 26;
  const bottom = options.axis === false ? 4 : 22;
  const height = policies.length * row + bottom;
  const {low, high} = options;
  const inner = Math.max(1, width - left - right);
  const x = (value) => left + inner * (value - low) / (high - low || 1);
  const svg = el('svg', {viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label':
    options.label + ': ' + policies.map((p) => `${p.policy} ${options.value(p)}`).join(', ')});
  if (options.axis !== false) {
    for (const tick of ticks(low, high, Math.max(2, inner / 80))) {
      svg.append(el('line', {x1: x(tick), x2: x(tick), y1: 0, y2: height - bottom, class: 'grid'}),
                 text(x(tick), height - 6, tickLabel(tick * (options.axisScale ?? 1)),
                      {class: 'soft', 'text-anchor': 'middle'}));
    }
  }
  policies.forEach((policy, index) => {
    const y = index * row + row / 2;
    const group = el('g', {'data-policy': policy.policy});
    group.append(text(0, y + 4, policy.policy), ...options.marks(policy, x, y),
                 text(width, y + 4, options.value(policy), {'text-anchor': 'end', class: 'value'}));
    svg.append(group);
  });
  box.replaceChildren(svg);
}

function barChart(id, name, value) {
  const high = greatest(policies.map((policy) => median(policy, name)));
  rowChart(id, {
    low: 0, high, axisScale: data.measures[name].scale,
    label: data.measures[name].meaning,
    value: value ?? ((policy) => shown(name, median(policy, name))),
    marks: (policy, x, y) => median(policy, name) === null ? [] : [titled(
      el('rect', {x: x(0), y: y - 7, width: Math.max(0, x(median(policy, name)) - x(0)), height: 14,
                  rx: 2, class: 'bar'}),
      `${policy.policy}: ${shown(name, median(policy, name))}`)],
  });
}

function throughput() {
  const of = (policy) => policy.measures.gops_per_s;
  const least = Math.min(...policies.map((policy) => of(policy).low));
  const high = Math.max(...policies.map((policy) => of(policy).high));
  const margin = Math.max((high - least) * 0.15, high * 0.02);
  const low = Math.max(0, least - margin);
  rowChart('throughput', {
    low, high: high + margin, label: 'GOPs per second',
    value: (policy) => of(policy).median.toFixed(1),
    marks: (policy, x, y) => {
      const {median, low, high} = of(policy);
      const range = `${low.toFixed(1)} to ${high.toFixed(1)}`;
      return [
        el('line', {x1: x(low), x2: x(high), y1: y, y2: y, class: 'pale'}),
        titled(el('circle', {cx: x(median), cy: y, r: 5, class: 'dot'}),
               `${policy.policy}: ${median.toFixed(2)} GOPs/s, interval ${range}`)];
    },
  });
  const coverage = (100 * data.interval.coverage).toFixed(1);
  byId('throughput-note').textContent = 'GOPs per second: ' + (data.repeats === 1 ? 'one run each. ' :
    `median of ${data.repeats} interleaved repeats; the bands hold the true median with ${coverage} %. `) +
    'The axis does not begin at zero.';
}

function cores() {
  rowChart('cores', {
    low: 0, high: 1, axis: false, rowHeight: 42,
    label: 'Utilisation, imbalance',
    value: (policy) => `${shown('utilisation', median(policy, 'utilisation'))}`,
    marks: (policy, x, y) => {
      const step = (x(1) - x(0)) / policy.cores.length;
      const gap = Math.min(6, step * 0.15);
      return policy.cores.flatMap((core, index) => {
        const share = core.utilisation, from = x(0) + index * step;
        const nodes = [
          el('rect', {x: from, y: y - 16, width: step - gap, height: 32, rx: 2, class: 'track'}),
          titled(el('rect', {x: from, y: y + 16 - 32 * share, width: step - gap, height: 32 * share,
                             rx: 2, class: 'bar'}),
                 `worker ${core.worker} on CPU ${core.cpu}: ${(100 * share).toFixed(1)} % busy, ` +
                 `${core.units} units`)];
        if (step > 44) {
          const percent = `${(100 * share).toFixed(0)}\u202f%`;
          nodes.push(text(from + 6, share > 0.45 ? y + 12 : y - 3, step > 110 ? `CPU ${core.cpu}: ${percent}` : percent,
                          {style: `fill: var(--${share > 0.45 ? 'card' : 'ink'}); font-weight: 600`}));
        }
        return nodes;
      });
    },
  });
}

function twoPoints(id, first, second, label) {
  const high = greatest(policies.flatMap((p) => [median(p, first), median(p, second)]));
  rowChart(id, {
    low: 0, high, label,
    value: (p) => `${shown(first, median(p, first))} \u2192 ${shown(second, median(p, second))}`,
    marks: (p, x, y) => median(p, first) === null || median(p, second) === null ? [] : [
      el('line', {x1: x(median(p, first)), x2: x(median(p, second)), y1: y, y2: y, class: 'span'}),
      titled(el('circle', {cx: x(median(p, first)), cy: y, r: 5, class: 'hollow'}),
             `${p.policy}: ${shown(first, median(p, first))}`),
      titled(el('circle', {cx: x(median(p, second)), cy: y, r: 5, class: 'dot'}),
             `${p.policy}: ${shown(second, median(p, second))}`)],
  });
}

function latency() {
  const names = ['latency_p50_ms', 'latency_p95_ms', 'latency_p99_ms'];
  const high = Math.max(...policies.map((policy) => median(policy, names[2]))) || 1;
  rowChart('latency', {
    low: 0, high, label: 'Latency p50, p95, p99 in ms',
    value: (p) => names.map((name) => median(p, name).toFixed(0)).join(' / ') + '\u202fms',
    marks: (p, x, y) => [
      el('line', {x1: x(median(p, names[0])), x2: x(median(p, names[2])), y1: y, y2: y, class: 'span'}),
      ...names.map((name, index) => titled(
        el('circle', {cx: x(median(p, name)), cy: y, r: 5, class: index === 1 ? 'dot' : 'hollow'}),
        `${p.policy}: ${shown(name, median(p, name))}, ${data.measures[name].meaning}`))],
  });
}

const legend = (names) => el('ul', {class: 'legend'}, ...names.map((name, index) =>
  el('li', {}, el('i', {style: `background: var(--s${index % 7})`}), name)));

function stages(id, all, label) {
  const names = all.filter((name) => policies.some((policy) => policy.stages_ms[name] !== null));
  const sum = (policy) => names.reduce((total, name) => total + policy.stages_ms[name], 0);
  const high = Math.max(...policies.map(sum)) || 1;
  rowChart(id, {
    low: 0, high, label, value: (policy) => sum(policy).toFixed(2) + '\u202fms',
    marks: (policy, x, y) => {
      let from = 0;
      return names.map((name, index) => {
        const to = from + Math.max(0, policy.stages_ms[name]);
        const rect = el('rect', {x: x(from), y: y - 8, width: Math.max(0, x(to) - x(from)), height: 16,
                                 style: `fill: var(--s${index})`});
        from = to;
        return titled(rect, `${policy.policy}, ${name}: ${policy.stages_ms[name].toFixed(3)} ms`);
      });
    },
  });
  byId(id).prepend(legend(names));
}

// More values than these leave no room for the marks; the marks' titles have each of them.
const mostShares = 6;

function shares() {
  const classes = data.classes, due = classes.map((each) => each.due);
  const of = (policy) => policy.class_shares.map((share) => share?.median ?? null);
  const before = (list, index) => list.slice(0, index).reduce((sum, share) => sum + share, 0);
  const percent = (share) => share === null ? '\u2013' : (100 * share).toFixed(1);
  const percents = (list) => list.map(percent).join(' / ') + '\u202f%';
  rowChart('shares', {
    low: 0, high: 1, axisScale: 100,
    label: 'Shares of ' + classes.map((each) => each.name).join(', '),
    value: (policy) => classes.length > mostShares ? '' : percents(of(policy)),
    marks: (policy, x, y) => [
      ...of(policy).map((share, index) => titled(
        el('rect', {x: x(before(of(policy), index)), y: y - 8, width: x(share) - x(0), height: 16,
                    style: `fill: var(--s${index % 7})`}),
        `${policy.policy}, ${classes[index].name}: ${percents([share])}, due ${percents([due[index]])}`)),
      ...due.slice(1).map((_, index) => el('line', {
        x1: x(before(due, index + 1)), x2: x(before(due, index + 1)), y1: y - 11, y2: y + 11, class: 'due'}))],
  });
  byId('shares').prepend(legend(classes.map((each) => `${each.name} (due ${percents([each.due])})`)));
}

function gantt() {
  const run = data.gantt.find((each) => each.policy === byId('gantt-policy').value);
  if (!run) return;
  const box = byId('gantt');
  const width = Math.max(280, box.clientWidth), left = 62, row = 30, bottom = 22;
  const workers = run.workers.length, height = workers * row + bottom;
  const end = Math.max(...run.slices.map((slice) => slice[3] + slice[4]), 1e-3);
  const x = (ms) => left + (width - left - 4) * ms / end;
  const svg = el('svg', {viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label':
    `Units of ${run.policy} on ${workers} workers over ${(end / 1000).toFixed(2)} seconds`});
  for (const tick of ticks(0, end / 1000, width / 110)) {
    svg.append(el('line', {x1: x(tick * 1000), x2: x(tick * 1000), y1: 0, y2: height - bottom, class: 'grid'}),
               text(x(tick * 1000), height - 6, tickLabel(tick) + ' s', {class: 'soft', 'text-anchor': 'middle'}));
  }
  run.workers.forEach((cpu, index) => svg.append(text(0, index * row + row / 2 + 4, `CPU ${cpu}`)));
  for (const [worker, stream, unit, start, duration, cold] of run.slices) {
    // The golden angle keeps the colours of neighbours apart.
    const hue = (stream * 137.508) % 360;
    const rect = el('rect', {x: x(start), y: worker * row + 3, height: row - 6,
      width: Math.max(0.5, x(start + duration) - x(start) - 0.4),
      style: `fill: hsl(${hue} 60% var(--slice)); opacity: ${cold ? 1 : 0.78}`});
    svg.append(titled(rect, `stream ${stream}, unit ${unit}: ${duration.toFixed(2)} ms` +
                            (cold ? ', cold' : '')));
  }
  box.replaceChildren(svg);
  byId('gantt-note').textContent = 'Colours are streams; strong ones opened contexts.' +
    (run.complete ? '' : ` The first ${run.slices.length} units are shown.`);
}

// The policy with the best median, and how many others its interval does not keep apart from it.
function leader(name, better) {
  const best = policies.reduce((a, b) => better(median(a, name), median(b, name)) ? a : b);
  const {low, high, coverage} = best.measures[name];
  const near = policies.filter((policy) => policy !== best && policy.measures[name].low <= high &&
                                           low <= policy.measures[name].high).length;
  const doubt = data.repeats === 1 ? 'one run each' :
    near ? `interval overlaps ${near} other${near === 1 ? '' : 's'}` :
    coverage < 0.95 ? `intervals of only ${(100 * coverage).toFixed(1)}\u202f%` : '';
  return {policy: best.policy, value: shown(name, median(best, name)), doubt: policies.length > 1 ? doubt : ''};
}

function cards() {
  const most = (a, b) => a >= b, least = (a, b) => a <= b;
  const card = (title, value, ...details) =>
    el('div', {class: 'card'}, el('span', {}, title), el('b', {}, value),
       ...details.filter((detail) => detail).map((detail) => el('span', {}, detail)));
  const best = (title, {policy, value, doubt}, unit) => card(title, policy, value + unit, doubt);
  byId('cards').replaceChildren(
    best('most GOPs/s', leader('gops_per_s', most), ' GOPs/s'),
    best('lowest p99', leader('latency_p99_ms', least), ''),
    best('best order', leader('reordered', least), ' out of order'),
    card('units per run', String(data.runs[0].gops), `${data.streams} streams, ${data.runs.length} runs`));
}

function numbers() {
  const head = el('tr', {}, el('th', {scope: 'col'}, ''),
                  ...policies.map((policy) => el('th', {scope: 'col'}, policy.policy)));
  const rows = Object.entries(data.measures).map(([name, {meaning}]) => {
    const label = el('td', {}, name, el('small', {}, meaning));
    return el('tr', {'data-measure': name}, label, ...policies.map((policy) =>
      el('td', {}, shown(name, median(policy, name)))));
  });
  byId('numbers').replaceChildren(head, ...rows);
}

// A row for each policy but the baseline; `number` shows one value of a measure.
function paired(id, names, heading, number) {
  const range = (name, interval) => {
    if (!interval) return '\u2013';
    const of = (part) => number(name, interval[part]);
    const rounds = interval.values === data.repeats ? '' :
      ` of ${interval.values} rounds: ${(100 * interval.coverage).toFixed(1)}\u202f%`;
    if (interval.values === 1) return of('median');
    return `${of('median')} (${of('low')} to ${of('high')}${rounds})`;
  };
  byId(id).replaceChildren(
    el('tr', {}, el('th', {scope: 'col'}, ''), ...names.map((name) =>
      el('th', {scope: 'col', title: data.measures[name].meaning}, heading(name)))),
    ...policies.filter((policy) => policy.policy !== data.baseline).map((policy) =>
      el('tr', {'data-policy': policy.policy}, el('td', {}, policy.policy),
        ...names.map((name) => el('td', {}, range(name, policy[id][name]))))));
}

function comparisons() {
  const heading = (name) => data.measures[name].heading;
  byId('ratios-title').textContent = `Against ${data.baseline}, round by round`;
  paired('ratios', data.compared.ratios, heading, (name, value) => value.toFixed(3));
  paired('differences', data.compared.differences, (name) => `${heading(name)} ${data.measures[name].unit.replace('%', 'points')}`,
         (name, value) => (value > 0 ? '+' : '') + (value * data.measures[name].scale).toFixed(2));
}

function facts() {
  const m = data.machine;
  const entries = {
    'command': data.command.join(' '), 'machine': `${m.cpu}, ${m.cpus} CPUs, ${m.kernel}`,
    'load before': m.load.toFixed(2), 'date': m.date,
    'versions': `gopmill ${m.gopmill}, FFmpeg ${m.ffmpeg}, compiler ${m.compiler}`,
    'workload': `${data.workload}, ${data.streams} streams, units: ${data.unit}, seed ${data.seed}`,
    'run queues': data.queue ? `${data.queue} units, the running one included` : 'without bound',
    'repeats': String(data.repeats) + (policies.length === 1 ? '' : ', interleaved: after each ' +
      `${data.balanced_rounds} every policy has run as often in each place and behind each other one`),
    'warm-up': data.warm_up_runs ? `runs before that count nowhere: ${data.warm_up_runs}` : 'none',
    'intervals': data.repeats === 1 ? 'none: one run each' :
      `${data.interval.method}, coverage ${(100 * data.interval.coverage).toFixed(1)} %`,
    'cache misses': data.cache_misses,
    'outputs': data.violations.length ? 'see above' : hasMedia ?
      'the same bytes from every policy and repeat' : 'none: a replay has no media',
  };
  byId('facts').replaceChildren(...Object.entries(entries).flatMap(([key, value]) =>
    [el('dt', {}, key), el('dd', {}, value)]));
  byId('lead').textContent = `${m.cpu}, ${m.cpus} CPUs. ${m.date}.`;
  byId('alerts').replaceChildren(...data.violations.map((violation) =>
    el('p', {class: 'alert', role: 'alert'}, violation)));
}

function draw() {
  throughput();
  cores();
  barChart('order', 'reordered');
  twoPoints('gaps', 'gap_before_ms', 'gap_after_ms', 'Gap deviation before and after reordering');
  latency();
  twoPoints('firstbyte', 'first_byte_ms', 'first_byte_max_ms', 'Time to first byte, median and worst');
  barChart('overhead', 'decision_us',
           (p) => `${shown('decision_us', median(p, 'decision_us'))}, ${shown('overhead', median(p, 'overhead'))}`);
  barChart('idle', 'idle_waiting_ms');
  barChart('away', 'disruption');
  barChart('cold', 'cold');
  if (hasShares) shares();
  if (hasMisses) {
    barChart('misses', 'cache_misses_per_gop',
             (p) => Math.round(median(p, 'cache_misses_per_gop')).toLocaleString('en'));
  }
  stages('work', ['decode', 'filter', 'encode', 'other'], 'Time on the worker');
  stages('waits', ['read', 'window wait', 'global queue', 'schedule', 'run queue', 'reorder wait',
                   'mux and send'], 'Time around the worker');
  gantt();
}

const hasMedia = data.runs[0].streams[0].hash !== null;
const hasShares = data.classes.length > 0;
const hasMisses = policies.every((policy) => policy.measures.cache_misses_per_gop);
if (!hasShares) byId('shares-section').remove();
if (!hasMisses) byId('misses-section').remove();
if (policies.length > 1) comparisons(); else byId('ratios-section').remove();
byId('gantt-policy').replaceChildren(...data.gantt.map((run) => el('option', {}, run.policy)));
byId('gantt-policy').addEventListener('change', gantt);
cards();
numbers();
facts();
draw();
let drawnWidth = innerWidth;
addEventListener('resize', () => {
  if (innerWidth === drawnWidth) return;
  drawnWidth = innerWidth;
  draw();
});
