// What becomes of the payloads of one app, however they come: events in the store, or nothing.
//
// What may be of use to an agent is durable when a promise of this resolves, and not before. While nobody knows who our bot is
// nothing is taken that could be its own, or that it could be mentioned in: the platform brings it again.

import type { ChatWorkspaceTrigger } from '../../../config/resources/triggers/trigger.ts';
import { UnavailableError } from '../../errors.ts';
import type { Principal } from '../../principal.ts';
import type { Appended } from '../../store/store.ts';
import type { SourceHost } from '../adapter.ts';
import type { BotIdentity } from './chatworkspace-api.ts';
import { workspaceEvent } from './chatworkspace-event.ts';
import type { WorkspaceAccount, WorkspaceBot } from './workspace-account.ts';
import { authorizedBots, type PayloadKind, type Said, saidIn, teamsOf } from './workspace-payload.ts';

/** The platform waits for three seconds. */
const IDENTIFY_MS = 1_500;

export interface InboxOptions {
  readonly account: WorkspaceAccount;
  readonly host: SourceHost;
  botOf(trigger: ChatWorkspaceTrigger): WorkspaceBot;
}

export interface TakenPayload {
  readonly kind: PayloadKind;
  readonly payload: unknown;
  /** Those of the app, at least one. */
  readonly triggers: readonly ChatWorkspaceTrigger[];
  /** Who brings it. */
  readonly principal: Principal;
}

export class WorkspaceInbox {
  readonly #options: InboxOptions;

  constructor(options: InboxOptions) {
    this.#options = options;
  }

  /**
   * Undefined for what is nothing for an agent. Rejects as the store does, and with an UnavailableError while it cannot be known
   * whether it is our own.
   */
  async take({ kind, payload, triggers, principal }: TakenPayload): Promise<Appended | undefined> {
    const said = saidIn(kind, payload);
    if (said === undefined) return undefined;
    const { account, host } = this.#options;
    const bots = await this.#botsFor(said, payload, triggers);
    if (isOwn(said, bots, payload) || !this.#isItsTurn(said)) return undefined;
    const event = workspaceEvent({
      account: account.name,
      triggers: triggers.map(({ name }) => name),
      principal,
      kind,
      payload,
      said,
      bots: bots.map(({ user }) => user),
    });
    return host.accept(event);
  }

  /** Our bots in the workspaces that it comes from. */
  async #botsFor(
    said: Said,
    payload: unknown,
    triggers: readonly ChatWorkspaceTrigger[],
  ): Promise<readonly BotIdentity[]> {
    const { botOf, host } = this.#options;
    const bots = [...new Set(triggers.map(botOf))];
    await Promise.all(bots.map((bot) => bot.load(host.store)));
    const matters = said.what === 'message' || said.what === 'arrival';
    if (matters && bots.every(({ identity }) => identity === undefined))
      await Promise.all(bots.map((bot) => bot.identifySoon(host.store, IDENTIFY_MS)));
    const teams = teamsOf(payload);
    const known = bots.flatMap(({ identity }) => identity ?? []);
    const ofTeam = known.filter(({ team }) => teams.length === 0 || teams.includes(team));
    if (ofTeam.length > 0) return ofTeam;
    const authorized = authorizedBots(payload).map((user) => ({ team: '', user, bot: undefined }));
    if (matters && known.length === 0 && authorized.length === 0)
      throw new UnavailableError('the platform has not said yet who the bot is; send it again', 2);
    return authorized;
  }

  #isItsTurn(said: Said): boolean {
    if (said.what !== 'message') return true;
    const { account, host } = this.#options;
    const { id, channel, thread, isByBot } = said;
    const conversation = thread === undefined ? channel : `${channel}/${thread}`;
    const { isTaken, isFirst } = account.turns.take({ conversation, isByBot, id });
    if (isFirst === true)
      host.log.warn(
        { app: account.name, channel, thread },
        'bots answer each other in a conversation; they are not taken until a person writes there',
      );
    return isTaken;
  }
}

/** What our bot has said itself, and that somebody else came. */
function isOwn(said: Said, bots: readonly BotIdentity[], payload: unknown): boolean {
  if (said.what === 'arrival') return !bots.some(({ user }) => user === said.sender.id);
  if (said.what !== 'message') return false;
  const { sender, botId, appId } = said;
  if (botId !== undefined && appId !== undefined && appId === appIdOf(payload)) return true;
  return bots.some(({ user, bot }) => user === sender.id || (bot !== undefined && bot === botId));
}

function appIdOf(payload: unknown): unknown {
  return (payload as { readonly api_app_id?: unknown }).api_app_id;
}
