// SPDX-License-Identifier: Apache-2.0
//
// The view "Machine": what each worker does, from /v1/workers and /v1/streams. Both are asked for
// once a second, but only while somebody can see it, and never before the answers have come.
import {byId, count, formatShare, formatSize, setText, urlOf} from './common.js';
import {ClassTable} from './machine_classes.js';
import {Gantt} from './machine_gantt.js';
import {History} from './machine_history.js';
import {StreamTable} from './machine_streams.js';
import {densityOf, MachineTree} from './machine_tree.js';

const pollMs = 1000;
const slowestMs = 15000;
const answerMs = 10000;

const view = byId('machine');
const history = new History();
const tree = new MachineTree();
const gantt = new Gantt();
const classes = new ClassTable();
const streams = new StreamTable(() => askNow());
let onScreen = false;
let timer = 0;
let asking = null;     // of the answers that are awaited
let failures = 0;      // in a row
let refused = false;   // until the view is opened anew; the browser would ask for a password each time
let last = null;       // the newest answer
let lit = null;        // the stream whose bars stand out

const isWatched = () => view.open && onScreen && !document.hidden;

class Refused extends Error {}

async function answerOf(path, signal) {
  const response = await fetch(urlOf(path), {headers: {Accept: 'application/json'}, signal});
  if (response.ok) return response.json();
  const problem = await response.json().catch(() => ({}));  // a proxy's is no JSON
  const why = problem.detail || problem.title || `It answered ${response.status}.`;
  throw response.status === 401 ? new Refused(`The server does not know you: ${why}`) : new Error(`The server answered ${response.status}: ${why}`);
}

async function ask(controller) {
  const late = setTimeout(() => controller.abort(), answerMs);
  const paths = ['/v1/workers', '/v1/streams'];
  try {
    const [report, list] = await Promise.all(paths.map((path) => answerOf(path, controller.signal)));
    return {report, streams: list.streams};
  } finally {
    clearTimeout(late);
    controller.abort();  // the other one, where one has failed
  }
}

// What is shown.

function headline({scheduler, workers, waiting_units: units, waiting_bytes: bytes}) {
  const loads = workers.map(({worker}) => history.loads.get(worker)).filter((load) => load !== undefined);
  const busy = loads.length ? `${formatShare(loads.reduce((sum, load) => sum + load, 0) / loads.length)} busy` : '';
  const waiting = `${count(units, 'unit')} in the global queue${units ? ` (${formatSize(bytes)})` : ''}`;
  const away = workers.filter((each) => each.in_service === false).length;
  const atWork = away ? `${workers.length - away} of ${count(workers.length, 'worker')} in service` : count(workers.length, 'worker');
  return [`scheduler ${scheduler}`, atWork, busy, waiting].filter(Boolean).join(' \u00b7 ');
}

function draw() {
  const {report} = last;
  view.dataset.density = densityOf(report.workers.length);
  setText(byId('machine-headline'), headline(report));
  byId('machine-parts').hidden = false;  // before what is measured to be drawn
  tree.show(report, history);
  gantt.show(report, history);
  streams.show(last.streams);
  classes.show(report, history);
}

function take(answer) {
  tell('');
  last = answer;
  history.take(answer.report);
  history.takeStreams(answer.streams);
  draw();
  if (lit !== null) light(byId('machine-streams').querySelector(`[data-stream="${lit}"]`) ? lit : null);
}

function light(stream) {
  lit = stream;
  view.classList.toggle('lights', stream !== null);
  for (const node of view.querySelectorAll('[data-stream]')) node.classList.toggle('lit', node.dataset.stream === stream);
}

// When to ask.

function tell(text) {
  const trouble = byId('machine-trouble');
  if (trouble.hidden !== !text) trouble.hidden = !text;
  setText(byId('machine-trouble-text'), text);
  view.classList.toggle('stale', Boolean(text));
}

function whyOf(error) {
  if (error instanceof TypeError) return 'The server cannot be reached.';
  if (error instanceof SyntaxError) return 'What the server answered is no JSON.';
  if (error.name === 'AbortError') return 'The server does not answer.';
  return error.message;
}

function onFailure(error) {
  refused = error instanceof Refused;
  ++failures;
  history.pause();
  byId('machine-again').hidden = !refused;
  tell(`${whyOf(error)}${refused ? '' : ' It is asked again, less often.'}`);
}

async function poll() {
  timer = 0;
  const mine = asking = new AbortController();
  const [answer, error] = await ask(mine).then((all) => [all], (why) => [null, why]);
  if (asking !== mine) return;  // nobody looks any more
  asking = null;
  if (error) onFailure(error);
  else failures = 0;
  if (isWatched() && !refused) timer = setTimeout(poll, Math.min(slowestMs, pollMs * 2 ** failures));
  if (answer) take(answer);
}

function stopAsking() {
  clearTimeout(timer);
  timer = 0;
  const ended = asking;
  asking = null;
  ended?.abort();
  history.pause();
}

function askNow() {
  if (!isWatched() || asking) return;
  clearTimeout(timer);
  refused = false;
  poll();
}

function onSight() {
  if (!isWatched()) return stopAsking();
  if (!timer && !refused) askNow();
}

function openIfMeant() {
  if (location.hash !== '#machine') return;
  view.open = true;
  view.querySelector('summary').focus({preventScroll: true});
  view.scrollIntoView();
}

view.addEventListener('toggle', () => {
  if (view.open) history.begin();
  refused = false;
  onSight();
});
new IntersectionObserver((entries) => {
  onScreen = entries.at(-1).isIntersecting;
  onSight();
}).observe(view);
document.addEventListener('visibilitychange', onSight);
new ResizeObserver(() => {
  if (!view.open || !last) return;
  gantt.show(last.report, history);
  light(lit);
}).observe(byId('machine-gantt'));
for (const [event, isOn] of [['mouseover', true], ['focusin', true], ['mouseleave', false], ['focusout', false]]) {
  byId('machine-streams').addEventListener(event, ({target}) => light(isOn ? target.closest('tr')?.dataset.stream ?? null : null));
}
byId('machine-again').addEventListener('click', askNow);
byId('machine-link').addEventListener('click', () => setTimeout(openIfMeant));  // also where the hash stays as it is
addEventListener('hashchange', openIfMeant);
openIfMeant();
