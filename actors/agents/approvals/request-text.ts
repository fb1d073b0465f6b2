// Formats the texts of an approval request for people. Invisible characters are escaped or removed, because
// the texts come from strangers and models. Names are truncated; arguments are complete.

import type { ApprovalRequest } from './run-approvals.ts';

/** Maximum length of a displayed name, in UTF-16 units. */
const MAX_NAME = 200;

/**
 * Returns the complete request as JSON, with invisible characters escaped. Throws RangeError if it has
 * excessive nesting.
 */
export function fullRequestText({
  command,
  tool,
  node,
}: Pick<ApprovalRequest, 'command' | 'tool' | 'node'>): string {
  if (node !== undefined) return plainJson(JSON.stringify(node.message));
  return plainJson(JSON.stringify(tool === undefined ? command : tool.arguments, null, 2) ?? 'null');
}

/** Returns a name or title as one line of at most `MAX_NAME` characters. */
export function displayName(text: string): string {
  const line = plain(text.slice(0, 2 * MAX_NAME), ' ')
    .replace(/\s+/g, ' ')
    .trim();
  return line.length <= MAX_NAME ? line : `${line.slice(0, MAX_NAME).toWellFormed()}…`;
}

/** Returns a name for a sentence in Markdown. */
export function markdownName(text: string): string {
  return displayName(text)
    .replace(/[\\`*_~[\]<>|]/g, ' ')
    .trim();
}

/** Invisible characters, and characters that change the text direction. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}]/gu;

const plain = (text: string, by: string) => text.toWellFormed().replace(INVISIBLE, by);

/** Escapes characters in JSON strings, which keeps the value. A backtick could close a code block. */
function plainJson(json: string): string {
  return json
    .split('\n')
    .map((line) => line.replace(/`/g, escapeCharacter).replace(INVISIBLE, escapeCharacter))
    .join('\n');
}

function escapeCharacter(character: string): string {
  const units = Array.from({ length: character.length }, (_, at) => character.charCodeAt(at));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
}
