// The listener for cluster nodes, and the forwards to them. A part of the gateway, started before the automation and drained last of
// the listeners. Loaded only with node.address.

import { setTimeout as elapse } from 'node:timers/promises';
import { StoppedError } from '../../../actors/base/errors/errors.ts';
import type { Part } from '../../../actors/base/supervision/part.ts';
import type { ClusterPart } from '../../../actors/cluster/cluster-part.ts';
import type { Reach } from '../../../actors/cluster/reach.ts';
import type { McpSide } from '../../../actors/mcp/mcp-side.ts';
import { parseListenAddr } from '../../../config/gateway-file/listen-addr.ts';
import type { HttpServices } from '../http-services.ts';
import { refusal } from '../listener/listen.ts';
import { listenNode } from '../listener/node-listener.ts';
import { Readers } from '../listener/readers.ts';
import type { Listener } from '../listener/seam.ts';
import type { Elsewhere } from './elsewhere.ts';
import { Forwards } from './forwards.ts';
import { NodeRequests } from './node-requests.ts';
import { Peers } from './peers.ts';
import { tlsGate } from './tls-gate.ts';

const DRAIN_POLL_MS = 20;
/** For the answers to calls that were given up to leave. */
const LAST_WORDS_MS = 250;

export interface NodesFrontOptions {
  readonly http: HttpServices;
  readonly cluster: ClusterPart;
  readonly reach: Reach;
}

export class NodesFront implements Part {
  /** Forwards requests to remote nodes. */
  readonly elsewhere: Elsewhere;
  readonly #mcp: McpSide;
  readonly #peers: Peers;
  readonly #listener: Listener;

  /** Rejects where the address is refused, or a member refuses the proof of this one. */
  static async open({ http, cluster, reach }: NodesFrontOptions): Promise<NodesFront> {
    const { config, log, mcp } = http.gateway;
    const { node, limits } = config;
    const { name, address } = cluster.cluster;
    const { host, port } = parseListenAddr(node.bind ?? address);
    const at = { host, port, setting: node.bind === undefined ? 'node.address' : 'node.bind' };
    const peers = new Peers({ cluster: cluster.cluster, ways: reach, log });
    const nodes = new Forwards({ cluster, reach, peers, limits });
    const requests = new NodeRequests({ http, cluster, reach, peers, nodes });
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
      throw refusal(at, error);
    });
    try {
      await peers.begin();
    } catch (error) {
      listener.close();
      throw error;
    }
    log.info({ address, node: name }, 'other nodes reach this one');
    return new NodesFront(mcp, nodes, peers, listener);
  }

  private constructor(mcp: McpSide, elsewhere: Elsewhere, peers: Peers, listener: Listener) {
    this.#mcp = mcp;
    this.elsewhere = elsewhere;
    this.#peers = peers;
    this.#listener = listener;
  }

  /** Calls under way that other nodes wait for are answered, and whatever belongs to them is taken until then. */
  async drain(graceMs: number): Promise<void> {
    const listener = this.#listener;
    const settled = async (untilMs: number) => {
      for (const until = performance.now() + untilMs; performance.now() < until; await elapse(DRAIN_POLL_MS))
        if (listener.open === 0) return;
    };
    await settled(graceMs);
    if (listener.open > 0) {
      this.#mcp.failCalls(new StoppedError('the gateway was stopped before the call was answered'));
      await settled(LAST_WORDS_MS);
    }
    listener.close();
    this.#peers.close();
  }
}
