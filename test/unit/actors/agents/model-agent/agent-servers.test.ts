// Which servers agents have at the same time; what such a server does is tested with real ones beside this.

import { describe, expect, test } from 'vitest';
import { entryOf, ownedServers, serverOf } from '../../../../fixtures/agents/owned-servers.ts';

describe('of all agents there are only so many servers (HID3)', () => {
  test('and one that no run uses makes room, the longest unused first', () => {
    const { owned, there } = ownedServers(4);
    owned.want(['a', 'b', 'c'].map((name) => ({ name, servers: [serverOf('s', 'x')] })));
    const [first, second, third] = ['a', 'b', 'c'].map((agent) => owned.lease(agent, 's', entryOf('x')));
    owned.lease('d', 's', entryOf('x'));
    second?.release();
    first?.release();
    third?.release();
    expect(there()).toEqual(['a/s', 'b/s', 'c/s', 'd/s']);
    owned.lease('e', 's', entryOf('x'));
    expect(there()).toEqual(['a/s', 'c/s', 'd/s', 'e/s']);
  });

  test('beyond which a run is refused, and told so, until another has ended', () => {
    const { owned } = ownedServers(2);
    const first = owned.lease('a', 's', entryOf('x'));
    owned.lease('b', 's', entryOf('x'));
    const another = () => owned.lease('c', 's', entryOf('x'));
    expect(another).toThrow('there are at most 2');
    expect(another).toThrow(expect.objectContaining({ code: 'ERR_OVERLOADED', isUnsent: true }));
    first.release();
    first.release();
    another();
  });

  test('of which no agent has all (A6)', () => {
    const { owned } = ownedServers(8);
    for (let at = 0; at < 4; at += 1) owned.lease('greedy', `s${at}`, entryOf('x'));
    const another = () => owned.lease('greedy', 's4', entryOf('x'));
    expect(another).toThrow('agent greedy has 4 of them, and the 4 that are free are for others');
    owned.lease('other', 's', entryOf('x'));
  });
});

test('nobody is given a server of a gateway that stops', async () => {
  const { owned, there } = ownedServers(8);
  const lease = owned.lease('a', 's', entryOf('x'));
  owned.close();
  await expect(lease.server()).rejects.toMatchObject({ code: 'ERR_STOPPED', isUnsent: true });
  lease.release();
  expect(there()).toEqual(['a/s']);
  expect(() => owned.lease('a', 's', entryOf('x'))).toThrow('the gateway is stopping');
});
