// Random messages, rendered as message bodies of the platform (render-message.ts). The bodies pass the checks
// of the fake platform, and contain the whole text in the platform's own format. Choices become buttons or
// list rows, or text if the platform does not support them.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { MessageCard, OutboundMessage } from '../../../../../actors/events/outbox/message.ts';
import { messageBodies } from '../../../../../actors/platforms/businessmessenger/render-message.ts';
import { messageFault } from '../../../../fixtures/business-platform/check-message.ts';

const arbCharacters = fc.constantFrom(
  'a',
  'b',
  ' ',
  '\n',
  '\n\n',
  '\n```\n',
  '🦋',
  '👨‍👩‍👧',
  'ü',
  'wörter ',
  '*',
  '\t',
);
const arbWords = (maxLength: number) => fc.array(arbCharacters, { maxLength }).map((all) => all.join(''));
const arbLongText = fc
  .tuple(arbWords(60), fc.constantFrom(0, 1, 20, 200))
  .map(([text, times]) => text.repeat(times));
const arbOptionalText = fc.option(arbWords(40), { nil: undefined });

const arbAction = fc.record({
  id: fc.oneof(
    fc.string({ minLength: 1, maxLength: 300 }),
    fc.constantFrom('yes', ' no', '\u0007', 'x'.repeat(220)),
  ),
  title: fc.oneof(arbWords(30), fc.constant('the same title for many of them')),
  description: arbOptionalText,
  url: fc.option(fc.constant('https://example.com/'), { nil: undefined, freq: 6 }),
});
const arbCard: fc.Arbitrary<MessageCard> = fc.record({
  title: arbOptionalText,
  fields: fc.option(fc.array(fc.record({ name: arbWords(5), value: arbWords(20) }), { maxLength: 3 }), {
    nil: undefined,
  }),
  actions: fc.option(fc.uniqueArray(arbAction, { maxLength: 64, selector: ({ id }) => id }), {
    nil: undefined,
  }),
});
const arbMessage: fc.Arbitrary<OutboundMessage> = fc.record({
  target: fc.record({ place: fc.constantFrom('15550002222', 'US.13491208655302741918') }),
  action: fc.constant({ do: 'post' as const }),
  text: arbLongText,
  format: fc.constantFrom('native' as const, 'plain' as const, 'markdown' as const),
  status: fc.constantFrom(undefined, 'success' as const, 'warning' as const),
  card: fc.option(arbCard, { nil: undefined }),
});

/**
 * Text without blanks and code marks. A long text is divided into several bodies, which may drop blanks at
 * the cuts, and closes and reopens a code block with marks.
 */
const withoutSpacesAndTicks = (text: string) => text.replace(/[\s`]/gu, '');

function textOf(body: Readonly<Record<string, unknown>>): string {
  const { text, interactive } = body as {
    readonly text?: { readonly body: string };
    readonly interactive?: { readonly body: { readonly text: string } };
  };
  return text?.body ?? interactive?.body.text ?? '';
}

test('a rendered message exceeds no limit of the platform, and contains the whole text', () => {
  fc.assert(
    fc.property(arbMessage, (sent) => {
      const bodies = messageBodies(sent);
      for (const body of bodies) expect(messageFault(body), JSON.stringify(body)).toBe(undefined);
      const texts = bodies.map(textOf);
      // The other formats are converted.
      if (sent.format === 'native')
        expect(withoutSpacesAndTicks(texts.join(''))).toContain(withoutSpacesAndTicks(sent.text));
      // The first body begins with the sign of the status. Without a status it is the sign of success.
      if (texts[0] !== undefined) expect(texts[0]).toMatch(sent.status === 'warning' ? /^⚠️ / : /^✅ /);
    }),
    { numRuns: 300 },
  );
});

test('a rendered message offers each supported choice once with its id, and contains other choices as text', () => {
  fc.assert(
    fc.property(arbMessage, (sent) => {
      const bodies = messageBodies(sent);
      const offered = bodies.flatMap(idsIn);
      const choices = (sent.card?.actions ?? []).filter(({ url }) => url === undefined);
      // Up to three choices are buttons with ids up to 256 characters. More choices are list rows.
      const maxIdLength = choices.length <= 3 ? 256 : 200;
      const supported = choices
        // A choice needs a visible character.
        .filter(({ id, title }) => /[^\s\p{Cc}]/u.test(title + id))
        .map(({ id }) => id)
        .filter((id) => id.length <= maxIdLength && id.trim() === id);
      // At most five lists of ten rows.
      expect(offered).toEqual(supported.slice(0, 50));
    }),
    { numRuns: 200 },
  );
});

/** Returns the ids of the offered choices in a body. */
function idsIn({ interactive }: Readonly<Record<string, unknown>>): readonly string[] {
  const { action } = (interactive ?? {}) as {
    readonly action?: {
      readonly buttons?: readonly { readonly reply: { readonly id: string } }[];
      readonly sections?: readonly { readonly rows: readonly { readonly id: string }[] }[];
    };
  };
  const buttons = action?.buttons?.map(({ reply }) => reply.id) ?? [];
  const rows = action?.sections?.flatMap((section) => section.rows.map(({ id }) => id)) ?? [];
  return [...buttons, ...rows];
}
