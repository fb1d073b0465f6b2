// Handles requests from other nodes of the cluster: greetings (peers.ts), forwarded requests of clients, and
// the nodes' own calls of servers that run on this node. Refuses requests that lack the proof of this
// cluster, or are meant for a previous process. Only MCP requests of clients may be forwarded.

import { deleteOldest } from '../../../actors/base/bounds/delete-oldest.ts';
import { InternalError } from '../../../actors/base/errors/errors.ts';
import { within } from '../../../actors/base/time/within.ts';
import type { ClusterPart } from '../../../actors/cluster/cluster-part.ts';
import { type NodeRefusal, nodeHeaders } from '../../../actors/cluster/node-connection.ts';
import type { NodePeers } from '../../../actors/cluster/node-peers.ts';
import { operator, type Principal } from '../../../actors/identity/principal.ts';
import { Dispatch } from '../dispatch.ts';
import type { HttpServices } from '../http-services.ts';
import { JSON_HEADERS, plainError } from '../listener/framing.ts';
import type { BodyHandler, HttpReply, HttpRequest } from '../listener/seam.ts';
import { ExchangeContext } from '../mcp/exchange-context.ts';
import { RouteTable } from '../route-table.ts';
import { HELLO_PATH } from './peer.ts';
import { type Peers, SAME_PROOF_HINT } from './peers.ts';
import type { RequestForwarder } from './request-forwarder.ts';

/** Paths of clients' requests that nodes may forward. */
const FORWARDABLE_PATH = /^\/(?:mcp(?:\/[^/]+)?|rpc)$/;
/** Server path, for the own calls of nodes. */
const SERVER_PATH = /^\/mcp\/([^/@][^/]*)$/;
const MAX_LOGGED = 1_000;

/** Maximum time until the greeting node is found among the members. */
const MEMBER_WAIT_MS = 1_000;

export interface NodeRequestsOptions {
  readonly http: HttpServices;
  readonly cluster: ClusterPart;
  /** Proof and keys of this node for requests between nodes. */
  readonly reach: NodePeers;
  readonly peers: Peers;
  readonly forwarder: RequestForwarder;
}

export class NodeRequests {
  readonly #options: NodeRequestsOptions;
  readonly #dispatch: Dispatch;
  readonly #table = new RouteTable({});
  /** Addresses whose refusal was already logged. */
  readonly #loggedAddresses = new Set<string>();

  constructor(options: NodeRequestsOptions) {
    this.#options = options;
    const { http, forwarder } = options;
    const { config, log, alarms, redactor, version, life, mcp, history, audit, node } = http.gateway;
    this.#dispatch = new Dispatch(http, {
      ...{ config, log, alarms, redactor, version, life, mcp, history, audit, node, forwarder },
      ...{ heartbeat: http.heartbeat, json: http.json },
      ...{ accessKeys: http.accessKeys, requestAudit: http.requestAudit },
      triggers: undefined,
      proofFor: () => [],
      reload: () => Promise.reject(new InternalError('another node cannot request a reload')),
    });
  }

  handle(request: HttpRequest, reply: HttpReply): BodyHandler | undefined {
    const { headers, path } = request;
    const { cluster, reach } = this.#options;
    if (!reach.proof.isValid(headers[nodeHeaders.proof])) {
      this.onRefused(request.remoteAddress, 'proof');
      return refuse(reply, 403, 'proof', `the proof is not of this cluster; ${SAME_PROOF_HINT}`);
    }
    if (headers[nodeHeaders.to] !== cluster.instance)
      return refuse(reply, 421, 'instance', 'the request is for another process');
    if (path === HELLO_PATH) return () => void this.#hello(headers[nodeHeaders.from], reply);
    if (headers[nodeHeaders.epoch] !== undefined) return this.#handleNodeCall(request, reply);
    const principal = headers[nodeHeaders.operator] === undefined ? undefined : operator;
    if (FORWARDABLE_PATH.test(path)) return this.#dispatchRequest(request, reply, principal);
    reply.send(404, JSON_HEADERS, plainError(404, 'not a path for cluster nodes'));
    return undefined;
  }

  /** Logs the first refusal per address. `code` is `proof`, or the error code of the connection. */
  onRefused(address: string, code: string): void {
    const { log } = this.#options.http.gateway;
    const hasOtherProof = code === 'proof' || /BAD_RECORD_MAC|DECRYPT|PSK_IDENTITY/.test(code);
    const key = `${address} ${hasOtherProof}`;
    if (this.#loggedAddresses.has(key)) return;
    this.#loggedAddresses.add(key);
    deleteOldest(this.#loggedAddresses, MAX_LOGGED);
    if (hasOtherProof)
      log.error(
        { address, reason: code },
        'refused a node with another proof: use the same node.secret on all nodes, and node.tls on all or none',
      );
    else log.warn({ address, reason: code }, 'refused a connection to the node address: it sent no proof');
  }

  /** Responds when the sender is known as a member; after MEMBER_WAIT_MS in any case. */
  async #hello(from: string | undefined, reply: HttpReply): Promise<void> {
    await within(MEMBER_WAIT_MS, this.#options.peers.awaitMember(from)).catch(() => {});
    reply.send(200, JSON_HEADERS, '{}');
  }

  /** Handles a node's own call to a server that runs on this node. */
  #handleNodeCall(request: HttpRequest, reply: HttpReply): BodyHandler | undefined {
    const server = SERVER_PATH.exec(request.path)?.[1];
    const epoch = Number(request.headers[nodeHeaders.epoch]);
    if (server === undefined || !this.#options.cluster.placement.holds(decodeSegment(server), epoch))
      return refuse(reply, 421, 'epoch', 'this node does not hold that lease of the server');
    return this.#dispatchRequest(request, reply, { kind: 'node', name: 'node' });
  }

  /**
   * Handles a request whose Host and Origin were checked by the other node. `principal` is the sender, if
   * the other node has identified it.
   */
  #dispatchRequest(
    request: HttpRequest,
    reply: HttpReply,
    principal: Principal | undefined,
  ): BodyHandler | undefined {
    const context = new ExchangeContext(request, reply, this.#options.http.gateway.alarms);
    context.isFromNode = true;
    const route = this.#table.ofApi(request.path);
    context.isMcp = route.isMcp === true;
    return principal === undefined
      ? this.#dispatch.identify(route, context)
      : this.#dispatch.dispatchIdentified(principal, route, context);
  }
}

function decodeSegment(segment: string): string {
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
