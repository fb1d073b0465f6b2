// Rendered messages of the community chat.

import { expect, test } from 'vitest';
import type { MessageCard, OutboundMessage } from '../../../../../actors/events/outbox/message.ts';
import { communityMessages } from '../../../../../actors/platforms/communitychat/render-message.ts';

const bodies = (text: string, card?: MessageCard, more: Partial<OutboundMessage> = {}) =>
  communityMessages({
    target: { place: '1', repliesTo: '2' },
    action: { do: 'post' },
    text,
    card,
    ...more,
  }).map(({ body }) => body);
const actions = (count: number, more = {}) =>
  Array.from({ length: count }, (_, i) => ({ id: `a${i}`, title: `A ${i}`, ...more }));

test('an answer with a card becomes one chat message with text, title, fields and buttons', () => {
  const [body, ...others] = bodies('Shall I?', {
    title: 'Release',
    fields: [{ name: 'Tests', value: 'green' }],
    actions: [
      { id: 'yes', title: 'Deploy', style: 'primary' },
      { id: 'no', title: 'Never', style: 'danger', description: 'and forget it' },
      { id: 'log', title: 'Log', url: 'https://example.com/log' },
      { id: 'x'.repeat(101), title: 'Too long' },
      { id: 'later', title: 'x'.repeat(90) },
    ],
  });
  expect(others).toEqual([]);
  expect(body).toEqual({
    content: 'Shall I?\n\n- **Never**: and forget it\n- Too long',
    embeds: [{ title: 'Release', fields: [{ name: 'Tests', value: 'green' }] }],
    components: [
      {
        type: 1,
        components: [
          { type: 2, style: 1, label: 'Deploy', custom_id: 'yes' },
          { type: 2, style: 4, label: 'Never', custom_id: 'no' },
          { type: 2, style: 5, label: 'Log', url: 'https://example.com/log' },
          { type: 2, style: 2, label: `${'x'.repeat(79)}…`, custom_id: 'later' },
        ],
      },
    ],
    allowed_mentions: { parse: [] },
  });
});

test('up to 25 actions of a chat card become buttons in rows of five; more become select menus', () => {
  const sizes = (count: number) =>
    bodies('x', { actions: actions(count) })[0]?.components.map(
      ({ components }) => (components as []).length,
    );
  expect(sizes(6)).toEqual([5, 1]);
  expect(sizes(25)).toEqual([5, 5, 5, 5, 5]);
  const many = [
    ...actions(60, { description: 'why' }),
    ...actions(7).map(({ title }, i) => ({
      id: `l${i}`,
      title: `L ${title}`,
      url: `https://example.com/${i}`,
    })),
  ];
  const [{ components = [], content = '' } = {}] = bodies('x', { actions: many });
  expect(components).toHaveLength(5);
  expect(components.slice(0, 2).map((row) => (row.components as []).length)).toEqual([5, 2]);
  const options = components
    .slice(2)
    .flatMap((row) => (row.components as { options: { value: string }[] }[])[0]?.options ?? []);
  expect(options.map(({ value }) => value)).toEqual(actions(60).map(({ id }) => id));
  expect(options[0]).toEqual({ label: 'A 0', value: 'a0', description: 'why' });
  expect(content).toBe('x');
});

test('a long text is split with closed code blocks, and the card is below the last part', () => {
  const text = `begin\n\`\`\`js\n${'let x = 1;\n'.repeat(300)}\`\`\`\nend`;
  const all = bodies(text, { title: 'T', actions: actions(1) });
  expect(all.length).toBe(2);
  for (const { content } of all) {
    expect(content.length).toBeLessThanOrEqual(2000);
    expect(content.split('```').length % 2).toBe(1);
  }
  expect(all.map(({ embeds, components }) => [embeds.length, components.length])).toEqual([
    [0, 0],
    [1, 1],
  ]);
});

test("fields beyond an embed's limit go to further messages, and a long field becomes text", () => {
  const fields = Array.from({ length: 40 }, (_, i) => ({
    name: `n${i}`,
    value: 'v'.repeat(i < 10 ? 1000 : 5),
  }));
  const all = bodies('x', { title: 'T', fields: [...fields, { name: 'long', value: 'y'.repeat(1500) }] });
  expect(all.map(({ embeds }) => embeds[0]?.fields?.length)).toEqual([5, 25, 10]);
  expect(all[0]?.content).toContain(`**long**: ${'y'.repeat(1500)}`);
});

test('a chat message with only buttons gets an emoji as its text, and an empty message is not sent', () => {
  expect(bodies('', { actions: actions(1) })).toMatchObject([{ content: '👇' }]);
  expect(bodies(' ')).toEqual([]);
});

test('the first part of an answer to a chat command replaces the deferred reply; an edit names its message', () => {
  const message = { target: { place: '1', repliesTo: '2' }, text: 'x'.repeat(3000) };
  expect(communityMessages({ ...message, action: { do: 'edit', of: 'row' } })).toMatchObject([
    { channel: '1', interaction: '2', isFirst: true, of: 'row' },
    { channel: '1', interaction: '2', isFirst: false },
  ]);
  const [first] = communityMessages({ ...message, target: { place: '1' }, action: { do: 'post' } });
  expect(first).not.toHaveProperty('interaction');
  expect(() => communityMessages({ ...message, action: { do: 'react', to: '1', emoji: 'x' } })).toThrow(
    'reactions',
  );
});
