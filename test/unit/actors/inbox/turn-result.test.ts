import { expect, test } from 'vitest';
import { turnResult } from '../../../../actors/inbox/turn-result.ts';
import type { Outcome } from '../../../../actors/inbox/work.ts';
import { quickRetry } from '../../../fixtures/inbox.ts';

test('a note of any outcome has passed what takes secrets out of it (TR3)', () => {
  const event = {
    seq: 1,
    id: 'a',
    key: 'k',
    meta: '',
    body: new Uint8Array(),
    trace: '',
    at: 0,
    attempt: 1,
    crashes: 0,
  };
  const note = 'refused: Bearer hunter2';
  const outcomes: readonly Outcome[] = [
    { kind: 'done', note },
    { kind: 'ignored', note },
    { kind: 'failed', note, retry: quickRetry },
    { kind: 'failed', note, isFinal: true, retry: quickRetry },
  ];
  const notes = outcomes.map((outcome) => {
    const shown = (text: string) => text.replace('hunter2', '***');
    return turnResult({ key: 'k', fence: 1 }, event, outcome, 0, false, shown).note;
  });
  expect(notes).toEqual(outcomes.map(() => 'refused: Bearer ***'));
});
