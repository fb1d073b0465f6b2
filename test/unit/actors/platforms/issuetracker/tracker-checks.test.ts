// Checks that send requests to the tracker: the JQL query of a trigger, and comments of the gateway. The
// tracker runs on loopback.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { InboundEvent } from '../../../../../actors/events/inbound-event.ts';
import { DeliveryError } from '../../../../../actors/events/outbox/delivery-error.ts';
import type { Adapter } from '../../../../../actors/platforms/adapter.ts';
import { issueTrackerAdapter } from '../../../../../actors/platforms/issuetracker/adapter.ts';
import { COMMENT_PROPERTY } from '../../../../../actors/platforms/issuetracker/own-comments.ts';
import type { IssueTrackerTrigger } from '../../../../../config/resources/triggers/trigger.ts';
import { adapterServices } from '../../../../fixtures/automation/adapter-services.ts';
import { TestSourceHost } from '../../../../fixtures/automation/source-host.ts';
import { issueTrackerTrigger } from '../../../../fixtures/automation/triggers.ts';
import { IssueTracker } from '../../../../fixtures/issue-tracker/issue-tracker.ts';
import {
  commentCreated,
  issueCreated,
  issueDeleted,
  issueOfRule,
  sprint,
} from '../../../../fixtures/issue-tracker/payloads.ts';
import { postTrackerEvent } from '../../../../fixtures/issue-tracker/tracker-events.ts';

const ACCOUNT = { email: 'bot@acme.example', apiToken: 'the token of the tests' };
const HIGH = 'priority = High';

let host: TestSourceHost;
let tracker: IssueTracker;
let adapter: Adapter<IssueTrackerTrigger>;

beforeEach(async () => {
  host = await new TestSourceHost().start();
  tracker = await new IssueTracker(ACCOUNT).start();
  tracker.queries.set(HIGH, () => true);
  adapter = issueTrackerAdapter(adapterServices(host));
});
afterEach(async () => {
  await tracker.stop();
  await host.stop();
});

async function open(config: Partial<IssueTrackerTrigger['config']> = {}, name = 'desk') {
  const { email, apiToken: api_token } = ACCOUNT;
  const trigger = issueTrackerTrigger(name, { base_url: tracker.url, email, api_token, ...config });
  await adapter.open(trigger, host);
  return trigger;
}

async function read(payload: object): Promise<InboundEvent> {
  const response = await postTrackerEvent(
    `${host.url}/webhook/issuetracker`,
    'a secret of the tests',
    payload,
  );
  expect(response.status).toBe(202);
  return adapter.read(host.event());
}

/** Runs the lookups and filters of the triggers, like the core. Returns the verdicts. */
async function verdictsOf(payload: object, ...triggers: readonly IssueTrackerTrigger[]) {
  const inbound = await read(payload);
  const whole = (await adapter.addLookups?.(inbound, triggers)) ?? inbound;
  const verdicts = triggers.map((trigger) => adapter.accepts?.(trigger, whole));
  return verdicts.length === 1 ? verdicts[0] : verdicts;
}

const matchRequests = () => tracker.callsOf('POST', /jql.match/);

describe('a JQL filter', () => {
  test('is sent to the tracker, and only matching issues are accepted', async () => {
    const trigger = await open({ jql_filter: HIGH });
    expect(await verdictsOf(issueCreated(), trigger)).toBe(true);
    tracker.queries.set(HIGH, (id) => id === 10_041);
    expect(await verdictsOf(issueCreated(), trigger)).toBe('the issue does not match jql_filter');
    expect(await verdictsOf(issueCreated({ id: '10041' }), trigger)).toBe(true);
    expect(await verdictsOf(commentCreated('x', { id: '10041' }), trigger)).toBe(true);
    expect(matchRequests().map(({ body }) => body)).toContainEqual({ issueIds: [10_041], jqls: [HIGH] });
  });

  test('is checked only if the other filters accept the event, once for all triggers with the same query', async () => {
    tracker.queries.set('type = Bug', () => true);
    const triggers = [
      await open({ jql_filter: HIGH }, 'a'),
      await open({ jql_filter: HIGH }, 'b'),
      await open({ jql_filter: 'type = Bug' }, 'c'),
      await open({ jql_filter: 'project = OPS', projects: ['OPS'] }, 'd'),
      await open({}, 'e'),
    ];
    expect(await verdictsOf(issueCreated(), ...triggers)).toEqual([true, true, true, false, true]);
    expect(matchRequests().map(({ body }) => body)).toEqual([
      { issueIds: [10_040], jqls: [HIGH, 'type = Bug'] },
    ]);
  });

  test('that does not match a recent event is checked again by a search that includes the newest changes', async () => {
    const trigger = await open({ jql_filter: HIGH });
    tracker.isSearchBehind = true;
    const now = { timestamp: Date.now() };
    expect(await verdictsOf({ ...issueCreated(), ...now }, trigger)).toBe(true);
    expect(tracker.callsOf('POST', /search/)).toMatchObject([
      { body: { jql: `(${HIGH}) AND id = 10040`, reconcileIssues: [10_040] } },
    ]);
    // Events of this age are in the search index.
    expect(await verdictsOf(issueCreated(), trigger)).toBe('the issue does not match jql_filter');
    tracker.queries.set(HIGH, () => false);
    const later = { timestamp: Date.now() + 1 };
    expect(await verdictsOf({ ...issueCreated(), ...later }, trigger)).toBe(
      'the issue does not match jql_filter',
    );
  });

  test('is not checked for sprints, and cannot be checked for deleted issues', async () => {
    const trigger = await open({ jql_filter: HIGH });
    expect(await verdictsOf(sprint('sprint_started'), trigger)).toBe(true);
    expect(await verdictsOf(issueDeleted(), trigger)).toBe(
      'the issue is deleted; jql_filter cannot be checked',
    );
    expect(await verdictsOf({ ...issueOfRule(), id: undefined }, trigger)).toBe(
      'the event contains no issue id; jql_filter cannot be checked',
    );
    expect(matchRequests()).toEqual([]);
  });

  test('accepts no event that was not looked up at the tracker', async () => {
    const trigger = await open({ jql_filter: HIGH });
    expect(adapter.accepts?.(trigger, await read(issueCreated()))).toBe(
      'could not determine whether the issue matches jql_filter',
    );
  });

  test('is checked again when the event is retried if the tracker was unavailable', async () => {
    const trigger = await open({ jql_filter: HIGH });
    const payload = issueCreated();
    const inbound = await read(payload);
    void tracker.fail({ kind: 'page', status: 502 }, 'POST', /jql/);
    const fault = await adapter.addLookups?.(inbound, [trigger])?.catch((error: unknown) => error);
    expect(fault).toBeInstanceOf(DeliveryError);
    expect(fault).toMatchObject({ isFinal: false });
    const whole = await adapter.addLookups?.(inbound, [trigger]);
    expect(whole && adapter.accepts?.(trigger, whole)).toBe(true);
  });

  test('that the tracker refuses ends the event with the reason, unless another trigger accepts the event', async () => {
    tracker.queries.set('broken', "The value 'X' does not exist for the field 'project'.");
    const broken = await open({ jql_filter: 'broken' }, 'a');
    const good = await open({ jql_filter: HIGH }, 'b');
    const other = await open({ projects: ['OPS'] }, 'c');
    const fault = await verdictsOf(issueCreated(), broken, other).catch((error: unknown) => error);
    expect(fault).toMatchObject({ isFinal: true });
    expect((fault as Error).message).toContain("The value 'X' does not exist");
    expect(await verdictsOf(issueCreated(), broken, good)).toEqual([
      'could not determine whether the issue matches jql_filter',
      true,
    ]);
    // The error is logged once, not for each event.
    const reason = "400: The value 'X' does not exist for the field 'project'.";
    expect(host.lines.filter(({ level }) => level === 'warn')).toEqual([
      {
        level: 'warn',
        fields: { trigger: 'a', reason },
        message: 'the tracker refuses jql_filter; the trigger accepts no issues',
      },
    ]);
    expect(adapter.diagnostics?.(broken)).toMatchObject([
      { text: `the tracker refuses jql_filter: ${reason}` },
    ]);
    expect(adapter.diagnostics?.(good)).toEqual([]);
  });

  test('is sent with the account of its trigger, because accounts may see different issues', async () => {
    const known = await open({ jql_filter: HIGH }, 'a');
    const unknown = await open({ jql_filter: HIGH, email: 'eve@acme.example' }, 'b');
    expect(await verdictsOf(issueCreated(), known, unknown)).toEqual([
      true,
      'could not determine whether the issue matches jql_filter',
    ]);
  });
});

describe("changes by the gateway's account", () => {
  const own = (more: object = {}) => ({ user: tracker.user, ...more });

  test('are ignored unless they are comments', async () => {
    const trigger = await open();
    expect(await verdictsOf(issueCreated({}, own()), trigger)).toBe(
      "the change was made by the token's account",
    );
    expect(await verdictsOf(issueCreated(), trigger)).toBe(true);
    const other = await open({ email: undefined, api_token: undefined }, 'other');
    expect(await verdictsOf(issueCreated({}, own()), other)).toBe(true);
  });

  test('in comments are ignored if the gateway wrote them, and accepted from a person', async () => {
    const trigger = await open();
    tracker.addIssue('TES-41');
    const body = { version: 1, type: 'doc', content: [] };
    const mark = { key: COMMENT_PROPERTY, value: { row: 'x' } };
    const ownComment = tracker.addComment('TES-41', body, tracker.user, [mark]);
    const person = tracker.addComment('TES-41', body, tracker.user);
    const by = ({ id }: { readonly id: string }) =>
      verdictsOf(commentCreated('x', {}, { id, author: tracker.user }), trigger);
    expect(await by(ownComment)).toBe('the comment is our own');
    expect(await by(person)).toBe(true);
    // A deleted or hidden comment counts as own, to avoid answering it.
    expect(await by({ id: '999' })).toBe('the comment is our own');
  });

  test('are recognised by their author: a comment of another person causes no request for its properties', async () => {
    const trigger = await open({ jql_filter: HIGH });
    expect(await verdictsOf(commentCreated('x'), trigger)).toBe(true);
    expect(tracker.callsOf('GET', /properties/)).toEqual([]);
  });

  test('wait for an unknown account; if it stays unknown, comments are recognised by mark', async () => {
    void tracker.fail({ kind: 'page', status: 503 }, 'GET', /myself/);
    const trigger = await open();
    tracker.addIssue('TES-41');
    const body = { version: 1, type: 'doc', content: [] };
    const ownComment = tracker.addComment('TES-41', body, tracker.user, [
      { key: COMMENT_PROPERTY, value: 1 },
    ]);
    const payload = commentCreated('x', {}, { id: ownComment.id, author: tracker.user });
    expect(await verdictsOf(payload, trigger)).toBe('the comment is our own');
    expect(await verdictsOf(commentCreated('x'), trigger)).toBe(true);
  });
});

test('a tracker that does not respond to the account request delays an event only briefly', async () => {
  void tracker.fail({ kind: 'hang' }, 'GET', /myself/);
  const trigger = await open();
  const startedAt = performance.now();
  expect(await verdictsOf(issueCreated(), trigger)).toBe(true);
  expect(performance.now() - startedAt).toBeLessThan(8_000);
  tracker.cutHung();
});

test('the error of a refused request contains no token', async () => {
  const trigger = await open({ jql_filter: HIGH, api_token: 'a wrong token' });
  const fault = await verdictsOf(issueCreated(), trigger).catch((error: unknown) => error);
  const basic = Buffer.from(`${ACCOUNT.email}:a wrong token`).toString('base64');
  expect(fault).toMatchObject({ isFinal: true, platformCode: 401 });
  for (const text of [String(fault), JSON.stringify(host.lines)]) {
    expect(text).not.toContain('a wrong token');
    expect(text).not.toContain(basic);
  }
});
