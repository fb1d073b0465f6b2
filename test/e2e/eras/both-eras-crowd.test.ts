// A crowd of clients of both eras at real servers of either or both, in an order that chance decides: equal ids, equal
// progress tokens, cancellations, duplicates in flight, questions that are answered once, twice or wrongly, servers
// that exit and are stopped. Every answer carries what its caller sent, so that a crossed one shows.
// CROWD_ROUNDS=20 CROWD_SEED=7 plays more rounds, and other ones.

import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { silentLog } from '../../../actors/base/errors/log.ts';
import type { Gateway } from '../../../actors/gateway/gateway.ts';
import { loadConfig } from '../../../config/load-config.ts';
import { bothErasOverHttp, bothErasOverStdio } from '../../fixtures/both-eras/start.ts';
import { crowd } from '../../fixtures/clients/crowd.ts';
import {
  listenAsk,
  type ModernAnswer,
  modern,
  modernStream,
  SUBSCRIPTION,
  toolCall,
} from '../../fixtures/clients/modern-client.ts';
import {
  http,
  json,
  type Message,
  RawSession,
  type RpcAnswer,
  stats,
  until,
} from '../../fixtures/clients/raw-session.ts';
import { everythingOverStdio } from '../../fixtures/everything/start.ts';
import { bootServed } from '../../fixtures/gateway/boot-gateway.ts';
import { temporaryFolder, writeConfiguration } from '../../fixtures/gateway/gateway-process.ts';
import { seeded } from '../../fixtures/seeded.ts';

const rounds = Number(process.env.CROWD_ROUNDS ?? 1);
const firstSeed = Number(process.env.CROWD_SEED ?? 1);
const TASKS = 160;

const canBeAsked = { elicitation: { form: {} } };
const accepted = (name: string) => ({ action: 'accept', content: { name } });
/** What happens to a call whose server died or was stopped, or is crowded; anything else is a fault of the gateway. */
const misfortunes = new Set([-32603, -32000, -32001, -32002, -32003, -32004, -32005]);

let url: string;
let gateway: Gateway;
const faults: unknown[] = [];

beforeAll(async () => {
  const remote = await bothErasOverHttp();
  const restart = { intensity: 1000, min_backoff_ms: 20, max_backoff_seconds: 1 };
  const own = { isolation: 'session', pool: { max: 16 }, restart };
  const folder = temporaryFolder();
  const config = writeConfiguration(folder, {
    servers: {
      'both-shared': { ...bothErasOverStdio(), era: 'auto', pool: { max: 2 }, restart },
      'both-own': { ...bothErasOverStdio(), era: 'auto', ...own },
      'modern-shared': { ...bothErasOverStdio({ isModernOnly: true }), era: 'modern', restart },
      'modern-own': { ...bothErasOverStdio({ isModernOnly: true }), era: 'modern', ...own },
      'legacy-shared': { ...everythingOverStdio(), restart },
      'legacy-own': { ...bothErasOverStdio(), era: 'legacy', ...own },
      remote: { url: remote.url, era: 'auto', isolation: 'session', pool: { max: 16 }, restart },
    },
  });
  const loaded = await loadConfig(config, process.env);
  const log = { ...silentLog, error: (...fault: unknown[]) => faults.push(fault) };
  ({ gateway, url } = await bootServed({ ...loaded, log, environment: process.env }));
});

afterAll(async () => {
  gateway.mcp.kill();
});

type Server = { readonly id: string; readonly asks: boolean; readonly isFragile: boolean };
const servers: readonly Server[] = [
  { id: 'both-shared', asks: false, isFragile: true },
  { id: 'both-own', asks: true, isFragile: true },
  { id: 'modern-shared', asks: true, isFragile: true },
  { id: 'modern-own', asks: true, isFragile: true },
  { id: 'legacy-shared', asks: false, isFragile: true },
  { id: 'legacy-own', asks: true, isFragile: true },
  // It lives in this very process.
  { id: 'remote', asks: true, isFragile: false },
];

interface Ended {
  readonly messages: readonly Message[];
  readonly result: Record<string, unknown> | undefined;
  readonly error: Message['error'] | undefined;
}

/** One client: a session, or a modern one that has none. All of them use the same few ids and one token. */
class Caller {
  readonly server: Server;
  readonly session: RawSession | undefined;
  /** What it has put into calls that ask. */
  readonly marks = new Set<string>();
  /** What it was asked that it had not put into any call. */
  readonly strangers: string[] = [];

  constructor(server: Server, session?: RawSession) {
    this.server = server;
    this.session = session;
  }

  static async open(server: Server, isLegacy: boolean): Promise<Caller> {
    if (!isLegacy) return new Caller(server);
    return new Caller(server, await RawSession.open(url, `/mcp/${server.id}`, canBeAsked));
  }

  /** One call; what came for it, each message at once to `onMessage`. */
  call(
    name: string,
    args: object,
    { id = 1, params = {}, signal, onBegun }: CallOptions = {},
  ): Promise<RpcAnswer | ModernAnswer> {
    const progressToken = 'token';
    if (this.session !== undefined) {
      const onMessage = (message: Message) => {
        onBegun?.();
        this.#onMessage(message);
      };
      return this.session.call(name, args, {
        id,
        progressToken,
        onMessage,
        ...(signal === undefined ? {} : { signal }),
      });
    }
    const meta = { progressToken, clientCapabilities: this.server.asks ? canBeAsked : {} };
    const asked = toolCall(name, args, { id: JSON.stringify(id), meta, params });
    return modern(`${url}/mcp/${this.server.id}`, asked, { signal });
  }

  /** A session is asked on the stream of any of its calls, since nothing links a question to one. */
  #onMessage({ id, method, params }: Message): void {
    const { session } = this;
    if (method !== 'elicitation/create' || session === undefined) return;
    const mark = String(params?.message);
    this.strangers.push(...(this.marks.has(mark) ? [] : [mark]));
    session.reply(id, accepted(`${mark} answered`)).catch(() => {});
    // A second answer to the same question reaches nobody.
    session.reply(id, accepted('too late')).catch(() => {});
  }
}

interface CallOptions {
  readonly id?: unknown;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly signal?: AbortSignal;
  /** Something has come on the stream of a session's call. */
  readonly onBegun?: () => void;
}

interface TriggerCounters {
  answered: number;
  unlucky: number;
}

/** One answer, the last of its stream, under its own id; before it nothing but its own progress and questions. */
function checkStream(what: string, { messages }: Ended, id: unknown, mark: string): void {
  const answers = messages.filter((message) => message.method === undefined);
  expect(answers, what).toHaveLength(1);
  expect(messages.at(-1), what).toBe(answers[0]);
  expect(answers[0]?.id, what).toBe(id);
  for (const { method, params } of messages) {
    if (method === 'notifications/progress') {
      expect(params?.progressToken, what).toBe('token');
      expect(String(params?.message), what).toContain(mark);
    }
  }
}

/** The answer is the caller's own, or tells of a misfortune. */
function checkAnswer(what: string, ended: Ended, id: unknown, mark: string, counters: TriggerCounters): void {
  checkStream(what, ended, id, mark);
  const { result, error } = ended;
  if (error !== undefined) {
    expect(misfortunes, `${what}: ${JSON.stringify(error)}`).toContain(error.code);
    counters.unlucky += 1;
    return;
  }
  const text = JSON.stringify(result);
  // A tool whose question could not be asked any more says so in its result.
  if (result?.isError === true) counters.unlucky += 1;
  else {
    expect(text, what).toContain(mark);
    counters.answered += 1;
  }
}

type Task = (caller: Caller, mark: string, random: () => number, counters: TriggerCounters) => Promise<void>;

const tasks: Readonly<Record<string, Task>> = {
  echo: async (caller, mark, random, counters) => {
    const id = random() < 0.5 ? 1 : 'one';
    checkAnswer(`${mark} echo`, await caller.call('echo', { text: mark }, { id }), id, mark, counters);
  },
  slow: async (caller, mark, random, counters) => {
    const args = { text: mark, steps: 3, ms: Math.floor(random() * 20) };
    checkAnswer(`${mark} slow`, await caller.call('slow', args), 1, mark, counters);
  },
  /** Two requests of one client in flight under one id. */
  twice: async (caller, mark, _random, counters) => {
    const calls = ['a', 'b'].map(async (half) => {
      const ended = await caller.call('slow', { text: `${mark}${half}`, steps: 2, ms: 10 }, { id: 7 });
      checkAnswer(`${mark} twice`, ended, 7, `${mark}${half}`, counters);
    });
    await Promise.all(calls);
  },
  cancel: async (caller, mark, random) => {
    const { session } = caller;
    const id = `cancel ${mark}`;
    const stop = new AbortController();
    const args = { text: mark, steps: 200, ms: 20 };
    let begin = () => {};
    const hasBegun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const running = caller.call('slow', args, { id, signal: stop.signal, onBegun: begin }).then(
      (ended) => ended,
      () => undefined,
    );
    await new Promise((resolve) => setTimeout(resolve, random() * 60));
    if (session === undefined) stop.abort();
    else {
      // A cancellation that overtakes its call is one of nothing.
      await Promise.race([hasBegun, running]);
      await session.notify('notifications/cancelled', { requestId: id });
    }
    // It would take four seconds: what ends before has been cancelled, and carries no answer of the server.
    const ended = await running;
    for (const { result, params } of ended?.messages ?? []) {
      expect(result, mark).toBeUndefined();
      if (params?.progressToken !== undefined) expect(String(params.message)).toContain(mark);
    }
  },
  ask: async (caller, mark, random, counters) => {
    if (!caller.server.asks) return;
    const { session } = caller;
    if (session === undefined) return askModern(caller, mark, random, counters);
    caller.marks.add(mark);
    const ended = await caller.call('ask', { message: mark });
    checkAnswer(`${mark} ask`, ended, 1, mark, counters);
    if (ended.result !== undefined && ended.result.isError !== true)
      expect(JSON.stringify(ended.result), mark).toContain(`${mark} answered`);
  },
  exit: async (caller, mark, _random, counters) => {
    if (!caller.server.isFragile) return;
    const ended = await caller.call('exit', {});
    checkStream(`${mark} exit`, ended, 1, mark);
    counters.unlucky += 1;
  },
  stop: async ({ server }) => {
    await http(`${url}/servers/${server.id}/stop`, { method: 'POST' });
  },
  listen: async (caller, mark, random) => {
    if (caller.session !== undefined) return;
    const { server } = caller;
    const uri = 'test://watched-resource';
    const id = `listen ${mark}`;
    const asked = listenAsk({ resourceSubscriptions: [uri] }, { id: JSON.stringify(id) });
    const reader = modernStream(`${url}/mcp/${server.id}`, asked);
    await reader.until('the acknowledgement', ({ isOver, messages }) => isOver || messages.length > 0);
    await caller.call('update', { uri });
    await new Promise((resolve) => setTimeout(resolve, random() * 100));
    reader.drop();
    await reader.ended();
    for (const [index, { json: told }] of reader.messages.entries()) {
      const { method, params } = told as Message;
      if (method === undefined) continue;
      const meta = params?._meta as Record<string, unknown> | undefined;
      expect(meta?.[SUBSCRIPTION], mark).toBe(id);
      expect(method).toBe(
        index === 0 ? 'notifications/subscriptions/acknowledged' : 'notifications/resources/updated',
      );
    }
  },
};

/** Comes back with the answer: once, twice at the same time, without it, or with a state nobody gave it. */
async function askModern(
  caller: Caller,
  mark: string,
  random: () => number,
  counters: TriggerCounters,
): Promise<void> {
  const args = { message: mark };
  const first = await caller.call('ask', args);
  if (first.result?.resultType !== 'input_required') {
    checkAnswer(`${mark} ask`, first, 1, mark, counters);
    return;
  }
  checkStream(`${mark} ask`, first, 1, mark);
  const { inputRequests, requestState } = first.result as {
    inputRequests: Record<string, { params: { message: string } }>;
    requestState?: string;
  };
  for (const { params } of Object.values(inputRequests)) expect(params.message).toBe(mark);
  const answers = Object.fromEntries(
    Object.keys(inputRequests).map((key) => [key, accepted(`${mark} answered`)]),
  );
  const state = requestState === undefined ? {} : { requestState };
  if (requestState !== undefined && random() < 0.3) {
    const forged = await caller.call('ask', args, {
      params: { requestState: 'forged', inputResponses: answers },
    });
    expect(forged.error?.code, mark).toBeDefined();
  }
  const times = random() < 0.3 ? 2 : 1;
  const ends = await Promise.all(
    Array.from({ length: times }, () =>
      caller.call('ask', args, { params: { ...state, inputResponses: answers } }),
    ),
  );
  const isParked = requestState !== undefined;
  // A call that is parked goes on once: the second to come back has come too late.
  const late = ends.filter(({ error }) => error?.code === -32602);
  if (isParked) expect(late.length, mark).toBe(times - 1);
  else expect(late, mark).toEqual([]);
  for (const ended of ends) {
    if (late.includes(ended)) continue;
    checkAnswer(`${mark} retry`, ended, 1, mark, counters);
    if (ended.result !== undefined && ended.result.isError !== true)
      expect(JSON.stringify(ended.result), mark).toContain(`${mark} answered`);
  }
}

const weights: Readonly<Record<string, number>> = {
  echo: 30,
  slow: 20,
  twice: 10,
  cancel: 10,
  ask: 24,
  exit: 2,
  stop: 1,
  listen: 6,
};

function chosen(random: () => number): string {
  let left = random() * Object.values(weights).reduce((sum, weight) => sum + weight, 0);
  for (const [name, weight] of Object.entries(weights)) {
    left -= weight;
    if (left < 0) return name;
  }
  return 'echo';
}

async function play(seed: number): Promise<TriggerCounters> {
  const random = seeded(seed);
  const counters = { answered: 0, unlucky: 0 };
  const askers = new Map<string, Promise<Caller>>();
  // A session is shared by tasks that run at the same time; one that has ended with its process is replaced.
  const askerFor = async (server: Server, isLegacy: boolean, slot: number): Promise<Caller> => {
    const key = `${server.id} ${isLegacy} ${slot}`;
    const found = askers.get(key) ?? Caller.open(server, isLegacy);
    askers.set(key, found);
    return found.catch((error) => {
      askers.delete(key);
      throw error;
    });
  };
  const plan = Array.from({ length: TASKS }, () => ({
    server: servers[Math.floor(random() * servers.length)] as Server,
    isLegacy: random() < 0.5,
    slot: Math.floor(random() * 2),
    name: chosen(random),
    random: seeded(Math.floor(random() * 2 ** 32)),
  }));
  await crowd(TASKS, 14, async (number) => {
    const { server, isLegacy, slot, name, random: own } = plan[number] as (typeof plan)[number];
    const caller = await askerFor(server, isLegacy, slot).catch(() => undefined);
    if (caller === undefined) {
      counters.unlucky += 1;
      return;
    }
    try {
      await tasks[name]?.(caller, `<${seed}/${number}>`, own, counters);
    } finally {
      // Sessions that went with their process answer 404, which is no answer of a call.
      const { session } = caller;
      if (session !== undefined && !(await isKnown(session)))
        askers.delete(`${server.id} ${isLegacy} ${slot}`);
    }
  });
  await Promise.all(
    [...askers.values()].map(async (opening) => {
      const caller = await opening.catch(() => undefined);
      expect(caller?.strangers ?? []).toEqual([]);
      await caller?.session?.end();
    }),
  );
  return counters;
}

async function isKnown(session: RawSession): Promise<boolean> {
  for (const known of gateway.mcp.clients.sessions.all()) if (known.id === session.id) return true;
  return false;
}

function children(): string[] {
  const pids = readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, 'latin1');
  return pids.split(' ').filter((pid) => pid !== '');
}

describe('a crowd of both eras', () => {
  test('every answer reaches its caller, none is lost and none doubled', {
    timeout: 60_000 + rounds * 60_000,
  }, async () => {
    for (let seed = firstSeed; seed < firstSeed + rounds; seed += 1) {
      const counters = await play(seed);
      if (rounds > 1) process.stderr.write(`crowd: seed ${seed}: ${JSON.stringify(counters)}\n`);
      expect(counters.answered, `seed ${seed}`).toBeGreaterThan(TASKS / 3);
      await until('everything to be over', async () => {
        const { requests, servers: all } = await stats(url);
        const isQuiet = Object.values(all).every(({ in_flight, waiting }) => in_flight + waiting === 0);
        return requests.in_flight === 0 && isQuiet;
      });
      expect(faults).toEqual([]);
    }
    expect((await json(`${url}/health`)).status).toBe(200);
  });

  test('nothing is left of it when the gateway has stopped', async () => {
    const before = children();
    await gateway.stop();
    expect(before.length).toBeGreaterThan(0);
    await until('every process to be gone', () => children().length === 0);
    expect(gateway.mcp.clients.eraBridge.suspended.size).toBe(0);
  });
});
