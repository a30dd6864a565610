// SPDX-License-Identifier: Apache-2.0
//
// A publisher whose picture tells the time: 20 vertical bars are the bits of the milliseconds since
// `epoch`, taken when the picture is made. What a player shows says how old it is. And one that says it in text.
import {spawn} from 'node:child_process';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import http from 'node:http';
import {tmpdir} from 'node:os';
import path from 'node:path';

export const width = 320, height = 180, bits = 20;
const fps = 30, rate = 48000, barWidth = width / bits;

function picture(milliseconds) {
  const frame = Buffer.alloc(width * height * 3 / 2, 128);
  const row = Buffer.alloc(width);
  for (let bit = 0; bit < bits; ++bit) {
    row.fill(milliseconds >> bit & 1 ? 235 : 16, bit * barWidth, (bit + 1) * barWidth);
  }
  for (let y = 0; y < height; ++y) row.copy(frame, y * width);
  return frame;
}

// A tone, as many samples as go with one picture.
function tone(from) {
  const samples = Buffer.alloc(2 * rate / fps);
  for (let n = 0; n < rate / fps; ++n) {
    samples.writeInt16LE(Math.round(3000 * Math.sin(2 * Math.PI * 440 * (from + n) / rate)), 2 * n);
  }
  return samples;
}

// Publishes under `name` until stop() is called. `begin`: what the first picture says.
export function publishClock(baseUrl, name, begin = 0) {
  const start = Date.now(), epoch = start - begin;
  const ffmpeg = spawn('ffmpeg', [
    '-v', 'error', '-probesize', '32', '-analyzeduration', '0', '-f', 'rawvideo', '-pix_fmt', 'yuv420p', '-s',
    `${width}x${height}`, '-r', String(fps), '-i', 'pipe:0', '-f', 's16le', '-ar', String(rate), '-ac', '1', '-i',
    'pipe:3', '-c:v', 'libx264', '-preset', 'ultrafast', '-tune', 'zerolatency', '-g', String(fps), '-c:a', 'aac',
    '-muxdelay', '0', '-flush_packets', '1', '-f', 'mpegts', '-'],
  {stdio: ['pipe', 'pipe', 'inherit', 'pipe']});
  const [pictures, stream, , sound] = ffmpeg.stdio;
  const request = http.request(`${baseUrl}/v1/live/${name}`, {method: 'PUT'});
  for (const broken of [pictures, sound, request]) broken.on('error', () => {});
  stream.pipe(request);
  let sent = 0;
  const timer = setInterval(() => {
    for (const due = (Date.now() - start) * fps / 1000; sent < due; ++sent) {
      pictures.write(picture(Date.now() - epoch));
      sound.write(tone(sent * rate / fps));
    }
  }, 5);
  return {
    epoch,
    stop() {
      clearInterval(timer);
      ffmpeg.kill('SIGKILL');
      request.destroy();
    },
  };
}

// A publisher that says "at N" N and a half seconds after its beginning, and has a key picture at each full second.
export function publishText(baseUrl, name) {
  const time = (ms) => new Date(ms).toISOString().slice(11, 23).replace('.', ',');
  const said = [...Array(120).keys()].map((n) => `${n + 1}\n${time(1000 * n + 500)} --> ${time(1000 * n + 1400)}\nat ${n}\n`);
  const file = path.join(mkdtempSync(path.join(tmpdir(), 'text')), 'said.srt');
  writeFileSync(file, said.join('\n'));
  const ffmpeg = spawn('ffmpeg', [
    '-v', 'error', '-re', '-f', 'lavfi', '-i', 'testsrc2=s=320x180:r=30', '-re', '-f', 'lavfi', '-i', 'sine', '-re', '-i', file,
    '-map', '0', '-map', '1', '-map', '2', '-metadata:s:s:0', 'language=eng', '-c:v', 'libx264', '-preset', 'ultrafast', '-tune',
    'zerolatency', '-g', '30', '-c:a', 'aac', '-c:s', 'copy', '-max_interleave_delta', '100k', '-cluster_time_limit', '40',
    '-flush_packets', '1', '-f', 'matroska', '-'],
  {stdio: ['ignore', 'pipe', 'inherit']});
  const request = http.request(`${baseUrl}/v1/live/${name}`, {method: 'PUT'});
  request.on('error', () => {});
  ffmpeg.stdout.pipe(request);
  return {
    stop() {
      ffmpeg.kill('SIGKILL');
      request.destroy();
      rmSync(path.dirname(file), {recursive: true});
    },
  };
}

// In the page: how old the picture is that the video, or what the selector finds, shows, in milliseconds.
export const pictureAge = ({epoch, width, height, bits, selector = 'video'}) => {
  const canvas = document.createElement('canvas');
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext('2d');
  context.drawImage(document.querySelector(selector), 0, 0, width, height);
  const row = context.getImageData(0, height / 2, width, 1).data;
  let shown = 0;
  for (let bit = 0; bit < bits; ++bit) {
    if (row[4 * Math.floor((bit + 0.5) * width / bits)] > 128) shown |= 1 << bit;
  }
  return Date.now() - epoch - shown;
};
