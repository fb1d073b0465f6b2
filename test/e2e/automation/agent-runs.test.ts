// Agent runs started over the API, without triggers: immediate response, response with the result, and event
// stream.

import { beforeAll, describe, expect, test } from 'vitest';
import { AgentsGateway } from '../../fixtures/agents/agents-gateway.ts';
import { eventually } from '../../fixtures/automation/automation.ts';
import { ask, EventReader, postStream } from '../../fixtures/clients/api-client.ts';
import type { GatewayProcess } from '../../fixtures/gateway/gateway-process.ts';

let agents: AgentsGateway;
let gateway: GatewayProcess;
beforeAll(async () => {
  agents = await AgentsGateway.start();
  ({ gateway } = agents);
});

const requestOf = (body: object, headers: Readonly<Record<string, string>> = {}) => ({
  method: 'POST',
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify(body),
});
const runsOf = (name: string) => `${gateway.url}/agents/${name}/runs`;
const post = (name: string, body: object, headers: Readonly<Record<string, string>> = {}) =>
  ask(runsOf(name), requestOf(body, headers));
const runPath = (id: string, verb = '') => `${gateway.url}/runs/${encodeURIComponent(id)}${verb}`;
const stream = (name: string, body: object) =>
  postStream(runsOf(name), JSON.stringify(body), { accept: 'text/event-stream' });

const eventsOf = ({ text }: EventReader) =>
  [...text.matchAll(/^event: (\w+)\ndata: (.*)$/gm)].map(
    ([, name = '', data = '']) => [name, JSON.parse(data)] as const,
  );
const named = (reader: EventReader, eventName: string) =>
  eventsOf(reader).flatMap(([name, data]) => (name === eventName ? [data] : []));
const until = (reader: EventReader, name: string) => reader.until(name, () => named(reader, name).at(-1));

describe('an agent called over the API', () => {
  test('returns the answer with attachments', async () => {
    const { status, json } = await post('clerk', { input: 'hello', wait_seconds: 10 });
    expect([status, json.data]).toEqual([200, { of: 'agent/clerk' }]);
    expect(json).toMatchObject({
      kind: 'agent',
      name: 'clerk',
      state: 'done',
      answer: 'heard hello after 0',
    });
  });

  test('remembers the messages of a session and nothing of other sessions', async () => {
    const say = async (input: string, session?: string) =>
      (await post('clerk', { input, wait_seconds: 10, session })).json;
    expect((await say('one', 'ada')).answer).toBe('heard one after 0');
    const second = await say('two', 'ada');
    expect([second.answer, second.session]).toEqual(['heard two after 2', 'ada']);
    expect(second.conversation).toBe('conversation/manual/agent/clerk/ada');
    expect((await say('three')).answer).toBe('heard three after 0');
  });

  test('returns the whole answer, even if the record stores only a part', async () => {
    const { json } = await post('clerk', { input: 'long', wait_seconds: 10 });
    expect([json.answer.length, json.data]).toEqual([60_000, { verdict: 'fine' }]);
  });

  test('accepts a run immediately if the client does not wait, and the run record shows the outcome', async () => {
    const { status, json } = await post('desk', { input: 'in a moment', session: 's1' });
    expect([status, json.state === 'queued' || json.state === 'running']).toEqual([202, true]);
    await eventually(async () =>
      expect((await ask(runPath(json.id))).json).toMatchObject({
        state: 'done',
        answer: 'You said in a moment in manual/agent/desk/s1.',
        steps: [],
        trigger: 'agent/desk',
      }),
    );
    const delivery = (await ask(`${gateway.url}/deliveries/${encodeURIComponent(json.id)}`)).json;
    expect(delivery).toMatchObject({ state: 'done', trigger: 'agent/desk' });
  });

  test('runs once per idempotency key, however often the request is repeated', async () => {
    const key = { 'idempotency-key': 'k-1' };
    const first = (await post('clerk', { input: 'once', wait_seconds: 10 }, key)).json;
    const secondResponse = (await post('clerk', { input: 'once', wait_seconds: 10 }, key)).json;
    expect(first.id).toBe('manual:agent/clerk/k-1');
    expect([secondResponse.id, secondResponse.answer, secondResponse.session]).toEqual([
      first.id,
      first.answer,
      first.session,
    ]);
    expect(agents.program.requests.filter(({ body }) => body.input === 'once')).toHaveLength(1);
    const other = await post('clerk', { input: 'something else', wait_seconds: 10 }, key);
    expect([other.status, other.json.message]).toEqual([409, expect.stringContaining('Idempotency-Key')]);
  });

  test('reports a permanent failure', async () => {
    const { status, json } = await post('clerk', { input: 'broken', wait_seconds: 10 });
    expect([status, json.state, json.answer]).toEqual([200, 'failed', null]);
    expect(json.note).toContain('400');
  });

  test('is refused with 404 if it is unknown, and with 400 without a valid input', async () => {
    expect((await post('clark', { input: 'x' })).status).toBe(404);
    for (const body of [{}, { input: ' ' }, { input: 'x', session: 'a/b' }, { input: 'x', more: 1 }])
      expect((await post('clerk', body)).status).toBe(400);
    expect((await ask(runsOf('clerk'))).status).toBe(405);
  });

  test('has no trigger that can be listed, paused or run', async () => {
    const { json } = await ask(`${gateway.url}/triggers`);
    expect(json.triggers).toEqual([]);
    expect((await ask(`${gateway.url}/triggers/agent%2Fclerk/pause`, { method: 'POST' })).status).toBe(404);
  });
});

describe('a waiting or long run', () => {
  test('is shown as waiting, continues by itself, and reports the completion to stream readers', async () => {
    const { status, json } = await post('desk', { input: 'later', wait_seconds: 0.1 });
    expect([status, json.state, json.waiting_for]).toEqual([200, 'waiting', 'timer']);
    const events = new EventReader(runPath(json.id, '/events'), {});
    expect(await until(events, 'end')).toMatchObject({ state: 'done', answer: 'It is time.' });
    await events.ended();
  });

  test('returns its answer to a client whose wait_seconds are long enough', async () => {
    const { json } = await post('desk', { input: 'later', wait_seconds: 10 });
    expect([json.state, json.answer]).toEqual(['done', 'It is time.']);
  });

  test('can be cancelled, and a second cancel is refused with 409', async () => {
    const runningRun = (await post('desk', { input: 'for ever', wait_seconds: 10 })).json;
    const cancelled = await ask(runPath(runningRun.id, '/cancel'), { method: 'POST' });
    expect([cancelled.status, cancelled.json.state]).toEqual([200, 'cancelled']);
    expect((await ask(runPath(runningRun.id, '/cancel'), { method: 'POST' })).status).toBe(409);

    const failedBefore = (await ask(`${gateway.url}/stats`)).json.agents.desk.failed;
    const lasting = stream('desk', { input: 'slow' });
    const { id } = await until(lasting, 'run');
    await eventually(async () => expect((await ask(runPath(id))).json.state).toBe('running'));
    await ask(runPath(id, '/cancel'), { method: 'POST' });
    expect(await until(lasting, 'end')).toMatchObject({ state: 'cancelled', answer: null });
    expect((await ask(`${gateway.url}/stats`)).json.agents.desk.failed).toBe(failedBefore);
  });

  test('can be retried after a cancel, but not after it has finished', async () => {
    const { id } = (await post('desk', { input: 'for ever, again', wait_seconds: 10 })).json;
    await ask(runPath(id, '/cancel'), { method: 'POST' });
    const retried = await ask(runPath(id, '/retry'), { method: 'POST' });
    expect(retried.status).toBe(200);
    await eventually(async () => expect((await ask(runPath(id))).json.state).not.toBe('cancelled'));
    const done = (await post('desk', { input: 'done', wait_seconds: 10 })).json;
    const refusal = await ask(runPath(done.id, '/retry'), { method: 'POST' });
    expect([refusal.status, refusal.json.message]).toEqual([409, expect.stringContaining('the run is done')]);
  });

  test('with an unknown id is not found; the list omits runs without a journal and refuses an unknown state', async () => {
    expect((await ask(runPath('manual:nothing'))).status).toBe(404);
    expect((await ask(runPath('manual:nothing', '/events'))).status).toBe(404);
    expect((await ask(`${gateway.url}/runs?state=ended`)).status).toBe(400);
    // Agents without models have no journal, and the list contains only runs with a journal.
    expect((await ask(`${gateway.url}/runs?state=failed,done&agent=desk&limit=3`)).json).toEqual({
      runs: [],
      next_before: null,
    });
  });
});

describe('the event stream of a run', () => {
  test('contains the run id, each new piece of text, and the end of the run', async () => {
    const reader = stream('clerk', { input: 'count' });
    expect(await until(reader, 'text')).toEqual({ text: 'One, ' });
    agents.sendMore();
    expect(await until(reader, 'end')).toMatchObject({ state: 'done', answer: 'One, two.' });
    await reader.ended();
    const names = eventsOf(reader).map(([name]) => name);
    expect([names[0], names.at(-1)]).toEqual(['run', 'end']);
    const [first, ...more] = named(reader, 'text');
    expect(first.text + more.map(({ delta }) => delta).join('')).toBe('One, two.');
  });

  test('contains the cause of a failed attempt and the time of the next attempt', async () => {
    const reader = stream('clerk', { input: 'fails once, streamed' });
    expect(await until(reader, 'end')).toMatchObject({
      state: 'done',
      answer: 'heard fails once, streamed after 0',
      attempts: 2,
    });
    expect(named(reader, 'state')).toContainEqual(
      expect.objectContaining({
        state: 'running',
        note: expect.stringContaining('503'),
        next_attempt_at: expect.stringMatching(/^20/),
      }),
    );
  });

  test('can be closed: the run continues, and a new reader receives the current state', async () => {
    const reader = stream('clerk', { input: 'count' });
    const { id } = await until(reader, 'run');
    await until(reader, 'text');
    reader.drop();
    const secondReader = new EventReader(runPath(id, '/events'), {});
    expect(await until(secondReader, 'text')).toEqual({ text: 'One, ' });
    agents.sendMore();
    expect(await until(secondReader, 'end')).toMatchObject({ state: 'done', answer: 'One, two.' });
    // Also when the run has completed.
    const late = new EventReader(runPath(id, '/events'), {});
    expect(await until(late, 'end')).toMatchObject({ state: 'done', answer: 'One, two.' });
    await late.ended();
  });
});
