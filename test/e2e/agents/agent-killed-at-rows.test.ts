// An agent run in a chat, with the gateway killed at each commit of journal rows: immediately before and
// immediately after. The next process has only the content of the disk. Each kill is deterministic.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { JournalRow } from '../../../machines/agent-run/journal.ts';
import {
  answersSoFar,
  expectRunState,
  MODEL,
  requestMessages,
  requestToolResults,
  runsOf,
  startModelGateway,
} from '../../fixtures/agents/model-gateway.ts';
import { ReportedCalls } from '../../fixtures/agents/reported-calls.ts';
import { storedRowsIn } from '../../fixtures/agents/stored-rows.ts';
import { agent, eventually } from '../../fixtures/automation/automation.ts';
import { botTrigger, newPlatform } from '../../fixtures/automation/bots.ts';
import { waitUntilIdle } from '../../fixtures/automation/killed.ts';
import type { BotPlatform } from '../../fixtures/bot-platform/bot-platform.ts';
import { ask } from '../../fixtures/clients/api-client.ts';
import { type GatewayProcess, temporaryFolder } from '../../fixtures/gateway/gateway-process.ts';
import { ModelServer } from '../../fixtures/models/model-server.ts';
import type { RecordedRequest } from '../../fixtures/models/protocols/protocol.ts';

/**
 * Number of commits: the start; the first answer with two calls that need no approval; the results and the
 * question; the decision and the approved call; the result; the last answer; the completion.
 */
const COMMITS = 7;
const AT_ONCE = 4;
const preload = pathToFileURL(join(import.meta.dirname, '../../fixtures/store/killed-at-row.mjs'));

let model: ModelServer;
let desk: ReportedCalls;
let shop: ReportedCalls;
let platform: BotPlatform;

const wordsIn = (request: RecordedRequest) =>
  requestMessages(request).findLast(({ role }) => role === 'user')?.content ?? '';

beforeAll(async () => {
  [desk, shop] = [await ReportedCalls.start(), await ReportedCalls.start()];
  platform = await newPlatform();
  model = (await ModelServer.start()).answerWith((request) => {
    const words = wordsIn(request);
    if (answersSoFar(request) > 0) return { text: `${words}: ${requestToolResults(request).join(' | ')}` };
    const input = { for: words };
    return { calls: ['shop__look', 'shop__pay', 'desk__pay'].map((name) => ({ name, input })) };
  });
});

afterAll(async () => {
  desk[Symbol.dispose]();
  shop[Symbol.dispose]();
});

const rowsOfKind = <K extends JournalRow['kind']>(rows: readonly JournalRow[], kind: K) =>
  rows.filter((row): row is Extract<JournalRow, { readonly kind: K }> => row.kind === kind);

/** Approves each question until the process exits. */
async function approveAll(gateway: GatewayProcess): Promise<void> {
  let hasEnded = false;
  const end = gateway.exited.then(() => {
    hasEnded = true;
  });
  while (!hasEnded) {
    try {
      const { json } = await ask(`${gateway.url}/approvals?state=pending`);
      for (const { id } of json.approvals)
        await ask(`${gateway.url}/approvals/${id}/approve`, { method: 'POST' });
    } catch {
      // The process is being killed.
    }
    await Promise.race([end, new Promise((resolve) => setTimeout(resolve, 20))]);
  }
}

/** Calls made for this input, by the tool names of the model. */
function callsFor(words: string): readonly { readonly name: string; readonly key: string }[] {
  const named = (server: string, { calls }: ReportedCalls) =>
    calls
      .filter(({ args }) => args.for === words)
      .map(({ tool, key }) => ({ name: `${server}__${tool}`, key }));
  return [...named('shop', shop), ...named('desk', desk)];
}

/**
 * Runs a process until it is killed, and then the next process. Returns the number of commits of the first.
 */
async function runWithKill(at: string): Promise<number> {
  const words = `at ${at}`;
  const folder = temporaryFolder();
  const bot = platform.addBot(`${words.replaceAll(' ', '_')}_bot`);
  const person = platform.person(words);
  const chat = platform.privateChat(person, bot);
  const committed = join(folder, 'committed');
  const clerk = agent('clerk', {
    model: MODEL,
    mcp_servers: [shop.entry('shop'), desk.entry('desk')],
    policy: { ask: ['desk/pay'], approvers: ['boss'] },
  });
  let gateway = await startModelGateway(model, {
    folder,
    resources: [botTrigger('chat', platform, bot, { agent: 'clerk' }), clerk],
    env: { NODE_OPTIONS: `--import ${preload}`, KILLED_AT: at, COMMITTED: committed },
  });
  platform.say(chat, person, words);
  const approving = approveAll(gateway);
  if (at === 'never') {
    await eventually(async () => expect((await runsOf(gateway, 'clerk'))[0]?.state).toBe('done'));
    // Sent messages that have no stored acknowledgement would be sent twice.
    await waitUntilIdle(gateway);
    await gateway.stop('SIGKILL');
  }
  await gateway.exited;
  await approving;
  const storedRows = storedRowsIn(folder);
  const requestCount = model.requests.filter((each) => wordsIn(each) === words).length;

  gateway = await startModelGateway(model, { folder });
  const madeCallIds = callsFor(words).map(({ key }) => key.split('/').at(-1));
  const approvingAgain = approveAll(gateway);
  const run = await eventually(async () => {
    const runs = await runsOf(gateway, 'clerk');
    expect(runs.map(({ state }) => state)).toEqual(['done']);
    return expectRunState(gateway, runs[0]?.id ?? '', 'done');
  });
  await waitUntilIdle(gateway);
  const sentTexts = platform
    .messagesBy(bot, chat)
    .flatMap(({ text = '' }) => (text.startsWith(words) ? [text] : []));
  const approvals = (await ask(`${gateway.url}/approvals`)).json.approvals;
  const errors = gateway.logs().filter(({ level }) => level === 'error');
  await gateway.stop();
  await approvingAgain;
  const rows = storedRowsIn(folder);

  // The next process reads the stored rows, and repeats none of their steps.
  expect([at, rows.slice(0, storedRows.length)]).toEqual([at, storedRows]);
  const answers = rowsOfKind(storedRows, 'answer').length;
  const requests = model.requests.filter((each) => wordsIn(each) === words);
  expect([at, requests.slice(0, requestCount).map(answersSoFar)]).toEqual([
    at,
    [0, 1].slice(0, requestCount),
  ]);
  expect([at, requests.slice(requestCount).map(answersSoFar)]).toEqual([at, [0, 1].slice(answers)]);
  expect([at, rowsOfKind(rows, 'answer').map(({ iteration }) => iteration)]).toEqual([at, [1, 2]]);
  for (const kind of ['begun', 'asked', 'decided', 'ended'] as const)
    expect([at, kind, rowsOfKind(rows, kind).length]).toEqual([at, kind, 1]);
  expect([at, approvals.length]).toEqual([at, 1]);

  // A call starts only when the row is durable, under one key. A call with effects runs at most once.
  const startedCalls = rowsOfKind(storedRows, 'called').map(({ id }) => id);
  for (const id of madeCallIds) expect([at, startedCalls]).toEqual([at, expect.arrayContaining([id])]);
  const keys = new Map<string, Set<string>>();
  for (const { name, key } of callsFor(words)) keys.set(name, (keys.get(name) ?? new Set()).add(key));
  expect([at, [...keys.values()].map(({ size }) => size)]).toEqual([at, [...keys.values()].map(() => 1)]);
  const results = rowsOfKind(storedRows, 'result').map(({ id }) => id);
  for (const { id, name } of rowsOfKind(rows, 'answer').flatMap(({ calls }) => calls)) {
    const times = callsFor(words).filter((each) => each.name === name).length;
    const wasCut = startedCalls.includes(id) && !results.includes(id);
    if (name === 'shop__look')
      expect([at, name, times]).toEqual([at, name, expect.toBeOneOf(wasCut ? [1, 2] : [1])]);
    else expect([at, name, times]).toEqual([at, name, wasCut ? expect.toBeOneOf([0, 1]) : 1]);
    const { text = '' } = rowsOfKind(rows, 'result').find((row) => row.id === id) ?? {};
    if (wasCut && name !== 'shop__look')
      expect([at, text]).toEqual([at, expect.stringContaining('Outcome unknown')]);
    else expect([at, text]).toEqual([at, `${name.split('__')[1]} done`]);
  }

  // The requester receives the answer once.
  expect([at, sentTexts]).toEqual([at, [run.answer]]);
  expect([at, errors]).toEqual([at, []]);
  return existsSync(committed) ? readFileSync(committed, 'utf8').trim().split('\n').length : 0;
}

test('an agent run killed at any journal commit repeats no stored step, has one idempotency key per call, and answers once', async () => {
  expect(await runWithKill('never')).toBe(COMMITS);
  const killPoints = Array.from({ length: COMMITS }, (_, n) => [`before ${n + 1}`, `after ${n + 1}`]).flat();
  const next = killPoints.values();
  const workers = Array.from({ length: AT_ONCE }, async () => {
    for (const at of next) {
      const commits = Number(at.split(' ')[1]);
      expect([at, await runWithKill(at)]).toEqual([at, at.startsWith('before') ? commits - 1 : commits]);
    }
  });
  await Promise.all(workers);
});
