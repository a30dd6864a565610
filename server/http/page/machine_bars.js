// SPDX-License-Identifier: Apache-2.0
//
// The marks of the Gantt chart, in a group that is moved as time passes: x is that since `zero`.
import {setHue, setText, svgElement} from './common.js';
import {isShared, nameOfStream} from './machine_history.js';

const classesOf = (shared, running) =>
  ['bar', running && 'running', shared && 'shared'].filter(Boolean).join(' ');

function titleOf(bar, names) {
  const ms = 1000 * (bar.to - bar.from);
  const took = ms < 1000 ? `${ms.toFixed(0)}\u202fms` : `${(ms / 1000).toFixed(2)}\u202fs`;
  return `${nameOfStream(names, bar.stream)}, unit ${bar.unit}: ${took}${bar.running ? ' until now' : ''}`;
}

// An element per unit, which stays from one answer to the next, for its tooltip.
export class UnitBars {
  #shown = new Map();  // lane and key -> {rect, bar, known}

  constructor(group, {zero, scale, row}) {
    Object.assign(this, {group, zero, scale, row});
  }

  show(lanes, names) {
    const wanted = new Map(lanes.flatMap((bars, lane) => bars.map((bar) => [`${lane} ${bar.key}`, [bar, lane]])));
    for (const [key, {rect}] of this.#shown) {
      if (wanted.has(key)) continue;
      rect.remove();
      this.#shown.delete(key);
    }
    for (const [key, [bar, lane]] of wanted) this.#showBar(key, bar, lane, names);
  }

  #showBar(key, bar, lane, names) {
    const known = names.has(bar.stream);
    const shown = this.#shown.get(key);
    if (shown && shown.bar === bar && shown.known === known) return;
    const rect = shown?.rect ?? this.#newRect(bar, lane);
    this.#shown.set(key, {rect, bar, known});
    rect.setAttribute('x', ((bar.from - this.zero) * this.scale).toFixed(2));
    rect.setAttribute('width', Math.max(0.6, (bar.to - bar.from) * this.scale - 0.6).toFixed(2));
    rect.setAttribute('class', classesOf(isShared(bar.stream), bar.running));
    setText(rect.firstChild, titleOf(bar, names));
  }

  #newRect(bar, lane) {
    const margin = this.row < 14 ? 0.5 : 3;
    const rect = svgElement('rect', {y: lane * this.row + margin, height: this.row - 2 * margin,
                                     rx: this.row < 14 ? 0 : 2, 'data-stream': bar.stream}, svgElement('title'));
    setHue(rect, bar.stream);
    return this.group.appendChild(rect);
  }
}

// A path per stream: of hundreds of workers there are too many units for an element each.
export class StreamPaths {
  #shown = new Map();  // stream -> its path

  constructor(group, {zero, scale, row}) {
    Object.assign(this, {group, zero, scale, row});
  }

  show(lanes, names) {
    const lines = new Map();
    lanes.forEach((bars, lane) => {
      for (const bar of bars) {
        if (!lines.has(bar.stream)) lines.set(bar.stream, []);
        lines.get(bar.stream).push(this.#line(bar, lane));
      }
    });
    for (const [stream, path] of this.#shown) {
      if (lines.has(stream)) continue;
      path.remove();
      this.#shown.delete(stream);
    }
    for (const [stream, parts] of lines) this.#showPath(stream, parts.join(''), names);
  }

  #line(bar, lane) {
    const width = Math.max(0.6, (bar.to - bar.from) * this.scale - 0.6);
    return `M${((bar.from - this.zero) * this.scale).toFixed(1)} ${lane * this.row}h${width.toFixed(1)}v${this.row - 1}h-${width.toFixed(1)}z`;
  }

  #showPath(stream, line, names) {
    if (!this.#shown.has(stream)) {
      const made = svgElement('path', {'data-stream': stream}, svgElement('title'));
      setHue(made, stream);
      this.#shown.set(stream, this.group.appendChild(made));
    }
    const path = this.#shown.get(stream);
    path.setAttribute('d', line);
    path.setAttribute('class', classesOf(isShared(stream), false));
    setText(path.firstChild, nameOfStream(names, stream));
  }
}
