// Many clients of the same process: equal ids, equal progress tokens, cancellations and server questions are
// kept apart, under shared and session isolation.

import { describe, expect, it } from 'vitest';
import {
  callOnce,
  details,
  type Message,
  RawSession,
  stats,
  until,
} from '../../fixtures/clients/raw-session.ts';
import { startGateway } from '../../fixtures/gateway/gateway-process.ts';
import { fault } from '../../fixtures/server/fault-servers.ts';

const CLIENTS = 10;
const CALLS = 200;

const progressOf = (messages: readonly Message[]) =>
  messages.filter(({ method }) => method === 'notifications/progress').map(({ params }) => params);

/** Requests only, because notifications about lists may arrive at any time. */
const questionsOf = (messages: readonly Message[]) => messages.filter(({ id }) => id !== undefined);

describe.each(['shared', 'session'])('isolation %s', (isolation) => {
  it('returns to two concurrent calls with the same id on one session their own responses and progress', async () => {
    const { url } = await startGateway({ servers: { echo: fault('echo', { isolation }) } });
    for (const path of ['/mcp/echo', '/mcp']) {
      const session = await RawSession.open(url, path);
      const name = path === '/mcp' ? 'echo__count' : 'count';
      if (path === '/mcp') await session.request('tools/list');
      const both = ['slow', 'quick'].map((label, index) => {
        const args = { steps: 3, every_ms: index === 0 ? 30 : 5, label };
        return session.call(name, args, { id: 7, progressToken: 7 });
      });
      const [slow, quick] = await Promise.all(both);
      expect([slow?.messages.at(-1)?.id, slow?.text]).toEqual([7, '{"steps":3,"label":"slow"}']);
      expect([quick?.messages.at(-1)?.id, quick?.text]).toEqual([7, '{"steps":3,"label":"quick"}']);
      expect(progressOf(slow?.messages ?? []).map((params) => params?.message)).toEqual([
        'slow',
        'slow',
        'slow',
      ]);
      expect(progressOf(quick?.messages ?? []).map((params) => params?.message)).toEqual([
        'quick',
        'quick',
        'quick',
      ]);
    }
  });

  it(`delivers each answer to its own call, for ${CLIENTS} clients × ${CALLS} calls with equal ids and tokens`, async () => {
    const gateway = await startGateway({
      servers: { echo: fault('echo', { isolation, pool: { in_flight: 1000, waiting: 1000 } }) },
    });
    const { url } = gateway;
    const sessions = await Promise.all(
      Array.from({ length: CLIENTS }, (_, index) =>
        RawSession.open(url, index % 2 === 0 ? '/mcp/echo' : '/mcp'),
      ),
    );
    await sessions[1]?.request('tools/list');
    const crossed: string[] = [];
    let progressed = 0;
    await Promise.all(
      sessions.map(async (session, client) => {
        const prefix = session.address.endsWith('/mcp') ? 'echo__' : '';
        // Ten concurrent calls, all with the same id and token as the calls of all other clients.
        for (let round = 0; round < CALLS / 10; round += 1) {
          await Promise.all(
            Array.from({ length: 10 }, async (_, number) => {
              const label = `${client}/${round}/${number}`;
              const args = { steps: number % 3, label };
              const answer = await session.call(`${prefix}count`, args, {
                id: round,
                progressToken: 'token',
              });
              const progress = progressOf(answer.messages);
              progressed += progress.length;
              const isOwn =
                answer.status === 200 &&
                answer.messages.at(-1)?.id === round &&
                answer.text === JSON.stringify({ steps: number % 3, label }) &&
                progress.length === number % 3 &&
                progress.every((params) => params?.message === label && params?.progressToken === 'token');
              if (!isOwn) crossed.push(`${label}: ${answer.status} ${answer.body.toString()}`);
            }),
          );
        }
      }),
    );
    expect(crossed).toEqual([]);
    expect(progressed).toBe(CLIENTS * (CALLS / 10) * 9);
    const { pids, in_flight, requests } = await details(url, 'echo');
    expect(pids).toHaveLength(isolation === 'shared' ? 1 : CLIENTS);
    expect(in_flight).toBe(0);
    expect(requests).toBeGreaterThanOrEqual(CLIENTS * CALLS);
  });

  it('cancels the newest of two calls with equal ids, under the id that the server knows', async () => {
    const { url } = await startGateway({ servers: { echo: fault('echo', { isolation }) } });
    const session = await RawSession.open(url, '/mcp/echo');
    const older = session.call('count', { steps: 1, every_ms: 400, label: 'older' }, { id: 'same' });
    await until('the older call', async () => (await details(url, 'echo')).in_flight === 1);
    const newer = session.call('hang', { label: 'newer' }, { id: 'same' });
    await until('both calls', async () => (await details(url, 'echo')).in_flight === 2);
    await session.notify('notifications/cancelled', { requestId: 'same', reason: 'enough' });
    const error = await newer;
    expect(error.messages).toEqual([]);
    expect((await older).text).toBe('{"steps":1,"label":"older"}');
    expect((await session.call('cancelled')).text).toBe('[{"label":"newer"}]');
    expect((await stats(url)).requests.in_flight).toBe(0);
  });
});

describe('a request of a shared server', () => {
  it.each(['sampling/createMessage', 'elicitation/create', 'roots/list'])(
    '%s reaches no client, during a call and after it, and is rejected with -32601',
    async (method) => {
      const { url } = await startGateway({ servers: { asker: fault('asker') } });
      const everything = { sampling: {}, elicitation: {}, roots: { listChanged: true } };
      const session = await RawSession.open(url, '/mcp/asker', everything);
      const other = await RawSession.open(url, '/mcp/asker', everything);
      const streams = [await session.listen(), await other.listen()];
      const during = await session.call('ask', { method }, { progressToken: 1 });
      expect(during.messages).toHaveLength(1);
      expect(JSON.parse(during.text).error.code).toBe(-32601);
      await session.call('ask_later', { method });
      const error = await until('the refusal', async () => {
        const [first] = JSON.parse((await other.call('heard')).text);
        return first;
      });
      expect(error.error.code).toBe(-32601);
      expect(streams.flatMap(({ messages }) => questionsOf(messages))).toEqual([]);
      for (const stream of streams) stream.stop();
    },
  );
});

describe('under session isolation', () => {
  it('a server request reaches only the session of its process, and the answer only this process', async () => {
    const { url } = await startGateway({ servers: { asker: fault('asker', { isolation: 'session' }) } });
    const ask = async (text: string, name: string, path: string) => {
      const session = await RawSession.open(url, path, { elicitation: {}, sampling: {} });
      if (path === '/mcp') await session.request('tools/list');
      const questions: Message[] = [];
      const answer = await session.call(
        name,
        { method: 'elicitation/create', word: text },
        {
          id: 1,
          onMessage: (message) => {
            if (message.method === undefined) return;
            questions.push(message);
            void session.reply(message.id, { action: 'accept', content: { word: `answer to ${text}` } });
          },
        },
      );
      return { asked: questions.map(({ params }) => params?.message), said: JSON.parse(answer.text).result };
    };
    const [left, right] = await Promise.all([
      ask('left', 'ask', '/mcp/asker'),
      ask('right', 'asker__ask', '/mcp'),
    ]);
    expect(left).toEqual({
      asked: ['left'],
      said: { action: 'accept', content: { word: 'answer to left' } },
    });
    expect(right).toEqual({
      asked: ['right'],
      said: { action: 'accept', content: { word: 'answer to right' } },
    });
  });

  it('a server request after the end of a call arrives on the stream of the session', async () => {
    const { url } = await startGateway({ servers: { asker: fault('asker', { isolation: 'session' }) } });
    const sessions = [
      await RawSession.open(url, '/mcp/asker', { sampling: {} }),
      await RawSession.open(url, '/mcp/asker', { sampling: {} }),
    ];
    const streams = await Promise.all(sessions.map((session) => session.listen()));
    const method = 'sampling/createMessage';
    await Promise.all(
      sessions.map((session, index) => session.call('ask_later', { method, word: `for ${index}` })),
    );
    for (const [index, stream] of streams.entries()) {
      const question = await until('the question', () => questionsOf(stream.messages)[0]);
      expect(JSON.stringify(question.params)).toContain(`for ${index}`);
      await sessions[index]?.reply(question.id, { model: `model ${index}` });
      const answers = await until('the answer', async () =>
        JSON.parse((await sessions[index]?.call('heard'))?.text ?? '[]').at(0),
      );
      expect(answers).toEqual({ result: { model: `model ${index}` } });
      expect(questionsOf(stream.messages)).toEqual([question]);
      stream.stop();
    }
  });

  it('a server request is rejected for a disconnected client or a stateless call', async () => {
    const { url } = await startGateway({ servers: { asker: fault('asker', { isolation: 'session' }) } });
    const session = await RawSession.open(url, '/mcp/asker', { sampling: {} });
    const error = await until('the refusal', async () => {
      // Repeated, because a question during the polling call uses the stream of that call.
      await session.call('ask_later', { method: 'sampling/createMessage' });
      return JSON.parse((await session.call('heard')).text).at(0);
    });
    expect(error.error.message).toContain('no open stream');
    const stateless = await callOnce(url, 'asker', 'ask', { method: 'sampling/createMessage' });
    expect(JSON.parse(stateless.text).error.code).toBe(-32601);
  });

  it('a crash of a server process affects only its own session', async () => {
    const { url } = await startGateway({ servers: { echo: fault('echo', { isolation: 'session' }) } });
    const bad = await RawSession.open(url, '/mcp/echo');
    const good = await RawSession.open(url, '/mcp/echo');
    const [pid, goodPid] = [(await bad.call('pid')).text, (await good.call('pid')).text];
    expect(pid).not.toBe(goodPid);
    const longCall = good.call('wait', { ms: 300 });
    const crashed = await bad.call('crash');
    expect(crashed.status).toBe(200);
    expect(crashed.error?.message).toMatch(/exited with code 3/);
    expect((await bad.call('pid')).text).not.toBe(pid);
    expect((await longCall).text).toBe('waited 300');
    expect((await good.call('pid')).text).toBe(goodPid);
    expect(await details(url, 'echo')).toMatchObject({ state: 'running', restarts: 0 });
  });
});
