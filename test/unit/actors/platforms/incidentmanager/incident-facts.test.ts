// Any payload with a valid signature is parsed or ignored, always with the same result and with safe ids.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { incidentEvent, readIncidentEvent } from '../../../../../actors/platforms/incidentmanager/event.ts';
import { idOf, incidentIn, platformEventIn } from '../../../../../actors/platforms/incidentmanager/facts.ts';
import { incidentEvents } from '../../../../../config/resources/fields/incident-events.ts';

const anything = fc.oneof(fc.jsonValue({ maxDepth: 3 }), fc.string());
const usuallyOneOf = (...values: readonly string[]) =>
  fc.oneof({ arbitrary: fc.constantFrom(...values), weight: 5 }, { arbitrary: anything, weight: 1 });

/** An incident of the platform, with missing or unexpected members. */
const incident = fc.record(
  {
    id: usuallyOneOf('PGR0VU2', 'PGR0VU3', '../x', '', 'a/b', 'P 1'),
    type: usuallyOneOf('incident', 'incident', 'incident_reference'),
    title: anything,
    summary: anything,
    status: usuallyOneOf('triggered', 'resolved'),
    urgency: anything,
    number: anything,
    service: fc.oneof(fc.record({ id: anything, summary: anything }), anything),
    incident_key: anything,
    priority: anything,
    content: anything,
  },
  { requiredKeys: ['id', 'type'] },
);
const data = fc.oneof(
  { arbitrary: incident, weight: 3 },
  { arbitrary: fc.record({ incident, id: anything, content: anything }), weight: 3 },
  { arbitrary: anything, weight: 1 },
);
const payload = fc.record({
  event: fc.record({
    id: usuallyOneOf('01A', '01B', '../x', 'a b'),
    event_type: usuallyOneOf(...incidentEvents, 'pagey.ping', 'service.updated'),
    agent: anything,
    data,
  }),
});

test('any webhook payload of the incident manager is either parsed or ignored, without an exception', () => {
  let parsedCount = 0;
  fc.assert(
    fc.property(payload, (value) => {
      const parsed = platformEventIn(value);
      if (parsed === undefined) return;
      const id = idOf(incidentIn(value, parsed.type));
      if (id === undefined) return;
      parsedCount += 1;
      expect(id).toMatch(/^\w{1,64}$/);
      const by = { principal: { kind: 'signature', name: 'webhook_secret' } as const, trace: '' };
      const event = incidentEvent(['t'], { ...parsed, incident: id }, by, Buffer.from(JSON.stringify(value)));
      expect([event.id, event.key]).toEqual([
        `incidentmanager:t/${parsed.id}`,
        `conversation/incidentmanager/${id}`,
      ]);
      const stored = { ...event, seq: 1, at: 0, attempt: 1, crashes: 0 };
      const inbound = readIncidentEvent(stored);
      expect(readIncidentEvent(stored)).toEqual(inbound);
      expect(inbound.names).toEqual([parsed.type, 'incident']);
      expect(inbound.context['incident.id']).toBe(id);
      expect(Object.values(inbound.context)).not.toContain(undefined);
      for (const each of [inbound.text, inbound.channel, inbound.user])
        expect(each === undefined || typeof each === 'string').toBe(true);
      expect(inbound.text).not.toBe('');
    }),
    { numRuns: 2_000 },
  );
  expect(parsedCount).toBeGreaterThan(20);
});
