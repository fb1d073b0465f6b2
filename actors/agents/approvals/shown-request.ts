// What is to be approved, for people: as much of it as a message holds, and in a form in which nothing looks like anything else. What
// is written in it comes from strangers and models.

import type { ApprovalRequest } from './run-approvals.ts';

const MAX_NAME = 200;

/** All of what is asked, as JSON that reads the same everywhere. Throws RangeError for what is nested too deeply. */
export function wholeRequest({
  command,
  tool,
  node,
}: Pick<ApprovalRequest, 'command' | 'tool' | 'node'>): string {
  if (node !== undefined) return plainJson(JSON.stringify(node.message));
  return plainJson(JSON.stringify(tool === undefined ? command : tool.arguments, null, 2) ?? 'null');
}

/** One line of a name or title. */
export function shownName(text: string): string {
  const line = plain(text.slice(0, 2 * MAX_NAME), ' ')
    .replace(/\s+/g, ' ')
    .trim();
  return line.length <= MAX_NAME ? line : `${line.slice(0, MAX_NAME).toWellFormed()}…`;
}

/** A name that stands in a sentence in Markdown. */
export function namedInWords(text: string): string {
  return shownName(text)
    .replace(/[\\`*_~[\]<>|]/g, ' ')
    .trim();
}

/** What nobody sees, or what turns the order of what they see. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}]/gu;

const plain = (text: string, by: string) => text.toWellFormed().replace(UNSEEN, by);

/** Only in texts there is anything but ASCII, so that an escape stands for the same. A backtick could end a block of code. */
function plainJson(json: string): string {
  return json
    .split('\n')
    .map((line) => line.replace(/`/g, escaped).replace(UNSEEN, escaped))
    .join('\n');
}

function escaped(character: string): string {
  const units = Array.from({ length: character.length }, (_, at) => character.charCodeAt(at));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
}
