// The subscriptions of client sessions at one server, and the log levels they asked for. A shared server is asked once
// per resource, and for the lowest level; what it sends is handed to those who asked. Thousands may leave at once:
// removing one client costs nothing for what the others want.

import type { OverloadedError } from '../../../base/errors/errors.ts';
import type { CallOwner } from '../calls/call-owner.ts';
import { SubscriptionBudget } from './subscription-budget.ts';

/** RFC 5424 severities as MCP names them, least severe first. */
export const logLevels = [
  'debug',
  'info',
  'notice',
  'warning',
  'error',
  'critical',
  'alert',
  'emergency',
] as const;
export type LogLevel = (typeof logLevels)[number];

export function isLogLevel(value: unknown): value is LogLevel {
  return (logLevels as readonly unknown[]).includes(value);
}

export class Subscriptions {
  readonly #kept: SubscriptionBudget;
  readonly #byUri = new Map<string, Set<CallOwner>>();
  readonly #byOwner = new Map<CallOwner, Set<string>>();
  readonly #levels = new Map<CallOwner, LogLevel>();
  /** How many ask for each level. */
  readonly #counts = new Map<LogLevel, number>();

  /** `kept`: of all servers. */
  constructor(kept: SubscriptionBudget = new SubscriptionBudget()) {
    this.#kept = kept;
  }

  /** True when somebody waits for updates, which a sleeping server could not send. */
  get isEmpty(): boolean {
    return this.#byUri.size === 0;
  }

  /** Why this one cannot be kept as well (A8); undefined when it can. */
  refusal(uri: string, owner: CallOwner): OverloadedError | undefined {
    return this.#byUri.get(uri)?.has(owner) === true ? undefined : this.#kept.refusal(uri, owner);
  }

  /** Returns false when the owner was subscribed already. Throws OverloadedError when there is no room to keep it. */
  add(uri: string, owner: CallOwner): boolean {
    const owners = this.#byUri.get(uri) ?? new Set();
    const isNew = !owners.has(owner);
    if (isNew) this.#kept.take(uri, owner);
    this.#byUri.set(uri, owners.add(owner));
    this.#byOwner.set(owner, (this.#byOwner.get(owner) ?? new Set()).add(uri));
    return isNew;
  }

  /** Returns true when nobody is left who wants updates of the resource. */
  remove(uri: string, owner: CallOwner): boolean {
    const owners = this.#byUri.get(uri);
    if (owners?.delete(owner) === true) this.#kept.give(uri, owner);
    if (owners?.size === 0) this.#byUri.delete(uri);
    const uris = this.#byOwner.get(owner);
    uris?.delete(uri);
    if (uris?.size === 0) this.#byOwner.delete(owner);
    return !this.#byUri.has(uri);
  }

  subscribers(uri: string): Iterable<CallOwner> {
    return this.#byUri.get(uri) ?? [];
  }

  /** Everybody who is subscribed to anything. */
  owners(): Set<CallOwner> {
    return new Set(this.#byOwner.keys());
  }

  /** Whether this client is subscribed to anything. */
  has(owner: CallOwner): boolean {
    return this.#byOwner.has(owner);
  }

  /** To how many resources this client is subscribed beside this one. */
  countBeside(uri: string, owner: CallOwner): number {
    const uris = this.#byOwner.get(owner);
    return uris === undefined ? 0 : uris.size - (uris.has(uri) ? 1 : 0);
  }

  /** Whether anybody `isMeant` is subscribed to anything. */
  some(isMeant: (owner: CallOwner) => boolean): boolean {
    for (const owner of this.#byOwner.keys()) if (isMeant(owner)) return true;
    return false;
  }

  /** The resources that anybody `isMeant` is subscribed to. */
  uris(isMeant: (owner: CallOwner) => boolean): string[] {
    return [...this.#byUri].filter(([, owners]) => [...owners].some(isMeant)).map(([uri]) => uri);
  }

  setLevel(owner: CallOwner, level: LogLevel): void {
    this.#forgetLevel(owner);
    this.#levels.set(owner, level);
    this.#counts.set(level, (this.#counts.get(level) ?? 0) + 1);
  }

  levelOf(owner: CallOwner): LogLevel | undefined {
    return this.#levels.get(owner);
  }

  /** Those who have asked for log messages. */
  listeners(): Iterable<CallOwner> {
    return this.#levels.keys();
  }

  /** The lowest level anybody has asked for. */
  get lowestLevel(): LogLevel | undefined {
    return logLevels.find((level) => (this.#counts.get(level) ?? 0) > 0);
  }

  /** Whether a message of this level is for a session that asked for `asked` (nothing asked: everything). */
  static passes(level: unknown, asked: LogLevel | undefined): boolean {
    if (asked === undefined || !isLogLevel(level)) return true;
    return logLevels.indexOf(level) >= logLevels.indexOf(asked);
  }

  /** Forgets a session; returns the resources nobody is subscribed to any more. */
  release(owner: CallOwner): string[] {
    this.#forgetLevel(owner);
    return [...(this.#byOwner.get(owner) ?? [])].filter((uri) => this.remove(uri, owner));
  }

  /** The server is gone, and nothing can be heard of it any more. */
  releaseAll(): void {
    for (const owner of this.owners()) this.release(owner);
  }

  #forgetLevel(owner: CallOwner): void {
    const level = this.#levels.get(owner);
    if (level === undefined) return;
    this.#levels.delete(owner);
    this.#counts.set(level, (this.#counts.get(level) ?? 0) - 1);
  }
}
