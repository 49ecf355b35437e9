// What is wrong with a page as it is laid out in a frame, as sentences that begin with the kind of fault.
// Labels of matplotlib's pictures are drawn as paths, in groups whose comment is the text.

const LONGEST_TITLE = 60;
const SMALLEST_LABEL = 8; // pixels of a font in a picture
const PHONE = 560;
const LEAST_GAP = 2; // pixels between two labels of a picture
const PATHS_PER_EM = 100; // units in which matplotlib draws glyphs

function boxesOf(node, page) {
  const range = page.createRange();
  range.selectNodeContents(node);
  return [...range.getClientRects()].filter((box) => box.width > 0 && box.height > 0);
}

// The texts outside of pictures, one for each line of each: {text, box, element}.
function written(page) {
  const walker = page.createTreeWalker(page.body, NodeFilter.SHOW_TEXT);
  const found = [];
  while (walker.nextNode()) {
    const node = walker.currentNode;
    const element = node.parentElement;
    if (node.data.trim() && !element.closest("svg, script, style") && element.checkVisibility())
      for (const box of boxesOf(node, page)) found.push({ text: node.data.trim(), box, element });
  }
  return found;
}

function drawn(svg) {
  const found = [];
  for (const element of svg.querySelectorAll("text, g[id^='text_']")) {
    const comment = [...element.childNodes].find((node) => node.nodeType === Node.COMMENT_NODE);
    const text = (comment ? comment.data : element.textContent).trim();
    const box = element.getBoundingClientRect();
    if (text && box.width > 0) found.push({ text, box, element });
  }
  return found;
}

function fontSize(element, view) {
  const glyph = element.querySelector("use") || element.querySelector("path");
  const matrix = (glyph || element).getScreenCTM();
  const scale = Math.hypot(matrix.a, matrix.b);
  return scale * (glyph ? PATHS_PER_EM : parseFloat(view.getComputedStyle(element).fontSize));
}

// Pairs of texts of which less than `gap` pixels are between; negative: that much may be shared.
function overlaps(texts, gap) {
  const sorted = [...texts].sort((one, other) => one.box.top - other.box.top);
  const found = [];
  sorted.forEach((one, i) => {
    for (let k = i + 1; k < sorted.length && sorted[k].box.top < one.box.bottom + gap; ++k) {
      const other = sorted[k];
      if (other.box.left < one.box.right + gap && one.box.left < other.box.right + gap)
        found.push(`overlap: "${one.text}" and "${other.text}"`);
    }
  });
  return found;
}

function scrolls(element, view) {
  return ["auto", "scroll"].includes(view.getComputedStyle(element).overflowX);
}

function sticksOut(box, outer) {
  return box.left < outer.left - 1 || box.right > outer.right + 1;
}

// Whether a written text sticks out of a box around it or of the page, and no scrolling brings it back.
function isCutOff(one, view) {
  for (let around = one.element; around !== view.document.body; around = around.parentElement) {
    if (scrolls(around, view)) return false;
    const inline = view.getComputedStyle(around).display === "inline";
    if (!inline && sticksOut(one.box, around.getBoundingClientRect())) return true;
  }
  return sticksOut(one.box, { left: 0, right: view.innerWidth }) || one.box.top < -1;
}

function ofPicture(svg, view) {
  const labels = drawn(svg);
  const edge = svg.getBoundingClientRect();
  const faults = overlaps(labels, LEAST_GAP);
  for (const { text, box, element } of labels) {
    if (sticksOut(box, edge) || box.top < edge.top - 1 || box.bottom > edge.bottom + 1)
      faults.push(`cut off: "${text}" by its picture`);
    const size = fontSize(element, view);
    if (size < SMALLEST_LABEL) faults.push(`small: "${text}" in ${size.toFixed(1)} pixels`);
  }
  return { labels, faults };
}

function ofTables(view) {
  const faults = [];
  for (const table of view.document.querySelectorAll("table")) {
    const missing = table.getBoundingClientRect().width - table.parentElement.clientWidth;
    const reachable = view.innerWidth > PHONE && scrolls(table.parentElement, view);
    if (missing > 1 && !reachable)
      faults.push(`table: ${Math.round(missing)} pixels too wide: ${table.textContent.trim().slice(0, 60)}`);
  }
  return faults;
}

function ofWords(texts) {
  const faults = [];
  for (const { text } of texts) {
    if (/\d[eE][+-]?\d/.test(text)) faults.push(`exponent: "${text}"`);
    if (/\|[^|]*\||\$|\b[A-Z]_[A-Za-z]\b/.test(text)) faults.push(`symbol: "${text}"`);
  }
  return faults;
}

function ofTitles(page) {
  return [...page.querySelectorAll("title, h1, h2, h3, h4, figcaption b, summary")]
    .map((title) => title.textContent.trim())
    .filter((title) => title.length > LONGEST_TITLE)
    .map((title) => `title: ${title.length} characters: "${title}"`);
}

function judge(view) {
  const page = view.document;
  for (const each of page.querySelectorAll("details")) each.open = true;
  const texts = written(page);
  const faults = overlaps(texts, -1);
  for (const one of texts) if (isCutOff(one, view)) faults.push(`cut off: "${one.text}"`);
  for (const svg of page.querySelectorAll("svg")) {
    const picture = ofPicture(svg, view);
    faults.push(...picture.faults);
    texts.push(...picture.labels);
  }
  const wide = page.documentElement.scrollWidth - view.innerWidth;
  if (wide > 0) faults.push(`wide: the page sticks out of its window by ${wide} pixels`);
  return [...new Set([...faults, ...ofTables(view), ...ofWords(texts), ...ofTitles(page)])];
}
