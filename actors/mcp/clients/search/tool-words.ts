// Splits text into the words that a search compares. Names are written in snake_case, kebab-case and camelCase, and
// people search in none of them: `getHTTPStatus` is found as `get`, `http`, `status` and as a whole.

const isAscii = /^[\0-\x7f]*$/;
// The same twice: the classes of Unicode take three times as long, and nearly every text can do without.
const asciiRun = /[A-Za-z0-9]+/g;
const run = /[\p{L}\p{N}]+/gu;
const asciiSeam = /(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/;
const seam = /(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/u;

/** Words that are in every description and mean nothing there. */
const empty = new Set(
  'a an and are as at be by for from i in is it its me my of on or that the this to which with you your'.split(
    ' ',
  ),
);

/** The words of a text in lower case and without accents, in order; the parts of a camelCase word and the whole. */
export function wordsOf(text: string): string[] {
  const isPlain = isAscii.test(text);
  const found = isPlain
    ? text.match(asciiRun)
    : text
        .normalize('NFKD')
        .replace(/\p{M}+/gu, '')
        .match(run);
  const between = isPlain ? asciiSeam : seam;
  const words: string[] = [];
  for (const word of found ?? []) {
    const whole = word.toLowerCase();
    if (whole !== word && between.test(word))
      for (const part of word.split(between)) words.push(part.toLowerCase());
    words.push(whole);
  }
  return words;
}

/** Whether the word tells tools apart. */
export function isTelling(word: string): boolean {
  return !empty.has(word);
}
