// Handles requests of cluster nodes: greetings, forwarded client requests, and calls of servers on this node.
//
// NF1  senders without the proof of this cluster are refused, as are requests for a previous process.
// NF2  nodes may forward client requests for sessions, servers and calls only.

import { setTimeout as elapse } from 'node:timers/promises';
import { forgetOldest } from '../../../actors/base/bounds/forget-oldest.ts';
import { InternalError } from '../../../actors/base/errors/errors.ts';
import type { ClusterPart } from '../../../actors/cluster/cluster-part.ts';
import { type NodeRefusal, nodeHeaders } from '../../../actors/cluster/node-ways.ts';
import type { Reach } from '../../../actors/cluster/reach.ts';
import { operator, type Principal } from '../../../actors/identity/principal.ts';
import { Dispatch } from '../dispatch.ts';
import type { HttpServices } from '../http-services.ts';
import { JSON_HEADERS, plainError } from '../listener/framing.ts';
import type { BodyHandler, HttpReply, HttpRequest } from '../listener/seam.ts';
import { ExchangeContext } from '../mcp/exchange-context.ts';
import { RouteTable } from '../route-table.ts';
import type { Elsewhere } from './elsewhere.ts';
import { HELLO_PATH } from './peer.ts';
import { type Peers, SAME_PROOF } from './peers.ts';

/** Paths of forwarded client requests. */
const PASSED_ON = /^\/(?:mcp(?:\/[^/]+)?|rpc)$/;
/** Servers, for a node's own calls. */
const SERVER_PATH = /^\/mcp\/([^/@][^/]*)$/;
const MAX_REMEMBERED = 1_000;

/** Maximum wait of a greeting for the list of members. */
const MEETING_MS = 1_000;

export interface NodeRequestsOptions {
  readonly http: HttpServices;
  readonly cluster: ClusterPart;
  readonly reach: Reach;
  readonly peers: Peers;
  readonly nodes: Elsewhere;
}

export class NodeRequests {
  readonly #options: NodeRequestsOptions;
  readonly #dispatch: Dispatch;
  readonly #table = new RouteTable({});
  /** Addresses whose refusal is in the log. */
  readonly #refused = new Set<string>();

  constructor(options: NodeRequestsOptions) {
    this.#options = options;
    const { http, nodes } = options;
    const { config, log, redactor, version, life, mcp, node } = http.gateway;
    this.#dispatch = new Dispatch(http, {
      ...{ config, log, redactor, version, life, mcp, node, nodes, heartbeat: http.heartbeat },
      triggers: undefined,
      proofFor: () => [],
      reload: () => Promise.reject(new InternalError('another node cannot request a reload')),
    });
  }

  /** Handles one request. */
  handle(request: HttpRequest, reply: HttpReply): BodyHandler | undefined {
    const { headers, path } = request;
    const { cluster, reach } = this.#options;
    if (!reach.proof.isRight(headers[nodeHeaders.proof])) {
      this.onRefused(request.remoteAddress, 'proof');
      return refuse(reply, 403, 'proof', `the proof is none of this cluster; ${SAME_PROOF}`);
    }
    if (headers[nodeHeaders.to] !== cluster.instance)
      return refuse(reply, 421, 'instance', 'another process is here than the one that is meant');
    if (path === HELLO_PATH) return () => void this.#hello(headers[nodeHeaders.from], reply);
    if (headers[nodeHeaders.epoch] !== undefined) return this.#takeForNode(request, reply);
    const proven = headers[nodeHeaders.operator] === undefined ? undefined : operator;
    if (PASSED_ON.test(path)) return this.#take(request, reply, proven);
    reply.send(404, JSON_HEADERS, plainError(404, 'nodes ask for nothing of the kind'));
    return undefined;
  }

  /** Logs the first refusal of an address. `code` is `proof`, or the code of an error of its connection. */
  onRefused(address: string, code: string): void {
    const { log } = this.#options.http.gateway;
    const isOther = code === 'proof' || /BAD_RECORD_MAC|DECRYPT|PSK_IDENTITY/.test(code);
    const key = `${address} ${isOther}`;
    if (this.#refused.has(key)) return;
    this.#refused.add(key);
    forgetOldest(this.#refused, MAX_REMEMBERED);
    if (isOther)
      log.error(
        { address, reason: code },
        'a node was refused, its proof is another: node.secret has to be the same at all of them, and node.tls at all or at none',
      );
    else
      log.warn(
        { address, reason: code },
        'a connection to the address for nodes was refused: it has shown no proof',
      );
  }

  /** Answers when the sender is a known member, or after MEETING_MS: the database may be unavailable. */
  async #hello(from: string | undefined, reply: HttpReply): Promise<void> {
    const patience = new AbortController();
    await Promise.race([this.#options.peers.meet(from), elapse(MEETING_MS, undefined, patience)]).catch(
      () => {},
    );
    patience.abort();
    reply.send(200, JSON_HEADERS, '{}');
  }

  /** Handles the node's own call of a server on this node. */
  #takeForNode(request: HttpRequest, reply: HttpReply): BodyHandler | undefined {
    const server = SERVER_PATH.exec(request.path)?.[1];
    const epoch = Number(request.headers[nodeHeaders.epoch]);
    if (server === undefined || !this.#options.cluster.placement.holds(decoded(server), epoch))
      return refuse(reply, 421, 'epoch', 'this node has not the server by that lease');
    return this.#take(request, reply, { kind: 'node', name: 'node' });
  }

  /**
   * Handles a request from a node that checked Host and Origin. `principal` is the node or the sender identified by it; undefined
   * for an unidentified sender.
   */
  #take(request: HttpRequest, reply: HttpReply, principal: Principal | undefined): BodyHandler | undefined {
    const context = new ExchangeContext(request, reply);
    context.isFromNode = true;
    const route = this.#table.ofApi(request.path);
    context.isMcp = route.isMcp === true;
    return principal === undefined
      ? this.#dispatch.identify(route, context)
      : this.#dispatch.identified(principal, route, context);
  }
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

function refuse(reply: HttpReply, status: number, why: NodeRefusal, message: string): undefined {
  reply.send(status, [...JSON_HEADERS, [nodeHeaders.refused, why]], plainError(status, message));
  return undefined;
}
