// Opens a connection on which the operator token may be sent: the peer proved knowledge of the token, like
// only the gateway of the state folder can. The request must use the same connection, since the port may change owners.

import { randomBytes } from 'node:crypto';
import { Agent, request } from 'node:http';
import type { Socket } from 'node:net';
import { isLoopback } from '../../../config/gateway-file/listen-addr.ts';
import { isProof, NONCE_HEADER, PROOF_HEADER } from '../../http/operator-proof.ts';

export interface ProvenConnection {
  /** Sends on this connection only; a request fails if it was closed. */
  readonly agent: Agent;
  close(): void;
}

/**
 * Returns a connection to the peer at `url`, whose path is the gateway's /health; undefined without a valid proof. Rejects
 * with the reason of a failed request.
 */
export function openProvenConnection(
  url: URL,
  token: string,
  signal: AbortSignal,
): Promise<ProvenConnection | undefined> {
  const agent = new SingleConnectionAgent();
  const connection = { agent, close: () => agent.destroy() };
  const nonce = randomBytes(32).toString('base64url');
  return new Promise((done, reject) => {
    const fail = (error: Error) => {
      agent.destroy();
      reject(error);
    };
    const sent = request(url, { agent, signal, headers: { [NONCE_HEADER]: nonce } }, (response) => {
      const isProven = hasProof(response.headers[PROOF_HEADER], token, nonce, response.socket);
      let size = 0;
      response.on('data', (chunk: Buffer) => {
        size += chunk.length;
        if (size > MAX_HEALTH_BYTES)
          sent.destroy(new Error(`/health returned more than ${MAX_HEALTH_BYTES} bytes`));
      });
      response.on('error', fail);
      response.on('end', () => {
        if (!isProven) agent.destroy();
        done(isProven ? connection : undefined);
      });
    });
    sent.on('error', fail);
    sent.end();
  });
}

const MAX_HEALTH_BYTES = 64 * 1024;

function hasProof(proof: unknown, token: string, nonce: string, socket: Socket): boolean {
  const { remoteAddress: host, remotePort: port } = socket;
  if (typeof proof !== 'string' || host === undefined || port === undefined || !isLoopback(host))
    return false;
  return isProof(proof, token, nonce, { host, port });
}

class SingleConnectionAgent extends Agent {
  #isOpened = false;

  constructor() {
    super({ keepAlive: true, maxSockets: 1 });
  }

  override createConnection(...[options, callback]: Parameters<Agent['createConnection']>) {
    if (!this.#isOpened) {
      this.#isOpened = true;
      return super.createConnection(options, callback);
    }
    const error = new Error('the gateway closed the connection before the request');
    process.nextTick(() => callback?.(error, undefined as never));
    return undefined;
  }
}
