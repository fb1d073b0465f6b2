import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, test } from 'vitest';
import { withPublishedArguments } from '../../../../tool-servers/repository-host/argument-aliases.ts';

function rewritten(name: string, given: Record<string, unknown>): unknown {
  const message: JSONRPCMessage = {
    jsonrpc: '2.0',
    id: 7,
    method: 'tools/call',
    params: { name, arguments: given, _meta: { progressToken: 1 } },
  };
  const before = structuredClone(message);
  const { params, ...rest } = withPublishedArguments(message) as { params: Record<string, unknown> };
  expect(message).toEqual(before);
  expect(rest).toEqual({ jsonrpc: '2.0', id: 7, method: 'tools/call' });
  expect(params).toMatchObject({ name, _meta: { progressToken: 1 } });
  return params.arguments;
}

describe('arguments under other names', () => {
  test.each(['search_repositories', 'search_code', 'search_issues', 'search_users'])(
    'become the published ones in %s',
    (tool) => {
      expect(rewritten(tool, { q: 'x', perPage: 5 })).toEqual({ query: 'x', per_page: 5 });
    },
  );

  test('are known of every tool that has them', () => {
    expect(rewritten('get_pull_request', { pullNumber: 3 })).toEqual({ pull_number: 3 });
    expect(rewritten('get_issue', { issueNumber: 3 })).toEqual({ issue_number: 3 });
    expect(rewritten('create_repository', { autoInit: true })).toEqual({ auto_init: true });
    expect(rewritten('get_file_contents', { ref: 'main' })).toEqual({ branch: 'main' });
    expect(rewritten('update_pull_request_branch', { expectedHeadSha: 'a' })).toEqual({
      expected_head_sha: 'a',
    });
  });

  test('stay where the published name is given too, for the schema to refuse', () => {
    expect(rewritten('search_code', { q: 'a', query: 'b' })).toEqual({ q: 'a', query: 'b' });
  });

  test('stay where the tool has no such parameter', () => {
    expect(rewritten('list_commits', { q: 'a', ref: 'b' })).toEqual({ q: 'a', ref: 'b' });
  });
});

describe('arguments in another form', () => {
  test('are labels: an array where one is published, text with commas where that is', () => {
    expect(rewritten('create_issue', { labels: 'bug, help wanted,,' })).toEqual({
      labels: ['bug', 'help wanted'],
    });
    // An empty array would take all labels away; nobody asked for that.
    for (const labels of ['', ' , ']) expect(rewritten('update_issue', { labels })).toEqual({ labels });
    expect(rewritten('list_issues', { labels: ['bug', 'help wanted'] })).toEqual({
      labels: 'bug,help wanted',
    });
  });

  test('are numbers written as digits, and nothing else that looks like a number', () => {
    const given = { issue_number: '42', page: '2', perPage: '10', offset: '0', title: '7' };
    expect(rewritten('update_issue', given)).toEqual({
      issue_number: 42,
      page: 2,
      per_page: 10,
      offset: 0,
      title: '7',
    });
    for (const text of ['', ' 1', '1.5', '-1', '0x10', '1e3', '12345678901234567890'])
      expect(rewritten('get_issue', { issue_number: text })).toEqual({ issue_number: text });
  });

  test('stay as they are where they are wrong', () => {
    for (const labels of [1, null, {}, ['a', 1]])
      expect(rewritten('list_issues', { labels })).toEqual({ labels });
  });
});

describe('messages of other kinds', () => {
  test.each<JSONRPCMessage>([
    { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { q: 'x' } },
    { jsonrpc: '2.0', id: 1, result: { q: 'x' } },
    { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } },
    { jsonrpc: '2.0', id: 1, method: 'tools/call' },
    { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'search_code', arguments: ['q'] } },
    { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 5, arguments: { q: 'x' } } },
  ])('pass as they are: %j', (message) => {
    expect(withPublishedArguments(message)).toBe(message);
  });

  test('with names out of the prototype of objects change nothing and poison nothing', () => {
    const given = JSON.parse('{"__proto__":{"polluted":1},"constructor":2,"hasOwnProperty":3}');
    expect(Object.entries(rewritten('constructor', given) as object)).toEqual(Object.entries(given));
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
  });
});
