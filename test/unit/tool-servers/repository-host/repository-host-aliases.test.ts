import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, test } from 'vitest';
import { normalizeArguments } from '../../../../tool-servers/repository-host/argument-aliases.ts';

function rewritten(name: string, callArguments: Record<string, unknown>): unknown {
  const message: JSONRPCMessage = {
    jsonrpc: '2.0',
    id: 7,
    method: 'tools/call',
    params: { name, arguments: callArguments, _meta: { progressToken: 1 } },
  };
  const before = structuredClone(message);
  const { params, ...rest } = normalizeArguments(message) as { params: Record<string, unknown> };
  expect(message).toEqual(before);
  expect(rest).toEqual({ jsonrpc: '2.0', id: 7, method: 'tools/call' });
  expect(params).toMatchObject({ name, _meta: { progressToken: 1 } });
  return params.arguments;
}

describe('tool arguments with alternative names', () => {
  test.each(['search_repositories', 'search_code', 'search_issues', 'search_users'])(
    'are renamed to the published ones in %s',
    (tool) => {
      expect(rewritten(tool, { q: 'x', perPage: 5 })).toEqual({ query: 'x', per_page: 5 });
    },
  );

  test('are renamed to the published names, for every tool that has these parameters', () => {
    expect(rewritten('get_pull_request', { pullNumber: 3 })).toEqual({ pull_number: 3 });
    expect(rewritten('get_issue', { issueNumber: 3 })).toEqual({ issue_number: 3 });
    expect(rewritten('create_repository', { autoInit: true })).toEqual({ auto_init: true });
    expect(rewritten('get_file_contents', { ref: 'main' })).toEqual({ branch: 'main' });
    expect(rewritten('update_pull_request_branch', { expectedHeadSha: 'a' })).toEqual({
      expected_head_sha: 'a',
    });
  });

  test('are unchanged if the call also has the published name, so that the schema refuses it', () => {
    expect(rewritten('search_code', { q: 'a', query: 'b' })).toEqual({ q: 'a', query: 'b' });
  });

  test('are unchanged if the tool does not have the published parameter', () => {
    expect(rewritten('list_commits', { q: 'a', ref: 'b' })).toEqual({ q: 'a', ref: 'b' });
  });
});

describe('tool arguments in an alternative form', () => {
  test('are converted between lists and comma-separated labels', () => {
    expect(rewritten('create_issue', { labels: 'bug, help wanted,,' })).toEqual({
      labels: ['bug', 'help wanted'],
    });
    // An empty list would remove all labels, which was not requested.
    for (const labels of ['', ' , ']) expect(rewritten('update_issue', { labels })).toEqual({ labels });
    expect(rewritten('list_issues', { labels: ['bug', 'help wanted'] })).toEqual({
      labels: 'bug,help wanted',
    });
  });

  test('are converted from digits to numbers, and only from digits', () => {
    const callArguments = { issue_number: '42', page: '2', perPage: '10', offset: '0', title: '7' };
    expect(rewritten('update_issue', callArguments)).toEqual({
      issue_number: 42,
      page: 2,
      per_page: 10,
      offset: 0,
      title: '7',
    });
    for (const text of ['', ' 1', '1.5', '-1', '0x10', '1e3', '12345678901234567890'])
      expect(rewritten('get_issue', { issue_number: text })).toEqual({ issue_number: text });
  });

  test('are kept if they are invalid', () => {
    for (const labels of [1, null, {}, ['a', 1]])
      expect(rewritten('list_issues', { labels })).toEqual({ labels });
  });
});

describe('messages other than valid tool calls', () => {
  test.each<JSONRPCMessage>([
    { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { q: 'x' } },
    { jsonrpc: '2.0', id: 1, result: { q: 'x' } },
    { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } },
    { jsonrpc: '2.0', id: 1, method: 'tools/call' },
    { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'search_code', arguments: ['q'] } },
    { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 5, arguments: { q: 'x' } } },
  ])('are passed on unchanged: %j', (message) => {
    expect(normalizeArguments(message)).toBe(message);
  });

  test('with argument names from Object.prototype are passed on unchanged, and do not change Object.prototype', () => {
    const callArguments = JSON.parse('{"__proto__":{"polluted":1},"constructor":2,"hasOwnProperty":3}');
    expect(Object.entries(rewritten('constructor', callArguments) as object)).toEqual(
      Object.entries(callArguments),
    );
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
  });
});
