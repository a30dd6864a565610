// SPDX-License-Identifier: Apache-2.0
//
// What the view of the machine remembers between two answers of /v1/workers. It does not grow with
// time: bars of the last `windowS` seconds, `mostBars` at most, the answer before, and names of the
// newest streams.

export const windowS = 30;
const mostBars = 16000;
const mostNames = 1000;

const pick = (list, value) => new Map(list.map((each) => [each.name ?? each.worker, value(each)]));

export class History {
  now = 0;
  lanes = new Map();    // worker -> its units, oldest first: {key, stream, unit, from, to, running}
  loads = new Map();    // worker -> its load since the answer before, 0 to 1; none at first
  names = new Map();    // stream -> its source
  #last = null;         // the answer before
  #first = null;        // the answer that shares are counted from

  // The view was opened: shares are counted from now on.
  begin() {
    this.#first = null;
    this.pause();
  }

  // Nobody looked for a while, so that the next difference would be of all that time.
  pause() {
    this.#last = null;
  }

  take(report) {
    if (report.now_s < this.now) this.#forget();  // another server
    this.now = report.now_s;
    this.#takeLoads(report);
    const most = Math.max(20, Math.floor(mostBars / Math.max(1, report.workers.length)));
    this.lanes = new Map(report.workers.map((each) => [each.worker, this.#lane(each, most)]));
    this.#first ??= report;
    this.#last = report;
  }

  takeStreams(streams) {
    for (const {id, source} of streams) {
      this.names.delete(id);  // to be the newest
      this.names.set(id, source);
    }
    for (const id of this.names.keys()) {
      if (this.names.size <= mostNames) break;
      this.names.delete(id);
    }
  }

  // Seconds since shares are counted, and what each class got of them.
  shares(report) {
    const before = pick(this.#first.classes, (each) => each.served_s);
    const served = report.classes.map((each) => each.served_s - (before.get(each.name) ?? 0));
    const sum = served.reduce((total, each) => total + each, 0);
    return {seconds: report.now_s - this.#first.now_s, of: served.map((each) => sum > 0 ? each / sum : null)};
  }

  #forget() {
    this.lanes.clear();
    this.names.clear();
    this.begin();
  }

  #takeLoads(report) {
    const before = this.#last ? pick(this.#last.workers, (each) => each.busy_s) : new Map();
    const passed = this.#last ? report.now_s - this.#last.now_s : 0;
    if (this.#last && passed <= 0) return;  // the same answer once more
    this.loads = new Map(report.workers.filter((each) => before.has(each.worker)).map((each) =>
      [each.worker, Math.min(1, Math.max(0, (each.busy_s - before.get(each.worker)) / passed))]));
  }

  #lane(worker, most) {
    const known = (this.lanes.get(worker.worker) ?? []).filter((bar) => !bar.running);
    const bars = new Map(known.map((bar) => [bar.key, bar]));
    for (const [stream, unit, from, to] of worker.recent) {
      const key = `${stream} ${unit} ${from}`;
      if (!bars.has(key)) bars.set(key, {key, stream, unit, from, to, running: false});
    }
    const lane = [...bars.values()].filter((bar) => bar.to > this.now - windowS)
      .sort((a, b) => a.to - b.to).slice(-most);
    const {running} = worker;
    if (running?.running_since_s !== undefined) {
      const {stream, unit, running_since_s: from} = running;
      lane.push({key: `${stream} ${unit} ${from}`, stream, unit, from, to: this.now, running: true});
    }
    return lane;
  }
}

// Numbers of work that no stream has alone, of which nothing more can be asked for; rounded, since
// they have more bits than numbers here.
export const isShared = (stream) => stream >= 2 ** 62;

export function nameOfStream(names, stream) {
  if (!isShared(stream)) return names.has(stream) ? `stream ${stream} (${names.get(stream)})` : `stream ${stream}`;
  if (stream >= 2 ** 63) return 'segments';
  return stream >= 3 * 2 ** 61 ? 'streams of a live source' : 'thumbnails of a live source';
}
