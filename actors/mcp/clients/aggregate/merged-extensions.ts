// Merges the extensions that servers declare. Settings of several servers are combined: a flag is set if any
// server sets it; for other settings the value of the first server counts. Extensions that concern the
// authorization of clients at the server are not declared, because clients authenticate at the gateway.

import type { Era } from '../../jsonrpc/modern-meta.ts';
import { extensionsOf, TASKS } from '../../servers/lists/listing-capabilities.ts';
import type { ManagedServer } from '../../servers/managed-server.ts';

/** Extension with the methods `skills/…` and `resources/directory/read`. */
export const SKILLS = 'io.modelcontextprotocol/skills';

const authorization = new Set([
  'io.modelcontextprotocol/oauth-client-credentials',
  'io.modelcontextprotocol/enterprise-managed-authorization',
]);

type Settings = Readonly<Record<string, unknown>>;

/**
 * Returns the merged extensions for clients of this protocol era (legacy with sessions, or modern without);
 * undefined if there are none.
 */
export function mergeExtensions(servers: Iterable<ManagedServer>, era: Era): Settings | undefined {
  const merged = new Map<string, Settings>();
  for (const server of servers) {
    for (const [id, settings] of Object.entries(extensionsOfServer(server, era))) {
      if (authorization.has(id)) continue;
      merged.set(id, mergeSettings(merged.get(id), isSettings(settings) ? settings : {}));
    }
  }
  return merged.size === 0 ? undefined : Object.fromEntries(merged);
}

/**
 * Returns the extensions of a server that clients of this era can use. The tasks extension needs client and
 * server of the modern era (2026-07-28).
 */
export function extensionsOfServer({ cache }: ManagedServer, era: Era): Settings {
  const modern = era === 'modern' ? cache.descriptionIn('modern') : undefined;
  const { [TASKS]: tasks, ...others } = extensionsOf((modern ?? cache.description)?.capabilities ?? {});
  return modern === undefined || tasks === undefined ? others : { ...others, [TASKS]: tasks };
}

function mergeSettings(before: Settings = {}, next: Settings): Settings {
  const flags = Object.entries(next).filter(([key, value]) => value === true || !Object.hasOwn(before, key));
  return { ...before, ...Object.fromEntries(flags) };
}

function isSettings(value: unknown): value is Settings {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
