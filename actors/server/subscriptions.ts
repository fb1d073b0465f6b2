// Which client session has subscribed to which resource of a server, and which log level each has asked for.
// A shared server is asked once per resource, and for the lowest level; what it sends is handed to those who asked.

import type { Owner } from './owner.ts';

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
  readonly #byUri = new Map<string, Set<Owner>>();
  readonly #levels = new Map<Owner, LogLevel>();

  /** True when somebody waits for updates, which a sleeping server could not send. */
  get isEmpty(): boolean {
    return this.#byUri.size === 0;
  }

  /** Returns false when the owner was subscribed already. */
  add(uri: string, owner: Owner): boolean {
    const owners = this.#byUri.get(uri) ?? new Set();
    const isNew = !owners.has(owner);
    this.#byUri.set(uri, owners.add(owner));
    return isNew;
  }

  /** Returns true when nobody is left who wants updates of the resource. */
  remove(uri: string, owner: Owner): boolean {
    const owners = this.#byUri.get(uri);
    owners?.delete(owner);
    if (owners?.size === 0) this.#byUri.delete(uri);
    return !this.#byUri.has(uri);
  }

  subscribers(uri: string): Iterable<Owner> {
    return this.#byUri.get(uri) ?? [];
  }

  /** Everybody who is subscribed to anything. */
  owners(): Set<Owner> {
    return new Set([...this.#byUri.values()].flatMap((owners) => [...owners]));
  }

  /** The resources that anybody `isMeant` is subscribed to. */
  uris(isMeant: (owner: Owner) => boolean): string[] {
    return [...this.#byUri].filter(([, owners]) => [...owners].some(isMeant)).map(([uri]) => uri);
  }

  setLevel(owner: Owner, level: LogLevel): void {
    this.#levels.set(owner, level);
  }

  levelOf(owner: Owner): LogLevel | undefined {
    return this.#levels.get(owner);
  }

  /** Those who have asked for log messages. */
  listeners(): Iterable<Owner> {
    return this.#levels.keys();
  }

  /** The lowest level anybody has asked for. */
  get lowestLevel(): LogLevel | undefined {
    let lowest: LogLevel | undefined;
    for (const level of this.#levels.values()) {
      if (lowest === undefined || logLevels.indexOf(level) < logLevels.indexOf(lowest)) lowest = level;
    }
    return lowest;
  }

  /** Whether a message of this level is for a session that asked for `asked` (nothing asked: everything). */
  static passes(level: unknown, asked: LogLevel | undefined): boolean {
    if (asked === undefined || !isLogLevel(level)) return true;
    return logLevels.indexOf(level) >= logLevels.indexOf(asked);
  }

  /** Forgets a session; returns the resources nobody is subscribed to any more. */
  release(owner: Owner): string[] {
    this.#levels.delete(owner);
    return this.uris((other) => other === owner).filter((uri) => this.remove(uri, owner));
  }
}
