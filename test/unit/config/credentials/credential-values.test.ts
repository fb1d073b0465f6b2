import { describe, expect, test } from 'vitest';
import { credentialsIn } from '../../../../config/credentials/credential-values.ts';

const uuid = '550e8400-e29b-41d4-a716-446655440000';

describe('a value with a credential name', () => {
  test.each([
    'correct-horse-battery',
    'correct horse battery',
    'abcdefghijklmnop',
    '1234-5678-9012-3456',
    'Tr0ub4dor',
    'ghp_0123456789abcdefghij',
    '/9j4AAQSkZJRgABAQ+/abc=',
    ...['/9j/4AAQSkZJRgABAQEAYABg', '//8AAQIDBAUGBwgJ', '/srv/4AAQSkZJRgABAQEAYABg', '/home/ada+bob/keys'],
    ...['letmeinplease', 'deadbeefcafe', 'DEADBEEF', 'CAFEBABE', 'POSTGRES', 'correctHorse', 'пароль-пароль'],
    ...[
      'hunter22',
      'pw123456',
      '1a2b3c4d',
      '0123456789abcdef',
      '2026-11-28',
      '10.20.30.40',
      '1234567890123456',
    ],
    ...['correct/horse/battery', 'user1.team2.secretword', 'user.team.secretword', 'correct.horse'],
    ...['db.internal.example.com:5432', 'localhost:8080', 'keys/api.key', '\\\\host\\keys', 'yes-please'],
    uuid,
  ])('%s is redacted', (value) => {
    expect(credentialsIn(value, 'named')).toContain(value);
  });

  test.each([
    ...['production', 'Swordfish', 'passwordless', 'true', 'hunter2', '12345678', '-12345.678', ''],
    ...['/srv/keys/api.key', './secrets/token.txt', '../keys/', 'C:\\keys\\api.key', 'C:/keys/api.key'],
    ...[
      '~/keys/my-project-1a2b3c4d5e6f.json',
      '/home/ada/project-1a2b3c4d5e6f.json',
      '/run/secrets/db_password',
    ],
  ])('%s is not redacted: it is a word, number or path, or too short', (value) => {
    expect(credentialsIn(value, 'named')).toEqual([]);
  });
});

describe('a variable or header value without a credential name', () => {
  test.each([
    ...['ghp_0123456789abcdefghij', 'qX7vT2mN9pL4', uuid, 'JBSWY3DPEHPK3PXP', 'a1b2c3d4e5f6'],
    '/9j/4AAQSkZJRgABAQEAYABg',
  ])('%s is redacted', (value) => {
    expect(credentialsIn(value, 'supplied')).toEqual([value]);
  });

  test.each([
    ...[
      'production',
      'eu-central-1',
      'us-east-1a',
      'correct-horse-battery',
      'gpt-4o-mini-2024-07-18',
      'my-org_v2',
    ],
    ...['jane.doe@example.com', 'myProjectName', 'Europe/Berlin', '/home/ada/project', 'de-DE, en;q=0.9'],
    ...['/nix/store/s66mzxpvicwk07gjbjfw-hello/bin', 'db.internal.example.com:5432', '2026-11-28'],
    ...['You are a helpful assistant.', '123456789012', 'https://localhost:8080/api/v1'],
  ])('%s is not redacted: it consists of words and numbers', (value) => {
    expect(credentialsIn(value, 'supplied')).toEqual([]);
  });
});

describe('a literal value without a credential name', () => {
  test.each([
    'ghp_0123456789abcdefghij',
    'production',
    '/srv/repos',
    'Bearer qX7vT2mN9pL4',
    'git@github.com:o/r',
  ])('%s is not redacted', (value) => {
    expect(credentialsIn(value, 'literal')).toEqual([]);
  });

  test.each([
    ['postgres://app:s3cr%40t-pw@db.example.com:5432/app', ['s3cr%40t-pw', 's3cr@t-pw']],
    ['https://mcp.example.com/mcp?api_key=abcdefgh1234&region=eu-central-1', ['abcdefgh1234']],
    ['host=db.example.com user=app password=s3cretpw99 dbname=orders', ['s3cretpw99']],
    ['postgres://app:hunterpass@db/app', ['hunterpass']],
    ['postgres://app:pa/ss1234w@host/app', ['pa/ss1234w']],
    ['postgres://app:pa?ss#1234w@host:5432/app?sslmode=require', ['pa?ss#1234w']],
    ['redis://:12345678@cache:6379/0', ['12345678']],
    ['https://registry.example.com:8443/@scope/package@latest', []],
    ['http://[::1]:8443/mailto/a@example.com', []],
    ['amqp://app:hunter2@queue', []],
    ['BASIC_AUTH=admin:pw123456', ['admin:pw123456', 'pw123456']],
    ['--basic-auth=admin:hunter2', ['admin:hunter2']],
    ['app:s3cretpw99@tcp(db.example.com:3306)/orders', ['s3cretpw99']],
    ['AccountName=files;AccountKey=Zm9vYmFyCg==;EndpointSuffix=example.com', ['Zm9vYmFyCg==']],
    [
      '{"Authorization":"Bearer ntn_abcdef123456","Version":"2022-06-28"}',
      ['Bearer ntn_abcdef123456', 'ntn_abcdef123456'],
    ],
    ['--token=qX7vT2mN9pL4', ['qX7vT2mN9pL4']],
    ['url=https://h.example/?token=qX7vT2mN9pL4', ['qX7vT2mN9pL4']],
  ])('%s has its password or named credential redacted', (value, credentials) => {
    expect(credentialsIn(value, 'literal')).toEqual(credentials);
  });
});

describe('a URL', () => {
  test.each([
    ['https://hooks.example.com/services/T024/B024/XyZ012abcDEF345ghi', ['XyZ012abcDEF345ghi']],
    ['https://0abc123def456789@ingest.example.com/1234', ['0abc123def456789']],
    ['postgres://app:s3cretpw99@db.example.com/app', ['s3cretpw99']],
    ['postgres://app:hunterpass@db.example.com/app', ['hunterpass']],
    ['postgres://app:pa/ss1234w@db1a2b3c4d.example.com/app', ['pa/ss1234w']],
    [
      'https://ghp_0123456789abcdefghij:x-oauth-basic@h.example',
      ['x-oauth-basic', 'ghp_0123456789abcdefghij'],
    ],
    ['https://sk_0123456789abcdefghij:@h.example', ['sk_0123456789abcdefghij']],
    ['https://mcp.example.com/api?k=qX7vT2mN9pL4#a1b2c3d4e5f6', ['qX7vT2mN9pL4', 'a1b2c3d4e5f6']],
  ])('%s has its opaque parts redacted, never its host', (value, credentials) => {
    expect(credentialsIn(value, 'supplied')).toEqual(credentials);
    expect(credentialsIn(value, 'named')).toEqual(credentials);
  });
});

test('a header value is redacted with and without its scheme, and a multi-line key by line', () => {
  expect(credentialsIn('Basic YWRhOnMzY3JldHB3', 'named')).toEqual([
    'Basic YWRhOnMzY3JldHB3',
    'YWRhOnMzY3JldHB3',
  ]);
  expect(credentialsIn('admin:pw123456', 'named')).toEqual(['admin:pw123456', 'pw123456']);
  expect(credentialsIn('admin:pw123456', 'supplied')).toEqual(['admin:pw123456', 'pw123456']);
  expect(credentialsIn('admin:production', 'named')).toEqual(['admin:production']);
  const key = '-----BEGIN KEY-----\r\nMIIEvQIBADANBgkqhkiG9w0\r\n-----END KEY-----\r\n';
  expect(credentialsIn(key, 'named')).toEqual(expect.arrayContaining([key, 'MIIEvQIBADANBgkqhkiG9w0']));
});
