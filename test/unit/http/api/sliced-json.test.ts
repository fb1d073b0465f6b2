import fc from 'fast-check';
import { expect, test } from 'vitest';
import { lazyList, lazyRecord, SlicedJson } from '../../../../src/http/api/sliced-json.ts';

const textOf = async (body: object, isCancelled?: () => boolean) =>
  Buffer.concat(await new SlicedJson().write(body, isCancelled)).toString();

test('lazy and plain bodies have the bytes of JSON.stringify', async () => {
  const name = fc.oneof(fc.string(), fc.constantFrom('__proto__', '1', '"', '\ud800', 'toJSON'));
  const value = fc.jsonValue({ maxDepth: 1 });
  const record = fc.dictionary(name, value, { maxKeys: 4, noNullPrototype: true });
  await fc.assert(
    fc.asyncProperty(fc.array(value, { maxLength: 4 }), record, record, async (list, members, others) => {
      const names = Object.keys(others);
      const lazy = {
        list: lazyList(list, (item) => item),
        members: lazyRecord(Object.entries(members), (member) => member),
        none: undefined,
        plainList: list,
        names: lazyList(names, (name) => name),
        others,
      };
      const plain = { list, members, none: undefined, plainList: list, names, others };
      expect(await textOf(lazy)).toBe(JSON.stringify(plain));
    }),
    { numRuns: 30 },
  );
  expect(await textOf({})).toBe('{}');
});

/** Records that take 2 ms each. */
const slowRecords = (count: number, isRead: (n: number) => void = () => {}) =>
  lazyList(Array.from({ length: count }).keys(), (n) => {
    for (const end = performance.now() + 2; performance.now() < end; );
    isRead(n);
    return { n };
  });

test('other work runs between the slices, and the slices of several bodies take turns', async () => {
  let turns = 0;
  let isOver = false;
  const count = () => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const json = new SlicedJson();
  const order: string[] = [];
  const bodies = ['a', 'b'].map((name) => json.write({ list: slowRecords(20, () => order.push(name)) }));
  const [first = []] = await Promise.all(bodies);
  isOver = true;
  expect(JSON.parse(Buffer.concat(first).toString()).list).toHaveLength(20);
  expect(turns).toBeGreaterThan(8);
  expect(order.indexOf('b')).toBeLessThan(order.lastIndexOf('a'));
});

test('the body of a disconnected client is not completed', async () => {
  let created = 0;
  let slices = 0;
  await textOf({ list: slowRecords(1_000, () => (created += 1)) }, () => ++slices > 2);
  expect(created).toBeLessThan(20);
});
