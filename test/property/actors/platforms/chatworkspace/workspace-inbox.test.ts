// Messages to an app in two workspaces, in random order, while the identities of the bots are known, unknown
// or unavailable: which events are stored, in which order, and which trigger accepts them.

import fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { BotMessageLimit } from '../../../../../actors/platforms/chats/message-limit.ts';
import { AppBots, isOurs } from '../../../../../actors/platforms/chatworkspace/app-bots.ts';
import { WorkspaceBot } from '../../../../../actors/platforms/chatworkspace/bot.ts';
import { ChannelNames } from '../../../../../actors/platforms/chatworkspace/channel-names.ts';
import { contentOf, readWorkspaceEvent } from '../../../../../actors/platforms/chatworkspace/event.ts';
import { WorkspaceInbox } from '../../../../../actors/platforms/chatworkspace/inbox.ts';
import { resolveEvent } from '../../../../../actors/platforms/chatworkspace/unresolved-event.ts';
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

/** An app with a bot in each workspace. The platform returns the identity of a bot if the test allows it. */
class World {
  readonly host = new TestSourceHost();
  readonly identifiable = new Set<Team>();
  readonly triggers = TEAMS.map((team) => chatWorkspaceTrigger(team, { bots: 'allow', bot_token: team }));
  readonly #byToken = new Map(TEAMS.map((team) => [team as string, this.#botIn(team)]));
  readonly bots = new AppBots(({ config }) => this.#byToken.get(config.bot_token) as WorkspaceBot);
  readonly inbox = new WorkspaceInbox({
    account: {
      name: 'A1',
      messageLimit: new BotMessageLimit(),
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
      if (!this.identifiable.has(team)) throw new Error('away');
      return { team, user: `U${team}`, bot: `B${team}` };
    };
    Object.defineProperty(bot.api, 'identity', { value: identity });
    return bot;
  }
}

const messageStep = fc.record({
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
  { weight: 5, arbitrary: messageStep },
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
  { team, who, isNamed }: typeof messageStep extends fc.Arbitrary<infer T> ? T : never,
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

test('workspace messages are stored in order, and triggers ignore own messages and messages for other bots', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(happening, { maxLength: 25 }),
      fc.boolean(),
      async (happenings, tellsInTheEnd) => {
        const world = new World();
        const { bots, host, inbox, triggers } = world;
        const sent = new Map<string, (typeof happenings)[number] & { readonly do: 'say' }>();
        const accepts: Promise<unknown>[] = [];
        for (const [n, each] of happenings.entries()) {
          if (each.do === 'tell') world.identifiable.add(each.team);
          else if (each.do === 'fall silent') world.identifiable.delete(each.team);
          else if (each.do === 'ask') await Promise.all(bots.with([]).map((bot) => bot.identifyForEvent()));
          else if (each.do === 'pass') vi.advanceTimersByTime(each.ms);
          else {
            sent.set(`C${n}`, each);
            accepts.push(
              inbox.accept({ kind: 'events_api', payload: payloadOf(each, n), triggers, principal }),
            );
          }
        }
        await Promise.all(accepts);
        const channels = host.store.events.map((event) => readWorkspaceEvent(event).channel ?? '');
        expect(channels).toEqual([...sent.keys()].filter((channel) => channels.includes(channel)));
        for (const [channel, { who }] of sent)
          if (who === 'person' || who === 'bot') expect(channels).toContain(channel);
        if (tellsInTheEnd) for (const team of TEAMS) world.identifiable.add(team);
        for (const event of host.store.events) {
          vi.advanceTimersByTime(6_000);
          const read = readWorkspaceEvent(event);
          const step = sent.get(read.channel ?? '');
          const resolution = await Promise.resolve(resolveEvent(read, bots.with([]))).catch(
            (error: unknown) => error,
          );
          const isPostponed = resolution instanceof Error;
          const isUnsupported =
            resolution !== undefined && !isPostponed && (resolution as typeof read).unsupported !== undefined;
          if (tellsInTheEnd) expect([isPostponed, isUnsupported]).toEqual([false, false]);
          if (isPostponed || isUnsupported) continue;
          const about = contentOf(read.payload);
          const isOwn = about !== undefined && isOurs(about, bots.with([]), read.payload) === true;
          const acceptingTriggers = isOwn
            ? []
            : triggers.filter((trigger) => bots.mayConcern(trigger, read.payload));
          const isOwnBot = step?.who === 'our bot' || step?.who === 'our bot without a user';
          expect(acceptingTriggers.map(({ name }) => name)).toEqual(isOwnBot ? [] : [step?.team]);
        }
      },
    ),
    { numRuns: 300 },
  );
});
