// The listener for other nodes, and the way to them: a part of the gateway that boots before anything takes work, and is drained after
// the front. Loaded only where node.address is configured.
//
// NF1  nothing is answered to whoever has not proven that it is a node of this cluster; nor to a node that means another process.
// NF2  what a node may pass on is what clients ask of sessions, servers and calls; no other route is there.

import { setTimeout as elapse } from 'node:timers/promises';
import { forgetOldest } from '../../../actors/base/bounds/forget-oldest.ts';
import { InternalError, StoppedError } from '../../../actors/base/errors/errors.ts';
import type { Part } from '../../../actors/base/supervision/part.ts';
import { type NodeRefusal, nodeHeaders } from '../../../actors/cluster/node-ways.ts';
import type { Reach } from '../../../actors/cluster/reach.ts';
import type { Gateway } from '../../../actors/gateway/gateway.ts';
import { operator, type Principal } from '../../../actors/identity/principal.ts';
import type { Envelope } from '../../../actors/mcp/jsonrpc/envelope.ts';
import { parseListenAddr } from '../../../config/gateway-file/listen-addr.ts';
import { JSON_HEADERS, plainError } from '../listener/framing.ts';
import { refusal } from '../listener/listen.ts';
import { listenNode } from '../listener/node-listener.ts';
import { Readers } from '../listener/readers.ts';
import type { BodyHandler, HttpReply, HttpRequest, Listener } from '../listener/seam.ts';
import type { Asked, Elsewhere } from './elsewhere.ts';
import { Forwards } from './forwards.ts';
import { HELLO_PATH } from './peer.ts';
import { Peers, SAME_PROOF } from './peers.ts';
import { tlsGate } from './tls-gate.ts';

/** What clients ask that may be elsewhere. */
const PASSED_ON = /^\/(?:mcp(?:\/[^/]+)?|rpc)$/;
/** Servers, for a node that asks for itself. */
const SERVER_PATH = /^\/mcp\/([^/@][^/]*)$/;
const MAX_REMEMBERED = 1_000;

/** A greeting waits so long for the members to be read. */
const MEETING_MS = 1_000;
const DRAIN_POLL_MS = 20;
/** For the answers to calls that were given up to leave. */
const LAST_WORDS_MS = 250;

/** The front that serves requests of other nodes. */
export interface NodesHost {
  readonly gateway: Pick<Gateway, 'config' | 'log' | 'mcp' | 'node'>;
  readonly reportFault: (error: unknown) => void;
  /** Handles a request that a node has forwarded, for `principal` if that node has identified the sender. */
  readonly takeFromNode: (
    request: HttpRequest,
    reply: HttpReply,
    principal?: Principal,
  ) => BodyHandler | undefined;
}

export class NodesFront implements Part, Elsewhere {
  readonly name = 'nodes';
  readonly #front: NodesHost;
  #reach: Reach | undefined;
  #peers: Peers | undefined;
  #forwards: Forwards | undefined;
  #listener: Listener | undefined;
  /** Addresses of which it was said that they were refused. */
  readonly #refused = new Set<string>();

  constructor(front: NodesHost) {
    this.#front = front;
  }

  /** Rejects where the address is refused, or a member refuses the proof of this one. */
  async boot(): Promise<void> {
    const { config, log, node: self } = this.#front.gateway;
    const { cluster } = self;
    const { node, limits } = config;
    const reach = cluster?.reach;
    if (cluster === undefined || reach === undefined || node.address === undefined)
      throw new InternalError('there are no other nodes without node.address');
    this.#reach = reach;
    const { host, port } = parseListenAddr(node.bind ?? node.address);
    const at = { host, port, setting: node.bind === undefined ? 'node.address' : 'node.bind' };
    const onRefused = (address: string, code: string) => this.#onRefused(address, code);
    const listener = await listenNode(
      {
        ...at,
        maxBodyBytes: limits.body_bytes,
        readers: Readers.for(limits.message_bytes),
        handler: (request, reply) => this.#handle(request, reply),
        onFault: this.#front.reportFault,
      },
      undefined,
      (settings) => tlsGate({ tls: reach.proof.server, onRefused }, settings),
    ).catch((error: unknown) => {
      throw refusal(at, error);
    });
    this.#listener = listener;
    const peers = new Peers({ cluster: cluster.cluster, ways: reach, log });
    this.#peers = peers;
    try {
      await peers.begin();
    } catch (error) {
      listener.close();
      throw error;
    }
    this.#forwards = new Forwards({ cluster, reach, peers, limits });
    log.info({ address: node.address, node: cluster.cluster.name }, 'other nodes reach this one');
  }

  takeForSession(id: string, asked: Asked): boolean {
    return this.#forwards?.takeForSession(id, asked) === true;
  }

  takeRetry(asked: Asked & { readonly envelope: Envelope }): boolean {
    return this.#forwards?.takeRetry(asked) === true;
  }

  /** Calls under way that other nodes wait for are answered, and whatever belongs to them is taken until then. */
  async drain(graceMs: number): Promise<void> {
    const listener = this.#listener;
    const settled = async (untilMs: number) => {
      for (const until = performance.now() + untilMs; performance.now() < until; await elapse(DRAIN_POLL_MS))
        if ((listener?.open ?? 0) === 0) return;
    };
    await settled(graceMs);
    if ((listener?.open ?? 0) > 0) {
      this.#front.gateway.mcp.failCalls(
        new StoppedError('the gateway was stopped before the call was answered'),
      );
      await settled(LAST_WORDS_MS);
    }
    listener?.close();
    this.#peers?.close();
  }

  #handle(request: HttpRequest, reply: HttpReply): BodyHandler | undefined {
    const { headers, path } = request;
    const { cluster } = this.#front.gateway.node;
    if (this.#reach?.proof.isRight(headers[nodeHeaders.proof]) !== true) {
      this.#onRefused(request.remoteAddress, 'proof');
      return refuse(reply, 403, 'proof', `the proof is none of this cluster; ${SAME_PROOF}`);
    }
    if (cluster === undefined || headers[nodeHeaders.to] !== cluster.instance)
      return refuse(reply, 421, 'instance', 'another process is here than the one that is meant');
    if (path === HELLO_PATH) return () => void this.#hello(headers[nodeHeaders.from], reply);
    if (headers[nodeHeaders.epoch] !== undefined) return this.#takeForNode(request, reply);
    const proven = headers[nodeHeaders.operator] === undefined ? undefined : operator;
    if (PASSED_ON.test(path)) return this.#front.takeFromNode(request, reply, proven);
    reply.send(404, JSON_HEADERS, plainError(404, 'nodes ask for nothing of the kind'));
    return undefined;
  }

  /** Answered once whoever asks is known here, or after a moment: the database may be away. */
  async #hello(from: string | undefined, reply: HttpReply): Promise<void> {
    const patience = new AbortController();
    await Promise.race([this.#peers?.meet(from), elapse(MEETING_MS, undefined, patience)]).catch(() => {});
    patience.abort();
    reply.send(200, JSON_HEADERS, '{}');
  }

  /** A node asks for itself, of a server that it believes to run here. */
  #takeForNode(request: HttpRequest, reply: HttpReply): BodyHandler | undefined {
    const server = SERVER_PATH.exec(request.path)?.[1];
    const epoch = Number(request.headers[nodeHeaders.epoch]);
    if (
      server === undefined ||
      this.#front.gateway.node.cluster?.placement.holds(decoded(server), epoch) !== true
    )
      return refuse(reply, 421, 'epoch', 'this node has not the server by that lease');
    return this.#front.takeFromNode(request, reply, { kind: 'node', name: 'node' });
  }

  #onRefused(address: string, code: string): void {
    const { log } = this.#front.gateway;
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
