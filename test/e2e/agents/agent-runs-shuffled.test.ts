// Runs that ask people, and everything that may come between two of their steps, in an order by chance: decisions, times that are over,
// cancels, reloads with other definitions, stops and kills of the program as it is shipped.

import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  answersSoFar,
  MODEL,
  type RunRecord,
  runAt,
  startModelGateway,
  toldMessages,
} from '../../fixtures/agents/model-gateway.ts';
import { ReportedCalls } from '../../fixtures/agents/reported-calls.ts';
import { agent, eventually, writeResources } from '../../fixtures/automation/automation.ts';
import { atRest } from '../../fixtures/automation/killed.ts';
import { ask } from '../../fixtures/clients/api-client.ts';
import type { GatewayProcess } from '../../fixtures/gateway/gateway-process.ts';
import { ModelServer } from '../../fixtures/models/model-server.ts';
import type { RecordedRequest } from '../../fixtures/models/protocols/protocol.ts';
import { seeded } from '../../fixtures/seeded.ts';

/** Another order each time; one that failed is made again with what its name says. */
const seed = Number(process.env.ACTOR_GATEWAY_SEED ?? Date.now() % 100_000);
const chance = seeded(seed);
const oneOf = <T>(list: readonly T[]): T | undefined => list[Math.floor(chance() * list.length)];

/** As often as they stand here; what ends the process not so often that a run is given up. */
const bag = [
  ...Array<'begin'>(10).fill('begin'),
  ...Array<'approve'>(10).fill('approve'),
  ...Array<'deny'>(3).fill('deny'),
  ...Array<'reload'>(4).fill('reload'),
  ...Array<'cancel'>(2).fill('cancel'),
  ...Array<'kill'>(3).fill('kill'),
  ...Array<'stop'>(2).fill('stop'),
] as const;
const LONGEST_PAUSE_MS = 120;
/** Of the agent whose questions expire: about as long as two happenings. */
const HASTY_SECONDS = 0.3;

let model: ModelServer;
let desk: ReportedCalls;
let gateway: GatewayProcess;
let definition = 1;
let ends = 0;

/** Runs by what they were asked. */
const begun = new Map<string, string>();
/** Of those that were cancelled: what had been asked and called by then. */
const doneWhenCancelled = new Map<string, number>();

const cameAt = new Map<RecordedRequest, number>();

const wordsIn = (request: RecordedRequest) =>
  toldMessages(request).findLast(({ role }) => role === 'user')?.content ?? '';
const askedFor = (words: string) => model.requests.filter((each) => wordsIn(each) === words);
const callsFor = (words: string) => desk.calls.filter(({ args }) => args.for === words);
const doneFor = (words: string) => askedFor(words).length + callsFor(words).length;

beforeAll(async () => {
  desk = await ReportedCalls.start();
  model = (await ModelServer.start()).answerWith((request) => {
    cameAt.set(request, Date.now());
    const words = wordsIn(request);
    const pay = (n: number) => ({ name: 'pay', input: { for: words, n } });
    const delayMs = Math.floor(chance() * 40);
    switch (answersSoFar(request)) {
      case 0:
        return { calls: [{ name: 'look', input: { for: words } }, pay(1)], delayMs };
      case 1:
        return { calls: [pay(2), pay(3)], delayMs };
      default:
        return { text: `The end of ${words}.`, delayMs };
    }
  });
});

afterAll(async () => {
  desk[Symbol.dispose]();
});

function resources() {
  const clerk = (name: string, policy: object) =>
    agent(name, {
      ...{ model: MODEL, mcp_servers: [desk.entry('desk')], system_prompt: `By definition ${definition}.` },
      policy: { ask: ['pay'], approvers: ['boss'], ...policy },
    });
  return [clerk('clerk', {}), clerk('hasty', { approval_timeout_seconds: HASTY_SECONDS })];
}

const post = (path: string, body: object = {}) =>
  ask(`${gateway.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

const pending = async (): Promise<readonly { readonly id: string }[]> =>
  (await ask(`${gateway.url}/approvals?state=pending`)).json.approvals;

async function happen(what: (typeof bag)[number]): Promise<void> {
  if (what === 'begin') {
    const words = `run ${begun.size}`;
    const { status, json } = await post(`/agents/${oneOf(['clerk', 'hasty'])}/runs`, { input: words });
    expect(status).toBe(202);
    begun.set(words, json.id);
  } else if (what === 'approve' || what === 'deny') {
    const found = oneOf(await pending());
    // Its time may be over meanwhile.
    if (found !== undefined)
      expect((await post(`/approvals/${found.id}/${what}`)).status).toBeOneOf([200, 409]);
  } else if (what === 'reload') {
    definition += 1;
    writeResources(gateway.folder, resources());
    expect((await post('/admin/reload')).status).toBe(200);
  } else if (what === 'cancel') await cancel();
  else {
    ends += 1;
    await gateway.stop(what === 'kill' ? 'SIGKILL' : 'SIGTERM');
    gateway = await startModelGateway(model, { folder: gateway.folder });
  }
}

async function cancel(): Promise<void> {
  const [words, id] = oneOf([...begun]) ?? [];
  if (words === undefined || id === undefined) return;
  const { status } = await post(`/runs/${encodeURIComponent(id)}/cancel`);
  if (status !== 200) return;
  let isCancelled = false;
  await eventually(async () => {
    const { json } = await ask(`${gateway.url}/deliveries/${encodeURIComponent(id)}`);
    expect(json.state).toBeOneOf(['ignored', 'done']);
    isCancelled = json.state === 'ignored';
  });
  // What was sent before that may be heard of only now.
  await sleep(300);
  if (isCancelled) doneWhenCancelled.set(words, doneFor(words));
}

/** People say yes to all that is left. */
async function settle(): Promise<void> {
  await eventually(async () => {
    for (const { id } of await pending()) await post(`/approvals/${id}/approve`);
    expect((await ask(`${gateway.url}/stats`)).json.deliveries).toMatchObject({
      ...{ queued: 0, running: 0, retrying: 0, waiting: 0 },
    });
  });
  await atRest(gateway);
}

const stepsOf = ({ steps }: RunRecord, kind: string) => steps.filter((each) => each.kind === kind);

/** A question may be on its way while the first row is: what was asked before a process ended in that was of no run yet. */
function checkDefinition(words: string, run: RunRecord): void {
  const begunAt = new Date(stepsOf(run, 'begun')[0]?.at as string).getTime();
  const told = (each: RecordedRequest) => toldMessages(each)[0]?.content;
  const own = told(askedFor(words).at(-1) as RecordedRequest);
  for (const each of askedFor(words))
    if (told(each) !== own)
      expect([words, answersSoFar(each), (cameAt.get(each) ?? 0) <= begunAt]).toEqual([words, 0, true]);
}

function checkCalls(words: string, run: RunRecord): void {
  const asked = new Map(stepsOf(run, 'asked').map(({ approval, call }) => [approval, call]));
  const approved = stepsOf(run, 'decided')
    .filter(({ state }) => state === 'approved')
    .map(({ approval }) => asked.get(approval));
  const keys = new Map<string, Set<string>>();
  for (const { tool, args, key } of callsFor(words)) {
    const of = `${tool} ${JSON.stringify(args)}`;
    keys.set(of, (keys.get(of) ?? new Set()).add(key));
    // Of what may have happened the model is told: nothing with effects is made again.
    if (tool === 'pay')
      expect([words, approved]).toEqual([words, expect.arrayContaining([key.split('/').at(-1)])]);
  }
  for (const [of, under] of keys) expect([words, of, under.size]).toEqual([words, of, 1]);
  const paid = callsFor(words).filter(({ tool }) => tool === 'pay');
  expect([words, paid.length]).toEqual([words, new Set(paid.map(({ key }) => key)).size]);
}

test(`whatever comes between, and when: a run has each of its steps once, by its own definition, and calls what was approved (ACTOR_GATEWAY_SEED=${seed})`, async () => {
  gateway = await startModelGateway(model, { resources: resources() });
  const order = bag.map((what) => ({ what, at: chance() })).sort((a, b) => a.at - b.at);
  for (const { what } of order) {
    await happen(what);
    await sleep(chance() * LONGEST_PAUSE_MS);
  }
  await settle();

  let askedAgain = 0;
  for (const [words, id] of begun) {
    const isCancelled = doneWhenCancelled.has(words);
    if (isCancelled) expect([words, doneFor(words)]).toEqual([words, doneWhenCancelled.get(words)]);
    const run = await runAt(gateway, id);
    // One that was cancelled before it had a row.
    if (isCancelled && (run.steps ?? []).length === 0) continue;
    expect([words, run.state]).toEqual([words, isCancelled ? 'cancelled' : 'done']);
    if (!isCancelled) expect(run).toMatchObject({ answer: `The end of ${words}.`, usage: { iterations: 3 } });
    expect([words, stepsOf(run, 'begun').length]).toEqual([words, 1]);
    expect([words, stepsOf(run, 'ended').length]).toEqual([words, isCancelled ? 0 : 1]);
    const iterations = stepsOf(run, 'answer').map(({ iteration }) => iteration);
    expect([words, iterations]).toEqual([words, [1, 2, 3].slice(0, iterations.length)]);
    checkDefinition(words, run);
    for (const n of [0, 1, 2]) {
      const times = askedFor(words).filter((each) => answersSoFar(each) === n).length;
      askedAgain = Math.max(askedAgain, times - 1);
    }
    checkCalls(words, run);
  }
  // Only what ends the process has a question asked again.
  expect(askedAgain).toBeLessThanOrEqual(ends);
  expect(await pending()).toEqual([]);
  expect(gateway.logs().filter(({ level }) => level === 'error')).toEqual([]);
  await gateway.stop();
});
