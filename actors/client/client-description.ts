// What a client says of itself, for as long as it has a session, listens, or has a connection of its own: kept as the text it
// came as, and parsed for a moment by whoever wants to know. Parsed, what is deep takes fifty times as much.

import { Share } from '../budget.ts';
import { rawJson } from '../jsonrpc/span.ts';

/** Of a name or a version no more is kept at hand. */
export const MAX_NAME_CHARS = 1_024;

export class ClientDescription {
  /** As the client calls itself; '' where that is no text. */
  readonly name: string;
  readonly version: string;
  /** What it has of the budget of all (Sessions). */
  readonly share = new Share();
  /** Raw JSON. */
  readonly #info: string;
  readonly #capabilities: string;

  constructor(clientInfo: unknown, capabilities: Readonly<Record<string, unknown>>) {
    const { name, version } = (clientInfo ?? {}) as { name?: unknown; version?: unknown };
    this.name = shown(name);
    this.version = shown(version);
    this.#info = rawJson(clientInfo ?? null);
    this.#capabilities = rawJson(capabilities);
  }

  /** What it takes in memory, about. */
  get bytes(): number {
    return this.#info.length + this.#capabilities.length + this.name.length + this.version.length;
  }

  get clientInfo(): unknown {
    return parsed(this.#info);
  }

  get capabilities(): Readonly<Record<string, unknown>> {
    return parsed(this.#capabilities) as Readonly<Record<string, unknown>>;
  }
}

function parsed(raw: string): unknown {
  return JSON.parse(Buffer.from(raw, 'latin1').toString('utf8'));
}

/** A copy, since a piece of a text keeps all of it. */
function shown(text: unknown): string {
  return typeof text === 'string' ? Buffer.from(text.slice(0, MAX_NAME_CHARS)).toString() : '';
}
