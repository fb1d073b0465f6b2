// Rendering of any text and card as messages. The platform accepts every message, and no text is lost. The
// fake platform checks the messages. test/unit/community-platform.test.ts confirms its checks with
// discord.js.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { MessageCard, OutboundMessage } from '../../../../../actors/events/outbox/message.ts';
import { communityMessages } from '../../../../../actors/platforms/communitychat/render-message.ts';
import { messageFault } from '../../../../fixtures/community-platform/check-message.ts';
import type { Members as JsonMembers } from '../../../../fixtures/community-platform/form-check.ts';

const textPiece = fc.constantFrom(
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
const textOf = (maxPieces: number) =>
  fc.array(textPiece, { maxLength: maxPieces }).map((pieces) => pieces.join(''));
const longText = fc
  .tuple(textOf(60), fc.constantFrom(0, 1, 20, 200))
  .map(([text, times]) => text.repeat(times));
/** Not empty and trimmed, as in reply-card.ts. */
const trimmedText = (maxPieces: number) => textOf(maxPieces).map((text) => text.trim() || 'x');
const optionalText = (maxPieces: number) => fc.option(trimmedText(maxPieces), { nil: undefined });

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
const anyCard: fc.Arbitrary<MessageCard> = fc.record({
  title: optionalText(200),
  fields: fc.option(fc.array(field, { maxLength: 60 }), { nil: undefined }),
  actions: fc.option(fc.uniqueArray(action, { maxLength: 100, selector: ({ id }) => id }), {
    nil: undefined,
  }),
  inputs: fc.option(fc.array(fc.record({ id: trimmedText(3), label: trimmedText(9) }), { maxLength: 3 }), {
    nil: undefined,
  }),
});

const messagesOf = (more: Partial<OutboundMessage>) =>
  communityMessages({ target: { place: '1', repliesTo: '2' }, action: { do: 'post' }, text: '', ...more });

/** All readable text. A text may be cut anywhere. */
function contentOf(bodies: readonly JsonMembers[]): string {
  const texts = bodies.map(({ content }) => content).join('');
  return texts + JSON.stringify(bodies.map(({ embeds, components }) => [embeds, components]));
}

/** Text without blanks and code fences, because a cut block is closed and reopened. */
const withoutSpacesAndFences = (text: string) =>
  text.replace(/\s+/g, '').replaceAll('```js', '').replaceAll('```', '');

test("no message exceeds the platform's limits, and the whole text arrives in order", () => {
  fc.assert(
    fc.property(longText, anyCard, (text, card) => {
      const messages = messagesOf({ text, card });
      const bodies = messages.map(({ body }) => body as unknown as JsonMembers);
      for (const body of bodies) expect(messageFault(body)).toBeUndefined();
      expect(withoutSpacesAndFences(bodies.map(({ content }) => content).join(''))).toContain(
        withoutSpacesAndFences(text),
      );
      const isCardEmpty = Object.values(card).every((each) => (each?.length ?? 0) === 0);
      if (text.trim() === '' && isCardEmpty) expect(messages).toEqual([]);
      expect(messages.map(({ isFirst }) => isFirst)).toEqual(messages.map((_, index) => index === 0));
    }),
    { numRuns: 150 },
  );
});

test('a rendered card keeps its title, all fields and all actions, and each action is a control or text', () => {
  fc.assert(
    fc.property(longText, anyCard, (text, card) => {
      const bodies = messagesOf({ text, card }).map(({ body }) => body as unknown as JsonMembers);
      // Markup in the texts of a card is escaped with backslashes.
      const withoutSpaces = (json: string) =>
        withoutSpacesAndFences(json.replaceAll(/\\[nt]/g, '').replaceAll('\\', ''));
      const content = withoutSpaces(contentOf(bodies));
      const inJson = (shownText: string) => withoutSpaces(JSON.stringify(shownText).slice(1, -1));
      for (const { name, value } of card.fields ?? []) {
        expect(content).toContain(inJson(name));
        expect(content).toContain(inJson(value));
      }
      if (card.title !== undefined) expect(content).toContain(inJson(card.title));
      const controls = bodies.flatMap(({ components }) =>
        (components as readonly JsonMembers[]).flatMap(controlsOf),
      );
      // Buttons have their id in `custom_id`, menu options in `value`.
      const ids = controls.flatMap(({ custom_id, options }) =>
        options === undefined ? [custom_id] : (options as readonly JsonMembers[]).map(({ value }) => value),
      );
      for (const { id, title, url } of card.actions ?? []) {
        const isControl =
          url === undefined ? ids.includes(id) : controls.some((control) => control.url === url);
        if (!isControl) expect(content).toContain(inJson(title));
      }
    }),
    { numRuns: 150 },
  );
});

/** Returns the row's buttons or menu. */
const controlsOf = ({ components }: JsonMembers) => components as readonly JsonMembers[];

test('mentions in a message notify no user unless they are allowed', () => {
  const [{ body } = { body: undefined }] = messagesOf({ text: '@everyone' });
  expect(body?.allowed_mentions).toEqual({ parse: [] });
  const [allowed] = messagesOf({ text: '@everyone', mentions: 'allow' });
  expect(allowed?.body.allowed_mentions).toEqual({ parse: ['users', 'roles', 'everyone'] });
});
