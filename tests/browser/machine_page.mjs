// SPDX-License-Identifier: Apache-2.0
//
// The page at / in Chromium, looking at a machine that is made up. Time is that of the page's clock,
// so that nothing is waited for.
import assert from 'node:assert/strict';
import {chromium} from 'playwright-core';
import {streamOf, workersAt} from './made_up_machine.mjs';

const patience = 60_000;
const browserArguments = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
                          '--disable-component-update', '--disable-sync'];

// A page of a machine; `state` can be changed while it is looked at.
export async function openMachine(browser, baseUrl, options, {hash = '#machine', colorScheme = 'light', width = 1280} = {}) {
  const context = await browser.newContext({colorScheme, viewport: {width, height: 860}});
  const page = await context.newPage();
  page.setDefaultTimeout(patience);
  page.on('pageerror', (error) => assert.fail(`the page threw: ${error.message}`));
  page.on('console', (message) => assert.doesNotMatch(message.text(), /Content Security Policy/));
  const state = {now: 100, asked: 0, streams: [streamOf(2), streamOf(1), streamOf(3, {state: 'done', out_s: 60})], change: () => {}};
  await page.clock.install();
  await page.route('**/v1/workers', (route) => {
    ++state.asked;
    const report = workersAt(state.now += 1, options);
    state.change(report);
    return route.fulfill({json: report});
  });
  await page.route('**/v1/streams', (route) => route.fulfill({json: {streams: state.streams}}));
  await page.goto(`${baseUrl}/${hash}`);
  if (hash) await page.waitForSelector('#machine .bar');
  return {page, state};
}

export const drawn = (page) => page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve))));

// Lets time pass until another answer is shown.
export async function next(page, times = 1) {
  for (let i = 0; i < times; ++i) {
    const answers = Promise.all([page.waitForResponse('**/v1/workers'), page.waitForResponse('**/v1/streams')]);
    for (let asked = false; !asked;) {
      await page.clock.runFor(1000);
      asked = await Promise.race([answers.then(() => true), drawn(page).then(() => false)]);
    }
    await drawn(page);
  }
}

// Runs each of `tests`, or those that are named.
export async function runTests(tests, only) {
  const browser = await chromium.launch({executablePath: '/usr/bin/chromium', args: browserArguments});
  try {
    for (const test of tests.filter(({name}) => only.length === 0 || only.includes(name))) {
      await test(browser).catch((error) => { throw new Error(test.name, {cause: error}); });
    }
  } finally {
    await browser.close();
  }
}
