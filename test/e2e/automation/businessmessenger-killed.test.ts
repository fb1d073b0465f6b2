// The gateway is killed between any two steps of a message of the business messenger: what was acknowledged is answered, and
// under one key.

import { describe, expect, it } from 'vitest';
import { eventually } from '../../fixtures/automation/automation.ts';
import { business, type Messenger, startMessenger } from '../../fixtures/business-platform/messenger.ts';
import { messagesOf, textMessage } from '../../fixtures/business-platform/notification.ts';
import { seeded } from '../../fixtures/seeded.ts';

const ada = { name: 'Ada', number: '15550002222' };

const keysOf = ({ agent }: Messenger) =>
  new Set(agent.requests.map(({ headers }) => headers['idempotency-key']));

describe('a gateway that is killed', () => {
  it('while the agent thinks asks it again under the same key, and one answer is seen', async () => {
    let isAway = true;
    const first = await startMessenger({
      answer: async ({ body }) => {
        if (isAway) await new Promise(() => {});
        return { text: `heard: ${body.input}` };
      },
    });
    const said = textMessage(ada, 'hello');
    await first.say(ada, said);
    await eventually(() => expect(first.agent.requests).toHaveLength(1));
    await first.gateway.stop('SIGKILL');
    isAway = false;
    const second = await first.again();
    // The platform has not seen our 200, as far as it is concerned.
    await second.say(ada, said);
    await eventually(() => expect(second.platform.textsTo(ada.number)).toEqual(['✅ heard: hello']));
    expect(second.agent.requests).toHaveLength(2);
    expect(keysOf(second).size).toBe(1);
  });

  it('while its answer is on the way sends it, and asks nobody again', async () => {
    const first = await startMessenger();
    first.platform.fail({ kind: 'hang' });
    await first.say(ada, textMessage(ada, 'hello'));
    await eventually(() => expect(first.platform.sendings).toHaveLength(1));
    await first.gateway.stop('SIGKILL');
    const second = await first.again();
    await eventually(() => expect(second.platform.textsTo(ada.number)).toEqual(['✅ heard: hello']));
    expect(second.agent.requests).toHaveLength(1);
    await eventually(async () => expect(await second.outbox()).toMatchObject([{ state: 'done' }]));
  });

  it('before it hears that the platform has taken the answer sends it once more, and no more', async () => {
    const first = await startMessenger();
    first.platform.fail({ kind: 'hang', isTaken: true });
    await first.say(ada, textMessage(ada, 'hello'));
    await eventually(() => expect(first.platform.sent).toHaveLength(1));
    await first.gateway.stop('SIGKILL');
    const second = await first.again();
    await eventually(async () => expect(await second.outbox()).toMatchObject([{ state: 'done' }]));
    expect(second.platform.textsTo(ada.number)).toEqual(['✅ heard: hello', '✅ heard: hello']);
    expect(second.agent.requests).toHaveLength(1);
  });

  it('at any moment, several times, has answered everything that the platform was told is taken', async () => {
    const random = seeded(20_261_122);
    const people = Array.from({ length: 8 }, (_, i) => ({ name: `P${i}`, number: String(15551000000 + i) }));
    let now = await startMessenger({ answer: ({ body }) => ({ text: body.input }) });
    const first = now;
    const said = Array.from({ length: 120 }, (_, i) => {
      const person = people[i % people.length] as (typeof people)[number];
      return [person, textMessage(person, `m${i}`)] as const;
    });
    const batches = Array.from({ length: 24 }, (_, i) => messagesOf(business, said.slice(5 * i, 5 * i + 5)));
    const sending = (async () => {
      for (const batch of batches)
        for (let status = 0; status !== 200; ) {
          status = (await now.sender.send(batch)) ?? 0;
          if (status !== 200) await new Promise((done) => setTimeout(done, 20));
        }
    })();
    for (let kill = 0; kill < 3; kill += 1) {
      await new Promise((done) => setTimeout(done, 60 + 240 * random()));
      await now.gateway.stop('SIGKILL');
      now = await now.again();
    }
    await sending;
    const texts = (number: string) => [...new Set(first.platform.textsTo(number))];
    await eventually(() => {
      for (const [i, { number }] of people.entries())
        expect(texts(number)).toEqual(Array.from({ length: 15 }, (_, k) => `✅ m${i + 8 * k}`));
    }, 60_000);
    expect(keysOf(first).size).toBe(said.length);
    // Once more only what was on its way at a kill.
    const doubled = first.platform.sent.length - said.length;
    expect(doubled).toBeLessThanOrEqual(3 * people.length);
  });
});
