// The check of the addresses that the browser server (a tool server for web pages) opens. A private IPv4
// address is refused in every notation, also inside an IPv6 address.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { refusalOf } from '../../../libs/rest/address-check.ts';

const byte = fc.integer({ min: 0, max: 255 });
/** Private, loopback, link-local and reserved IPv4 addresses. */
const privateAddress = fc.oneof(
  fc.tuple(fc.constant(10), byte, byte, byte),
  fc.tuple(fc.constant(127), byte, byte, byte),
  fc.tuple(fc.constant(169), fc.constant(254), byte, byte),
  fc.tuple(fc.constant(172), fc.integer({ min: 16, max: 31 }), byte, byte),
  fc.tuple(fc.constant(192), fc.constant(168), byte, byte),
  fc.tuple(fc.constant(100), fc.integer({ min: 64, max: 127 }), byte, byte),
  fc.tuple(fc.constant(0), byte, byte, byte),
  fc.tuple(fc.integer({ min: 224, max: 255 }), byte, byte, byte),
);
/** Returns two bytes as a group of an IPv6 address. */
const hex = (high: number, low: number) => (high * 256 + low).toString(16);

test('the browser server accepts no private IPv4 address, either plain or embedded in an IPv6 address', () => {
  fc.assert(
    fc.property(privateAddress, ([a, b, c, d]) => {
      const [high, low] = [hex(a, b), hex(c, d)];
      for (const address of [
        `${a}.${b}.${c}.${d}`,
        // Mapped.
        `::ffff:${a}.${b}.${c}.${d}`,
        `::ffff:${high}:${low}`,
        // Compatible, translated, and NAT64.
        `::${high}:${low}`,
        `::ffff:0:${high}:${low}`,
        `64:ff9b::${high}:${low}`,
        // Tunnels: 6to4 and Teredo.
        `2002:${high}:${low}::1`,
        `2001:0:${high}:${low}::1`,
      ])
        expect(refusalOf(address), address).toBeDefined();
    }),
  );
});

test('an IPv6 address outside 2000::/3 is refused unless it contains a public IPv4 address', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 0xffff }), { minLength: 8, maxLength: 8 }), (groups) => {
      const [first = 0] = groups;
      // Excludes 2000::/3, and the prefixes of addresses that contain an IPv4 address.
      const isIn2000 = (first & 0xe000) === 0x2000;
      fc.pre(!isIn2000 && first !== 0 && first !== 0x64);
      expect(refusalOf(groups.map((group) => group.toString(16)).join(':'))).toBeDefined();
    }),
  );
});

test('mapped and translated IPv6 addresses are checked like the IPv4 address that they contain', () => {
  fc.assert(
    fc.property(byte, byte, byte, byte, (a, b, c, d) => {
      const expected = refusalOf(`${a}.${b}.${c}.${d}`);
      expect(refusalOf(`::ffff:${a}.${b}.${c}.${d}`)).toBe(expected);
      expect(refusalOf(`64:ff9b::${hex(a, b)}:${hex(c, d)}`)).toBe(expected);
    }),
  );
});
