// The replay host refuses requests and responses outside the published API description, so that the tests of
// the tool server are valid for the real host.

import { expect, test } from 'vitest';
import { ReplayHost } from '../../../fixtures/rest-host/replay-host.ts';

const ISSUES = 'GET /repos/{owner}/{repo}/issues';
const REPO = '/repos/octocat/Hello-World';

test.each<[string, string, object | undefined, RegExp]>([
  ['an unknown path', `GET ${REPO}/secrets`, undefined, /no operation/],
  ['an unknown query parameter', `GET ${REPO}/issues?perPage=2`, undefined, /perPage/],
  ['a value outside an enumeration', `GET ${REPO}/issues?state=opened`, undefined, /allowed values/],
  ['a text for a number', `GET ${REPO}/issues/one`, undefined, /issue_number must be integer/],
  ['a missing query parameter', 'GET /search/code', undefined, /'q'/],
  ['an unknown member of a body', `POST ${REPO}/issues`, { title: 'T', text: 'x' }, /"text"/],
  ['a missing member of a body', `POST ${REPO}/git/refs`, { ref: 'refs/heads/a' }, /'sha'/],
  [
    'a body of another type',
    `PATCH ${REPO}/git/refs/heads/a`,
    { sha: 'a', force: 'yes' },
    /force must be boolean/,
  ],
])('the replay host refuses %s, and stops with an error', async (_, line, body, difference) => {
  const host = await ReplayHost.start();
  const [method = '', path] = line.split(' ');
  const response = await fetch(`${host.url}${path}`, { method, ...(body && { body: JSON.stringify(body) }) });
  expect(response.status).toBe(422);
  await expect(host.stop()).rejects.toThrow(difference);
});

test('the replay host refuses responses outside the API description', async () => {
  const host = await ReplayHost.start();
  expect(() => host.on(ISSUES, { body: [{ number: 'one' }] })).toThrow('number must be integer');
  expect(() => host.on(ISSUES, { body: [{ title: undefined }] })).toThrow("required property 'title'");
  expect(() => host.on(ISSUES, { example: 'none' })).toThrow('no example none');
  expect(() => host.on('GET /nothing', {})).toThrow('no operation GET /nothing');
  await host.stop();
});

test('the replay host splits lists into pages with links to the next page', async () => {
  const host = await ReplayHost.start();
  host.on(ISSUES, { body: [1, 2, 3].map((number) => ({ number })) });
  const pages: unknown[] = [];
  for (let next: string | undefined = `${host.url}${REPO}/issues?per_page=2`; next !== undefined; ) {
    const response: Response = await fetch(next);
    pages.push(((await response.json()) as { number: number }[]).map(({ number }) => number));
    next = /<(.+)>; rel="next"/.exec(response.headers.get('link') ?? '')?.[1];
  }
  expect(pages).toEqual([[1, 2], [3]]);
  await host.stop();
});
