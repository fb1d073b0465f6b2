// A flood of forged requests to each chat and repository host that sends to us: what one of them costs in time and memory, and how long
// what is true waits meanwhile. One after the other, since they are measured.

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
import { type Happening, type LocalRepoHost, post } from '../../fixtures/repositories/local-repo-host.ts';
import { localRepoHosts } from '../../fixtures/repositories/local-repo-hosts.ts';

const REQUESTS = 1_600;
const SENDERS = 16;
/** Behind a forged body, of every tenth: as large as each of the platforms may send. */
const PADDING = ' '.repeat(200_000);
/** Measured were 0.1 to 0.2 ms, up to 20 MiB, and 15 to 30 ms; a check in plain JavaScript would take 5 ms. */
const MOST = { cpuMs: 3, grownMiB: 150, waitedMs: 3_000 };

interface Flooded {
  start(): Promise<unknown>;
  stop(): Promise<void>;
  /** Its `spec`. */
  trigger(): Readonly<Record<string, unknown>>;
  attach(gatewayUrl: string): Promise<void>;
  /** Of the path that is named as the trigger is. */
  forgeries(text: string): Promise<readonly Forgery[]>;
  /** Resolves when it is taken. */
  say(text: string): Promise<void>;
  /** What came of it. */
  answers(): readonly string[];
}

let gateway: GatewayProcess;
let program: AgentProgram;

const ofChat = (chat: LocalChat): Flooded => ({
  start: () => chat.start(),
  stop: () => chat.stop(),
  trigger: () => ({ ...chat.trigger('echo') }),
  attach: (url) => chat.attach(url),
  forgeries: async (text) => (await chat.forgeries?.('Flood', text)) ?? [],
  say: (text) => chat.say('Flood', text),
  answers: () => chat.seen('Flood').map(({ text }) => text),
});

function ofRepoHost(name: string, host: LocalRepoHost): Flooded {
  const access = host.access(name);
  const commented = (text: string): Happening => ({ kind: 'request comment', text });
  return {
    start: () => host.start(),
    stop: () => host.stop(),
    trigger: () => ({ type: host.type, config: host.config(access) }),
    attach: async () => {},
    forgeries: async (text) => host.forgeries(commented(text), access.secret),
    async say(text) {
      const sent = host.delivery(commented(text), access.secret);
      expect(await post(gateway.url + access.path, sent)).toBe(202);
    },
    // Its comments leave at the pace of its token.
    answers: () => program.requests.filter(({ body }) => body.trigger === name).map(({ body }) => body.input),
  };
}

const flooded = [
  ...Object.entries(localChats)
    .map(([name, make]) => ({ name, chat: make() }))
    .filter(({ chat }) => chat.forgeries !== undefined)
    .map(({ name, chat }) => ({ name, source: ofChat(chat) })),
  ...Object.entries(localRepoHosts).map(([name, make]) => ({ name, source: ofRepoHost(name, make()) })),
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

/** Of the whole process until now. */
function cpuMs(): number {
  const stat = readFileSync(`/proc/${gateway.pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  // User and system time, in hundredths of a second.
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

function residentMiB(): number {
  const status = readFileSync(`/proc/${gateway.pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
}

describe.each(flooded)('$name', ({ name, source }) => {
  test('a flood of forged requests costs little each, keeps nothing, and holds up nobody', async () => {
    const forgeries = await source.forgeries(`${name} forged`);
    const statuses = new Map<string, number>();
    let sent = 0;
    const flood = async (count: number) => {
      while (sent < count) {
        const n = sent++;
        const forgery = forgeries[n % forgeries.length];
        if (forgery === undefined) return;
        const body = n % 10 === 0 ? forgery.body + PADDING : forgery.body;
        const status = await postForgery(`${gateway.url}/webhook/${name}`, { ...forgery, body });
        statuses.set(`${status} ${forgery.what}`, status);
      }
    };
    // Keys are fetched, and what is compiled late is compiled.
    await flood(50);
    const before = { cpu: cpuMs(), mib: residentMiB() };
    const waited: number[] = [];
    const senders = Promise.all(Array.from({ length: SENDERS }, () => flood(REQUESTS)));
    let isOver = false;
    const ended = senders.finally(() => {
      isOver = true;
    });
    do {
      const begun = performance.now();
      await source.say(`real ${waited.length}`);
      waited.push(performance.now() - begun);
    } while (!isOver && waited.length < 5);
    await ended;
    const cost = {
      cpuMs: (cpuMs() - before.cpu) / REQUESTS,
      grownMiB: residentMiB() - before.mib,
      waitedMs: Math.max(...waited),
    };
    expect([...statuses].filter(([, status]) => status !== 401)).toEqual([]);
    for (const [what, most] of Object.entries(MOST))
      expect(cost[what as keyof typeof cost], what).toBeLessThan(most);
    await eventually(() => expect(source.answers()).toHaveLength(waited.length));
    const heard = program.requests.map(({ body }) => JSON.stringify([body.input, body.parameters]));
    expect(heard.filter((each) => each.includes(`${name} forged`))).toEqual([]);
  });
});
