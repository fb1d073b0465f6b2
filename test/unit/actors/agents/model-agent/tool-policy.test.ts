import { describe, expect, it } from 'vitest';
import { policyOf } from '../../../../../actors/agents/model-agent/tool-policy.ts';
import { aFoundTool, aRuntime } from '../../../../fixtures/agents/agent-world.ts';

const verdictOn = (
  deny: readonly string[],
  ask: readonly string[],
  ...[tool, hints]: Parameters<typeof aFoundTool>
) => policyOf({ ...aRuntime().policy, deny, ask }, ['files', 'github'])(aFoundTool(tool, hints));

describe('the policy of an agent', () => {
  it('denies before it asks, and asks before it allows (PY1)', () => {
    expect(verdictOn(['*delete*'], ['*'], 'delete_file')).toBe('deny');
    expect(verdictOn(['*delete*'], ['write_*'], 'write_file')).toBe('ask');
    expect(verdictOn(['*delete*'], ['write_*'], 'read_file')).toBe('allow');
    expect(verdictOn([], [], 'delete_file')).toBe('allow');
  });

  it('means a tool of one server by a pattern with a slash, and that only', () => {
    expect(verdictOn(['files/write_*'], [], 'write_file')).toBe('deny');
    expect(verdictOn(['github/write_*'], [], 'write_file')).toBe('allow');
    expect(verdictOn(['files*'], [], 'write_file')).toBe('allow');
  });

  it('means a tool of one server by its name at /mcp, and no tool that has that name itself', () => {
    const verdictAt = (server: string, tool: string, pattern: string, servers = ['bank', 'wiki']) =>
      policyOf({ ...aRuntime().policy, deny: [], ask: [pattern] }, servers)({ ...aFoundTool(tool), server });
    expect(verdictAt('bank', 'read', 'bank__read')).toBe('ask');
    expect(verdictAt('wiki', 'bank__read', 'bank__read')).toBe('allow');
    expect(verdictAt('wiki', 'read', 'bank__read')).toBe('allow');
    expect(verdictAt('wiki', 'bank__read', 'wiki__bank__*')).toBe('ask');
    expect(verdictAt('a', 'b__c', 'a__b__c', ['a', 'a__b'])).toBe('allow');
    expect(verdictAt('a__b', 'c', 'a__b__c', ['a', 'a__b'])).toBe('ask');
    // If no server has this name, it is a tool's own name.
    expect(verdictAt('wiki', 'bank__read', 'bank__read', ['wiki'])).toBe('ask');
  });

  it('means what a server says of its tools by destructive and readonly', () => {
    expect(verdictOn([], ['destructive'], 'drop', { isDestructive: true })).toBe('ask');
    expect(verdictOn([], ['destructive'], 'drop')).toBe('allow');
    expect(verdictOn(['readonly'], [], 'look', { isReadOnly: true })).toBe('deny');
    expect(verdictOn(['destructive'], [], 'destructive')).toBe('allow');
  });
});
