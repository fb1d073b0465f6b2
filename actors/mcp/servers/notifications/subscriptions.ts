// Resource subscriptions and log levels of the client sessions ("owners") at one server. A shared server gets
// one subscription per resource and the lowest level; its messages are distributed to the sessions. Thousands
// of sessions may disconnect together, so a removal's cost does not depend on their number.

import type { OverloadedError } from '../../../base/errors/errors.ts';
import type { CallOwner } from '../calls/owner.ts';
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
  readonly #budget: SubscriptionBudget;
  readonly #byUri = new Map<string, Set<CallOwner>>();
  readonly #byOwner = new Map<CallOwner, Set<string>>();
  readonly #levels = new Map<CallOwner, LogLevel>();
  /** Number of sessions per level. */
  readonly #counts = new Map<LogLevel, number>();

  /** `budget` is shared by all servers. */
  constructor(budget: SubscriptionBudget = new SubscriptionBudget()) {
    this.#budget = budget;
  }

  /** True if no client is subscribed. */
  get isEmpty(): boolean {
    return this.#byUri.size === 0;
  }

  /** Returns the error if a new subscription exceeds the memory budget (A8, ARCHITECTURE.md). */
  refusal(uri: string, owner: CallOwner): OverloadedError | undefined {
    return this.#byUri.get(uri)?.has(owner) === true ? undefined : this.#budget.refusal(uri, owner);
  }

  /**
   * Adds a subscription. Returns false if the owner already has it. Throws OverloadedError if memory is
   * exhausted.
   */
  add(uri: string, owner: CallOwner): boolean {
    const owners = this.#byUri.get(uri) ?? new Set();
    const isNew = !owners.has(owner);
    if (isNew) this.#budget.acquire(uri, owner);
    this.#byUri.set(uri, owners.add(owner));
    this.#byOwner.set(owner, (this.#byOwner.get(owner) ?? new Set()).add(uri));
    return isNew;
  }

  /** Removes a subscription. Returns true if the resource has no subscriber left. */
  remove(uri: string, owner: CallOwner): boolean {
    const owners = this.#byUri.get(uri);
    if (owners?.delete(owner) === true) this.#budget.release(uri, owner);
    if (owners?.size === 0) this.#byUri.delete(uri);
    const uris = this.#byOwner.get(owner);
    uris?.delete(uri);
    if (uris?.size === 0) this.#byOwner.delete(owner);
    return !this.#byUri.has(uri);
  }

  subscribers(uri: string): Iterable<CallOwner> {
    return this.#byUri.get(uri) ?? [];
  }

  /** Owners with at least one subscription. */
  owners(): Set<CallOwner> {
    return new Set(this.#byOwner.keys());
  }

  has(owner: CallOwner): boolean {
    return this.#byOwner.has(owner);
  }

  /** Returns the resources to which the owner is subscribed. */
  urisOf(owner: CallOwner): Iterable<string> {
    return this.#byOwner.get(owner) ?? [];
  }

  /** Returns the number of the owner's subscriptions without this resource. */
  countOthers(uri: string, owner: CallOwner): number {
    const uris = this.#byOwner.get(owner);
    return uris === undefined ? 0 : uris.size - (uris.has(uri) ? 1 : 0);
  }

  /** Returns true if any owner that matches has a subscription. */
  some(matches: (owner: CallOwner) => boolean): boolean {
    for (const owner of this.#byOwner.keys()) if (matches(owner)) return true;
    return false;
  }

  /** Returns the resources with a subscriber that matches. */
  uris(matches: (owner: CallOwner) => boolean): string[] {
    return [...this.#byUri].filter(([, owners]) => [...owners].some(matches)).map(([uri]) => uri);
  }

  setLevel(owner: CallOwner, level: LogLevel): void {
    this.#forgetLevel(owner);
    this.#levels.set(owner, level);
    this.#counts.set(level, (this.#counts.get(level) ?? 0) + 1);
  }

  levelOf(owner: CallOwner): LogLevel | undefined {
    return this.#levels.get(owner);
  }

  /** Owners that have set a log level. */
  listeners(): Iterable<CallOwner> {
    return this.#levels.keys();
  }

  /** Lowest level set by any owner. */
  get lowestLevel(): LogLevel | undefined {
    return logLevels.find((level) => (this.#counts.get(level) ?? 0) > 0);
  }

  /**
   * Returns true if a message of this level is at least as severe as `minimum`; also if either is undefined
   * or unknown.
   */
  static passes(level: unknown, minimum: LogLevel | undefined): boolean {
    if (minimum === undefined || !isLogLevel(level)) return true;
    return logLevels.indexOf(level) >= logLevels.indexOf(minimum);
  }

  /** Removes a session. Returns the resources without remaining subscriber. */
  release(owner: CallOwner): string[] {
    this.#forgetLevel(owner);
    return [...(this.#byOwner.get(owner) ?? [])].filter((uri) => this.remove(uri, owner));
  }

  /** Removes all sessions when the server is removed. */
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
