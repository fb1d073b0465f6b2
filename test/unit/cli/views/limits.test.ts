// Limits in `stats` and `top`.

import { expect, test } from 'vitest';
import { limitEntries } from '../../../../src/cli/views/limits.ts';
import { plain } from '../../../../src/terminal/paint.ts';

test('limits that are used to a third or more are shown with their largest holders', () => {
  const holders = [{ name: 'http:orders\u001b[2J', used: 40 }];
  const limits = {
    'deliveries.max_waiting': { used: 48, max: 100, holders },
    'limits.model_calls': { used: 10, max: 100, holders },
    'limits.flow_nodes': { used: 0, max: 0, holders: [] },
  };
  const [entry, ...others] = limitEntries({ limits }, plain);
  expect(others).toEqual([]);
  expect(entry?.[0]).toBe('deliveries.max_waiting');
  expect(entry?.[1]).toMatch(/^48 of 100: http:orders.* 40$/);
  expect(entry?.[1]).not.toContain('\u001b');
  expect(limitEntries({}, plain)).toEqual([]);
});
