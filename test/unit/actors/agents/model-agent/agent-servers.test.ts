// Limit of concurrent agent servers. agent-tool-boxes.test.ts tests real servers.
// Invariant A6 is in ARCHITECTURE.md.

import { describe, expect, test } from 'vitest';
import { entryOf, ownedServers, serverOf } from '../../../../fixtures/agents/owned-servers.ts';

describe('the limit on agent servers', () => {
  test('is kept by closing the longest unused server', () => {
    const { owned, serverIds } = ownedServers(4);
    owned.setLoaded(['a', 'b', 'c'].map((name) => ({ name, servers: [serverOf('s', 'x')] })));
    const [first, second, third] = ['a', 'b', 'c'].map((agent) => owned.lease(agent, 's', entryOf('x')));
    owned.lease('d', 's', entryOf('x'));
    second?.release();
    first?.release();
    third?.release();
    expect(serverIds()).toEqual(['a/s', 'b/s', 'c/s', 'd/s']);
    owned.lease('e', 's', entryOf('x'));
    expect(serverIds()).toEqual(['a/s', 'c/s', 'd/s', 'e/s']);
  });

  test('refuses a run until another run releases its server', () => {
    const { owned } = ownedServers(2);
    const first = owned.lease('a', 's', entryOf('x'));
    owned.lease('b', 's', entryOf('x'));
    const another = () => owned.lease('c', 's', entryOf('x'));
    expect(another).toThrow('limit 2');
    expect(another).toThrow(expect.objectContaining({ code: 'ERR_OVERLOADED', isUnsent: true }));
    first.release();
    first.release();
    another();
  });

  test('reserves servers for other agents, so that no agent can use all (A6)', () => {
    const { owned } = ownedServers(8);
    for (let at = 0; at < 4; at += 1) owned.lease('greedy', `s${at}`, entryOf('x'));
    const another = () => owned.lease('greedy', 's4', entryOf('x'));
    expect(another).toThrow('agent greedy uses 4, and the 4 free ones are reserved for other agents');
    owned.lease('other', 's', entryOf('x'));
  });
});

test('the limit on agent servers refuses leases while the gateway stops', async () => {
  const { owned, serverIds } = ownedServers(8);
  const lease = owned.lease('a', 's', entryOf('x'));
  owned.close();
  await expect(lease.server()).rejects.toMatchObject({ code: 'ERR_STOPPED', isUnsent: true });
  lease.release();
  expect(serverIds()).toEqual(['a/s']);
  expect(() => owned.lease('a', 's', entryOf('x'))).toThrow('the gateway is stopping');
});
