// SPDX-License-Identifier: Apache-2.0
//
// Plays segments in Chromium against a running server:
//   node segments_test.mjs BASE_URL
// HLS by the page at / (hls.js) and DASH by dash.js, which finds thumbnails too: each must play, seek
// to the middle, play on from there, show the size and the subtitles of that place and leave no hole
// in what it buffered. hls.js also changes between the renditions of a ladder. Exits with 0 if all worked.
import assert from 'node:assert/strict';
import {fileURLToPath} from 'node:url';
import {chromium} from 'playwright-core';

const [baseUrl] = process.argv.slice(2);
assert.ok(baseUrl, 'usage: segments_test.mjs BASE_URL');
const patience = 60_000;
const hlsScript = fileURLToPath(new URL('../../server/http/page/hls.min.js', import.meta.url));
const dashScript = fileURLToPath(new URL('node_modules/dashjs/dist/modern/umd/dash.all.min.js', import.meta.url));
const browserArguments = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync', '--autoplay-policy=no-user-gesture-required',
];

const playsBeyond = (page, seconds) => page.waitForFunction(
    (at) => document.querySelector('video').currentTime > at, seconds, {timeout: patience});

// The movie of the runner is 20 seconds long.
async function playsAndSeeks(page, size) {
  await playsBeyond(page, 0.5);
  await page.$eval('video', (video) => { video.currentTime = 11.3; });
  await playsBeyond(page, 12);
  const state = await page.$eval('video', (video) => {
    const at = video.currentTime;
    const ranges = [...Array(video.buffered.length).keys()]
        .map((i) => [video.buffered.start(i), video.buffered.end(i)]);
    return {size: [video.videoWidth, video.videoHeight], duration: video.duration, at, ranges};
  });
  assert.deepEqual(state.size, size);
  assert.ok(Math.abs(state.duration - 20) < 0.1, `${state.duration} s long`);
  const around = state.ranges.find(([begin, end]) => begin <= 11.4 && end >= state.at);
  assert.ok(around, `a hole: at ${state.at} there is ${JSON.stringify(state.ranges)}`);
}

// Behind the seek: the subtitles of that place, and no picture's time apart.
async function showsText(page) {
  await page.waitForFunction(() => [...document.querySelector('video').textTracks].some(
    (track) => [...(track.cues ?? [])].some((cue) => cue.text === 'In the middle')), null, {timeout: patience});
  const [start, end] = await page.$eval('video', (video) => [...video.textTracks].flatMap((track) => [...(track.cues ?? [])])
      .filter((cue) => cue.text === 'In the middle').map((cue) => [cue.startTime, cue.endTime])[0]);
  assert.ok(Math.abs(start - 10) < 0.2 && Math.abs(end - 16) < 0.2, `the text is shown from ${start} to ${end}`);
}

// The closed captions inside of the pictures, right ahead.
async function showsCaptions(page) {
  const times = await page.waitForFunction(() => {
    const tracks = [...document.querySelector('video').textTracks].filter((track) => track.kind === 'captions');
    for (const track of tracks) if (track.mode === 'disabled') track.mode = 'hidden';
    const cue = tracks.flatMap((track) => [...(track.cues ?? [])]).find((one) => one.text.includes('HELLO CC'));
    return cue && [cue.startTime, cue.endTime];
  }, null, {timeout: patience});
  const [start, end] = await times.jsonValue();
  assert.ok(Math.abs(start - 13) < 0.2 && Math.abs(end - 15) < 0.2, `captions are shown from ${start} to ${end}`);
}

// One for every ten seconds, so that of 12 s is the second of its sheet.
async function hasThumbnails(page) {
  const thumbnail = await page.evaluate(() => new Promise((done) => { window.player.provideThumbnail(12, done); }));
  assert.deepEqual([thumbnail.x, thumbnail.y, thumbnail.width, thumbnail.height], [192, 0, 192, 108]);
  const sheet = await page.evaluate(async (url) => {
    const image = new Image();
    image.src = url;
    await image.decode();
    return [image.naturalWidth, image.naturalHeight];
  }, thumbnail.url);
  assert.deepEqual(sheet, [960, 540]);
}

// Each sound track is there, and another one can be chosen while it plays.
async function changesSound(page) {
  const languages = await page.evaluate(() => window.player.getTracksFor('audio').map((track) => track.lang));
  assert.deepEqual(languages, ['en', 'de']);
  await page.evaluate(() => {
    window.player.setCurrentTrack(window.player.getTracksFor('audio')[1]);
    window.player.seek(4);
  });
  await page.waitForFunction(() => {
    const {currentTime, seeking} = document.querySelector('video');
    return !seeking && currentTime > 5 && window.player.getCurrentTrackFor('audio').lang === 'de';
  }, null, {timeout: 30_000});
}

async function hlsByThePage(browser) {
  const page = await (await browser.newContext()).newPage();
  page.on('pageerror', (error) => assert.fail(`the page threw: ${error.message}`));
  page.on('console', (message) =>
    assert.ok(!/Content Security Policy/.test(message.text()), message.text()));
  await page.goto(baseUrl);
  await page.waitForSelector('input[name=movie]:not(:disabled)');
  await page.locator('input[name=movie]:not(:disabled)').first().check();
  await page.fill('#width', '256');
  await page.fill('#height', '144');
  await page.fill('#bitrate', '200k');
  await page.$eval('#more', (more) => { more.open = true; });
  await page.selectOption('#container', 'hls');
  assert.match(await page.textContent('#url'), /\/v1\/hls\/.+\/master\.m3u8\?width=256/);
  await page.click('#play');
  await playsAndSeeks(page, [256, 144]);
  await showsText(page);
  await page.click('#stop');
  // With sound in tracks of its own hls.js now and then keeps captions back until it seeks.
  await page.selectOption('#acodec', 'none');
  await page.click('#play');
  await playsBeyond(page, 0.5);
  await showsCaptions(page);
  await page.click('#stop');
  await page.selectOption('#acodec', 'copy');  // refused: the page says why
  await page.click('#play');
  await page.waitForSelector('#acodec[aria-invalid=true]');
  await page.context().close();
}

async function dashByDashJs(browser) {
  const page = await (await browser.newContext({bypassCSP: true})).newPage();
  await page.goto(`${baseUrl}/healthz`);
  await page.setContent('<video muted></video>');
  await page.addScriptTag({path: dashScript});
  const movie = encodeURIComponent('test pattern.mp4');
  await page.evaluate((url) => {
    window.problems = [];
    const player = dashjs.MediaPlayer().create();
    player.on(dashjs.MediaPlayer.events.ERROR, (event) => window.problems.push(JSON.stringify(event)));
    player.updateSettings({streaming: {text: {defaultEnabled: true}}});
    player.initialize(document.querySelector('video'), url, true);
    window.player = player;
  }, `${baseUrl}/v1/dash/${movie}/manifest.mpd?rungs=256x144:200k&preset=ultrafast`);
  await playsAndSeeks(page, [256, 144]);
  await showsText(page);
  await hasThumbnails(page);
  await changesSound(page);
  assert.deepEqual(await page.evaluate(() => window.problems), []);
  await page.context().close();
}

// To the other rendition behind every third segment: what is buffered has no hole, and pictures of both sizes are shown.
async function changesRendition(browser, container) {
  const page = await (await browser.newContext({bypassCSP: true})).newPage();
  await page.goto(`${baseUrl}/healthz`);
  await page.setContent('<video muted></video>');
  await page.addScriptTag({path: hlsScript});
  const movie = encodeURIComponent('test pattern.mp4');
  await page.evaluate((url) => {
    window.problems = [];
    window.sizes = new Set();
    window.segments = [];
    const video = document.querySelector('video');
    const hls = window.hls = new Hls({startLevel: 0});
    hls.on(Hls.Events.ERROR, (_, data) => { if (data.fatal) window.problems.push(data.details); });
    hls.on(Hls.Events.FRAG_LOADED, (_, {frag}) => {
      if (frag.type === 'main' && frag.sn % 3 === 2) hls.nextLoadLevel = 1 - frag.level;
    });
    hls.on(Hls.Events.FRAG_CHANGED, (_, {frag}) => {
      if (frag.type === 'main') window.segments.push([frag.sn, frag.level]);
    });
    video.addEventListener('resize', () => window.sizes.add(`${video.videoWidth}x${video.videoHeight}`));
    hls.loadSource(url);
    hls.attachMedia(video);
    video.playbackRate = 4;
    video.play();
  }, `${baseUrl}/v1/hls/${movie}/master.m3u8?rungs=256x144:200k,128x72:80k&preset=ultrafast&segment=1&container=${container}`);
  await playsBeyond(page, 12);
  const seen = await page.evaluate(() => {
    const {buffered} = document.querySelector('video');
    return {sizes: [...window.sizes].sort(), segments: window.segments, problems: window.problems,
            ranges: [...Array(buffered.length).keys()].map((i) => [buffered.start(i), buffered.end(i)])};
  });
  assert.deepEqual(seen.problems, []);
  assert.deepEqual(seen.sizes, ['128x72', '256x144']);
  const changes = seen.segments.filter(([, level], n) => n > 0 && level !== seen.segments[n - 1][1]).length;
  assert.ok(changes >= 2, `of ${JSON.stringify(seen.segments)}`);
  assert.equal(seen.ranges.length, 1, `holes: ${JSON.stringify(seen.ranges)}`);
  console.log(`hls.js has changed the rendition (${container}) ${changes} times without a hole`);
  await page.context().close();
}

const browser = await chromium.launch({executablePath: '/usr/bin/chromium', args: browserArguments});
try {
  await hlsByThePage(browser);
  await dashByDashJs(browser);
  await changesRendition(browser, 'mp4');
  await changesRendition(browser, 'ts');
} finally {
  await browser.close();
}
console.log('hls.js and dash.js play the segments.');
