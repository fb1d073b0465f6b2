// The search index behind find_tools: words, ranking, updates, limits and speed.

import { describe, expect, test } from 'vitest';
import { ToolIndex } from '../../../../../../actors/mcp/clients/search/tool-index.ts';
import { splitWords } from '../../../../../../actors/mcp/clients/search/tool-words.ts';
import { seeded } from '../../../../../fixtures/seeded.ts';
import {
  describedServer,
  describe as give,
  toolItem,
} from '../../../../../fixtures/server/described-server.ts';
import { aggregateOf, ListedServer } from '../../../../../fixtures/server/listed-server.ts';

const indexOf = (...servers: ListedServer[]) => {
  const aggregate = aggregateOf(() => servers.map(({ asManaged }) => asManaged));
  return new ToolIndex(() => aggregate.tools());
};
const names = (index: ToolIndex, query: string) => index.find({ query }).map(({ tool }) => tool.listing.name);

const files = () =>
  describedServer('files', [
    { name: 'read_file', description: 'Read the whole content of a file from the disk.' },
    { name: 'write_file', description: 'Create a file or overwrite one.' },
    { name: 'list_directory', title: 'Folder content', description: 'Gives the names in a directory.' },
  ]);
const git = () =>
  describedServer('git', [
    { name: 'createPullRequest', description: 'Opens a pull request for a branch.' },
    { name: 'getHTTPStatus', annotations: { title: 'Reachability' }, description: 'Is the remote there?' },
    { name: 'commit-log', description: 'History of a branch, as far as a file is concerned.' },
  ]);

test.each([
  ['read_file', ['read', 'file']],
  ['commit-log', ['commit', 'log']],
  ['createPullRequest', ['create', 'pull', 'request', 'createpullrequest']],
  ['getHTTPStatus2', ['get', 'http', 'status2', 'gethttpstatus2']],
  ['GitHub', ['git', 'hub', 'github']],
  ['URL', ['url']],
  ['Écrire un été', ['ecrire', 'un', 'ete']],
  ['ÄußereForm', ['außere', 'form', 'außereform']],
  ['读取 文件', ['读取', '文件']],
  ['__', []],
])('the tool index splits %s into words', (text, expectedWords) => {
  expect(splitWords(text)).toEqual(expectedWords);
});

describe('a tool search', () => {
  test('finds tools by the words of camelCase, kebab-case and other names, best match first', () => {
    const index = indexOf(files(), git());
    expect(names(index, 'pull request')[0]).toBe('git__createPullRequest');
    expect(names(index, 'http status')[0]).toBe('git__getHTTPStatus');
    expect(names(index, 'commit log')[0]).toBe('git__commit-log');
    // A match in the name has a higher rank than a match in the description.
    const [first, second, ...others] = names(index, 'file');
    expect([first, second].sort()).toEqual(['files__read_file', 'files__write_file']);
    expect(others).toContain('git__commit-log');
  });

  test('includes titles, annotation titles and the server id', () => {
    const index = indexOf(files(), git());
    expect(names(index, 'folder')).toEqual(['files__list_directory']);
    expect(names(index, 'reachability')).toEqual(['git__getHTTPStatus']);
    expect(names(index, 'git')).toHaveLength(3);
  });

  test('matches word prefixes and tolerates typing errors', () => {
    const index = indexOf(files(), git());
    expect(names(index, 'direct')).toEqual(['files__list_directory']);
    expect(names(index, 'direktory')).toEqual(['files__list_directory']);
    expect(names(index, 'qqqqqq')).toEqual([]);
  });

  test('ignores stop words', () => {
    const index = indexOf(files(), git());
    expect(names(index, 'I want to read the content of a file')[0]).toBe('files__read_file');
    expect(names(index, 'the of a')).toEqual([]);
  });

  test('orders equal scores by list position', () => {
    const twins = ['d', 'a', 'c', 'b'].map((id) =>
      describedServer(id, [{ name: 'ping', description: 'Pings.' }]),
    );
    expect(names(indexOf(...twins), 'ping')).toEqual(['d__ping', 'a__ping', 'c__ping', 'b__ping']);
  });

  test('returns all tools in list order for an empty query', () => {
    const index = indexOf(files(), git());
    expect(names(index, ' ')).toHaveLength(6);
    expect(names(index, '')[0]).toBe('files__read_file');
  });

  test('finds a tool by its exact name even if it has no words or others match better', () => {
    const odd = describedServer('_', [
      { name: '_' },
      { name: 'file', description: 'file file file' },
      { name: 'the' },
    ]);
    const index = indexOf(files(), odd);
    expect(names(index, '____')[0]).toBe('____');
    expect(names(index, 'the')).toEqual(['___the']);
    expect(names(index, 'files__read_file')[0]).toBe('files__read_file');
  });

  test('follows the list: it finds new tools, and no removed or changed tools', () => {
    const [one, two] = [files(), git()];
    const index = indexOf(one, two);
    expect(names(index, 'branch')).toHaveLength(2);
    give(two, [{ name: 'commit-log', description: 'Shows work done.' }, { name: 'blame' }]);
    expect(names(index, 'branch')).toEqual([]);
    expect(names(index, 'blame')).toEqual(['git__blame']);
    expect(names(index, 'done')).toEqual(['git__commit-log']);
    one.entry.enabled = false;
    one.cache.revision += 1;
    expect(names(index, '')).toEqual(['git__commit-log', 'git__blame']);
    give(two, []);
    expect(names(index, '')).toEqual([]);
    expect(names(index, 'commit')).toEqual([]);
  });

  test('limits the index share of each server; tools that are not indexed are found by name', () => {
    const words = (n: number) => Array.from({ length: 60 }, (_, at) => `w${n}x${at}`).join(' ');
    const tools = Array.from({ length: 6000 }, (_, n) => ({ name: `t${n}`, description: words(n) }));
    const [greedy, modest] = [describedServer('greedy', tools), git()];
    const index = indexOf(greedy, modest);
    expect(names(index, 'w5x5')[0]).toBe('greedy__t5');
    expect(names(index, 'w5999x5')).not.toContain('greedy__t5999');
    expect(names(index, 't5999')[0]).toBe('greedy__t5999');
    expect(names(index, '')).toHaveLength(6003);
    expect(names(index, 'branch')).toHaveLength(2);
    // The freed share can be used again.
    give(greedy, tools.slice(5990));
    expect(names(index, 'w5999x5')[0]).toBe('greedy__t5999');
  });

  test('suggests names similar to an unknown name', () => {
    const index = indexOf(files(), git());
    expect(index.near('files__reed_file')[0]).toBe('files__read_file');
    expect(index.near('read_file')[0]).toBe('files__read_file');
    expect(index.near('git__create_pull_requests')[0]).toBe('git__createPullRequest');
    expect(index.near('x'.repeat(100_000))).toEqual([]);
  });
});

describe('ten thousand tools', () => {
  const random = seeded(7);
  const vocabulary = Array.from({ length: 4000 }, () =>
    Array.from({ length: 3 + Math.floor(random() * 8) }, () =>
      String.fromCharCode(97 + Math.floor(random() * 26)),
    ).join(''),
  );
  const word = () => vocabulary[Math.floor(random() * random() * vocabulary.length)] ?? '';
  const text = (words: number) => Array.from({ length: words }, word).join(' ');
  const servers = Array.from({ length: 200 }, (_, n) => {
    const server = new ListedServer(`server-${n}`, {});
    server.cache.lists.tools = Array.from({ length: 50 }, (_, at) =>
      toolItem({ name: `${word()}_${word()}_${at}`, description: text(25) }),
    );
    return server;
  });
  const index = indexOf(...servers);

  /** Returns the processor time of the fastest run. Other load on the machine can only increase the time. */
  const fastestRunMs = (runs: number, act: () => void) => {
    let least = Number.POSITIVE_INFINITY;
    for (let run = 0; run < runs; run += 1) {
      const before = process.cpuUsage();
      act();
      const { user, system } = process.cpuUsage(before);
      least = Math.min(least, (user + system) / 1000);
    }
    return least;
  };

  // Takes about one second. Shared processors can be half as fast.
  test('are indexed in less than 2.5 seconds of processor time', () => {
    const ms = fastestRunMs(3, () => expect(names(indexOf(...servers), '')).toHaveLength(10_000));
    expect(ms).toBeLessThan(2_500);
  });

  test('are searched in a few milliseconds', () => {
    index.find({ query: 'warm' });
    const queries = [word(), text(4), `create an issue in ${text(3)}`, text(10)];
    for (const query of queries) expect(fastestRunMs(10, () => index.find({ query }))).toBeLessThan(20);
  });

  test('are reindexed quickly if servers started with unchanged lists', () => {
    const ms = fastestRunMs(3, () => {
      for (const server of servers) server.cache.revision += 1;
      index.find({ query: 'warm' });
    });
    expect(ms).toBeLessThan(250);
  });
});
