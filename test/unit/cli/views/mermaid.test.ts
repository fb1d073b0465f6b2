// Diagrams of state machines are complete and valid Mermaid, checked with the part of the grammar that they
// use. An example shows the format.

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

test('a machine becomes a diagram with its nested states, events, guards and final states', () => {
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

test('a machine that cannot be drawn is an error', () => {
  const machine = createMachine({ on: { leave: '.gone' }, initial: 'here', states: { here: {}, gone: {} } });
  expect(() => mermaid(machine)).toThrow('leave');
});

/** One expression per kind of line in the part of the Mermaid grammar that the diagrams use. */
const lineForms = [
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
  const statements = lines.map((line) => {
    const match = lineForms.map((rule) => rule.exec(line.trim())).find((result) => result !== null);
    return { line, groups: match?.groups ?? {}, isKnown: match !== undefined };
  });

  test('has only lines of the Mermaid grammar, with balanced braces', () => {
    expect(head).toBe('stateDiagram-v2');
    expect(statements.filter(({ isKnown }) => !isKnown)).toEqual([]);
    let depth = 0;
    for (const { line } of statements) {
      if (line.endsWith('{')) depth += 1;
      if (line.trim() === '}') depth -= 1;
      expect(depth).toBeGreaterThanOrEqual(0);
    }
    expect(depth).toBe(0);
  });

  test('declares every state once, before its use', () => {
    const declared = new Set<string>();
    for (const { groups } of statements) {
      const name = groups.declared ?? groups.opened;
      if (name !== undefined) {
        expect(declared).not.toContain(name);
        declared.add(name);
      }
    }
    for (const { groups } of statements)
      for (const id of [groups.from, groups.to, groups.within])
        if (id !== undefined) expect(declared).toContain(id);
    expect(declared.size).toBe(statesOf(machine.root).length);
  });

  test('has no arrow between substates of two states, which Mermaid cannot draw', () => {
    for (const { groups } of statements)
      if (groups.from?.includes('_') && groups.to?.includes('_'))
        expect(groups.from.split('_')[0]).toBe(groups.to.split('_')[0]);
  });

  test('contains every named event and guard of the machine', () => {
    const labels = statements.map(({ groups }) => groups.label ?? '').join('\n');
    const events = machine.events.filter((event) => event !== '' && !event.startsWith('xstate.'));
    expect(events.length).toBeGreaterThan(1);
    for (const event of events) expect(labels).toContain(event);
    for (const guard of Object.keys(machine.implementations.guards ?? {}))
      expect(labels).toContain(`[${guard}]`);
    expect(labels).not.toContain('[guard]');
    expect(labels).not.toContain('xstate.');
  });

  test('is deterministic', () => {
    expect(mermaid(machine)).toBe(mermaid(machine));
  });
});

interface StateLike {
  readonly states: Readonly<Record<string, StateLike>>;
}

function statesOf(node: StateLike): StateLike[] {
  return Object.values(node.states).flatMap((child) => [child, ...statesOf(child)]);
}
