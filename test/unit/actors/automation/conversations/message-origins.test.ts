// Senders, chats and quoted messages in jobs and in the history, with the real dispatcher and store.

import { afterEach, expect, test } from 'vitest';
import type { Job } from '../../../../../actors/agents/handlers/handler.ts';
import { jobJson } from '../../../../../actors/agents/handlers/job-json.ts';
import { WaitingChat } from '../../../../fixtures/automation/waiting-chat.ts';

let chat: WaitingChat | undefined;
afterEach(() => chat?.end());

async function jobsFor(...events: readonly Parameters<WaitingChat['say']>[1][]): Promise<readonly Job[]> {
  const jobs: Job[] = [];
  chat = new WaitingChat({
    handler: {
      run: async (job) => {
        jobs.push(job);
        return { text: `answer ${jobs.length}` };
      },
    },
  });
  for (const [n, event] of events.entries()) {
    await chat.say(`e${n}`, event);
    await chat.waitForState(`e${n}`, 'done');
  }
  return jobs;
}

const ada = { user: '11', senderName: 'Ada', channel: '-100', channelName: 'Ops' };
const ben = { ...ada, user: '12', senderName: 'Ben' };

test('a job contains sender, chat and quoted messages, and the history those of each message', async () => {
  const quoted = [{ relation: 'answered', sender: { name: 'Bob' }, text: 'Monday?' }] as const;
  const jobs = await jobsFor({ ...ada, text: 'yes', quoted }, { ...ben, text: 'no', isByBot: true });
  const first = { sender: { id: '11', name: 'Ada' }, chat: { id: '-100', name: 'Ops' }, quoted };
  const second = { sender: { id: '12', name: 'Ben', is_bot: true }, chat: first.chat };
  expect(jobs.map(({ message }) => message)).toEqual([first, second]);
  expect(jobs[1]?.history).toEqual([
    { role: 'user', text: 'yes', message: first },
    { role: 'assistant', text: 'answer 1' },
  ]);
  const body = Buffer.concat((await jobJson(jobs[1] as Job)) as Buffer[]).toString();
  expect(JSON.parse(body)).toMatchObject({ message: second, history: [{ message: first }, {}] });
});

test('an event from an unknown sender has no origin', async () => {
  const manualRun = { user: 'ada', channel: undefined, text: 'tock' };
  const [job, next] = await jobsFor({ user: undefined, text: 'tick' }, manualRun);
  expect([job?.message, next?.message]).toEqual([undefined, undefined]);
  expect(next?.history[0]).toEqual({ role: 'user', text: 'tick' });
});

test('names and quotations are limited, and shorter in the history, which counts them', async () => {
  const long = 'x'.repeat(20_000);
  const quoted = Array.from({ length: 20 }, () => ({ relation: 'quoted', text: long }) as const);
  const event = { ...ada, senderName: long, quoted };
  const jobs = await jobsFor(...Array.from({ length: 8 }, () => event));
  const { sender, quoted: shortened = [] } = jobs[0]?.message ?? {};
  expect(sender?.name).toHaveLength(200);
  expect(shortened.map(({ text }) => text?.length)).toEqual(Array(10).fill(8_192));
  const history = jobs.at(-1)?.history ?? [];
  const stored = history.find(({ role }) => role === 'user')?.message;
  expect(stored?.quoted?.[0]?.text).toHaveLength(500);
  expect(JSON.stringify(history).length).toBeLessThan(36_000);
});
