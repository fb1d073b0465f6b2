// Webhooks of the incident manager, over real HTTP: what is taken, as what it reads, and which triggers it is for.

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
  test('is accepted as an event of its incident, under the id of the platform', async () => {
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

  test('that comes twice is one event, whatever else differs in it', async () => {
    await bench.open();
    const event = incidentEvent('triggered', incidentOf());
    await bench.sender.send(event);
    const again = await bench.sender.send({ ...event, delivered: 'again' });
    expect([again.status, await again.json()]).toMatchObject([200, { status: 'duplicate' }]);
    expect(bench.host.store.events).toHaveLength(1);
  });

  test('signed with any of several secrets is taken, while both sides change them', async () => {
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

  test('is for the triggers of whose secrets one has signed it', async () => {
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
  ])('with the signature %j is refused, and says nothing of the secret', async (signature, status) => {
    await bench.open();
    const response = await bench.sender.send(incidentEvent('triggered', incidentOf()), {
      'x-pagerduty-signature': signature,
    });
    expect(response.status).toBe(status);
    expect(await response.text()).not.toContain(SECRET);
    expect(bench.host.store.events).toEqual([]);
  });

  test.each([
    ['no JSON', '{'],
    ['no object', '[1]'],
    ['nothing', ''],
    ['no event', '{"messages":[]}'],
    ['an event without an id', JSON.stringify({ event: { event_type: 'incident.triggered' } })],
    ['an event without a type', JSON.stringify({ event: { id: '01A' } })],
    ['a type that is none', JSON.stringify({ event: { id: '01A', event_type: '../incident' } })],
  ])('that is verified and holds %s is malformed', async (_, body) => {
    await bench.open();
    expect((await bench.sender.send(body)).status).toBe(400);
    expect(bench.host.store.events).toEqual([]);
  });

  test.each([
    ['a ping', ping()],
    ['an event of a service', serviceEvent()],
    ['an event of something new', eventOf('escalation_policy.updated', { id: 'P1' })],
    ['an event of an incident without an id', eventOf('incident.triggered', { type: 'incident' })],
    ['an incident whose id leads elsewhere', eventOf('incident.triggered', { type: 'incident', id: '../x' })],
  ])('with %s is answered 200 and reaches nobody (IP1)', async (_, event) => {
    await bench.open();
    expect((await bench.sender.send(event)).status).toBe(200);
    expect(bench.host.store.events).toEqual([]);
  });

  test('that is larger than the platform sends any is refused for its size', async () => {
    await bench.open();
    const event = incidentEvent('triggered', incidentOf({ title: 'x'.repeat(262_144) }));
    expect((await bench.sender.send(event)).status).toBe(413);
  });

  test('with GET is no webhook', async () => {
    await bench.open();
    expect((await fetch(bench.sender.url)).status).toBe(405);
  });
});

describe('an event reads', () => {
  test('with the names of the contract, and the same each time', async () => {
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

  test('of a note with the incident that it refers to, and the note as what was written', async () => {
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
  ])('of %s with its incident, and what a person wrote', async (action, data, text) => {
    await bench.open();
    const event = await bench.read(eventOf(`incident.${action}`, data));
    expect(event.names).toEqual([`incident.${action}`, 'incident']);
    expect(event.context['incident.id']).toBe('PGR0VU2');
    expect(event.text).toBe(text);
  });

  test('without words where nobody wrote any: a title is said once', async () => {
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
  ] as const)('%j take an incident or not', async (config, expected) => {
    const trigger = await bench.open(config as never);
    const event = await bench.read(incidentEvent('acknowledged', incident));
    expect(bench.adapter.takes?.(trigger, event)).toBe(expected);
    expect(bench.adapter.complete?.(event, [trigger])).toBeUndefined();
  });

  const note = { id: 'PNOTE01', content: 'What now?' };

  test('say of an event that has no more than a reference that they cannot be told (IMF1)', async () => {
    const trigger = await bench.open({ ...events, service_ids: ['PSHOP01'] });
    const event = await bench.read(noteEvent(incident, note));
    expect(bench.adapter.complete?.(event, [trigger])).toBeUndefined();
    expect(bench.adapter.takes?.(trigger, event)).toBe(
      'service_ids cannot be told: the event does not say incident.service.id',
    );
  });

  async function completed(config: object): Promise<{ event: InboundEvent; takes: unknown }> {
    const trigger = await bench.open({ ...notes, ...config });
    const at = await bench.read(noteEvent(bench.platform.add({ id: 'PASKED1' }), note));
    const event = await (bench.adapter.complete?.(at, [trigger]) ?? at);
    return { event, takes: bench.adapter.takes?.(trigger, event) };
  }

  test('ask for it where there is a key', async () => {
    const { event, takes } = await completed({ service_ids: ['PSHOP01'], statuses: ['triggered'] });
    expect(takes).toBe(true);
    expect(event.context).toMatchObject({
      'incident.status': 'triggered',
      'incident.event': 'incident.annotated',
    });
    expect(bench.platform.asked(/./).map(({ what }) => what)).toEqual(['GET /incidents/PASKED1']);
  });

  test('ask for nothing where they need nothing', async () => {
    expect((await completed({})).takes).toBe(true);
    expect(bench.platform.calls).toEqual([]);
  });

  test('take none of what the key may not see (IL1, IMF1)', async () => {
    bench.platform.refuse(/^GET/, restRefusal(2010));
    expect((await completed({ urgencies: ['high'] })).takes).toMatch(/^urgencies cannot be told/);
  });

  test('have an event wait while the platform cannot be asked (IL1)', async () => {
    bench.platform.fail(/^GET/, { kind: 'html', status: 503 });
    await expect(completed({ urgencies: ['high'] })).rejects.toMatchObject({
      isFinal: false,
      isPlatformDown: true,
    });
  });
});

describe('what the gateway wrote itself', () => {
  const mark = noteMark('outbox:x/1');

  test('is taken by no trigger: a note is known by its last line (IMF2, OD1)', async () => {
    const trigger = await bench.open(notes);
    const own = await bench.read(
      noteEvent(incidentOf(), { id: 'PN1', content: `Done.\n\n${mark}` }, byUser(bot)),
    );
    expect(bench.adapter.takes?.(trigger, own)).toBe('the note is one of a gateway itself');
    const quoted = `> Done.\n> ${mark}\nDone what?`;
    const other = await bench.read(noteEvent(incidentOf(), { id: 'PN2', content: quoted }, byUser(ada)));
    expect(bench.adapter.takes?.(trigger, other)).toBe(true);
  });

  test('is known in full where the platform has cut it', async () => {
    const trigger = await bench.open(notes);
    const incident = bench.platform.add();
    await bench.answer(incidentEvent('triggered', incident), 'x'.repeat(9_000));
    const [written] = bench.platform.notes.get(incident.id) ?? [];
    // Another gateway of the same platform: it knows no id.
    const event = noteEvent(incident, { id: written?.id ?? '', content: 'xxx…', trimmed: true });
    const other = await new IncidentBench().start();
    await other.open({ ...notes, api_url: bench.platform.url });
    const cut = await other.read(event);
    const whole = await (other.adapter.complete?.(cut, [trigger]) ?? cut);
    expect(other.adapter.takes?.(trigger, cut)).toBe(true);
    expect(other.adapter.takes?.(trigger, whole)).toBe('the note is one of a gateway itself');
    await other.stop();
  });

  test('is known by its id, too, and is not even kept (OD1)', async () => {
    await bench.open(notes);
    const incident = bench.platform.add();
    const [receipt] = await bench.answer(incidentEvent('triggered', incident), 'Done.');
    const response = await bench.sender.send(noteEvent(incident, { id: receipt?.id ?? '', content: 'Done' }));
    expect([response.status, await response.json()]).toMatchObject([200, { status: 'ignored' }]);
  });

  test('a state is known by the user that the platform names, where no note has named it', async () => {
    await bench.open(notes);
    const incident = bench.platform.add();
    const told: Members[] = [];
    bench.platform.onEvent = (event) => void told.push(event);
    const actions = [{ id: 'resolve', title: 'Resolve' }];
    await bench.answer(incidentEvent('triggered', incident), '', { actions });
    expect(told).toHaveLength(1);
    expect((await bench.sender.send(told[0] ?? {})).status).toBe(200);
  });

  test('a state is known by the time that the platform tells of it, though its answer was lost (OD2)', async () => {
    await bench.open(events);
    const incident = bench.platform.add();
    const told: Members[] = [];
    bench.platform.onEvent = (event) => void told.push(event);
    bench.platform.fail(/enqueue/, { kind: 'cut', isTaken: true });
    const actions = [{ id: 'resolve', title: 'Resolve' }];
    const [, row] = await bench.rows(incidentEvent('triggered', incident), 'Done.', { actions });
    await expect(bench.send(row!)).rejects.toMatchObject({ isOutcomeUnknown: true });
    expect(told).toHaveLength(1);
    expect((await bench.sender.send(told[0] ?? {})).status).toBe(200);
  });

  test.each([
    ['with the key of a user', notes, byUser(bot), byUser(ada)],
    ['with a routing key', events, {}, byUser(ada)],
  ])('a state %s, unless it is of somebody else (OD2)', async (_, config, ours, others) => {
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
