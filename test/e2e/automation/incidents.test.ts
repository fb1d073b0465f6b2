// Incidents with the whole program: each event is answered by one note despite failures of platform, network
// and machine, and events that the gateway itself caused are not answered.

import { describe, expect, test } from 'vitest';
import { eventually } from '../../fixtures/automation/automation.ts';
import { expectOneKeyPerInput, waitUntilIdle } from '../../fixtures/automation/killed.ts';
import { invalidEvent, rateLimited, restRefusal } from '../../fixtures/incident-platform/incident-error.ts';
import {
  byUser,
  type FakeIncident,
  incidentEvent,
  type Members,
  noteEvent,
  ping,
  serviceEvent,
} from '../../fixtures/incident-platform/incident-payloads.ts';
import {
  API_KEY,
  ada,
  events,
  type Incidents,
  notes,
  ROUTING_KEY,
  startIncidents,
  WEBHOOK_SECRET,
} from '../../fixtures/incident-platform/incidents.ts';

const POST_NOTE = /^POST .*\/notes$/;
const ENQUEUE = /^POST \/v2\/enqueue$/;

const idOf = (event: Members) => (event.event as { readonly id: string }).id;
const rowOf = ({ delivery }: Incidents, event: Members, n = 1) =>
  delivery(`outbox:incidentmanager:incidents/${idOf(event)}/${n}`);
/** Visible notes, without the last line, which is a marker of the gateway. */
const notesOf = ({ platform }: Incidents, { id }: FakeIncident) =>
  platform.contentsOn(id).map((content) => content.replace(/\n\n-- actor-gateway [0-9a-f]{16}$/, ''));
const expectDone = (all: Incidents, event: Members, n = 1) =>
  eventually(async () => expect(await rowOf(all, event, n)).toMatchObject({ state: 'done' }));

test.concurrent('an event is answered by one note, also if it is delivered twice, and the note triggers no answer', async () => {
  const all = await startIncidents({ config: notes });
  const incident = all.platform.add({ title: 'Checkout is slow' });
  const event = incidentEvent('triggered', incident, byUser(ada));
  const statuses = [(await all.sender.send(event)).status, (await all.sender.send(event)).status];
  expect(statuses).toEqual([202, 200]);
  await expectDone(all, event);
  await eventually(() => expect(all.sentEvents).toHaveLength(1));
  await waitUntilIdle(all.gateway);
  expect(notesOf(all, incident)).toEqual(['heard: Checkout is slow']);
  expect(all.agent.requests).toHaveLength(1);
  const [{ body } = { body: undefined }] = all.agent.requests;
  expect(body).toMatchObject({
    trigger: 'incidents',
    conversation: `incidentmanager/${incident.id}`,
    event: { type: 'IncidentManager', payload: { event: { data: { id: incident.id } } } },
  });
  expect(await rowOf(all, event)).toMatchObject({
    receipt: all.platform.notes.get(incident.id)?.[0]?.id,
    conversation: `outbox/incidentmanager/${new URL(all.platform.url).host}/${incident.id}`,
  });
});

test.concurrent('notes of people are answered in the conversation of their incident; pings and service events call no agent', async () => {
  const all = await startIncidents({
    config: notes,
    spec: { default_agent: undefined, commands: { 'incident.annotated': { agent: 'oncall' } } },
  });
  const incident = all.platform.add();
  const silent = [ping(), serviceEvent(), incidentEvent('triggered', incident)];
  for (const event of silent) expect((await all.sender.send(event)).ok).toBe(true);
  const events = ['first', 'second'].map((content, n) =>
    noteEvent(incident, { id: `PN${n}`, content }, byUser(ada)),
  );
  for (const event of events) expect((await all.sender.send(event)).status).toBe(202);
  for (const event of events) await expectDone(all, event);
  await waitUntilIdle(all.gateway);
  expect(notesOf(all, incident)).toEqual(['heard: first', 'heard: second']);
  expect(all.agent.requests.map(({ body }) => [body.command, body.history.length])).toEqual([
    ['incident.annotated', 0],
    ['incident.annotated', 2],
  ]);
});

describe('a killed gateway', () => {
  test.concurrent('loses no acknowledged event, repeats agent requests with the same key, and writes one note per event', async () => {
    let isAway = true;
    let now = await startIncidents({
      config: notes,
      answer: async ({ body: { input } }) => {
        if (isAway && input === 'while asked') await new Promise(() => {});
        return { text: input };
      },
    });
    const { platform, agent } = now;
    const titles = ['stored as sent', 'while asked', 'before it arrived', 'before we knew'];
    const incidents = titles.map((title) => platform.add({ title }));
    const all = incidents.map((incident) => incidentEvent('triggered', incident));
    const [sent, asked, before, after] = incidents as [
      FakeIncident,
      FakeIncident,
      FakeIncident,
      FakeIncident,
    ];
    const take = (incident: FakeIncident) => now.sender.deliver(all[incidents.indexOf(incident)] ?? {});
    await take(sent);
    await expectDone(now, all[0] ?? {});
    await take(asked);
    platform.fail(new RegExp(`^POST .*/${before.id}/notes`), { kind: 'hang' });
    platform.fail(new RegExp(`^POST .*/${after.id}/notes`), { kind: 'hang', isTaken: true });
    await take(before);
    await take(after);
    await eventually(() => {
      expect(agent.requests.map(({ body }) => body.input)).toContain('while asked');
      expect(platform.callsMatching(new RegExp(`/${before.id}/notes`))).toHaveLength(1);
      expect(platform.contentsOn(after.id)).toHaveLength(1);
    });
    await now.gateway.stop('SIGKILL');
    isAway = false;
    now = await now.restart();
    // The platform received no acknowledgement, and redelivers all of them.
    for (const incident of incidents) await take(incident);
    await waitUntilIdle(now.gateway);
    for (const incident of incidents) expect(notesOf(now, incident)).toEqual([incident.title]);
    for (const event of all) expect(await rowOf(now, event)).toMatchObject({ state: 'done' });
    expect(expectOneKeyPerInput(agent).get('while asked')).toBe(2);
    // Events that occurred meanwhile are redelivered, possibly with a new id but with the same last line.
    for (const incident of incidents) {
      const [note] = platform.notes.get(incident.id) ?? [];
      const event = noteEvent(incident, { id: `${note?.id}X`, content: note?.content ?? '' });
      expect((await now.sender.send(event)).status).toBe(202);
    }
    await waitUntilIdle(now.gateway);
    expect(new Set(agent.requests.map(({ body }) => body.input))).toEqual(new Set(titles));
  }, 90_000);
});

describe('the incident platform', () => {
  test.concurrent('may answer with four rate limits, which use none of the three attempts', async () => {
    const all = await startIncidents({ config: notes });
    const incident = all.platform.add();
    const event = incidentEvent('triggered', incident);
    all.platform.refuse(POST_NOTE, { ...restRefusal(2020), headers: { 'retry-after': '1' } });
    all.platform.refuse(POST_NOTE, rateLimited(1));
    all.platform.refuse(POST_NOTE, restRefusal(2020), 2);
    await all.sender.send(event);
    await expectDone(all, event);
    expect(await rowOf(all, event)).toMatchObject({ attempts: 1, state: 'done' });
    expect(notesOf(all, incident)).toHaveLength(1);
  });

  test.concurrent('gets the note once despite server errors, proxy pages or cut connections', async () => {
    const all = await startIncidents({
      config: notes,
      spec: { retry: { attempts: 6, min_backoff_seconds: 0.1 } },
    });
    const incident = all.platform.add();
    const event = incidentEvent('triggered', incident);
    all.platform.refuse(POST_NOTE, restRefusal(2000));
    all.platform.fail(POST_NOTE, { kind: 'html', status: 503 });
    all.platform.fail(POST_NOTE, { kind: 'cut' });
    all.platform.fail(POST_NOTE, { kind: 'html', status: 502, isTaken: true });
    await all.sender.send(event);
    await expectDone(all, event);
    expect(notesOf(all, incident)).toHaveLength(1);
    expect(all.platform.callsMatching(POST_NOTE)).toHaveLength(4);
  });

  test.concurrent('receives no retry of a refused note: the note is dead, and the event is done', async () => {
    const all = await startIncidents({ config: notes });
    for (const refusal of [restRefusal(2010), restRefusal(2100), restRefusal(1008), restRefusal(2001)]) {
      const event = incidentEvent('triggered', all.platform.add());
      const { length } = all.platform.callsMatching(POST_NOTE);
      all.platform.refuse(POST_NOTE, refusal);
      await all.sender.send(event);
      await eventually(async () =>
        expect(await rowOf(all, event)).toMatchObject({ state: 'dead', attempts: 1 }),
      );
      const { code } = (refusal.body as { readonly error: { readonly code: number } }).error;
      expect((await rowOf(all, event)).note).toMatch(new RegExp(`\\b${code} `));
      expect(all.platform.callsMatching(POST_NOTE)).toHaveLength(length + 1);
      expect(await all.delivery(`incidentmanager:incidents/${idOf(event)}`)).toMatchObject({ state: 'done' });
    }
  });

  test.concurrent('delays no other incident if it does not respond, and gets the note once', async () => {
    const all = await startIncidents({ config: notes });
    const [stuck, other] = [all.platform.add(), all.platform.add()];
    all.platform.fail(new RegExp(`^POST .*/${stuck.id}/notes`), { kind: 'hang', isTaken: true });
    const [first, second] = [stuck, other].map((each) => incidentEvent('triggered', each)) as [
      Members,
      Members,
    ];
    await all.sender.send(first);
    await eventually(() => expect(all.platform.contentsOn(stuck.id)).toHaveLength(1));
    await all.sender.send(second);
    await expectDone(all, second);
    all.platform.cutHung();
    await expectDone(all, first);
    expect(notesOf(all, stuck)).toHaveLength(1);
  });

  test.concurrent('may fail to return the data that a filter needs: the event waits and is filtered afterwards', async () => {
    const all = await startIncidents({ config: { ...notes, service_ids: ['PSHOP01'] } });
    const [ours, others] = [
      all.platform.add(),
      all.platform.add({ service: { id: 'POTHER1', summary: 'Other' } }),
    ];
    all.platform.fail(/^GET \/incidents\/\w+$/, { kind: 'html', status: 503 });
    const [first, second] = [ours, others].map((each, n) =>
      noteEvent(each, { id: `PN${n}`, content: 'And now?' }, byUser(ada)),
    ) as [Members, Members];
    for (const event of [first, second]) expect((await all.sender.send(event)).status).toBe(202);
    await expectDone(all, first);
    await waitUntilIdle(all.gateway);
    expect(all.agent.requests).toHaveLength(1);
    expect(await all.delivery(`incidentmanager:incidents/${idOf(second)}`)).toMatchObject({
      state: 'ignored',
    });
  });
});

describe('a trigger with only a routing key', () => {
  test.concurrent('sends answers as alert events, but none after the alert is resolved', async () => {
    const all = await startIncidents({ config: events });
    const incident = all.platform.add();
    all.platform.refuse(ENQUEUE, { status: 500, body: {} });
    const event = incidentEvent('triggered', incident);
    await all.sender.send(event);
    await expectDone(all, event);
    await all.sender.send(incidentEvent('resolved', { ...incident, status: 'resolved' }));
    await waitUntilIdle(all.gateway);
    expect(all.platform.events).toMatchObject([
      { event_action: 'trigger', dedup_key: incident.incident_key, routing_key: ROUTING_KEY },
    ]);
    expect(all.agent.requests).toHaveLength(2);
    expect(await all.outbox()).toHaveLength(1);
    expect(all.platform.incidents.size).toBe(1);
  });

  test.concurrent('does not retry an alert event that the platform refuses, and records the platform error', async () => {
    const all = await startIncidents({ config: events });
    const event = incidentEvent('triggered', all.platform.add());
    all.platform.refuse(ENQUEUE, invalidEvent("'routing_key' is invalid"));
    await all.sender.send(event);
    await eventually(async () =>
      expect(await rowOf(all, event)).toMatchObject({ state: 'dead', attempts: 1 }),
    );
    expect((await rowOf(all, event)).note).toContain("'routing_key' is invalid");
  });
});

test.concurrent.each([
  ['a routing key', { ...notes, ...events }, 'POST /v2/enqueue'],
  ['an api_key', notes, 'PUT'],
])(
  'actions in an answer change the incident state with %s after the note is written, and trigger no answer',
  async (_, config, by) => {
    const actions = [
      { id: 'acknowledge', title: 'Acknowledge' },
      { id: 'resolve', title: 'Resolve' },
    ];
    const all = await startIncidents({ config, answer: () => ({ text: 'Rolled back.', data: { actions } }) });
    const incident = all.platform.add();
    const event = incidentEvent('triggered', incident);
    await all.sender.send(event);
    for (const n of [1, 2, 3]) await expectDone(all, event, n);
    await eventually(() => expect(all.sentEvents).toHaveLength(3));
    await waitUntilIdle(all.gateway);
    expect(incident.status).toBe('resolved');
    expect(notesOf(all, incident)).toEqual(['Rolled back.']);
    const writes = all.platform.callsMatching(/^(POST|PUT)/).map(({ what }) => what);
    expect([writes[0], writes.slice(1).map((text) => text.startsWith(by))]).toEqual([
      `POST /incidents/${incident.id}/notes`,
      [true, true],
    ]);
    expect(all.agent.requests).toHaveLength(1);
  },
);

test.concurrent('a webhook disabled by the platform is enabled again, and operators can see it', async () => {
  const all = await startIncidents({ config: notes });
  const hook = { id: 'POFF001', url: all.sender.url, active: true, temporarily_disabled: true };
  all.platform.subscriptions.push(hook);
  await eventually(() => expect(hook.temporarily_disabled).toBe(false));
  await eventually(async () => {
    const trigger = (await (await fetch(`${all.gateway.url}/triggers/incidents`)).json()) as object;
    expect(trigger).toMatchObject({ remarks: [{ text: expect.stringContaining('POFF001') }] });
  });
  expect(all.gateway.logs().map(({ msg }) => msg)).toContain('re-enabled webhook');
});

test.concurrent('a proactive message with an idempotency key is written once to its incident, even if it is sent twice', async () => {
  const all = await startIncidents({ config: notes });
  const incident = all.platform.add();
  const send = () =>
    fetch(`${all.gateway.url}/triggers/incidents/send`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': 'release-1' },
      body: JSON.stringify({ conversation: `incidentmanager/${incident.id}`, text: 'Released.' }),
    });
  for (const response of [await send(), await send()]) expect(response.ok).toBe(true);
  await eventually(() => expect(notesOf(all, incident)).toEqual(['Released.']));
  await waitUntilIdle(all.gateway);
  expect(notesOf(all, incident)).toHaveLength(1);
});

test.concurrent('no secret is in the log or in the delivery records', async () => {
  const all = await startIncidents({ config: { ...notes, ...events } });
  all.platform.refuse(POST_NOTE, restRefusal(2006, [`bad key ${API_KEY}`]));
  const event = incidentEvent('triggered', all.platform.add());
  await all.sender.send(event);
  await all.sender.send(event, { 'x-pagerduty-signature': `v1=${'0'.repeat(64)}` });
  await eventually(async () => expect(await rowOf(all, event)).toMatchObject({ state: 'dead' }));
  const { url } = all.gateway;
  const pages = await Promise.all(
    ['/deliveries', '/triggers', '/triggers/incidents', '/stats'].map(async (path) =>
      (await fetch(url + path)).text(),
    ),
  );
  const texts = [all.gateway.text(), ...pages, JSON.stringify(await rowOf(all, event))].join('\n');
  for (const secret of [API_KEY, ROUTING_KEY, WEBHOOK_SECRET]) expect(texts).not.toContain(secret);
});
