// SPDX-License-Identifier: Apache-2.0
//
// The page at / in Chromium when something is in its way, against running servers:
//   node trouble_test.mjs BASE_URL GUARDED_URL OUTPUT_DIR
// GUARDED_URL is a server whose user is ann with the password word. Answers that fail, come late or
// change are made up here; time is that of the page's clock, so that nothing is waited for. Exits
// with 0 if all of it worked.
import assert from 'node:assert/strict';
import {join} from 'node:path';
import {chromium} from 'playwright-core';

const [baseUrl, guardedUrl, outputDir] = process.argv.slice(2);
assert.ok(outputDir, 'usage: trouble_test.mjs BASE_URL GUARDED_URL OUTPUT_DIR');
const patience = 60_000;
const browserArguments = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync', '--autoplay-policy=no-user-gesture-required',
];

async function newPage(browser) {
  const context = await browser.newContext({viewport: {width: 1280, height: 860}});
  const page = await context.newPage();
  page.setDefaultTimeout(patience);
  page.on('pageerror', (error) => assert.fail(`the page threw: ${error.message}`));
  return page;
}

const problem = (status, detail) => (route) => route.fulfill(
    {status, contentType: 'application/problem+json', body: JSON.stringify({title: 'It failed', status, detail})});
const says = (page, id, text) => page.waitForFunction(
    ([where, wanted]) => {
      const node = document.getElementById(where);
      return !node.hidden && node.textContent.includes(wanted);
    }, [id, text]);
const plays = (page) => page.waitForFunction(() => document.getElementById('video').currentTime > 0.5);
const nothingRuns = async (page) => {
  const end = Date.now() + patience;
  for (let running = 1; running > 0;) {
    const {streams} = await (await page.request.get(`${baseUrl}/v1/streams`)).json();
    running = streams.filter(({state}) => state === 'running').length;
    assert.ok(Date.now() < end, 'a request of the page goes on');
  }
};
const isShown = (page) => page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));

async function triesTheFirstListingAgain(browser) {
  const page = await newPage(browser);
  await page.clock.install();
  await page.route('**/v1/sources', problem(504, 'The answer took too long to make.'));
  await page.goto(baseUrl);
  await says(page, 'library-note', 'The library is being read');
  await page.unroute('**/v1/sources');
  await page.clock.runFor(5000);
  await page.waitForSelector('#library input:not(:disabled)');
  assert.ok(await page.isHidden('#library-note'));
  await page.route('**/v1/sources', problem(503, 'The library cannot be read.'));
  await isShown(page);
  await says(page, 'library-note', 'The library cannot be read.');
  assert.ok(await page.isVisible('#library input:not(:disabled)'), 'what was listed stays');
  await page.context().close();
}

async function listsLiveSourcesBesideASlowLibrary(browser) {
  const page = await newPage(browser);
  await page.clock.install();
  let answer = null;
  const asked = new Promise((resolve) => {
    page.route('**/v1/sources', (route) => resolve(answer = route));
  });
  await page.goto(baseUrl);
  await asked;
  await page.clock.runFor(3000);
  await page.waitForSelector('#live input[value="live/door"]');
  assert.equal(await page.locator('input[name=movie]:checked').count(), 0, 'a live source is no default');
  await answer.continue();
  await page.waitForSelector('#library input:checked');
  await page.context().close();
}

// A large movie on a slow disk; Stop ends what is asked.
async function saysThatTheMovieIsRead(browser) {
  const page = await newPage(browser);
  await page.clock.install();
  await page.goto(baseUrl);
  await page.waitForSelector('#library input:checked');
  await page.locator('#more').evaluate((more) => { more.open = true; });
  await page.selectOption('#container', 'hls');
  await page.route('**/master.m3u8*', () => {});  // no answer
  const asked = page.waitForRequest('**/master.m3u8*');
  await page.click('#play');
  const request = await asked;
  assert.equal(request.method(), 'HEAD');
  assert.equal(await page.textContent('#status'), 'Asking the server\u2026');
  await page.clock.runFor(5000);
  await says(page, 'status', 'The movie is being read for the first time');
  await page.screenshot({path: join(outputDir, 'reading.png'), fullPage: true});
  assert.ok(await page.isEnabled('#stop'));
  const left = page.waitForEvent('requestfailed', (one) => one === request);
  await page.click('#stop');
  await left;
  assert.equal(await page.textContent('#status'), 'Stopped.');
  assert.ok(await page.isDisabled('#stop'));
  await page.context().close();
}

// The browser tries a few times by itself, so that the error is made up.
async function saysThatTheConnectionEnded(browser) {
  const page = await newPage(browser);
  await page.goto(baseUrl);
  await page.waitForSelector('#library input:checked');
  for (const [code, title] of [[2, 'The connection ended'], [3, 'This browser cannot play the result'],
                               [4, 'The connection ended']]) {
    await page.click('#play');
    await plays(page);
    await page.$eval('#video', (video, failed) => {
      Object.defineProperty(video, 'error', {value: {code: failed, message: 'It failed'}, configurable: true});
      video.dispatchEvent(new Event('error'));
    }, code);
    await says(page, 'problem', title);
    assert.ok(await page.isDisabled('#stop'));
  }
  assert.match(await page.textContent('#problem'), /HLS/);
  await nothingRuns(page);
  await page.context().close();
}

// Tracks that change, the focus, the place in the list, and a movie that no request can reach.
async function renewsLiveSources(browser) {
  const page = await newPage(browser);
  await page.clock.install();
  const {sources: [, good]} = await (await page.request.get(`${baseUrl}/v1/sources`)).json();
  const source = {...good, audio_tracks: good.audio_tracks.slice(0, 1)};
  const names = [...Array(30).keys()].map((i) => `live/${i + 10}`);
  const list = () => names.map((path) => ({path, source, pull: null}));
  await page.route('**/v1/sources', (route) => route.fulfill({json: {sources: [
    {path: 'live/unreachable.mp4', error: {code: 'unsupported', message: 'It cannot be asked for.'}}, good]}}));
  await page.route('**/v1/live', (route) => route.fulfill(
      {json: {live: [...list(), {path: 'live/unreachable.mp4', pull: 'idle'}]}}));
  await page.goto(baseUrl);
  const last = page.locator('#live input[value="live/39"]');
  await last.check();
  await last.focus();
  const place = await page.$eval('#live', (live) => live.scrollTop);
  assert.ok(place > 0, 'the list has no bar');
  assert.ok(await page.isHidden('#audio-field'));
  assert.equal(await page.locator('#live .broken').count(), 0);
  assert.ok(await page.isEnabled('#live input[value="live/unreachable.mp4"]'));
  source.audio_tracks = good.audio_tracks.slice(0, 2);
  await page.clock.runFor(3000);
  await page.waitForSelector('#audio-field:not([hidden])');
  assert.equal(await page.$eval('#live', (live) => live.scrollTop), place);
  assert.equal(await page.evaluate(() => document.activeElement.value), 'live/39');
  assert.ok(await last.isChecked());
  await page.context().close();
}

// The address of the page has the name and the password in it.
async function pageOfAUser(browser) {
  const page = await newPage(browser);
  await page.clock.install();
  await page.goto(guardedUrl.replace('://', '://ann:word@'));
  await page.waitForSelector('#library input:checked');
  return page;
}

async function opensForAUser(browser) {
  const page = await pageOfAUser(browser);
  await page.click('#play');
  await plays(page);
  await page.locator('#more').evaluate((more) => { more.open = true; });
  await page.selectOption('#container', 'hls');
  await page.click('#play');
  await page.waitForFunction(() => document.getElementById('video').src.startsWith('blob:'));
  await plays(page);
  await says(page, 'ffplay', '://NAME:PASSWORD@');
  assert.match(await page.textContent('#save'), /:\/\/NAME:PASSWORD@/);
  assert.doesNotMatch(await page.textContent('#url'), /@|word/);
  await page.selectOption('#container', 'mp4');
  assert.match(await page.textContent('#save'), /^curl -u NAME -f -o .+ 'http:\/\/[^@]+'$/);
  await page.click('#stop');
  await page.context().close();
}

// The browser would ask for the password each time.
async function stopsAskingWhenItIsRefused(browser) {
  const page = await pageOfAUser(browser);
  let asked = 0;
  const refuse = (route) => {
    ++asked;
    return problem(401, 'Name and password are needed.')(route);
  };
  await page.route('**/v1/live', refuse);
  while (asked === 0) await page.clock.runFor(3000);
  for (let i = 0; i < 10; ++i) await page.clock.runFor(3000);
  assert.equal(asked, 1);
  await page.unroute('**/v1/live');
  const listed = page.waitForResponse('**/v1/sources');
  const again = page.waitForResponse('**/v1/live');
  await isShown(page);
  await listed;
  await page.clock.runFor(3000);
  assert.equal((await again).status(), 200);
  await page.context().close();
}

const browser = await chromium.launch({executablePath: '/usr/bin/chromium', args: browserArguments});
try {
  for (const test of [triesTheFirstListingAgain, listsLiveSourcesBesideASlowLibrary, saysThatTheMovieIsRead,
                      saysThatTheConnectionEnded, renewsLiveSources, opensForAUser,
                      stopsAskingWhenItIsRefused]) {
    await test(browser).catch((error) => { throw new Error(test.name, {cause: error}); });
  }
} finally {
  await browser.close();
}
console.log('The page copes with trouble.');
