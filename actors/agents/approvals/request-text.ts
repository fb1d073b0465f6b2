// Formats the texts of an approval request for people. Hidden characters are escaped, because the texts come
// from strangers and models. Names are truncated; arguments are complete.

import { escapeHidden, escapeHiddenLine, escapeUnits } from '../../base/errors/hidden-characters.ts';
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
  const line = escapeHiddenLine(text.slice(0, 2 * MAX_NAME)).trim();
  return line.length <= MAX_NAME ? line : `${line.slice(0, MAX_NAME).toWellFormed()}…`;
}

/** Returns a name for a sentence or card in Markdown. Underscores within words are no markup. */
export function markdownName(text: string): string {
  const plain = text.replace(/[\\`*~[\]<>|]|(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu, ' ');
  return displayName(plain);
}

/** Escapes characters in JSON strings, which keeps the value. A backtick could close a code block. */
function plainJson(json: string): string {
  return json
    .split('\n')
    .map((line) => escapeHidden(line.replace(/`/g, escapeUnits)))
    .join('\n');
}
