// SPDX-License-Identifier: Apache-2.0
//
// The page at /: turns the form, with one of what library.js lists, into a URL of /v1/transcode or /v1/hls and plays
// it. The server alone decides what is valid: it is asked first, because a <video> element cannot
// show why it was refused. HLS is played by hls.js, or by the browser where that is not possible.
import {byId, element, urlOf} from './common.js';
import {loadLibrary, sourceOf, startListing, want} from './library.js';

const form = byId('request');
const video = byId('video');
const fieldNames = ['width', 'height', 'fps', 'bitrate', 'audio', 'burn', 'vcodec', 'acodec', 'container',
                    'start', 'duration'];
let hls = null;   // the hls.js player, while one plays
let asking = new AbortController();  // of what was asked since Play was pressed: aborted by stop()
let shown = '';   // the movie that was played last, whatever has been chosen since
let needsUser = false;  // the server answers nobody whom it does not know
let offered = '';  // what the choices of tracks were made of

// Tracks to choose from, where the chosen movie has several sounds, or text.

function languageName(code) {
  try {
    return code ? new Intl.DisplayNames(['en'], {type: 'language'}).of(code) : '';
  } catch {
    return code;
  }
}

function trackName(track, number, facts) {
  const named = [languageName(track.language), track.title].filter(Boolean).join(', ');
  return `${number}: ${[named, facts].filter(Boolean).join(' \u00b7 ')}`;
}

// The first choice asks for nothing.
function offer(name, first, names, atLeast) {
  const choice = form.elements[name];
  choice.replaceChildren(new Option(first, ''), ...names.map((text, i) => new Option(text, String(i + 1))));
  byId(`${name}-field`).hidden = names.length < atLeast;
}

function offerTracks(movie) {
  const source = sourceOf(movie);
  const live = movie.startsWith('live/');
  const sounds = source.audio_tracks || [];
  const texts = live ? [] : source.subtitles || [];
  const now = JSON.stringify([movie, sounds, texts]);
  if (now === offered) return;  // a choice stays while the list is looked up again
  offered = now;
  offer('audio', 'as the movie', sounds.map((track, i) => trackName(track, i + 1, `${track.codec} ${track.channels} ch`)), 2);
  offer('burn', 'none', texts.map((track, i) => trackName(track, i + 1, track.file || '')), 1);
}

// The request as a URL.

function chosenMovie() {
  const radio = form.querySelector('input[name=movie]:checked');
  return radio ? radio.value : '';
}

const inSegments = () => form.elements.container.value === 'hls';

function requestUrl() {
  const query = new URLSearchParams();
  for (const name of fieldNames) {
    const value = form.elements[name].value.trim();
    if (value && !(name === 'container' && inSegments())) query.append(name, value);
  }
  const path = chosenMovie().split('/').map(encodeURIComponent).join('/');
  return urlOf(inSegments() ? `/v1/hls/${path}/master.m3u8?${query}` : `/v1/transcode/${path}?${query}`);
}

function shellQuote(text) {
  return `'${text.replaceAll('\'', '\'\\\'\'')}'`;
}

// ffmpeg and ffplay take a user in the URL alone; curl asks for the password.
const withUser = (url) => needsUser ? url.replace('://', '://NAME:PASSWORD@') : url;

// Whether the server would answer somebody whom it does not know.
async function learnWhetherItNeedsUsers() {
  const answer = await fetch(urlOf('/v1/live'), {method: 'HEAD', credentials: 'omit'}).catch(() => null);
  needsUser = Boolean(answer) && answer.status === 401;
  showLines();
}

// Of segments the URL is but a list of others. What they hold, of any codec, goes into Matroska; by
// its "./" a name with a colon is no protocol.
function saveLine(movie, url) {
  const file = `${movie.split('/').pop().replace(/\.[^.]*$/, '')}-out`;
  if (inSegments()) return `ffmpeg -i ${shellQuote(withUser(url))} -c copy ${shellQuote(`./${file}.mkv`)}`;
  return `curl ${needsUser ? '-u NAME ' : ''}-f -o ${shellQuote(`${file}.${form.elements.container.value}`)} ${shellQuote(url)}`;
}

function showLines() {
  const movie = chosenMovie();
  offerTracks(movie);
  const url = movie ? requestUrl() : '';
  byId('url').textContent = url;
  byId('save').textContent = movie ? saveLine(movie, url) : '';
  byId('ffplay').textContent = movie ? `ffplay -autoexit ${shellQuote(withUser(url))}` : '';
  byId('play').disabled = !movie;
}

// Errors.

function clearProblem() {
  byId('problem').hidden = true;
  byId('problem').replaceChildren();
  for (const name of fieldNames) {
    byId(`${name}-error`).textContent = '';
    byId(name).removeAttribute('aria-invalid');
  }
}

function showProblem(problem) {
  const accepted = problem.accepted ? ` Accepted: ${problem.accepted}.` : '';
  const detail = (problem.detail || '') + accepted;
  byId('problem').replaceChildren(element('strong', '', problem.title || 'It did not work'),
                                  element('span', '', detail));
  byId('problem').hidden = false;
  byId('status').textContent = 'Nothing is playing.';
  byId('stop').disabled = true;
  if (!fieldNames.includes(problem.parameter)) return;
  const field = byId(problem.parameter);
  byId(`${problem.parameter}-error`).textContent = detail;
  field.setAttribute('aria-invalid', 'true');
  const folded = field.closest('details');
  if (folded) folded.open = true;
  field.focus();
}

// The problem that `url` answers with, or null if it would be served.
async function problemOf(url, signal) {
  try {
    const response = await fetch(url, {signal});
    if (response.ok) {
      response.body.cancel().catch(() => {});  // frees the server's cores
      return null;
    }
    const isProblem = (response.headers.get('Content-Type') || '').includes('json');
    return isProblem ? await response.json()
                     : {title: `The server answered ${response.status}`};
  } catch (error) {
    return {title: 'The server cannot be reached', detail: error.message};
  }
}

// Playing.

const firstReadingMs = 3000;  // what is there already is told sooner

function stop(text) {
  asking.abort();
  asking = new AbortController();
  if (hls) hls.destroy();
  hls = null;
  video.removeAttribute('src');
  video.load();  // closes the connection, which frees the server's cores
  byId('stop').disabled = true;
  byId('status').textContent = text;
}

// hls.js, loaded when it is first needed; null where it does not work.
async function loadHlsPlayer() {
  if (!window.Hls) {
    const script = element('script');
    script.src = urlOf('/assets/hls.min.js');
    await new Promise((resolve) => {
      script.onload = script.onerror = resolve;
      document.head.append(script);
    });
  }
  return window.Hls && window.Hls.isSupported() ? window.Hls : null;
}

// What the server says of the part that failed is more than the player knows.
async function onSegmentError(data) {
  const part = data.url || (data.frag && data.frag.url);
  stop('Asking the server\u2026');
  byId('stop').disabled = false;
  const {signal} = asking;
  const problem = part ? await problemOf(part, signal) : null;
  if (signal.aborted) return;
  showProblem(problem || {title: 'The segments cannot be played', detail: data.details});
}

function playSegments(Player, url) {
  hls = new Player({enableWorker: false});  // a worker would need more of the page's policy
  hls.on(Player.Events.ERROR, (event, data) => {
    if (data.fatal) onSegmentError(data);
  });
  hls.loadSource(url);
  hls.attachMedia(video);
}

// The problem of a request that is to be played, or null.
async function check(url, signal) {
  const reads = inSegments() && !shown.startsWith('live/');  // the whole movie, once
  const slow = setTimeout(() => {
    if (reads) byId('status').textContent = 'The movie is being read for the first time\u2026';
  }, firstReadingMs);
  // HEAD checks the request without transcoding; its answer has no body, so the reason is asked for.
  const served = await fetch(url, {method: 'HEAD', signal}).catch(() => null);
  const problem = served && served.ok ? null : await problemOf(url, signal);
  clearTimeout(slow);
  return problem;
}

async function play() {
  stop('Asking the server\u2026');
  clearProblem();
  byId('stop').disabled = false;
  const {signal} = asking;
  const url = requestUrl();
  const segments = inSegments();
  shown = chosenMovie();
  const problem = await check(url, signal);
  const player = segments && !problem ? await loadHlsPlayer() : null;
  if (signal.aborted) return;
  if (problem) return showProblem(problem);
  byId('status').textContent = 'Starting\u2026';
  if (player) {
    playSegments(player, url);
  } else {
    video.src = url;
  }
  video.play().catch(() => {});  // the error event tells why
}

// Why the video does not go on, if the server would serve it.
function videoProblem(error) {
  const code = error ? error.code : 0;
  const began = video.played.length > 0 && code !== MediaError.MEDIA_ERR_DECODE;
  if (began || code === MediaError.MEDIA_ERR_NETWORK) {
    return {
      title: 'The connection ended',
      detail: 'A player that is paused for longer than the server waits (a minute, if it is not set otherwise) is ' +
              'cut off. With the container HLS it may be paused for any time.',
    };
  }
  return {
    title: 'This browser cannot play the result',
    detail: `${(error && error.message) || 'The format is not supported'}. The ffplay line plays it.`,
  };
}

async function onVideoError() {
  if (!video.hasAttribute('src') || hls) return;
  const {signal} = asking;
  const otherwise = videoProblem(video.error);
  const problem = await problemOf(video.src, signal);
  if (signal.aborted) return;
  stop('Nothing is playing.');
  showProblem(problem || otherwise);
}

async function copyLine(event) {
  const line = byId(event.currentTarget.dataset.copy);
  try {
    await navigator.clipboard.writeText(line.textContent);
    byId('copied').textContent = 'Copied.';
  } catch {
    getSelection().selectAllChildren(line);  // no clipboard without a secure origin
    byId('copied').textContent = 'Selected: press Ctrl+C to copy.';
  }
}

form.addEventListener('submit', (event) => {
  event.preventDefault();
  play();
});
form.addEventListener('input', (event) => {
  if (event.target.name === 'movie') want(event.target.value);
  showLines();
});
byId('stop').addEventListener('click', () => {
  stop('Stopped.');
  byId('play').focus();
});
video.addEventListener('error', onVideoError);
video.addEventListener('playing', () => {
  byId('status').textContent =
      `Playing ${shown} at ${video.videoWidth}\u00d7${video.videoHeight}.`;
  byId('stop').disabled = false;  // it was, after the end
});
video.addEventListener('waiting', () => {
  byId('status').textContent = 'Waiting for the server\u2026';
});
video.addEventListener('ended', () => {
  byId('status').textContent = 'The end.';
  byId('stop').disabled = true;
});
for (const button of document.querySelectorAll('[data-copy]')) {
  button.addEventListener('click', copyLine);
}
document.addEventListener('visibilitychange', () => {
  if (!document.hidden) loadLibrary();
});
startListing(showLines);
learnWhetherItNeedsUsers();
