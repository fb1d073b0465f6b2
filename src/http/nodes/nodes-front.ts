// Node side of the gateway: the listener for other nodes of the cluster, and the forwards to them. Started
// before the automation, and drained after the HTTP front. Imported only if node.address is set.

import { setTimeout as delay } from 'node:timers/promises';
import { StoppedError } from '../../../actors/base/errors/errors.ts';
import type { Part } from '../../../actors/base/supervision/part.ts';
import type { ClusterPart } from '../../../actors/cluster/cluster-part.ts';
import type { NodePeers } from '../../../actors/cluster/node-peers.ts';
import type { McpSide } from '../../../actors/mcp/mcp-side.ts';
import { parseListenAddr } from '../../../config/gateway-file/listen-addr.ts';
import type { HttpServices } from '../http-services.ts';
import { listenError } from '../listener/listen.ts';
import { listenNode } from '../listener/node-listener.ts';
import { Readers } from '../listener/readers.ts';
import type { Listener } from '../listener/seam.ts';
import { Forwards } from './forwards.ts';
import { NodeRequests } from './node-requests.ts';
import { Peers } from './peers.ts';
import type { RequestForwarder } from './request-forwarder.ts';
import { tlsGate } from './tls-gate.ts';

const DRAIN_POLL_MS = 20;
/** Time to send the error responses of failed calls. */
const FLUSH_MS = 250;

export interface NodesFrontOptions {
  readonly http: HttpServices;
  readonly cluster: ClusterPart;
  /** Proof and keys of this node for requests between nodes. */
  readonly reach: NodePeers;
}

export class NodesFront implements Part {
  /** Forwards requests to other nodes. */
  readonly forwarder: RequestForwarder;
  readonly #mcp: McpSide;
  readonly #peers: Peers;
  readonly #listener: Listener;

  /**
   * Opens the listener. Rejects if the address cannot be used, or if a member refuses the proof of this node.
   */
  static async open({ http, cluster, reach }: NodesFrontOptions): Promise<NodesFront> {
    const { config, log, mcp } = http.gateway;
    const { node, limits } = config;
    const { name, address } = cluster.cluster;
    const { host, port } = parseListenAddr(node.bind ?? address);
    const at = { host, port, setting: node.bind === undefined ? 'node.address' : 'node.bind' };
    const peers = new Peers({ cluster: cluster.cluster, connections: reach, log });
    const forwarder = new Forwards({ cluster, reach, peers, limits });
    const requests = new NodeRequests({ http, cluster, reach, peers, forwarder });
    const onRefused = (from: string, code: string) => requests.onRefused(from, code);
    const listener = await listenNode(
      {
        ...at,
        maxBodyBytes: limits.body_bytes,
        readers: Readers.for(limits.message_bytes),
        handler: (request, reply) => requests.handle(request, reply),
        onFault: http.reportFault,
      },
      undefined,
      (settings) => tlsGate({ tls: reach.proof.server, onRefused }, settings),
    ).catch((error: unknown) => {
      throw listenError(at, error);
    });
    try {
      await peers.start();
    } catch (error) {
      listener.close();
      throw error;
    }
    log.info({ address, node: name }, 'listening for other nodes');
    return new NodesFront(mcp, forwarder, peers, listener);
  }

  private constructor(mcp: McpSide, forwarder: RequestForwarder, peers: Peers, listener: Listener) {
    this.#mcp = mcp;
    this.forwarder = forwarder;
    this.#peers = peers;
    this.#listener = listener;
  }

  /** Lets calls of other nodes complete for up to `graceMs`, then fails them. */
  async drain(graceMs: number): Promise<void> {
    const listener = this.#listener;
    const waitUntilIdle = async (untilMs: number) => {
      for (const until = performance.now() + untilMs; performance.now() < until; await delay(DRAIN_POLL_MS))
        if (listener.open === 0) return;
    };
    await waitUntilIdle(graceMs);
    if (listener.open > 0) {
      this.#mcp.failCalls(new StoppedError('the gateway was stopped before the call was answered'));
      await waitUntilIdle(FLUSH_MS);
    }
    listener.close();
    this.#peers.close();
  }
}
