// The client capabilities on which a server's lists may depend: servers list more items to clients that
// answer requests, and other items to clients with an extension such as MCP Apps. Clients with equal texts
// form a class and receive the same lists.

import { createHash } from 'node:crypto';
import type { Era } from '../../jsonrpc/modern-meta.ts';

type Capabilities = Readonly<Record<string, unknown>>;

/** Extension of 2026-07-28 for long-running calls; it changes no list. */
export const TASKS = 'io.modelcontextprotocol/tasks';

/** Longer settings of an extension are compared by their digest. */
const MAX_CHARS = 200;

/** Returns a client's or server's extensions, by id. */
export function extensionsOf({ extensions }: Capabilities): Capabilities {
  const isObject = typeof extensions === 'object' && extensions !== null && !Array.isArray(extensions);
  return isObject ? (extensions as Capabilities) : {};
}

/**
 * Returns the capabilities as comparable texts. A list request to a modern server contains no capabilities
 * except extensions.
 */
export function listingCapabilities(capabilities: Capabilities, era: Era = 'legacy'): readonly string[] {
  const requestable = ['elicitation', 'sampling', 'roots'].filter((name) => capabilities[name] !== undefined);
  const extensions = Object.entries(extensionsOf(capabilities))
    .filter(([id]) => id !== TASKS)
    .map(([id, settings]) => shorten(`${id} ${JSON.stringify(settings)}`));
  return era === 'modern' ? extensions.sort() : [...requestable, ...extensions.sort()];
}

/** Returns the key for a client class. */
export function classKey(texts: readonly string[]): string {
  return texts.join('\n');
}

function shorten(text: string): string {
  return text.length <= MAX_CHARS ? text : createHash('sha256').update(text).digest('base64');
}
