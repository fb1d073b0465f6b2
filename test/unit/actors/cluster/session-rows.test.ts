import { expect, test } from 'vitest';
import { SessionRows } from '../../../../actors/cluster/session-rows.ts';

function rowsWith(value: string) {
  const puts: string[] = [];
  const rows = new SessionRows({
    store: {
      get: async () => ({ value, version: 1 }),
      put: async (_space, _key, text) => {
        puts.push(text);
        return true;
      },
      delete: async () => {},
    },
    instance: 'own',
    memberOf: () => undefined,
  });
  return { rows, puts };
}

test('a damaged session row is returned unchanged, and is not overwritten', async () => {
  for (const text of ['', 'null', '[]', '{"node":', '{"node":1,"text":"{}"}', '{"node":"own"}']) {
    const { rows, puts } = rowsWith(text);
    expect(await rows.find('key')).toBe(text);
    await rows.put('key', '{}', false);
    expect(puts).toEqual([]);
  }
});

test('a node takes over the session row of a lost node, with the record in the row', async () => {
  const { rows, puts } = rowsWith('{"node":"lost","text":"{}"}');
  expect(await rows.find('key')).toBe('{}');
  expect(puts).toEqual(['{"node":"own","text":"{}"}']);
});
