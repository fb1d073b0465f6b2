// One-time links to the inspector: a link works once before expiry, and the number of links is bounded.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ENTRY_SECONDS, EntryLinks } from '../../../src/inspector/entry-links.ts';

test('an entry link opens the inspector once', () => {
  const links = new EntryLinks(() => 0);
  const path = links.create();
  expect(EntryLinks.isLinkPath(path.split('?')[0] ?? '')).toBe(true);
  expect([links.use(path), links.use(path)]).toEqual([true, false]);
});

test('no path other than that of an entry link opens the inspector', () => {
  const links = new EntryLinks(() => 0);
  const path = links.create();
  for (const other of [
    '/inspector/enter',
    `${path}x`,
    path.slice(0, -1),
    path.toUpperCase(),
    '/inspector/enter?code=x',
    '/inspector/enter?code=',
  ])
    expect(links.use(other)).toBe(false);
  expect(links.use(path)).toBe(true);
});

test('links used in any order work once each, if they have not expired and are among the 32 newest', () => {
  const step = fc.oneof(
    fc.constant({ kind: 'create' } as const),
    fc.record({ kind: fc.constant('use' as const), index: fc.nat(60) }),
    fc.record({ kind: fc.constant('wait' as const), seconds: fc.nat(200) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
      let now = 0;
      const links = new EntryLinks(() => now);
      const createdLinks: { path: string; at: number }[] = [];
      const open: string[] = [];
      for (const each of steps) {
        if (each.kind === 'wait') now += each.seconds * 1000;
        else if (each.kind === 'create') {
          const path = links.create();
          createdLinks.push({ path, at: now });
          open.push(path);
          if (open.length > 32) open.shift();
        } else {
          const link = createdLinks[each.index];
          if (link === undefined) continue;
          const isOpen = open.includes(link.path) && now < link.at + ENTRY_SECONDS * 1000;
          expect(links.use(link.path)).toBe(isOpen);
          if (open.includes(link.path)) open.splice(open.indexOf(link.path), 1);
        }
      }
    }),
  );
});
