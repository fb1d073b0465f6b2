// Permission to decide approvals: approvers are configured in files, and the platform guarantees the sender's
// identity.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type ChatDecider,
  refusalForName,
  refusalOf,
} from '../../../../../actors/agents/approvals/decision-access.ts';
import type { ApprovalBody } from '../../../../../actors/agents/approvals/record.ts';

const home = { platform: 'chat', account: 'app', place: 'ops' };
const ada = { platform: 'chat', account: 'app', user: 'U1', aliases: ['ada'] };

type Asked = Pick<ApprovalBody, 'rights' | 'requestedBy'>;

const request = (rights: Partial<Asked['rights']>, requestedBy: Asked['requestedBy'] = ada): Asked => ({
  rights: { approvers: [], channel: undefined, selfApproval: false, home, ...rights },
  requestedBy,
});

const from = (more: Partial<ChatDecider>): ChatDecider => ({
  platform: 'chat',
  account: 'app',
  user: 'U2',
  aliases: ['ben'],
  channels: ['room'],
  ...more,
});

test('the access check accepts an approver by id and by a name that the platform vouches for, with and without @', () => {
  for (const approvers of [['ben'], ['@ben'], ['U2'], ['@U2'], ['carl', '@Ben']])
    expect(refusalOf(request({ approvers }), from({})), approvers.join()).toBeUndefined();
  for (const approvers of [['carl'], ['@'], ['benny'], ['@be'], ['u2']])
    expect(refusalOf(request({ approvers }), from({})), approvers.join()).toContain('only named approvers');
});

test('the access check refuses an approver with the same name from another platform or account', () => {
  expect(refusalOf(request({ approvers: ['ben'] }), from({ platform: 'mail' }))).toBe(
    'the decision must be made where the approval was requested',
  );
  expect(refusalOf(request({ approvers: ['ben'] }), from({ account: 'other' }))).toBe(
    'the decision must be made where the approval was requested',
  );
  expect(refusalOf(request({ approvers: ['ben'] }), from({ account: undefined }))).toBe(
    'the decision must be made where the approval was requested',
  );
});

test('the access check accepts any member of the channel if no approvers are named, and no one outside it', () => {
  expect(refusalOf(request({ channel: '#ops' }), from({ channels: ['ops'] }))).toBeUndefined();
  expect(refusalOf(request({ channel: '#ops' }), from({ channels: ['room'] }))).toContain('in the channel');
  expect(refusalOf(request({}), from({ channels: ['ops'] }))).toContain('in the channel');
});

test('the access check refuses the requester under each of their names, unless self-approval is allowed', () => {
  const approvers = ['U1', 'ada', 'other'];
  const self = from({ user: 'U1', aliases: [] });
  expect(refusalOf(request({ approvers }), self)).toBe('the requester may not decide');
  expect(refusalOf(request({ approvers }), from({ user: 'other', aliases: ['Ada'] }))).toBeDefined();
  expect(refusalOf(request({ approvers, selfApproval: true }), self)).toBeUndefined();
  // Equal user names on two platforms may belong to the same person.
  const otherPlatform = request({ approvers }, { platform: 'repo', user: 'ada', aliases: [] });
  expect(refusalOf(otherPlatform, from({ user: 'U7', aliases: ['ada'] }))).toBeDefined();
});

test('the access check gives a person named by an operator the rights of a named approver, but not those of a channel member', () => {
  expect(refusalForName(request({ approvers: ['ben'] }), '@ben')).toBeUndefined();
  expect(refusalForName(request({ approvers: ['ben'] }), 'carl')).toContain('only named approvers');
  expect(refusalForName(request({ channel: '#ops' }), 'ben')).toContain('only named approvers');
  expect(refusalForName(request({ approvers: ['ada'] }), 'ada')).toContain('the requester may not');
  expect(refusalForName(request({ approvers: ['', '@'] }), '@')).toContain('only named approvers');
});

const userName = fc.constantFrom('ada', 'ben', 'carl', '@ada', 'Ada', 'ops', '#ops', 'U1', '', ' ', '*', '@');
const userNames = fc.array(userName, { maxLength: 3 });
const platform = fc.constantFrom('chat', 'mail');
const account = fc.constantFrom('app', 'other', undefined);

test('the access check accepts only named approvers or channel members of the right account, and never the requester', () => {
  const decider = fc.record({ platform, account, user: userName, aliases: userNames, channels: userNames });
  const requester = fc.option(fc.record({ platform, account, user: userName, aliases: userNames }), {
    nil: undefined,
  });
  const rights = fc.record({
    approvers: userNames,
    channel: fc.option(userName, { nil: undefined }),
    selfApproval: fc.boolean(),
    home: fc.option(fc.record({ platform, account: fc.constantFrom('app', 'other'), place: userName }), {
      nil: undefined,
    }),
  });
  const plain = (name: string) => name.trim().replace(/^@/, '');
  let allowed = 0;
  fc.assert(
    fc.property(decider, requester, rights, (by, requestedBy, drawnRights) => {
      if (refusalOf({ rights: drawnRights, requestedBy }, by) !== undefined) return;
      allowed += 1;
      expect(drawnRights.home).toMatchObject({ platform: by.platform, account: by.account });
      const names = [by.user, ...by.aliases].map(plain);
      if (drawnRights.approvers.length > 0) {
        const approvers = drawnRights.approvers.map(plain).filter((name) => name !== '');
        expect(approvers.some((name) => names.includes(name) || names.includes(name.toLowerCase()))).toBe(
          true,
        );
      } else {
        expect(drawnRights.channel).toBeDefined();
        expect(by.channels).toContain(drawnRights.home?.place);
      }
      if (!drawnRights.selfApproval && requestedBy !== undefined)
        for (const name of [requestedBy.user, ...requestedBy.aliases])
          expect(names).not.toContain(plain(name));
    }),
    { numRuns: 2_000 },
  );
  expect(allowed).toBeGreaterThan(10);
});

test('a request in the name of a chat is decided by an operator only, unless self-approval is allowed', () => {
  const chat = { platform: 'chat', account: 'app', user: '-1001', aliases: ['team'], isShared: true };
  const asked = request({ approvers: ['ben', 'carl'] }, chat);
  for (const decider of [from({}), from({ user: 'U3', aliases: ['carl'], channels: ['ops'] })])
    expect(refusalOf(asked, decider)).toContain('only an operator may decide');
  expect(refusalForName(asked, 'ben')).toContain('only an operator may decide');
  expect(refusalOf(request({ approvers: ['ben'], selfApproval: true }, chat), from({}))).toBeUndefined();
});
