// Probes if a server supports one protocol era (sessions, or stateless requests), on a temporary connection
// (over stdio: a process). Only this file interprets the responses. The connection closes when the probe has
// a result, and on `kill` (A5, ARCHITECTURE.md).

import { type GatewayError, StartFailedError, UpstreamProtocolError } from '../../../base/errors/errors.ts';
import type { Era } from '../../jsonrpc/modern-meta.ts';
import type { Link, LinkEvents } from '../../links/link.ts';
import type { ServerDescription } from '../cache/introduction.ts';
import { Connection, type Introduction } from '../pool/connection.ts';

/**
 * `yes`, `no`: the server has responded. `silent`: no response. `ended`: the process or stream has closed.
 * `unclear`: unreachable, or a response that is unrelated to the protocol (401, 500).
 */
export type ProbeResult = 'yes' | 'no' | 'silent' | 'ended' | 'unclear';

export interface EraProbeOptions {
  readonly server: string;
  readonly introduction: Introduction;
  makeLink(events: LinkEvents, era: Era): Link;
  onDescription(era: Era, description: ServerDescription): void;
}

/**
 * HTTP statuses of servers that do not understand a request. Others (401, 429, 5xx) do not depend on the
 * protocol.
 */
const refusals = new Set([400, 404, 405, 406, 410, 415]);

/** Returns true if the response shows that the server does not support the era. */
export function isRefusal({ status }: UpstreamProtocolError): boolean {
  return status === undefined || refusals.has(status);
}

export class EraProbe {
  /** Resolves with the result of the probe; never rejects. */
  readonly result: Promise<ProbeResult>;
  /** Resolves when the connection is closed. */
  readonly whenClosed: Promise<void>;
  readonly #connection: Connection;

  constructor(
    era: Era,
    timeoutMs: number,
    { server, introduction, makeLink, onDescription }: EraProbeOptions,
  ) {
    const ignore = () => {};
    this.#connection = new Connection(server, era, makeLink, {
      onRequest: ignore,
      onNotification: ignore,
      onUndelivered: (_, call, error) => call.fail(error),
      onNoise: ignore,
      onEnd: ignore,
    });
    this.result = this.#connection.introduce(introduction, timeoutMs).then(
      (description) => {
        onDescription(era, description);
        return 'yes';
      },
      (error: unknown) => probeResultOf(error as GatewayError, this.#connection.link.isOver),
    );
    this.whenClosed = this.result.then(() => this.close());
  }

  /** Closes the connection gracefully, even before the probe has a result. */
  close(): Promise<void> {
    return this.#connection.link.close();
  }

  kill(): void {
    this.#connection.link.kill();
  }
}

function probeResultOf(error: GatewayError, isOver: boolean): ProbeResult {
  if (error instanceof StartFailedError) return 'unclear';
  if (!(error instanceof UpstreamProtocolError)) return isOver ? 'ended' : 'silent';
  return isRefusal(error) ? 'no' : 'unclear';
}
