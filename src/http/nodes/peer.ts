// Another node of the cluster: the connections to it, and the open forwards.

import { Share } from '../../../actors/base/bounds/budget.ts';
import { type NodeConnection, nodeHeaders } from '../../../actors/cluster/node-connection.ts';
import { ConnectionPool } from '../../../actors/mcp/links/http/connection-pool.ts';
import { destinationOf } from '../../../actors/mcp/links/http/http-destination.ts';
import type { Member } from '../../../actors/store/membership.ts';
import type { Forward } from './forward.ts';
import { isProofRefusal } from './proof-refusal.ts';

/** Shorter than the leases of a dead node. */
const CONNECT_MS = 2_000;

/** Path for greetings, which check that a node responds and accepts the proof of this node. */
export const HELLO_PATH = '/-/hello';

/**
 * `known`: the node accepts the proof of this node. `refused`: it refuses the proof. `portClosed`: its
 * process has exited. `silent`: no valid response in time.
 */
export type GreetResult = 'known' | 'refused' | 'portClosed' | 'silent';

export class Peer {
  readonly name: string;
  readonly address: string;
  readonly connection: NodeConnection;
  readonly pool: ConnectionPool;
  readonly forwards = new Set<Forward>();
  /** Shares of this node in the budgets of Forwards. */
  readonly requests = new Share();
  readonly streams = new Share();
  readonly bytes = new Share();
  isBeingChecked = false;
  isDraining = false;
  /** `performance.now()` when the node was first missing among the members. */
  missingSince: number | undefined;
  /** Earliest time of the next greeting, by `performance.now()`. */
  greetingDueAt = 0;

  constructor({ name, address }: Member, connection: NodeConnection) {
    this.name = name;
    this.address = address;
    this.connection = connection;
    const { url, tls } = connection;
    this.pool = new ConnectionPool(destinationOf(url, { connectTimeoutMs: CONNECT_MS, tls }));
  }

  /** Sends a greeting and returns the result. */
  greet(timeoutMs: number): Promise<GreetResult> {
    const { url, headers } = this.connection;
    const headerLines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    const head = `GET ${HELLO_PATH} HTTP/1.1\r\nhost: ${url.host}\r\nconnection: keep-alive\r\n${headerLines.join('')}\r\n`;
    return new Promise((resolve) => {
      const connection = this.pool.acquire();
      let result: GreetResult = 'silent';
      const settle = (value: GreetResult) => {
        clearTimeout(timer);
        resolve(value);
      };
      const timer = setTimeout(() => {
        connection.destroy();
        settle('silent');
      }, timeoutMs);
      connection.send(head, undefined, {
        onConnected: () => {},
        onHead: (response) => {
          result = response.header(nodeHeaders.refused) === 'proof' ? 'refused' : 'known';
        },
        onBody: (piece) => piece.length,
        onEnd: () => settle(result),
        onBroken: (error) => {
          if (isProofRefusal(error)) settle('refused');
          else settle((error as NodeJS.ErrnoException).code === 'ECONNREFUSED' ? 'portClosed' : 'silent');
        },
        destroy: () => settle('silent'),
      });
    });
  }

  /** Fails the forwards and closes the connections. */
  close(): void {
    for (const forward of [...this.forwards]) forward.failLostOwner();
    this.pool.close();
  }
}
