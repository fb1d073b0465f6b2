// The bots of one app, one for each workspace that it is in: which of them an event is for, and what they have said themselves.
// Who they are the platform says, and perhaps not at once: then something cannot be known yet.
//
// AB1  a workspace excludes a trigger only where the bot of another one of the app is known to be in it, or is the only one that may be.
// AB2  what one of our bots has said is never for them; nor is what a bot has said while nobody knows whether it is one of ours.

import type { ChatWorkspaceTrigger } from '../../../config/resources/triggers/trigger.ts';
import { textMember } from '../payloads/payload-member.ts';
import type { WorkspaceBot } from './bot.ts';
import { authorizedBots, type Said, teamsOf } from './payload.ts';

export class AppBots {
  readonly #botOf: (trigger: ChatWorkspaceTrigger) => WorkspaceBot;
  readonly #open = new Set<ChatWorkspaceTrigger>();

  constructor(botOf: (trigger: ChatWorkspaceTrigger) => WorkspaceBot) {
    this.#botOf = botOf;
  }

  /** Of a trigger that is open from now on. Gives the way to leave. */
  join(trigger: ChatWorkspaceTrigger): () => void {
    this.#open.add(trigger);
    return () => this.#open.delete(trigger);
  }

  /** Of triggers that are open, and of these, each once. */
  with(triggers: readonly ChatWorkspaceTrigger[]): readonly WorkspaceBot[] {
    return [...new Set([...this.#open, ...triggers].map(this.#botOf))];
  }

  /** As far as they are known. */
  get users(): readonly string[] {
    return usersOf(this.with([]), undefined);
  }

  /** Whether an event may be for a trigger, by the workspaces in whose name it came. */
  mayBeFor(trigger: ChatWorkspaceTrigger, payload: unknown): boolean {
    return mayBeFor(this.#botOf(trigger), this.with([trigger]), teamsOf(payload));
  }
}

/** Whom an event may mention, and who may have said it. */
export function usersOf(bots: readonly WorkspaceBot[], payload: unknown): readonly string[] {
  const known = bots.flatMap(({ identity }) => identity?.user ?? []);
  return [...new Set([...known, ...authorizedBots(payload)])];
}

/** Several of them may be in the workspace of an event, and nobody knows which. */
export function isUndecided(bots: readonly WorkspaceBot[], payload: unknown): boolean {
  const teams = teamsOf(payload);
  return teams.length > 0 && !bots.some(isIn(teams)) && bots.filter(isUnknown).length > 1;
}

/** Whether one of them has said it, or has come; undefined while nobody knows. */
export function isOurs(said: Said, bots: readonly WorkspaceBot[], payload: unknown): boolean | undefined {
  if (said.what !== 'message' && said.what !== 'arrival' && said.what !== 'reaction') return false;
  if (usersOf(bots, payload).includes(said.sender.id)) return true;
  // None of ours puts marks on messages.
  if (said.what === 'reaction') return false;
  if (said.what === 'message' && said.botId !== undefined) {
    const { botId, appId } = said;
    const app = textMember(payload, 'api_app_id');
    if (bots.some(({ identity }) => identity?.bot === botId)) return true;
    if (appId !== undefined && app !== undefined) return appId === app;
  }
  // Some bots write without a user, by whom they could be known.
  const isNamed = said.what === 'arrival' || said.sender.id !== said.botId;
  if (isNamed && authorizedBots(payload).length > 0) return false;
  const teams = teamsOf(payload);
  return bots.some((bot) => isUnknown(bot) && mayBeFor(bot, bots, teams)) ? undefined : false;
}

/** Whether a message may be one of ours, by who the platform says has written it. */
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

function mayBeFor(bot: WorkspaceBot, bots: readonly WorkspaceBot[], teams: readonly string[]): boolean {
  if (teams.length === 0) return true;
  if (bots.some(isIn(teams))) return isIn(teams)(bot);
  return isUnknown(bot) || !bots.some(isUnknown);
}
