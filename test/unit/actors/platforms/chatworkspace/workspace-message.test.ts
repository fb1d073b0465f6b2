// Workspace messages contain the complete text, within the limits of the platform.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { MessageCard, OutboundMessage } from '../../../../../actors/events/outbox/message.ts';
import { workspaceCalls } from '../../../../../actors/platforms/chatworkspace/render-message.ts';
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

const render = (text: string, card?: MessageCard, more: Partial<OutboundMessage> = {}) =>
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

const decode = (text: string) =>
  text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
const elementsOf = (messages: ReturnType<typeof render>) =>
  messages.flatMap(({ blocks = [] }) => blocks.flatMap(({ elements = [] }) => elements));
const actions = (count: number, more: object = {}) =>
  Array.from({ length: count }, (_, n) => ({ id: `id-${n}`, title: `Title ${n}`, ...more }));

describe('a text', () => {
  test('is sent in the dialect of the chat, to its thread', () => {
    expect(render('**Done** with `it`')).toEqual([
      { channel: 'C1', thread_ts: '1.2', text: '*Done* with `it`', blocks: undefined, of: undefined },
    ]);
    expect(render('x', undefined, { target: { place: 'D1' } })[0]).not.toHaveProperty('thread_ts');
    expect(render('')).toEqual([]);
  });

  test('contains no mentions unless they are allowed', () => {
    const text = '<!channel> <@U1> <#C1|ops> a < b & <https://a.example/?b=1|here> <script>';
    expect(render(text)[0]?.text).not.toMatch(/<[@!#]/);
    expect(decode(render(text)[0]?.text ?? '')).toBe(text);
    expect(render(text, undefined, { mentions: 'allow' })[0]?.text).toBe(
      '<!channel> <@U1> <#C1|ops> a &lt; b &amp; <https://a.example/?b=1|here> &lt;script&gt;',
    );
  });

  test('is complete over several messages of at most 4000 encoded characters', () => {
    const texts = fc.string({
      unit: fc.constantFrom('word ', '&', '<', '\n', 'ö😀', '```\n', '\n\n'),
      maxLength: 3000,
    });
    fc.assert(
      fc.property(texts, (text) => {
        const messages = render(text);
        for (const { text: each } of messages) expect(each.length).toBeLessThanOrEqual(4000);
        const plain = (all: string) => all.replace(/[\s`\u2060]+/g, '');
        expect(plain(messages.map((each) => decode(each.text)).join(''))).toBe(plain(text));
        for (const message of messages.slice(0, -1)) expect(message.text.length).toBeGreaterThan(2600);
      }),
      { numRuns: 60 },
    );
  });
});

describe('a card', () => {
  test('becomes a header, the text, fields and buttons', () => {
    const card: MessageCard = {
      title: 'Release <7>',
      fields: [{ name: 'Branch', value: 'main & more' }],
      actions: [
        { id: 'ship', title: 'Ship it', style: 'primary' },
        { id: 'drop', title: 'Drop it', style: 'danger' },
        { id: 'see', title: 'Look', url: 'https://example.com/7' },
      ],
    };
    const [message, ...others] = render('Is it <ready>?', card);
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

  test('with many actions becomes a list, with buttons for links and long ids', () => {
    const many = [
      ...actions(30),
      { id: 'x'.repeat(200), title: 'Long id' },
      { id: 'y', title: 'Page', url: 'https://a.example/' },
    ];
    const elements = elementsOf(render('Choose', { actions: many }));
    expect(elements.map(({ type }) => type)).toEqual(['button', 'button', 'static_select']);
    expect(elements[2]?.options).toHaveLength(30);
    expect(elements[2]?.options?.[29]).toMatchObject({ value: 'id-29' });
  });

  test('renders an action with an oversized id as text', () => {
    const [message] = render('Choose', {
      actions: [{ id: 'x'.repeat(300), title: 'Too long', description: 'its effect' }],
    });
    expect(JSON.stringify(message?.blocks)).toContain('- Too long: its effect');
  });

  test('renders descriptions of buttons as text', () => {
    const [message] = render('Choose', {
      actions: [{ id: 'drop', title: 'Drop it', description: 'For good' }],
    });
    expect(message?.blocks?.map(({ type }) => type)).toEqual(['section', 'section', 'actions']);
    expect(JSON.stringify(message?.blocks)).toContain('- Drop it: For good');
  });

  test('outside a thread has buttons whose press continues the conversation of the channel', () => {
    const [message] = render('Choose', { actions: actions(1) }, { target: { place: 'C1' } });
    expect(message?.blocks?.at(-1)?.block_id).toBe('actor-gateway.channel.1');
    expect(render('Choose', { actions: actions(1) })[0]?.blocks?.at(-1)).not.toHaveProperty('block_id');
  });

  test('without a text is a message with a summary for notifications', () => {
    const [message] = render('', { title: 'Release 7', actions: actions(1) });
    expect(message?.text).toBe('Release 7 Title 0');
    expect(message?.blocks?.map(({ type }) => type)).toEqual(['header', 'actions']);
  });

  test('with a long text has its title above the first message and the rest below the last', () => {
    const messages = render('word '.repeat(2500), {
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

  test('with any content is accepted by the platform and complete', () => {
    const texts = (maxLength: number) =>
      fc
        .string({ unit: fc.constantFrom('a', 'ö', '😀', '<', '&', ' ', '*', '\n'), minLength: 1, maxLength })
        .filter((text) => text.trim() !== '');
    const card = fc.record(
      {
        title: texts(400),
        fields: fc.array(fc.record({ name: texts(60), value: texts(4000) }), { maxLength: 30 }),
        actions: fc.uniqueArray(
          fc.record(
            {
              id: texts(400),
              title: texts(200),
              description: texts(200),
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
      fc.property(texts(6000), card, (text, given) => {
        const messages = render(text, given as MessageCard);
        const visibleText = JSON.stringify(messages.map(({ blocks }) => blocks));
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
          expect(isButton || url !== undefined || visibleText.includes('- ')).toBe(true);
        }
      }),
      { numRuns: 60 },
    );
  });
});

test('an edit of a long text changes the first message, and a reaction is refused as unsupported', () => {
  const edit = { action: { do: 'edit', of: 'row' } } as const;
  expect(render('word '.repeat(1000), undefined, edit).map(({ of }) => of)).toEqual(['row', undefined]);
  expect(() => render('x', undefined, { action: { do: 'react', to: '1.2', emoji: '👍' } })).toThrow(
    'does not support reactions',
  );
});
