// Who may decide: names by the files, people as their platform vouches for them.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ApprovalBody } from '../../../../../actors/agents/approvals/approval-record.ts';
import {
  type ChatDecider,
  refusalOf,
  refusalOfNamed,
} from '../../../../../actors/agents/approvals/who-may-decide.ts';

const home = { platform: 'chat', account: 'app', place: 'ops' };
const ada = { platform: 'chat', account: 'app', user: 'U1', aliases: ['ada'] };

type Asked = Pick<ApprovalBody, 'rights' | 'requestedBy'>;

const asked = (rights: Partial<Asked['rights']>, requestedBy: Asked['requestedBy'] = ada): Asked => ({
  rights: { approvers: [], channel: undefined, selfApproval: false, home, ...rights },
  requestedBy,
});

const from = (more: Partial<ChatDecider>): ChatDecider => ({
  ...{ platform: 'chat', account: 'app', user: 'U2', aliases: ['ben'], channels: ['room'] },
  ...more,
});

test('an approver is known by id and by a name that the platform vouches for, with and without @', () => {
  for (const approvers of [['ben'], ['@ben'], ['U2'], ['@U2'], ['carl', '@Ben']])
    expect(refusalOf(asked({ approvers }), from({})), approvers.join()).toBeUndefined();
  for (const approvers of [['carl'], ['@'], ['benny'], ['@be'], ['u2']])
    expect(refusalOf(asked({ approvers }), from({})), approvers.join()).toContain('named as approvers');
});

test('the same name on another platform, or with another account, may not (WMD1)', () => {
  expect(refusalOf(asked({ approvers: ['ben'] }), from({ platform: 'mail' }))).toBe('it is not decided here');
  expect(refusalOf(asked({ approvers: ['ben'] }), from({ account: 'other' }))).toBe('it is not decided here');
  expect(refusalOf(asked({ approvers: ['ben'] }), from({ account: undefined }))).toBe(
    'it is not decided here',
  );
});

test('where nobody is named whoever is in the channel may, and nobody elsewhere', () => {
  expect(refusalOf(asked({ channel: '#ops' }), from({ channels: ['ops'] }))).toBeUndefined();
  expect(refusalOf(asked({ channel: '#ops' }), from({ channels: ['room'] }))).toContain('in the channel');
  // Not the place where it happened to be asked, which the file does not name.
  expect(refusalOf(asked({}), from({ channels: ['ops'] }))).toContain('in the channel');
});

test('whoever asked may not, by any name, unless the files say so (WMD2)', () => {
  const approvers = ['U1', 'ada', 'other'];
  const self = from({ user: 'U1', aliases: [] });
  expect(refusalOf(asked({ approvers }), self)).toBe('whoever asked may not decide');
  expect(refusalOf(asked({ approvers }), from({ user: 'other', aliases: ['Ada'] }))).toBeDefined();
  expect(refusalOf(asked({ approvers, selfApproval: true }), self)).toBeUndefined();
  // Asked elsewhere by that name: perhaps the same one.
  const elsewhere = asked({ approvers }, { platform: 'repo', user: 'ada', aliases: [] });
  expect(refusalOf(elsewhere, from({ user: 'U7', aliases: ['ada'] }))).toBeDefined();
});

test('somebody whom an operator names has the rights of a named approver, and none of a channel', () => {
  expect(refusalOfNamed(asked({ approvers: ['ben'] }), '@ben')).toBeUndefined();
  expect(refusalOfNamed(asked({ approvers: ['ben'] }), 'carl')).toContain('named as approvers');
  expect(refusalOfNamed(asked({ channel: '#ops' }), 'ben')).toContain('named as approvers');
  expect(refusalOfNamed(asked({ approvers: ['ada'] }), 'ada')).toContain('whoever asked');
  expect(refusalOfNamed(asked({ approvers: ['', '@'] }), '@')).toContain('named as approvers');
});

const word = fc.constantFrom('ada', 'ben', 'carl', '@ada', 'Ada', 'ops', '#ops', 'U1', '', ' ', '*', '@');
const words = fc.array(word, { maxLength: 3 });
const platform = fc.constantFrom('chat', 'mail');
const account = fc.constantFrom('app', 'other', undefined);

test('whoever may is named by the files or is where they say, at that platform and account, and has not asked', () => {
  const decider = fc.record({ platform, account, user: word, aliases: words, channels: words });
  const requester = fc.option(fc.record({ platform, account, user: word, aliases: words }), {
    nil: undefined,
  });
  const rights = fc.record({
    approvers: words,
    channel: fc.option(word, { nil: undefined }),
    selfApproval: fc.boolean(),
    home: fc.option(fc.record({ platform, account: fc.constantFrom('app', 'other'), place: word }), {
      nil: undefined,
    }),
  });
  const plain = (name: string) => name.trim().replace(/^@/, '');
  let allowed = 0;
  fc.assert(
    fc.property(decider, requester, rights, (who, requestedBy, given) => {
      if (refusalOf({ rights: given, requestedBy }, who) !== undefined) return;
      allowed += 1;
      expect(given.home).toMatchObject({ platform: who.platform, account: who.account });
      const names = [who.user, ...who.aliases].map(plain);
      if (given.approvers.length > 0) {
        const approvers = given.approvers.map(plain).filter((name) => name !== '');
        expect(approvers.some((name) => names.includes(name) || names.includes(name.toLowerCase()))).toBe(
          true,
        );
      } else {
        expect(given.channel).toBeDefined();
        expect(who.channels).toContain(given.home?.place);
      }
      if (!given.selfApproval && requestedBy !== undefined)
        for (const name of [requestedBy.user, ...requestedBy.aliases])
          expect(names).not.toContain(plain(name));
    }),
    { numRuns: 2_000 },
  );
  expect(allowed).toBeGreaterThan(10);
});
