import { describe, expect, it } from 'vitest';
import { RunJournal } from '../../../../../actors/agents/model-agent/run-journal.ts';
import type { Effects } from '../../../../../actors/events/inbox/work.ts';
import type { JournalRow } from '../../../../../machines/agent-run/journal.ts';

const row = (id: string): JournalRow => ({ kind: 'called', id });

function opened(state?: string) {
  const kept: { readonly state: string | null | undefined; readonly effects: Effects | undefined }[] = [];
  const journal = RunJournal.open('oncall', {
    state,
    steps: async () => [JSON.stringify(row('before'))],
    checkpoint: async (next, effects) => {
      await new Promise((resolve) => setTimeout(resolve, 5));
      kept.push({ state: next, effects });
    },
  });
  const ids = () =>
    kept.map(({ effects }) => (effects?.steps ?? []).map((text) => (JSON.parse(text) as { id: string }).id));
  return { journal, kept, ids };
}

describe('the journal of a run', () => {
  it('writes each row once, in order, however many ask for it at a time (JL1)', async () => {
    const { journal, ids } = opened();
    const rows = await journal;
    rows.add(row('a'));
    const first = rows.flush();
    rows.add(row('b'), row('c'));
    await Promise.all([first, rows.flush(), rows.flush()]);
    rows.add(row('d'));
    expect(rows.take().steps).toEqual([JSON.stringify(row('d'))]);
    await rows.flush();
    expect(ids().flat()).toEqual(['a', 'b', 'c']);
    expect(rows.rows).toHaveLength(5);
  });

  it('writes nothing after a row that could not be written: there would be a gap (JL1)', async () => {
    const kept: (readonly string[])[] = [];
    let isFull = true;
    const journal = await RunJournal.open('oncall', {
      state: undefined,
      steps: async () => [],
      checkpoint: async (_, effects) => {
        if (isFull) throw new Error('the disk is full');
        kept.push(effects?.steps ?? []);
      },
    });
    journal.add(row('a'));
    const first = journal.flush();
    journal.add(row('b'));
    await expect(first).rejects.toThrow('the disk is full');
    isFull = false;
    await expect(journal.flush()).rejects.toThrow('the disk is full');
    expect(kept).toEqual([]);
  });

  it('takes no row that the store would refuse, and says what it is of (JL3)', async () => {
    const { journal } = opened();
    const rows = await journal;
    const long = { kind: 'result', id: 'c', text: 'x'.repeat(1_000_000), isError: false } as const;
    expect(() => rows.add(row('a'), { ...long, how: 'called', tookMs: 1 })).toThrow(
      expect.objectContaining({ isFinal: true, message: expect.stringContaining('too large to be kept') }),
    );
    expect(rows.rows).toEqual([row('before')]);
    expect(rows.take().steps).toEqual([]);
  });

  it('lets nothing more be begun when it is nearly full (JL3)', async () => {
    const { journal } = opened();
    const rows = await journal;
    rows.checkRoom();
    rows.add(...Array.from({ length: 8_000 }, (_, n) => row(`${n}`)));
    expect(() => rows.checkRoom()).toThrow(expect.objectContaining({ isFinal: true }));
    const large = await RunJournal.open('oncall', {
      state: undefined,
      steps: async () =>
        Array.from({ length: 23 }, () =>
          JSON.stringify({ kind: 'unfit', iteration: 1, reason: '€'.repeat(500_000) }),
        ),
      checkpoint: async () => {},
    });
    expect(() => large.checkRoom()).toThrow(/done too much in one run/);
  });

  it('counts what the attempts before it have worked (JL2)', async () => {
    const { journal, kept } = opened('{"worked_ms":60000}');
    const rows = await journal;
    rows.add(row('a'));
    await rows.flush();
    expect(JSON.parse(kept[0]?.state ?? '').worked_ms).toBeGreaterThanOrEqual(60_000);
    expect(JSON.parse(kept[0]?.effects?.run?.figures ?? '')).toMatchObject({ tool_calls: 2 });
    for (const state of [undefined, 'no JSON', '{}', '{"worked_ms":"1"}'])
      expect((await opened(state).journal).workedMs).toBeLessThan(1_000);
  });
});
