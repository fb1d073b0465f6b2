import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { fetchFor, fetchWith } from '../../../../../actors/agents/models/provider-models.ts';

it("Node's fetch header timeout does not end requests to providers with a longer timeout", async () => {
  const server = createServer((_, response) => setTimeout(() => response.end('late'), 1_800));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const requestWith = (send: typeof fetch) =>
    send(url).then(
      (response) => response.text(),
      (error: { readonly cause?: { readonly code?: string } }) => error.cause?.code,
    );
  try {
    expect(await Promise.all([requestWith(fetchFor(600_000)), requestWith(fetchWith(300))])).toEqual([
      'late',
      'UND_ERR_HEADERS_TIMEOUT',
    ]);
  } finally {
    server.close();
  }
  expect(fetchFor(120_000)).toBe(fetchFor(1_000));
  expect(fetchFor(120_000)).not.toBe(fetchFor(600_000));
});
