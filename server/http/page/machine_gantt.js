// SPDX-License-Identifier: Apache-2.0
//
// The last seconds of each worker: a lane of bars, one per unit.
import {byId, count, formatShare, setText, svgElement} from './common.js';
import {StreamPaths, UnitBars} from './machine_bars.js';
import {isShared, windowS} from './machine_history.js';

const axisHeight = 22;
const tickS = 10;
const barsUpTo = 64;        // workers whose units are elements
const wordsUpTo = 16;       // workers that the text for screen readers names one by one
const renewedAfterS = 3600;  // coordinates stay small enough to be exact

function rowHeight(lanes) {
  if (lanes <= 4) return 40;
  if (lanes <= 8) return 28;
  if (lanes <= 32) return 15;
  return lanes <= 64 ? 9 : 4;
}

// The worker's number at its lane, as far apart as texts need.
function laneLabels(workers, row) {
  const step = Math.ceil(14 / row);
  return workers.map(({worker}, index) => index % step ? null : svgElement(
    'text', {x: 0, y: index * row + (row < 14 ? 10 : row / 2 + 4), class: 'soft'},
    workers.length <= 8 ? `worker ${worker}` : String(worker))).filter(Boolean);
}

export class Gantt {
  #box = byId('machine-gantt');
  #shape = '';
  #zero = 0;      // the time of x = 0
  #scale = 1;     // pixels a second
  #row = 0;
  #svg = null;
  #moved = null;  // the group of all bars
  #marks = null;  // what draws into it

  show(report, history) {
    const width = Math.max(240, this.#box.clientWidth);
    const shape = `${width} ${report.workers.map(({worker}) => worker)}`;
    const age = report.now_s - this.#zero;
    if (shape !== this.#shape || age < 0 || age > renewedAfterS) this.#build(report, width);
    this.#shape = shape;
    this.#marks.show(report.workers.map(({worker}) => history.lanes.get(worker)), history.names);
    this.#moved.setAttribute('transform', `translate(${((windowS - (report.now_s - this.#zero)) * this.#scale).toFixed(2)} 0)`);
    this.#svg.setAttribute('aria-label', this.#words(report, history));
    setText(byId('machine-gantt-note'), this.#note(report, history));
  }

  #build(report, width) {
    const {workers} = report;
    const left = workers.length <= 8 ? 72 : 34;
    this.#zero = report.now_s;
    this.#row = rowHeight(workers.length);
    this.#scale = (width - left) / windowS;
    const lanes = workers.length * this.#row;
    this.#moved = svgElement('g');
    const place = {zero: this.#zero, scale: this.#scale, row: this.#row};
    this.#marks = new (workers.length > barsUpTo ? StreamPaths : UnitBars)(this.#moved, place);
    this.#svg = svgElement('svg', {viewBox: `0 0 ${width} ${lanes + axisHeight}`, width, height: lanes + axisHeight, role: 'img'});
    this.#svg.append(...this.#axis(left, workers.length), ...laneLabels(workers, this.#row),
                     svgElement('svg', {x: left, y: 0, width: width - left, height: lanes}, this.#moved));
    this.#box.replaceChildren(this.#svg);
  }

  #axis(left, lanes) {
    const bottom = lanes * this.#row;
    const nodes = this.#row < 14 ? [] : [...Array(lanes).keys()].map((index) => svgElement('rect', {
      x: left, y: index * this.#row + 2, width: windowS * this.#scale, height: this.#row - 4, rx: 3, class: 'track'}));
    for (let ago = windowS; ago >= 0; ago -= tickS) {
      const x = left + (windowS - ago) * this.#scale;
      const anchor = ago === windowS ? 'start' : ago === 0 ? 'end' : 'middle';
      nodes.push(svgElement('line', {x1: x, x2: x, y1: 0, y2: bottom, class: 'grid'}),
                 svgElement('text', {x, y: bottom + 16, 'text-anchor': anchor, class: 'soft'},
                            ago === 0 ? 'now' : `\u2212${ago}\u202fs`));
    }
    return nodes;
  }

  #words(report, history) {
    const units = ({worker}) => count(history.lanes.get(worker).length, 'unit');
    const load = ({worker}) => history.loads.has(worker) ? `, ${formatShare(history.loads.get(worker))} busy` : '';
    const {workers} = report;
    const sum = workers.reduce((total, {worker}) => total + history.lanes.get(worker).length, 0);
    const each = workers.length > wordsUpTo ? '' :
      `: ${workers.map((one) => `worker ${one.worker}: ${units(one)}${load(one)}`).join('; ')}`;
    return `The last ${windowS} seconds: ${count(sum, 'unit')} on ${count(workers.length, 'worker')}${each}`;
  }

  #note({workers}, history) {
    const bars = [...history.lanes.values()].flat();
    if (bars.length === 0) return `Nothing has run for ${windowS} seconds.`;
    const shared = bars.some((bar) => isShared(bar.stream));
    return `One bar per unit, coloured by stream${workers.length > barsUpTo ? '' : '; faint ones still run'}.` +
      (shared ? ' Grey ones are segments of HLS and DASH, or what live streams share.' : '');
  }
}
