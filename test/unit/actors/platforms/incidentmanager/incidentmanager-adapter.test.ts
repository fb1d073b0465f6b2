// Webhooks of the incident manager, over real HTTP: accepted events, content, and matching triggers.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { InboundEvent } from '../../../../../actors/events/inbound-event.ts';
import { noteMark } from '../../../../../actors/platforms/incidentmanager/note-mark.ts';
import { restRefusal } from '../../../../fixtures/incident-platform/incident-error.ts';
import {
  byUser,
  eventOf,
  incidentEvent,
  incidentOf,
  type Members,
  noteEvent,
  ping,
  referenceTo,
  serviceEvent,
} from '../../../../fixtures/incident-platform/incident-payloads.ts';
import { WebhookSender } from '../../../../fixtures/incident-platform/webhook-sender.ts';
import { ada, bot, events, IncidentBench, notes, SECRET } from './incident-bench.ts';

let bench: IncidentBench;
beforeEach(async () => {
  bench = await new IncidentBench().start();
});
afterEach(() => bench.stop());

const idOf = (event: Members) => (event.event as { readonly id: string }).id;

describe('a webhook', () => {
  test('is accepted as an event of its incident, with the id of the platform', async () => {
    await bench.open();
    const event = incidentEvent('triggered', incidentOf({ id: 'PGR0VU2' }));
    const response = await bench.sender.send(event);
    const id = `incidentmanager:incidents/${idOf(event)}`;
    expect([response.status, await response.json()]).toEqual([202, { id, status: 'accepted' }]);
    expect(bench.host.event()).toMatchObject({ id, key: 'conversation/incidentmanager/PGR0VU2' });
    expect(JSON.parse(bench.host.event().meta)).toEqual({
      triggers: ['incidents'],
      principal: 'signature:webhook_secret',
    });
  });

  test('is one event after redelivery, also with other content', async () => {
    await bench.open();
    const event = incidentEvent('triggered', incidentOf());
    await bench.sender.send(event);
    const secondResponse = await bench.sender.send({ ...event, delivered: 'again' });
    expect([secondResponse.status, await secondResponse.json()]).toMatchObject([
      200,
      { status: 'duplicate' },
    ]);
    expect(bench.host.store.events).toHaveLength(1);
  });

  test('with one valid signature among several is accepted, so that both sides can rotate secrets', async () => {
    await bench.open({ webhook_secret: 'the new one', webhook_secrets: ['the old one', 'another'] });
    for (const secrets of [
      ['the old one'],
      ['the new one'],
      ['x', 'another'],
      ['the new one', 'the old one'],
    ]) {
      const sender = new WebhookSender(bench.sender.url, secrets);
      expect((await sender.send(incidentEvent('triggered', incidentOf()))).status).toBe(202);
    }
    expect((await bench.sender.send(incidentEvent('triggered', incidentOf()))).status).toBe(401);
  });

  test('is accepted by the triggers that have its secret', async () => {
    await bench.open({}, 'a');
    await bench.open({ webhook_secrets: ['x', SECRET], webhook_secret: undefined }, 'b');
    await bench.open({ webhook_secret: 'y' }, 'c');
    expect((await bench.read(incidentEvent('triggered', incidentOf()))).triggers).toEqual(['a', 'b']);
  });

  test.each([
    ['', 401],
    ['v1=abc', 401],
    [`v1=${'0'.repeat(64)}`, 401],
    [`v2=${'0'.repeat(64)}`, 401],
  ])('with the signature %j is rejected, without revealing the secret', async (signature, status) => {
    await bench.open();
    const response = await bench.sender.send(incidentEvent('triggered', incidentOf()), {
      'x-pagerduty-signature': signature,
    });
    expect(response.status).toBe(status);
    expect(await response.text()).not.toContain(SECRET);
    expect(bench.host.store.events).toEqual([]);
  });

  test.each([
    ['invalid JSON', '{'],
    ['a list', '[1]'],
    ['an empty body', ''],
    ['no event', '{"messages":[]}'],
    ['an event without an id', JSON.stringify({ event: { event_type: 'incident.triggered' } })],
    ['an event without a type', JSON.stringify({ event: { id: '01A' } })],
    ['an event with an invalid type', JSON.stringify({ event: { id: '01A', event_type: '../incident' } })],
  ])('with a valid signature and %s is rejected', async (_, body) => {
    await bench.open();
    expect((await bench.sender.send(body)).status).toBe(400);
    expect(bench.host.store.events).toEqual([]);
  });

  test.each([
    ['a ping', ping()],
    ['an event of a service', serviceEvent()],
    ['an event of an unknown kind', eventOf('escalation_policy.updated', { id: 'P1' })],
    ['an event of an incident without an id', eventOf('incident.triggered', { type: 'incident' })],
    ['an incident whose id is a path', eventOf('incident.triggered', { type: 'incident', id: '../x' })],
  ])('with %s gets status 200 and reaches no trigger', async (_, event) => {
    await bench.open();
    expect((await bench.sender.send(event)).status).toBe(200);
    expect(bench.host.store.events).toEqual([]);
  });

  test('above the size limit of the platform is rejected', async () => {
    await bench.open();
    const event = incidentEvent('triggered', incidentOf({ title: 'x'.repeat(262_144) }));
    expect((await bench.sender.send(event)).status).toBe(413);
  });

  test('with GET is rejected', async () => {
    await bench.open();
    expect((await fetch(bench.sender.url)).status).toBe(405);
  });
});

describe('an event', () => {
  test('has the documented names and fields, with the same result at each read', async () => {
    await bench.open();
    const incident = incidentOf({
      id: 'PGR0VU2',
      number: 2,
      title: 'Checkout is slow',
      incident_key: 'shop',
    });
    const event = await bench.read(incidentEvent('triggered', incident, byUser(ada)));
    expect(event).toMatchObject({
      platform: 'incidentmanager',
      names: ['incident.triggered', 'incident'],
      text: 'Checkout is slow',
      user: ada.id,
    });
    expect(event.context).toEqual({
      'incident.event': 'incident.triggered',
      'incident.id': 'PGR0VU2',
      'incident.number': 2,
      'incident.title': 'Checkout is slow',
      'incident.status': 'triggered',
      'incident.urgency': 'high',
      'incident.priority': 'P1',
      'incident.service.id': 'PSHOP01',
      'incident.service.name': 'Shop',
      'incident.key': 'shop',
      'incident.created_at': '2026-11-21T20:16:35Z',
      'incident.url': 'https://acme.example/incidents/PGR0VU2',
      'incident.sender.id': ada.id,
      'incident.sender.name': ada.summary,
    });
    const { parsed: _, ...stored } = bench.host.event();
    expect(bench.adapter.read(stored)).toEqual(event);
    expect(event.payload).toMatchObject({ event: { data: { id: 'PGR0VU2' } } });
  });

  test('of a note has the referenced incident and the text of the note', async () => {
    await bench.open();
    const note = { id: 'PNOTE01', content: ' What now? ' };
    const event = await bench.read(noteEvent({ id: 'PGR0VU2', title: 'Slow' }, note, byUser(ada)));
    expect(event).toMatchObject({ names: ['incident.annotated', 'incident'], text: 'What now?' });
    expect(event.context).toMatchObject({ 'incident.id': 'PGR0VU2', 'incident.title': 'Slow' });
    expect(event.context).not.toHaveProperty('incident.status');
  });

  const incident = referenceTo('incident', { id: 'PGR0VU2', summary: 'Slow' });

  test.each([
    ['status_update_published', { incident, message: 'soon' }, 'soon'],
    ['responder.added', { incident, message: 'please help' }, 'please help'],
    ['task.created', { incident, name: 'look at it' }, 'look at it'],
    ['role.assigned', { incident_role_assignments: [{ incident }] }, undefined],
    ['conference_bridge.updated', { incident }, undefined],
    ['something.new', { incident, message: 'x' }, undefined],
  ])('of type %s has its incident and the written text', async (action, data, text) => {
    await bench.open();
    const event = await bench.read(eventOf(`incident.${action}`, data));
    expect(event.names).toEqual([`incident.${action}`, 'incident']);
    expect(event.context['incident.id']).toBe('PGR0VU2');
    expect(event.text).toBe(text);
  });

  test('without written text has no text, even if it has a title', async () => {
    await bench.open();
    expect((await bench.read(incidentEvent('acknowledged', incidentOf()))).text).toBeUndefined();
  });
});

describe('filters', () => {
  const incident = incidentOf({ status: 'acknowledged', urgency: 'low' });

  test.each([
    [{}, true],
    [{ service_ids: ['PSHOP01'] }, true],
    [{ service_ids: ['POTHER1'] }, false],
    [{ urgencies: ['low'] }, true],
    [{ urgencies: ['high'] }, false],
    [{ statuses: ['triggered', 'acknowledged'] }, true],
    [{ statuses: ['resolved'] }, false],
    [{ service_ids: ['PSHOP01'], urgencies: ['low'], statuses: ['resolved'] }, false],
  ] as const)('%j accept or reject an incident', async (config, expected) => {
    const trigger = await bench.open(config as never);
    const event = await bench.read(incidentEvent('acknowledged', incident));
    expect(bench.adapter.accepts?.(trigger, event)).toBe(expected);
    expect(bench.adapter.addLookups?.(event, [trigger])).toBeUndefined();
  });

  const note = { id: 'PNOTE01', content: 'What now?' };

  test('cannot be checked on an event that only refers to its incident', async () => {
    const trigger = await bench.open({ ...events, service_ids: ['PSHOP01'] });
    const event = await bench.read(noteEvent(incident, note));
    expect(bench.adapter.addLookups?.(event, [trigger])).toBeUndefined();
    expect(bench.adapter.accepts?.(trigger, event)).toBe(
      'service_ids cannot be checked: the event contains no incident.service.id',
    );
  });

  async function completedEvent(config: object): Promise<{ event: InboundEvent; isAccepted: unknown }> {
    const trigger = await bench.open({ ...notes, ...config });
    const inbound = await bench.read(noteEvent(bench.platform.add({ id: 'PASKED1' }), note));
    const event = await (bench.adapter.addLookups?.(inbound, [trigger]) ?? inbound);
    return { event, isAccepted: bench.adapter.accepts?.(trigger, event) };
  }

  test('are checked after a lookup if there is an api_key', async () => {
    const { event, isAccepted } = await completedEvent({ service_ids: ['PSHOP01'], statuses: ['triggered'] });
    expect(isAccepted).toBe(true);
    expect(event.context).toMatchObject({
      'incident.status': 'triggered',
      'incident.event': 'incident.annotated',
    });
    expect(bench.platform.callsMatching(/./).map(({ what }) => what)).toEqual(['GET /incidents/PASKED1']);
  });

  test('need no lookup without conditions', async () => {
    expect((await completedEvent({})).isAccepted).toBe(true);
    expect(bench.platform.calls).toEqual([]);
  });

  test('reject events that the key has no access to', async () => {
    bench.platform.refuse(/^GET/, restRefusal(2010));
    expect((await completedEvent({ urgencies: ['high'] })).isAccepted).toMatch(
      /^urgencies cannot be checked/,
    );
  });

  test('delay an event while the lookup fails', async () => {
    bench.platform.fail(/^GET/, { kind: 'html', status: 503 });
    await expect(completedEvent({ urgencies: ['high'] })).rejects.toMatchObject({
      isFinal: false,
      isPlatformDown: true,
    });
  });
});

describe('an action of the gateway', () => {
  const mark = noteMark('outbox:x/1');

  test('is accepted by no trigger: a note is recognised by its last line', async () => {
    const trigger = await bench.open(notes);
    const own = await bench.read(
      noteEvent(incidentOf(), { id: 'PN1', content: `Done.\n\n${mark}` }, byUser(bot)),
    );
    expect(bench.adapter.accepts?.(trigger, own)).toBe('the note was written by a gateway');
    const quoted = `> Done.\n> ${mark}\nDone what?`;
    const other = await bench.read(noteEvent(incidentOf(), { id: 'PN2', content: quoted }, byUser(ada)));
    expect(bench.adapter.accepts?.(trigger, other)).toBe(true);
  });

  test('is recognised from the full note if the platform shortened it', async () => {
    const trigger = await bench.open(notes);
    const incident = bench.platform.add();
    await bench.answer(incidentEvent('triggered', incident), 'x'.repeat(9_000));
    const [written] = bench.platform.notes.get(incident.id) ?? [];
    // A note of another gateway with the same account has an unknown id.
    const event = noteEvent(incident, { id: written?.id ?? '', content: 'xxx…', trimmed: true });
    const other = await new IncidentBench().start();
    await other.open({ ...notes, api_url: bench.platform.url });
    const shortened = await other.read(event);
    const whole = await (other.adapter.addLookups?.(shortened, [trigger]) ?? shortened);
    expect(other.adapter.accepts?.(trigger, shortened)).toBe(true);
    expect(other.adapter.accepts?.(trigger, whole)).toBe('the note was written by a gateway');
    await other.stop();
  });

  test("is also recognised by the note's id, and not stored", async () => {
    await bench.open(notes);
    const incident = bench.platform.add();
    const [receipt] = await bench.answer(incidentEvent('triggered', incident), 'Done.');
    const response = await bench.sender.send(noteEvent(incident, { id: receipt?.id ?? '', content: 'Done' }));
    expect([response.status, await response.json()]).toMatchObject([200, { status: 'ignored' }]);
  });

  test('is recognised by the user in its response if no earlier note has revealed the user', async () => {
    await bench.open(notes);
    const incident = bench.platform.add();
    const reported: Members[] = [];
    bench.platform.onEvent = (event) => void reported.push(event);
    const actions = [{ id: 'resolve', title: 'Resolve' }];
    await bench.answer(incidentEvent('triggered', incident), '', { actions });
    expect(reported).toHaveLength(1);
    expect((await bench.sender.send(reported[0] ?? {})).status).toBe(200);
  });

  test('is recognised when the platform reports it, even if its response was lost', async () => {
    await bench.open(events);
    const incident = bench.platform.add();
    const reported: Members[] = [];
    bench.platform.onEvent = (event) => void reported.push(event);
    bench.platform.fail(/enqueue/, { kind: 'cut', isTaken: true });
    const actions = [{ id: 'resolve', title: 'Resolve' }];
    const [, row] = await bench.rows(incidentEvent('triggered', incident), 'Done.', { actions });
    await expect(bench.send(row!)).rejects.toMatchObject({ isOutcomeUnknown: true });
    expect(reported).toHaveLength(1);
    expect((await bench.sender.send(reported[0] ?? {})).status).toBe(200);
  });

  test.each([
    ['with the key of a user', notes, byUser(bot), byUser(ada)],
    ['with a routing key', events, {}, byUser(ada)],
  ])('%s is recognised, unless another user set the state', async (_, config, ours, others) => {
    await bench.open(config);
    const incident = bench.platform.add();
    const actions = [{ id: 'acknowledge', title: 'Acknowledge' }];
    await bench.answer(incidentEvent('triggered', incident), 'On it.', { actions });
    expect(incident.status).toBe('acknowledged');
    expect((await bench.sender.send(incidentEvent('acknowledged', incident, ours))).status).toBe(200);
    expect((await bench.sender.send(incidentEvent('acknowledged', incident, others))).status).toBe(202);
    expect((await bench.sender.send(incidentEvent('resolved', incident, ours))).status).toBe(202);
    expect((await bench.sender.send(incidentEvent('acknowledged', incidentOf(), ours))).status).toBe(202);
  });
});
