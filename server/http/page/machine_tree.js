// SPDX-License-Identifier: Apache-2.0
//
// The machine as nested groups with each worker at its place. It is built when the machine or the
// workers change; each answer only changes texts and colours, so that focus and tooltips stay.
import {byId, count, element, formatShare, setHue, setText} from './common.js';
import {isShared, nameOfStream} from './machine_history.js';

const kindNames = {package: 'Package', numa: 'NUMA node', group: 'Group', die: 'Die', l3: 'L3', l2: 'L2', l1: 'L1',
                   core: 'Core', pu: 'PU'};
const roomyUpTo = 8;
const mediumUpTo = 40;

function cacheSize(bytes) {
  const mebi = bytes / 2 ** 20;
  return mebi < 1 ? `${Math.round(bytes / 2 ** 10)} KiB` : `${Number(mebi.toFixed(1))} MiB`;
}

function labelOf(node) {
  if (node.kind === 'machine') return [];
  const name = kindNames[node.kind] ?? node.kind;
  if (node.cache_bytes) return [`${name} ${cacheSize(node.cache_bytes)}`];
  return [node.os_index === undefined || node.os_index < 0 ? name : `${name} ${node.os_index}`];
}

// What holds workers, with levels of one child folded into it: {labels, kind, groups, workers}.
function withWorkers(node, atPu) {
  const labels = labelOf(node);
  if (node.kind === 'pu') {
    const workers = atPu.get(node.os_index) ?? [];
    atPu.delete(node.os_index);
    return workers.length ? {labels, kind: node.kind, groups: [], workers} : null;
  }
  const groups = (node.children ?? []).map((child) => withWorkers(child, atPu)).filter(Boolean);
  if (groups.length < 2) return groups.length ? {...groups[0], labels: [...labels, ...groups[0].labels]} : null;
  return {labels, kind: node.kind, groups, workers: []};
}

// Also what has none, where its workers follow.
const isTile = (group) => !group || (group.groups.length === 0 && group.workers.length === 1);
const isCore = (group) => group.groups.every(isTile) && group.workers.length + group.groups.length <= 8;

function treeOf(machine, workers) {
  const atPu = new Map();
  for (const each of workers) atPu.set(each.pu, [...(atPu.get(each.pu) ?? []), each]);
  const loose = atPu.get(-1) ?? [];
  atPu.delete(-1);
  const root = machine ? withWorkers(machine, atPu) : null;
  const lost = [...loose, ...[...atPu.values()].flat()];  // on a PU that the machine does not list
  const groups = root ? [root] : [];
  if (lost.length) groups.push({labels: ['Not pinned'], kind: 'loose', groups: [], workers: lost});
  return groups;
}

export function densityOf(workers) {
  if (workers <= roomyUpTo) return 'roomy';
  return workers <= mediumUpTo ? 'medium' : 'dense';
}

export class MachineTree {
  #built = '';
  #tiles = new Map();  // worker -> the parts of its tile

  show(report, history) {
    const {machine, workers} = report;
    const shape = JSON.stringify([machine, workers.map((each) => [each.worker, each.pu])]);
    if (shape !== this.#built) this.#build(machine, workers);
    this.#built = shape;
    for (const worker of workers) this.#update(worker, history);
  }

  #build(machine, workers) {
    this.#tiles.clear();
    const tree = byId('machine-tree');
    tree.dataset.density = densityOf(workers.length);
    tree.replaceChildren(...treeOf(machine, workers).map((group) => this.#group(group, true)));
  }

  // A group of one worker is that worker, but at the top, where it says what machine it is.
  #group(group, top = false) {
    if (!top && isTile(group)) return this.#tile(group.workers[0], group.labels);
    const node = element('li', 'group');
    node.dataset.kind = group.kind;
    const list = element('ul', isTile(group.groups[0]) ? 'tiles' : group.groups.every(isCore) ? 'cores' : 'groups');
    list.append(...group.groups.map((each) => this.#group(each)), ...group.workers.map((each) => this.#tile(each, [])));
    node.append(element('span', 'label', group.labels.join(' \u00b7 ') || 'Machine'), list);
    return node;
  }

  #tile(worker, place) {
    const tile = element('li', 'tile');
    const parts = {tile, place: place.join(', ')};
    for (const name of ['name', 'load', 'queue', 'run']) parts[name] = tile.appendChild(element('span', name));
    parts.name.textContent = `worker ${worker.worker}`;
    if (place.length) parts.name.append(element('span', 'place', place.join(' \u00b7 ')));
    this.#tiles.set(worker.worker, parts);
    return tile;
  }

  #update(worker, history) {
    const {tile, load, queue, run, place} = this.#tiles.get(worker.worker);
    const share = history.loads.get(worker.worker);
    const {running} = worker;
    setText(load, share === undefined ? '' : String(Math.round(100 * share)));
    setText(queue, worker.queued_units ? `+${worker.queued_units}` : '');
    const rests = worker.in_service === false ? 'out of service' : 'idle';
    setText(run, running ? `${nameOfStream(history.names, running.stream)}, unit ${running.unit}` : rests);
    tile.style.setProperty('--load', `${100 * (share ?? 0)}%`);
    tile.classList.toggle('away', worker.in_service === false);
    tile.classList.toggle('shared', Boolean(running) && isShared(running.stream));
    if (running) {
      tile.dataset.stream = running.stream;
      setHue(tile, running.stream);
    } else {
      delete tile.dataset.stream;
    }
    const waiting = worker.queued_units ? `, ${count(worker.queued_units, 'unit')} in its queue` : '';
    tile.title = `worker ${worker.worker}${place ? ` (${place})` : ''}${worker.pinned === false ? ', not pinned' : ''}: ` +
      `${share === undefined ? '' : `${formatShare(share)} busy`}${waiting}; ${run.textContent}`;
  }
}
