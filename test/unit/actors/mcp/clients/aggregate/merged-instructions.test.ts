// Merged server instructions: order, headings and length limits.

import { expect, test } from 'vitest';
import {
  MAX_EACH,
  MAX_TEXT,
  mergeInstructions,
} from '../../../../../../actors/mcp/clients/aggregate/merged-instructions.ts';
import { ListedServer } from '../../../../../fixtures/server/listed-server.ts';

function serverWith(id: string, instructions?: string) {
  const server = new ListedServer(id, {});
  Object.assign(server.cache.description ?? {}, { instructions });
  return server.asManaged;
}

const headings = (text = '') => [...text.matchAll(/^# (.*)$/gm)].map(([, id]) => id);

test('mergeInstructions puts the instructions of each server under its id, in catalog order', () => {
  const text = mergeInstructions([
    serverWith('b', '  Be brief.\n'),
    serverWith('none'),
    serverWith('a', 'Mind the gap.\n\nTwice.'),
    serverWith('empty', ' '),
    new ListedServer('unknown').asManaged,
  ]);
  expect(headings(text)).toEqual(['b', 'a']);
  expect(text).toMatch(/# b\n\nBe brief\.\n\n# a\n\nMind the gap\.\n\nTwice\.$/);
  expect(text).toContain('start with the id of their server and `__`');
});

test('mergeInstructions replaces half of a surrogate pair, for which strict clients reject the session', () => {
  expect(mergeInstructions([serverWith('a', 'Be \ud83d brief.')])).toMatch(/Be \ufffd brief\.$/);
});

test('mergeInstructions returns no text if no server has instructions', () => {
  expect(mergeInstructions([])).toBeUndefined();
  expect(mergeInstructions([serverWith('a'), serverWith('b', '\n')])).toBeUndefined();
});

test('mergeInstructions cuts a long text between characters, and omits the last servers if the total is too long', () => {
  const cut = mergeInstructions([serverWith('a', `${'x'.repeat(MAX_EACH - 2)}🎭 and more`)]) ?? '';
  expect(cut).toMatch(/x…$/);
  expect(Buffer.from(cut).toString()).toBe(cut);
  const whole = 'y'.repeat(MAX_EACH);
  const fitting = MAX_TEXT / MAX_EACH;
  const text =
    mergeInstructions(Array.from({ length: fitting + 3 }, (_, n) => serverWith(`s${n}`, whole))) ?? '';
  expect(headings(text)).toHaveLength(fitting);
  expect(text).toMatch(/the instructions of 3 more servers\.$/);
  expect(text.match(/y/g)?.length ?? 0).toBeLessThan(MAX_TEXT + 100);
});
