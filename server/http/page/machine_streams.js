// SPDX-License-Identifier: Apache-2.0
//
// The table of streams. Rows and cells stay from one answer to the next, for what is focused in them.
import {byId, element, formatShare, setHue, setText, urlOf} from './common.js';

const mostEnded = 10;
const mostRows = 200;
const stopMs = 20000;

const isActive = ({state}) => ['opening', 'analysing', 'running'].includes(state);

function fpsText(fps) {
  const [over, under = 1] = String(fps).split('/').map(Number);
  return `${Number((over / under).toFixed(2))} fps`;
}

function targetText({target}) {
  return target ? `${target.width}\u00d7${target.height} \u00b7 ${fpsText(target.fps)} \u00b7 ${target.vcodec}` : '\u2013';
}

// Of the result, or of what is measured first; null where the end is not known.
function progressOf({state, counts, out_s: out, total_s: total}) {
  if (state === 'analysing' && counts.frames_total > 0) return Math.min(1, counts.frames_analysed / counts.frames_total);
  return total > 0 ? Math.min(1, out / total) : null;
}

const percent = (share) => `${(100 * share).toFixed(1)}\u202f%`;

const columns = [
  {title: 'Stream', name: 'id'},
  {title: 'Source', text: ({source}) => source, name: 'source'},
  {title: 'Target', text: targetText, name: 'target'},
  {title: 'State', text: ({state}) => state, name: 'state'},
  {title: 'Speed', text: ({speed}) => `${speed.toFixed(2)}\u00d7`, name: 'number'},
  {title: 'Frames/s', text: ({fps}) => fps.toFixed(1), name: 'number'},
  {title: 'Out of order', text: ({order}) => percent(order.out_of_order_rate), name: 'number'},
  {title: 'Jitter', text: ({order}) => `${order.after.jitter_ms.toFixed(1)}\u202fms`, name: 'number'},
  {title: 'Progress', name: 'progress'},
  {title: 'More', name: 'links'},
];

function link(text, id, part = '') {
  const node = element('a', '', text);
  node.href = urlOf(`/v1/streams/${id}${part}`);
  node.setAttribute('aria-label', `${text} of stream ${id}`);
  return node;
}

// Tables that become cards on a phone would lose their roles with their display.
function cell(column) {
  const node = element('td', column.name);
  node.setAttribute('role', 'cell');
  node.dataset.title = column.title;
  return node;
}

class Row {
  constructor(id, onStop) {
    this.node = element('tr');
    this.node.setAttribute('role', 'row');
    this.node.dataset.stream = id;
    setHue(this.node, id);
    this.cells = columns.map((column) => this.node.appendChild(cell(column)));
    this.cells[0].append(element('span', 'swatch'), String(id));
    this.bar = element('progress');
    this.bar.setAttribute('aria-label', `Progress of stream ${id}`);
    this.share = element('span');
    this.cells.at(-2).append(this.bar, this.share);
    this.stop = element('button', '', 'Stop');
    this.stop.type = 'button';
    this.stop.setAttribute('aria-label', `Stop stream ${id}`);
    this.stop.addEventListener('click', () => onStop(id, this.stop));
    const joins = link('seams', id, '/seams'), trace = link('trace', id, '/trace');
    trace.download = `stream-${id}-trace.json`;
    this.cells.at(-1).append(link('details', id), joins, trace, this.stop);
  }

  update(stream) {
    columns.forEach((column, index) => column.text && setText(this.cells[index], column.text(stream)));
    const active = isActive(stream);
    const done = progressOf(stream);
    this.node.classList.toggle('ended', !active);
    this.node.title = stream.error ? stream.error.message : '';
    this.bar.hidden = done === null;
    this.bar.value = done ?? 0;
    setText(this.share, done === null ? 'open end' : formatShare(done));
    this.#offerStop(active);
  }

  // Who has just pressed it stays in the row.
  #offerStop(active) {
    if (!active && document.activeElement === this.stop) this.cells.at(-1).querySelector('a').focus();
    this.stop.hidden = !active;
  }
}

// What went wrong, or ''.
async function stopStream(id) {
  try {
    const response = await fetch(urlOf(`/v1/streams/${id}`), {method: 'DELETE', signal: AbortSignal.timeout(stopMs)});
    if (response.ok) return '';
    const problem = await response.json().catch(() => ({}));  // a proxy's is no JSON
    return problem.detail || problem.title || `the server answered ${response.status}`;
  } catch (error) {
    return error.message;
  }
}

export class StreamTable {
  #rows = new Map();
  #body = byId('machine-streams');

  constructor(onStopped) {
    const head = element('tr');
    head.setAttribute('role', 'row');
    for (const column of columns) {
      const title = head.appendChild(element('th', column.name, column.title));
      title.scope = 'col';
      title.setAttribute('role', 'columnheader');
    }
    byId('machine-streams-head').append(head);
    this.onStopped = onStopped;
  }

  show(streams) {
    const newest = [...streams].sort((a, b) => b.id - a.id);
    const active = newest.filter(isActive);
    const ended = newest.filter((stream) => !isActive(stream));
    const listed = [...active.slice(0, mostRows), ...ended.slice(0, mostEnded)];
    this.#showRows(listed);
    byId('machine-streams-table').hidden = listed.length === 0;
    const more = active.length - mostRows;
    setText(byId('machine-streams-note'), more > 0 ? `${more} more run.` : listed.length ? '' : 'No stream runs, none has ended.');
  }

  #showRows(listed) {
    const kept = new Set(listed.map(({id}) => id));
    for (const [id, row] of this.#rows) {
      if (kept.has(id)) continue;
      row.node.remove();
      this.#rows.delete(id);
    }
    const focused = document.activeElement;
    listed.forEach((stream, index) => {
      if (!this.#rows.has(stream.id)) this.#rows.set(stream.id, new Row(stream.id, (...all) => this.#stop(...all)));
      const row = this.#rows.get(stream.id);
      row.update(stream);
      if (this.#body.children[index] !== row.node) this.#body.insertBefore(row.node, this.#body.children[index] ?? null);
    });
    // A row that has moved loses it.
    if (this.#body.contains(focused) && document.activeElement !== focused) focused.focus({preventScroll: true});
  }

  async #stop(id, button) {
    const problem = byId('machine-problem');
    problem.hidden = true;
    button.disabled = true;
    const why = await stopStream(id);
    button.disabled = false;
    if (why) problem.replaceChildren(element('strong', '', `Stream ${id} could not be stopped`), element('span', '', why));
    problem.hidden = !why;
    this.onStopped();
  }
}
