// The run of an agent in a chat, and a gateway that is killed at each commit that has rows of its journal: right before it is made, and
// right after. What is on disk then is all that the next process has. No kill is left to chance.

import { cpSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import Database from 'libsql';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { JournalRow } from '../../../machines/agent-run/journal.ts';
import {
  answersSoFar,
  MODEL,
  runIs,
  runsOf,
  startModelGateway,
  toldMessages,
  toldResults,
} from '../../fixtures/agents/model-gateway.ts';
import { ReportedCalls } from '../../fixtures/agents/reported-calls.ts';
import { agent, eventually } from '../../fixtures/automation/automation.ts';
import { botTrigger, newPlatform } from '../../fixtures/automation/bots.ts';
import { atRest } from '../../fixtures/automation/killed.ts';
import type { BotPlatform } from '../../fixtures/bot-platform/bot-platform.ts';
import { ask } from '../../fixtures/clients/api-client.ts';
import { type GatewayProcess, temporaryFolder } from '../../fixtures/gateway/gateway-process.ts';
import { ModelServer } from '../../fixtures/models/model-server.ts';
import type { RecordedRequest } from '../../fixtures/models/protocols/protocol.ts';

/**
 * What it comes to, in this order: begun; the first answer with its two calls that need nobody; their results, with the question to people;
 * the decision, with the call that it is about; its result; the last answer; the end.
 */
const COMMITS = 7;
const AT_ONCE = 4;
const preload = pathToFileURL(join(import.meta.dirname, '../../fixtures/store/killed-at-row.mjs'));

let model: ModelServer;
let desk: ReportedCalls;
let shop: ReportedCalls;
let platform: BotPlatform;

const wordsIn = (request: RecordedRequest) =>
  toldMessages(request).findLast(({ role }) => role === 'user')?.content ?? '';

beforeAll(async () => {
  [desk, shop] = [await ReportedCalls.start(), await ReportedCalls.start()];
  platform = await newPlatform();
  model = (await ModelServer.start()).answerWith((request) => {
    const words = wordsIn(request);
    if (answersSoFar(request) > 0) return { text: `${words}: ${toldResults(request).join(' | ')}` };
    const input = { for: words };
    return { calls: ['shop__look', 'shop__pay', 'desk__pay'].map((name) => ({ name, input })) };
  });
});

afterAll(async () => {
  desk[Symbol.dispose]();
  shop[Symbol.dispose]();
});

/** What the store of a process that has ended has of the journal. Of a copy: the driver keeps its lock for a while. */
function keptIn(folder: string): readonly JournalRow[] {
  const copy = temporaryFolder();
  cpSync(join(folder, '.gateway'), copy, { recursive: true });
  const store = new Database(join(copy, 'store.sqlite'));
  const rows = store.prepare('SELECT text FROM step ORDER BY seq, n').all() as { readonly text: string }[];
  store.close();
  return rows.map(({ text }) => JSON.parse(text) as JournalRow);
}

const ofKind = <K extends JournalRow['kind']>(rows: readonly JournalRow[], kind: K) =>
  rows.filter((row): row is Extract<JournalRow, { readonly kind: K }> => row.kind === kind);

/** People say yes as soon as they are asked, for as long as the process lives. */
async function approveAll(gateway: GatewayProcess): Promise<void> {
  let hasEnded = false;
  const ended = gateway.exited.then(() => {
    hasEnded = true;
  });
  while (!hasEnded) {
    try {
      const { json } = await ask(`${gateway.url}/approvals?state=pending`);
      for (const { id } of json.approvals)
        await ask(`${gateway.url}/approvals/${id}/approve`, { method: 'POST' });
    } catch {
      // It is being killed.
    }
    await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 20))]);
  }
}

/** The calls that were made for these words, by the names that the model has for them. */
function madeFor(words: string): readonly { readonly name: string; readonly key: string }[] {
  const named = (server: string, { calls }: ReportedCalls) =>
    calls
      .filter(({ args }) => args.for === words)
      .map(({ tool, key }) => ({ name: `${server}__${tool}`, key }));
  return [...named('shop', shop), ...named('desk', desk)];
}

/** One run, by a process that is killed then, and the one after it. Gives how many commits the first has made. */
async function lived(at: string): Promise<number> {
  const words = `at ${at}`;
  const folder = temporaryFolder();
  const bot = platform.addBot(`${words.replaceAll(' ', '_')}_bot`);
  const person = platform.person(words);
  const chat = platform.privateChat(person, bot);
  const committed = join(folder, 'committed');
  const clerk = agent('clerk', {
    ...{ model: MODEL, mcp_servers: [shop.entry('shop'), desk.entry('desk')] },
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
    // What was sent, and not yet noted as sent, would be sent again.
    await atRest(gateway);
    await gateway.stop('SIGKILL');
  }
  await gateway.exited;
  await approving;
  const kept = keptIn(folder);
  const asked = model.requests.filter((each) => wordsIn(each) === words).length;

  gateway = await startModelGateway(model, { folder });
  const made = madeFor(words).map(({ key }) => key.split('/').at(-1));
  const approvingAgain = approveAll(gateway);
  const run = await eventually(async () => {
    const runs = await runsOf(gateway, 'clerk');
    expect(runs.map(({ state }) => state)).toEqual(['done']);
    return runIs(gateway, runs[0]?.id ?? '', 'done');
  });
  await atRest(gateway);
  const said = platform.saidBy(bot, chat).flatMap(({ text = '' }) => (text.startsWith(words) ? [text] : []));
  const approvals = (await ask(`${gateway.url}/approvals`)).json.approvals;
  const errors = gateway.logs().filter(({ level }) => level === 'error');
  await gateway.stop();
  await approvingAgain;
  const rows = keptIn(folder);

  // What was there is read back, and nothing of it done again.
  expect([at, rows.slice(0, kept.length)]).toEqual([at, kept]);
  const answers = ofKind(kept, 'answer').length;
  const requests = model.requests.filter((each) => wordsIn(each) === words);
  expect([at, requests.slice(0, asked).map(answersSoFar)]).toEqual([at, [0, 1].slice(0, asked)]);
  expect([at, requests.slice(asked).map(answersSoFar)]).toEqual([at, [0, 1].slice(answers)]);
  expect([at, ofKind(rows, 'answer').map(({ iteration }) => iteration)]).toEqual([at, [1, 2]]);
  for (const kind of ['begun', 'asked', 'decided', 'ended'] as const)
    expect([at, kind, ofKind(rows, kind).length]).toEqual([at, kind, 1]);
  expect([at, approvals.length]).toEqual([at, 1]);

  // Nothing is called before that is durable, nor under two keys; what has effects is called at most once.
  const begun = ofKind(kept, 'called').map(({ id }) => id);
  for (const id of made) expect([at, begun]).toEqual([at, expect.arrayContaining([id])]);
  const keys = new Map<string, Set<string>>();
  for (const { name, key } of madeFor(words)) keys.set(name, (keys.get(name) ?? new Set()).add(key));
  expect([at, [...keys.values()].map(({ size }) => size)]).toEqual([at, [...keys.values()].map(() => 1)]);
  const results = ofKind(kept, 'result').map(({ id }) => id);
  for (const { id, name } of ofKind(rows, 'answer').flatMap(({ calls }) => calls)) {
    const times = madeFor(words).filter((each) => each.name === name).length;
    const wasCut = begun.includes(id) && !results.includes(id);
    if (name === 'shop__look')
      expect([at, name, times]).toEqual([at, name, expect.toBeOneOf(wasCut ? [1, 2] : [1])]);
    else expect([at, name, times]).toEqual([at, name, wasCut ? expect.toBeOneOf([0, 1]) : 1]);
    const { text = '' } = ofKind(rows, 'result').find((row) => row.id === id) ?? {};
    if (wasCut && name !== 'shop__look')
      expect([at, text]).toEqual([at, expect.stringContaining('No result is known')]);
    else expect([at, text]).toEqual([at, `${name.split('__')[1]} done`]);
  }

  // Whoever asked has the answer, once.
  expect([at, said]).toEqual([at, [run.answer]]);
  expect([at, errors]).toEqual([at, []]);
  return existsSync(committed) ? readFileSync(committed, 'utf8').trim().split('\n').length : 0;
}

test('killed right before and right after each commit of its journal, a run asks its model once for each row, calls nothing under two keys, and answers once', async () => {
  expect(await lived('never')).toBe(COMMITS);
  const places = Array.from({ length: COMMITS }, (_, n) => [`before ${n + 1}`, `after ${n + 1}`]).flat();
  const next = places.values();
  const worked = Array.from({ length: AT_ONCE }, async () => {
    for (const at of next) {
      const commits = Number(at.split(' ')[1]);
      expect([at, await lived(at)]).toEqual([at, at.startsWith('before') ? commits - 1 : commits]);
    }
  });
  await Promise.all(worked);
});
