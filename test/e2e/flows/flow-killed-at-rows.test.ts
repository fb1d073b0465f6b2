// Flows with every type of node, and a gateway that is killed at each commit that has rows of their journals: right before it is made, when
// what it is about has happened in the world, and at every sixth right after, when nothing has yet that follows from it. Both at every row
// are a property of the engine, without processes.

import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ReportedCalls } from '../../fixtures/agents/reported-calls.ts';
import {
  type AgentProgram,
  fleet,
  flow,
  httpAgent,
  startAgent,
  startAutomation,
} from '../../fixtures/automation/automation.ts';
import { botTrigger, newPlatform, texts } from '../../fixtures/automation/bots.ts';
import { atRest } from '../../fixtures/automation/killed.ts';
import type { BotPlatform } from '../../fixtures/bot-platform/bot-platform.ts';
import { ask } from '../../fixtures/clients/api-client.ts';
import { type GatewayProcess, temporaryFolder } from '../../fixtures/gateway/gateway-process.ts';

const preload = pathToFileURL(join(import.meta.dirname, '../../fixtures/store/killed-at-row.mjs'));
const AT_ONCE = 4;
/** `npm test` kills at every third commit, each time at others of the two flows; `all` takes its time. */
const EVERY = process.env.ACTOR_GATEWAY_KILLS === 'all' ? 1 : 3;
/** Seldom: most of a life is the pause after a crash. */
const LOOK_MS = 100;

interface Heard {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
}

let platform: BotPlatform;
let program: AgentProgram;
let tools: ReportedCalls;
let site: Server;
const heard: Heard[] = [];

beforeAll(async () => {
  platform = await newPlatform();
  program = await startAgent(({ body }) => ({ text: `of ${body.input}`, data: { verdict: 'ship' } }));
  tools = await ReportedCalls.start();
  site = createServer((request, response) => {
    heard.push({ path: request.url ?? '', headers: request.headers });
    request.resume().on('end', () => response.end('{"isUp":true}'));
  });
  site.listen(0, '127.0.0.1');
  await once(site, 'listening');
});

afterAll(() => {
  tools[Symbol.dispose]();
  site.close().closeAllConnections();
});

const siteUrl = () => `http://127.0.0.1:${(site.address() as AddressInfo).port}`;

const node = (id: string, type: string, config: object = {}, more: object = {}) => ({
  id,
  type,
  config,
  ...more,
});
const chain = (...ids: readonly string[]) => ids.slice(1).map((to, index) => ({ from: ids[index], to }));
const post = (id: string, path: string) =>
  node(id, 'HTTP', { method: 'POST', url: `${siteUrl()}/${path}`, body: {} });

const three = {
  agents: ['ann', 'ben', 'eve'].map((name) => ({ name, agent: 'clerk' })),
  coordination: { mode: 'peer', consensus: { field: 'verdict', algorithm: 'unanimous' } },
};

/** What asks others: an agent, a fleet, tools, an address. */
const asking = (own: string) => ({
  nodes: [
    node('check', 'Agent', { agent: 'clerk', input: `check ${own}` }),
    node('vote', 'Fleet', { fleet: 'three', input: `vote ${own}` }),
    node('look', 'Tool', {
      server: 'shop',
      tool: 'look',
      arguments: { of: own },
    }),
    node('pay', 'Tool', { server: 'shop', tool: 'pay', arguments: { of: own } }, { on_error: 'order' }),
    post('order', `${own}/order`),
    node('told', 'Response', { text: 'asked: {{ steps.order.state }}' }),
  ],
  connections: chain('check', 'vote', 'look', 'pay', 'order', 'told'),
});

/** What waits, chooses and repeats, with words on the way. */
const waiting = (own: string) => ({
  nodes: [
    node('start', 'Transform', { set: { sums: [1, 2] } }),
    node('begun', 'Response', { text: 'begun' }),
    node('each', 'Loop', {
      over: 'steps.start.output.sums',
      nodes: [post('in', `${own}/turn/{{ item }}`)],
    }),
    node('fork', 'Parallel'),
    node('soak', 'Wait', { seconds: 0.05 }),
    node('ask', 'Approval', { message: 'Go on?', approvers: ['boss'] }),
    node('join', 'Join'),
    node('which', 'Conditional'),
    node('told', 'Response', {
      text: 'approved: {{ steps.ask.output.decision }}, {{ steps.each.output.count }} turns',
    }),
    node('never', 'Response', { text: 'this is said by nobody' }),
    node('end', 'End', { output: '{{ steps.each.output.count }}' }),
  ],
  connections: [
    ...chain('start', 'begun', 'each', 'fork', 'soak', 'join'),
    ...chain('fork', 'ask', 'join', 'which'),
    { from: 'which', to: 'told', when: "steps.ask.output.decision == 'approved'" },
    { from: 'which', to: 'never', when: 'else' },
    { from: 'told', to: 'end' },
  ],
});

/** People say yes as soon as they are asked, for as long as the process lives. */
async function approveAll(gateway: GatewayProcess): Promise<void> {
  let isOver = false;
  const ended = gateway.exited.then(() => {
    isOver = true;
  });
  while (!isOver) {
    try {
      const { json } = await ask(`${gateway.url}/approvals?state=pending`);
      for (const { id } of json.approvals)
        await ask(`${gateway.url}/approvals/${id}/approve`, { method: 'POST' });
    } catch {
      // It is being killed.
    }
    await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, LOOK_MS))]);
  }
}

interface Lived {
  /** Of the first of its processes. */
  readonly commits: number;
  readonly said: readonly (string | undefined)[];
  readonly approvals: number;
  /** What was asked for this flow: of whom, and under which key. */
  readonly asked: readonly { readonly what: string; readonly key: string }[];
}

let count = 0;

/** One flow that begins with a command in a chat, by a process that is killed then, and the one after it. */
async function lived(specOf: (own: string) => object, at: string): Promise<Lived> {
  const own = `f${++count}`;
  const folder = temporaryFolder();
  const bot = platform.addBot(`${own}_bot`);
  const person = platform.person(own);
  const chat = platform.privateChat(person, bot);
  const { name: _, ...shop } = tools.entry('shop');
  const committed = join(folder, 'committed');
  platform.say(chat, person, '/go');
  let gateway = await startAutomation({
    folder,
    servers: { shop },
    resources: [
      botTrigger('chat', platform, bot, { commands: { '/go': { flow: 'all' } }, agent: 'clerk' }),
      httpAgent('clerk', program.url),
      fleet('three', three),
      flow('all', specOf(own) as Readonly<Record<string, unknown>>),
    ],
    env: { NODE_OPTIONS: `--import ${preload}`, KILLED_AT: at, COMMITTED: committed },
  });
  const approving = approveAll(gateway);
  if (at === 'never') {
    await hasEnded(gateway);
    // A message whose answer a kill has cut off may be sent again.
    await atRest(gateway);
    await gateway.stop('SIGKILL');
  }
  await gateway.exited;
  await approving;
  gateway = await startAutomation({ folder, servers: { shop } });
  const approvingAgain = approveAll(gateway);
  await hasEnded(gateway);
  await atRest(gateway);
  const approvals = (await ask(`${gateway.url}/approvals`)).json.approvals.length;
  const errors = gateway.logs().filter(({ level }) => level === 'error');
  await gateway.stop('SIGKILL');
  await approvingAgain;
  expect([at, errors]).toEqual([at, []]);
  const commits = existsSync(committed) ? readFileSync(committed, 'utf8').trim().split('\n').length : 0;
  return { commits, said: texts(platform, bot, chat), approvals, asked: askedFor(own) };
}

async function hasEnded(gateway: GatewayProcess): Promise<void> {
  const deadline = performance.now() + 60_000;
  for (;;) {
    const { runs } = (await ask(`${gateway.url}/runs`)).json as {
      readonly runs: readonly { readonly state: string }[];
    };
    const states = runs.map(({ state }) => state);
    if (states.length === 1 && states[0] === 'done') return;
    if (performance.now() > deadline) throw new Error(`it has not come to its end: ${states.join()}`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}

function askedFor(own: string): Lived['asked'] {
  const ofAgent = program.requests.map(({ body, headers }) => ({
    what: body.input,
    key: headers['idempotency-key'],
  }));
  const ofSite = heard.map(({ path, headers }) => ({ what: path, key: headers['idempotency-key'] }));
  const ofTools = tools.calls.map(({ tool, args, key }) => ({ what: `${tool} ${args.of}`, key }));
  return [...ofAgent, ...ofSite, ...ofTools].flatMap(({ what, key }) =>
    what.split(/[ /]/).includes(own)
      ? [{ what: what.replace(own, '').replace('//', '/').trim(), key: String(key) }]
      : [],
  );
}

/** How often each was asked; each under keys of its own, so many. */
function timesOf(asked: Lived['asked']): Readonly<Record<string, readonly [keys: number, times: number]>> {
  const whats = [...new Set(asked.map(({ what }) => what))].sort();
  return Object.fromEntries(
    whats.map((what) => {
      const keys = asked.flatMap((each) => (each.what === what ? [each.key] : []));
      return [what, [new Set(keys).size, keys.length]];
    }),
  );
}

const ONCE = [1, 1];
const perhapsAgain = (keys = 1) => [
  keys,
  expect.toSatisfy((times: number) => times >= keys && times <= 2 * keys),
];

/** What the flow does when nobody kills it, and then with a kill at each of its commits, so many flows at a time. */
async function atEachCommit(
  specOf: (own: string) => object,
  judge: (at: string, lived: Lived) => void,
): Promise<void> {
  const calm = await lived(specOf, 'never');
  judge('never', calm);
  const commits = Array.from({ length: calm.commits }, (_, n) => n + 1);
  const chosen = commits.filter((n) => n % EVERY === calm.commits % EVERY);
  const places = chosen.flatMap((n) => (n % 6 === 0 ? [`before ${n}`, `after ${n}`] : [`before ${n}`]));
  const next = places.values();
  const worked = Array.from({ length: AT_ONCE }, async () => {
    for (const at of next) judge(at, await lived(specOf, at));
  });
  await Promise.all(worked);
}

/** Of a machine that has much else to do. */
const TIMEOUT_MS = 240_000;

describe('killed at each of its rows, a flow comes to its end', { timeout: TIMEOUT_MS }, () => {
  test('and asks agents, fleets, tools and addresses under one key each', () =>
    atEachCommit(asking, (at, { asked, said }) => {
      const { pay = [0, 0], ...others } = timesOf(asked);
      const again = at === 'never' ? (keys = 1) => [keys, keys] : perhapsAgain;
      expect([at, others]).toEqual([
        at,
        { check: again(), look: again(), '/order': again(), vote: again(3) },
      ]);
      // One of which nobody knows whether it has happened is not made again.
      expect([at, pay]).toEqual([at, at === 'never' ? ONCE : expect.toBeOneOf([[0, 0], ONCE])]);
      expect([at, said]).toEqual([at, ['asked: done']]);
    }));

  test('and says each word once, asks people once, waits, and takes each turn of a loop under a key of its own', () =>
    atEachCommit(waiting, (at, { asked, said, approvals }) => {
      const again = at === 'never' ? ONCE : perhapsAgain();
      expect([at, timesOf(asked)]).toEqual([at, { '/turn/1': again, '/turn/2': again }]);
      expect([at, approvals]).toEqual([at, 1]);
      const [question, ...others] = said.filter((text) => text?.startsWith('Approval of a step'));
      expect([at, question, others]).toEqual([at, expect.stringContaining('Approved by an operator'), []]);
      // Whether a message has arrived that was on its way at the kill, nobody knows.
      const words = said.filter((text) => text !== question);
      expect([at, new Set(words)]).toEqual([at, new Set(['begun', 'approved: approved, 2 turns'])]);
      expect([at, words.length]).toEqual([at, at === 'never' ? 2 : expect.toBeOneOf([2, 3])]);
    }));
});
