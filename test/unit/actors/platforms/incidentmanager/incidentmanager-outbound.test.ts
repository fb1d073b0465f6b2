// Answers through both APIs of the incident manager: notes, states and events, sent once, and kinds of
// refusals.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { DeliveryError } from '../../../../../actors/events/outbox/delivery-error.ts';
import { noteMark } from '../../../../../actors/platforms/incidentmanager/note-mark.ts';
import type { NewEvent } from '../../../../../actors/store/event.ts';
import {
  invalidEvent,
  type Refusal,
  rateLimited,
  restRefusal,
} from '../../../../fixtures/incident-platform/incident-error.ts';
import {
  type FakeIncident,
  incidentEvent,
  noteEvent,
} from '../../../../fixtures/incident-platform/incident-payloads.ts';
import { API_KEY, bot, events, IncidentBench, notes, ROUTING_KEY } from './incident-bench.ts';

const POST_NOTE = /^POST .*\/notes$/;
const ENQUEUE = /^POST \/v2\/enqueue$/;
const action = (...ids: string[]) => ({ actions: ids.map((id) => ({ id, title: `do ${id}` })) });

let bench: IncidentBench;
let incident: FakeIncident;
beforeEach(async () => {
  bench = await new IncidentBench().start();
  incident = bench.platform.add();
});
afterEach(() => bench.stop());

async function oneRow(text = 'Done.', data?: unknown): Promise<NewEvent> {
  const [row] = await bench.rows(incidentEvent('triggered', incident), text, data);
  if (row === undefined) throw new Error('no row');
  return row;
}

async function failure(row: NewEvent, more?: Parameters<IncidentBench['send']>[1]): Promise<DeliveryError> {
  const error: unknown = await bench.send(row, more).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof DeliveryError)) throw new Error(`expected a DeliveryError, not ${error}`);
  const errorText = `${error.message} ${error.stack} ${JSON.stringify(error)} ${String(error.cause)}`;
  for (const secret of [API_KEY, ROUTING_KEY]) expect(errorText).not.toContain(secret);
  return error;
}

const requestLines = () => bench.platform.calls.map(({ what }) => what);

describe('an answer sent with an api_key', () => {
  test('becomes one note on the incident, with an identifying mark and the configured author', async () => {
    await bench.open({ ...notes, ...events });
    const row = await oneRow('Thank **you**.');
    const place = `${new URL(bench.platform.url).host}/${incident.id}`;
    expect(row).toMatchObject({ key: `outbox/incidentmanager/${place}` });
    expect(await bench.send(row)).toEqual({ id: bench.platform.notes.get(incident.id)?.[0]?.id });
    expect(bench.platform.contentsOn(incident.id)).toEqual([`Thank **you**.\n\n${noteMark(row.id)}`]);
    expect(requestLines()).toEqual([`POST /incidents/${incident.id}/notes`]);
    const { headers } = bench.platform.calls[0] ?? {};
    expect(headers).toMatchObject({
      authorization: `Token token=${API_KEY}`,
      from: bot.email,
      'content-type': 'application/json',
    });
    expect(`${row.meta}${row.body}`).not.toMatch(new RegExp(`${API_KEY}|${ROUTING_KEY}`));
  });

  test('is also written to a resolved incident, and to one without an incident key', async () => {
    await bench.open(notes);
    for (const more of [{ status: 'resolved' }, { incident_key: undefined }] as const) {
      const other = bench.platform.add(more);
      await bench.answer(incidentEvent('resolved', other), 'Why it was.');
      expect(bench.platform.contentsOn(other.id)).toHaveLength(1);
    }
  });

  test('is also written if the event is a note that contains only a reference to the incident', async () => {
    await bench.open(notes);
    await bench.answer(noteEvent(incident, { id: 'PN', content: 'And now?' }), 'Wait.');
    expect(bench.platform.contentsOn(incident.id)[0]).toMatch(/^Wait\.\n/);
  });

  test('without text writes no note', async () => {
    await bench.open(notes);
    expect(await bench.rows(incidentEvent('triggered', incident), ' ')).toEqual([]);
  });

  test('that was posted by an attempt with unknown outcome is found and not posted again', async () => {
    await bench.open(notes);
    const row = await oneRow();
    bench.platform.fail(POST_NOTE, { kind: 'cut', isTaken: true });
    expect(await failure(row)).toMatchObject({ isOutcomeUnknown: true, isFinal: false });
    const { id } = await bench.send(row, { wasTried: true });
    expect(bench.platform.notes.get(incident.id)).toMatchObject([{ id }]);
    // Another row with the same text creates another note.
    await bench.send({ ...row, id: 'outbox:other/1' }, { wasTried: true });
    expect(bench.platform.contentsOn(incident.id)).toHaveLength(2);
  });

  test('is not posted while the search for an earlier note fails', async () => {
    await bench.open(notes);
    const row = await oneRow();
    bench.platform.fail(/^GET/, { kind: 'html', status: 502 });
    expect(await failure(row, { wasTried: true })).toMatchObject({ isFinal: false });
    expect(bench.platform.contentsOn(incident.id)).toEqual([]);
  });

  test('edits an earlier note, and reports a missing note', async () => {
    await bench.open(notes);
    const first = await oneRow('Thinking…');
    const receipt = await bench.send(first);
    const message = { target: { place: incident.id }, action: { do: 'edit', of: first.id } as const };
    const [rendered] = bench.adapter.outbound!.render(bench.trigger, { ...message, text: 'Done.' });
    const edit = { ...first, id: 'outbox:edit/1', body: Buffer.from(JSON.stringify(rendered)) };
    expect(await bench.send(edit, { receiptOf: async () => receipt })).toEqual(receipt);
    expect(bench.platform.contentsOn(incident.id)).toEqual([`Done.\n\n${noteMark(edit.id)}`]);
    const missingReceipt = async () => ({ id: 'PGONE' });
    expect(await failure(edit, { receiptOf: missingReceipt })).toMatchObject({
      isTargetMissing: true,
      isFinal: true,
    });
    await bench.send(edit);
    expect(bench.platform.contentsOn(incident.id)).toHaveLength(2);
  });

  test.each([
    [restRefusal(2006), '2006 the api_key is not accepted: HTTP 401: Authentication failed'],
    [restRefusal(2010), '2010 access denied: HTTP 403: Access Denied'],
    [restRefusal(2100), '2100 not found: HTTP 404: Not Found'],
    [restRefusal(1008), "1008 no user has the trigger's email: HTTP 400: Requester User Not Found"],
    [
      restRefusal(2001, ['Content is too long']),
      '2001 invalid input: HTTP 400: Invalid Input Provided: Content is too long',
    ],
    [{ status: 402, body: {} }, /^402 \(HTTP 402\)|^402 not a response of the platform/],
  ] as readonly (readonly [Refusal, string | RegExp])[])(
    'that is refused with %j fails permanently',
    async (refusal, text) => {
      await bench.open(notes);
      bench.platform.refuse(POST_NOTE, refusal);
      const error = await failure(await oneRow());
      expect(error).toMatchObject({
        isFinal: true,
        message: typeof text === 'string' ? text : expect.stringMatching(text),
      });
      expect(bench.platform.callsMatching(POST_NOTE)).toHaveLength(1);
    },
  );

  test.each([
    [
      'an error page of a proxy',
      { kind: 'html', status: 502 },
      { isPlatformDown: true, isOutcomeUnknown: true },
    ],
    [
      'a page with status 200',
      { kind: 'html', status: 200 },
      { isPlatformDown: true, isOutcomeUnknown: true },
    ],
    ['a cut connection', { kind: 'cut' }, { isPlatformDown: true, isOutcomeUnknown: true }],
    ['a server error', { kind: 'refuse', refusal: restRefusal(2000) }, { isOutcomeUnknown: true }],
    ['a platform timeout', { kind: 'refuse', refusal: restRefusal(2016) }, { isOutcomeUnknown: true }],
  ] as const)('that meets %s may be retried', async (_, fault, expected) => {
    await bench.open(notes);
    bench.platform.fail(POST_NOTE, fault);
    expect(await failure(await oneRow())).toMatchObject({
      isFinal: false,
      isRateLimited: false,
      ...expected,
    });
    expect(bench.platform.callsMatching(POST_NOTE)).toHaveLength(1);
  });

  test('that gets no response ends with an unknown outcome when it is aborted', async () => {
    await bench.open(notes);
    bench.platform.fail(POST_NOTE, { kind: 'hang' });
    const signal = AbortSignal.timeout(100);
    expect(await failure(await oneRow(), { signal })).toMatchObject({
      isOutcomeUnknown: true,
      isFinal: false,
    });
    bench.platform.cutHung();
  });

  test.each([
    ['Retry-After', { ...restRefusal(2020), headers: { 'retry-after': '2' } }, 2_000],
    ['ratelimit-reset', rateLimited(7), 7_000],
    ["the trigger's default", restRefusal(2020), 5_000],
  ] as const)('that is rate limited waits for %s, as do all requests of the key', async (_, refusal, ms) => {
    await bench.open(notes);
    bench.platform.refuse(POST_NOTE, refusal);
    const row = await oneRow();
    expect(await failure(row)).toMatchObject({ isRateLimited: true, isUncontacted: false, retryAfterMs: ms });
    const next = await failure(row);
    expect(next).toMatchObject({ isRateLimited: true, isUncontacted: true });
    expect(next.retryAfterMs).toBeGreaterThan(ms - 1_000);
    expect(bench.platform.callsMatching(POST_NOTE)).toHaveLength(1);
    expect(bench.adapter.outbound?.limits?.(bench.trigger).held).toMatchObject([{ of: 'account' }]);
  });

  test('that uses up the quota is the last one until the quota resets', async () => {
    await bench.open(notes);
    const row = await oneRow();
    const headers = { 'ratelimit-limit': '960', 'ratelimit-remaining': '0', 'ratelimit-reset': '9' };
    bench.platform.refuse(POST_NOTE, { status: 200, body: { note: { id: 'PN' } }, headers });
    expect(await bench.send(row)).toEqual({ id: 'PN' });
    const next = await failure(row);
    expect(next).toMatchObject({ isRateLimited: true, isUncontacted: true });
    expect(next.retryAfterMs).toBeGreaterThan(7_000);
    expect(bench.platform.callsMatching(POST_NOTE)).toHaveLength(1);
  });

  test('can be sent to any named incident', async () => {
    const trigger = await bench.open(notes);
    const { destination } = bench.adapter.outbound!;
    expect(await destination?.(trigger, `incidentmanager/${incident.id}`)).toEqual({ place: incident.id });
    expect(await destination?.(trigger, 'incidentmanager/../x')).toBeUndefined();
    expect(
      await destination?.(await bench.open(events, 'b'), `incidentmanager/${incident.id}`),
    ).toBeUndefined();
  });
});

describe('an answer sent with only a routing_key', () => {
  test('becomes an event for the open alert', async () => {
    await bench.open(events);
    const [receipt] = await bench.answer(incidentEvent('triggered', incident), 'It was the deploy.');
    expect(receipt).toEqual({ id: incident.incident_key });
    expect(bench.platform.events).toEqual([
      {
        routing_key: ROUTING_KEY,
        event_action: 'trigger',
        dedup_key: incident.incident_key,
        client: 'actor-gateway',
        payload: {
          summary: 'It was the deploy.',
          source: 'actor-gateway',
          severity: 'error',
          custom_details: { incident: incident.id },
        },
      },
    ]);
    expect(bench.platform.incidents.size).toBe(1);
    expect(bench.platform.calls[0]?.headers.authorization).toBeUndefined();
  });

  test('keeps the urgency of the incident', async () => {
    await bench.open(events);
    await bench.answer(incidentEvent('triggered', { ...incident, urgency: 'low' }), 'Later.');
    expect(bench.platform.events).toMatchObject([{ payload: { severity: 'warning' } }]);
  });

  test.each([
    ['to a resolved incident', 'resolved', { status: 'resolved' }],
    ['to an incident without a key', 'triggered', { incident_key: undefined }],
    ['to an incident with an oversized key', 'triggered', { incident_key: 'k'.repeat(256) }],
  ] as const)('%s sends no event, which would open another incident', async (_, what, more) => {
    await bench.open(events);
    const event = incidentEvent(what, { ...incident, ...more });
    expect(await bench.rows(event, 'Why?', action('trigger', 'acknowledge'))).toEqual([]);
  });

  test('to a note event sends nothing, because the note does not name the alert', async () => {
    await bench.open(events);
    expect(await bench.rows(noteEvent(incident, { id: 'PN', content: 'And now?' }), 'Wait.')).toEqual([]);
  });

  test("that is refused fails permanently with the platform's text", async () => {
    await bench.open(events);
    bench.platform.refuse(ENQUEUE, invalidEvent("'routing_key' is invalid"));
    expect(await failure(await oneRow())).toMatchObject({
      isFinal: true,
      platformCode: 400,
      message: "400: Event object is invalid: 'routing_key' is invalid",
    });
  });

  test('is sent again with the same deduplication key if the outcome is unknown', async () => {
    await bench.open(events);
    const row = await oneRow();
    bench.platform.fail(ENQUEUE, { kind: 'cut', isTaken: true });
    expect(await failure(row)).toMatchObject({ isOutcomeUnknown: true });
    await bench.send(row, { wasTried: true });
    expect(bench.platform.events.map(({ dedup_key }) => dedup_key)).toEqual([
      incident.incident_key,
      incident.incident_key,
    ]);
    expect(bench.platform.incidents.size).toBe(1);
  });

  test('that is rate limited waits', async () => {
    await bench.open(events);
    bench.platform.refuse(ENQUEUE, { status: 429, body: {}, headers: { 'retry-after': '3' } });
    expect(await failure(await oneRow())).toMatchObject({ isRateLimited: true, retryAfterMs: 3_000 });
  });
});

describe('actions of an answer', () => {
  const sentEvents = () =>
    bench.platform.events.map(({ event_action, dedup_key }) => [event_action, dedup_key]);

  test('are sent as events after the note if both an api_key and a routing_key are set', async () => {
    await bench.open({ ...notes, ...events });
    const rows = await bench.rows(
      incidentEvent('triggered', incident),
      'Rolled back.',
      action('acknowledge', 'resolve', 'trigger'),
    );
    expect(rows.map(({ key }) => key)).toEqual(Array(4).fill(rows[0]?.key));
    for (const row of rows) await bench.send(row);
    expect(requestLines()).toEqual([
      `POST /incidents/${incident.id}/notes`,
      ...Array(3).fill('POST /v2/enqueue'),
    ]);
    const key = incident.incident_key;
    expect(sentEvents()).toEqual([
      ['acknowledge', key],
      ['resolve', key],
      ['trigger', key],
    ]);
    expect(bench.platform.events[2]).toMatchObject({ payload: { summary: 'Rolled back.' } });
  });

  test('are sent as events if only a routing_key is set, and the answer itself triggers one event', async () => {
    await bench.open(events);
    await bench.answer(incidentEvent('triggered', incident), 'Seen.', action('trigger', 'acknowledge'));
    const key = incident.incident_key;
    expect(sentEvents()).toEqual([
      ['trigger', key],
      ['acknowledge', key],
    ]);
    expect(incident.status).toBe('acknowledged');
  });

  test('are sent even if the answer has no text', async () => {
    await bench.open({ ...notes, ...events });
    await bench.answer(incidentEvent('triggered', incident), '', action('resolve'));
    expect(requestLines()).toEqual(['POST /v2/enqueue']);
    expect(incident.status).toBe('resolved');
  });

  test('set the state of the incident if there is only an api_key', async () => {
    await bench.open(notes);
    await bench.answer(incidentEvent('triggered', incident), 'On it.', action('acknowledge'));
    expect(incident.status).toBe('acknowledged');
    await bench.answer(incidentEvent('reassigned', incident), 'Done.', action('resolve', 'trigger'));
    expect(incident.status).toBe('resolved');
    const puts = bench.platform.callsMatching(/^PUT/);
    expect(puts.map(({ body, headers }) => [body, headers.from])).toEqual(
      ['acknowledged', 'resolved'].map((status) => [
        { incident: { type: 'incident_reference', status } },
        bot.email,
      ]),
    );
  });

  test('set the state if the event does not contain the alert', async () => {
    await bench.open({ ...notes, ...events });
    await bench.answer(noteEvent(incident, { id: 'PN', content: 'resolve it' }), '', action('resolve'));
    expect([incident.status, sentEvents()]).toEqual(['resolved', []]);
  });

  test('do not reopen a resolved incident, and succeed if it already has the requested state', async () => {
    await bench.open(notes);
    const [, row] = await bench.rows(incidentEvent('triggered', incident), 'On it.', action('acknowledge'));
    incident.status = 'resolved';
    expect(await bench.send(row!)).toMatchObject({ note: expect.stringContaining('resolved meanwhile') });
    incident.status = 'acknowledged';
    expect(await bench.send(row!)).toEqual({ id: incident.id });
    expect(bench.platform.callsMatching(/^PUT/)).toEqual([]);
    const [, resolve] = await bench.rows(incidentEvent('reopened', incident), 'Done.', action('resolve'));
    bench.platform.refuse(/^PUT/, restRefusal(1001));
    expect(await bench.send(resolve!)).toEqual({ id: incident.id });
  });

  test('with unknown ids become links if they have a URL', async () => {
    await bench.open(notes);
    const actions = [
      { id: 'page', title: 'Runbook', url: 'https://runbooks.example/shop' },
      { id: 'restart', title: 'Restart' },
    ];
    const rows = await bench.rows(incidentEvent('triggered', incident), 'See.', { title: 'Slow', actions });
    expect(rows).toHaveLength(1);
    await bench.send(rows[0]!);
    expect(bench.platform.contentsOn(incident.id)[0]).toMatch(
      /^\*\*Slow\*\*\n\nSee\.\n\n- \[Runbook\]\(https:\/\/runbooks\.example\/shop\)\n\n-- /,
    );
  });
});

test('an outgoing note whose api_key was removed from the trigger fails with an error about the missing key', async () => {
  await bench.open(notes);
  const row = await oneRow();
  const { api_key: _, ...config } = bench.trigger.config;
  bench.trigger = { ...bench.trigger, config: { ...config, api_key: undefined } };
  expect(await failure(row)).toMatchObject({
    isFinal: true,
    message: 'trigger incidents no longer has api_key',
  });
});

test('triggers with the same keys have the same credential digest, which does not contain the keys', async () => {
  const credentialNameOf = bench.adapter.outbound!.credentialNameOf!;
  const [a, b, c] = [await bench.open(notes), await bench.open(notes, 'b'), await bench.open(events, 'c')];
  expect(credentialNameOf(a)).toBe(credentialNameOf(b));
  expect(credentialNameOf(a)).not.toBe(credentialNameOf(c));
  expect(credentialNameOf(a)).toMatch(/^[0-9a-f]{16}$/);
});
