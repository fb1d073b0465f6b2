// Whatever an agent answers, the platform refuses nothing of it, and nothing of it is lost. The judge is the fake of the
// platform, which real clients accept.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Card, OutboundMessage } from '../../../../../actors/events/outbox/outbound-message.ts';
import { messageBodies } from '../../../../../actors/platforms/businessmessenger/render-message.ts';
import { messageFault } from '../../../../fixtures/business-platform/check-message.ts';

const sign = fc.constantFrom(
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
const words = (maxLength: number) => fc.array(sign, { maxLength }).map((all) => all.join(''));
const longText = fc
  .tuple(words(60), fc.constantFrom(0, 1, 20, 200))
  .map(([text, times]) => text.repeat(times));
const some = fc.option(words(40), { nil: undefined });

const action = fc.record({
  id: fc.oneof(
    fc.string({ minLength: 1, maxLength: 300 }),
    fc.constantFrom('yes', ' no', '\u0007', 'x'.repeat(220)),
  ),
  title: fc.oneof(words(30), fc.constant('the same title for many of them')),
  description: some,
  url: fc.option(fc.constant('https://example.com/'), { nil: undefined, freq: 6 }),
});
const card: fc.Arbitrary<Card> = fc.record({
  title: some,
  fields: fc.option(fc.array(fc.record({ name: words(5), value: words(20) }), { maxLength: 3 }), {
    nil: undefined,
  }),
  actions: fc.option(fc.uniqueArray(action, { maxLength: 64, selector: ({ id }) => id }), { nil: undefined }),
});
const message: fc.Arbitrary<OutboundMessage> = fc.record({
  target: fc.record({ place: fc.constantFrom('15550002222', 'US.13491208655302741918') }),
  action: fc.constant({ do: 'post' as const }),
  text: longText,
  status: fc.constantFrom(undefined, 'success' as const, 'warning' as const),
  card: fc.option(card, { nil: undefined }),
});

/** Blanks may go at a cut, and marks of code come where a block is cut. */
const essence = (text: string) => text.replace(/[\s`]/gu, '');

function textOf(body: Readonly<Record<string, unknown>>): string {
  const { text, interactive } = body as {
    readonly text?: { readonly body: string };
    readonly interactive?: { readonly body: { readonly text: string } };
  };
  return text?.body ?? interactive?.body.text ?? '';
}

test('the platform refuses no answer, and all of its words arrive (RM3)', () => {
  fc.assert(
    fc.property(message, (sent) => {
      const bodies = messageBodies(sent);
      for (const body of bodies) expect(messageFault(body), JSON.stringify(body)).toBe(undefined);
      const all = essence(bodies.map(textOf).join(''));
      expect(all).toContain(essence(sent.text));
      const parts = bodies.map(textOf);
      if (parts[0] !== undefined) expect(parts[0]).toMatch(sent.status === 'warning' ? /^⚠️ / : /^✅ /);
    }),
    { numRuns: 300 },
  );
});

test('every choice that the platform can have is offered once under its own id, and others stand in words (CH1)', () => {
  fc.assert(
    fc.property(message, (sent) => {
      const bodies = messageBodies(sent);
      const offered = bodies.flatMap(idsIn);
      const choices = (sent.card?.actions ?? []).filter(({ url }) => url === undefined);
      const limit = choices.length <= 3 ? 256 : 200;
      const able = choices
        .filter(({ id, title }) => /[^\s\p{Cc}]/u.test(title + id))
        .map(({ id }) => id)
        .filter((id) => id.length <= limit && id.trim() === id);
      expect(offered).toEqual(able.slice(0, 50));
    }),
    { numRuns: 200 },
  );
});

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
