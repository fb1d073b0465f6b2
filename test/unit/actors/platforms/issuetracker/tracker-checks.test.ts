// What only the tracker knows: whether an issue matches a trigger's query, and which comments are our own. The adapter as the core
// asks it, against a tracker on loopback.

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

/** As the core asks: what the triggers need of the tracker, and then whether they take it. */
async function taken(payload: object, ...triggers: readonly IssueTrackerTrigger[]) {
  const inbound = await read(payload);
  const whole = (await adapter.complete?.(inbound, triggers)) ?? inbound;
  const verdicts = triggers.map((trigger) => adapter.takes?.(trigger, whole));
  return verdicts.length === 1 ? verdicts[0] : verdicts;
}

const questions = () => tracker.callsOf('POST', /jql.match/);

describe('a query', () => {
  test('is asked of the tracker, and takes the issues that match', async () => {
    const trigger = await open({ jql_filter: HIGH });
    expect(await taken(issueCreated(), trigger)).toBe(true);
    tracker.queries.set(HIGH, (id) => id === 10_041);
    expect(await taken(issueCreated(), trigger)).toBe('the issue does not match jql_filter');
    expect(await taken(issueCreated({ id: '10041' }), trigger)).toBe(true);
    expect(await taken(commentCreated('x', { id: '10041' }), trigger)).toBe(true);
    expect(questions().map(({ body }) => body)).toContainEqual({ issueIds: [10_041], jqls: [HIGH] });
  });

  test('is asked only of what the other filters let pass, once for all triggers that have it (TC1)', async () => {
    tracker.queries.set('type = Bug', () => true);
    const triggers = [
      await open({ jql_filter: HIGH }, 'a'),
      await open({ jql_filter: HIGH }, 'b'),
      await open({ jql_filter: 'type = Bug' }, 'c'),
      await open({ jql_filter: 'project = OPS', projects: ['OPS'] }, 'd'),
      await open({}, 'e'),
    ];
    expect(await taken(issueCreated(), ...triggers)).toEqual([true, true, true, false, true]);
    expect(questions().map(({ body }) => body)).toEqual([{ issueIds: [10_040], jqls: [HIGH, 'type = Bug'] }]);
  });

  test('about what has just happened is asked once more of the search that looks at the issue (JQ3)', async () => {
    const trigger = await open({ jql_filter: HIGH });
    tracker.isSearchBehind = true;
    const now = { timestamp: Date.now() };
    expect(await taken({ ...issueCreated(), ...now }, trigger)).toBe(true);
    expect(tracker.callsOf('POST', /search/)).toMatchObject([
      { body: { jql: `(${HIGH}) AND id = 10040`, reconcileIssues: [10_040] } },
    ]);
    // What is long past the search knows.
    expect(await taken(issueCreated(), trigger)).toBe('the issue does not match jql_filter');
    tracker.queries.set(HIGH, () => false);
    const later = { timestamp: Date.now() + 1 };
    expect(await taken({ ...issueCreated(), ...later }, trigger)).toBe('the issue does not match jql_filter');
  });

  test('is nothing for sprints, and nothing can be asked of an issue that is gone (ITF1, TC3)', async () => {
    const trigger = await open({ jql_filter: HIGH });
    expect(await taken(sprint('sprint_started'), trigger)).toBe(true);
    expect(await taken(issueDeleted(), trigger)).toBe(
      'the issue is deleted, and the tracker can say no more whether it matched jql_filter',
    );
    expect(await taken({ ...issueOfRule(), id: undefined }, trigger)).toBe(
      'the event has no id of its issue, by which the tracker is asked for jql_filter',
    );
    expect(questions()).toEqual([]);
  });

  test('takes nothing that was not asked about', async () => {
    const trigger = await open({ jql_filter: HIGH });
    expect(adapter.takes?.(trigger, await read(issueCreated()))).toBe(
      'the tracker did not say whether the issue matches jql_filter',
    );
  });

  test('has the event come again while the tracker is away, and is asked then (TC2)', async () => {
    const trigger = await open({ jql_filter: HIGH });
    const payload = issueCreated();
    const inbound = await read(payload);
    void tracker.fail({ kind: 'page', status: 502 }, 'POST', /jql/);
    const fault = await adapter.complete?.(inbound, [trigger])?.catch((error: unknown) => error);
    expect(fault).toBeInstanceOf(DeliveryError);
    expect(fault).toMatchObject({ isFinal: false });
    const whole = await adapter.complete?.(inbound, [trigger]);
    expect(whole && adapter.takes?.(trigger, whole)).toBe(true);
  });

  test('that the tracker refuses ends the event with its reason, unless another trigger takes it (TC2)', async () => {
    tracker.queries.set('broken', "The value 'X' does not exist for the field 'project'.");
    const broken = await open({ jql_filter: 'broken' }, 'a');
    const good = await open({ jql_filter: HIGH }, 'b');
    const other = await open({ projects: ['OPS'] }, 'c');
    const fault = await taken(issueCreated(), broken, other).catch((error: unknown) => error);
    expect(fault).toMatchObject({ isFinal: true });
    expect((fault as Error).message).toContain("The value 'X' does not exist");
    expect(await taken(issueCreated(), broken, good)).toEqual([
      'the tracker did not say whether the issue matches jql_filter',
      true,
    ]);
    // Told once, and not at every event.
    const reason = "400: The value 'X' does not exist for the field 'project'.";
    expect(host.lines.filter(({ level }) => level === 'warn')).toEqual([
      {
        level: 'warn',
        fields: { trigger: 'a', reason },
        message: 'the tracker refuses a jql_filter; the trigger takes no issues',
      },
    ]);
    expect(adapter.remarks?.(broken)).toMatchObject([{ text: `the tracker refuses jql_filter: ${reason}` }]);
    expect(adapter.remarks?.(good)).toEqual([]);
  });

  test('is asked under the account of its trigger alone: two accounts may see different issues', async () => {
    const known = await open({ jql_filter: HIGH }, 'a');
    const unknown = await open({ jql_filter: HIGH, email: 'eve@acme.example' }, 'b');
    expect(await taken(issueCreated(), known, unknown)).toEqual([
      true,
      'the tracker did not say whether the issue matches jql_filter',
    ]);
  });
});

describe('what our own account does', () => {
  const own = (more: object = {}) => ({ user: tracker.user, ...more });

  test('is not answered where it is no comment (TC4)', async () => {
    const trigger = await open();
    expect(await taken(issueCreated({}, own()), trigger)).toBe('it was done under the account of the token');
    expect(await taken(issueCreated(), trigger)).toBe(true);
    const other = await open({ email: undefined, api_token: undefined }, 'other');
    expect(await taken(issueCreated({}, own()), other)).toBe(true);
  });

  test('in comments is not answered where this gateway has written them, and is where a person has (TC4)', async () => {
    const trigger = await open();
    tracker.addIssue('TES-41');
    const body = { version: 1, type: 'doc', content: [] };
    const mark = { key: COMMENT_PROPERTY, value: { row: 'x' } };
    const ours = tracker.addComment('TES-41', body, tracker.user, [mark]);
    const person = tracker.addComment('TES-41', body, tracker.user);
    const by = ({ id }: { readonly id: string }) =>
      taken(commentCreated('x', {}, { id, author: tracker.user }), trigger);
    expect(await by(ours)).toBe('the comment is one of our own');
    expect(await by(person)).toBe(true);
    // Gone, or hidden from us: nobody answers what may be our own.
    expect(await by({ id: '999' })).toBe('the comment is one of our own');
  });

  test('is told from the comments of others without asking about them', async () => {
    const trigger = await open({ jql_filter: HIGH });
    expect(await taken(commentCreated('x'), trigger)).toBe(true);
    expect(tracker.callsOf('GET', /properties/)).toEqual([]);
  });

  test('is waited for where the account is not known yet, and known by the comment where it cannot be', async () => {
    void tracker.fail({ kind: 'page', status: 503 }, 'GET', /myself/);
    const trigger = await open();
    tracker.addIssue('TES-41');
    const body = { version: 1, type: 'doc', content: [] };
    const ours = tracker.addComment('TES-41', body, tracker.user, [{ key: COMMENT_PROPERTY, value: 1 }]);
    const payload = commentCreated('x', {}, { id: ours.id, author: tracker.user });
    expect(await taken(payload, trigger)).toBe('the comment is one of our own');
    expect(await taken(commentCreated('x'), trigger)).toBe(true);
  });
});

test('a tracker that hangs when it is asked whose token it is holds up no event for long', async () => {
  void tracker.fail({ kind: 'hang' }, 'GET', /myself/);
  const trigger = await open();
  const begun = performance.now();
  expect(await taken(issueCreated(), trigger)).toBe(true);
  expect(performance.now() - begun).toBeLessThan(8_000);
  tracker.cutHung();
});

test('no token stands in what is told of a refusal', async () => {
  const trigger = await open({ jql_filter: HIGH, api_token: 'a wrong token' });
  const fault = await taken(issueCreated(), trigger).catch((error: unknown) => error);
  const basic = Buffer.from(`${ACCOUNT.email}:a wrong token`).toString('base64');
  expect(fault).toMatchObject({ isFinal: true, platformCode: 401 });
  for (const text of [String(fault), JSON.stringify(host.lines)]) {
    expect(text).not.toContain('a wrong token');
    expect(text).not.toContain(basic);
  }
});
