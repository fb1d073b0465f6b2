import { describe, expect, it } from 'vitest';
import { RunJournal } from '../../../../../actors/agents/model-agent/run-journal.ts';
import { parseStoredRow } from '../../../../../actors/agents/runs/stored-rows.ts';
import type { Effects } from '../../../../../actors/events/inbox/work.ts';
import type { JournalRow } from '../../../../../machines/agent-run/journal.ts';

const row = (id: string): JournalRow => ({ kind: 'called', id });

function openJournal(state?: string) {
  const commits: { readonly state: string | null | undefined; readonly effects: Effects | undefined }[] = [];
  const journal = RunJournal.open('oncall', {
    state,
    steps: async () => [parseStoredRow(JSON.stringify(row('before')))],
    checkpoint: async (next, effects) => {
      await new Promise((resolve) => setTimeout(resolve, 5));
      commits.push({ state: next, effects });
    },
  });
  const ids = () =>
    commits.map(({ effects }) =>
      (effects?.steps ?? []).map((text) => (JSON.parse(text) as { id: string }).id),
    );
  return { journal, commits, ids };
}

describe('the journal of a run', () => {
  it('writes each row once and in order, with concurrent flushes', async () => {
    const { journal, ids } = openJournal();
    const rows = await journal;
    rows.add(row('a'));
    const first = rows.flush();
    rows.add(row('b'), row('c'));
    await Promise.all([first, rows.flush(), rows.flush()]);
    rows.add(row('d'));
    expect(rows.takeUnwritten().steps).toEqual([JSON.stringify(row('d'))]);
    await rows.flush();
    expect(ids().flat()).toEqual(['a', 'b', 'c']);
    expect(rows.rows).toHaveLength(5);
  });

  it('writes nothing after a failed write, because there would be a gap', async () => {
    const commits: (readonly string[])[] = [];
    let isFull = true;
    const journal = await RunJournal.open('oncall', {
      state: undefined,
      steps: async () => [],
      checkpoint: async (_, effects) => {
        if (isFull) throw new Error('the disk is full');
        commits.push(effects?.steps ?? []);
      },
    });
    journal.add(row('a'));
    const first = journal.flush();
    journal.add(row('b'));
    await expect(first).rejects.toThrow('the disk is full');
    isFull = false;
    await expect(journal.flush()).rejects.toThrow('the disk is full');
    expect(commits).toEqual([]);
  });

  it('refuses a row that the store would refuse, and names the row', async () => {
    const { journal } = openJournal();
    const rows = await journal;
    const long = { kind: 'result', id: 'c', text: 'x'.repeat(1_000_000), isError: false } as const;
    expect(() => rows.add(row('a'), { ...long, how: 'called', tookMs: 1 })).toThrow(
      expect.objectContaining({ isFinal: true, message: expect.stringContaining('is too large') }),
    );
    expect(rows.rows).toEqual([row('before')]);
    expect(rows.takeUnwritten().steps).toEqual([]);
  });

  it('accepts no new work when it is nearly full', async () => {
    const { journal } = openJournal();
    const rows = await journal;
    rows.checkCapacity();
    rows.add(...Array.from({ length: 8_000 }, (_, n) => row(`${n}`)));
    expect(() => rows.checkCapacity()).toThrow(expect.objectContaining({ isFinal: true }));
    const large = await RunJournal.open('oncall', {
      state: undefined,
      steps: async () =>
        Array.from({ length: 23 }, () =>
          parseStoredRow(JSON.stringify({ kind: 'unfit', iteration: 1, reason: '€'.repeat(500_000) })),
        ),
      checkpoint: async () => {},
    });
    expect(() => large.checkCapacity()).toThrow(/the journal of agent \S+ is full/);
  });

  it('adds the working time of earlier attempts', async () => {
    const { journal, commits } = openJournal('{"worked_ms":60000}');
    const rows = await journal;
    rows.add(row('a'));
    await rows.flush();
    expect(JSON.parse(commits[0]?.state ?? '').worked_ms).toBeGreaterThanOrEqual(60_000);
    expect(JSON.parse(commits[0]?.effects?.run?.figures ?? '')).toMatchObject({ tool_calls: 2 });
    for (const state of [undefined, 'no JSON', '{}', '{"worked_ms":"1"}'])
      expect((await openJournal(state).journal).workedMs).toBeLessThan(1_000);
  });
});
