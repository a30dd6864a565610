// SPDX-License-Identifier: Apache-2.0
//
// Opens the page that `gopmill bench --html` wrote in Chromium:
//   node report_test.mjs REPORT.html REPORT.json OUTPUT_DIR
// The page must ask nobody for anything, log no error, name its charts, fit a phone in both colour
// schemes, and show the numbers of the JSON. Screenshots go to OUTPUT_DIR.
import assert from 'node:assert/strict';
import {mkdirSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {pathToFileURL} from 'node:url';
import {chromium} from 'playwright-core';

const [html, json, outputDir] = process.argv.slice(2);
assert.ok(html && json && outputDir, 'usage: report_test.mjs REPORT.html REPORT.json OUTPUT_DIR');
mkdirSync(outputDir, {recursive: true});
const report = JSON.parse(readFileSync(json, 'utf8'));
const pageUrl = pathToFileURL(html).href;

async function open(browser, colorScheme, width) {
  const context = await browser.newContext({colorScheme, viewport: {width, height: 900}});
  const page = await context.newPage();
  page.on('pageerror', (error) => assert.fail(`the page threw: ${error.message}`));
  page.on('console', (message) => assert.notEqual(message.type(), 'error', message.text()));
  page.on('request', (request) => assert.equal(request.url(), pageUrl, 'the page asks for more'));
  await page.goto(pageUrl);
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(overflow <= 0, `the page is ${overflow} pixels wider than ${width}`);
  await page.screenshot({path: join(outputDir, `report-${colorScheme}-${width}.png`), fullPage: true});
  return page;
}

const valueIn = (page, chart, policy) => page.textContent(`#${chart} g[data-policy="${policy}"] .value`);

async function chartsCarryTheNumbers(page) {
  for (const {policy, measures, stages_ms: stages} of report.policies) {
    const shown = {
      throughput: measures.gops_per_s.median.toFixed(1),
      cores: `${(100 * measures.utilisation.median).toFixed(1)}\u202f%`,
      order: `${(100 * measures.reordered.median).toFixed(2)}\u202f%`,
      idle: `${measures.idle_waiting_ms.median.toFixed(1)}\u202fms`,
      work: `${['decode', 'filter', 'encode', 'other'].reduce((sum, name) => sum + stages[name], 0)
        .toFixed(2)}\u202fms`,
    };
    for (const [chart, text] of Object.entries(shown)) {
      assert.equal(await valueIn(page, chart, policy), text, `${chart} of ${policy}`);
    }
    const latency = await valueIn(page, 'latency', policy);
    assert.ok(latency.startsWith(measures.latency_p50_ms.median.toFixed(0) + ' / '), latency);
  }
  const rows = await page.$$eval('#numbers tr[data-measure]', (list) => list.length);
  assert.equal(rows, Object.keys(report.measures).length);
}

async function ratiosAreToTheBaseline(page) {
  assert.equal(report.baseline, 'rr');
  assert.ok((await page.textContent('#ratios-title')).includes('rr'));
  const rows = (id) => page.$$eval(`#${id} tr[data-policy]`, (list) => list.map((row) =>
    [row.dataset.policy, ...[...row.cells].slice(1).map((cell) => cell.textContent)]));
  const others = report.policies.filter(({policy}) => policy !== 'rr');
  const range = (interval, shown) => interval ?
    `${shown(interval.median)} (${shown(interval.low)} to ${shown(interval.high)})` : '\u2013';
  assert.deepEqual(await rows('ratios'), others.map(({policy, ratios}) =>
    [policy, ...report.compared.ratios.map((name) => range(ratios[name], (value) => value.toFixed(3)))]));
  const points = (value) => (value > 0 ? '+' : '') + (100 * value).toFixed(2);
  assert.deepEqual(await rows('differences'), others.map(({policy, differences}) =>
    [policy, ...report.compared.differences.map((name) => range(differences[name], points))]));
}

async function cardsDoubtWhatIntervalsDoNotTellApart(page) {
  const best = report.policies.reduce((a, b) =>
    a.measures.gops_per_s.median >= b.measures.gops_per_s.median ? a : b);
  const {low, high} = best.measures.gops_per_s;
  const near = report.policies.filter(({measures: {gops_per_s: other}}) =>
    other !== best.measures.gops_per_s && other.low <= high && low <= other.high).length;
  const card = await page.textContent('#cards .card');
  assert.ok(card.includes(best.policy), card);
  assert.equal(card.includes('interval overlaps'), near > 0, card);
}

async function marksAreWhereTheirValuesAre(page) {
  const widths = await page.$$eval('#order .bar', (bars) => bars.map((bar) => Number(bar.getAttribute('width'))));
  const values = report.policies.map(({measures}) => measures.reordered.median);
  const greatest = Math.max(...values);
  values.forEach((value, index) => {
    const expected = greatest ? value / greatest * Math.max(...widths) : 0;
    assert.ok(Math.abs(widths[index] - expected) < 0.5, `bar ${index}: ${widths[index]}, not ${expected}`);
  });
}

async function sharesAreStackedToTheirValues(page) {
  const due = report.classes.map((each) => (100 * each.due).toFixed(1));
  assert.deepEqual(due, ['75.0', '25.0']);
  assert.deepEqual(await page.$$eval('#shares .legend li', (list) => list.map((item) => item.textContent)),
    report.classes.map(({name}, index) => `${name} (due ${due[index]}\u202f%)`));
  for (const {policy, class_shares: shares} of report.policies) {
    const expected = shares.map((share) => (100 * share.median).toFixed(1)).join(' / ') + '\u202f%';
    assert.equal(await valueIn(page, 'shares', policy), expected);
    const widths = await page.$$eval(`#shares g[data-policy="${policy}"] rect`, (bars) =>
      bars.map((bar) => Number(bar.getAttribute('width'))));
    const whole = shares.reduce((sum, share) => sum + share.median, 0);
    assert.ok(whole > 0.98 && whole < 1.02, `the shares of ${policy} add up to ${whole}`);
    shares.forEach((share, index) => assert.ok(
      Math.abs(widths[index] / (widths[0] + widths[1]) - share.median / whole) < 0.001, `${policy}, ${index}`));
  }
}

// The page with its data changed by `change`.
async function openChanged(browser, change, viewport = {width: 1200, height: 900}) {
  const page = await browser.newPage({viewport});
  page.on('pageerror', (error) => assert.fail(`the page threw: ${error.message}`));
  page.on('console', (message) => assert.notEqual(message.type(), 'error', message.text()));
  const changed = (json) => {
    const data = JSON.parse(json);
    change(data);
    return JSON.stringify(data);
  };
  await page.setContent(readFileSync(html, 'utf8').replace(
    /(<script type="application\/json" id="data">)(.*?)(<\/script>)/s,
    (_, head, json, tail) => head + changed(json) + tail));
  return page;
}

// The page as it is with other medians, by name.
const openWith = (browser, medians, viewport) => openChanged(browser, (data) => {
  for (const [name, median] of Object.entries(medians)) {
    data.policies.forEach(({measures}) => {
      measures[name] = {median, low: 0.8 * median, high: 1.5 * median, values: 2, coverage: 0.5};
    });
  }
}, viewport);

// As many classes as a server may have: their values beside the bars would leave no room for these.
async function manyClassesLeaveRoomForTheirBars(browser) {
  const share = 1 / 64;
  for (const width of [390, 1200]) {
    const page = await openChanged(browser, (data) => {
      data.classes = Array.from({length: 64}, (_, index) => ({...data.classes[0], name: `c${index}`, due: share}));
      data.policies.forEach((policy) => {
        policy.class_shares = data.classes.map(() => ({...policy.class_shares[0], median: share}));
      });
    }, {width, height: 900});
    const bars = await page.$$eval('#shares g[data-policy] rect', (rects) =>
      rects.map((rect) => [Number(rect.getAttribute('x')), Number(rect.getAttribute('width'))]));
    assert.equal(bars.length, 64 * report.policies.length);
    const whole = bars.slice(0, 64).reduce((sum, [, each]) => sum + each, 0);
    assert.ok(whole > width / 3, `${width} pixels wide, the bars have ${whole}`);
    for (const [x, each] of bars) assert.ok(x >= 0 && each > 0, `a bar of ${each} at ${x}`);
    await page.close();
  }
}

async function valuesStandClearOfTheMarks(browser) {
  const medians = {latency_p50_ms: 1555, latency_p95_ms: 9720, latency_p99_ms: 10712,
                   gap_before_ms: 553.7, gap_after_ms: 750.6};
  for (const width of [390, 500, 1200]) {
    const page = await openWith(browser, medians, {width, height: 900});
    const covered = await page.$$eval('.chart g[data-policy]', (rows) => rows.filter((row) => {
      const ends = [...row.querySelectorAll('rect, line, circle')].map((mark) => mark.getBBox())
        .map((box) => box.x + box.width);
      return row.querySelector('.value').getBBox().x < Math.max(0, ...ends);
    }).map((row) => `${row.closest('.chart').id} of ${row.dataset.policy}`));
    assert.deepEqual(covered, [], `values over marks, ${width} pixels wide`);
    await page.screenshot({path: join(outputDir, `report-long-values-${width}.png`), fullPage: true});
    await page.close();
  }
}

// Few machines that test have counters, so the page is given what it would say where there are some.
async function missesAreShownWhereTheyWereCounted(browser, page) {
  assert.equal(await page.$$eval('#misses', (list) => list.length),
    report.policies.every(({measures}) => measures.cache_misses_per_gop) ? 1 : 0);
  const counted = await openWith(browser, {cache_misses_per_gop: 1234});
  for (const {policy} of report.policies) assert.equal(await valueIn(counted, 'misses', policy), '1,234');
  await counted.close();
}

async function chartsAreNamed(page) {
  const nameless = await page.$$eval('svg', (charts) =>
    charts.filter((chart) => chart.getAttribute('role') !== 'img' ||
                             !(chart.getAttribute('aria-label')?.length > 10)).length);
  assert.equal(nameless, 0);
  assert.equal(await page.$$eval('.chart', (list) => list.filter((box) => !box.querySelector('svg')).length), 0);
  assert.equal(await page.getByLabel('Policy', {exact: true}).count(), 1);
}

async function ganttFollowsTheChoice(page) {
  for (const {policy} of report.policies) {
    await page.selectOption('#gantt-policy', policy);
    const slices = await page.$$eval('#gantt rect', (list) => list.length);
    assert.equal(slices, report.runs.find((run) => run.policy === policy).gops);
    assert.ok((await page.getAttribute('#gantt svg', 'aria-label')).includes(policy));
  }
}

const browser = await chromium.launch({executablePath: '/usr/bin/chromium', args: [
  '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync']});
try {
  const light = await open(browser, 'light', 1200);
  await chartsAreNamed(light);
  await chartsCarryTheNumbers(light);
  await ratiosAreToTheBaseline(light);
  await cardsDoubtWhatIntervalsDoNotTellApart(light);
  await marksAreWhereTheirValuesAre(light);
  await ganttFollowsTheChoice(light);
  await sharesAreStackedToTheirValues(light);
  await missesAreShownWhereTheyWereCounted(browser, light);
  await valuesStandClearOfTheMarks(browser);
  await manyClassesLeaveRoomForTheirBars(browser);
  assert.equal(await light.$$eval('#alerts .alert', (list) => list.length), report.violations.length);
  const phone = await open(browser, 'dark', 390);
  await chartsAreNamed(phone);
  await phone.setViewportSize({width: 800, height: 900});
  await phone.waitForFunction(() => document.querySelector('#throughput svg').viewBox.baseVal.width > 600);
} finally {
  await browser.close();
}
console.log(`The report works; screenshots are in ${outputDir}.`);
