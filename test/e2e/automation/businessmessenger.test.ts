// The business messenger with the whole program: messages arrive from the platform, an agent answers, and
// people see the answer.

import { describe, expect, it } from 'vitest';
import { WORDLESS_REPLY } from '../../../actors/automation/conversations/messages.ts';
import { decisionActionId } from '../../../actors/events/decision-action.ts';
import { eventually, httpAgent, startAgent, startAutomation } from '../../fixtures/automation/automation.ts';
import {
  APP_SECRET,
  business,
  credentials,
  type Messenger,
  startMessenger,
  startPlatform,
  TOKEN,
  VERIFY_TOKEN,
} from '../../fixtures/business-platform/messenger.ts';
import {
  buttonReply,
  listReply,
  message,
  messagesOf,
  type Person,
  textMessage,
} from '../../fixtures/business-platform/notification.ts';
import { WebhookSender } from '../../fixtures/business-platform/webhook-sender.ts';
import { temporaryFolder } from '../../fixtures/gateway/gateway-process.ts';

const ada = { name: 'Ada Ö.', number: '15550002222' };
const bob = { name: 'Bob', number: '15550003333' };
const pablo = { name: 'Pablo', userId: 'US.13491208655302741918' };

const recipientOf = ({ number, userId }: Person) => number ?? userId ?? '';

/** Returns when a person has seen exactly these texts. */
async function expectTexts({ platform }: Messenger, person: Person, texts: readonly string[]): Promise<void> {
  await eventually(() => expect(platform.textsTo(recipientOf(person))).toEqual(texts));
}

describe('the business messenger', () => {
  it('answers a button press for an old approval with a notice; a similar text is a message', async () => {
    const desk = await startMessenger();
    const id = decisionActionId('0b5e7a1c-1d2e-4f30-8a41-5b6c7d8e9f00', 'approve');
    const tap = buttonReply(ada, id, 'Approve');
    await desk.say(ada, tap);
    const notice = '⚠️ This approval request no longer exists.';
    await expectTexts(desk, ada, [notice]);
    await desk.say(ada, textMessage(ada, id));
    await expectTexts(desk, ada, [notice, `✅ heard: ${id}`]);
    const delivery = await eventually(async () => {
      const record = await desk.delivery(`businessmessenger:desk/${tap.id}`);
      expect(record.state).toBe('ignored');
      return record;
    });
    expect(delivery.conversation).toBe(
      `conversation/businessmessenger/${business.phone_number_id}/${ada.number}/commands`,
    );
  });

  it('sends the agent the message that a reply answers, received or sent, but only of the same person', async () => {
    const desk = await startMessenger();
    const [first, foreign] = [textMessage(ada, 'hello'), textMessage(bob, 'a secret')];
    await desk.say(bob, foreign);
    await desk.say(ada, first);
    await expectTexts(desk, ada, ['✅ heard: hello']);
    const receipt = desk.platform.sent.findLast(({ whom }) => whom === ada.number)?.id;
    const quotedBy = async (id: unknown) => {
      const reply = textMessage(ada, `about ${id}`, { context: { id } });
      await desk.say(ada, reply);
      return eventually(() => {
        const request = desk.agent.requests.find(({ body }) => body.input === `about ${id}`);
        expect(request).toBeDefined();
        return request?.body.message?.quoted;
      });
    };
    expect(await quotedBy(first.id)).toEqual([
      { relation: 'answered', sender: { name: 'Ada Ö.' }, text: 'hello' },
    ]);
    expect(await quotedBy(receipt)).toEqual([
      { relation: 'answered', sender: { id: business.phone_number_id }, text: '✅ heard: hello' },
    ]);
    expect(await quotedBy(foreign.id)).toBeUndefined();
    expect(await quotedBy('wamid.unknown')).toBeUndefined();
  });

  it('answers each message once, with its chat history, however webhooks are repeated or ordered', async () => {
    const desk = await startMessenger({ spec: { commands: { '/status': { agent: 'desk' } } } });
    await desk.sender.subscribe();
    const first = textMessage(ada, 'Grüße 🦋');
    await desk.say(ada, first);
    await expectTexts(desk, ada, ['✅ heard: Grüße 🦋']);
    const second = textMessage(ada, '/status of all');
    await desk.sender.deliver(
      messagesOf(business, [
        [ada, second],
        [ada, first],
      ]),
    );
    await desk.say(ada, first);
    await expectTexts(desk, ada, ['✅ heard: Grüße 🦋', '✅ heard: /status of all']);
    expect(desk.agent.requests).toHaveLength(2);
    const [asked, later] = desk.agent.requests;
    expect(asked?.body).toMatchObject({
      input: 'Grüße 🦋',
      conversation: `businessmessenger/${business.phone_number_id}/${ada.number}`,
      event: {
        type: 'BusinessMessenger',
        context: { 'sender.name': 'Ada Ö.', 'sender.number': ada.number },
        payload: messagesOf(business, [[ada, first]]),
      },
    });
    expect(later?.body).toMatchObject({
      command: 'status',
      history: [
        { role: 'user', text: 'Grüße 🦋', message: { sender: { id: ada.number, name: 'Ada Ö.' } } },
        { role: 'assistant', text: 'heard: Grüße 🦋' },
      ],
    });
    const row = await eventually(async () => {
      const [newest] = await desk.outbox();
      expect(newest).toMatchObject({
        state: 'done',
        conversation: `outbox/businessmessenger/${business.phone_number_id}/${ada.number}`,
      });
      return newest;
    });
    expect((await desk.delivery(row?.id ?? '')).receipt).toBe(desk.platform.sent[1]?.id);
    await eventually(() => expect(desk.platform.read).toContain(first.id));
    for (const secret of [TOKEN, APP_SECRET, VERIFY_TOKEN])
      expect(desk.gateway.text() + JSON.stringify(desk.agent.requests)).not.toContain(secret);
  });

  it('shows buttons and lists, and handles a press', async () => {
    const answers: Record<string, object> = {
      deploy: {
        actions: [
          { id: 'yes', title: 'Deploy it to all of them' },
          { id: 'no', title: 'No' },
        ],
      },
      which: { actions: Array.from({ length: 14 }, (_, i) => ({ id: `row-${i}`, title: `Row ${i}` })) },
    };
    const desk = await startMessenger({
      answer: ({ body }) => ({ text: `heard ${body.input}`, data: answers[body.input] ?? {} }),
    });
    await desk.say(ada, textMessage(ada, 'deploy'));
    await eventually(() =>
      expect(desk.platform.sent[0]?.body).toMatchObject({
        type: 'interactive',
        interactive: {
          type: 'button',
          body: { text: '✅ heard deploy' },
          action: {
            buttons: [
              { reply: { id: 'yes', title: 'Deploy it to all of…' } },
              { reply: { id: 'no', title: 'No' } },
            ],
          },
        },
      }),
    );
    await desk.say(ada, buttonReply(ada, 'yes', 'Deploy it to all of…'));
    await eventually(() => expect(desk.platform.textsTo(ada.number)).toContain('✅ heard button:yes'));
    await desk.say(ada, textMessage(ada, 'which'));
    await desk.say(ada, listReply(ada, 'row-3', 'Row 3'));
    await eventually(() => expect(desk.platform.textsTo(ada.number)).toContain('✅ heard list:row-3'));
    const lists = desk.platform.sent.filter(({ body }) => JSON.stringify(body).includes('"list"'));
    expect(lists.length).toBe(2);
  });

  it('answers a user without a phone number, and recognises that user when the number is known', async () => {
    const desk = await startMessenger();
    const both = { ...pablo, number: bob.number };
    await desk.say(pablo, textMessage(pablo, 'no number'));
    await expectTexts(desk, pablo, ['✅ heard: no number']);
    expect(desk.platform.sent[0]?.body).toMatchObject({
      recipient: pablo.userId,
      recipient_type: 'individual',
    });
    expect(desk.platform.sent[0]?.body).not.toHaveProperty('to');
    await desk.say(both, textMessage(both, 'both'));
    await eventually(() => expect(desk.agent.requests).toHaveLength(2));
    expect(desk.agent.requests[1]?.body.history).toHaveLength(2);
    expect(desk.agent.requests[1]?.body.conversation).toBe(desk.agent.requests[0]?.body.conversation);
    expect(desk.platform.lost).toEqual([]);
  });

  it('shows that an answer is being written', async () => {
    const desk = await startMessenger({
      answer: async () => {
        await new Promise((done) => setTimeout(done, 1_000));
        return { text: 'at last' };
      },
    });
    const slowMessage = textMessage(ada, 'slow');
    await desk.say(ada, slowMessage);
    await expectTexts(desk, ada, ['✅ at last']);
    expect(desk.platform.typing).toEqual([slowMessage.id]);
  });

  it.each(['refused', 'never answered'] as const)(
    'answers immediately although read and typing indicators are %s',
    async (marks) => {
      const desk = await startMessenger({
        answer: async () => {
          await new Promise((done) => setTimeout(done, 500));
          return { text: 'all the same' };
        },
      });
      desk.platform.marks = marks;
      const beganAt = performance.now();
      for (const text of ['one', 'two']) await desk.say(ada, textMessage(ada, text));
      await expectTexts(desk, ada, ['✅ all the same', '✅ all the same']);
      // The answer was not delayed by the indicator, which times out after 10 s.
      expect(performance.now() - beganAt).toBeLessThan(9_000);
      const marked = desk.platform.calls.filter(({ body }) => body.status === 'read');
      expect(marked.some(({ body }) => body.typing_indicator !== undefined)).toBe(true);
    },
  );

  it('does not answer senders who are not allowed, and asks the sender of a picture for text', async () => {
    const desk = await startMessenger({ config: { allowed_numbers: [`+${ada.number}`] } });
    const unheard = textMessage(bob, 'hello?');
    await desk.say(bob, unheard);
    const picture = message(ada, 'image', { id: '1', mime_type: 'image/jpeg' });
    await desk.say(ada, picture);
    await desk.say(ada, textMessage(ada, 'hello'));
    await expectTexts(desk, ada, [`⚠️ ${WORDLESS_REPLY}`, '✅ heard: hello']);
    await eventually(async () =>
      expect(await desk.delivery(`businessmessenger:desk/${picture.id}`)).toMatchObject({
        state: 'ignored',
        note: expect.stringContaining('UnsupportedMessageType'),
      }),
    );
    expect(desk.agent.requests).toHaveLength(1);
    await eventually(() => expect(desk.platform.read).toHaveLength(1));
    const calls = JSON.stringify(desk.platform.calls);
    // Neither an answer nor a read indicator was sent.
    for (const sign of [bob.number, unheard.id, picture.id]) expect(calls).not.toContain(sign);
  });
});

it('a business messenger trigger in the alternative file format uses its credentials and routing rules', async () => {
  const platform = await startPlatform();
  const billing = await startAgent(() => ({ text: 'about money' }));
  const desk = await startAgent(() => ({ text: 'about anything' }));
  const folder = temporaryFolder();
  const { access_token: _, phone_number_id, api_version } = credentials;
  const gateway = await startAutomation({
    folder,
    env: { BIZ_PHONE: phone_number_id, BIZ_TOKEN: TOKEN, BIZ_VERIFY: VERIFY_TOKEN, BIZ_SECRET: APP_SECRET },
    resources: [
      httpAgent('billing', billing.url),
      httpAgent('desk', desk.url),
      {
        kind: 'Trigger',
        name: 'support',
        spec: {
          platform: 'whatsapp',
          webhook: { path: '/webhook/support' },
          routing: {
            rules: [{ match: { text_contains: ['Invoice', 'refund'] }, agent: 'billing' }],
            default_agent: 'desk',
          },
        },
      },
    ],
    settings: {
      spec: { triggers: { directory: './triggers' }, agents: { directory: './agents' } },
      platforms: {
        whatsapp: {
          phone_number_id_env: 'BIZ_PHONE',
          access_token_env: 'BIZ_TOKEN',
          verify_token_env: 'BIZ_VERIFY',
          app_secret_env: 'BIZ_SECRET',
          api_version,
          graph_url: platform.url,
        },
      },
    },
  });
  const url = `${gateway.url}/webhook/support`;
  const sender = new WebhookSender({ url, appSecret: APP_SECRET, verifyToken: VERIFY_TOKEN });
  await sender.subscribe();
  await sender.deliver(messagesOf(business, [[ada, textMessage(ada, 'my INVOICES, please')]]));
  await sender.deliver(messagesOf(business, [[bob, textMessage(bob, 'hello')]]));
  await eventually(() => expect(platform.textsTo(ada.number)).toEqual(['✅ about money']));
  await eventually(() => expect(platform.textsTo(bob.number)).toEqual(['✅ about anything']));
});
