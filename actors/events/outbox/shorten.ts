// Shortens text for small elements such as button titles and list rows.

/** Returns the text as a single line of up to `max` UTF-16 units; graphemes stay whole. */
export function shorten(text: string, max: number): string {
  const line = text.replace(/[\s\p{Cc}]+/gu, ' ').trim();
  if (line.length <= max) return line;
  let prefix = '';
  for (const { segment } of graphemes.segment(line)) {
    if (prefix.length + segment.length > max - 1) break;
    prefix += segment;
  }
  return `${prefix.trimEnd()}…`;
}

/** Splits into graphemes, such as flags and family emoji. */
const graphemes = new Intl.Segmenter();
