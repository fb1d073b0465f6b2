// Clients that have no session and never answer a question do not block the server for other clients.

import { expect, test } from 'vitest';
import { allClientCapabilities, modern, toolCall } from '../../fixtures/clients/modern-client.ts';
import { callOnce, details, until } from '../../fixtures/clients/raw-session.ts';
import { startGateway } from '../../fixtures/gateway/gateway-process.ts';
import { fault } from '../../fixtures/server/fault-servers.ts';

test('at pool.max, a new client gets the process of the oldest unanswered elicitation, whose late answer gets an error', async () => {
  const servers = { puppet: fault('puppet', { isolation: 'session', pool: { max: 2 } }) };
  const gateway = await startGateway({ servers });
  const steps = [{ ask: 'elicitation/create', params: { message: 'Name?', requestedSchema: {} } }];
  const ask = (more: object = {}) => {
    const { params, ...asked } = toolCall('do', { steps }, { meta: allClientCapabilities });
    return modern(`${gateway.url}/mcp/puppet`, { ...asked, params: { ...params, ...more } });
  };
  const states: string[] = [];
  // More clients than processes. All receive a question, although no client answers.
  for (let n = 0; n < 4; n += 1) {
    const { result } = await ask();
    expect(result.resultType).toBe('input_required');
    states.push(result.requestState);
  }
  expect((await callOnce(gateway.url, 'puppet', 'pid')).status).toBe(200);

  const late = await ask({ requestState: states[0], inputResponses: {} });
  expect(late.status).toBe(200);
  expect(late.error?.message).toMatch(/ended for another; send the request again, or raise pool\.max/);
  const inputResponses = { 'input-1': { action: 'accept', content: { name: 'ann' } } };
  const { result } = await ask({ requestState: states[3], inputResponses });
  expect(result).toMatchObject({ resultType: 'complete' });
  await until(
    'the end of the released calls',
    async () => (await details(gateway.url, 'puppet')).pids.length <= 2,
  );
  expect((await details(gateway.url, 'puppet')).in_flight).toBe(0);
});
