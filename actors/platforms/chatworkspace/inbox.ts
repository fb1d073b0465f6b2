// What becomes of the payloads of one app, however they come: events in the store, or nothing.
//
// What may be of use to an agent is durable when a promise of this resolves, and not before. Nothing is waited for before that, so
// that what comes first is first in the store as well: what only the platform can say, as who our bot is, is asked for when the event
// is handled (undecided-event.ts).

import type { ChatWorkspaceTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { Principal } from '../../identity/principal.ts';
import type { Appended } from '../../store/store.ts';
import type { SourceHost } from '../adapter.ts';
import { isAnybodyAsked } from '../chats/chat-decisions.ts';
import type { WorkspaceAccount } from './account.ts';
import { isOurs, mayBeByUs, usersOf } from './app-bots.ts';
import { decisionOf, workspaceEvent } from './event.ts';
import { type PayloadKind, type Said, saidIn } from './payload.ts';

export interface InboxOptions {
  readonly account: WorkspaceAccount;
  readonly host: SourceHost;
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

  /** Undefined for what is nothing for an agent. Rejects as the store does. */
  async take({ kind, payload, triggers, principal }: TakenPayload): Promise<Appended | undefined> {
    const said = saidIn(kind, payload);
    if (said === undefined) return undefined;
    const { account, host } = this.#options;
    const bots = account.bots.with(triggers);
    const isOwn = isOurs(said, bots, payload);
    if (said.what === 'message' && isOwn === true) return undefined;
    if (said.what === 'arrival' && isOwn === false) return undefined;
    if (said.what === 'reaction') {
      const isDecision = decisionOf(said) !== undefined && mayBeByUs(said.author, bots, payload);
      if (isOwn === true || !isDecision || !(await isAnybodyAsked(host.store))) return undefined;
    }
    const isByBot = said.what === 'message' && said.isByBot;
    const hearing = isByBot ? triggers.filter(({ config }) => config.bots === 'allow') : triggers;
    if (hearing.length === 0) return undefined;
    if (!this.#isItsTurn(said)) return undefined;
    const fitting = hearing.filter((trigger) => account.bots.mayBeFor(trigger, payload));
    const event = workspaceEvent({
      account: account.name,
      // Of another workspace than all of them the record says that it was refused.
      triggers: (fitting.length > 0 ? fitting : hearing).map(({ name }) => name),
      principal,
      kind,
      payload,
      said,
      bots: usersOf(bots, payload),
    });
    return host.accept(event);
  }

  #isItsTurn(said: Said): boolean {
    if (said.what !== 'message') return true;
    const { account, host } = this.#options;
    const { id, channel, thread, isByBot } = said;
    const conversation = thread === undefined ? channel : `${channel}/${thread}`;
    const about = { app: account.name, channel, thread };
    return account.turns.take({ conversation, isByBot, id }, host.log, about);
  }
}
