// Resources that servers named for a client: lookup, limits, and the budget of all clients.

import { expect, test } from 'vitest';
import { Budget } from '../../../../../../actors/base/bounds/budget.ts';
import { NamedResources } from '../../../../../../actors/mcp/clients/aggregate/named-resources.ts';

test('an unlisted resource belongs to the server that named it, or that named the SKILL.md of a parent folder', () => {
  const named = new NamedResources(new Budget(100_000));
  named.add('made://7', 'one');
  named.add('skill://acme/refunds/SKILL.md', 'two');
  expect(named.find('made://7')).toBe('one');
  expect(named.find('skill://acme/refunds/examples/a.md')).toBe('two');
  expect(named.find('skill://acme/refunds')).toBe('two');
  for (const uri of ['made://8', 'skill://acme', 'skill://acme/other/a.md', ''])
    expect(named.find(uri)).toBeUndefined();
});

test('a client keeps 1000 resources that servers named for it; the oldest are forgotten, and their memory returns to the budget', () => {
  const budget = new Budget(10_000_000);
  const named = new NamedResources(budget);
  for (let at = 0; at < 1_500; at += 1) named.add(`made://${at}`, 'one');
  named.add('made://700', 'two');
  expect([named.size, named.find('made://499'), named.find('made://500')]).toEqual([1000, undefined, 'one']);
  expect(named.find('made://700')).toBe('two');
  named.add('x'.repeat(10_000), 'one');
  expect(named.size).toBe(1000);
  named.close();
  named.add('made://1', 'one');
  expect([named.size, budget.used]).toEqual([0, 0]);
});

test('a client with many unlisted resources cannot use up the memory of all clients', () => {
  const budget = new Budget(20_000);
  const [greedy, modest] = [new NamedResources(budget), new NamedResources(budget)];
  for (let at = 0; at < 1_000; at += 1) greedy.add(`made://${at}`, 'one');
  expect(budget.used).toBeLessThan(10_500);
  expect(greedy.find('made://999')).toBe('one');
  modest.add('made://1', 'two');
  expect(modest.find('made://1')).toBe('two');
});
