// Limits for the language of comments, documents and texts. A hit is a phrase of scripts/prose-phrases.txt or
// a line above 110 columns. The number of hits per file may only decrease, new files have none, and each room
// (folder) stays below its rate. `node scripts/prose.mjs PATH` lists the hits.

import { expect, test } from 'vitest';
import { checkFile, filesBelow, readLimits } from '../scripts/prose.mjs';

/** Maximum number of hits per 1,000 words in each room. */
const MAX_RATE = 2;
const rooms = [
  ...['actors/agents', 'actors/automation', 'actors/base', 'actors/events', 'actors/history'],
  ...['actors/mcp', 'actors/platforms', 'actors/state', 'actors/store', 'bench', 'config', 'docs'],
  ...['examples', 'libs', 'machines', 'scripts', 'src', 'test', 'tool-servers', 'README.md', 'CHANGELOG.md'],
];

const limits = readLimits();
const checked = new Map(filesBelow().map((path) => [path, checkFile(path)]));

test('no file has more listed phrases and wide lines than its stored limit', () => {
  const above = [...checked].flatMap(([path, { hits }]) => {
    const limit = limits.get(path) ?? 0;
    const locations = hits.map(({ line, hit }) => `${path}:${line}  ${hit}`);
    return hits.length > limit ? [`${path}: ${hits.length} hits, at most ${limit}`, ...locations] : [];
  });
  expect(above).toEqual([]);
});

test('no file has a higher limit than its number of hits ("node scripts/prose.mjs --lower" lowers the limits)', () => {
  expect([...limits].filter(([path, limit]) => (checked.get(path)?.hits.length ?? 0) < limit)).toEqual([]);
});

test.each(rooms)(`%s has at most ${MAX_RATE} hits per 1,000 words`, (folder) => {
  const results = [...checked]
    .filter(([path]) => path === folder || path.startsWith(`${folder}/`))
    .map(([, each]) => each);
  const wordCount = results.reduce((sum, each) => sum + each.words, 0);
  const hits = results.reduce((sum, each) => sum + each.hits.length, 0);
  expect(wordCount).toBeGreaterThan(0);
  expect((1000 * hits) / wordCount).toBeLessThanOrEqual(MAX_RATE);
});
