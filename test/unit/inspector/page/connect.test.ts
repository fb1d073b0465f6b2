// Client configuration in the page: the same entries as the command `connect`, but no key.

import { describe, expect, test } from 'vitest';
import { clients } from '../../../../config/clients/client-list.ts';
import {
  ALL_SERVERS,
  connectEntries,
  isOwnMachine,
  type ServerSelection,
  systemOf,
  systems,
} from '../../../../src/inspector/page/connect/entries.ts';

const program = { command: '/usr/bin/node', args: ['/opt/actor-gateway/dist/main.js', 'stdio'] };
const base = { address: 'http://127.0.0.1:8080', selection: ALL_SERVERS, program } as const;

describe.each(clients.map((client) => [client.label, client] as const))('the entry of %s', (_, client) => {
  test('contains the URL or the command, a reference to the key, and the file for each system', () => {
    for (const system of systems)
      for (const needsKey of [true, false]) {
        const { http, stdio, files, note } = connectEntries({ ...base, client, system, needsKey });
        const [entry] = Object.values(JSON.parse(stdio)[client.root]) as [
          { command: string; args: string[] },
        ];
        expect([entry.command, ...entry.args.slice(0, 4)]).toEqual([
          ...[program.command, ...program.args, '--url', 'http://127.0.0.1:8080/mcp'],
        ]);
        expect(entry.args.includes('GATEWAY_API_KEY')).toBe(needsKey);
        if ('text' in http) expect(http.text).toContain('http://127.0.0.1:8080/mcp"');
        else expect(http.reason).toContain(client.label);
        expect(files.length).toBeGreaterThan(0);
        expect(files.every(({ path }) => /^[~.%]/.test(path))).toBe(true);
        expect(note === undefined).toBe(!needsKey);
      }
  });
});

test('a client entry is named after its server, or after the gateway if it is for a profile, and has the right URL', () => {
  const entry = (selection: ServerSelection) => {
    const [, client = clients[0]] = clients;
    if (client === undefined) throw new Error('there are no clients');
    const { http, connectCommand } = connectEntries({
      ...base,
      client,
      system: 'Linux',
      selection,
      needsKey: false,
    });
    return [JSON.parse('text' in http ? http.text : '{}')[client.root], connectCommand];
  };
  expect(entry({ kind: 'server', name: 'a b/ü' })).toEqual([
    { 'a-b--': expect.objectContaining({ url: 'http://127.0.0.1:8080/mcp/a%20b%2F%C3%BC' }) },
    'actor-gateway connect claude-code --url http://127.0.0.1:8080/mcp/a%20b%2F%C3%BC --name a-b-- --write',
  ]);
  expect(entry({ kind: 'profile', name: 'work' })).toEqual([
    { 'actor-gateway': expect.objectContaining({ url: 'http://127.0.0.1:8080/mcp/@work' }) },
    'actor-gateway connect claude-code --url http://127.0.0.1:8080/mcp/@work --write',
  ]);
});

test('the operating system, and a gateway on the own machine, are detected from browser data', () => {
  expect(systemOf('Mozilla/5.0 (Windows NT 10.0; Win64; x64)')).toBe('Windows');
  expect(systemOf('Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7)')).toBe('macOS');
  expect(systemOf('Mozilla/5.0 (X11; Linux x86_64)')).toBe('Linux');
  expect(
    ['localhost', '127.0.0.1', '[::1]', 'gateway.example', '127.evil.example'].map(isOwnMachine),
  ).toEqual([true, true, true, false, false]);
});
