// IPv4 addresses in any notation are checked as themselves.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { refusalOf } from '../../../libs/rest/address-check.ts';

const byte = fc.integer({ min: 0, max: 255 });
const inner = fc.oneof(
  fc.tuple(fc.constant(10), byte, byte, byte),
  fc.tuple(fc.constant(127), byte, byte, byte),
  fc.tuple(fc.constant(169), fc.constant(254), byte, byte),
  fc.tuple(fc.constant(172), fc.integer({ min: 16, max: 31 }), byte, byte),
  fc.tuple(fc.constant(192), fc.constant(168), byte, byte),
  fc.tuple(fc.constant(100), fc.integer({ min: 64, max: 127 }), byte, byte),
  fc.tuple(fc.constant(0), byte, byte, byte),
  fc.tuple(fc.integer({ min: 224, max: 255 }), byte, byte, byte),
);
const hex = (high: number, low: number) => ((high << 8) | low).toString(16);

test('the browser server accepts no private address, plain or within an IPv6 address', () => {
  fc.assert(
    fc.property(inner, ([a, b, c, d]) => {
      const [high, low] = [hex(a, b), hex(c, d)];
      for (const address of [
        `${a}.${b}.${c}.${d}`,
        `::ffff:${a}.${b}.${c}.${d}`,
        `::ffff:${high}:${low}`,
        `::${high}:${low}`,
        `::ffff:0:${high}:${low}`,
        `64:ff9b::${high}:${low}`,
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
      fc.pre((first & 0xe000) !== 0x2000 && first !== 0 && first !== 0x64);
      expect(refusalOf(groups.map((group) => group.toString(16)).join(':'))).toBeDefined();
    }),
  );
});

test('mapped and translated IPv6 addresses are checked like the IPv4 address that they contain', () => {
  fc.assert(
    fc.property(byte, byte, byte, byte, (a, b, c, d) => {
      const plain = refusalOf(`${a}.${b}.${c}.${d}`);
      expect(refusalOf(`::ffff:${a}.${b}.${c}.${d}`)).toBe(plain);
      expect(refusalOf(`64:ff9b::${hex(a, b)}:${hex(c, d)}`)).toBe(plain);
    }),
  );
});
