// What an app of two workspaces is told, in any order, while its bots become known, are not told, or never are: what is kept and for
// whom, in what order, and that nobody takes what is another's or our own (AB1, AB2, UE1, UE2).

import fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { BotTurns } from '../../../../../actors/platforms/chats/bot-turns.ts';
import { AppBots, isOurs } from '../../../../../actors/platforms/chatworkspace/app-bots.ts';
import { WorkspaceBot } from '../../../../../actors/platforms/chatworkspace/bot.ts';
import { ChannelNames } from '../../../../../actors/platforms/chatworkspace/channel-names.ts';
import { readWorkspaceEvent, saidOf } from '../../../../../actors/platforms/chatworkspace/event.ts';
import { WorkspaceInbox } from '../../../../../actors/platforms/chatworkspace/inbox.ts';
import { decided } from '../../../../../actors/platforms/chatworkspace/undecided-event.ts';
import { TestSourceHost } from '../../../../fixtures/automation/source-host.ts';
import { chatWorkspaceTrigger } from '../../../../fixtures/automation/triggers.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const TEAMS = ['T1', 'T2'] as const;
type Team = (typeof TEAMS)[number];

/** An app with a bot in each workspace, of whom the platform tells when the test lets it. */
class World {
  readonly host = new TestSourceHost();
  readonly telling = new Set<Team>();
  readonly triggers = TEAMS.map((team) => chatWorkspaceTrigger(team, { bots: 'allow', bot_token: team }));
  readonly #byToken = new Map(TEAMS.map((team) => [team as string, this.#botIn(team)]));
  readonly bots = new AppBots(({ config }) => this.#byToken.get(config.bot_token) as WorkspaceBot);
  readonly inbox = new WorkspaceInbox({
    account: {
      name: 'A1',
      turns: new BotTurns(),
      channels: new ChannelNames(this.host.log),
      bots: this.bots,
    },
    host: this.host,
  });

  constructor() {
    for (const trigger of this.triggers) {
      this.bots.join(trigger);
      void this.bots.with([]).map((bot) => bot.load());
    }
  }

  #botIn(team: Team): WorkspaceBot {
    const bot = new WorkspaceBot(team, 'http://127.0.0.1:1', this.host.store);
    const identity = async () => {
      if (!this.telling.has(team)) throw new Error('away');
      return { team, user: `U${team}`, bot: `B${team}` };
    };
    Object.defineProperty(bot.api, 'identity', { value: identity });
    return bot;
  }
}

const saying = fc.record({
  do: fc.constant('say' as const),
  team: fc.constantFrom(...TEAMS),
  who: fc.constantFrom(
    'person' as const,
    'our bot' as const,
    'our bot without a user' as const,
    'bot' as const,
  ),
  isNamed: fc.boolean(),
});
const happening = fc.oneof(
  { weight: 5, arbitrary: saying },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('tell' as const), team: fc.constantFrom(...TEAMS) }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('fall silent' as const), team: fc.constantFrom(...TEAMS) }),
  },
  { weight: 1, arbitrary: fc.constant({ do: 'ask' as const }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('pass' as const), ms: fc.constantFrom(1, 6_000, 200_000) }),
  },
);

function payloadOf(
  { team, who, isNamed }: typeof saying extends fc.Arbitrary<infer T> ? T : never,
  n: number,
) {
  const by = {
    person: { user: 'UANN' },
    'our bot': { user: `U${team}`, bot_id: `B${team}` },
    'our bot without a user': { subtype: 'bot_message', bot_id: `B${team}` },
    bot: { user: 'UOTHER', bot_id: 'B9' },
  }[who];
  return {
    team_id: team,
    type: 'event_callback',
    ...(isNamed && { authorizations: [{ team_id: team, user_id: `U${team}`, is_bot: true }] }),
    event: { type: 'message', channel: `C${n}`, ts: `${n}.1`, text: `${n}`, ...by },
  };
}

const principal = { kind: 'key', name: 'app_token' } as const;

test('what is said is kept in its order, nothing of our own is taken, and nothing by the wrong bot', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(happening, { maxLength: 25 }),
      fc.boolean(),
      async (happenings, tellsInTheEnd) => {
        const world = new World();
        const { bots, host, inbox, triggers } = world;
        const said = new Map<string, (typeof happenings)[number] & { readonly do: 'say' }>();
        const taking: Promise<unknown>[] = [];
        for (const [n, each] of happenings.entries()) {
          if (each.do === 'tell') world.telling.add(each.team);
          else if (each.do === 'fall silent') world.telling.delete(each.team);
          else if (each.do === 'ask') await Promise.all(bots.with([]).map((bot) => bot.identifySoon()));
          else if (each.do === 'pass') vi.advanceTimersByTime(each.ms);
          else {
            said.set(`C${n}`, each);
            taking.push(inbox.take({ kind: 'events_api', payload: payloadOf(each, n), triggers, principal }));
          }
        }
        await Promise.all(taking);
        const channels = host.store.events.map((event) => readWorkspaceEvent(event).channel ?? '');
        expect(channels).toEqual([...said.keys()].filter((channel) => channels.includes(channel)));
        for (const [channel, { who }] of said)
          if (who === 'person' || who === 'bot') expect(channels).toContain(channel);
        if (tellsInTheEnd) for (const team of TEAMS) world.telling.add(team);
        for (const event of host.store.events) {
          vi.advanceTimersByTime(6_000);
          const read = readWorkspaceEvent(event);
          const what = said.get(read.channel ?? '');
          const known = await Promise.resolve(decided(read, bots.with([]))).catch((error: unknown) => error);
          const isPutOff = known instanceof Error;
          const isUntaken =
            known !== undefined && !isPutOff && (known as typeof read).unsupported !== undefined;
          if (tellsInTheEnd) expect([isPutOff, isUntaken]).toEqual([false, false]);
          if (isPutOff || isUntaken) continue;
          const about = saidOf(read.payload);
          const isOwn = about !== undefined && isOurs(about, bots.with([]), read.payload) === true;
          const takers = isOwn ? [] : triggers.filter((trigger) => bots.mayBeFor(trigger, read.payload));
          const isOfOurs = what?.who === 'our bot' || what?.who === 'our bot without a user';
          expect(takers.map(({ name }) => name)).toEqual(isOfOurs ? [] : [what?.team]);
        }
      },
    ),
    { numRuns: 300 },
  );
});
