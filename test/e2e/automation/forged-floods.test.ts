// Floods of forged requests against every chat and repository host that uses webhooks: CPU time and memory
// per request, and delay of genuine requests. Sequential, because the costs are measured.

import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type AgentProgram,
  eventually,
  httpAgent,
  startAgent,
  startAutomation,
  trigger,
} from '../../fixtures/automation/automation.ts';
import type { Forgery, LocalChat } from '../../fixtures/chats/local-chat.ts';
import { localChats } from '../../fixtures/chats/local-chats.ts';
import { postForgery } from '../../fixtures/chats/post-forgery.ts';
import type { GatewayProcess } from '../../fixtures/gateway/gateway-process.ts';
import { type HostEvent, type LocalRepoHost, post } from '../../fixtures/repositories/local-repo-host.ts';
import { localRepoHosts } from '../../fixtures/repositories/local-repo-hosts.ts';

const REQUESTS = 1_600;
const SENDERS = 16;
/** Padding for every tenth forged body: the largest size that the platforms send. */
const PADDING = ' '.repeat(200_000);
/**
 * CPU time per request, memory growth, and delay of a genuine request. Measured values are 0.1 to 0.2 ms, up
 * to 20 MiB, and 15 to 30 ms. A signature check in plain JavaScript takes 5 ms.
 */
const MOST = { cpuMs: 3, grownMiB: 150, waitedMs: 3_000 };

interface FloodedPlatform {
  start(): Promise<unknown>;
  stop(): Promise<void>;
  /** The `spec` of the trigger. */
  trigger(): Readonly<Record<string, unknown>>;
  attach(gatewayUrl: string): Promise<void>;
  /** Forged requests for the path that has the name of the trigger. */
  forgeries(text: string): Promise<readonly Forgery[]>;
  /** Sends a genuine request; resolves when it is accepted. */
  say(text: string): Promise<void>;
  /** Answers to genuine requests. */
  answers(): readonly string[];
}

let gateway: GatewayProcess;
let program: AgentProgram;

const floodedChat = (chat: LocalChat): FloodedPlatform => ({
  start: () => chat.start(),
  stop: () => chat.stop(),
  trigger: () => ({ ...chat.trigger('echo') }),
  attach: (url) => chat.attach(url),
  forgeries: async (text) => (await chat.forgeries?.('Flood', text)) ?? [],
  say: (text) => chat.say('Flood', text),
  answers: () => chat.visibleMessages('Flood').map(({ text }) => text),
});

function floodedRepoHost(name: string, host: LocalRepoHost): FloodedPlatform {
  const access = host.access(name);
  const commented = (text: string): HostEvent => ({ kind: 'request comment', text });
  return {
    start: () => host.start(),
    stop: () => host.stop(),
    trigger: () => ({ type: host.type, config: host.config(access) }),
    attach: async () => {},
    forgeries: async (text) => host.forgeries(commented(text), access.secret),
    async say(text) {
      const request = host.delivery(commented(text), access.secret);
      expect(await post(gateway.url + access.path, request)).toBe(202);
    },
    // Comments are sent at the rate limit of the token, so the requests to the agent are counted instead.
    answers: () => program.requests.filter(({ body }) => body.trigger === name).map(({ body }) => body.input),
  };
}

const flooded = [
  ...Object.entries(localChats)
    .map(([name, make]) => ({ name, chat: make() }))
    .filter(({ chat }) => chat.forgeries !== undefined)
    .map(({ name, chat }) => ({ name, source: floodedChat(chat) })),
  ...Object.entries(localRepoHosts).map(([name, make]) => ({ name, source: floodedRepoHost(name, make()) })),
];

beforeAll(async () => {
  program = await startAgent();
  for (const { source } of flooded) await source.start();
  const triggers = flooded.map(({ name, source }) =>
    trigger(name, { ...source.trigger(), default_agent: 'echo' }),
  );
  gateway = await startAutomation({ resources: [...triggers, httpAgent('echo', program.url)] });
  for (const { source } of flooded) await source.attach(gateway.url);
});
afterAll(() => Promise.all(flooded.map(({ source }) => source.stop())));

function cpuMs(): number {
  const stat = readFileSync(`/proc/${gateway.pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  // User and system time, in units of 10 ms.
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

function residentMiB(): number {
  const status = readFileSync(`/proc/${gateway.pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
}

describe.each(flooded)('$name', ({ name, source }) => {
  test('a flood of forged requests costs little, leaves nothing in memory, and delays no genuine request', async () => {
    const forgeries = await source.forgeries(`${name} forged`);
    const statuses = new Map<string, number>();
    let sentCount = 0;
    const flood = async (count: number) => {
      while (sentCount < count) {
        const n = sentCount++;
        const forgery = forgeries[n % forgeries.length];
        if (forgery === undefined) return;
        const body = n % 10 === 0 ? forgery.body + PADDING : forgery.body;
        const status = await postForgery(`${gateway.url}/webhook/${name}`, { ...forgery, body });
        statuses.set(`${status} ${forgery.what}`, status);
      }
    };
    // Warm-up: keys are fetched and code is compiled.
    await flood(50);
    const before = { cpu: cpuMs(), mib: residentMiB() };
    const waited: number[] = [];
    const senders = Promise.all(Array.from({ length: SENDERS }, () => flood(REQUESTS)));
    let isOver = false;
    const end = senders.finally(() => {
      isOver = true;
    });
    do {
      const startedAt = performance.now();
      await source.say(`real ${waited.length}`);
      waited.push(performance.now() - startedAt);
    } while (!isOver && waited.length < 5);
    await end;
    const cost = {
      cpuMs: (cpuMs() - before.cpu) / REQUESTS,
      grownMiB: residentMiB() - before.mib,
      waitedMs: Math.max(...waited),
    };
    expect([...statuses].filter(([, status]) => status !== 401)).toEqual([]);
    for (const [what, most] of Object.entries(MOST))
      expect(cost[what as keyof typeof cost], what).toBeLessThan(most);
    await eventually(() => expect(source.answers()).toHaveLength(waited.length));
    const inputs = program.requests.map(({ body }) => JSON.stringify([body.input, body.parameters]));
    expect(inputs.filter((each) => each.includes(`${name} forged`))).toEqual([]);
  });
});
