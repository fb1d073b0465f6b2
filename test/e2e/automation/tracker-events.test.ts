// Events of issue trackers on loopback, with the built gateway: three kinds of proof, and queries that the
// tracker evaluates. Tracker and gateway fail, and issues change.

import { encodeSymmetric } from 'atlassian-jwt';
import { afterAll, describe, expect, test } from 'vitest';
import {
  type AgentRequest,
  eventually,
  httpAgent,
  SECRET,
  signature,
  startAgent,
  startAutomation,
  trigger,
} from '../../fixtures/automation/automation.ts';
import { waitUntilIdle } from '../../fixtures/automation/killed.ts';
import { IssueTracker } from '../../fixtures/issue-tracker/issue-tracker.ts';
import { issueCreated, issueDeleted, sprint } from '../../fixtures/issue-tracker/payloads.ts';

const ACCOUNT = { email: 'bot@acme.example', apiToken: 'the-token-of-the-account' };
const HIGH = 'priority = High';
const MATCH = /jql.match/;

const trackers: IssueTracker[] = [];
afterAll(() => Promise.all(trackers.map((tracker) => tracker.stop())));

async function startTracker(): Promise<IssueTracker> {
  const tracker = await new IssueTracker(ACCOUNT).start();
  trackers.push(tracker);
  tracker.queries.set(HIGH, () => true);
  return tracker;
}

interface Desk {
  readonly config?: object;
  readonly attempts?: number;
  readonly answer?: (request: AgentRequest, count: number) => Promise<{ text: string }> | { text: string };
}

/** Starts a gateway with a trigger, a tracker for its queries, and an agent. */
async function startDesk({ config = {}, attempts = 6, answer = () => ({ text: '' }) }: Desk = {}) {
  const tracker = await startTracker();
  const program = await startAgent(answer);
  const account = { email: ACCOUNT.email, api_token: ACCOUNT.apiToken };
  const gateway = await startAutomation({
    resources: [
      trigger('desk', {
        type: 'IssueTracker',
        config: { webhook_secret: SECRET, base_url: tracker.url, ...account, jql_filter: HIGH, ...config },
        retry: { attempts, min_backoff_seconds: 0.05, max_backoff_seconds: 0.2 },
        default_agent: 'echo',
      }),
      httpAgent('echo', program.url),
    ],
  });
  return { tracker, program, gateway };
}

let eventCount = 0;

async function post(
  url: string,
  payload: object,
  headers?: Readonly<Record<string, string>>,
  path = '/webhook/issuetracker',
): Promise<string> {
  const body = JSON.stringify(payload);
  const response = await fetch(url + path, {
    method: 'POST',
    body,
    headers: {
      'content-type': 'application/json',
      'x-atlassian-webhook-identifier': `w-${++eventCount}`,
      ...(headers ?? { 'x-hub-signature': signature(body) }),
    },
  });
  const record = (await response.json()) as { id?: string };
  return response.status === 202 ? (record.id ?? '') : String(response.status);
}

async function delivery(url: string, id: string) {
  const response = await fetch(`${url}/deliveries/${encodeURIComponent(id)}`);
  return (await response.json()) as { state: string; attempts: number; note?: string };
}

describe('an event of an issue tracker', () => {
  test.concurrent('is accepted with a signature, a header or a token, but only with the kind of proof configured for its path', async () => {
    const program = await startAgent(() => ({ text: '' }));
    const modes = ['hmac', 'static', 'jwt'];
    const gateway = await startAutomation({
      resources: [
        ...modes.map((auth_mode) =>
          trigger(auth_mode, {
            type: 'IssueTracker',
            config: {
              webhook_secret: SECRET,
              base_url: 'https://acme.example',
              auth_mode,
              path: `/webhook/${auth_mode}`,
            },
            commands: { 'tracker:issue_created': { agent: 'echo' } },
          }),
        ),
        httpAgent('echo', program.url),
      ],
    });
    const payload = issueCreated();
    const exp = Math.floor(Date.now() / 1000) + 60;
    const proofs = [
      { 'x-hub-signature': signature(JSON.stringify(payload)) },
      { 'x-webhook-secret': SECRET },
      { authorization: `JWT ${encodeSymmetric({ exp }, SECRET)}` },
    ];
    for (const [at, mode] of modes.entries())
      for (const [of, proof] of proofs.entries()) {
        const answer = await post(gateway.url, payload, proof, `/webhook/${mode}`);
        if (of === at) expect(answer).toMatch(new RegExp(`^issuetracker:${mode}/`));
        else expect([mode, of, answer]).toEqual([mode, of, '401']);
      }
    await waitUntilIdle(gateway);
    expect(program.requests).toHaveLength(3);
    const [{ body } = {}] = program.requests;
    expect(body).toMatchObject({
      command: 'tracker:issue_created',
      input: 'The checkout is slow\n\nIt takes *ten* seconds.',
      conversation: 'issuetracker/acme.example/TES-41',
      event: { type: 'IssueTracker', context: { 'issue.key': 'TES-41', 'issue.status': 'In Progress' } },
    });
    expect(gateway.text()).not.toContain(SECRET);
  });
});

describe('the query of a tracker trigger', () => {
  test.concurrent('is evaluated by the tracker; events without a match are ignored, with the reason in the record', async () => {
    const { tracker, program, gateway } = await startDesk();
    tracker.queries.set(HIGH, (id) => id === 10_040);
    const created = await post(gateway.url, issueCreated());
    const other = await post(gateway.url, issueCreated({ key: 'TES-42', id: '10041' }));
    const deleted = await post(gateway.url, issueDeleted({ key: 'TES-43' }));
    const started = await post(gateway.url, sprint('sprint_started'));
    await waitUntilIdle(gateway);
    expect(await delivery(gateway.url, created)).toMatchObject({ state: 'done' });
    expect(await delivery(gateway.url, started)).toMatchObject({ state: 'done' });
    expect(await delivery(gateway.url, other)).toMatchObject({
      state: 'ignored',
      note: 'the issue does not match jql_filter',
    });
    expect(await delivery(gateway.url, deleted)).toMatchObject({
      state: 'ignored',
      note: 'the issue is deleted; jql_filter cannot be checked',
    });
    expect(program.requests.map(({ body }) => body.event.name).sort()).toEqual([
      'sprint_started',
      'tracker:issue_created',
    ]);
  });

  test.concurrent('is repeated while the tracker is unavailable, rate limited or disconnected', async () => {
    const { tracker, program, gateway } = await startDesk();
    void tracker.fail({ kind: 'page', status: 502 }, 'POST', MATCH);
    void tracker.fail({ kind: 'cut' }, 'POST', MATCH);
    void tracker.fail({ kind: 'page', status: 429, headers: { 'retry-after': '1' } }, 'POST', MATCH);
    const id = await post(gateway.url, issueCreated());
    await eventually(async () => expect(await delivery(gateway.url, id)).toMatchObject({ state: 'done' }));
    // A requested pause does not count as an attempt.
    expect(await delivery(gateway.url, id)).toMatchObject({ attempts: 3 });
    expect(program.requests).toHaveLength(1);
    const [, , limited, last] = tracker.callsOf('POST', MATCH);
    expect((last?.at ?? 0) - (limited?.at ?? 0)).toBeGreaterThanOrEqual(950);
  });

  test.concurrent('without a result after the last attempt makes the event a dead delivery, which no agent handles', async () => {
    const { tracker, program, gateway } = await startDesk({ attempts: 2 });
    tracker.isUnavailable = true;
    const id = await post(gateway.url, issueCreated());
    await eventually(async () => expect(await delivery(gateway.url, id)).toMatchObject({ state: 'dead' }));
    expect((await delivery(gateway.url, id)).note).toMatch(
      /^could not check whether TES-41 matches jql_filter: 503/,
    );
    expect(program.requests).toEqual([]);
    tracker.isUnavailable = false;
    const path = `${gateway.url}/deliveries/${encodeURIComponent(id)}/replay`;
    expect((await fetch(path, { method: 'POST' })).ok).toBe(true);
    await eventually(async () => expect(await delivery(gateway.url, id)).toMatchObject({ state: 'done' }));
    expect(program.requests).toHaveLength(1);
  });

  test.concurrent.each([
    ['is broken', { jql_filter: 'broken' }, "400: The value 'X' does not exist for the field 'project'."],
    [
      'is requested with a wrong token',
      { api_token: 'another-token-than-that' },
      '401: Client must be authenticated',
    ],
  ])(
    'that %s makes the event a dead delivery immediately, with the error of the tracker',
    async (_, config, words) => {
      const { tracker, program, gateway } = await startDesk({ config });
      tracker.queries.set('broken', "The value 'X' does not exist for the field 'project'.");
      const id = await post(gateway.url, issueCreated());
      await eventually(async () => expect(await delivery(gateway.url, id)).toMatchObject({ state: 'dead' }));
      const { attempts, note } = await delivery(gateway.url, id);
      expect(attempts).toBe(1);
      expect(note).toContain(`could not check whether TES-41 matches jql_filter: ${words}`);
      expect(tracker.callsOf('POST', MATCH)).toHaveLength(1);
      expect(program.requests).toEqual([]);
      const texts = gateway.text() + note;
      for (const token of ['another-token-than-that', ACCOUNT.apiToken]) expect(texts).not.toContain(token);
    },
  );

  test.concurrent('that hangs when the gateway is killed is repeated by the next gateway, and the agent is called once', async () => {
    const { tracker, program, gateway } = await startDesk();
    const hangingRequest = tracker.fail({ kind: 'hang' }, 'POST', MATCH);
    const id = await post(gateway.url, issueCreated());
    await hangingRequest;
    await gateway.stop('SIGKILL');
    tracker.cutHung();
    expect(program.requests).toEqual([]);
    const next = await startAutomation({ folder: gateway.folder });
    await eventually(async () => expect(await delivery(next.url, id)).toMatchObject({ state: 'done' }));
    expect(program.requests).toHaveLength(1);
  });

  test.concurrent('that no longer matches during the agent run does not end the run, even if the gateway is killed and restarted', async () => {
    let killed = () => {};
    const wasKilled = new Promise<void>((resolve) => {
      killed = resolve;
    });
    const { tracker, program, gateway } = await startDesk({
      answer: async (_, count) => {
        if (count === 1) await wasKilled;
        return { text: '' };
      },
    });
    const id = await post(gateway.url, issueCreated());
    await eventually(() => expect(program.requests).toHaveLength(1));
    tracker.queries.set(HIGH, () => false);
    await gateway.stop('SIGKILL');
    killed();
    const next = await startAutomation({ folder: gateway.folder });
    await eventually(async () => expect(await delivery(next.url, id)).toMatchObject({ state: 'done' }));
    const keys = program.requests.map(({ headers }) => headers['idempotency-key']);
    expect(keys).toHaveLength(2);
    expect(keys[0]).toBe(keys[1]);
  });
});
