// Messages to an app with a bot in each of two workspaces. In random order messages arrive, and the platform
// returns or refuses the identities of the bots. Messages are stored in order. A trigger accepts a message of
// its workspace, unless a bot of the app sent it.

import fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { BotMessageLimit } from '../../../../../actors/platforms/chats/message-limit.ts';
import { AppBots, isOurs } from '../../../../../actors/platforms/chatworkspace/app-bots.ts';
import { WorkspaceBot } from '../../../../../actors/platforms/chatworkspace/bot.ts';
import { ChannelNames } from '../../../../../actors/platforms/chatworkspace/channel-names.ts';
import { contentOf, readWorkspaceEvent } from '../../../../../actors/platforms/chatworkspace/event.ts';
import { WorkspaceInbox } from '../../../../../actors/platforms/chatworkspace/inbox.ts';
import { ResponseAddresses } from '../../../../../actors/platforms/chatworkspace/response-addresses.ts';
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

/** An app with a bot per workspace. The platform returns the identity of a bot if the test allows it. */
class AppInWorkspaces {
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
    responses: new ResponseAddresses(this.host.store),
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
  do: fc.constant('message' as const),
  team: fc.constantFrom(...TEAMS),
  sender: fc.constantFrom(
    'person' as const,
    'our bot' as const,
    'our bot without a user' as const,
    'bot' as const,
  ),
  /** True if the message names the bot that receives it. */
  namesBot: fc.boolean(),
});
/** `allow` and `refuse` concern bot identities. `identify` requests all identities. */
const anyStep = fc.oneof(
  { weight: 5, arbitrary: messageStep },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('allow' as const), team: fc.constantFrom(...TEAMS) }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('refuse' as const), team: fc.constantFrom(...TEAMS) }),
  },
  { weight: 1, arbitrary: fc.constant({ do: 'identify' as const }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('pass' as const), ms: fc.constantFrom(1, 6_000, 200_000) }),
  },
);

/** Returns a message payload in the channel `C` with the number. */
function payloadOf(
  { team, sender, namesBot }: typeof messageStep extends fc.Arbitrary<infer T> ? T : never,
  n: number,
) {
  const senderFields = {
    person: { user: 'UANN' },
    'our bot': { user: `U${team}`, bot_id: `B${team}` },
    'our bot without a user': { subtype: 'bot_message', bot_id: `B${team}` },
    bot: { user: 'UOTHER', bot_id: 'B9' },
  }[sender];
  return {
    team_id: team,
    type: 'event_callback',
    ...(namesBot && { authorizations: [{ team_id: team, user_id: `U${team}`, is_bot: true }] }),
    event: { type: 'message', channel: `C${n}`, ts: `${n}.1`, text: `${n}`, ...senderFields },
  };
}

const principal = { kind: 'key', name: 'app_token' } as const;

test('workspace messages are stored in order, and triggers ignore own messages and messages for other bots', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyStep, { maxLength: 25 }),
      fc.boolean(),
      async (steps, areIdentifiedFinally) => {
        const app = new AppInWorkspaces();
        const { bots, host, inbox, triggers } = app;
        /** Messages by channel. */
        const sent = new Map<string, (typeof steps)[number] & { readonly do: 'message' }>();
        const accepts: Promise<unknown>[] = [];
        for (const [n, step] of steps.entries()) {
          if (step.do === 'allow') app.identifiable.add(step.team);
          else if (step.do === 'refuse') app.identifiable.delete(step.team);
          else if (step.do === 'identify')
            await Promise.all(bots.with([]).map((bot) => bot.identifyForEvent()));
          else if (step.do === 'pass') vi.advanceTimersByTime(step.ms);
          else {
            sent.set(`C${n}`, step);
            accepts.push(
              inbox.accept({ kind: 'events_api', payload: payloadOf(step, n), triggers, principal }),
            );
          }
        }
        await Promise.all(accepts);
        const channels = host.store.events.map((event) => readWorkspaceEvent(event).channel ?? '');
        expect(channels).toEqual([...sent.keys()].filter((channel) => channels.includes(channel)));
        for (const [channel, { sender }] of sent)
          if (sender === 'person' || sender === 'bot') expect(channels).toContain(channel);
        if (areIdentifiedFinally) for (const team of TEAMS) app.identifiable.add(team);
        for (const event of host.store.events) {
          vi.advanceTimersByTime(6_000);
          const read = readWorkspaceEvent(event);
          const message = sent.get(read.channel ?? '');
          const resolution = await Promise.resolve(resolveEvent(read, bots.with([]))).catch(
            (error: unknown) => error,
          );
          // Without the identities of the bots an event is postponed, or unsupported.
          const isPostponed = resolution instanceof Error;
          const isUnsupported =
            resolution !== undefined && !isPostponed && (resolution as typeof read).unsupported !== undefined;
          if (areIdentifiedFinally) expect([isPostponed, isUnsupported]).toEqual([false, false]);
          if (isPostponed || isUnsupported) continue;
          const content = contentOf(read.payload);
          const isOwn = content !== undefined && isOurs(content, bots.with([]), read.payload) === true;
          const acceptingTriggers = isOwn
            ? []
            : triggers.filter((trigger) => bots.mayConcern(trigger, read.payload));
          const isFromOurBot = message?.sender === 'our bot' || message?.sender === 'our bot without a user';
          expect(acceptingTriggers.map(({ name }) => name)).toEqual(isFromOurBot ? [] : [message?.team]);
        }
      },
    ),
    { numRuns: 300 },
  );
});
