import { describe, expect, test } from 'vitest';
import { credentialsIn } from '../../../../config/credentials/credential-values.ts';

const uuid = '550e8400-e29b-41d4-a716-446655440000';

describe('a value under the name of a credential', () => {
  test.each([
    'correct-horse-battery',
    'correct horse battery',
    'abcdefghijklmnop',
    '1234-5678-9012-3456',
    'Tr0ub4dor',
    'ghp_0123456789abcdefghij',
    '/9j4AAQSkZJRgABAQ+/abc=',
    uuid,
  ])('%s is redacted', (value) => {
    expect(credentialsIn(value, 'named')).toContain(value);
  });

  test.each([
    ...['production', 'Swordfish', 'POSTGRES', 'true', 'hunter2', '12345678', '2026-11-28', '10.20.30.40'],
    ...[
      '/srv/keys/api.key',
      './secrets/token.txt',
      'C:\\keys\\api.key',
      '~/keys/my-project-1a2b3c4d5e6f.json',
    ],
    ...['/home/ada/project-1a2b3c4d5e6f.json', 'db.internal.example.com:5432', 'localhost:8080', ''],
  ])('%s is not: it is a word, a number, a path or a host, or too short', (value) => {
    expect(credentialsIn(value, 'named')).toEqual([]);
  });
});

describe('a value of a variable or a header under another name', () => {
  test.each(['ghp_0123456789abcdefghij', 'qX7vT2mN9pL4', uuid, 'JBSWY3DPEHPK3PXP', 'a1b2c3d4e5f6'])(
    '%s is redacted',
    (value) => {
      expect(credentialsIn(value, 'supplied')).toEqual([value]);
    },
  );

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
    ...['You are a helpful assistant.', '123456789012', 'https://localhost:8080/api/v1'],
  ])('%s is not: it is made of words and numbers', (value) => {
    expect(credentialsIn(value, 'supplied')).toEqual([]);
  });
});

describe('a value that is written in the file under another name', () => {
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
    ['app:s3cretpw99@tcp(db.example.com:3306)/orders', ['s3cretpw99']],
    ['AccountName=files;AccountKey=Zm9vYmFyCg==;EndpointSuffix=example.com', ['Zm9vYmFyCg==']],
    [
      '{"Authorization":"Bearer ntn_abcdef123456","Version":"2022-06-28"}',
      ['Bearer ntn_abcdef123456', 'ntn_abcdef123456'],
    ],
    ['--token=qX7vT2mN9pL4', ['qX7vT2mN9pL4']],
    ['url=https://h.example/?token=qX7vT2mN9pL4', ['qX7vT2mN9pL4']],
  ])('%s loses its password or the part with the name of a credential', (value, credentials) => {
    expect(credentialsIn(value, 'literal')).toEqual(credentials);
  });
});

describe('an address', () => {
  test.each([
    ['https://hooks.example.com/services/T024/B024/XyZ012abcDEF345ghi', ['XyZ012abcDEF345ghi']],
    ['https://0abc123def456789@ingest.example.com/1234', ['0abc123def456789']],
    ['postgres://app:s3cretpw99@db.example.com/app', ['s3cretpw99']],
    ['https://mcp.example.com/api?k=qX7vT2mN9pL4#a1b2c3d4e5f6', ['qX7vT2mN9pL4', 'a1b2c3d4e5f6']],
  ])('%s loses what is opaque, never its host', (value, credentials) => {
    expect(credentialsIn(value, 'supplied')).toEqual(credentials);
    expect(credentialsIn(value, 'named')).toEqual(credentials);
  });
});

test('of a header the scheme may be missing, and of a key of several lines the others', () => {
  expect(credentialsIn('Basic YWRhOnMzY3JldHB3', 'named')).toEqual([
    'Basic YWRhOnMzY3JldHB3',
    'YWRhOnMzY3JldHB3',
  ]);
  const key = '-----BEGIN KEY-----\r\nMIIEvQIBADANBgkqhkiG9w0\r\n-----END KEY-----\r\n';
  expect(credentialsIn(key, 'named')).toEqual(expect.arrayContaining([key, 'MIIEvQIBADANBgkqhkiG9w0']));
});
