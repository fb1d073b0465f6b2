// Clients of both eras at a server of one or both eras, under random interleavings, through the real router,
// era bridge, handle, pool and connections, over fake links. Clients have equal ids and progress tokens,
// cancel, disconnect, listen and receive server requests. Links respond late, twice or not at all, and close;
// the server stops and starts. Every message contains a marker of its call, which reveals mixed-up messages.
// Invariant P2 is in actors/mcp/servers/pool/pool.ts.

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
const SESSIONS = 3;
const LISTENERS = 3;

type Step =
  | { do: 'call'; era: Era; who: number; id: number; hasToken: boolean; canBeAsked: boolean }
  | { do: 'answer' | 'again' | 'progress' | 'ask' | 'reply' | 'cancel' | 'retry' | 'badRetry'; at: number }
  | { do: 'undelivered'; at: number; mayHaveRun: boolean }
  | { do: 'update' | 'subscribe' | 'unsubscribe' | 'listen' | 'unlisten'; at: number; uri: number }
  | { do: 'die' | 'leave'; at: number }
  | { do: 'wait'; rounds: number }
  | { do: 'stop' | 'start' | 'due' | 'half' | 'whole' };

const at = fc.nat({ max: 50 });
const oneOf = <T extends string>(...names: T[]) => fc.constantFrom(...names);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 9,
    arbitrary: fc.record({
      do: oneOf('call'),
      era: oneOf('legacy', 'modern'),
      who: fc.nat({ max: SESSIONS - 1 }),
      id: fc.nat({ max: 1 }),
      hasToken: fc.boolean(),
      canBeAsked: fc.boolean(),
    }),
  },
  {
    weight: 10,
    arbitrary: fc.record({ do: oneOf('answer', 'answer', 'again', 'progress', 'ask', 'ask', 'reply'), at }),
  },
  { weight: 4, arbitrary: fc.record({ do: oneOf('cancel', 'retry', 'retry', 'badRetry'), at }) },
  { weight: 1, arbitrary: fc.record({ do: oneOf('undelivered'), at, mayHaveRun: fc.boolean() }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: oneOf('update', 'subscribe', 'unsubscribe', 'listen', 'unlisten'),
      at,
      uri: fc.nat({ max: 1 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: oneOf('die', 'leave'), at }) },
  { weight: 1, arbitrary: fc.record({ do: oneOf('stop', 'start', 'half', 'whole') }) },
  { weight: 2, arbitrary: fc.record({ do: oneOf('due') }) },
  { weight: 7, arbitrary: fc.record({ do: oneOf('wait'), rounds: fc.integer({ min: 1, max: 6 }) }) },
);

interface Kind {
  readonly isolation: 'shared' | 'session';
  readonly runtime: 'stdio' | 'http';
  readonly speaks: readonly Era[];
  readonly isAuto: boolean;
  readonly max: number;
  /** Delay of automatic responses by the server, in milliseconds. */
  readonly delayMs: number;
}

const kind: fc.Arbitrary<Kind> = fc.record({
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
  readonly before: Message[] = [];
  readonly ends: (Message | undefined)[] = [];
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

class Client {
  session: ClientSession | undefined;
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

class World {
  readonly kind: Kind;
  readonly server: TwoEraServer;
  readonly managed: FakeManagedServer;
  readonly router: MessageRouter;
  readonly sessions: Sessions;
  readonly clients: Client[] = [];
  readonly formerClients: Client[] = [];
  readonly sentRequests: SentRequest[] = [];
  readonly listens: Listen[] = [];
  #count = 0;

  constructor(chosen: Kind) {
    this.kind = chosen;
    const { speaks, isAuto, isolation, runtime, max } = chosen;
    this.server = new TwoEraServer(speaks, chosen.delayMs);
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
        const found = pick(server.arrived, step.at);
        if (found !== undefined && !found.link.isOver) this.#serverSays(step, found);
        return;
      }
      case 'reply':
        this.#reply(step.at);
        return;
      case 'cancel': {
        const found = pick(sentRequests, step.at);
        if (found === undefined || found.recorder.ends.length > 0) return;
        found.isCancelled = true;
        found.cancel();
        return;
      }
      case 'retry':
      case 'badRetry':
        this.#retry(pick(sentRequests.filter(isOpenQuestion), step.at), step.do === 'badRetry');
        return;
      case 'update':
        this.#update(uris[step.uri] as string);
        return;
      case 'subscribe':
      case 'unsubscribe': {
        const client = pick(this.clients, step.at) as Client;
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
          step.at,
        );
        if (found === undefined) return;
        found.isOver = true;
        found.cancel();
        return;
      }
      case 'die':
        pick(
          managed.links.filter(({ isOver }) => !isOver),
          step.at,
        )?.die();
        return;
      case 'leave':
        this.#leave(step.at % SESSIONS);
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

  #call({ era, who, id, hasToken, canBeAsked }: Step & { do: 'call' }): void {
    const client = this.clients[who] as Client;
    const meta = hasToken ? { progressToken: 'token' } : {};
    const params = { name: 'echo', arguments: { marker: '' }, _meta: meta };
    if (era === 'modern') {
      const marker = `m/${this.#count++}`;
      const capabilities = canBeAsked ? { elicitation: {} } : {};
      this.#stateless(marker, id, hasToken, {
        ...params,
        arguments: { marker },
        _meta: { ...meta, ...modern(capabilities) },
      });
      return;
    }
    if (!this.#isIn(client)) return;
    const marker = `${client.label}/${this.#count++}`;
    const recorder = this.#request(client, 'tools/call', { ...params, arguments: { marker } }, id);
    const session = client.session as ClientSession;
    const cancel = () =>
      this.router.receive(
        session,
        envelope({ method: 'notifications/cancelled', params: { requestId: id } }),
      );
    // The newer of two requests with the same id is cancelled.
    this.sentRequests.push({
      era,
      marker,
      recorder,
      id,
      hasToken,
      client,
      params,
      cancel: () => {
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

  #stateless(marker: string, id: number, hasToken: boolean, params: object): void {
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

  #retry(found: SentRequest | undefined, isBad: boolean): void {
    if (found === undefined) return;
    const { inputRequests, requestState } = found.recorder.ends[0].result;
    const marker =
      inputRequests.q?.params.message ?? Object.values<Message>(inputRequests)[0]?.params.message;
    const answer = { action: 'accept', content: { marker } };
    const inputResponses = Object.fromEntries(Object.keys(inputRequests).map((key) => [key, answer]));
    // A state is rejected for a call with other arguments, and stays valid for its own call.
    const isForeign = isBad && this.managed.server.eras.serverEraFor('modern') === 'legacy';
    if (isBad && !isForeign) return;
    if (!isForeign) found.isRetried = true;
    const named = isForeign ? `m/${this.#count++}` : found.marker;
    const params = { ...found.params, arguments: { marker: named }, inputResponses, requestState };
    this.#stateless(named, found.id, found.hasToken, params);
  }

  /** Ensures a live session. Returns true if it is ready for requests. */
  #isIn(client: Client): boolean {
    if (client.isReady) return true;
    if (client.session?.isEnded === false) return false;
    if (client.session !== undefined) this.#leave(this.clients.indexOf(client));
    const fresh = this.clients.find(
      ({ label }) => label.split("'")[0] === client.label.split("'")[0],
    ) as Client;
    const params = {
      protocolVersion: '2025-06-18',
      capabilities: { elicitation: {} },
      clientInfo: { name: fresh.label, version: '1' },
    };
    this.router.open(
      envelope({ id: 0, method: 'initialize', params }),
      { server: this.managed.server },
      fresh.introduced,
      { requestId: 'r' },
      (session) => {
        fresh.session = session;
        const stream: Stream = {
          isConnected: true,
          send: (message) => fresh.received.push(JSON.parse(message.toString())),
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
    const params = { notifications: { resourceSubscriptions: [uri] }, _meta: modern({}) };
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

  #serverSays(step: Step, arrived: ArrivedCall): void {
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

  #questions(): { client: Client; message: Message }[] {
    const isQuestion = ({ method }: Message) => method === 'elicitation/create';
    const own = [...this.clients, ...this.formerClients].flatMap((client) =>
      client.received.filter(isQuestion).map((message) => ({ client, message })),
    );
    const onStreams = this.sentRequests.flatMap(({ client, recorder }) =>
      client === undefined ? [] : recorder.before.filter(isQuestion).map((message) => ({ client, message })),
    );
    return [...own, ...onStreams];
  }

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
    const isIt = ({ method, params }: Message) =>
      method === updated && params.uri === uri && params.stamp === stamp;
    return new Map<unknown, number>([
      ...[...this.clients, ...this.formerClients].map(
        (client) => [client, client.received.filter(isIt).length] as const,
      ),
      ...this.listens.map((listen) => [listen, listen.recorder.before.filter(isIt).length] as const),
    ]);
  }

  check(): void {
    const { server, sentRequests, kind: chosen } = this;
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
      // The detected eras of the server have changed, so a state of the gateway has no target here.
      if (requestState === undefined || !String(requestState).includes('/')) continue;
      expect([requestState, inputResponses.q.content.marker]).toEqual([marker, marker]);
    }
    const { pool, handle } = this.managed.server;
    const eras = chosen.isolation === 'shared' ? 2 : 1;
    const more = chosen.isolation === 'session' && chosen.runtime === 'http' ? 1 : 0;
    expect(pool.members.size).toBeLessThanOrEqual(chosen.max * eras + more);
    let inFlight = 0;
    for (const member of pool.members) {
      inFlight += member.inFlight;
      expect(member.connection.link).toMatchObject({ era: member.era });
    }
    // A connection with an open server request counts as used.
    expect(handle.inFlight).toBeLessThanOrEqual(inFlight);
    if (chosen.isolation === 'session') this.#checkIsolation();
  }

  /** P2: a connection carries messages of a single session, or of clients without a session. */
  #checkIsolation(): void {
    const byLink = new Map<unknown, Set<string>>();
    for (const { link, marker } of this.server.arrived) {
      if (link.era === 'modern' && this.kind.runtime === 'http') continue;
      const speakers = byLink.get(link) ?? new Set();
      byLink.set(link, speakers.add(marker.split('/')[0] as string));
    }
    for (const speakers of byLink.values()) expect(speakers.size).toBe(1);
  }

  /** Stops all faults. Then every request completes, and all listeners receive their updates. */
  async finish(): Promise<void> {
    const { managed, server, sentRequests } = this;
    const isQuiet = () =>
      sentRequests.every(({ recorder }) => recorder.ends.length > 0) &&
      this.clients.every(({ session, introduced }) => session === undefined || introduced.ends.length > 0) &&
      this.listens.every(
        ({ recorder, isOver }) => isOver || recorder.before.length + recorder.ends.length > 0,
      ) &&
      managed.server.isRunning;
    for (let round = 0; round < 80 && (round < 5 || !isQuiet()); round += 1) {
      managed.actor.send({ type: 'due' });
      if (/stopped|failed/.test(managed.server.state)) managed.actor.send({ type: 'start' });
      await this.#calm();
      for (const arrived of [...server.arrived]) server.answer(arrived);
      for (let index = this.#questions().length - 1; index >= 0; index -= 1) this.#reply(index);
      this.check();
    }
    expect(
      sentRequests.filter(({ recorder }) => recorder.ends.length !== 1).map(({ marker }) => marker),
    ).toEqual([]);
    for (const found of sentRequests.filter(isOpenQuestion)) this.#retry(found, false);
    for (let round = 0; round < 10; round += 1) {
      await this.#calm();
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
    const live = new Set([...managed.server.pool.members].map(({ connection }) => connection.link));
    for (const link of managed.links) expect(link.isOver || live.has(link)).toBe(true);
    this.sessions.close();
    managed.end();
    await settle(2);
    for (const link of managed.links) expect(link.isOver).toBe(true);
  }

  #hasPlace({ session }: Client): boolean {
    return session !== undefined && this.managed.server.pool.memberOf(session) !== undefined;
  }

  async #calm(): Promise<void> {
    await settle(2);
    await vi.advanceTimersByTimeAsync(1000);
    await settle(1);
  }

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
        const isHearing =
          isSubscribed && !listen.isOver && listen.recorder.ends.length === 0 && listen.uri === uri;
        if (isHearing) expect(copies.get(listen), `a listen to ${uri}`).toBeGreaterThan(0);
        else expect(copies.get(listen), 'nothing unasked').toBe(0);
      }
      for (const client of [...this.clients, ...this.formerClients]) {
        const isSubscribed =
          client.session?.isEnded === false && [...subscriptions.subscribers(uri)].includes(client.session);
        if (!isSubscribed) expect(copies.get(client)).toBe(0);
        // A session whose own connection could not be reopened gets a new one with its next call.
        else if (
          pool.ownerOf(client.session as ClientSession, 'legacy') === undefined ||
          this.#hasPlace(client)
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

function isOpenQuestion({ recorder, isRetried }: SentRequest): boolean {
  return !isRetried && recorder.ends[0]?.result?.resultType === 'input_required';
}

function modern(capabilities: object): Record<string, unknown> {
  return {
    [metaKeys.protocolVersion]: modernVersion,
    [metaKeys.clientInfo]: { name: 'modern', version: '1' },
    [metaKeys.clientCapabilities]: capabilities,
  };
}

function envelope(message: object) {
  return readClientMessage(Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message })));
}

async function live(chosen: Kind, steps: readonly Step[]): Promise<void> {
  const world = new World(chosen);
  try {
    for (const one of steps) {
      await world.run(one);
      world.check();
    }
    await world.finish();
  } finally {
    world.sessions.close();
    world.managed.end();
  }
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const runs = Number(process.env.BOTH_ERAS_RUNS ?? 150);

const plain: Kind = {
  isolation: 'shared',
  runtime: 'stdio',
  speaks: ['modern'],
  isAuto: false,
  max: 2,
  delayMs: 0,
};
const wait: Step = { do: 'wait', rounds: 6 };
const listen = (uri: number): Step => ({ do: 'listen', at: 0, uri });
const call = (era: Era, who: number): Step => ({
  do: 'call',
  era,
  who,
  id: 0,
  hasToken: false,
  canBeAsked: false,
});

/** Cases that the property below has found. */
const found: readonly [string, Kind, readonly Step[]][] = [
  [
    'a subscription change before the server has acknowledged the last one',
    { ...plain, delayMs: 40 },
    [
      listen(0),
      wait,
      wait,
      wait,
      listen(1),
      { do: 'wait', rounds: 5 },
      { do: 'unlisten', at: 0, uri: 0 },
      wait,
    ],
  ],
  [
    'an update while one listen request replaces another',
    { ...plain, delayMs: 40 },
    [listen(0), wait, wait, wait, listen(1), { do: 'wait', rounds: 5 }, { do: 'update', at: 0, uri: 0 }],
  ],
  [
    'a second connection without subscriptions',
    plain,
    [call('modern', 0), wait, call('modern', 0), wait, listen(0)],
  ],
  [
    'a stop without later calls of the listeners’ era',
    { ...plain, speaks: ['legacy', 'modern'], isAuto: true },
    [listen(0), wait, wait, { do: 'stop' }, wait],
  ],
  [
    'the end of the listeners’ process but not of the others',
    { ...plain, speaks: ['legacy', 'modern'], isAuto: true },
    [call('legacy', 0), wait, call('legacy', 0), listen(0), wait, wait, { do: 'die', at: 1 }, wait],
  ],
  [
    'the end of the shared process with the subscriptions',
    { ...plain, speaks: ['legacy'] },
    [
      call('legacy', 0),
      wait,
      call('legacy', 0),
      wait,
      call('legacy', 1),
      wait,
      call('legacy', 1),
      wait,
      { do: 'subscribe', at: 0, uri: 0 },
      wait,
      { do: 'die', at: 0 },
      wait,
    ],
  ],
  [
    'the death of a process that has just acknowledged a listen request',
    plain,
    [
      call('legacy', 0),
      { do: 'wait', rounds: 1 },
      { do: 'subscribe', at: 0, uri: 0 },
      call('legacy', 0),
      { do: 'die', at: 0 },
      { do: 'wait', rounds: 1 },
    ],
  ],
  [
    'a session that unsubscribes while others still listen',
    { ...plain, isolation: 'session' },
    [
      call('legacy', 0),
      listen(1),
      wait,
      { do: 'subscribe', at: 0, uri: 1 },
      wait,
      { do: 'unsubscribe', at: 0, uri: 1 },
    ],
  ],
  [
    'a full pool without a connection for listeners',
    { ...plain, isolation: 'session', speaks: ['legacy'] },
    [
      call('legacy', 0),
      listen(0),
      wait,
      call('legacy', 0),
      call('legacy', 2),
      wait,
      { do: 'die', at: 1 },
      call('legacy', 0),
      call('legacy', 2),
      wait,
      call('legacy', 2),
      wait,
    ],
  ],
];

describe('clients of both eras at one server', () => {
  test.each(found)('get one response per request in a former failure: %s', (_, chosen, steps) =>
    live(chosen, steps),
  );

  test('that only listen keep their connection when a session needs a connection', async () => {
    const world = new World({ ...plain, isolation: 'session' });
    const steps = [call('legacy', 0), call('legacy', 0), call('legacy', 1), call('legacy', 1)];
    for (const one of [listen(0), wait, ...steps.flatMap((step) => [step, wait])]) await world.run(one);
    expect(world.sentRequests.map(({ recorder }) => recorder.ends[0]?.error?.message)).toEqual([
      undefined,
      expect.stringContaining('in use by other sessions'),
    ]);
    expect(world.listens[0]?.recorder.ends).toEqual([]);
    await world.finish();
  });

  test('keep their subscriptions while the era of a changed server is not detected yet', async () => {
    const world = new World({ ...plain, speaks: ['legacy'], isAuto: true });
    const before = [call('legacy', 0), call('legacy', 1), listen(0), call('legacy', 0)];
    for (const one of before.flatMap((step) => [step, wait])) await world.run(one);
    world.server.speaks = ['modern'];
    for (const one of [call('legacy', 1), wait]) await world.run(one);
    expect(world.managed.server.eras.knownEras).toBeUndefined();
    await world.run({ do: 'update', at: 0, uri: 0 });
    expect(world.listens[0]?.recorder.before).toHaveLength(2);
    world.server.speaks = ['legacy'];
    await world.finish();
  });

  test(
    'receive one response per request, and the updates of their subscriptions',
    async () => {
      await fc.assert(fc.asyncProperty(kind, fc.array(step, { maxLength: 60, size: 'max' }), live), {
        numRuns: runs,
        interruptAfterTimeLimit: Math.max(10_000, runs * 50),
      });
    },
    Math.max(30_000, runs * 60),
  );
});
