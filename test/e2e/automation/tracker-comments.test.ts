// Comments in an issue tracker, with the built gateway: each comment is answered by one comment despite
// failures of tracker and gateway, and comments of the gateway are not answered.

import { afterAll, describe, expect, test } from 'vitest';
import {
  type AgentRequest,
  eventually,
  httpAgent,
  SECRET,
  startAgent,
  startAutomation,
  trigger,
} from '../../fixtures/automation/automation.ts';
import { expectOneKeyPerInput, waitUntilIdle } from '../../fixtures/automation/killed.ts';
import type { GatewayProcess } from '../../fixtures/gateway/gateway-process.ts';
import { documentFaults } from '../../fixtures/issue-tracker/document-faults.ts';
import { type Fault, IssueTracker } from '../../fixtures/issue-tracker/issue-tracker.ts';
import { commentCreated } from '../../fixtures/issue-tracker/payloads.ts';
import { refusal } from '../../fixtures/issue-tracker/refusal.ts';
import { postTrackerEvent, userIn } from '../../fixtures/issue-tracker/tracker-events.ts';

const ACCOUNT = { email: 'agent@example.com', apiToken: 'ATATT3x-nobody-may-see-this' };
const BASIC = Buffer.from(`${ACCOUNT.email}:${ACCOUNT.apiToken}`).toString('base64');
const PATH = '/webhook/issuetracker';
const KEY = 'OPS-7';
const POST = /\/comment$/;
const mia = { accountId: '5b10a2844c20165700ede21g', displayName: 'Mia' };

const trackers: IssueTracker[] = [];
afterAll(() => Promise.all(trackers.map((tracker) => tracker.stop())));

type Answer = (request: AgentRequest, count: number) => Promise<{ text: string }> | { text: string };

interface Desk {
  gateway: GatewayProcess;
  readonly tracker: IssueTracker;
  readonly program: Awaited<ReturnType<typeof startAgent>>;
  /** Writes a comment as a person. Returns the event id. */
  say(text: string, id?: string): Promise<string>;
  /** Kills and restarts the gateway. */
  kill(): Promise<void>;
  rows(): Promise<readonly { id: string; state: string; note?: string; attempts: number }[]>;
}

/** Starts a gateway, an issue with a webhook, and an agent that answers. */
async function startDesk(answer: Answer = () => ({ text: 'the answer' }), attempts = 5): Promise<Desk> {
  const tracker = await new IssueTracker(ACCOUNT).start();
  trackers.push(tracker);
  const issueId = tracker.addIssue(KEY);
  const program = await startAgent(answer);
  const { email, apiToken: api_token } = ACCOUNT;
  const config = { webhook_secret: SECRET, base_url: tracker.url, email, api_token };
  const retry = { attempts, min_backoff_seconds: 0.05, max_backoff_seconds: 0.1 };
  const resources = [
    trigger('desk', { type: 'IssueTracker', config, retry, default_agent: 'echo' }),
    httpAgent('echo', program.url),
  ];
  const useHook = (gateway: GatewayProcess) => {
    tracker.hook = { url: gateway.url + PATH, secret: SECRET };
    return gateway;
  };
  const newComment = (body: unknown): object => {
    const { id } = tracker.addComment(KEY, {}, mia);
    const issue = { key: KEY, id: issueId, site: tracker.url };
    return commentCreated(body, issue, { id, author: userIn(tracker.url, mia) });
  };
  /** Events by delivery identifier, for redeliveries. */
  const sent = new Map<string, object>();
  const desk: Desk = {
    gateway: useHook(await startAutomation({ resources })),
    tracker,
    program,
    async say(body, id = '') {
      const event = sent.get(id) ?? newComment(body);
      if (id !== '') sent.set(id, event);
      const response = await postTrackerEvent(desk.gateway.url + PATH, SECRET, event, id || undefined);
      expect(response.ok).toBe(true);
      return ((await response.json()) as { readonly id: string }).id;
    },
    async kill() {
      await desk.gateway.stop('SIGKILL');
      desk.gateway = useHook(await startAutomation({ folder: desk.gateway.folder }));
    },
    async rows() {
      const response = await fetch(`${desk.gateway.url}/deliveries?conversation=outbox/`);
      return ((await response.json()) as { deliveries: Awaited<ReturnType<Desk['rows']>> }).deliveries;
    },
  };
  return desk;
}

/** Comments written by the gateway. */
const answersIn = ({ tracker }: Desk) =>
  tracker.commentsOf(KEY).filter(({ author }) => author.accountId === tracker.user.accountId);

const delivery = async ({ gateway }: Desk, id: string) =>
  (await (await fetch(`${gateway.url}/deliveries/${encodeURIComponent(id)}`)).json()) as object;

async function expectNoSecret({ gateway }: Desk): Promise<void> {
  const list = await (await fetch(`${gateway.url}/deliveries`)).text();
  for (const secret of [ACCOUNT.apiToken, BASIC, SECRET]) {
    expect(gateway.text()).not.toContain(secret);
    expect(list).not.toContain(secret);
  }
}

describe('an issue comment', () => {
  test.concurrent('that is delivered twice is answered by one formatted comment, which is not answered itself', async () => {
    const text = 'Hello\n**Mia**:\n\n```sh\nls  -l\n```\n\n- one\n- two';
    const desk = await startDesk(() => ({ text }));
    await desk.say('please help', 'the-same');
    await desk.say('please help', 'the-same');
    await eventually(() => expect(answersIn(desk)).toHaveLength(1));
    await eventually(async () =>
      expect(await (await fetch(`${desk.gateway.url}/deliveries?state=ignored`)).json()).toMatchObject({
        deliveries: [{ note: expect.stringContaining('the comment is our own') }],
      }),
    );
    await waitUntilIdle(desk.gateway);
    expect(answersIn(desk)).toHaveLength(1);
    const [{ body }] = answersIn(desk) as unknown as [{ body: { content: readonly object[] } }];
    expect(documentFaults(body)).toBe('');
    expect(body.content).toMatchObject([
      { type: 'paragraph' },
      { type: 'codeBlock', attrs: { language: 'sh' }, content: [{ text: 'ls  -l' }] },
      { type: 'bulletList' },
    ]);
    expect(desk.program.requests).toHaveLength(1);
    await expectNoSecret(desk);
  });

  test.concurrent('is answered once even if the gateway is killed before the agent answers or during the write', async () => {
    let hasHung = false;
    const desk = await startDesk(async ({ body: { input } }) => {
      if (input !== 'slow' || hasHung) return { text: `heard: ${input}` };
      hasHung = true;
      return new Promise(() => {});
    });
    await desk.say('slow');
    await eventually(() => expect(desk.program.requests).toHaveLength(1));
    await desk.kill();
    await eventually(() => expect(answersIn(desk)).toHaveLength(1));
    for (const isTaken of [true, false]) {
      const requestHangs = desk.tracker.fail({ kind: 'hang', isTaken }, 'POST', POST);
      await desk.say(`taken: ${isTaken}`);
      await requestHangs;
      await desk.kill();
      await waitUntilIdle(desk.gateway);
    }
    expect(answersIn(desk)).toHaveLength(3);
    expect(expectOneKeyPerInput(desk.program)).toEqual(
      new Map([
        ['slow', 2],
        ['taken: true', 1],
        ['taken: false', 1],
      ]),
    );
    await expectNoSecret(desk);
  });
});

describe('an issue tracker', () => {
  const after = (seconds: string) => ({ ...refusal(429, []), headers: { 'retry-after': seconds } });
  const recoveries: readonly [string, readonly Fault[]][] = [
    ['cuts the connection when it has stored the comment', [{ kind: 'cut', isTaken: true }]],
    [
      'says 502 in place of an answer, and nothing after that',
      [{ kind: 'page', status: 502 }, { kind: 'cut' }],
    ],
    [
      'has faults of its own',
      [
        { kind: 'page', status: 500 },
        { kind: 'page', status: 503 },
      ],
    ],
  ];
  test.concurrent.each(recoveries)('that %s gets one comment', async (_, faults) => {
    const desk = await startDesk();
    for (const fault of faults) desk.tracker.fail(fault, 'POST', POST);
    const id = await desk.say('please help');
    await eventually(async () => expect(await desk.rows()).toMatchObject([{ state: 'done' }]));
    await waitUntilIdle(desk.gateway);
    expect(answersIn(desk)).toHaveLength(1);
    expect(await delivery(desk, id)).toMatchObject({ state: 'done' });
    await expectNoSecret(desk);
  });

  test.concurrent('that asks to retry later is not called during the pause, and no attempt is counted', async () => {
    const desk = await startDesk(undefined, 1);
    for (const seconds of ['1', '2'])
      desk.tracker.fail({ kind: 'refuse', refusal: after(seconds) }, 'POST', POST);
    await desk.say('please help');
    await eventually(async () => expect(await desk.rows()).toMatchObject([{ state: 'done', attempts: 1 }]));
    const [first, second, third] = desk.tracker.callsOf('POST', POST).map(({ at }) => at);
    expect((second ?? 0) - (first ?? 0)).toBeGreaterThanOrEqual(990);
    expect((third ?? 0) - (second ?? 0)).toBeGreaterThanOrEqual(1_990);
    expect(answersIn(desk)).toHaveLength(1);
  });

  test.concurrent.each([
    [400, refusal(400, ['INVALID_INPUT'])],
    [401, refusal(401, [])],
    [403, refusal(403, ['You do not have the permission to comment on this issue.'])],
    [404, refusal(404, ['Issue does not exist or you do not have permission to see it.'])],
  ])(
    'that refuses a comment with %i is called once, and the delivery is dead with the reason as note',
    async (status, answer) => {
      const desk = await startDesk();
      desk.tracker.fail({ kind: 'refuse', refusal: answer }, 'POST', POST);
      const id = await desk.say('please help');
      await eventually(async () =>
        expect(await desk.rows()).toMatchObject([
          { state: 'dead', note: expect.stringContaining(String(status)) },
        ]),
      );
      expect(await delivery(desk, id)).toMatchObject({ state: 'done' });
      expect(desk.tracker.callsOf('POST', POST)).toHaveLength(1);
      await expectNoSecret(desk);
    },
  );

  test.concurrent('that hangs while it receives a comment delays no other event, and gets the comment afterwards', async () => {
    const desk = await startDesk(({ body: { input } }) => ({ text: `heard: ${input}` }));
    const requestHangs = desk.tracker.fail({ kind: 'hang' }, 'POST', POST);
    await desk.say('one');
    await requestHangs;
    await desk.say('two');
    await eventually(() => expect(desk.program.requests).toHaveLength(2));
    expect(answersIn(desk)).toHaveLength(0);
    desk.tracker.cutHung();
    await eventually(() => expect(answersIn(desk)).toHaveLength(2));
    await waitUntilIdle(desk.gateway);
    const [one, two] = answersIn(desk).map(({ body }) => JSON.stringify(body));
    expect(one).toContain('heard: one');
    expect(two).toContain('heard: two');
  });
});
