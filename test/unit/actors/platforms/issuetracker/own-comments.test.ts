import { describe, expect, test } from 'vitest';
import { DeliveryError } from '../../../../../actors/events/outbox/delivery-error.ts';
import {
  COMMENT_PROPERTY,
  commentMark,
  OwnComments,
} from '../../../../../actors/platforms/issuetracker/own-comments.ts';
import { RequestFault } from '../../../../../libs/rest/request-fault.ts';
import { MemoryStore } from '../../../../fixtures/store/memory-store.ts';
import { answerOf, askedOf } from './tracker-answers.ts';

const comment = { issue: 'TES-41', id: '10019', isOwnAccount: true };
const keys = (...names: readonly string[]) => answerOf(200, { keys: names.map((key) => ({ key })) });

describe('a comment', () => {
  test('with our property is one of ours, whoever is said to have written it (ITC1)', async () => {
    const { ask, requests } = askedOf(keys('sd.public.comment', COMMENT_PROPERTY));
    const own = new OwnComments(ask, 'tracker.example', new MemoryStore());
    expect(await own.isOurs(comment)).toBe(true);
    expect(await own.isOurs({ ...comment, isOwnAccount: undefined })).toBe(true);
    expect(requests[0]).toMatchObject({ path: '/rest/api/3/comment/10019/properties' });
  });

  test('that a person has written under our account is none', async () => {
    const { ask } = askedOf(keys('sd.public.comment'));
    expect(await new OwnComments(ask, 'tracker.example', new MemoryStore()).isOurs(comment)).toBe(false);
  });

  test('of another account is none, and nobody is asked', async () => {
    const { ask, requests } = askedOf(keys(COMMENT_PROPERTY));
    const own = new OwnComments(ask, 'tracker.example', new MemoryStore());
    expect(await own.isOurs({ ...comment, isOwnAccount: false })).toBe(false);
    expect(requests).toEqual([]);
  });

  test.each([404, 403, 401])(
    'of which the tracker says nothing but %i counts as ours under our account alone (ITC3)',
    async (status) => {
      const { ask } = askedOf(answerOf(status));
      const own = new OwnComments(ask, 'tracker.example', new MemoryStore());
      expect(await own.isOurs(comment)).toBe(true);
      expect(await own.isOurs({ ...comment, isOwnAccount: undefined })).toBe(false);
    },
  );

  test.each([
    ['is down', answerOf(503)],
    ['answers something else', answerOf(200)],
    ['takes no more', answerOf(429, {}, { 'retry-after': '7' })],
    [
      'is not there',
      new RequestFault('tracker.example refused', { kind: 'unreachable', mayHaveArrived: false }),
    ],
  ])('is neither while the tracker %s: the event comes again (ITC3)', async (_, answer) => {
    const { ask } = askedOf(answer);
    const own = new OwnComments(ask, 'tracker.example', new MemoryStore());
    const fault = await own.isOurs(comment).catch((error) => error);
    expect(fault).toBeInstanceOf(DeliveryError);
    expect(fault.isFinal).toBe(false);
    expect(fault.message).toMatch(/^whether a comment is one of our own is not known: /);
    // A person's comment does not wait for that.
    expect(await own.isOurs({ ...comment, isOwnAccount: undefined })).toBe(false);
  });
});

describe('what was written', () => {
  test('is known by its id where a tracker keeps no properties, after a restart too (ITC2)', async () => {
    const store = new MemoryStore();
    const { ask } = askedOf(answerOf(404));
    const before = new OwnComments(ask, 'tracker.example', store);
    expect(await before.write('TES-41', async () => '10019')).toBe('10019');
    const after = new OwnComments(ask, 'tracker.example', store);
    expect(await after.isOurs({ ...comment, isOwnAccount: undefined })).toBe(true);
    expect(await after.isOurs({ ...comment, id: '10020', isOwnAccount: undefined })).toBe(false);
  });

  test('is waited for while it is being written to the issue, and to that one alone (ITC2)', async () => {
    const { ask } = askedOf(answerOf(404));
    const own = new OwnComments(ask, 'tracker.example', new MemoryStore());
    let resolve = (_: string): void => {};
    const promise = new Promise<string>((settle) => {
      resolve = settle;
    });
    const writing = own.write('TES-41', () => promise);
    const unknown = { ...comment, isOwnAccount: undefined };
    const asked = own.isOurs(unknown);
    expect(await own.isOurs({ ...unknown, issue: 'TES-42' })).toBe(false);
    resolve('10019');
    expect(await asked).toBe(true);
    await writing;
  });

  test('in vain holds up nobody for longer than that takes', async () => {
    const { ask } = askedOf(answerOf(404));
    const own = new OwnComments(ask, 'tracker.example', new MemoryStore());
    const failing = own.write('TES-41', () => Promise.reject(new DeliveryError('refused')));
    const asked = own.isOurs({ ...comment, isOwnAccount: undefined });
    await expect(failing).rejects.toThrow('refused');
    expect(await asked).toBe(false);
  });
});

test('the mark of a row is the same at each attempt, and says nothing of the row', () => {
  expect(commentMark('outbox:issuetracker:desk/1')).toEqual(commentMark('outbox:issuetracker:desk/1'));
  expect(commentMark('outbox:issuetracker:desk/1')).not.toEqual(commentMark('outbox:issuetracker:desk/2'));
  expect(JSON.stringify(commentMark('outbox:issuetracker:desk/1'))).not.toContain('desk');
});
