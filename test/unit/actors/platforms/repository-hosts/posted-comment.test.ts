// A posted comment is identified by the id in the response, for any success status.

import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { RepoHostBApi } from '../../../../../actors/platforms/repository-hosts/repohostb/api.ts';
import { RepoHostCApi } from '../../../../../actors/platforms/repository-hosts/repohostc/api.ts';

const place = { repository: 'acme/shop', sign: '!', number: 5 } as const;
const { signal } = new AbortController();

let server: Server;
let answer: { readonly status: number; readonly body: unknown };
let url: string;
beforeEach(async () => {
  server = createServer((_, response) => {
    response.writeHead(answer.status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer.body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(() => new Promise((resolve) => server.close(resolve)));

describe.each([
  ['RepoHostB', () => new RepoHostBApi(url, 'the-token', 0), [{ id: 7 }]],
  ['RepoHostC', () => new RepoHostCApi(url, 'the-token', 0), { values: [{ id: 7 }] }],
] as const)('a comment on %s', (_, api, list) => {
  test.each([200, 201])('is posted if the response with %i has an id', async (status) => {
    answer = { status, body: { id: 7 } };
    expect(await api().postComment(place, 'text', signal)).toBe('7');
  });

  test('fails if the response is a list, as after a redirect', async () => {
    answer = { status: 200, body: list };
    await expect(api().postComment(place, 'text', signal)).rejects.toMatchObject({ isFinal: true });
  });
});
