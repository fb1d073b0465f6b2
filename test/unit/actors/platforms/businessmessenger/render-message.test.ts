// Rendered messages of the business messenger, compared with the output of a third-party client.

import { describe, expect, it } from 'vitest';
import { WhatsAppAPI } from 'whatsapp-api-js';
import { ActionButtons, Body, Button, Interactive, Text } from 'whatsapp-api-js/messages';
import { UnrenderableError } from '../../../../../actors/events/outbox/delivery-error.ts';
import type { MessageCard, OutboundMessage } from '../../../../../actors/events/outbox/message.ts';
import { messageBodies } from '../../../../../actors/platforms/businessmessenger/render-message.ts';

const NUMBER = '15550002222';
const post = (text: string, card?: MessageCard, more: Partial<OutboundMessage> = {}) =>
  messageBodies({ target: { place: NUMBER }, action: { do: 'post' }, text, card, ...more });

/** Returns the request body of the third-party client. */
async function bodyOfClient(
  ...message: Parameters<WhatsAppAPI['sendMessage']> extends [unknown, ...infer R] ? R : never
) {
  let sent: unknown;
  const captureFetch = async (_: unknown, { body }: RequestInit = {}) => {
    sent = JSON.parse(String(body));
    return Response.json({ messages: [{ id: 'wamid.1' }] });
  };
  const ponyfill = { fetch: captureFetch as typeof fetch };
  const client = new WhatsAppAPI({ token: 't', secure: false, v: 'v24.0', ponyfill });
  await client.sendMessage('1', ...message);
  return sent as Record<string, unknown>;
}

describe('an answer', () => {
  it('has the same request body as the client library builds for the text with its mark', async () => {
    const [body, ...others] = post('hello 🦋\n\n```js\nlet a;\n```');
    const ofClient = await bodyOfClient(
      { phone: NUMBER, bsuid: '' },
      new Text('✅ hello 🦋\n\n```js\nlet a;\n```'),
    );
    delete ofClient.recipient;
    (ofClient.text as { preview_url?: boolean }).preview_url = false;
    expect(body).toEqual(ofClient);
    expect(others).toEqual([]);
  });

  it('with a warning begins with the warning mark', () => {
    expect(post('A parameter is missing', undefined, { status: 'warning' })).toMatchObject([
      { text: { body: '⚠️ A parameter is missing' } },
    ]);
  });

  it('to a user without a phone number has the field `recipient` instead of `to`', async () => {
    const userId = 'US.13491208655302741918';
    const [body] = post('hi', undefined, { target: { place: userId } });
    const ofClient = await bodyOfClient({ bsuid: userId }, new Text('✅ hi'));
    (ofClient.text as { preview_url?: boolean }).preview_url = false;
    expect(body).toEqual(ofClient);
    expect(body).not.toHaveProperty('to');
  });

  it('with up to three choices has the same buttons as the client library builds', async () => {
    const actions = [
      { id: 'yes', title: 'Yes' },
      { id: 'no', title: 'No' },
    ];
    const [body] = post('Shall I?', { actions });
    const buttons = new ActionButtons(new Button('yes', 'Yes'), new Button('no', 'No'));
    const ofClient = await bodyOfClient(
      { phone: NUMBER, bsuid: '' },
      new Interactive(buttons, new Body('✅ Shall I?')),
    );
    delete ofClient.recipient;
    expect(body).toEqual(ofClient);
  });

  it('with more choices has lists of at most ten rows, and shortens titles and descriptions visibly', () => {
    const actions = Array.from({ length: 14 }, (_, i) => ({
      id: `id-${i}`,
      title: `A title that is longer than rows have room for ${i}`,
      description: 'd'.repeat(100),
    }));
    const bodies = post('Which?', { title: 'Fruit', actions });
    const lists = bodies.map(({ interactive }) => interactive as List);
    expect(lists.map(({ type }) => type)).toEqual(['list', 'list']);
    expect(lists.map((list) => list.action.sections.flatMap(({ rows }) => rows).length)).toEqual([10, 4]);
    expect(lists[0]).toMatchObject({
      header: { type: 'text', text: 'Fruit' },
      body: { text: '✅ Which?' },
      action: { button: 'Fruit' },
    });
    const [row] = lists[0]?.action.sections[0]?.rows ?? [];
    expect(row?.id).toBe('id-0');
    expect(row?.title).toMatch(/^A title that is longer…$/);
    expect(row?.description).toHaveLength(72);
  });

  it('with a long text is sent completely, before its buttons', () => {
    const bodies = post('x'.repeat(5000), { actions: [{ id: 'a', title: 'A' }] });
    expect(bodies.map(({ type }) => type)).toEqual(['text', 'text', 'interactive']);
    const texts = bodies.map(({ text }) => (text as { body: string } | undefined)?.body ?? '');
    expect(texts[0]).toHaveLength(4096);
    expect(texts.join('').replace('✅ ', '')).toBe('x'.repeat(5000));
  });

  it('keeps button titles distinct that are equal after shortening', () => {
    const title = 'Deploy to production in Frankfurt';
    const [body] = post('Where?', {
      actions: [1, 2, 3].map((i) => ({ id: `p${i}`, title: `${title} ${i}` })),
    });
    const { action } = (body as { interactive: { action: { buttons: { reply: Reply }[] } } }).interactive;
    const { buttons } = action;
    expect(buttons.map(({ reply }) => reply.id)).toEqual(['p1', 'p2', 'p3']);
    expect(new Set(buttons.map(({ reply }) => reply.title)).size).toBe(3);
  });

  it('renders fields, links and button descriptions as text', () => {
    const [body] = post('Done', {
      title: 'Release',
      fields: [{ name: 'Version', value: '1.2' }],
      actions: [{ id: 'log', title: 'Log', url: 'https://example.com/log' }],
    });
    expect(body).toMatchObject({
      text: { body: '✅ *Release*\n\nDone\n\n*Version*: 1.2\nLog: https://example.com/log' },
    });
  });

  it('without text or card sends no message', () => {
    expect(post('')).toEqual([]);
    expect(post(' \n')).toEqual([]);
  });
});

it('a reaction is one message, and an edit cannot be rendered', () => {
  const target = { place: NUMBER };
  expect(
    messageBodies({ target, action: { do: 'react', to: 'wamid.1', emoji: '👍' }, text: '' }),
  ).toMatchObject([{ to: NUMBER, type: 'reaction', reaction: { message_id: 'wamid.1', emoji: '👍' } }]);
  const edit = { target, action: { do: 'edit', of: 'row' }, text: 'new' } as const;
  expect(() => messageBodies(edit)).toThrow(UnrenderableError);
});

interface Reply {
  readonly id: string;
  readonly title: string;
}

interface List {
  readonly type: string;
  readonly header?: object;
  readonly body: { readonly text: string };
  readonly action: {
    readonly button: string;
    readonly sections: readonly {
      readonly rows: readonly {
        readonly id: string;
        readonly title: string;
        readonly description?: string;
      }[];
    }[];
  };
}
