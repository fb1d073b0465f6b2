// Messages in the form of a workspace: what people read is what was written, and nothing is beyond a limit of the platform (WSM1, WSM2).

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Card, OutboundMessage } from '../../../../../actors/events/outbox/outbound-message.ts';
import { workspaceCalls } from '../../../../../actors/platforms/chatworkspace/message.ts';
import { checkBlocks } from '../../../../fixtures/workspace-platform/check-blocks.ts';

interface Element {
  readonly type: string;
  readonly action_id: string;
  readonly text?: { readonly text: string };
  readonly url?: string;
  readonly style?: string;
  readonly options?: readonly { readonly value: string; readonly text: { readonly text: string } }[];
}

interface AnyBlock {
  readonly type: string;
  readonly block_id?: string;
  readonly text?: { readonly type: string; readonly text: string; readonly verbatim?: boolean };
  readonly fields?: readonly { readonly text: string }[];
  readonly elements?: readonly Element[];
}

const sent = (text: string, card?: Card, more: Partial<OutboundMessage> = {}) =>
  workspaceCalls({
    target: { place: 'C1', thread: '1.2' },
    action: { do: 'post' },
    text,
    card,
    ...more,
  }).map(({ parameters, of }) => ({
    ...parameters,
    of,
    blocks: parameters.blocks as readonly AnyBlock[] | undefined,
  }));

const read = (text: string) => text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
const elementsOf = (messages: ReturnType<typeof sent>) =>
  messages.flatMap(({ blocks = [] }) => blocks.flatMap(({ elements = [] }) => elements));
const actions = (count: number, more: object = {}) =>
  Array.from({ length: count }, (_, n) => ({ id: `id-${n}`, title: `Title ${n}`, ...more }));

describe('a text', () => {
  test('leaves as it was written, into its thread', () => {
    expect(sent('*Done* with `it`')).toEqual([
      { channel: 'C1', thread_ts: '1.2', text: '*Done* with `it`', blocks: undefined, of: undefined },
    ]);
    expect(sent('x', undefined, { target: { place: 'D1' } })[0]).not.toHaveProperty('thread_ts');
    expect(sent('')).toEqual([]);
  });

  test('notifies nobody, unless that is allowed', () => {
    const text = '<!channel> <@U1> <#C1|ops> a < b & <https://a.example/?b=1|here> <script>';
    expect(sent(text)[0]?.text).not.toMatch(/<[@!#]/);
    expect(read(sent(text)[0]?.text ?? '')).toBe(text);
    expect(sent(text, undefined, { mentions: 'allow' })[0]?.text).toBe(
      '<!channel> <@U1> <#C1|ops> a &lt; b &amp; <https://a.example/?b=1|here> &lt;script&gt;',
    );
  });

  test('is whole over several messages, of which none is longer than 4000 characters as it is sent', () => {
    const words = fc.string({
      unit: fc.constantFrom('word ', '&', '<', '\n', 'ö😀', '```\n', '\n\n'),
      maxLength: 3000,
    });
    fc.assert(
      fc.property(words, (text) => {
        const messages = sent(text);
        for (const { text: each } of messages) expect(each.length).toBeLessThanOrEqual(4000);
        const plain = (all: string) => all.replace(/[\s`]+/g, '');
        expect(plain(messages.map((each) => read(each.text)).join(''))).toBe(plain(text));
        for (const message of messages.slice(0, -1)) expect(message.text.length).toBeGreaterThan(2600);
      }),
      { numRuns: 60 },
    );
  });
});

describe('a card', () => {
  test('is a header, the text, fields and buttons', () => {
    const card: Card = {
      title: 'Release <7>',
      fields: [{ name: 'Branch', value: 'main & more' }],
      actions: [
        { id: 'ship', title: 'Ship it', style: 'primary' },
        { id: 'drop', title: 'Drop it', style: 'danger' },
        { id: 'see', title: 'Look', url: 'https://example.com/7' },
      ],
    };
    const [message, ...others] = sent('Is it <ready>?', card);
    expect(others).toEqual([]);
    expect(message?.text).toBe('Is it &lt;ready&gt;?');
    expect(message?.blocks).toEqual([
      { type: 'header', text: { type: 'plain_text', text: 'Release <7>' } },
      { type: 'section', text: { type: 'mrkdwn', text: 'Is it &lt;ready&gt;?', verbatim: true } },
      {
        type: 'section',
        fields: [{ type: 'mrkdwn', text: '*Branch*\nmain &amp; more', verbatim: true }],
      },
      {
        type: 'actions',
        elements: [
          {
            type: 'button',
            text: { type: 'plain_text', text: 'Ship it' },
            action_id: 'ship',
            style: 'primary',
          },
          {
            type: 'button',
            text: { type: 'plain_text', text: 'Drop it' },
            action_id: 'drop',
            style: 'danger',
          },
          {
            type: 'button',
            text: { type: 'plain_text', text: 'Look' },
            action_id: 'actor-gateway.link.3',
            url: 'https://example.com/7',
          },
        ],
      },
    ]);
  });

  test('of more actions than buttons is a list, whose links and long ids are buttons beside it', () => {
    const many = [
      ...actions(30),
      { id: 'x'.repeat(200), title: 'Long id' },
      { id: 'y', title: 'Page', url: 'https://a.example/' },
    ];
    const elements = elementsOf(sent('Choose', { actions: many }));
    expect(elements.map(({ type }) => type)).toEqual(['button', 'button', 'static_select']);
    expect(elements[2]?.options).toHaveLength(30);
    expect(elements[2]?.options?.[29]).toMatchObject({ value: 'id-29' });
  });

  test('with an id that no button can have says it in words', () => {
    const [message] = sent('Choose', {
      actions: [{ id: 'x'.repeat(300), title: 'Too long', description: 'what it does' }],
    });
    expect(JSON.stringify(message?.blocks)).toContain('- Too long: what it does');
  });

  test('says in words what a button has no room for', () => {
    const [message] = sent('Choose', {
      actions: [{ id: 'drop', title: 'Drop it', description: 'For good' }],
    });
    expect(message?.blocks?.map(({ type }) => type)).toEqual(['section', 'section', 'actions']);
    expect(JSON.stringify(message?.blocks)).toContain('- Drop it: For good');
  });

  test('in the channel as a whole goes on there when it is pressed', () => {
    const [message] = sent('Choose', { actions: actions(1) }, { target: { place: 'C1' } });
    expect(message?.blocks?.at(-1)?.block_id).toBe('actor-gateway.channel.1');
    expect(sent('Choose', { actions: actions(1) })[0]?.blocks?.at(-1)).not.toHaveProperty('block_id');
  });

  test('without a text is a message with a summary for notifications', () => {
    const [message] = sent('', { title: 'Release 7', actions: actions(1) });
    expect(message?.text).toBe('Release 7 Title 0');
    expect(message?.blocks?.map(({ type }) => type)).toEqual(['header', 'actions']);
  });

  test('of a long text stands around it: the title above the first message, the rest below the last', () => {
    const messages = sent('word '.repeat(2500), {
      title: 'T',
      fields: [{ name: 'n', value: 'v' }],
      actions: actions(1),
    });
    expect(messages.map(({ blocks }) => blocks?.map(({ type }) => type))).toEqual([
      ['header', 'section', 'section'],
      undefined,
      undefined,
      expect.arrayContaining(['section', 'actions']),
    ]);
  });

  test('whatever is in it, is taken by the platform, and nothing of it is lost', () => {
    const words = (maxLength: number) =>
      fc
        .string({ unit: fc.constantFrom('a', 'ö', '😀', '<', '&', ' ', '*', '\n'), minLength: 1, maxLength })
        .filter((text) => text.trim() !== '');
    const card = fc.record(
      {
        title: words(400),
        fields: fc.array(fc.record({ name: words(60), value: words(4000) }), { maxLength: 30 }),
        actions: fc.uniqueArray(
          fc.record(
            {
              id: words(400),
              title: words(200),
              description: words(200),
              style: fc.constantFrom('primary' as const, 'danger' as const),
              url: fc.constant('https://a.example/'),
            },
            { requiredKeys: ['id', 'title'] },
          ),
          { maxLength: 60, selector: ({ id }) => id },
        ),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(words(6000), card, (text, given) => {
        const messages = sent(text, given as Card);
        const shown = JSON.stringify(messages.map(({ blocks }) => blocks));
        for (const { text: each, blocks } of messages) {
          expect(each.length).toBeLessThanOrEqual(4000);
          expect(each).not.toBe('');
          if (blocks !== undefined) checkBlocks(blocks);
        }
        const elements = elementsOf(messages);
        for (const { id, url } of given.actions ?? []) {
          const isButton = elements.some(
            ({ action_id, options = [] }) => action_id === id || options.some(({ value }) => value === id),
          );
          expect(isButton || url !== undefined || shown.includes('- ')).toBe(true);
        }
      }),
      { numRuns: 60 },
    );
  });
});

test('an edit is of the first message', () => {
  const edit = { action: { do: 'edit', of: 'row' } } as const;
  expect(sent('word '.repeat(1000), undefined, edit).map(({ of }) => of)).toEqual(['row', undefined]);
  expect(() => sent('x', undefined, { action: { do: 'react', to: '1.2', emoji: '👍' } })).toThrow(
    'not reacted to',
  );
});
