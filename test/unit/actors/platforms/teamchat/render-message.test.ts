// Messages as activities: complete, within the size limit, and with cards that the vendor's parser accepts.

import { AdaptiveCard, SerializationContext } from 'adaptivecards';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { MessageCard, OutboundMessage } from '../../../../../actors/events/outbox/message.ts';
import { type ActivityBody, teamMessages } from '../../../../../actors/platforms/teamchat/render-message.ts';

const MAX_BYTES = 28_672;

const target = {
  place: '19:x@thread.tacv2;messageid=1',
  repliesTo: '1',
  serviceUrl: 'https://chat.example/amer/',
};

const activitiesOf = (text: string, card?: MessageCard): readonly ActivityBody[] => {
  const message: OutboundMessage = { target, action: { do: 'post' }, text, card };
  return teamMessages(message).map(({ activity }) => activity);
};

/**
 * Checks the size of all activities, and the cards with the vendor's parser. Returns the cards.
 */
function contentsOf(activities: readonly ActivityBody[]): readonly object[] {
  return activities.flatMap((activity) => {
    expect(Buffer.byteLength(JSON.stringify(activity))).toBeLessThanOrEqual(MAX_BYTES);
    return (activity.attachments ?? []).map(({ contentType, content }) => {
      expect(contentType).toBe('application/vnd.microsoft.card.adaptive');
      const context = new SerializationContext();
      const card = new AdaptiveCard();
      card.parse(content as Record<string, unknown>, context);
      const events = Array.from({ length: context.eventCount }, (_, i) => context.getEventAt(i).message);
      expect(events).toEqual([]);
      expect(card.validateProperties().validationEvents.map(({ message }) => message)).toEqual([]);
      expect(String(card.version)).toBe('1.4');
      return content;
    });
  });
}

const allTexts = (value: unknown): readonly string[] =>
  typeof value === 'string'
    ? [value]
    : typeof value === 'object' && value !== null
      ? Object.values(value).flatMap(allTexts)
      : [];

const actionIds = (contents: readonly object[]): readonly string[] =>
  JSON.stringify(contents)
    .match(/"actionId":"(?:[^"\\]|\\.)*"/g)
    ?.map((found) => (JSON.parse(`{${found}}`) as { readonly actionId: string }).actionId) ?? [];

test('a text is one activity, adapted to the Markdown of the chat', () => {
  expect(activitiesOf('# hi\n\n`x` & <b>\ny')).toEqual([
    { type: 'message', textFormat: 'markdown', text: '**hi**\n\n`x` & <b>  \ny' },
  ]);
});

test('a card has title, facts, inputs and actions, and is sent with its text', () => {
  const card: MessageCard = {
    title: 'Release 1.2',
    fields: [{ name: 'Tests', value: 'green' }],
    inputs: [{ id: 'why', label: 'Why?', isMultiline: true, placeholder: 'because …' }],
    actions: [
      { id: 'yes', title: 'Deploy', style: 'primary', description: 'to production' },
      { id: 'no', title: 'Not now', style: 'danger' },
      { id: 'log', title: 'Log', url: 'https://ci.example/1' },
    ],
  };
  const [activity, ...others] = activitiesOf('Shall I?', card);
  expect(others).toEqual([]);
  expect(activity).toMatchObject({ type: 'message', text: 'Shall I?' });
  expect(contentsOf([activity as ActivityBody])).toEqual([
    {
      type: 'AdaptiveCard',
      version: '1.4',
      body: [
        { type: 'TextBlock', text: 'Release 1.2', weight: 'Bolder', size: 'Medium', wrap: true },
        { type: 'FactSet', facts: [{ title: 'Tests', value: 'green' }] },
        { type: 'FactSet', facts: [{ title: 'Deploy', value: 'to production' }] },
        { type: 'Input.Text', id: 'why', label: 'Why?', isMultiline: true, placeholder: 'because …' },
      ],
      actions: [
        { type: 'Action.Submit', title: 'Deploy', style: 'positive', data: { actionId: 'yes' } },
        { type: 'Action.Submit', title: 'Not now', style: 'destructive', data: { actionId: 'no' } },
        { type: 'Action.OpenUrl', title: 'Log', url: 'https://ci.example/1' },
      ],
    },
  ]);
});

test('many actions are split into small sets', () => {
  const actions = Array.from({ length: 14 }, (_, i) => ({ id: `id-${i}`, title: `Action ${i}` }));
  const contents = contentsOf(activitiesOf('choose', { actions }));
  expect(contents).toHaveLength(1);
  expect(actionIds(contents)).toEqual(actions.map(({ id }) => id));
  expect(contents).toMatchObject([
    { body: [5, 5, 4].map((length) => ({ type: 'ActionSet', actions: { length } })) },
  ]);
});

test('a card over 28 KB is replaced: its facts become text, and its choices go to smaller cards', () => {
  const fields = Array.from({ length: 90 }, (_, i) => ({
    name: `name ${i}`,
    value: `${'ä'.repeat(200)} ${i}`,
  }));
  const actions = Array.from({ length: 90 }, (_, i) => ({
    id: `${'i'.repeat(500)}${i}`,
    title: `Choice ${i}`,
  }));
  const activities = activitiesOf('the text', { title: 'Title', fields, actions });
  const contents = contentsOf(activities);
  expect(contents.length).toBeGreaterThan(1);
  expect(actionIds(contents)).toEqual(actions.map(({ id }) => id));
  const anyText = activities.map(({ text = '' }) => text).join('\n');
  for (const { name, value } of fields) expect(anyText).toContain(`${name}**: ${value}`);
  expect(anyText).toMatch(/Title[\s\S]*the text/);
});

test('an action that no card can hold becomes text', () => {
  const activities = activitiesOf('the text', { actions: [{ id: 'x'.repeat(30_000), title: 'Huge' }] });
  expect(contentsOf(activities)).toEqual([]);
  expect(activities.map(({ text }) => text).join('\n')).toContain('- Huge');
});

test('a long text is cut into full parts, with complete code blocks and characters', () => {
  const line = `a line with "quotes", \\ and 🦉`;
  const text = `\`\`\`ts\n${Array.from({ length: 4_000 }, (_, i) => `${line} ${i}`).join('\n')}\n\`\`\``;
  const activities = activitiesOf(text);
  contentsOf(activities);
  for (const { text: part = '' } of activities) {
    expect(part).toMatch(/^```ts\n[\s\S]*\n```$/);
    expect(part.isWellFormed()).toBe(true);
  }
  for (const activity of activities.slice(0, -1))
    expect(Buffer.byteLength(JSON.stringify(activity))).toBeGreaterThan(MAX_BYTES * 0.7);
  const visibleText = activities.flatMap(({ text: part = '' }) => part.split('\n').slice(1, -1));
  expect(visibleText).toEqual(text.split('\n').slice(1, -1));
});

test('a part of the text with many bytes does not shorten the other parts', () => {
  const anyText = (count: number) => Array.from({ length: count }, (_, i) => `word${i}`).join(' ');
  const activities = activitiesOf(`${anyText(10_000)} ${'"'.repeat(60_000)} ${anyText(10_000)}`);
  contentsOf(activities);
  expect(activities.length).toBeGreaterThan(6);
  for (const activity of activities.slice(0, -1))
    expect(Buffer.byteLength(JSON.stringify(activity))).toBeGreaterThan(MAX_BYTES * 0.7);
});

const anyText = fc.string({ unit: 'binary', minLength: 1, maxLength: 60 }).map((text) => text.toWellFormed());
/** Texts without code fences, which are closed and reopened at a cut. */
const visibleText = anyText.filter((text) => text.trim() !== '' && !/`{3}|~{3}/.test(text));
const longText = fc
  .tuple(visibleText, fc.integer({ min: 1, max: 2_000 }))
  .map(([text, times]) => text.repeat(times));
const card: fc.Arbitrary<MessageCard> = fc.record(
  {
    title: visibleText,
    fields: fc.array(fc.record({ name: visibleText, value: fc.oneof(visibleText, longText) }), {
      maxLength: 30,
    }),
    actions: fc.uniqueArray(
      fc.record(
        { id: fc.oneof(visibleText, longText), title: visibleText, description: visibleText },
        { requiredKeys: ['id', 'title'] },
      ),
      { maxLength: 60, selector: ({ id }) => id },
    ),
    inputs: fc.uniqueArray(fc.record({ id: visibleText, label: visibleText }), {
      maxLength: 4,
      selector: ({ id }) => id,
    }),
  },
  { requiredKeys: [] },
);

test('any answer becomes activities within the limit with valid cards, and is complete', () => {
  fc.assert(
    fc.property(fc.oneof(anyText, longText), card, (text, given) => {
      const activities = activitiesOf(text, given);
      const contents = contentsOf(activities);
      const ids = new Set(actionIds(contents));
      // The joined parts contain the complete text, except for blanks and escapes.
      const bare = (each: string) => each.replace(/[\s\\]/g, '');
      const allShownTexts = [
        activities.map((each) => each.text ?? '').join(''),
        ...contents.flatMap(allTexts),
      ].map(bare);
      const isShown = (each: string) => allShownTexts.some((whole) => whole.includes(bare(each)));
      for (const { id, title } of given.actions ?? []) expect(ids.has(id) || isShown(title)).toBe(true);
      for (const { name, value } of given.fields ?? [])
        expect([isShown(name), isShown(value)]).toEqual([true, true]);
      for (const { label } of given.inputs ?? []) expect(isShown(label)).toBe(true);
      expect(isShown(text)).toBe(true);
      if (text.trim() !== '' || given.title !== undefined) expect(activities.length).toBeGreaterThan(0);
    }),
    { numRuns: 100 },
  );
});

test('an edit changes one message and posts the rest as new; reactions and targets without service URL are refused', () => {
  const message = { target, text: 'x'.repeat(40_000) };
  const edit = teamMessages({ ...message, action: { do: 'edit', of: 'row-1' } });
  expect(edit.map(({ of }) => of)).toEqual(['row-1', undefined]);
  expect(() => teamMessages({ ...message, action: { do: 'react', to: '1', emoji: 'x' } })).toThrow(/react/);
  expect(() => teamMessages({ target: { place: 'x' }, text: 'x', action: { do: 'post' } })).toThrow(
    /service URL/,
  );
});
