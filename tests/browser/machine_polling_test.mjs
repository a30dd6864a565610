// SPDX-License-Identifier: Apache-2.0
//
// When the view "Machine" of the page at / asks the server, and what it does when that fails.
//   node machine_polling_test.mjs BASE_URL [TEST...]
// Exits with 0 if all of it worked.
import assert from 'node:assert/strict';
import {textsWithTooLittleContrast} from './contrast.mjs';
import {drawn, next, openMachine, runTests} from './machine_page.mjs';
import {workersAt} from './made_up_machine.mjs';

const [baseUrl, ...only] = process.argv.slice(2);
assert.ok(baseUrl, 'usage: machine_polling_test.mjs BASE_URL [TEST...]');
const open = (browser, ...options) => openMachine(browser, baseUrl, ...options);
const says = (page, text) => page.waitForFunction(
  (wanted) => !document.getElementById('machine-trouble').hidden &&
    document.getElementById('machine-trouble-text').textContent.includes(wanted), text);

async function pass(page, seconds) {
  for (let i = 0; i < seconds; ++i) {
    await page.clock.runFor(1000);
    await drawn(page);
  }
}

const hide = (page, hidden) => page.evaluate((value) => {
  Object.defineProperty(document, 'hidden', {value, configurable: true});
  document.dispatchEvent(new Event('visibilitychange'));
}, hidden);

// Counted where the page asks: a request is on its way for a while before it is seen here.
const countAsked = (page) => page.evaluate(() => {
  const real = window.fetch;
  window.asked = 0;
  window.fetch = (what, ...rest) => {
    if (String(what).includes('v1/workers')) ++window.asked;
    return real(what, ...rest);
  };
});

async function asksOnlyWhileItIsSeen(browser) {
  const {page} = await open(browser, {}, {hash: ''});
  await countAsked(page);
  const asked = () => page.evaluate(() => window.asked);
  const passes = async (seconds) => {
    const before = await asked();
    await pass(page, seconds);
    return await asked() - before;
  };
  assert.equal(await passes(5), 0, 'it is closed');
  await page.click('#machine summary');
  await page.waitForSelector('#machine .bar');
  await next(page, 3);
  await hide(page, true);
  assert.equal(await passes(5), 0, 'the tab is hidden');
  await hide(page, false);
  await next(page, 3);
  await page.setViewportSize({width: 1280, height: 300});
  await page.evaluate(() => scrollTo(0, 0));
  await drawn(page);
  await passes(1);
  assert.equal(await passes(5), 0, 'it is out of sight');
  await page.click('#machine-link');
  await next(page, 3);
  await page.click('#machine summary');
  await passes(1);
  assert.equal(await passes(5), 0, 'it is closed again');
  assert.ok(await asked() >= 9, 'what was counted is what it asks');
  await page.context().close();
}

async function asksOneAtATime(browser) {
  const {page} = await open(browser, {});
  const held = [];
  await page.route('**/v1/workers', (route) => held.push(route));
  for (let seconds = 0; held.length === 0; ++seconds) {
    assert.ok(seconds < 60, 'it asks');
    await pass(page, 1);
  }
  await pass(page, 6);
  assert.equal(held.length, 1);
  await page.clock.runFor(5000);
  await says(page, 'The server does not answer.');
  await page.context().close();
}

async function goesOnWhenTheServerIsGone(browser) {
  const {page, state} = await open(browser, {});
  const ways = [[(route) => route.abort('connectionrefused'), 'The server cannot be reached.'],
                [(route) => route.fulfill({status: 503, json: {detail: 'It stops.'}}), 'The server answered 503: It stops.'],
                [(route) => route.fulfill({body: '<html>'}), 'is no JSON']];
  for (const [way, text] of ways) {
    let asked = 0;
    await page.route('**/v1/workers', (route) => (++asked, way(route)));
    await page.clock.runFor(1000);
    await says(page, text);
    await pass(page, 60);
    assert.ok(asked >= 4 && asked <= 9, `${asked} times in a minute`);
    assert.ok(await page.isVisible('#machine .bar'), 'what was shown last stays');
    assert.deepEqual(await textsWithTooLittleContrast(page, '#machine'), []);
    await page.unroute('**/v1/workers');
    await page.route('**/v1/workers', (route) => route.fulfill({json: workersAt(state.now += 1)}));
    await next(page, 2);
    assert.ok(await page.isHidden('#machine-trouble'));
  }
  await page.context().close();
}

// The browser would ask for the password each time.
async function waitsForWhoIsRefused(browser) {
  const {page} = await open(browser, {});
  let asked = 0;
  await page.route('**/v1/workers', (route) => (++asked, route.fulfill({status: 401, json: {detail: 'Name and password are needed.'}})));
  await page.clock.runFor(1000);
  await says(page, 'Name and password are needed.');
  await page.clock.runFor(120_000);
  for (const hidden of [true, false]) await hide(page, hidden);
  await page.clock.runFor(1000);
  assert.equal(asked, 1, 'another tab and back');
  // That it was opened is told to the page when its thread comes to it.
  const again = page.waitForResponse('**/v1/workers');
  for (const times of [1, 2]) await page.click('#machine summary');
  await again;
  await page.clock.runFor(1000);
  assert.equal(asked, 2, 'closed and opened');
  await page.unroute('**/v1/workers');
  await page.route('**/v1/workers', (route) => route.fulfill({json: workersAt(200)}));
  await page.click('#machine-again');
  await page.waitForSelector('#machine-trouble', {state: 'hidden'});
  await page.context().close();
}

await runTests([asksOnlyWhileItIsSeen, asksOneAtATime, goesOnWhenTheServerIsGone, waitsForWhoIsRefused], only);
console.log('The view of the machine asks when it should.');
