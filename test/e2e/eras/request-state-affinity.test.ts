// A stateless server with several processes that encrypt states with different keys: a retry must reach the
// process that issued the state, for all clients and under load.

import { describe, expect, test } from 'vitest';
import { bothErasOverStdio } from '../../fixtures/both-eras/start.ts';
import { allClientCapabilities, modern, resultOf, toolCall } from '../../fixtures/clients/modern-client.ts';
import { details, json, until } from '../../fixtures/clients/raw-session.ts';
import { connectReal } from '../../fixtures/clients/real-clients.ts';
import { startGateway } from '../../fixtures/gateway/gateway-process.ts';

const accept = { action: 'accept', content: { name: 'Ann' } };

/** Answers all rounds of `ask-rounds`. Returns the final answer. */
async function rounds(url: string, name: string, noise: () => void): Promise<unknown> {
  const call = (params: Record<string, unknown> = {}) =>
    modern(url, toolCall(name, {}, { meta: allClientCapabilities, params }));
  let answer = await call();
  while (answer.result?.resultType === 'input_required') {
    noise();
    const { requestState, inputRequests } = answer.result;
    const inputResponses = Object.fromEntries(Object.keys(inputRequests).map((key) => [key, accept]));
    answer = await call({ requestState, inputResponses });
  }
  return resultOf(answer);
}

describe.each([2, 4])('with %i processes', (max) => {
  test('every retry with a request state reaches the server process that issued the state', async () => {
    const server = bothErasOverStdio({ isModernOnly: true });
    const gateway = await startGateway({ servers: { one: { ...server, era: 'modern', pool: { max } } } });
    const mcp = `${gateway.url}/mcp`;
    const noises: Promise<unknown>[] = [];
    const noise = () => {
      const args = { steps: 1, ms: 5 + (noises.length % 7) * 5 };
      noises.push(modern(`${mcp}/one`, toolCall('slow', args)));
    };
    await until('all processes', async () => {
      for (let n = 0; n < 2 * max; n += 1) noise();
      await Promise.all(noises);
      return (await details(gateway.url, 'one')).pids.length === max;
    });
    const flows = Array.from({ length: 24 }, (_, n) =>
      n % 2 === 0 ? rounds(mcp, 'one__ask-rounds', noise) : rounds(`${mcp}/one`, 'ask-rounds', noise),
    );
    for (const answer of await Promise.all(flows))
      expect(answer).toMatchObject({ answers: { q0: accept, q1: accept, q2: accept }, rounds: 4 });
    await Promise.all(noises);
    expect((await details(gateway.url, 'one')).pids).toHaveLength(max);
    // A legacy session is bound to a process. The gateway answers the rounds for it.
    const clients = await Promise.all(
      (['v1', 'v2 legacy', 'v2 modern'] as const).map((kind) => connectReal(kind, { url: mcp })),
    );
    const answers = await Promise.all(
      [...clients, ...clients].map(async (client) => {
        noise();
        return resultOf({ result: await client.call('one__ask-rounds'), error: undefined });
      }),
    );
    for (const answer of answers) expect(answer).toMatchObject({ rounds: 4 });
    await Promise.all(noises);
  });

  test('a request state of an exited server process is rejected by the server, and a new request succeeds', async () => {
    const server = bothErasOverStdio({ isModernOnly: true });
    const gateway = await startGateway({ servers: { one: { ...server, era: 'modern', pool: { max } } } });
    const url = `${gateway.url}/mcp/one`;
    const first = await modern(url, toolCall('ask-rounds', {}, { meta: allClientCapabilities }));
    await json(`${gateway.url}/servers/one/stop`, 'POST');
    const { requestState } = first.result;
    const params = { requestState, inputResponses: { q0: accept } };
    const retry = await modern(url, toolCall('ask-rounds', {}, { meta: allClientCapabilities, params }));
    expect(retry.error?.code).toBe(-32602);
    expect(await rounds(url, 'ask-rounds', () => {})).toMatchObject({ rounds: 4 });
  });
});

test('a server process that issued a request state does not stop for inactivity until the retry', async () => {
  const server = { ...bothErasOverStdio({ isModernOnly: true }), era: 'modern', idle_timeout_seconds: 0.6 };
  const servers = { one: server, own: { ...server, isolation: 'session' }, other: server };
  const gateway = await startGateway({ servers });
  const call = (id: string, name: string, params: Record<string, unknown> = {}) =>
    modern(`${gateway.url}/mcp/${id}`, toolCall(name, {}, { meta: allClientCapabilities, params }));
  const isStopped = async (id: string) => (await details(gateway.url, id)).pids.length === 0;
  const [one, own] = await Promise.all([call('one', 'ask-rounds'), call('own', 'ask-rounds')]);
  await call('other', 'echo');
  await until('the end of the process without a waiting client', () => isStopped('other'));
  // The same time passes again.
  await call('other', 'echo');
  await until('its second end', () => isStopped('other'));
  for (const [id, { result }] of [
    ['one', one],
    ['own', own],
  ] as const) {
    const { requestState } = result;
    const second = await call(id, 'ask-rounds', { requestState, inputResponses: { q0: accept } });
    expect(second.result?.resultType, id).toBe('input_required');
    const third = await call(id, 'ask-rounds', {
      requestState: second.result.requestState,
      inputResponses: { q1: accept },
    });
    const last = await call(id, 'ask-rounds', {
      requestState: third.result.requestState,
      inputResponses: { q2: accept },
    });
    expect(resultOf(last), id).toMatchObject({ rounds: 4 });
    await until(`the end of ${id}`, () => isStopped(id));
  }
});
