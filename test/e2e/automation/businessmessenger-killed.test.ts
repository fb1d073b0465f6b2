// The gateway is killed between any two steps of a business messenger message: every acknowledged message is
// answered, under one key.

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { eventually } from '../../fixtures/automation/automation.ts';
import { expectOneKeyPerInput, expectSentOnce, waitUntilIdle } from '../../fixtures/automation/killed.ts';
import { textIn } from '../../fixtures/business-platform/business-platform.ts';
import { graphError } from '../../fixtures/business-platform/graph-error.ts';
import {
  APP_SECRET,
  business,
  type Messenger,
  startMessenger,
} from '../../fixtures/business-platform/messenger.ts';
import {
  bytesOf,
  type Members,
  messagesOf,
  type Person,
  signatureOf,
  textMessage,
} from '../../fixtures/business-platform/notification.ts';
import { seeded } from '../../fixtures/seeded.ts';

/** Sends a notification's head and half the body. */
async function sendHalf({ gateway }: Messenger, content: Members): Promise<Socket> {
  const body = bytesOf(content);
  const socket = connect(gateway.port, '127.0.0.1').on('error', () => {});
  await once(socket, 'connect');
  socket.write(
    `POST /webhook/businessmessenger HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${body.length}\r\nX-Hub-Signature-256: ${signatureOf(body, APP_SECRET)}\r\n\r\n` +
      body.slice(0, body.length / 2),
  );
  return socket;
}

describe('a killed gateway', () => {
  it('loses no acknowledged message, at any step, and keeps one idempotency key per request and answer', async () => {
    const isAway = new Set(['while asked']);
    const gate = { isOpen: false };
    const expectGateOpen = () => eventually(() => expect(gate.isOpen).toBe(true));
    const first = await startMessenger({
      answer: async ({ body: { input } }) => {
        if (isAway.has(input)) await new Promise(() => {});
        const [, step] = /^as answered (\d)$/.exec(input) ?? [];
        if (step !== undefined) await expectGateOpen().then(() => pause(3 * Number(step)));
        return { text: input };
      },
    });
    const { platform, agent } = first;
    let now = first;
    const people = new Map<string, Person & { readonly number: string }>();
    const messages = new Map<string, Members>();
    /** Creates a message from a new person, or from the sender of another message. */
    const messageOf = (text: string, by = text): Members => {
      const person = people.get(by) ?? { name: by, number: String(15551000000 + people.size) };
      people.set(by, person);
      const message = messages.get(text) ?? textMessage(person, text);
      messages.set(text, message);
      return messagesOf(business, [[person, message]]);
    };
    const numberOf = (by: string) => people.get(by)?.number ?? '';
    const delivery = (text: string) => now.delivery(`businessmessenger:desk/${messages.get(text)?.id}`);
    const rowOf = (text: string) => now.delivery(`outbox:businessmessenger:desk/${messages.get(text)?.id}/1`);
    const take = (text: string, by?: string) => now.sender.deliver(messageOf(text, by));
    const kill = async () => {
      await now.gateway.stop('SIGKILL');
      now = await now.restart();
    };

    // Deterministic cases: each message is at a known step when the process is killed.
    await take('sent, and stored as sent');
    await eventually(async () =>
      expect(await rowOf('sent, and stored as sent')).toMatchObject({ state: 'done' }),
    );
    await take('while asked');
    await take('behind it', 'while asked');
    messageOf('before its turn');
    platform.fail(
      { kind: 'refuse', error: graphError(131056, 'too much', { headers: { 'retry-after': '2' } }) },
      numberOf('before its turn'),
    );
    await take('before its turn');
    messageOf('before it arrived');
    platform.fail({ kind: 'hang' }, numberOf('before it arrived'));
    await take('before it arrived');
    messageOf('before we knew');
    platform.fail({ kind: 'hang', isTaken: true }, numberOf('before we knew'));
    await take('before we knew');
    const half = await sendHalf(now, messageOf('half of it'));
    await eventually(async () => {
      expect(await delivery('while asked')).toMatchObject({ state: 'running' });
      expect(await delivery('behind it')).toMatchObject({ state: 'queued' });
      expect(await rowOf('before its turn')).toMatchObject({ state: 'retrying', deferrals: 1 });
      expect(platform.sendings.map(({ body }) => body.to)).toContain(numberOf('before it arrived'));
      expect(platform.textsTo(numberOf('before we knew'))).toHaveLength(1);
    });
    await kill();
    half.destroy();
    isAway.clear();
    // The platform received no acknowledgement of these messages.
    for (const text of ['half of it', 'while asked', 'before it arrived']) await take(text);
    await take('behind it', 'while asked');
    await waitUntilIdle(now.gateway);
    expect(await rowOf('before it arrived')).toMatchObject({ attempts: 2, crashes: 1, state: 'done' });
    expect(await delivery('while asked')).toMatchObject({ attempts: 2, crashes: 1, state: 'done' });

    // Random cases around the moment of the kill.
    const steps = [0, 1, 2, 3];
    const accepting = steps.map(async (step) => {
      await pause(3 * step);
      return now.sender.send(messageOf(`as accepted ${step}`));
    });
    await pause(7);
    await kill();
    for (const [step, status] of (await Promise.all(accepting)).entries())
      if (status !== 200) await take(`as accepted ${step}`);
    await waitUntilIdle(now.gateway);

    for (const step of steps) await take(`as answered ${step}`);
    await eventually(() => expect(agent.requests.at(-1)?.body.input).toMatch(/^as answered/));
    await eventually(() => {
      for (const step of steps)
        expect(agent.requests.map(({ body }) => body.input)).toContain(`as answered ${step}`);
    });
    gate.isOpen = true;
    await pause(25);
    await kill();
    await waitUntilIdle(now.gateway);

    gate.isOpen = false;
    for (const step of steps) {
      messageOf(`as sent ${step}`);
      const until = expectGateOpen().then(() => pause(3 * step));
      platform.fail({ kind: 'late', until }, numberOf(`as sent ${step}`));
      await take(`as sent ${step}`);
    }
    await eventually(() => {
      for (const step of steps) expect(platform.textsTo(numberOf(`as sent ${step}`))).toHaveLength(1);
    });
    gate.isOpen = true;
    await pause(25);
    await kill();
    await waitUntilIdle(now.gateway);

    const requests = expectOneKeyPerInput(agent);
    const texts = [...messages.keys()];
    for (const text of texts) {
      const twice = text === 'while asked' || /^as (accepted|answered)/.test(text);
      expect([text, requests.get(text)]).toEqual([text, twice ? expect.toBeOneOf([1, 2]) : 1]);
      expect(await delivery(text)).toMatchObject({ state: 'done', answer: text });
      const row = await rowOf(text);
      expect(row).toMatchObject({ state: 'done', answer: null });
      expect(platform.sent.map(({ id }) => id)).toContain(row.receipt);
    }
    // The platform offers no way to check whether a message arrived.
    const uncertain = texts.filter((text) => text === 'before we knew' || text.startsWith('as '));
    const sentTexts = platform.sent.map(({ body }) => textIn(body).replace('✅ ', ''));
    expectSentOnce(sentTexts, texts, uncertain);
    expect(platform.textsTo(numberOf('while asked'))).toEqual(['✅ while asked', '✅ behind it']);
    // One row per message and answer.
    expect(await now.outbox()).toHaveLength(texts.length);
  });

  it('answers every acknowledged message after several kills at random moments', async () => {
    const random = seeded(20_261_122);
    const people = Array.from({ length: 8 }, (_, i) => ({ name: `P${i}`, number: String(15551000000 + i) }));
    let now = await startMessenger({ answer: ({ body }) => ({ text: body.input }) });
    const first = now;
    const messages = Array.from({ length: 120 }, (_, i) => {
      const person = people[i % people.length] as (typeof people)[number];
      return [person, textMessage(person, `m${i}`)] as const;
    });
    const batches = Array.from({ length: 24 }, (_, i) =>
      messagesOf(business, messages.slice(5 * i, 5 * i + 5)),
    );
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
      now = await now.restart();
    }
    await sending;
    const texts = (number: string) => [...new Set(first.platform.textsTo(number))];
    await eventually(() => {
      for (const [i, { number }] of people.entries())
        expect(texts(number)).toEqual(Array.from({ length: 15 }, (_, k) => `✅ m${i + 8 * k}`));
    }, 60_000);
    expect(expectOneKeyPerInput(first.agent).size).toBe(messages.length);
    // Only messages in transit at the kill are repeated.
    const doubled = first.platform.sent.length - messages.length;
    expect(doubled).toBeLessThanOrEqual(3 * people.length);
  });
});
