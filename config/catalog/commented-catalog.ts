// Writes the catalog that the command `servers import` creates: YAML for people, with comments above each
// server.

import { Document, isMap, isScalar, isSeq, Scalar, visit } from 'yaml';
import type { OwnEntry } from './importable-servers.ts';

export interface CommentedServer {
  readonly id: string;
  readonly entry: OwnEntry;
  /** Lines above the server. */
  readonly comments: readonly string[];
}

/** Maximum characters of a list that is written on one line. */
const LONGEST_ON_A_LINE = 80;

/** Returns the text of the file. `head` contains the comment lines at its top. */
export function commentedCatalog(servers: readonly CommentedServer[], head: readonly string[]): string {
  const document = new Document({ servers: Object.fromEntries(servers.map(({ id, entry }) => [id, entry])) });
  document.commentBefore = asComment(head);
  visit(document, {
    Seq: (_, node) => {
      node.flow = isShort(node.items);
    },
    Scalar: (_, node) => {
      // A `${VAR}` needs quotes in a flow sequence (`[…]`). It gets quotes everywhere for consistency.
      if (typeof node.value === 'string' && /[{}[\],]/.test(node.value)) node.type = Scalar.QUOTE_DOUBLE;
    },
  });
  const list = document.get('servers');
  const byId = new Map(servers.map((server) => [server.id, server]));
  for (const [index, { key }] of (isMap(list) ? list.items : []).entries()) {
    if (!isScalar(key)) continue;
    key.commentBefore = asComment(byId.get(String(key.value))?.comments ?? []);
    key.spaceBefore = index > 0;
  }
  return document.toString({ lineWidth: 0 });
}

/** Replaces control characters, because a line break would end the comment. */
function asComment(lines: readonly string[]): string {
  return lines.map((line) => ` ${line.replace(/\p{Cc}/gu, '?')}`).join('\n');
}

function isShort(items: readonly unknown[]): boolean {
  const texts = items.map((item) => (isScalar(item) ? String(item.value) : ''));
  // Each item also has quotes, a comma and a space.
  const length = texts.reduce((sum, text) => sum + text.length + 4, 0);
  const isFlat = items.every((item) => !isSeq(item) && !isMap(item));
  return isFlat && length <= LONGEST_ON_A_LINE && texts.every((text) => !text.includes('\n'));
}
