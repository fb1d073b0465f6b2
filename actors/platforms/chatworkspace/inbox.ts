// Stores the payloads of an app as events, or ignores them. Payloads arrive by socket or webhook.
//
// `accept` resolves when the event is durable. It passes messages to the store before any await, which
// preserves their order. Data that only the platform has, such as the bot's identity, is requested when the
// event is handled (unresolved-event.ts).

import type { ChatWorkspaceTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { Principal } from '../../identity/principal.ts';
import type { AppendOutcome } from '../../store/store.ts';
import type { TriggerHost } from '../adapter.ts';
import { hasPendingApprovals } from '../chats/decisions.ts';
import type { WorkspaceAccount } from './account.ts';
import { isOurs, mayBeByUs, usersOf } from './app-bots.ts';
import { decisionOf, workspaceEvent } from './event.ts';
import { type PayloadContent, parsePayload, type WorkspacePayloadKind } from './payload.ts';
import type { ResponseAddresses } from './response-addresses.ts';

export interface InboxOptions {
  readonly account: WorkspaceAccount;
  readonly host: TriggerHost;
  readonly responses: ResponseAddresses;
}

export interface IncomingPayload {
  readonly kind: WorkspacePayloadKind;
  readonly payload: unknown;
  /** Triggers of the app, at least one. */
  readonly triggers: readonly ChatWorkspaceTrigger[];
  /** Verified sender of the payload. */
  readonly principal: Principal;
}

export class WorkspaceInbox {
  readonly #options: InboxOptions;

  constructor(options: InboxOptions) {
    this.#options = options;
  }

  /** Stores the payload. Returns undefined for ignored payloads. Rejects if the store does. */
  async accept({ kind, payload, triggers, principal }: IncomingPayload): Promise<AppendOutcome | undefined> {
    const content = parsePayload(kind, payload);
    if (content === undefined) return undefined;
    const { account, host } = this.#options;
    const bots = account.bots.with(triggers);
    // Undefined while it is unknown, because the platform has not returned each bot's identity.
    const isOwn = isOurs(content, bots, payload);
    // A message by an unknown author and an arrival of an unknown member are stored. The origin is checked
    // again when the event is handled.
    if (content.type === 'message' && isOwn === true) return undefined;
    // Only an arrival of the bot itself is an event.
    if (content.type === 'arrival' && isOwn === false) return undefined;
    // A reaction matters only if it may decide an approval: on a message of the bot, while requests are open.
    if (content.type === 'reaction') {
      const isDecision = decisionOf(content) !== undefined && mayBeByUs(content.author, bots, payload);
      if (isOwn === true || !isDecision || !(await hasPendingApprovals(host.store))) return undefined;
    }
    const isByBot = content.type === 'message' && content.isByBot;
    const candidates = isByBot ? triggers.filter(({ config }) => config.bots === 'allow') : triggers;
    if (candidates.length === 0) return undefined;
    if (!this.#isAdmitted(content)) return undefined;
    const matching = candidates.filter((trigger) => account.bots.mayConcern(trigger, payload));
    const event = workspaceEvent({
      account: account.name,
      // If no trigger matches the event's workspaces, the event names all candidates. Each refuses the event
      // later, and the delivery record then contains the reason.
      triggers: (matching.length > 0 ? matching : candidates).map(({ name }) => name),
      principal,
      kind,
      payload,
      content,
      bots: usersOf(bots, payload),
    });
    if (content.type === 'command' || content.type === 'choice')
      await this.#options.responses.save(account.name, content.id, payload);
    return host.accept(event);
  }

  #isAdmitted(content: PayloadContent): boolean {
    if (content.type !== 'message') return true;
    const { account, host } = this.#options;
    const { id, channel, thread, isByBot } = content;
    const conversation = thread === undefined ? channel : `${channel}/${thread}`;
    const about = { app: account.name, channel, thread };
    return account.messageLimit.admit({ conversation, isByBot, id }, host.log, about);
  }
}
