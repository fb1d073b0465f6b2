// `keys`: lists access keys, creates, rotates and revokes them. `whoami`: shows the principal and role of the
// key in use.

import type { KeyList, KeyRecord, NewKeyRecord, Whoami } from '../../http/api/key-shapes.ts';
import type { Paint } from '../../terminal/paint.ts';
import { printable } from '../../terminal/terminal-text.ts';
import { optionalTime } from '../views/local-time.ts';
import { type Column, table } from '../views/table.ts';
import { type Operation, operationCommands } from './operation.ts';
import { explainBadValue } from './query-options.ts';

const READ_SECONDS = 10;
const CHANGE_SECONDS = 30;

const keyPath = (...segments: readonly string[]) =>
  ['admin', 'keys', ...segments.map(encodeURIComponent)].join('/');

const listing: Omit<Operation, 'examples'> = {
  timeoutSeconds: READ_SECONDS,
  request: ({ client, timeoutMs }) => client.request('GET', keyPath(), timeoutMs),
  show: ({ body }, { paint, width }) => keyTable(body as KeyList, paint, width),
};

export const keyCommands = operationCommands({
  noun: { ...listing, examples: ['keys', 'keys --json'] },
  list: { ...listing, examples: ['keys list', 'keys list --json'] },
  create: {
    examples: ['keys create ci --role user --expires 90d'],
    help: 'Roles: viewer (lists and reads), user (calls tools, starts runs), operator (starts, stops, decides), admin (keys).',
    timeoutSeconds: CHANGE_SECONDS,
    declare: (command) => {
      command
        .requiredOption('--role <role>', 'one of viewer, user, operator, admin')
        .option('--expires <duration>', 'end of the key, such as 24h or 90d (default: never)');
    },
    request: ({ client, args: [name], options, timeoutMs }) => {
      const body = { name, role: options.role, expires_in: options.expires };
      return client.request('POST', keyPath(), timeoutMs, { body });
    },
    show: ({ body }) => newKeyLines(body as NewKeyRecord),
    explain: explainBadValue,
  },
  rotate: {
    examples: ['keys rotate 2iq143eo2s --overlap 24h'],
    timeoutSeconds: CHANGE_SECONDS,
    declare: (command) => {
      command.option('--overlap <duration>', 'time for which the old key still works (default: 0s)');
    },
    request: ({ client, args: [id = ''], options: { overlap }, timeoutMs }) =>
      client.request('POST', keyPath(id, 'rotate'), timeoutMs, { body: { overlap } }),
    show: ({ body }) => newKeyLines(body as NewKeyRecord),
    explain: explainBadValue,
  },
  revoke: {
    examples: ['keys revoke 2iq143eo2s'],
    timeoutSeconds: CHANGE_SECONDS,
    // The response has no body.
    request: async ({ client, args: [id = ''], timeoutMs }) => {
      const { status } = await client.request('DELETE', keyPath(id), timeoutMs);
      const body = { id, revoked: true };
      return { status, body, text: JSON.stringify(body) };
    },
    show: (_, { args: [id = ''] }) => [`revoked the key ${printable(id)}`],
  },
  whoami: {
    examples: ['whoami'],
    timeoutSeconds: READ_SECONDS,
    request: ({ client, timeoutMs }) => client.request('GET', 'whoami', timeoutMs),
    show: ({ body }) => {
      const { principal, role } = body as Whoami;
      return [printable(role === null ? principal : `${principal} (${role})`)];
    },
  },
});

function newKeyLines({ key, id, name, role, expires_at }: NewKeyRecord): string[] {
  const end = expires_at === null ? '' : `, until ${optionalTime(expires_at)}`;
  return [
    printable(key),
    '',
    `${printable(`key ${id} of ${name}`)}, role ${role}${end}; it is shown only now`,
  ];
}

function keyTable({ keys }: KeyList, paint: Paint, width?: number): string[] {
  if (keys.length === 0) return ['no keys; create one with keys create NAME --role ROLE'];
  const columns: Column<KeyRecord>[] = [
    { title: 'ID', text: ({ id }) => id },
    { title: 'NAME', text: ({ name }) => name },
    { title: 'ROLE', text: ({ role }) => role },
    {
      title: 'STATE',
      text: stateOf,
      paint: (key, text) => paint(stateOf(key) === 'valid' ? 'good' : 'bad', text),
    },
    { title: 'EXPIRES', text: ({ expires_at }) => optionalTime(expires_at, 'never') },
    { title: 'LAST USED', text: ({ last_used_at }) => optionalTime(last_used_at) },
    { title: 'CREATED BY', text: ({ created_by }) => created_by },
  ];
  return table(columns, keys, width);
}

function stateOf({ revoked_at, expires_at }: KeyRecord): string {
  if (revoked_at !== null) return 'revoked';
  return expires_at !== null && Date.parse(expires_at) <= Date.now() ? 'expired' : 'valid';
}
