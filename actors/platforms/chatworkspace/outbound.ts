// Sends messages to the platform: resolves targets, renders messages and calls the API.
//
// The platform has no idempotency key. If the outcome of an earlier attempt is unknown, the message is
// searched for before a repeated post (message-search.ts).

import type { ChatWorkspaceTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { InboundEvent } from '../../events/inbound-event.ts';
import { conversationParts } from '../../events/outbox/conversation-name.ts';
import { DeliveryError } from '../../events/outbox/delivery-error.ts';
import type { OutboundTarget } from '../../events/outbox/message.ts';
import type { Outbound, SendContext, SendReceipt } from '../../events/outbox/outbound.ts';
import type { Pacing } from '../../events/outbox/pacing.ts';
import { UnsentRows } from '../../events/outbox/unsent-rows.ts';
import { textMember } from '../payloads/payload-member.ts';
import type { WorkspaceApi } from './api.ts';
import { deliveryErrorOf, missingMessageCodes, notMemberCodes } from './errors.ts';
import { contentOf } from './event.ts';
import { MessageSearch, rowMetadata } from './message-search.ts';
import { CHANNEL_LIMIT, EDITS_EVERY_MS } from './pacing.ts';
import { type WorkspaceCall, workspaceCalls, workspaceLimits } from './render-message.ts';
import type { ResponseAddresses } from './response-addresses.ts';

const CHANNEL = /^[CDG][A-Z0-9]{1,40}$/;
const THREAD = /^\d{1,12}\.\d{1,8}$/;

export interface WorkspaceDirectory {
  apiOf(trigger: ChatWorkspaceTrigger): WorkspaceApi;
  /** Returns the app id. */
  accountOf(trigger: ChatWorkspaceTrigger): string;
  /** Returns a digest that identifies the bot; an app can have bots in several workspaces. */
  credentialNameOf(trigger: ChatWorkspaceTrigger): string | undefined;
  readonly pacing: Pacing;
  readonly responses: ResponseAddresses;
}

export function workspaceOutbound(
  directory: WorkspaceDirectory,
): Outbound<ChatWorkspaceTrigger, WorkspaceCall> {
  const unsent = new UnsentRows({ isQueriedFirst: true });
  const search = new MessageSearch();
  return {
    target: targetOf,
    async destination(trigger, conversation) {
      const account = { platform: 'chatworkspace', account: directory.accountOf(trigger) };
      const [channel = '', thread, ...rest] = conversationParts(account, conversation) ?? [];
      const isValid =
        CHANNEL.test(channel) && (thread === undefined || THREAD.test(thread)) && rest.length === 0;
      return isValid ? { place: channel, thread } : undefined;
    },
    rendersFormats: true,
    render: (_trigger, message) => workspaceCalls(message),
    mentions: 'rendered',
    limits: (trigger) => ({
      ...workspaceLimits,
      ...directory.pacing.currentLimits(directory.accountOf(trigger), { channel: CHANNEL_LIMIT }),
    }),
    addressOf: ({ config }) => config.api_root,
    credentialNameOf: directory.credentialNameOf,
    send: (trigger, call, context) =>
      new WorkspaceSending({ ...directory, unsent, search }, trigger, context).send(call),
    editIntervalMs: () => EDITS_EVERY_MS,
  };
}

/** Targets the thread of the event. A reply to a message in a channel starts a thread. */
function targetOf(_trigger: ChatWorkspaceTrigger, { payload }: InboundEvent): OutboundTarget | undefined {
  const content = contentOf(payload);
  if (content === undefined) return undefined;
  const hasAddress = content.type === 'command' || content.type === 'choice';
  const repliesTo = hasAddress ? content.id : undefined;
  return { place: content.channel, thread: content.answerThread, repliesTo };
}

interface SendingOptions extends WorkspaceDirectory {
  readonly unsent: UnsentRows;
  readonly search: MessageSearch;
}

class WorkspaceSending {
  readonly #options: SendingOptions;
  readonly #trigger: ChatWorkspaceTrigger;
  readonly #context: SendContext;

  constructor(options: SendingOptions, trigger: ChatWorkspaceTrigger, context: SendContext) {
    this.#options = options;
    this.#trigger = trigger;
    this.#context = context;
  }

  async send(call: WorkspaceCall): Promise<SendReceipt> {
    const { parameters, of: editedRowId } = call;
    const existing = editedRowId === undefined ? undefined : await this.#context.receiptOf(editedRowId);
    const { channel } = parameters;
    if (existing !== undefined && existing.id !== '')
      return this.#withPacing(channel, () => this.#edit(existing, parameters));
    // An omitted preview (`#respond`) cannot be edited.
    if (existing !== undefined && call.isPreview === true) return existing;
    return this.#options.unsent.send(this.#context, async (mayBePosted) => {
      try {
        return await this.#withPacing(channel, () => this.#post(parameters, mayBePosted));
      } catch (error) {
        return this.#respond(call, error);
      }
    });
  }

  /** Uses the response address if the bot is not a channel member; rethrows other errors. */
  async #respond({ parameters, response, isPreview }: WorkspaceCall, error: unknown): Promise<SendReceipt> {
    const isOutside = error instanceof DeliveryError && notMemberCodes.includes(String(error.platformCode));
    if (!isOutside || response === undefined) throw error;
    if (isPreview === true) return { id: '', note: 'omitted: the bot is not a channel member' };
    const { channel, ...message } = parameters;
    const { responses, accountOf } = this.#options;
    const isSent = await responses
      .send(accountOf(this.#trigger), response, message, this.#context.signal)
      .catch((fault: unknown) => {
        throw deliveryErrorOf(fault, `an answer to a command in ${channel}`);
      });
    if (!isSent) throw error;
    return { id: '', note: 'sent privately: the bot is not a channel member' };
  }

  async #post(parameters: WorkspaceCall['parameters'], mayBePosted: boolean): Promise<SendReceipt> {
    const { channel } = parameters;
    const api = this.#options.apiOf(this.#trigger);
    const { search } = this.#options;
    const existing = mayBePosted ? await search.find(api, parameters, this.#context) : undefined;
    if (existing !== undefined) return existing;
    const body = {
      ...parameters,
      unfurl_links: false,
      unfurl_media: false,
      metadata: rowMetadata(this.#context.rowId),
    };
    const receipt = await this.#call('chat.postMessage', body, channel);
    return { ...receipt, note: search.takeNote(this.#context.rowId) };
  }

  async #edit({ id }: SendReceipt, parameters: WorkspaceCall['parameters']): Promise<SendReceipt> {
    const { channel, text, blocks = [] } = parameters;
    try {
      return await this.#call('chat.update', { channel, ts: id, text, blocks }, channel);
    } catch (error) {
      if (!(error instanceof DeliveryError) || !missingMessageCodes.includes(String(error.platformCode)))
        throw error;
      throw error.with({ isFinal: true, isRateLimited: false, isTargetMissing: true });
    }
  }

  /** Rejects with a DeliveryError. */
  async #call(
    method: string,
    parameters: Readonly<Record<string, unknown>>,
    channel: string,
  ): Promise<SendReceipt> {
    try {
      const api = this.#options.apiOf(this.#trigger);
      const response = await api.call(method, parameters, { signal: this.#context.signal });
      return { id: textMember(response, 'ts') ?? '' };
    } catch (error) {
      throw deliveryErrorOf(error, `a message to ${channel}`);
    }
  }

  #withPacing<T>(destination: string, request: () => Promise<T>): Promise<T> {
    const { accountOf, pacing } = this.#options;
    const slot = { account: accountOf(this.#trigger), destination, isOfDestination: () => true };
    return pacing.run(slot, request);
  }
}
