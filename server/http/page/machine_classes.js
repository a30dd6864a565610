// SPDX-License-Identifier: Apache-2.0
//
// What service classes should get of the workers, and what they got since the view was opened.
import {byId, element, formatDuration, formatShare, setText} from './common.js';

const titles = ['Class', 'Weight', 'Due', 'Got', 'Waiting', 'At work', 'Workers', 'Deadline'];

function workersText({guaranteed_workers: guaranteed, max_workers: most}) {
  const least = Number(guaranteed.toFixed(2));
  if (most === null || most === undefined) return least ? `${least} at least` : 'any';
  return least ? `${least} to ${most}` : `${most} at most`;
}

function textsOf(each, due, got) {
  const deadline = each.deadline_ms;
  return [each.name, String(each.weight), formatShare(due), got === null ? '\u2013' : formatShare(got),
          String(each.waiting_units), String(each.assigned_units), workersText(each),
          deadline === null || deadline === undefined ? '\u2013' : `${deadline}\u202fms`];
}

function newRow() {
  const row = element('tr');
  row.setAttribute('role', 'row');
  for (const title of titles) {
    const node = row.appendChild(element('td', title === 'Class' ? 'source' : 'number'));
    node.setAttribute('role', 'cell');
    node.dataset.title = title;
  }
  row.children[3].classList.add('got');
  return row;
}

export class ClassTable {
  constructor() {
    const head = element('tr');
    head.setAttribute('role', 'row');
    titles.forEach((title, index) => {
      const node = head.appendChild(element('th', index ? 'number' : '', title));
      node.scope = 'col';
      node.setAttribute('role', 'columnheader');
    });
    byId('machine-classes-head').append(head);
  }

  show(report, history) {
    const {classes} = report;
    byId('machine-classes-part').hidden = classes.length < 2;
    if (classes.length < 2) return;
    const body = byId('machine-classes');
    while (body.children.length > classes.length) body.lastChild.remove();
    while (body.children.length < classes.length) body.append(newRow());
    const weights = classes.reduce((sum, each) => sum + each.weight, 0);
    const {seconds, of} = history.shares(report);
    classes.forEach((each, index) => this.#update(body.children[index], each, each.weight / weights, of[index]));
    setText(byId('machine-classes-note'), `Shares of the work done in ${formatDuration(seconds)}, since this was opened. ` +
      'A class that asks for less than it is due leaves the rest to the others; ' +
      'weights hold under policies that allocate workers to classes (ps-hrw and its like) only.');
  }

  #update(row, each, due, got) {
    textsOf(each, due, got).forEach((text, index) => setText(row.children[index], text));
    row.style.setProperty('--due', `${100 * due}%`);
    row.style.setProperty('--got', `${100 * (got ?? 0)}%`);
  }
}
