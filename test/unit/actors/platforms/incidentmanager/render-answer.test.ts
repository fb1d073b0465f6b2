// Rendered answers of the incident manager are complete or marked as truncated, within the platform's limits.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { incidentManagerAdapter } from '../../../../../actors/platforms/incidentmanager/adapter.ts';
import { isMarkedNote, noteMark } from '../../../../../actors/platforms/incidentmanager/note-mark.ts';
import {
  type IncidentRequest,
  incidentRequests,
  MAX_NOTE,
  noteContent,
} from '../../../../../actors/platforms/incidentmanager/render-answer.ts';
import { adapterServices } from '../../../../fixtures/automation/adapter-services.ts';
import { incidentManagerTrigger } from '../../../../fixtures/automation/triggers.ts';
import { eventFault } from '../../../../fixtures/incident-platform/check-event.ts';

const post = { do: 'post' } as const;
const withNotes = incidentManagerTrigger('t', { api_key: 'k', email: 'a@example.com' });
const withEvents = incidentManagerTrigger('t', { routing_key: 'r' });
const target = { place: 'PINC001', thread: 'high the key: of the alert' };

const notesOf = (text: string) =>
  incidentRequests(withNotes, { target: { place: 'PINC001' }, action: post, text }) as readonly {
    text: string;
  }[];
const eventsOf = (text: string) =>
  incidentRequests(withEvents, { target, action: post, text }) as readonly (IncidentRequest & {
    do: 'event';
  })[];

const texts = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 200 }),
  fc.string({ unit: 'binary', maxLength: 3_000 }),
  fc
    .tuple(fc.string({ unit: 'grapheme', minLength: 1 }), fc.integer({ min: 1, max: 40_000 }))
    .map(([text, times]) => text.repeat(Math.ceil(times / text.length))),
);

describe('an incident note', () => {
  test('contains its mark, and the whole answer or a hint that the answer was cut', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const [note] = notesOf(text);
        if (text.trim() === '') return;
        const content = noteContent(note?.text ?? '', 'row');
        expect(content.length).toBeLessThanOrEqual(MAX_NOTE);
        expect(content.endsWith(`\n\n${noteMark('row')}`)).toBe(true);
        expect(isMarkedNote(content)).toBe(true);
        if (text.length < MAX_NOTE - 100) expect(note?.text).toBe(text.trimEnd());
        else if (text.trimEnd().length > MAX_NOTE)
          expect(note?.text).toMatch(/^\(cut: the answer has \d+ characters/);
      }),
    );
  });

  test('contains only its own mark, even if the agent repeats the mark of another note', () => {
    const other = noteMark('another row');
    const [note] = notesOf(`It says\n\n${other}\nand ${other}.\n${other}`);
    expect(noteContent(note?.text ?? '', 'row').match(/^-- actor-gateway/gm)).toHaveLength(1);
  });
});

describe('an incident event', () => {
  test('is valid for the platform, and contains the whole answer or a hint that the answer was cut', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const [event] = eventsOf(text);
        if (text.trim() === '') return;
        const { payload, key } = event ?? {};
        expect(key).toBe('the key: of the alert');
        const json = { routing_key: 'r', event_action: 'trigger', dedup_key: key, payload };
        const bytes = Buffer.byteLength(JSON.stringify(json));
        // A line of invisible characters has no summary; no agent answers with it.
        if (payload?.summary === '') return;
        expect(eventFault(json, bytes, 'r')).toBeUndefined();
        const { text: sentText = payload?.summary } = (payload?.custom_details ?? {}) as {
          readonly text?: string;
        };
        if (Buffer.byteLength(JSON.stringify(text)) < 400_000) expect(sentText).toBe(text.trimEnd());
      }),
    );
  });

  test('is cut to the limits of the platform', () => {
    const [event] = eventsOf('"😀\n'.repeat(400_000));
    const bytes = Buffer.byteLength(JSON.stringify({ routing_key: 'r', payload: event?.payload }));
    expect(bytes).toBeLessThan(512 * 1024);
    expect(event?.payload?.custom_details).toMatchObject({
      text: expect.stringMatching(/^\(cut: the answer has/),
    });
    expect(String(event?.payload?.summary).length).toBeLessThanOrEqual(1024);
  });
});

test('rendering a reaction for the incident manager fails', () => {
  const react = { do: 'react', to: 'PN', emoji: '👍' } as const;
  expect(() => incidentRequests(withNotes, { target, action: react, text: '' })).toThrow('not reacted to');
});

test('rows for one API of the incident manager are sent while its other API is down', () => {
  const bases = { api_url: 'https://rest.example', events_url: 'https://events.example' };
  const trigger = incidentManagerTrigger('t', { ...bases, api_key: 'k', routing_key: 'r' });
  const { account, outbound } = incidentManagerAdapter(adapterServices());
  const card = { actions: [{ id: 'resolve', title: 'Resolve' }] };
  const rows = outbound?.render(trigger, { target, action: post, text: 'Done.', card }) ?? [];
  expect(rows.map((row) => outbound?.hostOf?.(row))).toEqual(['rest.example', 'events.example']);
  expect(account?.(trigger)).toBe('rest.example');
  expect(account?.(incidentManagerTrigger('t', { ...bases, routing_key: 'r' }))).toBe('events.example');
});
