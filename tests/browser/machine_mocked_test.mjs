// SPDX-License-Identifier: Apache-2.0
//
// The view "Machine" of the page at / with answers that are made up: machines that are not here, many
// streams.
//   node machine_mocked_test.mjs BASE_URL OUTPUT_DIR [TEST...]
// Exits with 0 if all of it worked; screenshots go to OUTPUT_DIR.
import assert from 'node:assert/strict';
import {join} from 'node:path';
import {textsWithTooLittleContrast} from './contrast.mjs';
import {next, openMachine, runTests} from './machine_page.mjs';
import {streamOf} from './made_up_machine.mjs';

const [baseUrl, outputDir, ...only] = process.argv.slice(2);
assert.ok(outputDir, 'usage: machine_mocked_test.mjs BASE_URL OUTPUT_DIR [TEST...]');
const twoClasses = [{name: 'interactive', weight: 3, max_workers: 4, guaranteed_workers: 0.5}, {name: 'batch', weight: 1, deadline_ms: 500}];
const open = (browser, ...options) => openMachine(browser, baseUrl, ...options);
const overflowOf = (page) => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);

async function showsHundredsOfWorkers(browser) {
  const {page} = await open(browser, {workers: 256, streams: 9, classes: twoClasses});
  await next(page, 3);
  const groups = await page.$$eval('#machine-tree .group', (list) => list.map((each) => each.dataset.kind));
  const number = (kind) => groups.filter((each) => each === kind).length;
  assert.deepEqual(['machine', 'package', 'numa', 'l3', 'core'].map(number), [1, 2, 4, 16, 128]);
  assert.equal(await page.locator('#machine-tree .tile').count(), 256);
  assert.match(await page.locator('.tile', {hasText: 'worker 255'}).getAttribute('title'), /^worker 255 \(PU 255\): \d+\u202f% busy/);
  assert.equal(await page.locator('#machine-gantt rect.bar').count(), 0, 'elements of thousands of units');
  assert.ok(await page.locator('#machine-gantt path.bar').count() >= 3);
  assert.match(await page.locator('#machine-gantt > svg').getAttribute('aria-label'), /^The last 30 seconds: \d{4,} units on 256 workers$/);
  assert.ok(await overflowOf(page) <= 0);
  await page.locator('#machine').screenshot({path: join(outputDir, 'machine-256.png')});
  await page.setViewportSize({width: 360, height: 800});
  await next(page, 2);
  assert.ok(await overflowOf(page) <= 0, 'wider than a phone');
  await page.context().close();
}

// They are counted from the first answer on.
async function comparesClasses(browser) {
  const {page, state} = await open(browser, {workers: 4, classes: twoClasses});
  state.change = (report) => { report.classes[1].served_s = 25.25 + (report.now_s - 101) / 2; };
  await next(page, 4);
  const rows = await page.$$eval('#machine-classes tr', (list) => list.map((row) => [...row.cells].map((each) => each.textContent)));
  assert.deepEqual(rows.map((row) => row.slice(0, 4)), [['interactive', '3', '75\u202f%', '60\u202f%'], ['batch', '1', '25\u202f%', '40\u202f%']]);
  assert.deepEqual(rows.map((row) => row.slice(6)), [['0.5 to 4', '\u2013'], ['any', '500\u202fms']]);
  await page.context().close();
  const {page: one} = await open(browser, {workers: 4});
  assert.ok(await one.isHidden('#machine-classes-part'), 'one class has nothing to be compared with');
  await one.context().close();
}

async function foldsWhatHasOneChild(browser) {
  const {page, state} = await open(browser, {workers: 1});
  assert.equal(await page.locator('#machine-tree .group').count(), 1);
  assert.equal(await page.locator('#machine-tree .label').textContent(),
               'Package 0 \u00b7 NUMA node 0 \u00b7 L3 32 MiB \u00b7 L2 1 MiB \u00b7 Core 0 \u00b7 PU 0');
  state.change = (report) => {  // three workers on one PU, one on none
    report.workers = [0, 0, 0, -1].map((pu, worker) => ({...report.workers[0], worker, pu, pinned: pu === 0}));
  };
  await next(page);
  const groups = await page.$$eval('#machine-tree > .group', (list) => list.map((group) =>
    [group.querySelector('.label').textContent.split(' \u00b7 ').at(-1), group.querySelectorAll('.tile').length]));
  assert.deepEqual(groups, [['PU 0', 3], ['Not pinned', 1]]);
  await page.context().close();
}

async function showsLoadsAndQueues(browser) {
  const {page, state} = await open(browser, {workers: 4});
  let busy = 0;
  state.change = (report) => {
    report.workers[1] = {...report.workers[1], busy_s: busy += 0.25, queued_units: 2, running: null};
    report.workers[2].running = {stream: 2 ** 63 + 2 ** 20, unit: 5};
    report.workers[3].running = {stream: 77, unit: 5};  // no longer listed
  };
  await next(page, 3);
  const tile = (worker) => page.locator('.tile', {hasText: `worker ${worker}`});
  assert.equal(await tile(1).getAttribute('title'), 'worker 1 (PU 1): 25\u202f% busy, 2 units in its queue; idle');
  assert.equal(await tile(1).locator('.queue').textContent(), '+2');
  assert.equal(await tile(2).locator('.run').textContent(), 'segments, unit 5');
  assert.ok(await tile(2).evaluate((node) => node.classList.contains('shared')));
  assert.equal(await tile(3).locator('.run').textContent(), 'stream 77, unit 5');
  assert.match(await page.textContent('#machine-headline'), /^scheduler hearth \u00b7 4 workers \u00b7 .+ busy \u00b7 3 units in the global queue \(62 kB\)$/);
  await page.context().close();
}

async function showsWhoIsOutOfService(browser) {
  const {page, state} = await open(browser, {workers: 4});
  let away = true;
  state.change = (report) => {
    for (const each of [1, 2]) report.workers[each] = {...report.workers[each], in_service: !away, running: null};
  };
  await next(page, 3);
  const tile = (worker) => page.locator('.tile', {hasText: `worker ${worker}`});
  assert.equal(await tile(1).locator('.run').textContent(), 'out of service');
  assert.ok(await tile(1).evaluate((node) => node.classList.contains('away')));
  assert.ok(!await tile(0).evaluate((node) => node.classList.contains('away')));
  assert.match(await page.textContent('#machine-headline'), /^scheduler hearth \u00b7 2 of 4 workers in service \u00b7 /);
  away = false;
  await next(page, 2);
  assert.equal(await tile(1).locator('.run').textContent(), 'idle');
  assert.ok(!await tile(1).evaluate((node) => node.classList.contains('away')));
  await page.context().close();
}

async function takesNamesAsText(browser) {
  const {page, state} = await open(browser, {workers: 2});
  const source = '<img src=x onerror="document.title=1"> & <b>.mp4';
  state.streams = [streamOf(1, {source, state: source, error: {message: source}}), streamOf(2, {source})];
  state.change = (report) => Object.assign(report, {scheduler: source}, {classes: [1, 2].map(() => ({...report.classes[0], name: source}))});
  await next(page, 2);
  assert.equal(await page.locator('#machine :is(img, b)').count(), 0);
  assert.equal(await page.locator('#machine-streams tr', {hasText: source}).count(), 2);
  assert.ok((await page.textContent('#machine-headline')).includes(source));
  assert.equal(await page.title(), 'gopmill');
  await page.context().close();
}

async function saysWhyAStreamIsNotStopped(browser) {
  const {page} = await open(browser, {});
  await page.route('**/v1/streams/2', (route) => route.fulfill({status: 403, json: {title: 'Forbidden', detail: 'The role publish is needed.'}}));
  await page.click('[aria-label="Stop stream 2"]');
  await page.waitForSelector('#machine-problem:not([hidden])');
  assert.equal(await page.textContent('#machine-problem'), 'Stream 2 could not be stoppedThe role publish is needed.');
  await page.unroute('**/v1/streams/2');
  await page.route('**/v1/streams/2', (route) => route.fulfill({status: 204}));
  await page.click('[aria-label="Stop stream 2"]');
  await page.waitForSelector('#machine-problem', {state: 'hidden'});
  await page.context().close();
}

// New streams come above, others end; nothing is said that was not asked for.
async function keepsTheFocus(browser) {
  const {page, state} = await open(browser, {});
  await page.evaluate(() => {
    globalThis.said = 0;
    const watcher = new MutationObserver((changes) => { said += changes.length; });
    for (const node of document.querySelectorAll('#machine :is([role=status], [role=alert], [aria-live])')) {
      watcher.observe(node, {subtree: true, childList: true, characterData: true, attributes: true});
    }
  });
  const focused = () => page.evaluate(() => document.activeElement.getAttribute('aria-label'));
  await page.focus('[aria-label="Stop stream 1"]');
  state.streams = [streamOf(9), streamOf(1), streamOf(2, {state: 'done'}), streamOf(8, {total_s: 0})];
  await next(page, 2);
  assert.equal(await focused(), 'Stop stream 1');
  assert.deepEqual(await page.$$eval('#machine-streams tr', (rows) => rows.map((row) => row.dataset.stream)), ['9', '8', '1', '2']);
  state.streams = [streamOf(1, {state: 'cancelled'})];
  await next(page, 2);
  assert.equal(await focused(), 'details of stream 1');
  assert.equal(await page.evaluate(() => globalThis.said), 0);
  await page.context().close();
}

async function liftsBarsOfTheStreamLookedAt(browser) {
  const {page} = await open(browser, {workers: 4});
  const lit = () => page.$$eval('#machine .bar.lit', (bars) => [...new Set(bars.map((bar) => bar.dataset.stream))]);
  await page.hover('#machine-streams tr[data-stream="2"]');
  assert.deepEqual(await lit(), ['2']);
  await next(page);
  assert.deepEqual(await lit(), ['2']);
  await page.hover('#machine-headline');
  assert.deepEqual(await lit(), []);
  await page.focus('[aria-label="details of stream 1"]');
  assert.deepEqual(await lit(), ['1']);
  await page.context().close();
}

// An hour of quick units, thousands of streams.
async function remembersNoMoreThanItShows(browser) {
  const {page} = await open(browser, {}, {hash: ''});
  const kept = await page.evaluate(async () => {
    const {History} = await import('/assets/machine_history.js');
    const history = new History();
    for (let now = 1; now < 3600; ++now) {
      const recent = [...Array(64).keys()].map((i) => [now, i, now - 1 + i / 64, now - 1 + (i + 1) / 64]);
      history.takeStreams([{id: now, source: 'a'}, {id: -now, source: 'b'}]);
      history.take({now_s: now, workers: [...Array(16).keys()].map((worker) => ({worker, busy_s: now, recent, running: null})), classes: []});
    }
    return [[...history.lanes.values()].flat().length, Math.min(...[...history.lanes.values()].map((lane) => lane.length)), history.names.size];
  });
  assert.ok(kept[0] <= 16000 && kept[1] >= 900 && kept[2] <= 1000, JSON.stringify(kept));
  await page.context().close();
}

async function isReadable(browser) {
  for (const colorScheme of ['light', 'dark']) {
    for (const workers of [4, 32, 64]) {
      const {page, state} = await open(browser, {workers, classes: twoClasses}, {colorScheme});
      state.streams.push(streamOf(4, {state: 'failed', target: undefined}));
      await next(page, 2);
      await page.focus('[aria-label="details of stream 1"]');
      assert.deepEqual(await textsWithTooLittleContrast(page, '#machine'), [], `${colorScheme}, ${workers} workers`);
      await page.setViewportSize({width: 390, height: 800});
      await next(page, 2);
      assert.ok(await overflowOf(page) <= 0, `${workers} workers are wider than a phone`);
      assert.deepEqual(await textsWithTooLittleContrast(page, '#machine'), [], `${colorScheme}, ${workers} workers, phone`);
      await page.locator('#machine').screenshot({path: join(outputDir, `machine-phone-${colorScheme}-${workers}.png`)});
      await page.context().close();
    }
  }
}

await runTests([showsHundredsOfWorkers, comparesClasses, foldsWhatHasOneChild, showsLoadsAndQueues, showsWhoIsOutOfService,
                takesNamesAsText, saysWhyAStreamIsNotStopped, keepsTheFocus, liftsBarsOfTheStreamLookedAt, remembersNoMoreThanItShows,
                isReadable], only);
console.log('The view of the machine shows what it is told.');
