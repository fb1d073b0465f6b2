// A session's record in a durable storage: the data to restore the session. Another version of the gateway
// may have written the record, so its shape is checked.

import type { Principal } from '../../../identity/principal.ts';
import { isSessionVersion } from '../../servers/cache/introduction.ts';
import { isLogLevel, type LogLevel } from '../../servers/notifications/subscriptions.ts';
import type { SessionOwner } from './owner-budget.ts';

/** `isQualified`: the client subscribed under the address that contains the server id. */
export type StoredSubscription = readonly [server: string, uri: string, isQualified?: boolean];

/** Session state that changes with the client's requests. */
export interface SessionState {
  /** Log level that the client has set. */
  readonly level?: LogLevel | undefined;
  readonly subscriptions: readonly StoredSubscription[];
  /**
   * Servers with `lost_process: error` where the session had a process of its own. A restored session has
   * lost the process, and its first call to the server fails with this error.
   */
  readonly processes: readonly string[];
}

export interface SessionRecord extends SessionState {
  readonly owner: SessionOwner;
  readonly principal: Pick<Principal, 'kind' | 'name'>;
  /** Server id at /mcp/:id. */
  readonly target?: string | undefined;
  /** Name of the profile at /mcp/@NAME. */
  readonly profile?: string | undefined;
  readonly protocolVersion: string;
  readonly clientInfo: unknown;
  readonly capabilities: Readonly<Record<string, unknown>>;
  /** Number of times the session was restored. */
  readonly generation: number;
  /** Time of the record, in epoch milliseconds. */
  readonly usedAt: number;
}

/** Parses a record; undefined if it is no session record, or has an unsupported version. */
export function parseRecord(text: string): SessionRecord | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isRecord(value: unknown): value is SessionRecord {
  if (!isObject(value)) return false;
  const { owner, principal, target, profile, level, subscriptions, processes, generation } = value;
  return (
    isObject(owner) &&
    [owner.principal, owner.client].every(isText) &&
    isObject(principal) &&
    [principal.kind, principal.name].every(isText) &&
    [target, profile].every((name) => name === undefined || isText(name)) &&
    isSessionVersion(value.protocolVersion) &&
    isObject(value.capabilities) &&
    (level === undefined || isLogLevel(level)) &&
    isArrayOf(subscriptions, isSubscription) &&
    isArrayOf(processes, isText) &&
    [generation, value.usedAt].every(Number.isSafeInteger)
  );
}

const isText = (value: unknown): value is string => typeof value === 'string';

const isSubscription = (value: unknown): value is StoredSubscription =>
  Array.isArray(value) && value.length >= 2 && value.slice(0, 2).every(isText);

const isArrayOf = <T>(value: unknown, isItem: (item: unknown) => item is T): value is T[] =>
  Array.isArray(value) && value.every(isItem);

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
