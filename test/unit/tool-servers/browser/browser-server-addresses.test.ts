// Addresses to which pages may or may not connect.

import { networkInterfaces } from 'node:os';
import { describe, expect, test } from 'vitest';
import { refusalOf } from '../../../../libs/rest/address-check.ts';
import { isBlockedPort } from '../../../../libs/rest/blocked-ports.ts';
import { destinationOf, RefusedError } from '../../../../libs/rest/destination.ts';

describe('the address check', () => {
  test.each([
    ['93.184.215.14'],
    ['1.1.1.1'],
    ['2606:4700:4700::1111'],
    ['::ffff:93.184.215.14'],
    ['64:ff9b::5db8:d70e'],
  ])('accepts the public address %s', (address) => {
    expect(refusalOf(address)).toBeUndefined();
  });

  test.each([
    ['127.0.0.1', 'loopback'],
    ['127.255.255.254', 'loopback'],
    ['0.0.0.0', 'unspecified'],
    ['10.1.2.3', 'private'],
    ['172.16.0.1', 'private'],
    ['172.31.255.255', 'private'],
    ['192.168.0.1', 'private'],
    ['169.254.169.254', 'link-local'],
    ['168.63.129.16', 'metadata'],
    ['100.64.0.1', 'carrier-grade'],
    ['100.100.100.200', 'carrier-grade'],
    ['192.0.0.192', 'reserved'],
    ['192.0.2.1', 'reserved'],
    ['198.18.0.1', 'reserved'],
    ['224.0.0.251', 'multicast'],
    ['240.0.0.1', 'reserved'],
    ['255.255.255.255', 'broadcast'],
    ['::1', 'loopback'],
    ['::', 'unspecified'],
    ['fe80::1', 'link-local'],
    ['fe80::1%eth0', ''],
    ['fc00::1', 'private'],
    ['fd00:ec2::254', 'private'],
    ['ff02::fb', 'multicast'],
    ['fec0::1', 'reserved'],
    ['2001:db8::1', 'reserved'],
    ['::ffff:127.0.0.1', 'loopback'],
    ['::ffff:a9fe:a9fe', 'link-local'],
    ['::127.0.0.1', 'loopback'],
    ['64:ff9b::7f00:1', 'loopback'],
    ['64:ff9b::a9fe:a9fe', 'link-local'],
    ['64:ff9b:1::a00:1', 'private'],
    ['2002:7f00:1::', 'reserved'],
    ['2001:0:53aa:64c::1', 'reserved'],
    ['4000::1', 'reserved'],
    ['localhost', 'no IP'],
    ['', 'no IP'],
  ])('refuses %s', (address, reason) => {
    expect(refusalOf(address)).toContain(reason);
  });

  test('refuses every address of this machine', () => {
    const own = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
    expect(own.length).toBeGreaterThan(0);
    for (const { address } of own) expect(refusalOf(address), address).toBeDefined();
  });
});

describe('the port check', () => {
  test('blocks the ports that browsers block, and no web ports', () => {
    for (const port of [0, 22, 25, 53, 6000, 6667, 10080]) expect(isBlockedPort(port), `${port}`).toBe(true);
    for (const port of [80, 443, 8080, 3000, 65535]) expect(isBlockedPort(port), `${port}`).toBe(false);
  });
});

describe('a destination', () => {
  const resolveTo =
    (...addresses: string[]) =>
    async () =>
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));

  test('returns the checked addresses to the connection, without a second lookup', async () => {
    const destination = await destinationOf(
      'name.test',
      80,
      refusalOf,
      resolveTo('1.1.1.1', '2606:4700:4700::1111'),
    );
    const answers: unknown[] = [];
    destination.lookup('other.test', { all: true }, (...answer) => answers.push(answer));
    destination.lookup('other.test', {}, (...answer) => answers.push(answer));
    expect(answers).toEqual([
      [
        null,
        [
          { address: '1.1.1.1', family: 4 },
          { address: '2606:4700:4700::1111', family: 6 },
        ],
      ],
      [null, '1.1.1.1', 4],
    ]);
  });

  test('is refused if only one of several addresses is forbidden', async () => {
    const destination = destinationOf('mixed.test', 80, refusalOf, resolveTo('1.1.1.1', '127.0.0.1'));
    await expect(destination).rejects.toThrow(
      new RefusedError('mixed.test is 127.0.0.1, a loopback address'),
    );
  });

  test('without an address is an error, and a blocked port is refused before the lookup', async () => {
    await expect(destinationOf('none.test', 80, refusalOf, resolveTo())).rejects.toThrow('no address');
    const never = () => expect.unreachable();
    await expect(destinationOf('none.test', 25, refusalOf, never)).rejects.toThrow('port 25');
    await expect(destinationOf('none.invalid', 80, refusalOf, never)).rejects.toThrow('no address');
  });
});
