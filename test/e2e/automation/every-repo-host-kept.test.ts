// What every repository host keeps when something goes wrong: while it refuses, cuts, hangs or asks for a pause, over kill -9 and over
// a reload each comment stands there once, or its record says why not. Each case runs for each host, at a desk of its own
// (test/fixtures/repositories/repo-desks.ts). What holds without faults is in every-repo-host.test.ts.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../../fixtures/automation/automation.ts';
import { atRest } from '../../fixtures/automation/killed.ts';
import type { Refusal } from '../../fixtures/repositories/fake-repo-api.ts';
import type { Happening } from '../../fixtures/repositories/local-repo-host.ts';
import { localRepoHosts } from '../../fixtures/repositories/local-repo-hosts.ts';
import { type Desk, type MoreSpec, RepoDesks } from '../../fixtures/repositories/repo-desks.ts';

const plain = (): MoreSpec => ({});
const desks = new RepoDesks({
  pauses: () => ({ retry: { attempts: 1 } }),
  fails: plain,
  refused: plain,
  cut: plain,
  late: plain,
  hangs: plain,
  done: plain,
  asked: plain,
  before: plain,
  stored: plain,
  reloaded: plain,
});

beforeAll(() => desks.start());
afterAll(() => desks.stop());

const comment: Happening = { kind: 'request comment', text: 'why?' };
const ANSWER = 'heard: why?';

/** Of the next requests that would write a comment. */
const refuse = ({ host }: Desk, refusal: Refusal) => host.api.refuse(host.posting, refusal);

describe.concurrent.each(Object.keys(localRepoHosts))('%s', (name) => {
  test('a pause that the host asks for is waited for whole, and is no attempt', async () => {
    const desk = desks.of(name, 'pauses');
    // More than a token's own pace.
    refuse(desk, { status: 429, headers: { 'retry-after': '4' } });
    await desk.take(comment);
    await desk.sees(comment, ANSWER);
    expect(await desk.ends({ state: 'done', attempts: 1 })).toMatchObject({ crashes: 0 });
    const [first = 0, second = 0, ...others] = desk.host.posts().map(({ at }) => at);
    expect(second - first).toBeGreaterThan(3_990);
    expect(others).toEqual([]);
  });

  test('a fault of the host is tried again, and the comment looked for before it is written', async () => {
    const desk = desks.of(name, 'fails');
    refuse(desk, { status: 503 });
    await desk.take(comment);
    await desk.sees(comment, ANSWER);
    await desk.ends({ state: 'done', attempts: 2 });
    const [first, second, ...others] = desk.host.posts();
    expect(others).toEqual([]);
    const { asked } = desk.host.api;
    const between = asked.slice(asked.indexOf(first!) + 1, asked.indexOf(second!));
    expect(between.map(({ method }) => method)).toContain('GET');
  });

  test.each([
    ['cut', { status: 0, isCut: true }],
    ['late', { status: 502, isStored: true }],
  ] as const)(
    'a comment whose answer was lost (%s) is found, and not written again',
    async (what, refusal) => {
      const desk = desks.of(name, what);
      refuse(desk, refusal);
      await desk.take(comment);
      await desk.ends({ state: 'done', attempts: 2 });
      expect(desk.comments(comment)).toEqual([ANSWER]);
      expect(desk.host.posts()).toHaveLength(1);
    },
  );

  test('what the host refuses for good is dead after one request, with its status; the event is done, and a replay sends it', async () => {
    const desk = desks.of(name, 'refused');
    refuse(desk, { status: 403 });
    await desk.take(comment, 'refused');
    const { id } = await desk.ends({ state: 'dead', attempts: 1, note: expect.stringContaining('403') });
    expect(desk.host.posts()).toHaveLength(1);
    expect(await desk.record('refused')).toMatchObject({ state: 'done' });
    await desks.api(`/deliveries/${encodeURIComponent(id)}/replay`, {});
    await desk.sees(comment, ANSWER);
    expect(desk.asked()).toHaveLength(1);
  });

  test('a host that does not answer is given up after a while, and asked again', async () => {
    const desk = desks.of(name, 'hangs');
    const hung = refuse(desk, { status: 0, isSilent: true });
    await desk.take(comment);
    await hung;
    const begun = performance.now();
    await desk.sees(comment, ANSWER);
    expect(performance.now() - begun).toBeGreaterThan(5_000);
    await desk.ends({ state: 'done', attempts: 2 });
  });
});

test('kill -9 between any two steps: asked under one key, and one comment stands there', async () => {
  await atRest(desks.gateway);
  await desks.everywhere('done', async (desk) => {
    await desk.take(comment, 'done');
    await desk.ends({ state: 'done' });
  });
  await desks.everywhere('asked', async (desk) => {
    const { answer } = desk;
    desk.answer = (request, count) => (count === 1 ? new Promise(() => {}) : answer(request, count));
    await desk.take(comment);
    await eventually(() => expect(desk.asked()).toHaveLength(1));
  });
  for (const [name, isCut] of [
    ['before', false],
    ['stored', true],
  ] as const)
    await desks.everywhere(name, async (desk) => {
      const hung = refuse(desk, { status: 0, isSilent: true, isCut });
      await desk.take(comment);
      await hung;
    });
  await desks.kill();
  for (const name of ['asked', 'before', 'stored'] as const)
    await desks.everywhere(name, async (desk) => {
      await desk.sees(comment, ANSWER);
      await desk.ends({ state: 'done' });
      const keys = desk.asked().map(({ headers }) => headers['idempotency-key']);
      expect(keys).toEqual(name === 'asked' ? [keys[0], keys[0]] : [keys[0]]);
    });
  await desks.everywhere('stored', async ({ host }) => expect(host.posts()).toHaveLength(1));
  await desks.everywhere('done', async (desk) => {
    expect(await desk.send(comment, 'done')).toBe(200);
    await atRest(desks.gateway);
    expect(desk.comments(comment)).toEqual([ANSWER]);
    expect(desk.asked()).toHaveLength(1);
  });
});

test('a comment that waits while a reload renames its trigger leaves in the name of the other one', async () => {
  await desks.everywhere('reloaded', async (desk) => {
    const refused = refuse(desk, { status: 429, headers: { 'retry-after': '2' } });
    await desk.take(comment);
    await refused;
    await desk.ends({ deferrals: 1 });
  });
  await desks.rename();
  await desks.everywhere('reloaded', async (desk) => {
    await desk.sees(comment, ANSWER);
    await desk.ends({ state: 'done', trigger: `${desk.name}-renamed` });
  });
});

test('no secret was in the log, in a record or in a request to the agent', async () => {
  const shown = await desks.shown();
  for (const secret of desks.secrets) expect(shown).not.toContain(secret);
});
