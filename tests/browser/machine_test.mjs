// SPDX-License-Identifier: Apache-2.0
//
// The view "Machine" of the page at / in Chromium against a running server:
//   node machine_test.mjs BASE_URL OUTPUT_DIR
// Opens it by the keyboard, watches a stream and the segments of another, and stops the stream there.
// Exits with 0 if all of it worked; screenshots go to OUTPUT_DIR.
import assert from 'node:assert/strict';
import {join} from 'node:path';
import {setTimeout as sleep} from 'node:timers/promises';
import {chromium} from 'playwright-core';
import {textsWithTooLittleContrast} from './contrast.mjs';

const [baseUrl, outputDir] = process.argv.slice(2);
assert.ok(outputDir, 'usage: machine_test.mjs BASE_URL OUTPUT_DIR');
const patience = 60_000;
const browserArguments = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
                          '--disable-component-update', '--disable-sync'];
const movie = 'test pattern.mp4';

async function openPage(browser, colorScheme) {
  const context = await browser.newContext({colorScheme, viewport: {width: 1280, height: 860}});
  const page = await context.newPage();
  page.setDefaultTimeout(patience);
  page.on('pageerror', (error) => assert.fail(`the page threw: ${error.message}`));
  page.on('console', (message) => assert.doesNotMatch(message.text(), /Content Security Policy/));
  await page.goto(baseUrl);
  return page;
}

// A stream of many bytes in short units that is read slowly: it goes on for longer than is looked at here, and leaves
// time for segments.
const bytesPerS = 1e6;

async function beginStream() {
  const answer = await fetch(`${baseUrl}/v1/transcode/${encodeURIComponent(movie)}?width=1280&height=720&bitrate=40M&unit=0.5`);
  assert.equal(answer.status, 200);
  const read = async () => {
    for await (const part of answer.body) await sleep(1000 * part.length / bytesPerS);
  };
  return {id: answer.headers.get('X-Gopmill-Stream'), ended: read().then(() => 'whole', () => 'cut')};
}

const focused = (page) => page.evaluate(() => document.activeElement.getAttribute('aria-label') || document.activeElement.id ||
                                        document.activeElement.localName);

async function tabTo(page, name) {
  for (let i = 0; i < 60 && (await focused(page)) !== name; ++i) await page.keyboard.press('Tab');
  assert.equal(await focused(page), name, `Tab does not reach ${name}`);
}

async function opensByKeyboard(page) {
  const isOpen = () => page.$eval('#machine', (view) => view.open);
  assert.equal(await isOpen(), false);
  await tabTo(page, 'machine-link');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.activeElement.localName === 'summary');
  assert.equal(await isOpen(), true);
  await page.keyboard.press('Space');
  await page.waitForFunction(() => !document.getElementById('machine').open);
  await page.keyboard.press('Space');
  await page.waitForSelector('#machine-tree .tile');
}

// As many workers as the server has, each at its place.
async function showsTheMachine(page) {
  const {workers, scheduler} = await (await page.request.get(`${baseUrl}/v1/workers`)).json();
  assert.equal(await page.locator('.tile').count(), workers.length);
  assert.match(await page.textContent('#machine-headline'), new RegExp(`^scheduler ${scheduler} .+ ${workers.length} worker`));
  assert.ok(await page.isHidden('#machine-classes-part'));
}

async function showsAStream(page, id) {
  const row = page.locator(`#machine-streams tr[data-stream="${id}"]`);
  await row.locator('.state', {hasText: 'running'}).waitFor();
  const texts = await row.locator('td').allTextContents();
  assert.equal(texts[1], movie);
  assert.equal(texts[2], '1280\u00d7720 \u00b7 25 fps \u00b7 h264');
  assert.ok(await row.locator('progress').isVisible());
  await page.waitForFunction((stream) => [...document.querySelectorAll(`.tile[data-stream="${stream}"]`)].some((tile) =>
    Number(tile.querySelector('.load').textContent) > 0), id);
  await page.waitForSelector(`#machine-gantt .bar[data-stream="${id}"]:not(.shared)`);
  const title = await page.locator(`#machine-gantt .bar[data-stream="${id}"] title`).first().textContent();
  assert.match(title, new RegExp(`^stream ${id} \\(${movie}\\), unit \\d+: `));
  assert.match(await page.getAttribute('#machine-gantt > svg', 'aria-label'), /^The last 30 seconds: .+ busy/);
  const links = await row.locator('a').evaluateAll((list) => list.map((each) => each.href));
  assert.equal(links.length, 3);
  for (const link of links) {
    const answer = await page.request.get(link);
    assert.equal(answer.status(), 200, link);
    assert.ok(await answer.json());
  }
}

// They have numbers of their own, which no stream has.
async function showsSegments(page) {
  const part = `${baseUrl}/v1/hls/${encodeURIComponent(movie)}/v0-1.m4s?width=640&height=360&bitrate=500k`;
  assert.equal((await fetch(part)).status, 200);
  await page.waitForSelector('#machine-gantt .bar.shared:not(.running)', {state: 'attached'});
  assert.match(await page.textContent('#machine-gantt-note'), /Grey ones are segments/);
}

async function stopsIt(page, {id, ended}) {
  await tabTo(page, `Stop stream ${id}`);
  assert.equal(await page.$$eval('.bar.lit', (bars) => new Set(bars.map((bar) => bar.dataset.stream)).size), 1);
  await page.keyboard.press('Enter');
  assert.equal(await ended, 'cut');
  await page.locator(`#machine-streams tr[data-stream="${id}"] .state`, {hasText: 'cancelled'}).waitFor();
  assert.ok(await page.isHidden('#machine-problem'));
  assert.ok(await page.isHidden(`[aria-label="Stop stream ${id}"]`));
}

const browser = await chromium.launch({executablePath: '/usr/bin/chromium', args: browserArguments});
try {
  for (const colorScheme of ['light', 'dark']) {
    const page = await openPage(browser, colorScheme);
    await opensByKeyboard(page);
    await showsTheMachine(page);
    const stream = await beginStream();
    await showsAStream(page, stream.id);
    await showsSegments(page);
    assert.deepEqual(await textsWithTooLittleContrast(page, '#machine'), []);
    await page.locator('#machine').screenshot({path: join(outputDir, `machine-${colorScheme}.png`)});
    await stopsIt(page, stream);
    await page.context().close();
  }
} finally {
  await browser.close();
}
console.log(`The view of the machine works; screenshots are in ${outputDir}.`);
