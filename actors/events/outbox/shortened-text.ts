// A text for a place that holds a few words: the title of a button, a row of a list.

/** On one line, and no longer than that in UTF-16 units, with no sign cut in half. */
export function shortened(text: string, max: number): string {
  const line = text.replace(/[\s\p{Cc}]+/gu, ' ').trim();
  if (line.length <= max) return line;
  let kept = '';
  for (const { segment } of signs.segment(line)) {
    if (kept.length + segment.length > max - 1) break;
    kept += segment;
  }
  return `${kept.trimEnd()}…`;
}

/** As people count them: a flag or a family is one. */
const signs = new Intl.Segmenter();
