// The diagrams of the machines: that they are Mermaid, as far as its grammar is used here, and that they show all that
// the machines say. A golden example keeps the form.

import { describe, expect, test } from 'vitest';
import { createMachine } from 'xstate';
import { machineList } from '../../../../src/cli/commands/machines.ts';
import { mermaid } from '../../../../src/cli/views/mermaid.ts';

const example = createMachine({
  id: 'door',
  initial: 'shut',
  on: { 'fire; drill:': { actions: () => {} } },
  states: {
    shut: {
      initial: 'free',
      on: { open: 'ajar' },
      states: {
        free: { on: { lock: 'locked', knock: {} } },
        locked: { on: { unlock: [{ guard: 'hasKey', target: 'free' }, { target: '#door.gone' }] } },
      },
    },
    ajar: {
      on: { push: 'ajar', close: { target: 'shut', guard: 'isCalm' }, slam: 'shut' },
      after: { 1000: 'shut' },
    },
    gone: { type: 'final' },
  },
});

test('a machine becomes a diagram with its nested states, events, guards and ends', () => {
  expect(mermaid(example)).toBe(`stateDiagram-v2
  state shut {
    state "free" as shut_free
    shut_free: knock
    shut_free: fire drill
    state "locked" as shut_locked
    shut_locked: fire drill
    [*] --> shut_free
    shut_free --> shut_locked: lock
    shut_locked --> shut_free: unlock [hasKey]
  }
  state "ajar" as ajar
  ajar: fire drill
  state "gone" as gone
  [*] --> shut
  shut --> ajar: open
  shut_locked --> gone: unlock [else]
  ajar --> ajar: push
  ajar --> shut: close [isCalm], slam, after 1000
  gone --> [*]
`);
});

test('what cannot be drawn is not left out in silence', () => {
  const machine = createMachine({ on: { leave: '.gone' }, initial: 'here', states: { here: {}, gone: {} } });
  expect(() => mermaid(machine)).toThrow('leave');
});

const grammar = [
  /^state "\w+" as (?<declared>\w+)$/,
  /^state (?<opened>\w+) \{$/,
  /^\}$/,
  /^\[\*\] --> (?<to>\w+)$/,
  /^(?<from>\w+) --> \[\*\]$/,
  /^(?<from>\w+) --> (?<to>\w+)(: (?<label>[^:;#"\n]+))?$/,
  /^(?<within>\w+): (?<label>[^:;#"\n]+)$/,
];

describe.each(Object.entries(machineList))('the diagram of the machine %s', (_, machine) => {
  const [head, ...lines] = mermaid(machine).trimEnd().split('\n');
  const read = lines.map((line) => {
    const match = grammar.map((rule) => rule.exec(line.trim())).find((found) => found !== null);
    return { line, groups: match?.groups ?? {}, isKnown: match !== undefined };
  });

  test('has only lines that Mermaid knows, and braces that close (MM2)', () => {
    expect(head).toBe('stateDiagram-v2');
    expect(read.filter(({ isKnown }) => !isKnown)).toEqual([]);
    let depth = 0;
    for (const { line } of read) {
      if (line.endsWith('{')) depth += 1;
      if (line.trim() === '}') depth -= 1;
      expect(depth).toBeGreaterThanOrEqual(0);
    }
    expect(depth).toBe(0);
  });

  test('declares every state once and before it is used (MM3)', () => {
    const declared = new Set<string>();
    for (const { groups } of read) {
      const name = groups.declared ?? groups.opened;
      if (name !== undefined) {
        expect(declared).not.toContain(name);
        declared.add(name);
      }
    }
    for (const { groups } of read)
      for (const used of [groups.from, groups.to, groups.within])
        if (used !== undefined) expect(declared).toContain(used);
    expect(declared.size).toBe(statesOf(machine.root).length);
  });

  test('has no arrow between the insides of two states, which Mermaid cannot draw', () => {
    for (const { groups } of read)
      if (groups.from?.includes('_') && groups.to?.includes('_'))
        expect(groups.from.split('_')[0]).toBe(groups.to.split('_')[0]);
  });

  test('names every event and every guard of the machine, and none that has no name', () => {
    const labels = read.map(({ groups }) => groups.label ?? '').join('\n');
    const events = machine.events.filter((event) => event !== '' && !event.startsWith('xstate.'));
    expect(events.length).toBeGreaterThan(1);
    for (const event of events) expect(labels).toContain(event);
    for (const guard of Object.keys(machine.implementations.guards ?? {}))
      expect(labels).toContain(`[${guard}]`);
    expect(labels).not.toContain('[guard]');
    expect(labels).not.toContain('xstate.');
  });

  test('is the same each time (MM1)', () => {
    expect(mermaid(machine)).toBe(mermaid(machine));
  });
});

interface StateLike {
  readonly states: Readonly<Record<string, StateLike>>;
}

function statesOf(node: StateLike): StateLike[] {
  return Object.values(node.states).flatMap((child) => [child, ...statesOf(child)]);
}
