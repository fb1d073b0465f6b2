// Clients of both eras (legacy: MCP with sessions, modern: 2026-07-28 without) at a server of one or both
// eras, in random steps. All classes from the router to the connections are real; the links (channels to the
// server) are fakes. The clients use equal ids and progress tokens. Every request gets one response, and
// every subscriber its updates. A marker in each message reveals mixed-up messages. P2 is in
// actors/mcp/servers/pool/pool.ts.

import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { silentLog } from '../../../../../../actors/base/errors/log.ts';
import { Redactor } from '../../../../../../actors/base/errors/redact.ts';
import { EraBridge } from '../../../../../../actors/mcp/clients/eras/bridge.ts';
import { MessageRouter } from '../../../../../../actors/mcp/clients/message-router.ts';
import type { Outlet, Stream } from '../../../../../../actors/mcp/clients/outlet.ts';
import type { RouterHost } from '../../../../../../actors/mcp/clients/router-host.ts';
import { Forwarder } from '../../../../../../actors/mcp/clients/routing/forwarder.ts';
import { InFlightLimiter } from '../../../../../../actors/mcp/clients/routing/in-flight-limiter.ts';
import type { ClientSession } from '../../../../../../actors/mcp/clients/sessions/session.ts';
import { Sessions } from '../../../../../../actors/mcp/clients/sessions/sessions.ts';
import { type Era, metaKeys, modernVersion } from '../../../../../../actors/mcp/jsonrpc/modern-meta.ts';
import { readClientMessage } from '../../../../../../actors/mcp/jsonrpc/read-message.ts';
import { FakeManagedServer, settle } from '../../../../../fixtures/server/fake-server.ts';
import { type ArrivedCall, TwoEraServer, updated } from '../../../../../fixtures/server/two-era-server.ts';

const uris = ['test://a', 'test://b'];
/** Number of legacy clients with a concurrent session. */
const SESSIONS = 3;
/** Maximum number of open listen requests of modern clients. */
const LISTENERS = 3;

/**
 * Steps of a run. `index` selects an item of the list that the step concerns, modulo its length.
 *
 * - Clients: `call`, `cancel` a call, `reply` to a server request, `leave` and end the session, `subscribe`,
 *   `unsubscribe`, `listen`, `unlisten`. `retry` answers an `input_required` result. `badRetry` sends its
 *   state with another call.
 * - Server: `answer` a call, `again` a second time, `progress`, `ask` the client, `update` a resource.
 * - Links: `die`, or report a call as `undelivered`.
 * - State machine: `stop`, `start`, `due` after a backoff, no calls for the `half` or `whole` idle time.
 * - `wait`: time passes.
 */
type Step =
  | { do: 'call'; era: Era; clientIndex: number; id: number; hasToken: boolean; canBeAsked: boolean }
  | { do: 'answer' | 'again' | 'progress' | 'ask' | 'reply' | 'cancel' | 'retry' | 'badRetry'; index: number }
  | { do: 'undelivered'; index: number; mayHaveRun: boolean }
  | { do: 'update' | 'subscribe' | 'unsubscribe' | 'listen' | 'unlisten'; index: number; uri: number }
  | { do: 'die' | 'leave'; index: number }
  | { do: 'wait'; rounds: number }
  | { do: 'stop' | 'start' | 'due' | 'half' | 'whole' };

const anyIndex = fc.nat({ max: 50 });
const oneOf = <T extends string>(...names: T[]) => fc.constantFrom(...names);
const anyStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 9,
    arbitrary: fc.record({
      do: oneOf('call'),
      era: oneOf('legacy', 'modern'),
      clientIndex: fc.nat({ max: SESSIONS - 1 }),
      id: fc.nat({ max: 1 }),
      hasToken: fc.boolean(),
      canBeAsked: fc.boolean(),
    }),
  },
  {
    weight: 10,
    arbitrary: fc.record({
      do: oneOf('answer', 'answer', 'again', 'progress', 'ask', 'ask', 'reply'),
      index: anyIndex,
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: oneOf('cancel', 'retry', 'retry', 'badRetry'), index: anyIndex }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: oneOf('undelivered'), index: anyIndex, mayHaveRun: fc.boolean() }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: oneOf('update', 'subscribe', 'unsubscribe', 'listen', 'unlisten'),
      index: anyIndex,
      uri: fc.nat({ max: 1 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: oneOf('die', 'leave'), index: anyIndex }) },
  { weight: 1, arbitrary: fc.record({ do: oneOf('stop', 'start', 'half', 'whole') }) },
  { weight: 2, arbitrary: fc.record({ do: oneOf('due') }) },
  { weight: 7, arbitrary: fc.record({ do: oneOf('wait'), rounds: fc.integer({ min: 1, max: 6 }) }) },
);

interface ServerKind {
  readonly isolation: 'shared' | 'session';
  readonly runtime: 'stdio' | 'http';
  readonly speaks: readonly Era[];
  /** True if the gateway detects the eras of the server. */
  readonly isAuto: boolean;
  /** Maximum number of connections in the pool. */
  readonly max: number;
  /** Delay of automatic responses by the server, in milliseconds. */
  readonly delayMs: number;
}

const anyServerKind: fc.Arbitrary<ServerKind> = fc.record({
  isolation: oneOf('shared', 'session'),
  runtime: oneOf('stdio', 'http'),
  speaks: fc.constantFrom<readonly Era[]>(['legacy'], ['modern'], ['legacy', 'modern']),
  isAuto: fc.boolean(),
  max: fc.integer({ min: 2, max: 4 }),
  delayMs: fc.constantFrom(0, 0, 10, 40),
});

// biome-ignore lint/suspicious/noExplicitAny: any JSON message
type Message = any;

/** Records the messages that a client receives for a request. */
class ResponseRecorder implements Outlet {
  /** Messages before the response. */
  readonly before: Message[] = [];
  /** Responses; undefined if the request was dropped. */
  readonly ends: (Message | undefined)[] = [];
  /** Messages after the response. */
  readonly late: Message[] = [];

  send(message: Buffer): void {
    (this.ends.length === 0 ? this.before : this.late).push(JSON.parse(message.toString()));
  }

  finish(message: Buffer): void {
    this.ends.push(JSON.parse(message.toString()));
  }

  drop(): void {
    this.ends.push(undefined);
  }
}

/** A legacy client with one session. `received` contains the messages on its stream. */
class Client {
  session: ClientSession | undefined;
  /** The response to `initialize`. */
  readonly introduced = new ResponseRecorder();
  readonly received: Message[] = [];
  readonly label: string;

  constructor(label: string) {
    this.label = label;
  }

  get isReady(): boolean {
    return this.session?.isEnded === false && this.introduced.ends[0]?.result !== undefined;
  }
}

interface SentRequest {
  readonly era: Era;
  readonly marker: string;
  readonly recorder: ResponseRecorder;
  readonly id: number;
  readonly hasToken: boolean;
  readonly client: Client | undefined;
  readonly params: Message;
  readonly cancel: () => void;
  isCancelled: boolean;
  isRetried: boolean;
}

interface Listen {
  readonly recorder: ResponseRecorder;
  readonly uri: string;
  isOver: boolean;
  readonly cancel: () => void;
}

/** The clients, the router and the server, which execute the steps and check the invariants. */
class Scenario {
  readonly kind: ServerKind;
  readonly server: TwoEraServer;
  readonly managed: FakeManagedServer;
  readonly router: MessageRouter;
  readonly sessions: Sessions;
  readonly clients: Client[] = [];
  readonly formerClients: Client[] = [];
  readonly sentRequests: SentRequest[] = [];
  readonly listens: Listen[] = [];
  #count = 0;

  constructor(kind: ServerKind) {
    this.kind = kind;
    const { speaks, isAuto, isolation, runtime, max, delayMs } = kind;
    this.server = new TwoEraServer(speaks, delayMs);
    const era = isAuto ? 'auto' : (speaks[0] ?? 'legacy');
    const pool = { max, in_flight: 8, waiting: 8 };
    this.managed = new FakeManagedServer({ isolation, runtime, era, pool }, this.server);
    const managed = this.managed.server;
    this.sessions = new Sessions({
      maxSessions: 1000,
      idleMs: 1e9,
      log: silentLog,
      onEnd: (session) => managed.release(session),
    });
    const eraBridge = new EraBridge();
    const host = {
      servers: {
        all: () => [managed],
        get: () => managed,
      },
      server: () => managed,
      release: (owner: ClientSession) => managed.release(owner),
      sessions: this.sessions,
      restorer: { forget: () => Promise.resolve() },
      eraBridge,
      forwarder: new Forwarder(new InFlightLimiter(1000), eraBridge),
      aggregate: { isAllowed: () => true },
      redactor: new Redactor([]),
      config: { log_level: 'info', list_timeout_seconds: 5 },
      log: silentLog,
      serverInfo: { name: 'gateway', version: '1' },
    };
    this.router = new MessageRouter(host as unknown as RouterHost);
    for (let i = 0; i < SESSIONS; i += 1) this.clients.push(new Client(`c${i}`));
  }

  async run(step: Step): Promise<void> {
    const { managed, server, sentRequests } = this;
    const pick = <T>(list: readonly T[], index: number): T | undefined =>
      list[index % Math.max(1, list.length)];
    switch (step.do) {
      case 'call':
        this.#call(step);
        return;
      case 'answer':
      case 'again':
      case 'progress':
      case 'ask':
      case 'undelivered': {
        const found = pick(server.arrived, step.index);
        if (found !== undefined && !found.link.isOver) this.#actOnCall(step, found);
        return;
      }
      case 'reply':
        this.#reply(step.index);
        return;
      case 'cancel': {
        const found = pick(sentRequests, step.index);
        if (found === undefined || found.recorder.ends.length > 0) return;
        found.isCancelled = true;
        found.cancel();
        return;
      }
      case 'retry':
      case 'badRetry':
        this.#retry(pick(sentRequests.filter(isOpenQuestion), step.index), step.do === 'badRetry');
        return;
      case 'update':
        this.#update(uris[step.uri] as string);
        return;
      case 'subscribe':
      case 'unsubscribe': {
        const client = pick(this.clients, step.index) as Client;
        if (client.isReady) this.#request(client, `resources/${step.do}`, { uri: uris[step.uri] }, 7);
        return;
      }
      case 'listen':
        if (this.listens.filter(({ isOver }) => !isOver).length < LISTENERS)
          this.#listen(uris[step.uri] as string);
        return;
      case 'unlisten': {
        const found = pick(
          this.listens.filter(({ isOver }) => !isOver),
          step.index,
        );
        if (found === undefined) return;
        found.isOver = true;
        found.cancel();
        return;
      }
      case 'die':
        pick(
          managed.links.filter(({ isOver }) => !isOver),
          step.index,
        )?.die();
        return;
      case 'leave':
        this.#leave(step.index % SESSIONS);
        return;
      case 'due':
        managed.actor.send({ type: 'due' });
        return;
      case 'stop':
      case 'start':
        managed.actor.send({ type: step.do });
        return;
      case 'half':
      case 'whole':
        managed.actor.send({ type: 'quiet', span: step.do });
        return;
      case 'wait':
        for (let round = 0; round < step.rounds; round += 1) {
          await settle(1);
          await vi.advanceTimersByTimeAsync(10);
        }
    }
  }

  #call({ era, clientIndex, id, hasToken, canBeAsked }: Step & { do: 'call' }): void {
    const client = this.clients[clientIndex] as Client;
    const meta = hasToken ? { progressToken: 'token' } : {};
    const params = { name: 'echo', arguments: { marker: '' }, _meta: meta };
    if (era === 'modern') {
      const marker = `m/${this.#count++}`;
      const capabilities = canBeAsked ? { elicitation: {} } : {};
      this.#callModern(marker, id, hasToken, {
        ...params,
        arguments: { marker },
        _meta: { ...meta, ...modernMetaOf(capabilities) },
      });
      return;
    }
    if (!this.#ensureReady(client)) return;
    const marker = `${client.label}/${this.#count++}`;
    const recorder = this.#request(client, 'tools/call', { ...params, arguments: { marker } }, id);
    const session = client.session as ClientSession;
    const cancel = () =>
      this.router.receive(
        session,
        envelope({ method: 'notifications/cancelled', params: { requestId: id } }),
      );
    this.sentRequests.push({
      era,
      marker,
      recorder,
      id,
      hasToken,
      client,
      params,
      cancel: () => {
        // The router cancels the newer of two requests with the same id.
        const newest = this.sentRequests.findLast(
          (other) => other.client === client && other.id === id && other.recorder.ends.length === 0,
        );
        if (newest !== undefined) newest.isCancelled = true;
        cancel();
      },
      isCancelled: false,
      isRetried: false,
    });
  }

  /** Sends a modern call. */
  #callModern(marker: string, id: number, hasToken: boolean, params: object): void {
    const recorder = new ResponseRecorder();
    const running = this.router.modernRequest(
      envelope({ id, method: 'tools/call', params }),
      { server: this.managed.server },
      recorder,
      { requestId: 'r' },
    );
    const cancel = () => running?.cancel();
    const more = { isCancelled: false, isRetried: false, client: undefined };
    this.sentRequests.push({ era: 'modern', marker, recorder, id, hasToken, params, cancel, ...more });
  }

  /** Resends a call with the answer to its question. If `isBad`, sends the state with another call. */
  #retry(request: SentRequest | undefined, isBad: boolean): void {
    if (request === undefined) return;
    const { inputRequests, requestState } = request.recorder.ends[0].result;
    const markerOfQuestion =
      inputRequests.q?.params.message ?? Object.values<Message>(inputRequests)[0]?.params.message;
    const answer = { action: 'accept', content: { marker: markerOfQuestion } };
    const inputResponses = Object.fromEntries(Object.keys(inputRequests).map((key) => [key, answer]));
    // A state is rejected for a call with other arguments, and stays valid for its own call.
    // Only a state of the gateway, for a legacy server, is checked.
    if (isBad && this.managed.server.eras.serverEraFor('modern') !== 'legacy') return;
    if (!isBad) request.isRetried = true;
    const marker = isBad ? `m/${this.#count++}` : request.marker;
    const params = { ...request.params, arguments: { marker }, inputResponses, requestState };
    this.#callModern(marker, request.id, request.hasToken, params);
  }

  /** Ensures a live session. Returns true if it is ready for requests. */
  #ensureReady(client: Client): boolean {
    if (client.isReady) return true;
    if (client.session?.isEnded === false) return false;
    if (client.session !== undefined) this.#leave(this.clients.indexOf(client));
    // After `#leave`, another client with the same label and a prime has replaced this one.
    const current = this.clients.find(
      ({ label }) => label.split("'")[0] === client.label.split("'")[0],
    ) as Client;
    const params = {
      protocolVersion: '2025-06-18',
      capabilities: { elicitation: {} },
      clientInfo: { name: current.label, version: '1' },
    };
    this.router.open(
      envelope({ id: 0, method: 'initialize', params }),
      { server: this.managed.server },
      current.introduced,
      { requestId: 'r' },
      (session) => {
        current.session = session;
        const stream: Stream = {
          isConnected: true,
          send: (message) => current.received.push(JSON.parse(message.toString())),
          end: () => {},
        };
        session.stream = stream;
      },
    );
    return false;
  }

  #request(client: Client, method: string, params: object, id: number): ResponseRecorder {
    const recorder = new ResponseRecorder();
    this.router.request(client.session as ClientSession, envelope({ id, method, params }), recorder, {
      requestId: 'r',
    });
    return recorder;
  }

  #listen(uri: string): void {
    const recorder = new ResponseRecorder();
    const params = { notifications: { resourceSubscriptions: [uri] }, _meta: modernMetaOf({}) };
    const message = envelope({ id: 1, method: 'subscriptions/listen', params });
    const running = this.router.modernRequest(message, { server: this.managed.server }, recorder, {
      requestId: 'r',
    });
    this.listens.push({ recorder, uri, isOver: false, cancel: () => running?.cancel() });
  }

  #leave(index: number): void {
    const client = this.clients[index] as Client;
    if (client.session === undefined) return;
    void this.router.endSession(client.session);
    this.formerClients.push(client);
    this.clients[index] = new Client(`${client.label}'`);
  }

  /** Lets the server or the link act on a call that arrived at the server. */
  #actOnCall(step: Step, arrived: ArrivedCall): void {
    const { server } = this;
    switch (step.do) {
      case 'answer':
      case 'again':
        server.answer(arrived);
        return;
      case 'progress':
        server.progress(arrived);
        return;
      case 'ask':
        server.ask(arrived);
        return;
      case 'undelivered':
        server.lose(arrived, step.mayHaveRun);
    }
  }

  /** Responds to a server request as a legacy client, on the stream where it arrived. */
  #reply(index: number): void {
    const questions = this.#questions();
    const found = questions[index % Math.max(1, questions.length)];
    if (found === undefined || found.client.session?.isEnded !== false) return;
    const { client, message } = found;
    const content = { marker: message.params.message };
    this.router.receive(
      client.session as ClientSession,
      envelope({ id: message.id, result: { action: 'accept', content } }),
    );
  }

  /** Returns the server requests that legacy clients received, on their streams or before a response. */
  #questions(): { client: Client; message: Message }[] {
    const isQuestion = ({ method }: Message) => method === 'elicitation/create';
    const onSessionStreams = [...this.clients, ...this.formerClients].flatMap((client) =>
      client.received.filter(isQuestion).map((message) => ({ client, message })),
    );
    const beforeResponses = this.sentRequests.flatMap(({ client, recorder }) =>
      client === undefined ? [] : recorder.before.filter(isQuestion).map((message) => ({ client, message })),
    );
    return [...onSessionStreams, ...beforeResponses];
  }

  /** Sends an update of the resource on all links. Returns the stamp that identifies the update. */
  #update(uri: string): number {
    const stamp = this.#count++;
    for (const link of this.managed.links) {
      const before = this.#copies(uri, stamp);
      this.server.update(link, uri, stamp);
      // No client receives an update twice, regardless of subscription changes.
      for (const [recorder, count] of this.#copies(uri, stamp))
        expect(count - (before.get(recorder) ?? 0)).toBeLessThan(2);
    }
    return stamp;
  }

  /** Counts how often each client received an update. */
  #copies(uri: string, stamp: number): Map<unknown, number> {
    const isUpdate = ({ method, params }: Message) =>
      method === updated && params.uri === uri && params.stamp === stamp;
    return new Map<unknown, number>([
      ...[...this.clients, ...this.formerClients].map(
        (client) => [client, client.received.filter(isUpdate).length] as const,
      ),
      ...this.listens.map((listen) => [listen, listen.recorder.before.filter(isUpdate).length] as const),
    ]);
  }

  check(): void {
    const { server, sentRequests, kind } = this;
    expect(server.violations).toEqual([]);
    for (const { recorder, marker, id, hasToken, client } of sentRequests) {
      expect(recorder.ends.length, marker).toBeLessThanOrEqual(1);
      expect(recorder.late).toEqual([]);
      const [end] = recorder.ends;
      if (end !== undefined) {
        expect(end.id).toBe(id);
        if (end.result?.content !== undefined && end.result.isError !== true)
          expect(end.result.content[0].text).toBe(marker);
        if (end.result?.inputRequests !== undefined)
          for (const { params } of Object.values<Message>(end.result.inputRequests))
            expect(params.message).toBe(marker);
      }
      for (const { method, params } of recorder.before) {
        if (method === 'notifications/progress') {
          expect(hasToken).toBe(true);
          expect([params.progressToken, params.message]).toEqual(['token', marker]);
        } else if (method === 'elicitation/create') expect(params.message.split('/')[0]).toBe(client?.label);
      }
    }
    for (const client of [...this.clients, ...this.formerClients]) {
      expect(client.introduced.ends.length).toBeLessThanOrEqual(1);
      for (const { method, params } of client.received)
        if (method === 'elicitation/create') expect(params.message.split('/')[0]).toBe(client.label);
    }
    // The response to a server request reaches the link of the request, and belongs to the same call.
    for (const [id, { text, link }] of server.replies) {
      const question = server.serverRequests.get(id);
      expect(link).toBe(question?.link);
      const { marker } = JSON.parse(text).result?.content ?? question ?? {};
      expect(marker).toBe(question?.marker);
    }
    for (const { sent, marker } of server.arrived) {
      const { requestState, inputResponses } = sent.message.params;
      // A state without a slash is from the gateway. It arrives if the detected eras have changed.
      if (requestState === undefined || !String(requestState).includes('/')) continue;
      expect([requestState, inputResponses.q.content.marker]).toEqual([marker, marker]);
    }
    const { pool, handle } = this.managed.server;
    // A shared pool may be full in each era. With session isolation, one more HTTP
    // connection serves all modern requests.
    const eras = kind.isolation === 'shared' ? 2 : 1;
    const more = kind.isolation === 'session' && kind.runtime === 'http' ? 1 : 0;
    expect(pool.members.size).toBeLessThanOrEqual(kind.max * eras + more);
    let inFlight = 0;
    for (const member of pool.members) {
      inFlight += member.inFlight;
      expect(member.connection.link).toMatchObject({ era: member.era });
    }
    // A connection with an open server request counts as used.
    expect(handle.inFlight).toBeLessThanOrEqual(inFlight);
    if (kind.isolation === 'session') this.#checkIsolation();
  }

  /** P2: a connection carries messages from a single session, or from sessionless clients. */
  #checkIsolation(): void {
    /** Labels of the clients with calls on a link; `m` for modern clients. */
    const clientsByLink = new Map<unknown, Set<string>>();
    for (const { link, marker } of this.server.arrived) {
      if (link.era === 'modern' && this.kind.runtime === 'http') continue;
      const clients = clientsByLink.get(link) ?? new Set();
      clientsByLink.set(link, clients.add(marker.split('/')[0] as string));
    }
    for (const clients of clientsByLink.values()) expect(clients.size).toBe(1);
  }

  /** Stops all faults. Then every request completes, and listeners receive their updates. */
  async finish(): Promise<void> {
    const { managed, server, sentRequests } = this;
    const isSettled = () =>
      sentRequests.every(({ recorder }) => recorder.ends.length > 0) &&
      this.clients.every(({ session, introduced }) => session === undefined || introduced.ends.length > 0) &&
      this.listens.every(
        ({ recorder, isOver }) => isOver || recorder.before.length + recorder.ends.length > 0,
      ) &&
      managed.server.isRunning;
    for (let round = 0; round < 80 && (round < 5 || !isSettled()); round += 1) {
      managed.actor.send({ type: 'due' });
      if (/stopped|failed/.test(managed.server.state)) managed.actor.send({ type: 'start' });
      await this.#settle();
      for (const arrived of [...server.arrived]) server.answer(arrived);
      for (let index = this.#questions().length - 1; index >= 0; index -= 1) this.#reply(index);
      this.check();
    }
    expect(
      sentRequests.filter(({ recorder }) => recorder.ends.length !== 1).map(({ marker }) => marker),
    ).toEqual([]);
    for (const request of sentRequests.filter(isOpenQuestion)) this.#retry(request, false);
    for (let round = 0; round < 10; round += 1) {
      await this.#settle();
      for (const arrived of [...server.arrived]) server.answer(arrived);
    }
    this.check();
    expect(
      sentRequests.filter(({ recorder }) => recorder.ends.length !== 1).map(({ marker }) => marker),
    ).toEqual([]);
    expect(managed.server.handle).toMatchObject({ inFlight: 0, waiting: 0 });
    expect([managed.server.slots.used, managed.server.introductions.used]).toEqual([0, 0]);
    expect(this.router.counts.in_flight).toBe(0);
    for (const { inFlight } of managed.server.pool.members) expect(inFlight).toBe(0);
    await this.#checkListening();
    // A link outside the pool is closed.
    const pooledLinks = new Set([...managed.server.pool.members].map(({ connection }) => connection.link));
    for (const link of managed.links) expect(link.isOver || pooledLinks.has(link)).toBe(true);
    this.sessions.close();
    managed.end();
    await settle(2);
    for (const link of managed.links) expect(link.isOver).toBe(true);
  }

  #hasConnection({ session }: Client): boolean {
    return session !== undefined && this.managed.server.pool.memberOf(session) !== undefined;
  }

  /** Lets all pending messages arrive, and a second pass. */
  async #settle(): Promise<void> {
    await settle(2);
    await vi.advanceTimersByTimeAsync(1000);
    await settle(1);
  }

  /** Updates all resources. Exactly the subscribed sessions and listeners must receive the updates. */
  async #checkListening(): Promise<void> {
    const { managed, server } = this;
    expect(managed.server.isRunning).toBe(true);
    const { eras, pool, subscriptions } = managed.server;
    for (const uri of uris) {
      const stamp = this.#update(uri);
      const copies = this.#copies(uri, stamp);
      for (const listen of this.listens) {
        const [ack] = listen.recorder.before;
        const isSubscribed = ack?.params.notifications.resourceSubscriptions?.includes(listen.uri) === true;
        if (!listen.isOver && listen.recorder.ends.length === 0)
          expect(isSubscribed, 'acknowledged').toBe(true);
        const mustReceive =
          isSubscribed && !listen.isOver && listen.recorder.ends.length === 0 && listen.uri === uri;
        if (mustReceive) expect(copies.get(listen), `a listen to ${uri}`).toBeGreaterThan(0);
        else expect(copies.get(listen), 'nothing unasked').toBe(0);
      }
      for (const client of [...this.clients, ...this.formerClients]) {
        const isSubscribed =
          client.session?.isEnded === false && [...subscriptions.subscribers(uri)].includes(client.session);
        if (!isSubscribed) expect(copies.get(client)).toBe(0);
        // A session whose own connection could not be reopened gets a new one at the next call.
        else if (
          pool.ownerOf(client.session as ClientSession, 'legacy') === undefined ||
          this.#hasConnection(client)
        )
          expect(copies.get(client), `${client.label} on ${uri}`).toBeGreaterThan(0);
      }
    }
    // The modern connections listen to exactly the wanted resources, with one listen request per connection.
    for (const member of pool.members) {
      if (member.era !== 'modern') continue;
      const link = managed.links.find((one) => one === member.connection.link);
      if (link === undefined) continue;
      const wanted = subscriptions.uris(
        (owner) =>
          eras.serverEraFor(owner.era) === 'modern' && pool.ownerOf(owner, 'modern') === member.owner,
      );
      expect(server.subscribedUris(link)).toEqual([...wanted].sort());
      expect(server.listenCount(link)).toBeLessThanOrEqual(1);
    }
  }
}

/** Returns true if the request has an `input_required` result that was not answered. */
function isOpenQuestion({ recorder, isRetried }: SentRequest): boolean {
  return !isRetried && recorder.ends[0]?.result?.resultType === 'input_required';
}

function modernMetaOf(capabilities: object): Record<string, unknown> {
  return {
    [metaKeys.protocolVersion]: modernVersion,
    [metaKeys.clientInfo]: { name: 'modern', version: '1' },
    [metaKeys.clientCapabilities]: capabilities,
  };
}

function envelope(message: object) {
  return readClientMessage(Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message })));
}

async function runScenario(kind: ServerKind, steps: readonly Step[]): Promise<void> {
  const scenario = new Scenario(kind);
  try {
    for (const step of steps) {
      await scenario.run(step);
      scenario.check();
    }
    await scenario.finish();
  } finally {
    scenario.sessions.close();
    scenario.managed.end();
  }
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const runs = Number(process.env.BOTH_ERAS_RUNS ?? 150);

const plainServer: ServerKind = {
  isolation: 'shared',
  runtime: 'stdio',
  speaks: ['modern'],
  isAuto: false,
  max: 2,
  delayMs: 0,
};
const wait: Step = { do: 'wait', rounds: 6 };
const listen = (uri: number): Step => ({ do: 'listen', index: 0, uri });
const callFrom = (era: Era, clientIndex: number): Step => ({
  do: 'call',
  era,
  clientIndex,
  id: 0,
  hasToken: false,
  canBeAsked: false,
});

/** Failures that the property below has found: title, server, steps. */
const formerFailures: readonly [string, ServerKind, readonly Step[]][] = [
  [
    'a subscription change before the server has acknowledged the last one',
    { ...plainServer, delayMs: 40 },
    [
      listen(0),
      wait,
      wait,
      wait,
      listen(1),
      { do: 'wait', rounds: 5 },
      { do: 'unlisten', index: 0, uri: 0 },
      wait,
    ],
  ],
  [
    'an update while one listen request replaces another',
    { ...plainServer, delayMs: 40 },
    [listen(0), wait, wait, wait, listen(1), { do: 'wait', rounds: 5 }, { do: 'update', index: 0, uri: 0 }],
  ],
  [
    'a second connection without subscriptions',
    plainServer,
    [callFrom('modern', 0), wait, callFrom('modern', 0), wait, listen(0)],
  ],
  [
    'a stop without later calls of the listeners’ era',
    { ...plainServer, speaks: ['legacy', 'modern'], isAuto: true },
    [listen(0), wait, wait, { do: 'stop' }, wait],
  ],
  [
    'the end of the listeners’ process but not of the others',
    { ...plainServer, speaks: ['legacy', 'modern'], isAuto: true },
    [
      callFrom('legacy', 0),
      wait,
      callFrom('legacy', 0),
      listen(0),
      wait,
      wait,
      { do: 'die', index: 1 },
      wait,
    ],
  ],
  [
    'the end of the shared process with the subscriptions',
    { ...plainServer, speaks: ['legacy'] },
    [
      callFrom('legacy', 0),
      wait,
      callFrom('legacy', 0),
      wait,
      callFrom('legacy', 1),
      wait,
      callFrom('legacy', 1),
      wait,
      { do: 'subscribe', index: 0, uri: 0 },
      wait,
      { do: 'die', index: 0 },
      wait,
    ],
  ],
  [
    'the death of a process that has just acknowledged a listen request',
    plainServer,
    [
      callFrom('legacy', 0),
      { do: 'wait', rounds: 1 },
      { do: 'subscribe', index: 0, uri: 0 },
      callFrom('legacy', 0),
      { do: 'die', index: 0 },
      { do: 'wait', rounds: 1 },
    ],
  ],
  [
    'a session that unsubscribes while others still listen',
    { ...plainServer, isolation: 'session' },
    [
      callFrom('legacy', 0),
      listen(1),
      wait,
      { do: 'subscribe', index: 0, uri: 1 },
      wait,
      { do: 'unsubscribe', index: 0, uri: 1 },
    ],
  ],
  [
    'a full pool without a connection for listeners',
    { ...plainServer, isolation: 'session', speaks: ['legacy'] },
    [
      callFrom('legacy', 0),
      listen(0),
      wait,
      callFrom('legacy', 0),
      callFrom('legacy', 2),
      wait,
      { do: 'die', index: 1 },
      callFrom('legacy', 0),
      callFrom('legacy', 2),
      wait,
      callFrom('legacy', 2),
      wait,
    ],
  ],
];

describe('legacy and modern MCP clients at one server', () => {
  test.each(formerFailures)(
    'get one response per request in the scenario of an earlier failure: %s',
    (_, kind, steps) => runScenario(kind, steps),
  );

  test('that only listen for notifications keep their connection when a session needs one', async () => {
    const scenario = new Scenario({ ...plainServer, isolation: 'session' });
    const steps = [
      callFrom('legacy', 0),
      callFrom('legacy', 0),
      callFrom('legacy', 1),
      callFrom('legacy', 1),
    ];
    for (const step of [listen(0), ...steps].flatMap((each) => [each, wait])) await scenario.run(step);
    expect(scenario.sentRequests.map(({ recorder }) => recorder.ends[0]?.error?.message)).toEqual([
      undefined,
      expect.stringContaining('in use by other sessions'),
    ]);
    expect(scenario.listens[0]?.recorder.ends).toEqual([]);
    await scenario.finish();
  });

  test('keep their subscriptions while the era of a changed server is still unknown', async () => {
    const scenario = new Scenario({ ...plainServer, speaks: ['legacy'], isAuto: true });
    const before = [callFrom('legacy', 0), callFrom('legacy', 1), listen(0), callFrom('legacy', 0)];
    for (const step of before.flatMap((each) => [each, wait])) await scenario.run(step);
    scenario.server.speaks = ['modern'];
    for (const step of [callFrom('legacy', 1), wait]) await scenario.run(step);
    expect(scenario.managed.server.eras.knownEras).toBeUndefined();
    await scenario.run({ do: 'update', index: 0, uri: 0 });
    // The acknowledgement and the update.
    expect(scenario.listens[0]?.recorder.before).toHaveLength(2);
    scenario.server.speaks = ['legacy'];
    await scenario.finish();
  });

  test(
    'receive one response per request, and the updates of their subscriptions',
    async () => {
      const steps = fc.array(anyStep, { maxLength: 60, size: 'max' });
      await fc.assert(fc.asyncProperty(anyServerKind, steps, runScenario), {
        numRuns: runs,
        interruptAfterTimeLimit: Math.max(10_000, runs * 50),
      });
    },
    Math.max(30_000, runs * 60),
  );
});
