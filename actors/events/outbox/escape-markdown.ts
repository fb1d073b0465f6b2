// Escapes text for Markdown, so that a parser returns the text unchanged. Plain web addresses stay as they
// are: hosts and chats turn them into links, with an escape as part of the address. An address that needs
// escapes becomes no link.

/**
 * Punctuation that can begin a construct, the colon of a web address, and the markers of lists at the
 * beginning of a line.
 */
const SYNTAX = /[\\`*_~[\]<>#&!|]|(?<=https?):(?=\/\/)|^[ \t]*(?:[-+=]|\d+(?=[.)]))/;
const ADDRESS =
  /(?<!\w)https?:\/\/[a-z\d.-]+(?::\d+)?(?:[/?#](?:[\w.~:/?#&=%+,@-]*[a-z\d/=%+-])?)?(?=[.,:?!)'"]*(?:\s|$))/;
const EACH_SYNTAX = new RegExp(SYNTAX.source, 'gim');
const EACH_ADDRESS_OR_SYNTAX = new RegExp(`(${ADDRESS.source})|${SYNTAX.source}`, 'gim');

/** Returns Markdown that shows the text literally. */
export function escapeMarkdown(text: string): string {
  return text.replace(EACH_ADDRESS_OR_SYNTAX, (match, address?: string) => address ?? escapeEnd(match));
}

/** Returns Markdown that shows the text literally on one line, also between marks, and without links. */
export function escapeLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim().replace(EACH_SYNTAX, escapeEnd);
}

function escapeEnd(match: string): string {
  return /\d$/.test(match) ? `${match}\\` : `${match.slice(0, -1)}\\${match.slice(-1)}`;
}

/** Encodes the characters that could end the address of a Markdown link. */
export function linkAddress(address: string): string {
  return address.replace(
    /[\s()<>\\]/g,
    (character) => `%${character.charCodeAt(0).toString(16).padStart(2, '0')}`,
  );
}
