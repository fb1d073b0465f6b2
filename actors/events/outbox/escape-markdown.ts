// Escapes text for Markdown, so that a parser returns the text unchanged.

/** Punctuation that can begin a construct, and the markers of lists at the beginning of a line. */
const SYNTAX = /[\\`*_~[\]<>#&!|]|^[ \t]*(?:[-+=]|\d+(?=[.)]))/gm;

/** Returns Markdown that shows the text literally. */
export function escapeMarkdown(text: string): string {
  return text.replace(SYNTAX, (match) =>
    /\d$/.test(match) ? `${match}\\` : `${match.slice(0, -1)}\\${match.slice(-1)}`,
  );
}
