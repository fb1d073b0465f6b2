// Clients without a session that are asked something and do not come back: they keep nobody from the server.

import { expect, test } from 'vitest';
import { canBeAsked, modern, toolCall } from '../../fixtures/clients/modern-client.ts';
import { callOnce, details, until } from '../../fixtures/clients/raw-session.ts';
import { startGateway } from '../../fixtures/gateway/gateway-process.ts';
import { fault } from '../../fixtures/server/fault-servers.ts';

test('the oldest question gives its process to who comes, and its client is told when it comes back', async () => {
  const servers = { puppet: fault('puppet', { isolation: 'session', pool: { max: 2 } }) };
  const gateway = await startGateway({ servers });
  const steps = [{ ask: 'elicitation/create', params: { message: 'Name?', requestedSchema: {} } }];
  const ask = (more: object = {}) => {
    const { params, ...asked } = toolCall('do', { steps }, { meta: canBeAsked });
    return modern(`${gateway.url}/mcp/puppet`, { ...asked, params: { ...params, ...more } });
  };
  const states: string[] = [];
  // More than it has processes: each is asked, although nobody has answered.
  for (let n = 0; n < 4; n += 1) {
    const { result } = await ask();
    expect(result.resultType).toBe('input_required');
    states.push(result.requestState);
  }
  expect((await callOnce(gateway.url, 'puppet', 'pid')).status).toBe(200);

  const late = await ask({ requestState: states[0], inputResponses: {} });
  expect(late.status).toBe(200);
  expect(late.error?.message).toMatch(/gave way to another; send the request anew, or raise pool\.max/);
  const inputResponses = { 'input-1': { action: 'accept', content: { name: 'ann' } } };
  const { result } = await ask({ requestState: states[3], inputResponses });
  expect(result).toMatchObject({ resultType: 'complete' });
  await until(
    'the end of those that gave way',
    async () => (await details(gateway.url, 'puppet')).pids.length <= 2,
  );
  expect((await details(gateway.url, 'puppet')).in_flight).toBe(0);
});
