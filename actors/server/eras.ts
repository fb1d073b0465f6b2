// Which eras of the protocol a server speaks: what the catalog says, or, under `era: auto`, what the server itself
// answers. It is asked once, on connections (over stdio: processes) of their own that are thrown away, because some
// servers stay in the era of the first request they get, and some exit on one they do not know (2026-07-28,
// "Backward Compatibility" of both transports).
//
// R1  only an answer is a verdict that is kept; a server that stays silent, or cannot be reached, is taken for legacy
//     until it has been started once, and asked again later.
// R2  nothing of a probe outlives `kill` (A5).

import { type GatewayError, UpstreamProtocolError } from '../errors.ts';
import type { Era } from '../jsonrpc/modern-meta.ts';
import type { Link, LinkEvents } from '../upstream/link.ts';
import { Connection, type Introduction } from './connection.ts';
import type { Known } from './known.ts';

/** At least one is true. */
export type Eras = Readonly<Record<Era, boolean>>;

export interface ErasOptions {
  readonly server: string;
  readonly setting: Era | 'auto';
  readonly known: Known;
  readonly introduction: Introduction;
  readonly startTimeoutMs: number;
  makeLink(events: LinkEvents, era: Era): Link;
  onVerdict(eras: Eras): void;
}

/** A server that says nothing to `server/discover` for so long is a legacy one. */
const SILENCE_MS = 2_000;

const only: Readonly<Record<Era, Eras>> = {
  legacy: { legacy: true, modern: false },
  modern: { legacy: false, modern: true },
};

export class ServerEras {
  readonly #options: ErasOptions;
  readonly #probes = new Set<Connection>();
  #asking: Promise<Eras> | undefined;
  /** R1: good until the next start. */
  #assumed: Eras | undefined;

  constructor(options: ErasOptions) {
    this.#options = options;
  }

  /** What the server speaks, if that is known without asking. */
  get known(): Eras | undefined {
    const { setting, known } = this.#options;
    return setting === 'auto' ? (known.eras ?? this.#assumed) : only[setting];
  }

  /** The era to use for a client of `era`: its own where the server speaks it. */
  for(era: Era): Era | undefined {
    const { known } = this;
    if (known === undefined) return undefined;
    return known[era] ? era : other(era);
  }

  /** What the server speaks; asks it if need be. Never rejects. */
  settle(): Promise<Eras> {
    const { known } = this;
    if (known !== undefined) return Promise.resolve(known);
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  /** The server did not keep to the verdict; it is asked anew before its next start. */
  forget(): void {
    if (this.#options.setting !== 'auto') return;
    this.#assumed = undefined;
    this.#options.known.setEras(undefined);
  }

  kill(): void {
    for (const probe of this.#probes) probe.link.kill();
  }

  async #ask(): Promise<Eras> {
    const modern = await this.#try('modern', SILENCE_MS);
    const legacy =
      modern.speaks === true ? await this.#try('legacy', this.#options.startTimeoutMs) : undefined;
    const eras = modern.speaks === true ? { modern: true, legacy: legacy?.speaks === true } : only.legacy;
    const isCertain = modern.speaks !== undefined && (legacy === undefined || legacy.speaks !== undefined);
    if (isCertain) this.#options.known.setEras(eras);
    else this.#assumed = eras;
    this.#options.onVerdict(eras);
    return eras;
  }

  /** Whether the server speaks an era; undefined when it gave no answer to go by. */
  async #try(era: Era, timeoutMs: number): Promise<{ speaks: boolean | undefined }> {
    const { server, known, introduction, makeLink } = this.#options;
    const nothing = () => {};
    const probe = new Connection(server, era, makeLink, {
      onRequest: nothing,
      onNotification: nothing,
      onUndelivered: (_, call, error) => call.fail(error),
      onNoise: nothing,
      onEnd: nothing,
    });
    this.#probes.add(probe);
    try {
      known.note(era, await probe.introduce(introduction, timeoutMs));
      return { speaks: true };
    } catch (error) {
      return { speaks: verdictOf(error as GatewayError) };
    } finally {
      void probe.link.close().finally(() => this.#probes.delete(probe));
    }
  }
}

/** These say that the request was not understood; others (401, 429, 5xx) say nothing about the protocol. */
const refusals = new Set([400, 404, 405, 406, 410, 415]);

/** An error answer is a no; silence, a crash or a network error says nothing. */
function verdictOf(error: GatewayError): boolean | undefined {
  if (!(error instanceof UpstreamProtocolError)) return undefined;
  return error.status === undefined || refusals.has(error.status) ? false : undefined;
}

function other(era: Era): Era {
  return era === 'legacy' ? 'modern' : 'legacy';
}
