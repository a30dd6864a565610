// SPDX-License-Identifier: Apache-2.0
//
// What the parts of the page have in common. Texts go in as text, never as HTML: names of movies
// come from whoever put them there.

export const byId = (id) => document.getElementById(id);

// The address of the page may have a name and a password in it; fetch() refuses those who inherit them.
export const urlOf = (path) => new URL(path, location.origin).href;

export function element(tag, className, text) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
}

export function svgElement(tag, attributes = {}, ...children) {
  const node = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

// What is selected, focused or read aloud stays as it is if nothing has changed.
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

export function formatDuration(seconds) {
  const total = Math.round(seconds);
  const minutes = Math.floor(total / 60);
  return minutes > 0 ? `${minutes} min ${total % 60} s` : `${total} s`;
}

export function formatSize(bytes) {
  return bytes >= 1e6 ? `${(bytes / 1e6).toFixed(1)} MB` : `${Math.ceil(bytes / 1e3)} kB`;
}

export const formatShare = (share) => `${Math.round(100 * share)}\u202f%`;
export const count = (number, noun) => `${number} ${noun}${number === 1 ? '' : 's'}`;

// The golden angle keeps the colours of neighbours apart; a stream has the same one as long as it lives.
export function setHue(node, stream) {
  node.style.setProperty('--hue', String(Math.round(stream * 137.508) % 360));
}
