// One text of many servers' instructions: in order, under their ids, and never too long.

import { expect, test } from 'vitest';
import {
  MAX_EACH,
  MAX_TEXT,
  mergedInstructions,
} from '../../../../../../actors/mcp/clients/aggregate/merged-instructions.ts';
import { ListedServer } from '../../../../../fixtures/server/listed-server.ts';

function saying(id: string, instructions?: string) {
  const server = new ListedServer(id, {});
  Object.assign(server.cache.description ?? {}, { instructions });
  return server.asManaged;
}

const headings = (text = '') => [...text.matchAll(/^# (.*)$/gm)].map(([, id]) => id);

test('each server’s instructions stand under its id, in the order of the servers', () => {
  const text = mergedInstructions([
    saying('b', '  Be brief.\n'),
    saying('none'),
    saying('a', 'Mind the gap.\n\nTwice.'),
    saying('empty', ' '),
    new ListedServer('unknown').asManaged,
  ]);
  expect(headings(text)).toEqual(['b', 'a']);
  expect(text).toMatch(/# b\n\nBe brief\.\n\n# a\n\nMind the gap\.\n\nTwice\.$/);
  expect(text).toContain('begin with its id and `__`');
});

test('half of a surrogate pair, for which strict clients reject the session, is replaced', () => {
  expect(mergedInstructions([saying('a', 'Be \ud83d brief.')])).toMatch(/Be \ufffd brief\.$/);
});

test('without any there is no text', () => {
  expect(mergedInstructions([])).toBeUndefined();
  expect(mergedInstructions([saying('a'), saying('b', '\n')])).toBeUndefined();
});

test('a long one is cut, never inside a character, and of too many the last are left out (I1)', () => {
  const cut = mergedInstructions([saying('a', `${'x'.repeat(MAX_EACH - 2)}🎭 and more`)]) ?? '';
  expect(cut).toMatch(/x…$/);
  expect(Buffer.from(cut).toString()).toBe(cut);
  const whole = 'y'.repeat(MAX_EACH);
  const fitting = MAX_TEXT / MAX_EACH;
  const text =
    mergedInstructions(Array.from({ length: fitting + 3 }, (_, n) => saying(`s${n}`, whole))) ?? '';
  expect(headings(text)).toHaveLength(fitting);
  expect(text).toMatch(/those of 3 more\.$/);
  expect(text.match(/y/g)?.length ?? 0).toBeLessThan(MAX_TEXT + 100);
});
