// SPDX-License-Identifier: Apache-2.0
//
// Answers of /v1/workers and /v1/streams for machines that are not here, for tests of the view
// "Machine".

const node = (kind, os_index, children, more = {}) => ({kind, os_index, ...more, children});
const range = (count) => [...Array(count).keys()];

// Packages of NUMA nodes of L3s of eight cores of two PUs each, as far as there are workers.
export function machineOf(workers) {
  const core = (index) => node('l2', index, [node('core', index, range(2).map((i) => ({kind: 'pu', os_index: 2 * index + i})))],
                               {cache_bytes: 1 << 20});
  const cores = range(Math.ceil(workers / 2));
  const parts = (list, size) => range(Math.ceil(list.length / size)).map((i) => list.slice(i * size, (i + 1) * size));
  const l3s = parts(cores, 8).map((each, i) => node('l3', i, each.map(core), {cache_bytes: 32 << 20}));
  const numas = parts(l3s, 4).map((each, i) => node('numa', i, each));
  return {kind: 'machine', children: parts(numas, 2).map((each, i) => node('package', i, each))};
}

// One worker at `now`: units of 0.4 to 1.1 s without gaps since 0, of streams 1 to `streams`.
function workerAt(worker, now, streams) {
  const length = 0.4 + (worker * 7 % 8) / 10;
  const idle = worker % 5 === 4 ? 0.5 : 0;  // of each unit's time
  const first = Math.max(0, Math.floor((now - 31) / length));
  const at = Math.floor(now / length);
  const streamAt = (n) => (n + worker) % 7 ? 1 + (n + worker) % streams : 2 ** 63 + 2 ** 20;  // segments now and then
  const unit = (n) => [streamAt(n), n, n * length, (n + 1 - idle) * length];
  const busy = (at + Math.min(1 - idle, now / length - at) / (1 - idle)) * length * (1 - idle);
  const runs = now < (at + 1 - idle) * length;
  return {worker, pu: worker, pinned: true, busy_s: busy, units_done: at, queued_units: worker % 3, queued_bytes: 20000 * (worker % 3),
          running: runs ? {stream: unit(at)[0], unit: at, running_since_s: at * length} : null,
          recent: range(at - first).map((i) => unit(first + i))};
}

export function workersAt(now, {workers = 4, streams = 3, classes = [{name: 'default', weight: 1}]} = {}) {
  const weights = classes.reduce((sum, each) => sum + each.weight, 0);
  return {now_s: now, scheduler: 'hearth', machine: machineOf(workers), waiting_units: 3, waiting_bytes: 61234,
          workers: range(workers).map((worker) => workerAt(worker, now, streams)),
          classes: classes.map((each) => ({
            guaranteed_workers: 0, max_workers: null, deadline_ms: null, served_s: now * each.weight / weights,
            waiting_units: 1, assigned_units: 2, ...each}))};
}

export function streamOf(id, more = {}) {
  return {id, source: `clips/movie ${id}.mp4`, state: 'running', adjusted: [], elapsed_s: 10, out_s: 12, total_s: 60, speed: 1.2, fps: 28.8,
          target: {width: 640, height: 360, fps: '24000/1001', vcodec: 'h264'},
          counts: {frames_total: 1440, frames_analysed: 0},
          order: {out_of_order_rate: 0.125, before: {jitter_ms: 31.4}, after: {jitter_ms: 0.41}}, ...more};
}
