// SPDX-License-Identifier: Apache-2.0
//
// Plays a live source in Chromium against a running server:
//   node live_test.mjs BASE_URL [MOST]
// LL-HLS by hls.js, delta updates, key frames alone and subtitles too, HLS of transport streams, and DASH by dash.js, thumbnails and subtitles too: each must play on, and the picture, which tells the time, must
// not be older than MOST seconds (4) with low latency. Prints the ages. Exits with 0 if all worked.
import assert from 'node:assert/strict';
import {fileURLToPath} from 'node:url';
import {chromium} from 'playwright-core';
import {bits, height, pictureAge, publishClock, publishText, width} from './clock_publisher.mjs';

// Two seconds are promised on a machine that does nothing else; tests share theirs.
const [baseUrl, most = 4] = process.argv.slice(2);
assert.ok(baseUrl, 'usage: live_test.mjs BASE_URL [MOST]');
const patience = 40_000;
const script = (path) => fileURLToPath(new URL(path, import.meta.url));
const browserArguments = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync', '--autoplay-policy=no-user-gesture-required',
];
// Short segments, so that delta updates have something to leave out soon.
const query = 'width=320&height=180&bitrate=300k&preset=ultrafast&segment=1';

async function openPage(browser, library) {
  const page = await (await browser.newContext({bypassCSP: true})).newPage();
  await page.goto(`${baseUrl}/healthz`);
  await page.setContent('<video muted></video>');
  await page.addScriptTag({path: script(library)});
  await page.evaluate(() => { window.problems = []; });
  return page;
}

async function playHls(page, address, settings = {}) {
  await page.evaluate(([url, options]) => {
    const hls = window.hls = new Hls({lowLatencyMode: true, ...options});
    hls.on(Hls.Events.ERROR, (_, data) => { if (data.fatal) window.problems.push(data.details); });
    hls.loadSource(url);
    hls.attachMedia(document.querySelector('video'));
    document.querySelector('video').play();
  }, [address, settings]);
}

async function playDash(page, address) {
  await page.evaluate((url) => {
    const player = window.player = dashjs.MediaPlayer().create();
    player.on(dashjs.MediaPlayer.events.ERROR, (event) => window.problems.push(JSON.stringify(event)));
    player.initialize(document.querySelector('video'), url, true);
  }, address);
}

// Lets it play for a while; ages of the picture in seconds, sorted.
async function ages(page, epoch, seconds) {
  await page.waitForFunction(() => document.querySelector('video').currentTime > 0, null, {timeout: patience});
  const began = await page.$eval('video', (video) => video.currentTime);
  await page.waitForFunction((at) => document.querySelector('video').currentTime > at, began + 3, {timeout: patience});
  const seen = [];
  const end = Date.now() + 1000 * seconds;
  while (Date.now() < end) {
    seen.push(await page.evaluate(pictureAge, {epoch, width, height, bits}) / 1000);
    await page.waitForTimeout(100);  // samples in time, nothing is waited for
  }
  return seen.sort((a, b) => a - b);
}

function judge(name, sorted, most) {
  const at = (share) => sorted[Math.floor(share * (sorted.length - 1))].toFixed(2);
  console.log(`${name}: the picture is ${at(0.5)} s old, between ${at(0)} and ${at(1)}`);
  assert.ok(Number(at(0.5)) < Number(most), `${name}: more than ${most} s`);
  assert.ok(Number(at(0)) > 0, `${name}: from the future`);
}

async function lowLatencyHls(browser, epoch) {
  const page = await openPage(browser, '../../server/http/page/hls.min.js');
  let deltas = 0;
  page.on('response', async (response) => {
    if (!response.url().includes('_HLS_skip=')) return;
    const text = await response.text().catch(() => '');  // of one that the page no longer waits for
    if (text.includes('#EXT-X-SKIP:')) ++deltas;
  });
  await playHls(page, `${baseUrl}/v1/hls/live/clock/master.m3u8?${query}`, {maxLiveSyncPlaybackRate: 1.5});
  judge('LL-HLS by hls.js', await ages(page, epoch, 5), most);
  const state = await page.evaluate(() => ({
    size: [document.querySelector('video').videoWidth, document.querySelector('video').videoHeight],
    parts: window.hls.latestLevelDetails?.partList?.length ?? 0, problems: window.problems,
    told: window.hls.latency, target: window.hls.targetLatency,
  }));
  console.log(`hls.js says ${state.told.toFixed(2)} s by the dates, and aims at ${state.target.toFixed(2)} s`);
  assert.deepEqual(state.size, [width, height]);
  assert.deepEqual(state.problems, []);
  assert.ok(state.parts > 0, 'hls.js does not see the parts');
  assert.ok(deltas > 0, 'no playlist was a delta update');
  await keyFrames(page, epoch);
  await page.context().close();
}

// A second player of hls.js shows the key frame nearest to a time: here of six seconds ago.
async function keyFrames(page, epoch) {
  const wanted = await page.evaluate(() => {
    const video = document.createElement('video');
    video.muted = true;
    document.body.prepend(video);  // the first one is the one that clocks are read from
    const player = window.keys = window.hls.createIFramePlayer({});
    player.attachMedia(video);
    const details = window.hls.latestLevelDetails;
    const segment = details.fragments.at(-4);
    player.loadMediaAt(segment.start + segment.duration / 2, {seekOnAppend: true});
    return segment.programDateTime;
  });
  await page.waitForFunction(() => {
    const video = document.querySelector('video');
    return video.readyState >= 2 && video.videoWidth > 0;
  }, null, {timeout: 20000});
  const age = await page.evaluate(pictureAge, {epoch, width, height, bits}) / 1000;
  const expected = (Date.now() - wanted) / 1000;
  console.log(`key frames alone: hls.js shows one that is ${age.toFixed(2)} s old, asked for ${expected.toFixed(2)} s`);
  assert.ok(Math.abs(age - expected) < 1.5, 'that is another segment\'s');
}

// Whole segments: three of them behind what is live, so up to five seconds and what the next one takes.
async function transportStreams(browser, epoch) {
  const page = await openPage(browser, '../../server/http/page/hls.min.js');
  await playHls(page, `${baseUrl}/v1/hls/live/clock/master.m3u8?${query}&container=ts`);
  judge('HLS of transport streams by hls.js', await ages(page, epoch, 3), 12);
  const seen = await page.evaluate(() => {
    const video = document.querySelector('video'), {fragments} = window.hls.latestLevelDetails;
    return [video.videoWidth, video.videoHeight, new URL(fragments.at(-1).url).pathname.split('.').at(-1), window.problems.length];
  });
  assert.deepEqual(seen, [width, height, 'ts', 0]);
  await page.context().close();
}

async function liveDash(browser, epoch) {
  const page = await openPage(browser, 'node_modules/dashjs/dist/modern/umd/dash.all.min.js');
  await playDash(page, `${baseUrl}/v1/dash/live/clock/manifest.mpd?${query}`);
  judge('DASH by dash.js', await ages(page, epoch, 3), 12);
  await thumbnail(page, epoch);
  assert.deepEqual(await page.evaluate(() => window.problems), []);
  await page.context().close();
}

// The picture of three seconds ago for a time line: what the segment of that time, of one second or so, begins with.
async function thumbnail(page, epoch) {
  const size = await page.evaluate(async () => {
    const player = window.player;
    const wanted = player.timeInDvrWindow() - 3;
    const {url, x, y, width, height} = await new Promise((done) => { player.provideThumbnail(wanted, done); });
    const image = document.createElement('img');
    image.src = url;
    await image.decode();
    document.body.append(image);
    return [x, y, width, height, image.naturalWidth, image.naturalHeight];
  });
  assert.deepEqual(size, [0, 0, 192, 108, 192, 108]);
  const at = {epoch, width, height, bits};
  const [now, then] = [await page.evaluate(pictureAge, at), await page.evaluate(pictureAge, {...at, selector: 'img'})];
  console.log(`thumbnails: dash.js plays a picture of ${now} ms ago and has one of ${then} ms ago for a time 3 s earlier`);
  assert.ok(then - now > 2700 && then - now < 4500, 'that is another segment\'s');
}

// Each line once, though it lies across the border of two segments, and at its time: half a second behind a key picture.
async function liveText(browser, container) {
  const page = await openPage(browser, '../../server/http/page/hls.min.js');
  await playHls(page, `${baseUrl}/v1/hls/live/talk/master.m3u8?${query}&container=${container}`);
  await page.waitForFunction(() => document.querySelector('video').currentTime > 0, null, {timeout: patience});
  await page.evaluate(() => { window.hls.subtitleTrack = 0; });
  const found = await page.waitForFunction(() => {
    const video = document.querySelector('video');
    const cues = [...video.textTracks].flatMap((track) => [...(track.cues ?? [])]);
    const heard = cues.filter((cue) => cue.endTime < video.currentTime);
    return heard.length >= 4 && {
      cues: cues.map((cue) => [cue.text, cue.startTime, cue.endTime]),
      keys: window.hls.latestLevelDetails.fragments.map((fragment) => fragment.start), language: [...video.textTracks][0].language,
    };
  }, null, {timeout: patience});
  const {cues, keys, language} = await found.jsonValue();
  assert.equal(language, 'en');
  assert.equal(new Set(cues.map(([text]) => text)).size, cues.length, `a line comes twice: ${JSON.stringify(cues)}`);
  const numbers = cues.map(([text]) => Number(text.match(/^at (\d+)$/)[1]));
  assert.deepEqual(numbers, numbers.map((_, n) => numbers[0] + n));
  for (const [text, start, end] of cues) {
    const behind = Math.min(...keys.map((key) => Math.abs((((start - key) % 1) + 1) % 1 - 0.5)));
    assert.ok(behind < 0.1 && Math.abs(end - start - 0.9) < 0.1, `${text} from ${start} to ${end}, key pictures at ${keys}`);
  }
  console.log(`subtitles beside ${container}: hls.js has shown ${cues.length} lines, each at its time`);
  assert.deepEqual(await page.evaluate(() => window.problems), []);
  await page.context().close();
}

// dash.js draws what TTML says into an element of its own: each line in its turn, half a second behind a segment's begin.
async function liveDashText(browser) {
  const page = await openPage(browser, 'node_modules/dashjs/dist/modern/umd/dash.all.min.js');
  await page.evaluate((url) => {
    const video = document.querySelector('video'), text = document.createElement('div');
    document.body.append(text);
    window.shown = {};  // what stood there, from when to when
    const player = window.player = dashjs.MediaPlayer().create();
    player.on(dashjs.MediaPlayer.events.ERROR, (event) => window.problems.push(JSON.stringify(event)));
    player.updateSettings({streaming: {text: {defaultEnabled: true}}});
    player.initialize(video, url, true);
    player.attachTTMLRenderingDiv(text);
    const look = () => {
      const line = text.textContent.trim(), at = video.currentTime;
      if (line) window.shown[line] = [window.shown[line]?.[0] ?? at, at];
      requestAnimationFrame(look);
    };
    look();
  }, `${baseUrl}/v1/dash/live/talk/manifest.mpd?${query}`);
  await page.waitForFunction(() => Object.keys(window.shown).length >= 6, null, {timeout: patience});
  const {shown, begins, language} = await page.evaluate(async (url) => {
    const manifest = new DOMParser().parseFromString(await (await fetch(url)).text(), 'text/xml');
    const period = [...manifest.querySelectorAll('Period')].at(-1), template = period.querySelector('SegmentTemplate');
    const number = (name) => Number(template.getAttribute(name));
    const start = Number(period.getAttribute('start').match(/^PT([\d.]+)S$/)[1]);
    const begins = [...template.querySelectorAll('S')].map(
      (entry) => start + (Number(entry.getAttribute('t')) - number('presentationTimeOffset')) / number('timescale'));
    return {shown: window.shown, begins, language: window.player.getCurrentTrackFor('text').lang};
  }, `${baseUrl}/v1/dash/live/talk/manifest.mpd?${query}`);
  assert.equal(language, 'en');
  const lines = Object.entries(shown).slice(1, -1);  // seen from begin to end
  const numbers = lines.map(([line]) => Number(line.match(/^at (\d+)$/)[1]));
  assert.deepEqual(numbers, numbers.map((_, n) => numbers[0] + n));
  for (const [line, [from, until]] of lines) {
    const behind = Math.min(...begins.map((begin) => Math.abs((((from - begin) % 1) + 1) % 1 - 0.5)));
    assert.ok(behind < 0.25 && Math.abs(until - from - 0.9) < 0.3, `${line} from ${from} to ${until}, segments begin at ${begins}`);
  }
  console.log(`subtitles: dash.js has shown ${lines.length} lines, each at its time`);
  assert.deepEqual(await page.evaluate(() => window.problems), []);
  await page.context().close();
}

// Players that a publisher leaves and comes back to: each shows what the second one sends.
async function playersGoOn(browser) {
  const players = [
    ['LL-HLS', '../../server/http/page/hls.min.js', (page) => playHls(page, `${baseUrl}/v1/hls/live/returns/master.m3u8?${query}`)],
    ['HLS of transport streams', '../../server/http/page/hls.min.js',
      (page) => playHls(page, `${baseUrl}/v1/hls/live/returns/master.m3u8?${query}&container=ts`)],
    ['DASH', 'node_modules/dashjs/dist/modern/umd/dash.all.min.js',
      (page) => playDash(page, `${baseUrl}/v1/dash/live/returns/manifest.mpd?${query}`)],
  ];
  const first = publishClock(baseUrl, 'returns');
  await isKnown('returns');
  const pages = await Promise.all(players.map(async ([, library, play]) => {
    const page = await openPage(browser, library);
    await play(page);
    await page.waitForFunction(() => document.querySelector('video').currentTime > 1, null, {timeout: patience});
    return page;
  }));
  first.stop();
  await isGone('returns');
  const begin = 500_000;  // which the first one never says
  const second = publishClock(baseUrl, 'returns', begin);
  const shows = async (page) => Date.now() - second.epoch - await page.evaluate(pictureAge, {epoch: second.epoch, width, height, bits});
  try {
    for (const [n, page] of pages.entries()) {
      for (const end = Date.now() + patience; Date.now() < end && await shows(page) < begin + 2000;) await page.waitForTimeout(100);
      assert.ok(await shows(page) >= begin + 2000, `${players[n][0]} does not go on`);
      assert.deepEqual(await page.evaluate(() => window.problems), [], players[n][0]);
      await page.context().close();
    }
    console.log('hls.js, by both containers, and dash.js go on with a publisher that has come back.');
  } finally {
    second.stop();
  }
}

async function liveSource(name) {
  const {live} = await (await fetch(`${baseUrl}/v1/live`)).json();
  return live.find((source) => source.name === name);
}

async function isKnown(name) {
  for (const end = Date.now() + patience; Date.now() < end && !(await liveSource(name))?.source;) continue;
}

async function isGone(name) {
  for (const end = Date.now() + patience; Date.now() < end && (await liveSource(name))?.publishing;) continue;
}

const publisher = publishClock(baseUrl, 'clock');
const browser = await chromium.launch({executablePath: '/usr/bin/chromium', args: browserArguments});
try {
  await isKnown('clock');
  await lowLatencyHls(browser, publisher.epoch);
  await transportStreams(browser, publisher.epoch);
  await liveDash(browser, publisher.epoch);
  const speaker = publishText(baseUrl, 'talk');
  await isKnown('talk');
  try {
    await liveText(browser, 'mp4');
    await liveText(browser, 'ts');
    await liveDashText(browser);
  } finally {
    speaker.stop();
  }
  await playersGoOn(browser);
} finally {
  await browser.close();
  publisher.stop();
}
console.log('hls.js and dash.js play a live source.');
