// What a client says of itself (clientInfo and capabilities), for as long as it has a session, listens, or has a
// connection of its own. It is kept as the text that came, and parsed when somebody needs it: parsed, deep JSON takes
// fifty times as much memory.

import { Share } from '../../base/bounds/budget.ts';
import { JsonScanner, TooDeepError } from '../jsonrpc/json-scanner.ts';
import { rawJson } from '../jsonrpc/span.ts';

/** Of a name or a version no more is kept at hand. */
export const MAX_NAME_CHARS = 1_024;

/** How deep a member of `params._meta` stands in its message. */
const IN_META = 3;

export class ClientDescription {
  /** As the client calls itself; '' where that is no text. */
  readonly name: string;
  readonly version: string;
  /** What it has of the budget of all (Sessions). */
  readonly share = new Share();
  /** Raw JSON, in Latin-1. */
  readonly rawInfo: string;
  readonly rawCapabilities: string;
  /** The capabilities for a server that is not to know of roots; most often the same text. */
  readonly rawWithoutRoots: string;
  #isShallow: boolean | undefined;

  constructor(clientInfo: unknown, capabilities: Readonly<Record<string, unknown>>) {
    const { name, version } = (clientInfo ?? {}) as { name?: unknown; version?: unknown };
    this.name = shown(name);
    this.version = shown(version);
    this.rawInfo = rawJson(clientInfo ?? null);
    this.rawCapabilities = rawJson(capabilities);
    const { roots, ...rest } = capabilities;
    this.rawWithoutRoots = roots === undefined ? this.rawCapabilities : rawJson(rest);
  }

  /** What it takes in memory, about. */
  get bytes(): number {
    const { rawInfo, rawCapabilities, rawWithoutRoots, name, version } = this;
    const again = rawWithoutRoots === rawCapabilities ? 0 : rawWithoutRoots.length;
    return rawInfo.length + rawCapabilities.length + again + name.length + version.length;
  }

  /** Whether it may stand in the `_meta` of any request, which is deeper than where it came from. */
  get isShallow(): boolean {
    this.#isShallow ??= fitsInMeta(this.rawInfo) && fitsInMeta(this.rawCapabilities);
    return this.#isShallow;
  }

  get clientInfo(): unknown {
    return parsed(this.rawInfo);
  }

  get capabilities(): Readonly<Record<string, unknown>> {
    return parsed(this.rawCapabilities) as Readonly<Record<string, unknown>>;
  }
}

function fitsInMeta(raw: string): boolean {
  try {
    new JsonScanner(Buffer.from(raw, 'latin1')).value(IN_META);
    return true;
  } catch (error) {
    if (error instanceof TooDeepError) return false;
    throw error;
  }
}

function parsed(raw: string): unknown {
  return JSON.parse(Buffer.from(raw, 'latin1').toString('utf8'));
}

/** A copy, since a piece of a text keeps all of it. */
function shown(text: unknown): string {
  return typeof text === 'string' ? Buffer.from(text.slice(0, MAX_NAME_CHARS)).toString() : '';
}
