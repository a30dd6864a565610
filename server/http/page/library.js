// SPDX-License-Identifier: Apache-2.0
//
// The movies of the library and, below them, who publishes, as rows of the form to choose from.
import {byId, element, formatDuration, formatSize, urlOf} from './common.js';

const form = byId('request');
const sources = new Map();  // what is listed, by path
let wanted = '';  // the movie that was chosen last, whether it is there now or not
let refused = false;  // the last listing was refused: the browser asks for a password each time
let answered = false;  // the library was listed, or cannot be
let onListed = () => {};

const listingMs = 40000;  // longer than a server takes that is there

// What is known of it, as /v1/sources has it.
export function sourceOf(path) {
  return sources.get(path) || {};
}

// Stays chosen when the list is made anew.
export function want(path) {
  wanted = path;
}

function factsOf(source) {
  const facts = [];
  const picture = source.video;
  if (picture) {
    facts.push(`${picture.width}\u00d7${picture.height}`, picture.codec);
    if (picture.fps) facts.push(`${Number(picture.fps.toFixed(2))} fps`);
  }
  const leftOut = source.unusable_audio;
  facts.push(source.audio ? `${source.audio.codec} ${source.audio.channels} ch`
      : leftOut ? `audio left out: ${leftOut.join(', ')}` : 'no audio');
  if (source.duration_s) facts.push(formatDuration(source.duration_s));
  if (source.size_bytes) facts.push(formatSize(source.size_bytes));
  return facts.join(' \u00b7 ');
}

function movieRow(source) {
  if (!source.error) sources.set(source.path, source);
  const row = element('label', source.error ? 'movie broken' : 'movie');
  const radio = element('input');
  radio.type = 'radio';
  radio.name = 'movie';
  radio.value = source.path;
  radio.disabled = Boolean(source.error);
  row.append(radio, element('span', 'name', source.path),
             element('span', 'facts', source.error ? source.error.message : factsOf(source)));
  return row;
}

// What was chosen, if it is there, and no other in its place; at the beginning the first one, which
// is no live source as long as the library is not known.
function choose() {
  const usable = [...form.querySelectorAll('input[name=movie]:not(:disabled)')];
  if (!wanted && answered && usable.length > 0) wanted = usable[0].value;
  const radio = usable.find((one) => one.value === wanted);
  if (radio) radio.checked = true;
}

// Focus and place in the list stay.
function showRows(list, rows) {
  const top = list.scrollTop;
  const focused = list.contains(document.activeElement) ? document.activeElement.value : null;
  list.replaceChildren(...rows);
  list.scrollTop = top;
  const radio = [...list.querySelectorAll('input')].find((one) => one.value === focused);
  if (radio) radio.focus({preventScroll: true});
}

// What `path` lists, or why it does not; the status is 0 if there is no answer.
async function listing(path) {
  try {
    const response = await fetch(urlOf(path), {headers: {Accept: 'application/json'},
                                               signal: AbortSignal.timeout(listingMs)});
    refused = response.status === 401;
    if (response.ok) return {answer: await response.json()};
    const problem = await response.json().catch(() => ({}));  // a proxy's is no JSON
    return {status: response.status, why: problem.detail || problem.title || `status ${response.status}`};
  } catch (error) {
    return {status: 0, why: error.message};
  }
}

const libraryRetryMs = 5000;
let libraryTimer = 0;

export async function loadLibrary() {
  const note = byId('library-note');
  const {answer, status, why} = await listing('/v1/sources');
  answered = true;
  clearTimeout(libraryTimer);
  if (answer) {
    showRows(byId('library'), answer.sources.map(movieRow));
    byId('library-count').textContent = `(${answer.sources.length})`;
    note.textContent = answer.sources.length ? '' : 'The library is empty: put movies into its folder.';
    choose();
  } else {
    note.textContent = status === 504 ? 'The library is being read\u2026' : `The library cannot be listed: ${why}`;
    if (status === 0 || status >= 500) libraryTimer = setTimeout(loadLibrary, libraryRetryMs);
  }
  note.hidden = !note.textContent;
  onListed();
}

// Live sources, below the movies. They come and go, so they are looked up again and again; the one
// that was chosen stays, since its publisher may return.

const livePollMs = 3000;

// One that is fetched is listed before anybody watches it: the first who does has it fetched.
function liveFacts(live) {
  if (live.source) return `live \u00b7 ${factsOf(live.source)}`;
  if (!live.pull) return 'live \u00b7 nobody publishes it now';
  return live.pull === 'waiting' ? `live \u00b7 cannot be fetched: ${live.last_error}` : 'live \u00b7 fetched when it is watched';
}

function liveRow(live) {
  const row = movieRow({...(live.source || sources.get(live.path)), path: live.path});
  row.querySelector('.facts').textContent = liveFacts(live);
  return row;
}

let shownLive = '';

async function loadLive() {
  if (refused) return;
  const {answer} = await listing('/v1/live');
  if (!answer) return;
  const live = answer.live.filter((one) => one.source || one.pull);
  const gone = wanted.startsWith('live/') && !live.some((one) => one.path === wanted);
  if (gone) live.push({path: wanted});
  const now = JSON.stringify(live.map((one) => [one.path, liveFacts(one), one.source && one.source.audio_tracks]));
  if (now === shownLive) return;
  shownLive = now;
  showRows(byId('live'), live.map(liveRow));
  choose();
  onListed();
}

async function pollLive() {
  await loadLive();
  setTimeout(pollLive, livePollMs);
}

// Lists both, live sources behind the library, but not behind one that takes long, and calls back whenever
// something else is listed.
export function startListing(listed) {
  onListed = listed;
  const long = new Promise((resolve) => setTimeout(resolve, livePollMs));
  Promise.race([loadLibrary().catch(() => {}), long]).then(pollLive);
}
