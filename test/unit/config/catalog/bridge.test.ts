// Bridge configuration for a remote address.

import { describe, expect, test } from 'vitest';
import { BRIDGED, bridgeTo } from '../../../../config/catalog/bridge.ts';

function good(url: string, headers: Record<string, string> = {}, env: Record<string, string> = {}) {
  const bridged = bridgeTo(url, headers, env);
  if ('problems' in bridged) throw new Error(bridged.problems.join('\n'));
  return bridged;
}

function problems(url: string, headers: Record<string, string> = {}): readonly string[] {
  const bridged = bridgeTo(url, headers, {});
  return 'problems' in bridged ? bridged.problems : [];
}

describe('a bridge to one remote server', () => {
  test('has one remote server with a session per client, no idle timeout and a long request timeout', () => {
    const { catalog } = good('http://host/mcp');
    expect(Object.keys(catalog.servers)).toEqual([BRIDGED]);
    expect(catalog.servers[BRIDGED]).toMatchObject({
      runtime: 'http',
      url: 'http://host/mcp',
      isolation: 'session',
      idle_timeout_seconds: 0,
      forward_roots: true,
      request_timeout_seconds: 86_400,
    });
  });

  test('expands variables and treats their values as secrets', () => {
    const env = { TOKEN: 'a-long-token', KEY: 'another-key' };
    const { catalog, secrets } = good(
      `https://host/mcp?key=\${KEY}`,
      { Authorization: `Bearer \${TOKEN}`, 'X-Plain': 'literal "quoted" value: ü' },
      env,
    );
    expect(catalog.servers[BRIDGED]).toMatchObject({
      url: 'https://host/mcp?key=another-key',
      headers: { Authorization: 'Bearer a-long-token', 'X-Plain': 'literal "quoted" value: ü' },
    });
    expect(secrets).toEqual(expect.arrayContaining(['a-long-token', 'another-key']));
  });

  test("warns about unexpanded shell syntax, with the option's name and without the value", () => {
    const { warnings } = good('http://host/mcp', { 'X-API-Key': '$HUSH', 'X-Plain': 'costs $5' });
    expect(warnings).toEqual([`headers.X-API-Key: shell syntax is not expanded; write \${NAME}`]);
  });

  test("reports each problem with the option's name and without the value", () => {
    const messages = problems('hush-hush', { A: `\${UNSET}`, Accept: 'hush-hush', 'b b': 'hush-hush' });
    expect(messages).toHaveLength(4);
    expect(messages.join('\n')).not.toMatch(/hush-hush|servers\./);
    expect(messages).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^url: expected/),
        expect.stringMatching(/^headers\.A: .*UNSET is not set/),
        expect.stringMatching(/^headers\.Accept: is set by the gateway/),
        expect.stringMatching(/^headers\.b b|^headers\["b b"\]/),
      ]),
    );
  });
});
