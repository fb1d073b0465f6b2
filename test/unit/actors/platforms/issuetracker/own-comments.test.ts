import { describe, expect, test } from 'vitest';
import { DeliveryError } from '../../../../../actors/events/outbox/delivery-error.ts';
import {
  COMMENT_PROPERTY,
  commentMark,
  OwnComments,
} from '../../../../../actors/platforms/issuetracker/own-comments.ts';
import { RequestFault } from '../../../../../libs/rest/request-fault.ts';
import { MemoryStore } from '../../../../fixtures/store/memory-store.ts';
import { answerOf, requesterOf } from './tracker-answers.ts';

const comment = { issue: 'TES-41', id: '10019', isOwnAccount: true };
const keys = (...names: readonly string[]) => answerOf(200, { keys: names.map((key) => ({ key })) });

describe('a comment', () => {
  test('with the comment property of the gateway counts as its own, whoever the author is', async () => {
    const { ask, requests } = requesterOf(keys('sd.public.comment', COMMENT_PROPERTY));
    const own = new OwnComments(ask, 'tracker.example', new MemoryStore());
    expect(await own.isOurs(comment)).toBe(true);
    expect(await own.isOurs({ ...comment, isOwnAccount: undefined })).toBe(true);
    expect(requests[0]).toMatchObject({ path: '/rest/api/3/comment/10019/properties' });
  });

  test('without the comment property, written with the account of the gateway, is not its own', async () => {
    const { ask } = requesterOf(keys('sd.public.comment'));
    expect(await new OwnComments(ask, 'tracker.example', new MemoryStore()).isOurs(comment)).toBe(false);
  });

  test('of another account is no comment of the gateway, without a request', async () => {
    const { ask, requests } = requesterOf(keys(COMMENT_PROPERTY));
    const own = new OwnComments(ask, 'tracker.example', new MemoryStore());
    expect(await own.isOurs({ ...comment, isOwnAccount: false })).toBe(false);
    expect(requests).toEqual([]);
  });

  test.each([404, 403, 401])(
    'for which the tracker returns %i is a comment of the gateway only under its account',
    async (status) => {
      const { ask } = requesterOf(answerOf(status));
      const own = new OwnComments(ask, 'tracker.example', new MemoryStore());
      expect(await own.isOurs(comment)).toBe(true);
      expect(await own.isOurs({ ...comment, isOwnAccount: undefined })).toBe(false);
    },
  );

  test.each([
    ['is unavailable', answerOf(503)],
    ['returns an unexpected response', answerOf(200)],
    ['limits requests', answerOf(429, {}, { 'retry-after': '7' })],
    [
      'cannot be reached',
      new RequestFault('tracker.example refused', { kind: 'unreachable', mayHaveArrived: false }),
    ],
  ])(
    'cannot be recognised as own or foreign while the tracker %s: the event is retried',
    async (_, answer) => {
      const { ask } = requesterOf(answer);
      const own = new OwnComments(ask, 'tracker.example', new MemoryStore());
      const fault = await own.isOurs(comment).catch((error) => error);
      expect(fault).toBeInstanceOf(DeliveryError);
      expect(fault.isFinal).toBe(false);
      expect(fault.message).toMatch(/^could not check whether a comment is our own: /);
      // Comments by other accounts are decided immediately.
      expect(await own.isOurs({ ...comment, isOwnAccount: undefined })).toBe(false);
    },
  );
});

describe('a written comment', () => {
  test('is recognised by its id on a tracker without properties, also after a restart', async () => {
    const store = new MemoryStore();
    const { ask } = requesterOf(answerOf(404));
    const before = new OwnComments(ask, 'tracker.example', store);
    expect(await before.write('TES-41', async () => '10019')).toBe('10019');
    const after = new OwnComments(ask, 'tracker.example', store);
    expect(await after.isOurs({ ...comment, isOwnAccount: undefined })).toBe(true);
    expect(await after.isOurs({ ...comment, id: '10020', isOwnAccount: undefined })).toBe(false);
  });

  test('delays the check of comments on the same issue only, until it is written', async () => {
    const { ask } = requesterOf(answerOf(404));
    const own = new OwnComments(ask, 'tracker.example', new MemoryStore());
    let resolve = (_: string): void => {};
    const promise = new Promise<string>((settle) => {
      resolve = settle;
    });
    const writing = own.write('TES-41', () => promise);
    const unknown = { ...comment, isOwnAccount: undefined };
    const verdict = own.isOurs(unknown);
    expect(await own.isOurs({ ...unknown, issue: 'TES-42' })).toBe(false);
    resolve('10019');
    expect(await verdict).toBe(true);
    await writing;
  });

  test('does not delay the check of other comments if its write failed', async () => {
    const { ask } = requesterOf(answerOf(404));
    const own = new OwnComments(ask, 'tracker.example', new MemoryStore());
    const failing = own.write('TES-41', () => Promise.reject(new DeliveryError('refused')));
    const verdict = own.isOurs({ ...comment, isOwnAccount: undefined });
    await expect(failing).rejects.toThrow('refused');
    expect(await verdict).toBe(false);
  });
});

test('the mark in a written comment is the same for each attempt, and does not reveal the message id', () => {
  expect(commentMark('outbox:issuetracker:desk/1')).toEqual(commentMark('outbox:issuetracker:desk/1'));
  expect(commentMark('outbox:issuetracker:desk/1')).not.toEqual(commentMark('outbox:issuetracker:desk/2'));
  expect(JSON.stringify(commentMark('outbox:issuetracker:desk/1'))).not.toContain('desk');
});
