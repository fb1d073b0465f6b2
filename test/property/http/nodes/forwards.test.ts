// Requests forwarded to other nodes. Connections, owners and clients continue, fail or leave in random order.
// Checks responses and remaining state.
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

const IN_FLIGHT = 6;
const STREAMS = 4;
const NODES = ['a', 'b', 'c'];
const CHUNK = Buffer.from('a piece of an answer');
const ping = readClientMessage(Buffer.from('{"jsonrpc":"2.0","id":1,"method":"ping"}'));

/** Responses of the owner. */
const heads = {
  whole: `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${CHUNK.length}`,
  stream: 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked',
  gone: 'HTTP/1.1 404 Not Found\r\ncontent-length: 0',
  proof: 'HTTP/1.1 403 Forbidden\r\nx-node-refused: proof\r\ncontent-length: 0',
  instance: 'HTTP/1.1 421 Misdirected Request\r\nx-node-refused: instance\r\ncontent-length: 0',
};
type Answer = keyof typeof heads;

/** A connection to an owner, with only the events that a connection may have. */
class OwnerConnection {
  user: ConnectionUser | undefined;
  isPaused = false;
  /** The response is complete, so the connection is free for other requests. */
  hasEnded = false;
  /** The connection was closed although it may already serve another request. */
  wasDestroyedAfterEnd = false;
  isConnected = false;
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

  step(what: LineStep): void {
    if (this.isOver || this.user === undefined) return;
    if (what.does === 'connect') this.#connect();
    else if (what.does === 'head' && this.isConnected && this.answer === undefined) {
      this.answer = what.answer;
      this.user.onHead(new ResponseHead(heads[what.answer]));
    } else if (what.does === 'body' && this.answer !== undefined && !this.isPaused)
      this.user.onBody(CHUNK, undefined);
    else if (what.does === 'end' && this.answer !== undefined && !this.isPaused) {
      this.hasEnded = true;
      this.#over(() => this.user?.onEnd());
    } else if (what.does === 'break')
      this.#over(() => this.user?.onBroken(Object.assign(new Error('broken'), { code: what.code })));
  }

  #connect(): void {
    if (this.isConnected) return;
    this.isConnected = true;
    this.user?.onConnected();
  }

  #over(tell: () => void): void {
    this.isOver = true;
    tell();
  }
}

type LineStep =
  | { readonly does: 'connect' | 'body' | 'end' }
  | { readonly does: 'head'; readonly answer: Answer }
  | { readonly does: 'break'; readonly code: string };

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

  read(isReading: boolean): void {
    const isDrained = !this.isReading && isReading;
    this.isReading = isReading;
    if (isDrained && !this.isOver) this.#drained?.();
  }
}

interface Exchange {
  readonly node: string;
  readonly isListening: boolean;
  readonly client: Client;
  readonly line: OwnerConnection | undefined;
}

function nodes() {
  const peers = new Map<string, Peer>();
  const lines: OwnerConnection[] = [];
  const join = (name: string) => {
    const nodeConnection = { url: new URL('https://127.0.0.1:1'), tls: {}, headers: {} };
    const peer = new Peer({ name, address: '127.0.0.1:1' } as Member, nodeConnection);
    peer.pool.acquire = () => {
      const line = new OwnerConnection();
      lines.push(line);
      return line.connection;
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
    ask(node: string, isListening: boolean) {
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
      const before = lines.length;
      const isTaken = forwards.forwardForSession(node, forwardRequest);
      expect(isTaken).toBe(peers.has(node));
      if (isTaken) exchanges.push({ node, isListening, client, line: lines[before] });
    },
    /** The member left, and a new process has the same name. */
    replace(node: string) {
      peers.get(node)?.close();
      join(node);
    },
  };
}

type Cluster = ReturnType<typeof nodes>;
type Step =
  | { readonly kind: 'ask'; readonly node: string; readonly isListening: boolean }
  | { readonly kind: 'line'; readonly at: number; readonly step: LineStep }
  | { readonly kind: 'leave'; readonly at: number }
  | { readonly kind: 'read'; readonly at: number; readonly isReading: boolean }
  | { readonly kind: 'replace'; readonly node: string };

const at = fc.nat({ max: 7 });
const node = fc.constantFrom(...NODES);
const answer = fc.constantFrom(...(Object.keys(heads) as Answer[]));
const code = fc.constantFrom('ECONNREFUSED', 'ECONNRESET');
const lineStep: fc.Arbitrary<LineStep> = fc.oneof(
  {
    arbitrary: fc.record({ does: fc.constantFrom('connect' as const, 'connect' as const, 'body' as const) }),
    weight: 6,
  },
  { arbitrary: fc.record({ does: fc.constant('head' as const), answer }), weight: 4 },
  { arbitrary: fc.record({ does: fc.constant('end' as const) }), weight: 1 },
  { arbitrary: fc.record({ does: fc.constant('break' as const), code }), weight: 1 },
);
const step: fc.Arbitrary<Step> = fc.oneof(
  { arbitrary: fc.record({ kind: fc.constant('ask' as const), node, isListening: fc.boolean() }), weight: 3 },
  { arbitrary: fc.record({ kind: fc.constant('line' as const), at, step: lineStep }), weight: 16 },
  { arbitrary: fc.record({ kind: fc.constant('leave' as const), at }), weight: 1 },
  { arbitrary: fc.record({ kind: fc.constant('read' as const), at, isReading: fc.boolean() }), weight: 1 },
  { arbitrary: fc.record({ kind: fc.constant('replace' as const), node }), weight: 1 },
);

function applyStep(cluster: Cluster, now: Step): void {
  if (now.kind === 'ask') cluster.ask(now.node, now.isListening);
  else if (now.kind === 'replace') cluster.replace(now.node);
  else {
    // Also events of completed exchanges, which must have no effect.
    const exchange = cluster.exchanges.at(-1 - now.at);
    if (exchange === undefined) return;
    if (now.kind === 'line') exchange.line?.step(now.step);
    else if (now.kind === 'leave') exchange.client.leave();
    else exchange.client.read(now.isReading);
  }
}

const isOpen = ({ client }: Exchange) => !client.isOver;

function check({ exchanges, peers }: Cluster): void {
  for (const { client, line, isListening } of exchanges) {
    expect(client.outcomes.length, `${client.outcomes}`).toBeLessThanOrEqual(client.hasLeft ? 0 : 1);
    const [told] = client.outcomes;
    // A connection closes with the client, and a client is closed with the owner.
    if (line !== undefined) expect(line.isOver).toBe(client.isOver);
    expect(line?.wasDestroyedAfterEnd ?? false).toBe(false);
    if (told?.endsWith('200')) expect(line?.hasEnded).toBe(true);
    // A lost connection is reported only for a request that was sent. `gone` is reported only for a request
    // that the owner has not executed.
    if (told?.endsWith(' ERR_CONNECTION_LOST')) expect(line?.isConnected).toBe(true);
    // Errors of accepted requests have status 200. A stream that fails to open does not.
    const [status, reason] = told?.split(' ERR_') ?? [];
    if (reason !== undefined) expect(status === '200').toBe(!isListening);
    if (told === 'gone') expect(!line?.isConnected || line.answer === 'instance').toBe(true);
  }
  for (const isListening of [false, true]) {
    const open = exchanges.filter((each) => isOpen(each) && each.isListening === isListening);
    const total = isListening ? STREAMS : IN_FLIGHT;
    expect(open.length).toBeLessThanOrEqual(total);
    for (const [name, peer] of peers) {
      const heldSlots = (isListening ? peer.streams : peer.requests).used;
      expect(heldSlots).toBeLessThanOrEqual(total / 2);
      // Requests to an earlier process of this name no longer hold slots.
      expect(heldSlots).toBe(open.filter((each) => each.node === name).length);
    }
  }
}

test('each forwarded request is answered once with a correct result, and leaves nothing behind', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80, size: 'max' }), (steps) => {
      const cluster = nodes();
      for (const each of steps) {
        applyStep(cluster, each);
        check(cluster);
      }
      for (const name of NODES) cluster.replace(name);
      check(cluster);
      expect(cluster.exchanges.filter(isOpen)).toEqual([]);
      for (const { requests, streams, bytes, forwards } of cluster.peers.values())
        expect([requests.used, streams.used, bytes.used, forwards.size]).toEqual([0, 0, 0, 0]);
      // All slots are free.
      for (const name of NODES) cluster.ask(name, false);
      expect(cluster.exchanges.filter(isOpen)).toHaveLength(NODES.length);
    }),
    { numRuns: runs(500) },
  );
});
