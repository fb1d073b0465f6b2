// Qualified addresses of resources, which contain the server id: reversible, with the scheme of the original.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  isForApps,
  pagesOf,
  qualify,
  readQualified,
  withPages,
} from '../../../../../../actors/mcp/clients/aggregate/address-form.ts';
import { runs } from '../../../../../fixtures/property-runs.ts';

test.each([
  ['ui://view.html', 'ui://two~/view.html'],
  ['skill://refunds/SKILL.md', 'skill://two~/refunds/SKILL.md'],
  ['file:///etc/a', 'file://two~//etc/a'],
  ['memo:insights', 'memo:two~/insights'],
  ['ui://one~/x', 'ui://two~/one~/x'],
  ['https://example.com/a', undefined],
  ['data:text/plain,a', undefined],
  ['no scheme', undefined],
  ['', undefined],
])('the resource address %s of server two is qualified as %s', (uri, expected) => {
  expect(qualify('two', uri)).toBe(expected);
});

test('a qualified address contains the server and the original address', () => {
  const id = fc.stringMatching(/^[A-Za-z0-9._-]{1,64}$/);
  const uri = fc
    .tuple(fc.constantFrom('ui://', 'file:///', 'memo:', 'a+b://'), fc.string())
    .map((all) => all.join(''));
  fc.assert(
    fc.property(id, uri, (server, original) => {
      expect(readQualified(qualify(server, original) ?? '')).toEqual({ server, uri: original });
    }),
    { numRuns: runs(200) },
  );
});

const tool = (meta: string) => ({ key: 't', before: '{"name":', after: `,"x":1.0,"_meta":${meta}}` });

test('the UI page addresses in a tool description are replaced, and all other bytes remain', () => {
  const item = tool('{"ui":{"resourceUri":"ui://a","n":1.0},"ui/resourceUri":"ui:\\/\\/b","a":"ui://a"}');
  expect(pagesOf(item)).toEqual(['ui://a', 'ui://b']);
  expect(withPages(item, (uri) => uri)).toBe(item);
  expect(withPages(item, (uri) => `${uri}!`).after).toBe(
    ',"x":1.0,"_meta":{"ui":{"resourceUri":"ui://a!","n":1.0},"ui/resourceUri":"ui://b!","a":"ui://a"}}',
  );
  for (const meta of ['7', '{"ui":7}', '{"ui":{"resourceUri":7}}', '{"resourceUri":"ui://a"}'])
    expect(pagesOf(tool(meta)), meta).toEqual([]);
});

test('an app may call tools without a visibility setting, and tools that are visible to apps', () => {
  const visibility = (value: string) => isForApps(tool(`{"ui":{"visibility":${value}}}`));
  expect([isForApps(tool('{}')), visibility('["app"]'), visibility('["model"]'), visibility('7')]).toEqual([
    ...[true, true, false, true],
  ]);
});
