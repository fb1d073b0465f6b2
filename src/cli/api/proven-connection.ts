// Opens a connection over which the operator token may be sent: the peer has proved that it knows it, so
// it is the gateway of the state folder. The request with the token must use the same connection, because
// another program may take over the port.

import { randomBytes } from 'node:crypto';
import { Agent, request } from 'node:http';
import type { Socket } from 'node:net';
import { isLoopback } from '../../../config/gateway-file/listen-addr.ts';
import { isProof, NONCE_HEADER, PROOF_HEADER } from '../../http/operator-proof.ts';

export interface ProvenConnection {
  /** Sends requests on this connection only. They fail once it is closed. */
  readonly agent: Agent;
  close(): void;
}

/**
 * Connects to `url`, the gateway's /health. Returns undefined if the response has no valid proof. Rejects
 * with the error of the request.
 */
export function openProvenConnection(
  url: URL,
  token: string,
  signal: AbortSignal,
): Promise<ProvenConnection | undefined> {
  const agent = new SingleConnectionAgent();
  const connection = { agent, close: () => agent.destroy() };
  const nonce = randomBytes(32).toString('base64url');
  return new Promise((resolve, reject) => {
    const fail = (error: Error) => {
      agent.destroy();
      reject(error);
    };
    const clientRequest = request(url, { agent, signal, headers: { [NONCE_HEADER]: nonce } }, (response) => {
      const isProven = hasProof(response.headers[PROOF_HEADER], token, nonce, response.socket);
      let size = 0;
      response.on('data', (chunk: Buffer) => {
        size += chunk.length;
        if (size > MAX_HEALTH_BYTES)
          clientRequest.destroy(new Error(`/health returned more than ${MAX_HEALTH_BYTES} bytes`));
      });
      response.on('error', fail);
      response.on('end', () => {
        if (!isProven) agent.destroy();
        resolve(isProven ? connection : undefined);
      });
    });
    clientRequest.on('error', fail);
    clientRequest.end();
  });
}

const MAX_HEALTH_BYTES = 64 * 1024;

function hasProof(proof: unknown, token: string, nonce: string, socket: Socket): boolean {
  const { remoteAddress: host, remotePort: port } = socket;
  if (typeof proof !== 'string' || host === undefined || port === undefined || !isLoopback(host))
    return false;
  return isProof(proof, token, nonce, { host, port });
}

/** HTTP agent that never opens a second connection. */
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
