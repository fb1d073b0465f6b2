// Probes whether a server speaks one era, on a connection (over stdio: a process) of its own that is thrown away. What
// an answer, or its absence, says about the server is decided here alone.
//
// The connection is closed as soon as there is a verdict, and killed with `kill` (A5).

import { type GatewayError, StartFailedError, UpstreamProtocolError } from '../../../base/errors/errors.ts';
import type { Era } from '../../jsonrpc/modern-meta.ts';
import type { Link, LinkEvents } from '../../links/link.ts';
import type { ServerDescription } from '../cache/server-description.ts';
import { Connection, type Introduction } from '../pool/connection.ts';

/**
 * `yes`, `no`: the server has answered. `silent`: it has not. `ended`: its process, or its stream, has ended instead.
 * `unclear`: it could not be reached, or has answered something that says nothing about the protocol (401, 500).
 */
export type Verdict = 'yes' | 'no' | 'silent' | 'ended' | 'unclear';

export interface EraProbeOptions {
  readonly server: string;
  readonly introduction: Introduction;
  makeLink(events: LinkEvents, era: Era): Link;
  onDescription(era: Era, description: ServerDescription): void;
}

/** These say that the request was not understood; others (401, 429, 5xx) say nothing about the protocol. */
const refusals = new Set([400, 404, 405, 406, 410, 415]);

/** Whether the server has answered, and what it answered says that it does not speak the era. */
export function isRefusal({ status }: UpstreamProtocolError): boolean {
  return status === undefined || refusals.has(status);
}

export class EraProbe {
  /** Settles with the verdict; never rejects. */
  readonly verdict: Promise<Verdict>;
  /** Settles when nothing is left of it. */
  readonly gone: Promise<void>;
  readonly #connection: Connection;

  constructor(
    era: Era,
    timeoutMs: number,
    { server, introduction, makeLink, onDescription }: EraProbeOptions,
  ) {
    const nothing = () => {};
    this.#connection = new Connection(server, era, makeLink, {
      onRequest: nothing,
      onNotification: nothing,
      onUndelivered: (_, call, error) => call.fail(error),
      onNoise: nothing,
      onEnd: nothing,
    });
    this.verdict = this.#connection.introduce(introduction, timeoutMs).then(
      (description) => {
        onDescription(era, description);
        return 'yes';
      },
      (error: unknown) => verdictOf(error as GatewayError, this.#connection.link.isOver),
    );
    this.gone = this.verdict.then(() => this.close());
  }

  /** Ends it in good order, whether it has a verdict or not. */
  close(): Promise<void> {
    return this.#connection.link.close();
  }

  kill(): void {
    this.#connection.link.kill();
  }
}

function verdictOf(error: GatewayError, isOver: boolean): Verdict {
  if (error instanceof StartFailedError) return 'unclear';
  if (!(error instanceof UpstreamProtocolError)) return isOver ? 'ended' : 'silent';
  return isRefusal(error) ? 'no' : 'unclear';
}
