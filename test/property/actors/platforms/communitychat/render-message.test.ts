// The platform accepts every rendered message, with the whole text. The messages pass the checks of the fake
// platform, which accepts third-party clients.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { MessageCard, OutboundMessage } from '../../../../../actors/events/outbox/message.ts';
import { communityMessages } from '../../../../../actors/platforms/communitychat/render-message.ts';
import { messageFault } from '../../../../fixtures/community-platform/check-message.ts';
import type { Members } from '../../../../fixtures/community-platform/form-check.ts';

const sign = fc.constantFrom(
  'a',
  'b',
  ' ',
  '\n',
  '\n\n',
  '\n```js\n',
  '🦋',
  '👨‍👩‍👧',
  'ü',
  'wörter ',
  '*',
  '\t',
  '@everyone ',
);
const words = (maxLength: number) => fc.array(sign, { maxLength }).map((all) => all.join(''));
const longText = fc
  .tuple(words(60), fc.constantFrom(0, 1, 20, 200))
  .map(([text, times]) => text.repeat(times));
/** Not empty and trimmed, as in reply-card.ts. */
const trimmedText = (maxLength: number) => words(maxLength).map((text) => text.trim() || 'x');
const optionalText = (maxLength: number) => fc.option(trimmedText(maxLength), { nil: undefined });

const action = fc.record({
  id: fc.oneof(
    fc.string({ minLength: 1, maxLength: 120 }),
    fc.constantFrom('yes', ' no', 'actions:1', '\u0007'),
  ),
  title: fc.oneof(trimmedText(60), fc.constant('the same title for many of them')),
  description: optionalText(60),
  style: fc.constantFrom(undefined, 'primary' as const, 'danger' as const),
  url: fc.option(fc.constantFrom('https://example.com/', `https://example.com/${'x'.repeat(600)}`), {
    nil: undefined,
    freq: 6,
  }),
});
const field = fc.record({ name: trimmedText(150), value: fc.oneof(trimmedText(40), trimmedText(700)) });
const card: fc.Arbitrary<MessageCard> = fc.record({
  title: optionalText(200),
  fields: fc.option(fc.array(field, { maxLength: 60 }), { nil: undefined }),
  actions: fc.option(fc.uniqueArray(action, { maxLength: 100, selector: ({ id }) => id }), {
    nil: undefined,
  }),
  inputs: fc.option(fc.array(fc.record({ id: trimmedText(3), label: trimmedText(9) }), { maxLength: 3 }), {
    nil: undefined,
  }),
});

const bodiesOf = (more: Partial<OutboundMessage>) =>
  communityMessages({ target: { place: '1', repliesTo: '2' }, action: { do: 'post' }, text: '', ...more });

/** All readable text. A text may be cut anywhere. */
function contentOf(bodies: readonly Members[]): string {
  const texts = bodies.map(({ content }) => content).join('');
  return texts + JSON.stringify(bodies.map(({ embeds, components }) => [embeds, components]));
}

/** Text without blanks and code fences, because a cut block is closed and reopened. */
const withoutSpacesAndFences = (text: string) =>
  text.replace(/\s+/g, '').replaceAll('```js', '').replaceAll('```', '');

test("no message exceeds the platform's limits, and the whole text arrives in order", () => {
  fc.assert(
    fc.property(longText, card, (text, withCard) => {
      const messages = bodiesOf({ text, card: withCard });
      const all = messages.map(({ body }) => body as unknown as Members);
      for (const body of all) expect(messageFault(body)).toBeUndefined();
      expect(withoutSpacesAndFences(all.map(({ content }) => content).join(''))).toContain(
        withoutSpacesAndFences(text),
      );
      if (text.trim() === '' && Object.values(withCard).every((each) => (each?.length ?? 0) === 0))
        expect(messages).toEqual([]);
      expect(messages.map(({ isFirst }) => isFirst)).toEqual(messages.map((_, index) => index === 0));
    }),
    { numRuns: 150 },
  );
});

test('no title, field or action is lost; each action is a control or text', () => {
  fc.assert(
    fc.property(longText, card, (text, withCard) => {
      const all = bodiesOf({ text, card: withCard }).map(({ body }) => body as unknown as Members);
      const seen = withoutSpacesAndFences(contentOf(all).replaceAll('\\n', '').replaceAll('\\t', ''));
      const inJson = (words: string) =>
        withoutSpacesAndFences(
          JSON.stringify(words).slice(1, -1).replaceAll('\\n', '').replaceAll('\\t', ''),
        );
      for (const { name, value } of withCard.fields ?? []) {
        expect(seen).toContain(inJson(name));
        expect(seen).toContain(inJson(value));
      }
      if (withCard.title !== undefined) expect(seen).toContain(inJson(withCard.title));
      const parts = all.flatMap(({ components }) => (components as readonly Members[]).flatMap(partsOf));
      const ids = parts.flatMap(({ custom_id, options }) =>
        options === undefined ? [custom_id] : (options as readonly Members[]).map(({ value }) => value),
      );
      for (const { id, title, url } of withCard.actions ?? []) {
        const isOffered = url === undefined ? ids.includes(id) : parts.some((part) => part.url === url);
        if (!isOffered) expect(seen).toContain(inJson(title));
      }
    }),
    { numRuns: 150 },
  );
});

const partsOf = ({ components }: Members) => components as readonly Members[];

test('mentions in a message notify no user unless they are allowed', () => {
  const [{ body } = { body: undefined }] = bodiesOf({ text: '@everyone' });
  expect(body?.allowed_mentions).toEqual({ parse: [] });
  const [allowed] = bodiesOf({ text: '@everyone', mentions: 'allow' });
  expect(allowed?.body.allowed_mentions).toEqual({ parse: ['users', 'roles', 'everyone'] });
});
