// IssueTracker triggers, over real sockets: webhooks and automation rules, with all three kinds of
// authentication.

import { createHmac, randomUUID } from 'node:crypto';
import { encodeSymmetric } from 'atlassian-jwt';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { InboundEvent } from '../../../../../actors/events/inbound-event.ts';
import type { Adapter } from '../../../../../actors/platforms/adapter.ts';
import { issueTrackerAdapter } from '../../../../../actors/platforms/issuetracker/adapter.ts';
import type { IssueTrackerTrigger } from '../../../../../config/resources/triggers/trigger.ts';
import { adapterServices } from '../../../../fixtures/automation/adapter-services.ts';
import { TestSourceHost } from '../../../../fixtures/automation/source-host.ts';
import { issueTrackerTrigger } from '../../../../fixtures/automation/triggers.ts';
import {
  commentCreated,
  document,
  grace,
  issueCreated,
  issueDeleted,
  issueOfRule,
  issueUpdated,
  paragraph,
  sprint,
} from '../../../../fixtures/issue-tracker/payloads.ts';

const SECRET = 'a secret of the tests';
const PATH = '/webhook/issuetracker';
const signatureOf = (body: string, secret = SECRET) =>
  `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;

let host: TestSourceHost;
let adapter: Adapter<IssueTrackerTrigger>;

beforeEach(async () => {
  host = await new TestSourceHost().start();
  adapter = issueTrackerAdapter(adapterServices(host));
});
afterEach(() => host.stop());

async function open(config: Partial<IssueTrackerTrigger['config']> = {}, name = 'desk') {
  const trigger = issueTrackerTrigger(name, config);
  await adapter.open(trigger, host);
  return trigger;
}

interface SendOptions {
  readonly id?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly path?: string;
  readonly secret?: string;
}

async function send(
  payload: unknown,
  { id = randomUUID(), headers, path = PATH, secret = SECRET }: SendOptions = {},
) {
  const body = typeof payload === 'string' ? payload : JSON.stringify(payload);
  const response = await fetch(host.url + path, {
    method: 'POST',
    body,
    headers: {
      'content-type': 'application/json',
      ...(id === '' ? {} : { 'x-atlassian-webhook-identifier': id }),
      ...(headers ?? { 'x-hub-signature': signatureOf(body, secret) }),
    },
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type') === 'application/json';
  return { status: response.status, body: isJson ? JSON.parse(text) : text };
}

/** Sends a payload; returns the accepted event. */
async function read(payload: unknown): Promise<InboundEvent> {
  expect((await send(payload)).status).toBe(202);
  return adapter.read(host.event());
}

describe('an issue tracker event', () => {
  test('of a new issue has the text and fields of the issue, and a conversation named by the issue key', async () => {
    const trigger = await open({ base_url: 'https://acme.example' });
    const payload = issueCreated();
    const inbound = await read(payload);
    expect(host.event().key).toBe('conversation/issuetracker/acme.example/TES-41');
    expect(inbound).toEqual({
      platform: 'issuetracker',
      account: 'acme.example',
      triggers: ['desk'],
      names: ['tracker:issue_created'],
      text: 'The checkout is slow\n\nIt takes *ten* seconds.',
      channel: 'TES',
      user: '712020:ada',
      userAliases: ['Ada Lovelace'],
      senderName: 'Ada Lovelace',
      channelName: 'TES-41',
      context: {
        'tracker.event': 'tracker:issue_created',
        'issue.key': 'TES-41',
        'issue.id': '10040',
        'issue.summary': 'The checkout is slow',
        'issue.type': 'Bug',
        'issue.status': 'In Progress',
        'issue.priority': 'High',
        'issue.project': 'TES',
        'issue.reporter': 'Ada Lovelace',
        'issue.labels': ['checkout', 'slow'],
        'issue.url': 'https://acme.example/browse/TES-41',
        'tracker.sender.id': '712020:ada',
        'tracker.sender.name': 'Ada Lovelace',
      },
      payload,
      payloadJson: undefined,
      parameters: {},
    });
    expect(adapter.accepts?.(trigger, inbound)).toBe(true);
  });

  test('of a changed issue contains the changes and has no text', async () => {
    await open();
    const { names, text, context } = await read(issueUpdated());
    expect(names).toEqual(['tracker:issue_updated']);
    expect(text).toBeUndefined();
    expect(context['issue.changed']).toEqual([
      { field: 'resolution', from: null, to: 'Done' },
      { field: 'status', from: 'In Progress', to: 'Done' },
    ]);
  });

  test('of a deleted issue contains the issue', async () => {
    await open();
    const { names, text, context } = await read(issueDeleted());
    expect(names).toEqual(['tracker:issue_deleted']);
    expect(text).toBeUndefined();
    expect(context).toMatchObject({ 'issue.key': 'TES-41', 'issue.summary': 'The checkout is slow' });
  });

  test('of a comment has its text, its author and the known fields of the issue', async () => {
    await open();
    const event = commentCreated('Have you *looked* at it?', {}, { id: '10019' });
    const { names, text, user, context } = await read(event);
    expect(names).toEqual(['comment_created', 'tracker:issue_updated']);
    expect(text).toBe('Have you *looked* at it?');
    expect(user).toBe('712020:grace');
    expect(context).toMatchObject({
      'issue.key': 'TES-41',
      'issue.status': 'In Progress',
      'comment.id': '10019',
      'comment.author': 'Grace Hopper',
      'tracker.sender.name': 'Grace Hopper',
    });
    expect(context).not.toHaveProperty(['issue.reporter']);
  });

  test('with rich-text documents contains their text', async () => {
    await open();
    const body = document(paragraph('Have you ', 'looked?'), paragraph('It is urgent.'));
    expect((await read(commentCreated(body))).text).toBe('Have you looked?\n\nIt is urgent.');
    const description = document({
      type: 'bulletList',
      content: [{ type: 'listItem', content: [paragraph('slow')] }],
    });
    expect((await read(issueCreated({ description }))).text).toBe('The checkout is slow\n\n- slow');
    expect((await read(issueCreated({ description: null }))).text).toBe('The checkout is slow');
  });

  test('of a commented issue on an older tracker has the text of the comment', async () => {
    await open();
    const { comment } = commentCreated('unik') as unknown as { comment: object };
    const user = { name: 'lev', displayName: 'Lev', self: 'http://t.example/rest/api/2/user?username=lev' };
    const inbound = await read(issueUpdated({}, { comment: { ...comment, author: user }, user }));
    expect(inbound).toMatchObject({ names: ['tracker:issue_updated'], text: 'unik', user: 'lev' });
  });

  test.each(['comment_created', 'jira:issue_updated'])(
    'of a comment is stored once, although the tracker reports it by two events, the first of them %s',
    async (first) => {
      await open();
      const created = commentCreated('please look');
      const { comment, issue } = created as unknown as { comment: object; issue: object };
      const issue_event_type_name = 'issue_commented';
      const updated = {
        webhookEvent: 'jira:issue_updated',
        issue_event_type_name,
        comment,
        issue,
        timestamp: 1,
      };
      const both = first === 'comment_created' ? [created, updated] : [updated, created];
      const statuses = [];
      for (const payload of both) statuses.push((await send(payload)).status);
      expect([statuses, host.store.events.length]).toEqual([[202, 200], 1]);
      expect(adapter.read(host.event())).toMatchObject({
        names: ['comment_created', 'tracker:issue_updated'],
        text: 'please look',
      });
      expect((await send(commentCreated('another', {}, { id: '999' }))).status).toBe(202);
    },
  );

  test('of a change with a comment has no text, because the comment has its own event', async () => {
    await open();
    const { comment } = commentCreated('unik') as unknown as { comment: object };
    expect(await read(issueUpdated({}, { comment }))).toMatchObject({
      names: ['tracker:issue_updated'],
      text: undefined,
    });
  });

  test.each(['sprint_started', 'sprint_closed'] as const)(
    'of type %s has its own conversation',
    async (name) => {
      const trigger = await open({
        base_url: 'https://acme.example',
        projects: ['OPS'],
        issue_types: ['Bug'],
      });
      const inbound = await read(sprint(name));
      expect(host.event().key).toBe('conversation/issuetracker/acme.example/sprint/42');
      expect(inbound).toMatchObject({
        names: [name],
        text: undefined,
        channel: undefined,
        context: {
          'sprint.id': '42',
          'sprint.name': 'Sprint 42',
          'sprint.state': name === 'sprint_started' ? 'active' : 'closed',
          'sprint.goal': 'A quick checkout',
        },
      });
      expect(adapter.accepts?.(trigger, inbound)).toBe(true);
    },
  );

  test('is read from the store with the same result', async () => {
    await open();
    for (const payload of [issueCreated(), issueUpdated(), commentCreated('x'), sprint('sprint_closed')]) {
      const inbound = await read(payload);
      const { parsed: _, ...stored } = host.event();
      expect(adapter.read(stored)).toEqual(inbound);
    }
  });

  test('accepts numeric ids and omits invalid ids', async () => {
    await open();
    const { comment, ...rest } = commentCreated('x') as ReturnType<typeof commentCreated> & {
      readonly comment: object;
    };
    const idOf = async (id: unknown) =>
      (await read({ ...rest, timestamp: Math.random(), comment: { ...comment, id } })).context['comment.id'];
    expect(await idOf(10_019)).toBe('10019');
    expect(await idOf('10020')).toBe('10020');
    for (const invalidId of ['../x', '', null, {}, ['1']]) expect(await idOf(invalidId)).toBeUndefined();
  });

  test('omits fields without values', async () => {
    await open();
    const bare = issueCreated({ fields: { priority: null, status: undefined, labels: [], reporter: null } });
    const { context } = await read({ ...bare, user: undefined });
    expect(Object.keys(context)).toEqual([
      'tracker.event',
      'issue.key',
      'issue.id',
      'issue.summary',
      'issue.type',
      'issue.project',
      'issue.url',
    ]);
  });

  test('with a very large body is complete and reads the required fields', async () => {
    const trigger = await open();
    const payload = issueCreated({ fields: { environment: 'x'.repeat(400_000) } });
    const inbound = await read(payload);
    expect(inbound.text).toBe('The checkout is slow\n\nIt takes *ten* seconds.');
    expect(inbound.context).toMatchObject({ 'issue.key': 'TES-41', 'issue.labels': ['checkout', 'slow'] });
    expect(JSON.parse(Buffer.from(inbound.payloadJson ?? []).toString())).toEqual(payload);
    expect(JSON.stringify(inbound.payload)).not.toContain('xxx');
    expect(adapter.accepts?.(trigger, inbound)).toBe(true);
    const { parsed: _, ...stored } = host.event();
    expect(adapter.read(stored).context).toEqual(inbound.context);
  });
});

describe('a request of an automation rule', () => {
  const rule = (payload: unknown, query = '') =>
    send(payload, { id: '', headers: { 'x-webhook-secret': SECRET }, path: PATH + query });

  test('without event name is an issue event, which only a default agent accepts', async () => {
    const trigger = await open({ auth_mode: 'static', projects: ['TES'], issue_types: ['bug'] });
    expect((await rule(issueOfRule())).status).toBe(202);
    const inbound = adapter.read(host.event());
    expect(inbound).toMatchObject({
      names: ['tracker:issue'],
      text: 'The checkout is slow\n\nIt takes *ten* seconds.',
      context: { 'issue.key': 'TES-41', 'issue.id': '10040', 'issue.type': 'Bug', 'issue.project': 'TES' },
    });
    expect(inbound.context).not.toHaveProperty(['tracker.event']);
    expect(adapter.accepts?.(trigger, inbound)).toBe(true);
  });

  test.each(['tracker:issue_created', 'jira:issue_created'])(
    'can have the event name %s in its query',
    async (name) => {
      await open({ auth_mode: 'static' });
      await rule(issueOfRule(), `?event=${encodeURIComponent(name)}`);
      expect(adapter.read(host.event())).toMatchObject({ names: ['tracker:issue_created'] });
    },
  );

  test('uses the event name of the body rather than that of the query', async () => {
    await open({ auth_mode: 'static' });
    await rule(issueUpdated(), '?event=tracker:issue_created');
    expect(adapter.read(host.event())).toMatchObject({ names: ['tracker:issue_updated'] });
  });

  test('may contain an issue and a comment', async () => {
    await open({ auth_mode: 'static' });
    const { webhookEvent: _, ...body } = commentCreated('Please look at it.');
    await rule(body);
    expect(adapter.read(host.event())).toMatchObject({
      names: ['tracker:issue'],
      text: 'Please look at it.',
    });
  });

  test('that is sent twice creates two events', async () => {
    await open({ auth_mode: 'static' });
    const [one, other] = [await rule(issueOfRule()), await rule(issueOfRule())];
    expect([one.status, other.status]).toEqual([202, 202]);
    expect(one.body.id).not.toBe(other.body.id);
  });
});

describe('a repeated delivery', () => {
  test('with the same identifier is a duplicate, also with another body', async () => {
    await open();
    const first = await send(issueCreated(), { id: 'w-1' });
    expect(first).toEqual({ status: 202, body: { id: 'issuetracker:desk/w-1', status: 'accepted' } });
    expect(await send(issueCreated(), { id: 'w-1' })).toEqual({
      status: 200,
      body: { id: 'issuetracker:desk/w-1', status: 'duplicate' },
    });
  });

  test('with the same signature is a duplicate during the replay window, also without the identifier', async () => {
    await open({ replay_window_seconds: 60 });
    const payload = issueCreated();
    await send(payload, { id: 'w-1' });
    for (const id of ['w-2', ''])
      expect((await send(payload, { id })).body).toEqual({
        id: 'issuetracker:desk/w-1',
        status: 'duplicate',
      });
    expect((await send(issueCreated(), { id: '' })).status).toBe(202);
  });

  test.each([undefined, 0])(
    'with a different identifier or none is an event if replay_window_seconds is %s',
    async (seconds) => {
      await open(seconds === undefined ? {} : { replay_window_seconds: seconds });
      const payload = issueCreated();
      for (const id of ['w-1', 'w-2', '', '']) expect((await send(payload, { id })).status).toBe(202);
    },
  );

  test('to another path is a separate event for the trigger of that path', async () => {
    await open();
    await open({ path: '/other' }, 'other');
    const payload = issueCreated();
    await send(payload, { id: 'w-1' });
    expect((await send(payload, { id: 'w-1', path: '/other' })).body).toEqual({
      id: 'issuetracker:other/w-1',
      status: 'accepted',
    });
  });

  test('with an unusual identifier is recognised', async () => {
    await open();
    const id = `../${'x'.repeat(300)}`;
    const first = await send(issueCreated(), { id });
    expect(first.body.id).toMatch(/^issuetracker:desk\/digest:[0-9a-f]{64}$/);
    expect((await send(issueCreated(), { id })).body.status).toBe('duplicate');
  });
});

describe('the response', () => {
  test.each([
    ['an unknown event', sprint('sprint_created')],
    ['an event of another kind', { webhookEvent: 'worklog_created', worklog: { id: '1' } }],
  ])('to %s is 200, and the event is not stored', async (_, payload) => {
    await open();
    const { status, body } = await send(payload);
    expect({ status, said: body.status }).toEqual({ status: 200, said: 'ignored' });
    expect(host.store.events).toEqual([]);
  });

  test.each([
    ['invalid JSON', 'Hello World!'],
    ['a list', '[]'],
    ['an empty object', '{}'],
    ['an event without its issue', { webhookEvent: 'jira:issue_created' }],
    ['an event with a malformed issue key', issueCreated({ key: '../../myself' })],
    ['a comment without a comment', { ...issueUpdated(), webhookEvent: 'comment_created' }],
    ['a sprint event without a sprint', { webhookEvent: 'sprint_started' }],
    ['an invalid event name', { ...issueCreated(), webhookEvent: 7 }],
  ])('to %s is 400 if it is authenticated, otherwise 401', async (_, payload) => {
    await open();
    expect((await send(payload)).status).toBe(400);
    expect((await send(payload, { secret: 'another' })).status).toBe(401);
  });
});

describe('a signature', () => {
  const vector = 'sha256=a4771c39fbe90f317c7824e83ddef3caae9cb3d976c214ace1f2937e133263c9';

  test("of the vendor's documentation is accepted", async () => {
    await open({ webhook_secret: "It's a Secret to Everybody" });
    const post = (signature: string, body = 'Hello World!') =>
      send(body, { headers: { 'x-hub-signature': signature } });
    // The request is authenticated, but the body is not an event.
    expect((await post(vector)).status).toBe(400);
    expect((await post(vector.replace('a477', 'a478'))).status).toBe(401);
    expect((await post(vector, 'Hello World')).status).toBe(401);
  });

  test('with the previous secret is accepted while it is configured', async () => {
    await open({ webhook_secret: 'new', webhook_secret_previous: SECRET });
    expect((await send(issueCreated())).status).toBe(202);
    expect((await send(issueCreated(), { secret: 'new' })).status).toBe(202);
    expect((await send(issueCreated(), { secret: 'older' })).status).toBe(401);
  });

  test('is rejected if one byte of the body changes', async () => {
    await open();
    const body = Buffer.from(JSON.stringify(issueCreated()));
    const signature = signatureOf(body.toString());
    await fc.assert(
      fc.asyncProperty(fc.nat(body.length - 1), fc.integer({ min: 1, max: 255 }), async (at, by) => {
        const changed = Buffer.from(body);
        changed[at] = (changed[at] ?? 0) ^ by;
        const { status } = await fetch(host.url + PATH, {
          method: 'POST',
          body: changed,
          headers: { 'x-hub-signature': signature },
        });
        expect(status).toBe(401);
      }),
      { numRuns: 50 },
    );
    expect(host.store.events).toEqual([]);
  });

  test.each([
    ['a missing value', {}],
    ['a value with another hash', { 'x-hub-signature': signatureOf('x').replace('sha256', 'sha1') }],
    ['a value in the newer header', { 'x-hub-signature-256': signatureOf(JSON.stringify({})) }],
    ['the secret itself', { 'x-hub-signature': SECRET }],
  ] as const)('is rejected: %s', async (_, headers) => {
    await open();
    const { status, body } = await send({}, { headers });
    expect(status).toBe(401);
    expect(JSON.stringify(body)).not.toContain(SECRET);
  });
});

describe('a static header', () => {
  const by = (name: string, value = SECRET) => send(issueCreated(), { headers: { [name]: value } });

  test('has its default or configured name, in any case', async () => {
    await open({ auth_mode: 'static' });
    await open({ auth_mode: 'static', auth_header: 'authorization', path: '/other' }, 'other');
    expect((await by('X-Webhook-Secret')).status).toBe(202);
    const other = await send(issueCreated(), { headers: { Authorization: SECRET }, path: '/other' });
    expect(other.status).toBe(202);
  });

  test('must equal the current or previous secret, and a signature instead of the header is rejected', async () => {
    await open({ auth_mode: 'static', webhook_secret_previous: 'the old one' });
    expect((await by('x-webhook-secret', 'the old one')).status).toBe(202);
    for (const value of [`${SECRET}x`, SECRET.slice(1), SECRET.toUpperCase(), ''])
      expect((await by('x-webhook-secret', value)).status, value).toBe(401);
    expect((await send(issueCreated())).status).toBe(401);
  });
});

describe('a token', () => {
  test('authenticates an event, and a wrong token is rejected without being quoted', async () => {
    await open({ auth_mode: 'jwt' });
    const exp = Math.floor(Date.now() / 1000) + 60;
    const by = (token: string) => send(issueCreated(), { headers: { authorization: `JWT ${token}` } });
    expect((await by(encodeSymmetric({ exp }, SECRET))).status).toBe(202);
    const wrongToken = encodeSymmetric({ exp }, 'another');
    const { status, body } = await by(wrongToken);
    expect(status).toBe(401);
    expect(JSON.stringify(body)).toContain('has an invalid signature');
    expect(JSON.stringify(body)).not.toContain(wrongToken.split('.')[2]);
    expect((await send(issueCreated())).status).toBe(401);
  });
});

describe('trigger filters', () => {
  const isAccepted = async (config: Partial<IssueTrackerTrigger['config']>, payload: unknown) => {
    const trigger = await open(config);
    return adapter.accepts?.(trigger, await read(payload));
  };

  test.each([
    [{ projects: ['TES'] }, true],
    [{ projects: ['TE', 'OPS'] }, false],
    [{ issue_types: ['bug', 'Task'] }, true],
    [{ issue_types: ['Task'] }, false],
    [{ projects: ['TES'], issue_types: ['Task'] }, false],
    [{ ignore_senders: ['ada lovelace'] }, false],
    [{ ignore_senders: ['712020:ADA'] }, false],
    [{ ignore_senders: ['ada'] }, true],
  ])('%j accept a bug of project TES by user Ada: %s', async (config, isTaken) => {
    expect(await isAccepted(config, issueCreated())).toBe(isTaken);
  });

  test('use the project of the issue key if the project field is missing, but require the issue type', async () => {
    const bare = issueCreated({ fields: { project: undefined, issuetype: undefined } });
    expect(await isAccepted({ projects: ['TES'] }, bare)).toBe(true);
    expect(
      await isAccepted({ issue_types: ['Bug'], path: '/x' }, issueCreated({ fields: { issuetype: null } })),
    ).toBe(false);
  });

  test('apply ignore_senders to the author of a comment', async () => {
    expect(await isAccepted({ ignore_senders: [grace.accountId] }, commentCreated('x'))).toBe(false);
  });
});

describe('two trackers with one secret', () => {
  test('receive the events of their site; an event of an unknown site is for both triggers', async () => {
    await open({ base_url: 'https://acme.example' }, 'acme');
    await open({ base_url: 'https://other.example' }, 'other');
    const triggers = async (site: string) => (await read(issueCreated({ site }))).triggers;
    expect(await triggers('https://other.example')).toEqual(['other']);
    expect(await triggers('https://acme.example')).toEqual(['acme']);
    expect(await triggers('https://third.example')).toEqual(['acme', 'other']);
    const inbound = adapter.read(host.event());
    expect(inbound.account).toBeUndefined();
  });

  test('with one API gateway of the vendor are distinguished by path', () => {
    const account = (base_url: string) => adapter.account?.(issueTrackerTrigger('desk', { base_url }));
    expect(account('https://api.example/ex/tracker/one')).toBe('api.example:ex:tracker:one');
    expect(account('https://api.example')).toBe('api.example');
  });
});
