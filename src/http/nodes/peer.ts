// Another node as this one sees it: the connections to it, and what was passed on to it and has not been answered.

import { Share } from '../../../actors/base/bounds/budget.ts';
import { type NodeWay, nodeHeaders } from '../../../actors/cluster/node-ways.ts';
import { ConnectionPool } from '../../../actors/mcp/links/http/connection-pool.ts';
import type { Member } from '../../../actors/store/membership.ts';
import type { Forward } from './forward.ts';
import { isRefusedProof } from './refused-proof.ts';

/** Below the lease of a node that has just gone. */
const CONNECT_MS = 2_000;

/** Where a node says that it is there, and that it takes our proof. */
export const HELLO_PATH = '/-/hello';

export type Greeted = 'known' | 'refused' | 'nobody' | 'silent';

export class Peer {
  readonly name: string;
  readonly address: string;
  readonly way: NodeWay;
  readonly pool: ConnectionPool;
  readonly forwards = new Set<Forward>();
  /** Of the bounds over all that is passed on. */
  readonly places = new Share();
  readonly streams = new Share();
  readonly bytes = new Share();
  /** It is being asked whether it is there. */
  isChecked = false;
  /** It has said that it stops. */
  isDraining = false;
  /** performance.now() of when it was found to be no member any more. */
  missingSince: number | undefined;
  /** By performance.now(). */
  greetingDueAt = 0;

  constructor({ name, address }: Member, way: NodeWay) {
    this.name = name;
    this.address = address;
    this.way = way;
    const { url, tls } = way;
    const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
    this.pool = new ConnectionPool({
      isTls: true,
      host,
      port: Number(url.port || 443),
      serverName: host,
      connectTimeoutMs: CONNECT_MS,
      tls,
    });
  }

  /** `nobody`: nothing listens there; `silent`: no answer within `timeoutMs`, or a broken one. */
  greet(timeoutMs: number): Promise<Greeted> {
    const { url, headers } = this.way;
    const own = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    const head = `GET ${HELLO_PATH} HTTP/1.1\r\nhost: ${url.host}\r\nconnection: keep-alive\r\n${own.join('')}\r\n`;
    return new Promise((resolve) => {
      const connection = this.pool.take();
      let greeted: Greeted = 'silent';
      const over = (what: Greeted) => {
        clearTimeout(timer);
        resolve(what);
      };
      const timer = setTimeout(() => {
        connection.destroy();
        over('silent');
      }, timeoutMs);
      connection.send(head, undefined, {
        onConnected: () => {},
        onHead: (answer) => {
          greeted = answer.header(nodeHeaders.refused) === 'proof' ? 'refused' : 'known';
        },
        onBody: (piece) => piece.length,
        onEnd: () => over(greeted),
        onBroken: (error) => {
          if (isRefusedProof(error)) over('refused');
          else over((error as NodeJS.ErrnoException).code === 'ECONNREFUSED' ? 'nobody' : 'silent');
        },
        destroy: () => over('silent'),
      });
    });
  }

  /** It is no member any more. */
  close(): void {
    for (const forward of [...this.forwards]) forward.onOwnerGone();
    this.pool.close();
  }
}
