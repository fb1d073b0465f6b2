import { describe, expect, it } from 'vitest';
import { policyOf } from '../../../../../actors/agents/model-agent/tool-policy.ts';
import { aFoundTool, aRuntime } from '../../../../fixtures/agents/agent-world.ts';

const verdictOn = (
  deny: readonly string[],
  ask: readonly string[],
  ...[tool, hints]: Parameters<typeof aFoundTool>
) => policyOf({ ...aRuntime().policy, deny, ask }, ['files', 'github'])(aFoundTool(tool, hints));

describe('the policy of an agent', () => {
  it('applies deny before ask, and ask before allow', () => {
    expect(verdictOn(['*delete*'], ['*'], 'delete_file')).toBe('deny');
    expect(verdictOn(['*delete*'], ['write_*'], 'write_file')).toBe('ask');
    expect(verdictOn(['*delete*'], ['write_*'], 'read_file')).toBe('allow');
    expect(verdictOn([], [], 'delete_file')).toBe('allow');
  });

  it("matches a pattern with a slash against one server's tools only", () => {
    expect(verdictOn(['files/write_*'], [], 'write_file')).toBe('deny');
    expect(verdictOn(['github/write_*'], [], 'write_file')).toBe('allow');
    expect(verdictOn(['files*'], [], 'write_file')).toBe('allow');
  });

  it('matches the merged name `server__tool` against tools of this server, not against tools with this own name', () => {
    const verdictAt = (server: string, tool: string, pattern: string, servers = ['bank', 'wiki']) =>
      policyOf({ ...aRuntime().policy, deny: [], ask: [pattern] }, servers)({ ...aFoundTool(tool), server });
    expect(verdictAt('bank', 'read', 'bank__read')).toBe('ask');
    expect(verdictAt('wiki', 'bank__read', 'bank__read')).toBe('allow');
    expect(verdictAt('wiki', 'read', 'bank__read')).toBe('allow');
    expect(verdictAt('wiki', 'bank__read', 'wiki__bank__*')).toBe('ask');
    expect(verdictAt('a', 'b__c', 'a__b__c', ['a', 'a__b'])).toBe('allow');
    expect(verdictAt('a__b', 'c', 'a__b__c', ['a', 'a__b'])).toBe('ask');
    // Without a server `bank`, the prefix belongs to the tool name.
    expect(verdictAt('wiki', 'bank__read', 'bank__read', ['wiki'])).toBe('ask');
  });

  it('matches `destructive` and `readonly` against the annotations of tools', () => {
    expect(verdictOn([], ['destructive'], 'drop', { isDestructive: true })).toBe('ask');
    expect(verdictOn([], ['destructive'], 'drop')).toBe('allow');
    expect(verdictOn(['readonly'], [], 'look', { isReadOnly: true })).toBe('deny');
    expect(verdictOn(['destructive'], [], 'destructive')).toBe('allow');
  });
});
