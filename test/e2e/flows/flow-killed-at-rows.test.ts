// Flows with all node types. The gateway is killed at commits of journal rows: before the commit, when the
// effect of the row has happened, and at every sixth row after it, before the next effect. A property test of
// the engine covers both at all rows, in memory.

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
import { waitUntilIdle } from '../../fixtures/automation/killed.ts';
import type { BotPlatform } from '../../fixtures/bot-platform/bot-platform.ts';
import { ask } from '../../fixtures/clients/api-client.ts';
import { type GatewayProcess, temporaryFolder } from '../../fixtures/gateway/gateway-process.ts';

const preload = pathToFileURL(join(import.meta.dirname, '../../fixtures/store/killed-at-row.mjs'));
const AT_ONCE = 4;
/**
 * `npm test` kills at every third commit, at different ones for the two flows. `all` covers every commit, but
 * is slow.
 */
const EVERY = process.env.ACTOR_GATEWAY_KILLS === 'all' ? 1 : 3;
/** Polling interval. Most time passes in pauses that follow a crash. */
const POLL_MS = 100;

interface ReceivedRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
}

let platform: BotPlatform;
let program: AgentProgram;
let tools: ReportedCalls;
let site: Server;
const requests: ReceivedRequest[] = [];

beforeAll(async () => {
  platform = await newPlatform();
  program = await startAgent(({ body }) => ({ text: `of ${body.input}`, data: { verdict: 'ship' } }));
  tools = await ReportedCalls.start();
  site = createServer((request, response) => {
    requests.push({ path: request.url ?? '', headers: request.headers });
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

/** Nodes that call an agent, a fleet, tools and a URL. */
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

/** Nodes that wait, branch and loop, with messages between them. */
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

/** Approves all questions until the process exits. */
async function approveAll(gateway: GatewayProcess): Promise<void> {
  let isOver = false;
  const end = gateway.exited.then(() => {
    isOver = true;
  });
  while (!isOver) {
    try {
      const { json } = await ask(`${gateway.url}/approvals?state=pending`);
      for (const { id } of json.approvals)
        await ask(`${gateway.url}/approvals/${id}/approve`, { method: 'POST' });
    } catch {
      // The process is being killed.
    }
    await Promise.race([end, new Promise((resolve) => setTimeout(resolve, POLL_MS))]);
  }
}

interface FlowOutcome {
  /** Number of commits of the first process. */
  readonly commits: number;
  readonly said: readonly (string | undefined)[];
  readonly approvals: number;
  /** Requests of this flow, each with receiver and key. */
  readonly asked: readonly { readonly what: string; readonly key: string }[];
}

let count = 0;

/** Runs a flow that a chat command starts: in a process that is killed, then in the next process. */
async function runWithKill(specOf: (own: string) => object, at: string): Promise<FlowOutcome> {
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
    // A message whose response was lost may be sent a second time.
    await waitUntilIdle(gateway);
    await gateway.stop('SIGKILL');
  }
  await gateway.exited;
  await approving;
  gateway = await startAutomation({ folder, servers: { shop } });
  const approvingAgain = approveAll(gateway);
  await hasEnded(gateway);
  await waitUntilIdle(gateway);
  const approvals = (await ask(`${gateway.url}/approvals`)).json.approvals.length;
  const errors = gateway.logs().filter(({ level }) => level === 'error');
  await gateway.stop('SIGKILL');
  await approvingAgain;
  expect([at, errors]).toEqual([at, []]);
  const commits = existsSync(committed) ? readFileSync(committed, 'utf8').trim().split('\n').length : 0;
  return { commits, said: texts(platform, bot, chat), approvals, asked: requestsFor(own) };
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
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

function requestsFor(own: string): FlowOutcome['asked'] {
  const ofAgent = program.requests.map(({ body, headers }) => ({
    what: body.input,
    key: headers['idempotency-key'],
  }));
  const ofSite = requests.map(({ path, headers }) => ({ what: path, key: headers['idempotency-key'] }));
  const ofTools = tools.calls.map(({ tool, args, key }) => ({ what: `${tool} ${args.of}`, key }));
  return [...ofAgent, ...ofSite, ...ofTools].flatMap(({ what, key }) =>
    what.split(/[ /]/).includes(own)
      ? [{ what: what.replace(own, '').replace('//', '/').trim(), key: String(key) }]
      : [],
  );
}

/** Number of keys and number of requests, per receiver. */
function timesOf(
  requests: FlowOutcome['asked'],
): Readonly<Record<string, readonly [keys: number, times: number]>> {
  const whats = [...new Set(requests.map(({ what }) => what))].sort();
  return Object.fromEntries(
    whats.map((receiver) => {
      const keys = requests.flatMap((each) => (each.what === receiver ? [each.key] : []));
      return [receiver, [new Set(keys).size, keys.length]];
    }),
  );
}

const ONCE = [1, 1];
const onceOrTwice = (keys = 1) => [
  keys,
  expect.toSatisfy((times: number) => times >= keys && times <= 2 * keys),
];

/** Runs the flow undisturbed, then with a kill at each commit, several flows in parallel. */
async function atEachCommit(
  specOf: (own: string) => object,
  judge: (at: string, result: FlowOutcome) => void,
): Promise<void> {
  const calm = await runWithKill(specOf, 'never');
  judge('never', calm);
  const commits = Array.from({ length: calm.commits }, (_, n) => n + 1);
  const chosen = commits.filter((n) => n % EVERY === calm.commits % EVERY);
  const killPoints = chosen.flatMap((n) => (n % 6 === 0 ? [`before ${n}`, `after ${n}`] : [`before ${n}`]));
  const next = killPoints.values();
  const workers = Array.from({ length: AT_ONCE }, async () => {
    for (const at of next) judge(at, await runWithKill(specOf, at));
  });
  await Promise.all(workers);
}

/** For a busy machine. */
const TIMEOUT_MS = 240_000;

describe('a flow killed at each journal row completes', { timeout: TIMEOUT_MS }, () => {
  test('with one idempotency key per request to agents, fleets, tools and URLs', () =>
    atEachCommit(asking, (at, { asked, said }) => {
      const { pay = [0, 0], ...others } = timesOf(asked);
      const again = at === 'never' ? (keys = 1) => [keys, keys] : onceOrTwice;
      expect([at, others]).toEqual([
        at,
        { check: again(), look: again(), '/order': again(), vote: again(3) },
      ]);
      // A call whose outcome is unknown is not repeated.
      expect([at, pay]).toEqual([at, at === 'never' ? ONCE : expect.toBeOneOf([[0, 0], ONCE])]);
      expect([at, said]).toEqual([at, ['asked: done']]);
    }));

  test('with one approval request, all messages, and a separate key per loop iteration', () =>
    atEachCommit(waiting, (at, { asked, said, approvals }) => {
      const again = at === 'never' ? ONCE : onceOrTwice();
      expect([at, timesOf(asked)]).toEqual([at, { '/turn/1': again, '/turn/2': again }]);
      expect([at, approvals]).toEqual([at, 1]);
      const [question, ...others] = said.filter((text) => text?.startsWith('Approval of a step'));
      expect([at, question, others]).toEqual([at, expect.stringContaining('Approved by an operator'), []]);
      // It is unknown whether a message in transit at the kill was delivered.
      const messages = said.filter((text) => text !== question);
      expect([at, new Set(messages)]).toEqual([at, new Set(['begun', 'approved: approved, 2 turns'])]);
      expect([at, messages.length]).toEqual([at, at === 'never' ? 2 : expect.toBeOneOf([2, 3])]);
    }));
});
