// Many clients of both eras with servers of either or both eras, in random order: equal ids and progress
// tokens, cancellations, duplicates, questions that are answered once, repeatedly or wrongly, and servers
// that exit or stop. Each answer contains the input of the caller, which reveals mixed-up answers.
// CROWD_ROUNDS=20 CROWD_SEED=7 plays more rounds in another order.

import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { silentLog } from '../../../actors/base/errors/log.ts';
import type { GatewayRuntime } from '../../../actors/gateway/gateway.ts';
import { loadConfig } from '../../../config/load-config.ts';
import { bothErasOverHttp, bothErasOverStdio } from '../../fixtures/both-eras/start.ts';
import { runConcurrently } from '../../fixtures/clients/crowd.ts';
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

const hasCapabilities = { elicitation: { form: {} } };
const accepted = (name: string) => ({ action: 'accept', content: { name } });
/** Error codes of calls to a dead, stopped or overloaded server. Other errors are bugs of the gateway. */
const expectedErrorCodes = new Set([-32603, -32000, -32001, -32002, -32003, -32004, -32005]);

let url: string;
let gateway: GatewayRuntime;
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
  { id: 'remote', asks: true, isFragile: false },
];

interface CompletedStream {
  readonly messages: readonly Message[];
  readonly result: Record<string, unknown> | undefined;
  readonly error: Message['error'] | undefined;
}

/**
 * A legacy client with a session, or a modern client. All clients use the same few ids and the same token.
 */
class Caller {
  readonly server: Server;
  readonly session: RawSession | undefined;
  /** Marks of the calls that ask questions. */
  readonly marks = new Set<string>();
  /** Questions that contain no mark of this client. */
  readonly foreignQuestions: string[] = [];

  constructor(server: Server, session?: RawSession) {
    this.server = server;
    this.session = session;
  }

  static async open(server: Server, isLegacy: boolean): Promise<Caller> {
    if (!isLegacy) return new Caller(server);
    return new Caller(server, await RawSession.open(url, `/mcp/${server.id}`, hasCapabilities));
  }

  /** Makes a call. Returns all messages; passes them to `onMessage` as they arrive. */
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
    const meta = { progressToken, clientCapabilities: this.server.asks ? hasCapabilities : {} };
    const request = toolCall(name, args, { id: JSON.stringify(id), meta, params });
    return modern(`${url}/mcp/${this.server.id}`, request, { signal });
  }

  /** A question may arrive on the stream of any call in the session. */
  #onMessage({ id, method, params }: Message): void {
    const { session } = this;
    if (method !== 'elicitation/create' || session === undefined) return;
    const mark = String(params?.message);
    this.foreignQuestions.push(...(this.marks.has(mark) ? [] : [mark]));
    session.reply(id, accepted(`${mark} answered`)).catch(() => {});
    // The gateway ignores a second answer to the same question.
    session.reply(id, accepted('too late')).catch(() => {});
  }
}

interface CallOptions {
  readonly id?: unknown;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly signal?: AbortSignal;
  /** Called at the first event on the stream of the call. */
  readonly onBegun?: () => void;
}

interface CallCounters {
  answered: number;
  unlucky: number;
}

/** Checks a stream: only progress and questions of this call, then one answer with the right id. */
function checkStream(label: string, { messages }: CompletedStream, id: unknown, mark: string): void {
  const answers = messages.filter((message) => message.method === undefined);
  expect(answers, label).toHaveLength(1);
  expect(messages.at(-1), label).toBe(answers[0]);
  expect(answers[0]?.id, label).toBe(id);
  for (const { method, params } of messages) {
    if (method === 'notifications/progress') {
      expect(params?.progressToken, label).toBe('token');
      expect(String(params?.message), label).toContain(mark);
    }
  }
}

/** Checks that the answer belongs to the caller, or is one of the expected errors. */
function checkAnswer(
  label: string,
  outcome: CompletedStream,
  id: unknown,
  mark: string,
  counters: CallCounters,
): void {
  checkStream(label, outcome, id, mark);
  const { result, error } = outcome;
  if (error !== undefined) {
    expect(expectedErrorCodes, `${label}: ${JSON.stringify(error)}`).toContain(error.code);
    counters.unlucky += 1;
    return;
  }
  const text = JSON.stringify(result);
  // A tool returns an error result if the question could not be sent.
  if (result?.isError === true) counters.unlucky += 1;
  else {
    expect(text, label).toContain(mark);
    counters.answered += 1;
  }
}

type Task = (caller: Caller, mark: string, random: () => number, counters: CallCounters) => Promise<void>;

const tasks: Readonly<Record<string, Task>> = {
  echo: async (caller, mark, random, counters) => {
    const id = random() < 0.5 ? 1 : 'one';
    checkAnswer(`${mark} echo`, await caller.call('echo', { text: mark }, { id }), id, mark, counters);
  },
  slow: async (caller, mark, random, counters) => {
    const args = { text: mark, steps: 3, ms: Math.floor(random() * 20) };
    checkAnswer(`${mark} slow`, await caller.call('slow', args), 1, mark, counters);
  },
  /** Two concurrent requests from one client with equal ids. */
  twice: async (caller, mark, _random, counters) => {
    const calls = ['a', 'b'].map(async (half) => {
      const result = await caller.call('slow', { text: `${mark}${half}`, steps: 2, ms: 10 }, { id: 7 });
      checkAnswer(`${mark} twice`, result, 7, `${mark}${half}`, counters);
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
      (result) => result,
      () => undefined,
    );
    await new Promise((resolve) => setTimeout(resolve, random() * 60));
    if (session === undefined) stop.abort();
    else {
      // A cancellation that arrives before the call has no effect.
      await Promise.race([hasBegun, running]);
      await session.notify('notifications/cancelled', { requestId: id });
    }
    // The call takes four seconds: if it completes earlier, it was cancelled and has no answer of the server.
    const outcome = await running;
    for (const { result, params } of outcome?.messages ?? []) {
      expect(result, mark).toBeUndefined();
      if (params?.progressToken !== undefined) expect(String(params.message)).toContain(mark);
    }
  },
  ask: async (caller, mark, random, counters) => {
    if (!caller.server.asks) return;
    const { session } = caller;
    if (session === undefined) return askModern(caller, mark, random, counters);
    caller.marks.add(mark);
    const result = await caller.call('ask', { message: mark });
    checkAnswer(`${mark} ask`, result, 1, mark, counters);
    if (result.result !== undefined && result.result.isError !== true)
      expect(JSON.stringify(result.result), mark).toContain(`${mark} answered`);
  },
  exit: async (caller, mark, _random, counters) => {
    if (!caller.server.isFragile) return;
    const result = await caller.call('exit', {});
    checkStream(`${mark} exit`, result, 1, mark);
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
    const request = listenAsk({ resourceSubscriptions: [uri] }, { id: JSON.stringify(id) });
    const reader = modernStream(`${url}/mcp/${server.id}`, request);
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

/** Retries with the answer: once, as two parallel retries, without the answer, or with an invented state. */
async function askModern(
  caller: Caller,
  mark: string,
  random: () => number,
  counters: CallCounters,
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
  const results = await Promise.all(
    Array.from({ length: times }, () =>
      caller.call('ask', args, { params: { ...state, inputResponses: answers } }),
    ),
  );
  const isParked = requestState !== undefined;
  // A parked call continues once, so the second retry is too late.
  const late = results.filter(({ error }) => error?.code === -32602);
  if (isParked) expect(late.length, mark).toBe(times - 1);
  else expect(late, mark).toEqual([]);
  for (const result of results) {
    if (late.includes(result)) continue;
    checkAnswer(`${mark} retry`, result, 1, mark, counters);
    if (result.result !== undefined && result.result.isError !== true)
      expect(JSON.stringify(result.result), mark).toContain(`${mark} answered`);
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
  let remaining = random() * Object.values(weights).reduce((sum, weight) => sum + weight, 0);
  for (const [name, weight] of Object.entries(weights)) {
    remaining -= weight;
    if (remaining < 0) return name;
  }
  return 'echo';
}

async function playRound(seed: number): Promise<CallCounters> {
  const random = seeded(seed);
  const counters = { answered: 0, unlucky: 0 };
  const askers = new Map<string, Promise<Caller>>();
  // Concurrent tasks share a session. If its process has exited, a session is replaced.
  const askerFor = async (server: Server, isLegacy: boolean, slot: number): Promise<Caller> => {
    const key = `${server.id} ${isLegacy} ${slot}`;
    const asker = askers.get(key) ?? Caller.open(server, isLegacy);
    askers.set(key, asker);
    return asker.catch((error) => {
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
  await runConcurrently(TASKS, 14, async (number) => {
    const { server, isLegacy, slot, name, random: own } = plan[number] as (typeof plan)[number];
    const caller = await askerFor(server, isLegacy, slot).catch(() => undefined);
    if (caller === undefined) {
      counters.unlucky += 1;
      return;
    }
    try {
      await tasks[name]?.(caller, `<${seed}/${number}>`, own, counters);
    } finally {
      // Sessions whose process has exited return 404.
      const { session } = caller;
      if (session !== undefined && !(await isKnown(session)))
        askers.delete(`${server.id} ${isLegacy} ${slot}`);
    }
  });
  await Promise.all(
    [...askers.values()].map(async (opening) => {
      const caller = await opening.catch(() => undefined);
      expect(caller?.foreignQuestions ?? []).toEqual([]);
      await caller?.session?.end();
    }),
  );
  return counters;
}

async function isKnown(session: RawSession): Promise<boolean> {
  for (const openSession of gateway.mcp.clients.sessions.all())
    if (openSession.id === session.id) return true;
  return false;
}

function children(): string[] {
  const pids = readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, 'latin1');
  return pids.split(' ').filter((pid) => pid !== '');
}

describe('many concurrent legacy and modern MCP clients', () => {
  test('receive every answer to their calls once', {
    timeout: 60_000 + rounds * 60_000,
  }, async () => {
    for (let seed = firstSeed; seed < firstSeed + rounds; seed += 1) {
      const counters = await playRound(seed);
      if (rounds > 1) process.stderr.write(`crowd: seed ${seed}: ${JSON.stringify(counters)}\n`);
      expect(counters.answered, `seed ${seed}`).toBeGreaterThan(TASKS / 3);
      await until('the end of all clients', async () => {
        const { requests, servers: all } = await stats(url);
        const isQuiet = Object.values(all).every(({ in_flight, waiting }) => in_flight + waiting === 0);
        return requests.in_flight === 0 && isQuiet;
      });
      expect(faults).toEqual([]);
    }
    expect((await json(`${url}/health`)).status).toBe(200);
  });

  test('leave no process and no suspended call when the gateway has stopped', async () => {
    const before = children();
    await gateway.stop();
    expect(before.length).toBeGreaterThan(0);
    await until('the end of all processes', () => children().length === 0);
    expect(gateway.mcp.clients.eraBridge.suspendedCalls.size).toBe(0);
  });
});
