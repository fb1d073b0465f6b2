// Splits tool names, descriptions and queries into search terms for the tool index (tool-index.ts). Tool
// names are in snake_case, kebab-case or camelCase, queries are not: `getHTTPStatus` becomes `get`, `http`,
// `status` and `gethttpstatus`.

const isAscii = /^[\0-\x7f]*$/;
// Separate expressions for ASCII: Unicode classes take three times as long, and texts are usually ASCII.
const asciiRun = /[A-Za-z0-9]+/g;
const run = /[\p{L}\p{N}]+/gu;
// Positions at which a camelCase word is split.
const asciiBoundary = /(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/;
const boundary = /(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/u;

/** Terms without meaning for a search. */
const stopWords = new Set(
  'a an and are as at be by for from i in is it its me my of on or that the this to which with you your'.split(
    ' ',
  ),
);

/** Returns the terms in order, in lower case without accents; for camelCase the parts and the whole. */
export function splitWords(text: string): string[] {
  const isPlain = isAscii.test(text);
  const runs = isPlain
    ? text.match(asciiRun)
    : text
        // Separates accents from letters; the next line removes the accents.
        .normalize('NFKD')
        .replace(/\p{M}+/gu, '')
        .match(run);
  const between = isPlain ? asciiBoundary : boundary;
  const words: string[] = [];
  for (const word of runs ?? []) {
    const whole = word.toLowerCase();
    if (whole !== word && between.test(word))
      for (const part of word.split(between)) words.push(part.toLowerCase());
    words.push(whole);
  }
  return words;
}

/** Returns true if the term distinguishes tools. */
export function isSignificant(word: string): boolean {
  return !stopWords.has(word);
}
