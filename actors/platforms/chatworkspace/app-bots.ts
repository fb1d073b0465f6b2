// Tracks the bots of an app, one per workspace. Decides which bot an event is for, and which content comes
// from the app's own bots. The platform returns a bot's identity, which may be unknown for a while.
//
// Each trigger uses one bot. A trigger gets an event only if its bot may be in the event's workspace. It does
// not if another bot is known to be there, or if only another bot can be there. Messages of the app's own
// bots are never events; nor is a bot message whose sender is still unknown.

import type { ChatWorkspaceTrigger } from '../../../config/resources/triggers/trigger.ts';
import { textMember } from '../payloads/payload-member.ts';
import type { WorkspaceBot } from './bot.ts';
import { botsIn, type PayloadContent, teamsOf } from './payload.ts';

export class AppBots {
  readonly #botOf: (trigger: ChatWorkspaceTrigger) => WorkspaceBot;
  readonly #open = new Set<ChatWorkspaceTrigger>();

  constructor(botOf: (trigger: ChatWorkspaceTrigger) => WorkspaceBot) {
    this.#botOf = botOf;
  }

  /** Adds an open trigger's bot. Returns a function that removes it. */
  join(trigger: ChatWorkspaceTrigger): () => void {
    this.#open.add(trigger);
    return () => this.#open.delete(trigger);
  }

  /** Returns the bots for `triggers` and all open triggers, without duplicates. */
  with(triggers: readonly ChatWorkspaceTrigger[]): readonly WorkspaceBot[] {
    return [...new Set([...this.#open, ...triggers].map(this.#botOf))];
  }

  /** User ids of the identified bots. */
  get users(): readonly string[] {
    return usersOf(this.with([]), undefined);
  }

  /** Returns true if the payload may be for the trigger's bot, according to the payload's workspaces. */
  mayConcern(trigger: ChatWorkspaceTrigger, payload: unknown): boolean {
    return isPossibleReceiver(this.#botOf(trigger), this.with([trigger]), teamsOf(payload));
  }
}

/** Returns the user ids of the bots, from their identities and from the payload. */
export function usersOf(bots: readonly WorkspaceBot[], payload: unknown): readonly string[] {
  const identifiedUsers = bots.flatMap(({ identity }) => identity?.user ?? []);
  return [...new Set([...identifiedUsers, ...botsIn(payload)])];
}

/**
 * Returns true if it is unknown which bot the event is for: several unidentified bots may be in its
 * workspace.
 */
export function isUndecided(bots: readonly WorkspaceBot[], payload: unknown): boolean {
  const teams = teamsOf(payload);
  return teams.length > 0 && !bots.some(isIn(teams)) && bots.filter(isUnknown).length > 1;
}

/** Returns true if one of the bots sent the content, or joined the channel; undefined if unknown. */
export function isOurs(
  content: PayloadContent,
  bots: readonly WorkspaceBot[],
  payload: unknown,
): boolean | undefined {
  if (content.type !== 'message' && content.type !== 'arrival' && content.type !== 'reaction') return false;
  if (usersOf(bots, payload).includes(content.sender.id)) return true;
  // The gateway itself adds no reactions.
  if (content.type === 'reaction') return false;
  if (content.type === 'message' && content.botId !== undefined) {
    const { botId, appId } = content;
    const app = textMember(payload, 'api_app_id');
    if (bots.some(({ identity }) => identity?.bot === botId)) return true;
    if (appId !== undefined && app !== undefined) return appId === app;
  }
  // Some bot messages contain no user id, only a bot id.
  const hasUserId = content.type === 'arrival' || content.sender.id !== content.botId;
  // The payload names the app's bots, and the sender is none of them.
  if (hasUserId && botsIn(payload).length > 0) return false;
  const teams = teamsOf(payload);
  return bots.some((bot) => isUnknown(bot) && isPossibleReceiver(bot, bots, teams)) ? undefined : false;
}

/** Returns true if the author may be one of the app's bots. */
export function mayBeByUs(
  author: string | undefined,
  bots: readonly WorkspaceBot[],
  payload: unknown,
): boolean {
  return author === undefined || bots.some(isUnknown) || usersOf(bots, payload).includes(author);
}

const isUnknown = ({ identity }: WorkspaceBot) => identity === undefined;

const isIn =
  (teams: readonly string[]) =>
  ({ identity }: WorkspaceBot): boolean =>
    identity !== undefined && teams.includes(identity.team);

/**
 * Returns true if the bot is in one of the workspaces or, while it is unknown which bot is there, if this bot
 * may be there.
 */
function isPossibleReceiver(
  bot: WorkspaceBot,
  bots: readonly WorkspaceBot[],
  teams: readonly string[],
): boolean {
  if (teams.length === 0) return true;
  if (bots.some(isIn(teams))) return isIn(teams)(bot);
  // No identified bot is in the workspaces, so only an unidentified bot can be there. If all bots are
  // identified, all are returned, and the access filter refuses the event with a reason.
  return isUnknown(bot) || !bots.some(isUnknown);
}
