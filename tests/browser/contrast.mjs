// SPDX-License-Identifier: Apache-2.0
//
// What of a page is hard to read, by the rules of WCAG 2 (level AA).

// In the browser: the texts below `root` that stand out from their ground by less than 4.5, and marks
// of a chart by less than 3. Of a ground of two colours (a bar behind a text) both count.
function findThem(root) {
  const canvas = new OffscreenCanvas(1, 1).getContext('2d', {willReadFrequently: true});
  const seen = new Map();
  const rgba = (colour) => {
    if (!seen.has(colour)) {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = colour;
      canvas.fillRect(0, 0, 1, 1);
      seen.set(colour, [...canvas.getImageData(0, 0, 1, 1).data]);
    }
    return seen.get(colour);
  };
  const luminance = (colour) => {
    const [r, g, b] = rgba(colour).map((each) => {
      const c = each / 255;
      return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (one, other) => {
    const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (light + 0.05) / (dark + 0.05);
  };
  const groundsOf = (node) => {
    const found = [];
    for (let at = node; at; at = at.parentElement) {
      const style = getComputedStyle(at);
      const pictured = style.backgroundImage.match(/(?:rgb|oklch|color)a?\([^()]*\)/g) ?? [];
      found.push(...pictured.filter((colour) => rgba(colour)[3] === 255));
      if (rgba(style.backgroundColor)[3] === 255) return [...found, style.backgroundColor];
    }
    return [...found, '#fff'];
  };
  const problems = new Set();
  const check = (node, colour, least, what) => {
    for (const ground of groundsOf(node)) {
      const ratio = contrast(colour, ground);
      if (ratio < least) problems.add(`${what}: ${ratio.toFixed(2)} of ${colour} on ${ground}`);
    }
  };
  const walker = document.createTreeWalker(document.querySelector(root), NodeFilter.SHOW_TEXT);
  for (let text = walker.nextNode(); text; text = walker.nextNode()) {
    const node = text.parentElement;
    if (!text.data.trim() || node.localName === 'title' || !node.checkVisibility()) continue;
    const style = getComputedStyle(node);
    const drawn = node instanceof SVGElement;
    check(node, drawn ? style.fill : style.color, 4.5, `${node.localName}.${node.getAttribute('class')} "${text.data.slice(0, 20)}"`);
  }
  for (const mark of document.querySelectorAll(`${root} .bar:not(.running)`)) check(mark, getComputedStyle(mark).fill, 3, 'a bar');
  return [...problems];
}

export const textsWithTooLittleContrast = (page, root) => page.evaluate(findThem, root);
