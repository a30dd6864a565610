// SPDX-License-Identifier: Apache-2.0
//
// Drives the page at / in Chromium against a running server:
//   node page_test.mjs BASE_URL OUTPUT_DIR
// Chooses a movie, asks for a size, a frame rate and a bit rate, waits until the picture moves and
// has that size; then an error, the keyboard alone, and both colour schemes (screenshots go to
// OUTPUT_DIR). Exits with 0 if all of it worked.
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {mkdirSync, mkdtempSync, readdirSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {chromium} from 'playwright-core';
import {publishClock} from './clock_publisher.mjs';

const [baseUrl, outputDir] = process.argv.slice(2);
assert.ok(baseUrl && outputDir, 'usage: page_test.mjs BASE_URL OUTPUT_DIR');
mkdirSync(outputDir, {recursive: true});

const browserArguments = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync',
  '--autoplay-policy=no-user-gesture-required',
];
const patience = 60_000;  // a shared machine may be slow; nothing below waits longer than it must

async function openPage(browser, colorScheme) {
  const context = await browser.newContext({colorScheme, viewport: {width: 1280, height: 860}});
  const page = await context.newPage();
  page.setDefaultTimeout(patience);
  page.on('pageerror', (error) => assert.fail(`the page threw: ${error.message}`));
  page.on('console', (message) => {
    const refused = /Content Security Policy/.test(message.text());
    assert.ok(!refused, `the page breaks its own policy: ${message.text()}`);
  });
  await page.goto(baseUrl);
  await page.waitForSelector('input[name=movie]:not(:disabled)');
  return page;
}

async function ask(page, {width, height, fps, bitrate}) {
  await page.fill('#width', String(width));
  await page.fill('#height', String(height));
  await page.fill('#fps', String(fps));
  await page.fill('#bitrate', String(bitrate));
}

const waitUntilItPlays = (page) =>
  page.waitForFunction(() => document.getElementById('video').currentTime > 0.5);

// The runner's library has one good movie and one file that is none.
async function listsTheLibrary(page) {
  const broken = page.locator('#library .movie.broken');
  assert.equal(await broken.count(), 1);
  assert.match(await broken.locator('.facts').textContent(), /^[A-Z].*\.$/);
  assert.match(await page.locator('#library .movie:not(.broken) .facts').textContent(), /640\u00d7360/);
}

async function playsWhatWasAsked(page) {
  await page.locator('input[name=movie]:not(:disabled)').first().check();
  await ask(page, {width: 320, height: 180, fps: 15, bitrate: '300k'});
  const url = await page.textContent('#url');
  assert.match(url, /\/v1\/transcode\/.+\?width=320&height=180&fps=15&bitrate=300k/);
  assert.ok((await page.textContent('#save')).includes(url));
  assert.ok((await page.textContent('#ffplay')).includes(url));
  await page.click('#play');
  await waitUntilItPlays(page);
  const size = await page.$eval('#video', (video) => [video.videoWidth, video.videoHeight]);
  assert.deepEqual(size, [320, 180]);
  assert.match(await page.textContent('#status'), /320\u00d7180/);
}

const statusSays = (page, text) =>
  page.waitForFunction((wanted) => document.getElementById('status').textContent.includes(wanted), text);

// Also when another movie has been chosen meanwhile, and when it is played again after its end.
async function saysWhatPlays(page) {
  const chosen = page.locator('input[name=movie]:checked');
  const movie = await chosen.getAttribute('value');
  await chosen.evaluate((radio) => { radio.value = 'another.mp4'; });
  await page.$eval('#video', (video) => video.pause());
  await page.$eval('#video', (video) => { video.play(); });
  await statusSays(page, `Playing ${movie}`);
  await page.locator('input[name=movie]:checked').evaluate((radio, value) => { radio.value = value; }, movie);
  await page.locator('#more').evaluate((more) => { more.open = true; });
  await page.fill('#duration', '1');
  await page.click('#play');
  await statusSays(page, 'The end.');
  assert.ok(await page.isDisabled('#stop'));
  await page.$eval('#video', (video) => { video.play(); });
  await statusSays(page, 'Playing');
  assert.ok(await page.isEnabled('#stop'), 'what plays again cannot be stopped');
  await statusSays(page, 'The end.');
  await page.fill('#duration', '');
}

// In one file, and of segments as well; the runner's movie has a blank in its name.
async function savesWithItsLine(page) {
  await page.fill('#duration', '2');
  for (const container of ['mp4', 'hls']) {
    await page.selectOption('#container', container);
    const line = await page.textContent('#save');
    const folder = mkdtempSync(join(tmpdir(), 'saved-'));
    execFileSync('sh', ['-c', `${line} 2>log </dev/null`], {cwd: folder});
    const [file] = readdirSync(folder).filter((name) => name !== 'log');
    const seconds = execFileSync('ffprobe', ['-v', 'error', '-show_entries', 'format=duration', '-of', 'csv=p=0', file],
                                 {cwd: folder});
    assert.ok(Math.abs(Number(seconds) - 2) < 0.2, `${line}: ${seconds} s`);
    rmSync(folder, {recursive: true});
  }
  await page.selectOption('#container', 'mp4');
  await page.fill('#duration', '');
}

async function saysWhatTheServerSaysOfASegment(page) {
  const problem = {title: 'There is no such segment', detail: 'The movie has changed.'};
  await page.route(/v0-\d+\.m4s/, (route) => route.fulfill(
      {status: 404, contentType: 'application/problem+json', body: JSON.stringify(problem)}));
  await page.selectOption('#container', 'hls');
  await page.click('#play');
  await page.waitForFunction(() => !document.getElementById('problem').hidden);
  assert.match(await page.textContent('#problem'), /There is no such segment.*The movie has changed\./);
  await page.unroute(/v0-\d+\.m4s/);
  await page.selectOption('#container', 'mp4');
}

// When the page is looked at again.
async function listsWhatHasCome(page) {
  const chosen = await page.locator('input[name=movie]:checked').getAttribute('value');
  const answer = await (await page.request.get(`${baseUrl}/v1/sources`)).json();
  const come = {...answer.sources.find((source) => source.path === chosen), path: 'a new one.mp4',
                audio: null, unusable_audio: ['speex']};
  await page.route('**/v1/sources', (route) => route.fulfill({json: {...answer, sources: [come, ...answer.sources]}}));
  await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
  await page.waitForSelector('input[value="a new one.mp4"]');
  assert.match(await page.locator('.movie', {hasText: 'a new one.mp4'}).textContent(), /audio left out: speex/);
  assert.equal(await page.locator('input[name=movie]:checked').getAttribute('value'), chosen);
  await page.unroute('**/v1/sources');
  await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
  await page.waitForFunction(() => !document.querySelector('input[value="a new one.mp4"]'));
}

// The movie has two sounds and a text; a choice stays when the list is read again, and goes with the movie.
async function offersTheTracksOfTheMovie(page) {
  const options = (id) => page.locator(`#${id} option`).allTextContents();
  assert.ok(await page.isVisible('#audio') && await page.isVisible('#burn'));
  const [first, ...sounds] = await options('audio');
  assert.equal(first, 'as the movie');
  assert.deepEqual(sounds.map((name) => name.replace(/ch$/, 'ch.')),
                   ['1: English \u00b7 aac 1 ch.', '2: German \u00b7 aac 1 ch.']);
  assert.deepEqual(await options('burn'), ['none', '1: English']);
  await page.selectOption('#audio', '2');
  await page.selectOption('#burn', '1');
  assert.match(await page.textContent('#url'), /&audio=2&burn=1/);
  await Promise.all([page.waitForResponse('**/v1/sources'),
                     page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')))]);
  assert.match(await page.textContent('#url'), /&audio=2&burn=1/);
  await page.click('#play');
  await waitUntilItPlays(page);
  const {streams} = await (await page.request.get(`${baseUrl}/v1/streams`)).json();
  assert.ok(streams.some(({target}) => target.burn === 1), JSON.stringify(streams.map(({target}) => target)));
  await page.click('#stop');
  await page.selectOption('#audio', '');
  await page.selectOption('#burn', '');
  assert.doesNotMatch(await page.textContent('#url'), /audio=|burn=/);
}

async function showsAnErrorAtItsField(page) {
  await ask(page, {width: 1, height: 180, fps: 15, bitrate: '300k'});
  await page.click('#play');
  await page.waitForSelector('#width[aria-invalid=true]');
  assert.ok((await page.textContent('#width-error')).length > 10);
  assert.ok(await page.isVisible('#problem'));
  assert.equal(await page.evaluate(() => document.activeElement.id), 'width');
  await page.screenshot({path: join(outputDir, 'error.png'), fullPage: true});
}

// No mouse: from the top of the page to a playing movie.
async function worksByKeyboard(page) {
  const focused = () => page.evaluate(() => document.activeElement.id || document.activeElement.name);
  const tabTo = async (name) => {
    for (let i = 0; i < 40 && (await focused()) !== name; ++i) await page.keyboard.press('Tab');
    assert.equal(await focused(), name, `Tab does not reach ${name}`);
  };
  const type = async (name, text) => {
    await tabTo(name);
    await page.keyboard.press('Control+a');
    await page.keyboard.type(text);
  };
  await page.evaluate(() => document.activeElement.blur());
  await tabTo('movie');
  await page.keyboard.press('Space');
  await type('width', '256');
  await type('height', '144');
  await type('fps', '12');
  await type('bitrate', '200k');
  await page.keyboard.press('Enter');
  await waitUntilItPlays(page);
  assert.equal(await page.$eval('#video', (video) => video.videoWidth), 256);
  assert.equal(await page.$eval('#problem', (problem) => problem.hidden), true);
  await tabTo('stop');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => !document.getElementById('video').hasAttribute('src'));
}

// A source that is published while the page is open is listed and plays; when its publisher has gone
// it stays chosen, and is there until another one is.
async function listsAndPlaysALiveSource(page) {
  const publisher = publishClock(baseUrl, 'camera');
  try {
    const row = page.locator('#live label', {hasText: 'live/camera'});
    const radio = row.locator('input');
    await radio.check();
    assert.match(await row.locator('.facts').textContent(), /live .+320\u00d7180/);
    await ask(page, {width: 160, height: 90, fps: '', bitrate: '100k'});
    await page.locator('#more').evaluate((more) => { more.open = true; });
    await page.selectOption('#container', 'hls');
    assert.match(await page.textContent('#url'), /\/v1\/hls\/live\/camera\/master\.m3u8\?width=160/);
    await page.click('#play');
    await waitUntilItPlays(page);
    assert.equal(await page.$eval('#video', (video) => video.videoWidth), 160);
    assert.ok(await radio.isChecked(), 'the choice is lost when the list is looked up again');
    await page.click('#stop');
  } finally {
    publisher.stop();
  }
  await page.locator('#live .facts', {hasText: 'nobody publishes it now'}).waitFor();
  assert.equal(await page.locator('input[name=movie]:checked').getAttribute('value'), 'live/camera');
  assert.match(await page.textContent('#url'), /live\/camera/);
  await page.locator('#library input:not(:disabled)').first().check();
  await page.waitForFunction(() => !document.querySelector('#live input[value="live/camera"]'));
}

// Nobody has watched it yet, and nobody answers where it would be fetched from.
async function listsASourceThatIsFetched(page) {
  const row = page.locator('#live label', {hasText: 'live/door'});
  assert.match(await row.locator('.facts').textContent(), /fetched when it is watched/);
  const watching = fetch(`${baseUrl}/v1/transcode/live/door`).catch(() => null);
  await row.locator('.facts', {hasText: 'cannot be fetched'}).waitFor();
  assert.ok(!await row.locator('input').isDisabled());
  await watching.then((answer) => answer?.body?.cancel());
}

// What a screen reader needs: every control has a name, every field its error.
async function isNamed(page) {
  const nameless = await page.$$eval('input, select, button, video, a', (nodes) =>
    nodes.filter((node) => !(node.labels?.length || node.textContent.trim() ||
                             node.getAttribute('aria-label'))).map((node) => node.outerHTML));
  assert.deepEqual(nameless, []);
  const described = await page.$$eval('.field input, .field select', (nodes) =>
    nodes.every((node) => document.getElementById(node.getAttribute('aria-describedby'))));
  assert.ok(described);
}

const browser = await chromium.launch({executablePath: '/usr/bin/chromium', args: browserArguments});
try {
  const light = await openPage(browser, 'light');
  await isNamed(light);
  await listsTheLibrary(light);
  await playsWhatWasAsked(light);
  await light.screenshot({path: join(outputDir, 'light.png'), fullPage: true});
  await saysWhatPlays(light);
  await savesWithItsLine(light);
  await saysWhatTheServerSaysOfASegment(light);
  await listsWhatHasCome(light);
  await offersTheTracksOfTheMovie(light);
  await showsAnErrorAtItsField(light);
  await listsAndPlaysALiveSource(light);
  await listsASourceThatIsFetched(light);
  await light.context().close();

  const dark = await openPage(browser, 'dark');
  await worksByKeyboard(dark);
  await dark.screenshot({path: join(outputDir, 'dark.png'), fullPage: true});
  await dark.setViewportSize({width: 390, height: 800});
  const overflow = await dark.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(overflow <= 0, `the page is ${overflow} pixels wider than a phone`);
  await dark.screenshot({path: join(outputDir, 'phone.png'), fullPage: true});
} finally {
  await browser.close();
}
console.log(`The page works; screenshots are in ${outputDir}.`);
