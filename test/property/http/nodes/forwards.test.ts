// Requests that a node (one gateway of a cluster) forwards to the nodes that own the sessions. In random
// order, clients send requests, read or leave, owners respond, connections break, and nodes are replaced.
// Each client gets one correct response, the number of forwarded requests is limited, and no state remains.
// Invariant HS1 is in src/http/listener/seam.ts.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readClientMessage } from '../../../../actors/mcp/jsonrpc/read-message.ts';
import type { ConnectionUser, HttpConnection } from '../../../../actors/mcp/links/http/http-connection.ts';
import { ResponseHead } from '../../../../actors/mcp/links/http/response-head.ts';
import type { Member } from '../../../../actors/store/membership.ts';
import type { HeaderList, HttpReply, HttpRequest, HttpStream } from '../../../../src/http/listener/seam.ts';
import { ExchangeContext } from '../../../../src/http/mcp/exchange-context.ts';
import { Forwards, type ForwardsOptions } from '../../../../src/http/nodes/forwards.ts';
import { Peer } from '../../../../src/http/nodes/peer.ts';
import type { ForwardRequest } from '../../../../src/http/nodes/request-forwarder.ts';
import { runs } from '../../../fixtures/property-runs.ts';

/** Limits of forwarded requests and of streams, for all nodes. A single node is limited to half of them. */
const IN_FLIGHT = 6;
const STREAMS = 4;
const NODES = ['a', 'b', 'c'];
const CHUNK = Buffer.from('a piece of an answer');
const ping = readClientMessage(Buffer.from('{"jsonrpc":"2.0","id":1,"method":"ping"}'));

/** Response heads of the owner. A `proof` or `instance` response refuses the request without executing it. */
const heads = {
  whole: `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${CHUNK.length}`,
  stream: 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked',
  gone: 'HTTP/1.1 404 Not Found\r\ncontent-length: 0',
  proof: 'HTTP/1.1 403 Forbidden\r\nx-node-refused: proof\r\ncontent-length: 0',
  instance: 'HTTP/1.1 421 Misdirected Request\r\nx-node-refused: instance\r\ncontent-length: 0',
};
type Answer = keyof typeof heads;

/** A connection to an owner, restricted to valid connection events. */
class OwnerConnection {
  user: ConnectionUser | undefined;
  isPaused = false;
  /** The response is complete, so the connection is free for other requests. */
  hasEnded = false;
  /** The connection was closed although it may already serve another request. */
  wasDestroyedAfterEnd = false;
  isConnected = false;
  /** The response whose head was sent. */
  answer: Answer | undefined;
  isOver = false;

  get connection(): HttpConnection {
    return {
      send: (_head: string, _body: unknown, user: ConnectionUser) => {
        this.user = user;
      },
      pause: () => {
        this.isPaused = true;
      },
      resume: () => {
        this.isPaused = false;
      },
      destroy: () => {
        this.wasDestroyedAfterEnd ||= this.hasEnded;
        this.isOver = true;
      },
    } as unknown as HttpConnection;
  }

  /** Executes the step if the connection state allows it. */
  run(step: ConnectionStep): void {
    if (this.isOver || this.user === undefined) return;
    if (step.do === 'connect') this.#connect();
    else if (step.do === 'head' && this.isConnected && this.answer === undefined) {
      this.answer = step.answer;
      this.user.onHead(new ResponseHead(heads[step.answer]));
    } else if (step.do === 'body' && this.answer !== undefined && !this.isPaused)
      this.user.onBody(CHUNK, undefined);
    else if (step.do === 'end' && this.answer !== undefined && !this.isPaused) {
      this.hasEnded = true;
      this.isOver = true;
      this.user.onEnd();
    } else if (step.do === 'break') {
      this.isOver = true;
      this.user.onBroken(Object.assign(new Error('broken'), { code: step.code }));
    }
  }

  #connect(): void {
    if (this.isConnected) return;
    this.isConnected = true;
    this.user?.onConnected();
  }
}

type ConnectionStep =
  | { readonly do: 'connect' | 'body' | 'end' }
  | { readonly do: 'head'; readonly answer: Answer }
  | { readonly do: 'break'; readonly code: string };

/** A client with a response and a disconnect event, as the HTTP interface presents it (HS1). */
class Client {
  /**
   * Responses that the client received: a status, with the reason of an error of this node; a stream that was
   * completed or cut; or `gone`.
   */
  readonly outcomes: string[] = [];
  hasLeft = false;
  isReading = true;
  #status = 0;
  #abort: (() => void) | undefined;
  #drained: (() => void) | undefined;

  reply(): HttpReply {
    return {
      send: (status: number, _headers: HeaderList, body: Uint8Array) => {
        const [, reason] = /"reason":"(\w+)"/.exec(Buffer.from(body).toString()) ?? [];
        this.outcomes.push(reason === undefined ? String(status) : `${status} ${reason}`);
      },
      stream: (status: number): HttpStream => {
        this.#status = status;
        return {
          write: () => this.isReading,
          onDrain: (listener: () => void) => {
            this.#drained = listener;
          },
          end: () => this.outcomes.push(`stream ${this.#status}`),
          destroy: () => this.outcomes.push('cut'),
        } as unknown as HttpStream;
      },
      onAbort: (listener: () => void) => {
        this.#abort = listener;
      },
    } as unknown as HttpReply;
  }

  get isOver(): boolean {
    return this.hasLeft || this.outcomes.length > 0;
  }

  leave(): void {
    if (this.isOver) return;
    this.hasLeft = true;
    this.#abort?.();
  }

  setReading(isReading: boolean): void {
    const isDrained = !this.isReading && isReading;
    this.isReading = isReading;
    if (isDrained && !this.isOver) this.#drained?.();
  }
}

/** A forwarded request. `isListening` is a GET for a stream, `connection` leads to the owner. */
interface Exchange {
  readonly node: string;
  readonly isListening: boolean;
  readonly client: Client;
  readonly connection: OwnerConnection | undefined;
}

/** Makes a node that forwards requests, and the peers to which it forwards them. */
function newCluster() {
  const peers = new Map<string, Peer>();
  const connections: OwnerConnection[] = [];
  const join = (name: string) => {
    const nodeConnection = { url: new URL('https://127.0.0.1:1'), tls: {}, headers: {} };
    const peer = new Peer({ name, address: '127.0.0.1:1' } as Member, nodeConnection);
    peer.pool.acquire = () => {
      const connection = new OwnerConnection();
      connections.push(connection);
      return connection.connection;
    };
    peers.set(name, peer);
  };
  for (const name of NODES) join(name);
  const forwards = new Forwards({
    cluster: { instance: 'self' },
    reach: { sealed: { instanceOf: (id: string) => id } } as unknown as ForwardsOptions['reach'],
    peers: { at: (name) => peers.get(name), startChecks: () => {}, onProofRefused: () => {} },
    limits: { in_flight: IN_FLIGHT, sessions: STREAMS, body_bytes: 1_000 } as ForwardsOptions['limits'],
  });
  const exchanges: Exchange[] = [];
  return {
    exchanges,
    peers,
    /** Lets a client send a request that belongs to the node. */
    request(node: string, isListening: boolean) {
      const client = new Client();
      const request = {
        method: isListening ? 'GET' : 'POST',
        path: '/mcp',
        query: '',
        headers: { 'mcp-session-id': node },
      } as unknown as HttpRequest;
      const context = new ExchangeContext(request, client.reply());
      context.isMcp = true;
      const forwardRequest: ForwardRequest = {
        context,
        envelope: isListening ? undefined : ping,
        body: isListening ? undefined : ping.bytes,
        refuseUnknown: () => client.outcomes.push('gone'),
      };
      const connectionCount = connections.length;
      const isForwarded = forwards.forwardForSession(node, forwardRequest);
      expect(isForwarded).toBe(peers.has(node));
      // Undefined without a new connection, because the request was refused.
      const connection = connections[connectionCount];
      if (isForwarded) exchanges.push({ node, isListening, client, connection });
    },
    /** Removes the node from the cluster. A new process with the same name joins. */
    replace(node: string) {
      peers.get(node)?.close();
      join(node);
    },
  };
}

type Cluster = ReturnType<typeof newCluster>;
/** Run steps. `age` selects an exchange: 0 is the newest. */
type Step =
  | { readonly do: 'request'; readonly node: string; readonly isListening: boolean }
  | { readonly do: 'connection'; readonly age: number; readonly step: ConnectionStep }
  | { readonly do: 'leave'; readonly age: number }
  | { readonly do: 'read'; readonly age: number; readonly isReading: boolean }
  | { readonly do: 'replace'; readonly node: string };

const age = fc.nat({ max: 7 });
const node = fc.constantFrom(...NODES);
const answer = fc.constantFrom(...(Object.keys(heads) as Answer[]));
const code = fc.constantFrom('ECONNREFUSED', 'ECONNRESET');
const connectionStep: fc.Arbitrary<ConnectionStep> = fc.oneof(
  {
    arbitrary: fc.record({ do: fc.constantFrom('connect' as const, 'connect' as const, 'body' as const) }),
    weight: 6,
  },
  { arbitrary: fc.record({ do: fc.constant('head' as const), answer }), weight: 4 },
  { arbitrary: fc.record({ do: fc.constant('end' as const) }), weight: 1 },
  { arbitrary: fc.record({ do: fc.constant('break' as const), code }), weight: 1 },
);
const anyStep: fc.Arbitrary<Step> = fc.oneof(
  {
    arbitrary: fc.record({ do: fc.constant('request' as const), node, isListening: fc.boolean() }),
    weight: 3,
  },
  { arbitrary: fc.record({ do: fc.constant('connection' as const), age, step: connectionStep }), weight: 16 },
  { arbitrary: fc.record({ do: fc.constant('leave' as const), age }), weight: 1 },
  { arbitrary: fc.record({ do: fc.constant('read' as const), age, isReading: fc.boolean() }), weight: 1 },
  { arbitrary: fc.record({ do: fc.constant('replace' as const), node }), weight: 1 },
);

function runStep(cluster: Cluster, step: Step): void {
  if (step.do === 'request') cluster.request(step.node, step.isListening);
  else if (step.do === 'replace') cluster.replace(step.node);
  else {
    // Also events of completed exchanges, which must have no effect.
    const exchange = cluster.exchanges.at(-1 - step.age);
    if (exchange === undefined) return;
    if (step.do === 'connection') exchange.connection?.run(step.step);
    else if (step.do === 'leave') exchange.client.leave();
    else exchange.client.setReading(step.isReading);
  }
}

const isOpen = ({ client }: Exchange) => !client.isOver;

function check({ exchanges, peers }: Cluster): void {
  for (const { client, connection, isListening } of exchanges) {
    expect(client.outcomes.length, `${client.outcomes}`).toBeLessThanOrEqual(client.hasLeft ? 0 : 1);
    const [outcome] = client.outcomes;
    // The connection closes exactly when the client has its response or has left.
    if (connection !== undefined) expect(connection.isOver).toBe(client.isOver);
    expect(connection?.wasDestroyedAfterEnd ?? false).toBe(false);
    if (outcome?.endsWith('200')) expect(connection?.hasEnded).toBe(true);
    // A lost connection is reported only for a request that was sent. `gone` is reported only for a request
    // that the owner has not executed.
    if (outcome?.endsWith(' ERR_CONNECTION_LOST')) expect(connection?.isConnected).toBe(true);
    // Errors of accepted requests have status 200. A stream that fails to open does not.
    const [status, reason] = outcome?.split(' ERR_') ?? [];
    if (reason !== undefined) expect(status === '200').toBe(!isListening);
    if (outcome === 'gone') expect(!connection?.isConnected || connection.answer === 'instance').toBe(true);
  }
  for (const isListening of [false, true]) {
    const open = exchanges.filter((each) => isOpen(each) && each.isListening === isListening);
    const total = isListening ? STREAMS : IN_FLIGHT;
    expect(open.length).toBeLessThanOrEqual(total);
    for (const [name, peer] of peers) {
      const usedSlots = (isListening ? peer.streams : peer.requests).used;
      expect(usedSlots).toBeLessThanOrEqual(total / 2);
      // Requests to an earlier process of this name no longer count for the limit.
      expect(usedSlots).toBe(open.filter((each) => each.node === name).length);
    }
  }
}

test('each forwarded request is answered once with a correct result, and leaves nothing behind', () => {
  fc.assert(
    fc.property(fc.array(anyStep, { maxLength: 80, size: 'max' }), (steps) => {
      const cluster = newCluster();
      for (const step of steps) {
        runStep(cluster, step);
        check(cluster);
      }
      for (const name of NODES) cluster.replace(name);
      check(cluster);
      expect(cluster.exchanges.filter(isOpen)).toEqual([]);
      for (const { requests, streams, bytes, forwards } of cluster.peers.values())
        expect([requests.used, streams.used, bytes.used, forwards.size]).toEqual([0, 0, 0, 0]);
      // No request counts for the limits any more, so requests to all nodes are forwarded.
      for (const name of NODES) cluster.request(name, false);
      expect(cluster.exchanges.filter(isOpen)).toHaveLength(NODES.length);
    }),
    { numRuns: runs(500) },
  );
});
