// Clients of both eras before a server of either or of both, under random interleavings, from the client's message to
// the server's link and back: router, routers, crossings, handle, pool and connections as they are, over links that
// exist only here. Clients have equal ids and equal progress tokens, cancel, leave, listen, and are asked things;
// links answer late, twice or not at all, and die; the server stops and starts. Every message carries a marker of the
// call it is about, so that a crossed one shows.

import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { silentLog } from '../../../../../../actors/base/errors/log.ts';
import { Redactor } from '../../../../../../actors/base/errors/redact.ts';
import { EraBridge } from '../../../../../../actors/mcp/clients/eras/era-bridge.ts';
import { MessageRouter } from '../../../../../../actors/mcp/clients/message-router.ts';
import type { Outlet, Stream } from '../../../../../../actors/mcp/clients/outlet.ts';
import type { RouterHost } from '../../../../../../actors/mcp/clients/router-host.ts';
import { Forwarder } from '../../../../../../actors/mcp/clients/routing/forwarder.ts';
import { InFlightLimiter } from '../../../../../../actors/mcp/clients/routing/in-flight-limiter.ts';
import type { ClientSession } from '../../../../../../actors/mcp/clients/sessions/session.ts';
import { Sessions } from '../../../../../../actors/mcp/clients/sessions/sessions.ts';
import { type Era, metaKeys, modernVersion } from '../../../../../../actors/mcp/jsonrpc/modern-meta.ts';
import { readClientMessage } from '../../../../../../actors/mcp/jsonrpc/read-message.ts';
import { FakeManaged, settle } from '../../../../../fixtures/server/fake-server.ts';
import { type Arrived, TwoEraServer, updated } from '../../../../../fixtures/server/two-era-server.ts';

const uris = ['test://a', 'test://b'];
const SESSIONS = 3;
const LISTENERS = 3;

type Step =
  | { do: 'call'; era: Era; who: number; id: number; hasToken: boolean; canBeAsked: boolean }
  | { do: 'answer' | 'again' | 'progress' | 'ask' | 'reply' | 'cancel' | 'retry' | 'badRetry'; at: number }
  | { do: 'undelivered'; at: number; wasCarriedOut: boolean }
  | { do: 'update' | 'subscribe' | 'unsubscribe' | 'listen' | 'unlisten'; at: number; uri: number }
  | { do: 'die' | 'leave'; at: number }
  | { do: 'wait'; rounds: number }
  | { do: 'stop' | 'start' | 'due' | 'half' | 'whole' };

const at = fc.nat({ max: 50 });
const one = <T extends string>(...names: T[]) => fc.constantFrom(...names);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 9,
    arbitrary: fc.record({
      do: one('call'),
      era: one('legacy', 'modern'),
      who: fc.nat({ max: SESSIONS - 1 }),
      id: fc.nat({ max: 1 }),
      hasToken: fc.boolean(),
      canBeAsked: fc.boolean(),
    }),
  },
  {
    weight: 10,
    arbitrary: fc.record({ do: one('answer', 'answer', 'again', 'progress', 'ask', 'ask', 'reply'), at }),
  },
  { weight: 4, arbitrary: fc.record({ do: one('cancel', 'retry', 'retry', 'badRetry'), at }) },
  { weight: 1, arbitrary: fc.record({ do: one('undelivered'), at, wasCarriedOut: fc.boolean() }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: one('update', 'subscribe', 'unsubscribe', 'listen', 'unlisten'),
      at,
      uri: fc.nat({ max: 1 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: one('die', 'leave'), at }) },
  { weight: 1, arbitrary: fc.record({ do: one('stop', 'start', 'half', 'whole') }) },
  { weight: 2, arbitrary: fc.record({ do: one('due') }) },
  { weight: 7, arbitrary: fc.record({ do: one('wait'), rounds: fc.integer({ min: 1, max: 6 }) }) },
);

interface Kind {
  readonly isolation: 'shared' | 'session';
  readonly runtime: 'stdio' | 'http';
  readonly speaks: readonly Era[];
  readonly isAuto: boolean;
  readonly max: number;
  /** How long the server takes for what it answers by itself, in milliseconds. */
  readonly delayMs: number;
}

const kind: fc.Arbitrary<Kind> = fc.record({
  isolation: one('shared', 'session'),
  runtime: one('stdio', 'http'),
  speaks: fc.constantFrom<readonly Era[]>(['legacy'], ['modern'], ['legacy', 'modern']),
  isAuto: fc.boolean(),
  max: fc.integer({ min: 2, max: 4 }),
  delayMs: fc.constantFrom(0, 0, 10, 40),
});

// biome-ignore lint/suspicious/noExplicitAny: a message of a test, in whatever shape
type Message = any;

/** What the client saw of one of its requests. */
class Ear implements Outlet {
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
  readonly introduced = new Ear();
  readonly heard: Message[] = [];
  readonly label: string;

  constructor(label: string) {
    this.label = label;
  }

  get isReady(): boolean {
    return this.session?.isEnded === false && this.introduced.ends[0]?.result !== undefined;
  }
}

interface Asked {
  readonly era: Era;
  readonly marker: string;
  readonly ear: Ear;
  readonly id: number;
  readonly hasToken: boolean;
  readonly client: Client | undefined;
  readonly params: Message;
  readonly cancel: () => void;
  isCancelled: boolean;
  isRetried: boolean;
}

interface Listen {
  readonly ear: Ear;
  readonly uri: string;
  isOver: boolean;
  readonly cancel: () => void;
}

class World {
  readonly kind: Kind;
  readonly server: TwoEraServer;
  readonly managed: FakeManaged;
  readonly router: MessageRouter;
  readonly sessions: Sessions;
  readonly clients: Client[] = [];
  readonly gone: Client[] = [];
  readonly asked: Asked[] = [];
  readonly listens: Listen[] = [];
  #count = 0;

  constructor(chosen: Kind) {
    this.kind = chosen;
    const { speaks, isAuto, isolation, runtime, max } = chosen;
    this.server = new TwoEraServer(speaks, chosen.delayMs);
    const era = isAuto ? 'auto' : (speaks[0] ?? 'legacy');
    const pool = { max, in_flight: 8, waiting: 8 };
    this.managed = new FakeManaged({ isolation, runtime, era, pool }, this.server);
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
      eraBridge,
      forwarder: new Forwarder(new InFlightLimiter(1000), eraBridge),
      aggregate: { isAllowed: () => true },
      redactor: new Redactor([]),
      config: { limits: { in_flight: 1000 }, log_level: 'info', list_timeout_seconds: 5 },
      log: silentLog,
      serverInfo: { name: 'gateway', version: '1' },
    };
    this.router = new MessageRouter(host as unknown as RouterHost);
    for (let i = 0; i < SESSIONS; i += 1) this.clients.push(new Client(`c${i}`));
  }

  async run(step: Step): Promise<void> {
    const { managed, server, asked } = this;
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
        const found = pick(asked, step.at);
        if (found === undefined || found.ear.ends.length > 0) return;
        found.isCancelled = true;
        found.cancel();
        return;
      }
      case 'retry':
      case 'badRetry':
        this.#retry(pick(asked.filter(isOpenQuestion), step.at), step.do === 'badRetry');
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
    const ear = this.#request(client, 'tools/call', { ...params, arguments: { marker } }, id);
    const session = client.session as ClientSession;
    const cancel = () =>
      this.router.note(session, envelope({ method: 'notifications/cancelled', params: { requestId: id } }));
    // Of two requests with one id the newer one is cancelled.
    this.asked.push({
      era,
      marker,
      ear,
      id,
      hasToken,
      client,
      params,
      cancel: () => {
        const newest = this.asked.findLast(
          (other) => other.client === client && other.id === id && other.ear.ends.length === 0,
        );
        if (newest !== undefined) newest.isCancelled = true;
        cancel();
      },
      isCancelled: false,
      isRetried: false,
    });
  }

  #stateless(marker: string, id: number, hasToken: boolean, params: object): void {
    const ear = new Ear();
    const running = this.router.stateless(
      envelope({ id, method: 'tools/call', params }),
      { server: this.managed.server },
      ear,
      { requestId: 'r' },
    );
    const cancel = () => running?.cancel();
    const more = { isCancelled: false, isRetried: false, client: undefined };
    this.asked.push({ era: 'modern', marker, ear, id, hasToken, params, cancel, ...more });
  }

  #retry(found: Asked | undefined, isBad: boolean): void {
    if (found === undefined) return;
    const { inputRequests, requestState } = found.ear.ends[0].result;
    const marker =
      inputRequests.q?.params.message ?? Object.values<Message>(inputRequests)[0]?.params.message;
    const answer = { action: 'accept', content: { marker } };
    const inputResponses = Object.fromEntries(Object.keys(inputRequests).map((key) => [key, answer]));
    // The state of one call with the arguments of another is refused, and leaves the first where it is.
    const isForeign = isBad && this.managed.server.eras.for('modern') === 'legacy';
    if (isBad && !isForeign) return;
    if (!isForeign) found.isRetried = true;
    const named = isForeign ? `m/${this.#count++}` : found.marker;
    const params = { ...found.params, arguments: { marker: named }, inputResponses, requestState };
    this.#stateless(named, found.id, found.hasToken, params);
  }

  /** Sees to a live session; true when it is ready for requests. */
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
          send: (message) => fresh.heard.push(JSON.parse(message.toString())),
          end: () => {},
        };
        session.stream = stream;
      },
    );
    return false;
  }

  #request(client: Client, method: string, params: object, id: number): Ear {
    const ear = new Ear();
    this.router.request(client.session as ClientSession, envelope({ id, method, params }), ear, {
      requestId: 'r',
    });
    return ear;
  }

  #listen(uri: string): void {
    const ear = new Ear();
    const params = { notifications: { resourceSubscriptions: [uri] }, _meta: modern({}) };
    const message = envelope({ id: 1, method: 'subscriptions/listen', params });
    const running = this.router.stateless(message, { server: this.managed.server }, ear, { requestId: 'r' });
    this.listens.push({ ear, uri, isOver: false, cancel: () => running?.cancel() });
  }

  #leave(index: number): void {
    const client = this.clients[index] as Client;
    if (client.session === undefined) return;
    this.router.end(client.session);
    this.gone.push(client);
    this.clients[index] = new Client(`${client.label}'`);
  }

  #serverSays(step: Step, arrived: Arrived): void {
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
        server.lose(arrived, step.wasCarriedOut);
    }
  }

  /** A legacy client answers what it was asked, wherever it was asked. */
  #reply(index: number): void {
    const questions = this.#questions();
    const found = questions[index % Math.max(1, questions.length)];
    if (found === undefined || found.client.session?.isEnded !== false) return;
    const { client, message } = found;
    const content = { marker: message.params.message };
    this.router.note(
      client.session as ClientSession,
      envelope({ id: message.id, result: { action: 'accept', content } }),
    );
  }

  #questions(): { client: Client; message: Message }[] {
    const isQuestion = ({ method }: Message) => method === 'elicitation/create';
    const own = [...this.clients, ...this.gone].flatMap((client) =>
      client.heard.filter(isQuestion).map((message) => ({ client, message })),
    );
    const onStreams = this.asked.flatMap(({ client, ear }) =>
      client === undefined ? [] : ear.before.filter(isQuestion).map((message) => ({ client, message })),
    );
    return [...own, ...onStreams];
  }

  #update(uri: string): number {
    const stamp = this.#count++;
    for (const link of this.managed.links) {
      const before = this.#copies(uri, stamp);
      this.server.update(link, uri, stamp);
      // None is told twice of one update, whatever was asked of the server how often.
      for (const [ear, count] of this.#copies(uri, stamp))
        expect(count - (before.get(ear) ?? 0)).toBeLessThan(2);
    }
    return stamp;
  }

  /** How often each client has heard of one update. */
  #copies(uri: string, stamp: number): Map<unknown, number> {
    const isIt = ({ method, params }: Message) =>
      method === updated && params.uri === uri && params.stamp === stamp;
    return new Map<unknown, number>([
      ...[...this.clients, ...this.gone].map((client) => [client, client.heard.filter(isIt).length] as const),
      ...this.listens.map((listen) => [listen, listen.ear.before.filter(isIt).length] as const),
    ]);
  }

  check(): void {
    const { server, asked, kind: chosen } = this;
    expect(server.wrong).toEqual([]);
    for (const { ear, marker, id, hasToken, client } of asked) {
      expect(ear.ends.length, marker).toBeLessThanOrEqual(1);
      expect(ear.late).toEqual([]);
      const [end] = ear.ends;
      if (end !== undefined) {
        expect(end.id).toBe(id);
        if (end.result?.content !== undefined && end.result.isError !== true)
          expect(end.result.content[0].text).toBe(marker);
        if (end.result?.inputRequests !== undefined)
          for (const { params } of Object.values<Message>(end.result.inputRequests))
            expect(params.message).toBe(marker);
      }
      for (const { method, params } of ear.before) {
        if (method === 'notifications/progress') {
          expect(hasToken).toBe(true);
          expect([params.progressToken, params.message]).toEqual(['token', marker]);
        } else if (method === 'elicitation/create') expect(params.message.split('/')[0]).toBe(client?.label);
      }
    }
    for (const client of [...this.clients, ...this.gone]) {
      expect(client.introduced.ends.length).toBeLessThanOrEqual(1);
      for (const { method, params } of client.heard)
        if (method === 'elicitation/create') expect(params.message.split('/')[0]).toBe(client.label);
    }
    // ML1, Q1: a question's answer goes to the link that asked, and is about the same call.
    for (const [id, { text, link }] of server.replies) {
      const question = server.asked.get(id);
      expect(link).toBe(question?.link);
      const { marker } = JSON.parse(text).result?.content ?? question ?? {};
      expect(marker).toBe(question?.marker);
    }
    for (const { sent, marker } of server.arrived) {
      const { requestState, inputResponses } = sent.message.params;
      // A name of the gateway's own leads nowhere here: the verdict on the server's eras has changed since.
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
    // A connection whose question a client has not answered yet counts as used (LM4).
    expect(handle.inFlight).toBeLessThanOrEqual(inFlight);
    if (chosen.isolation === 'session') this.#checkIsolation();
  }

  /** P2: a connection carries what one session says, or what those without one say. */
  #checkIsolation(): void {
    const byLink = new Map<unknown, Set<string>>();
    for (const { link, marker } of this.server.arrived) {
      if (link.era === 'modern' && this.kind.runtime === 'http') continue;
      const speakers = byLink.get(link) ?? new Set();
      byLink.set(link, speakers.add(marker.split('/')[0] as string));
    }
    for (const speakers of byLink.values()) expect(speakers.size).toBe(1);
  }

  /** From now on everything goes well: every request ends, and everybody hears of what he listens to. */
  async finish(): Promise<void> {
    const { managed, server, asked } = this;
    const isQuiet = () =>
      asked.every(({ ear }) => ear.ends.length > 0) &&
      this.clients.every(({ session, introduced }) => session === undefined || introduced.ends.length > 0) &&
      this.listens.every(({ ear, isOver }) => isOver || ear.before.length + ear.ends.length > 0) &&
      managed.server.isRunning;
    for (let round = 0; round < 80 && (round < 5 || !isQuiet()); round += 1) {
      managed.actor.send({ type: 'due' });
      if (/stopped|failed/.test(managed.server.state)) managed.actor.send({ type: 'start' });
      await this.#calm();
      for (const arrived of [...server.arrived]) server.answer(arrived);
      for (let index = this.#questions().length - 1; index >= 0; index -= 1) this.#reply(index);
      this.check();
    }
    expect(asked.filter(({ ear }) => ear.ends.length !== 1).map(({ marker }) => marker)).toEqual([]);
    for (const found of asked.filter(isOpenQuestion)) this.#retry(found, false);
    for (let round = 0; round < 10; round += 1) {
      await this.#calm();
      for (const arrived of [...server.arrived]) server.answer(arrived);
    }
    this.check();
    expect(asked.filter(({ ear }) => ear.ends.length !== 1).map(({ marker }) => marker)).toEqual([]);
    expect(managed.server.handle).toMatchObject({ inFlight: 0, waiting: 0 });
    expect([managed.server.places.held, managed.server.introductions.held]).toEqual([0, 0]);
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
        const [ack] = listen.ear.before;
        const isTold = ack?.params.notifications.resourceSubscriptions?.includes(listen.uri) === true;
        if (!listen.isOver && listen.ear.ends.length === 0) expect(isTold, 'acknowledged').toBe(true);
        const isHearing = isTold && !listen.isOver && listen.ear.ends.length === 0 && listen.uri === uri;
        if (isHearing) expect(copies.get(listen), `a listen to ${uri}`).toBeGreaterThan(0);
        else expect(copies.get(listen), 'nothing unasked').toBe(0);
      }
      for (const client of [...this.clients, ...this.gone]) {
        const isSubscribed =
          client.session?.isEnded === false && [...subscriptions.subscribers(uri)].includes(client.session);
        if (!isSubscribed) expect(copies.get(client)).toBe(0);
        // A session whose own connection could not be renewed has another with its next call.
        else if (
          pool.placeOf(client.session as ClientSession, 'legacy') === undefined ||
          this.#hasPlace(client)
        )
          expect(copies.get(client), `${client.label} on ${uri}`).toBeGreaterThan(0);
      }
    }
    // What the modern connections listen to is what is wanted of them, and by one listen only.
    for (const member of pool.members) {
      if (member.era !== 'modern') continue;
      const link = managed.links.find((one) => one === member.connection.link);
      if (link === undefined) continue;
      const wanted = subscriptions.uris(
        (owner) => eras.for(owner.era) === 'modern' && pool.placeOf(owner, 'modern') === member.owner,
      );
      expect(server.tellsOf(link)).toEqual([...wanted].sort());
      expect(server.listensOf(link)).toBeLessThanOrEqual(1);
    }
  }
}

function isOpenQuestion({ ear, isRetried }: Asked): boolean {
  return !isRetried && ear.ends[0]?.result?.resultType === 'input_required';
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

/** Found by the property below, or on the way to it. */
const found: readonly [string, Kind, readonly Step[]][] = [
  [
    'a wish that changes before the server has agreed to the last',
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
    'an update while one listen takes the place of another',
    { ...plain, delayMs: 40 },
    [listen(0), wait, wait, wait, listen(1), { do: 'wait', rounds: 5 }, { do: 'update', at: 0, uri: 0 }],
  ],
  [
    'a second connection that has been told nothing yet',
    plain,
    [call('modern', 0), wait, call('modern', 0), wait, listen(0)],
  ],
  [
    'a stop, after which nobody of the listeners’ era calls',
    { ...plain, speaks: ['legacy', 'modern'], isAuto: true },
    [listen(0), wait, wait, { do: 'stop' }, wait],
  ],
  [
    'the end of the listeners’ process beside that of the others',
    { ...plain, speaks: ['legacy', 'modern'], isAuto: true },
    [call('legacy', 0), wait, call('legacy', 0), listen(0), wait, wait, { do: 'die', at: 1 }, wait],
  ],
  [
    'the end of the one shared process that was asked to tell',
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
    'the death of a process that has just agreed to be listened to',
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
    'a session that unsubscribes from what others still listen to',
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
    'no place left for those who only listen',
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

describe('clients of both eras before one server', () => {
  test.each(found)('survive %s', (_, chosen, steps) => live(chosen, steps));

  test('who only listen give no place to a session', async () => {
    const world = new World({ ...plain, isolation: 'session' });
    const steps = [call('legacy', 0), call('legacy', 0), call('legacy', 1), call('legacy', 1)];
    for (const one of [listen(0), wait, ...steps.flatMap((step) => [step, wait])]) await world.run(one);
    expect(world.asked.map(({ ear }) => ear.ends[0]?.error?.message)).toEqual([
      undefined,
      expect.stringContaining('in use by other sessions'),
    ]);
    expect(world.listens[0]?.ear.ends).toEqual([]);
    await world.finish();
  });

  test('hear on by the verdict of before while a server that changed is not asked yet', async () => {
    const world = new World({ ...plain, speaks: ['legacy'], isAuto: true });
    const before = [call('legacy', 0), call('legacy', 1), listen(0), call('legacy', 0)];
    for (const one of before.flatMap((step) => [step, wait])) await world.run(one);
    world.server.speaks = ['modern'];
    for (const one of [call('legacy', 1), wait]) await world.run(one);
    expect(world.managed.server.eras.known).toBeUndefined();
    await world.run({ do: 'update', at: 0, uri: 0 });
    expect(world.listens[0]?.ear.before).toHaveLength(2);
    world.server.speaks = ['legacy'];
    await world.finish();
  });

  test(
    'have every request ended once with its own answer, and hear what they listen to',
    async () => {
      await fc.assert(fc.asyncProperty(kind, fc.array(step, { maxLength: 60, size: 'max' }), live), {
        numRuns: runs,
        interruptAfterTimeLimit: Math.max(10_000, runs * 50),
      });
    },
    Math.max(30_000, runs * 60),
  );
});
