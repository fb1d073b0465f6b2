// How answers go out: where to, in what form, and the calls that send them.
//
// The platform keeps no key of what was sent. So each message carries the digest of its row among its metadata, which nobody sees,
// and after an attempt whose outcome is unknown it is looked for before it is written again.

import type { ChatWorkspaceTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { InboundEvent } from '../../events/inbound-event.ts';
import { partsOfConversation } from '../../events/outbox/conversation-name.ts';
import { DeliveryError } from '../../events/outbox/delivery-error.ts';
import type { Outbound, Receipt, SendContext } from '../../events/outbox/outbound.ts';
import type { OutboundTarget } from '../../events/outbox/outbound-message.ts';
import type { Pacing } from '../../events/outbox/pacing.ts';
import { UnsentRows } from '../../events/outbox/unsent-rows.ts';
import { textMember } from '../payloads/payload-member.ts';
import type { WorkspaceApi } from './api.ts';
import { deliveryErrorOf, goneWords } from './errors.ts';
import { saidOf } from './event.ts';
import { type WorkspaceCall, workspaceCalls, workspaceLimits } from './message.ts';
import { CHANNEL_LIMIT, EDITS_EVERY_MS } from './pacing.ts';
import { PostedBefore, rowMetadata } from './posted-before.ts';

const CHANNEL = /^[CDG][A-Z0-9]{1,40}$/;
const THREAD = /^\d{1,12}\.\d{1,8}$/;

export interface WorkspaceDirectory {
  apiOf(trigger: ChatWorkspaceTrigger): WorkspaceApi;
  /** The app. */
  accountOf(trigger: ChatWorkspaceTrigger): string;
  /** A word for the bot of an app, which is in several workspaces. */
  senderOf(trigger: ChatWorkspaceTrigger): string | undefined;
  readonly pacing: Pacing;
}

export function workspaceOutbound(
  directory: WorkspaceDirectory,
): Outbound<ChatWorkspaceTrigger, WorkspaceCall> {
  const unsent = new UnsentRows({ isAskedFirst: true });
  const posted = new PostedBefore();
  return {
    target: targetOf,
    async destination(trigger, conversation) {
      const account = { platform: 'chatworkspace', account: directory.accountOf(trigger) };
      const [channel = '', thread, ...rest] = partsOfConversation(account, conversation) ?? [];
      const isPlace =
        CHANNEL.test(channel) && (thread === undefined || THREAD.test(thread)) && rest.length === 0;
      return isPlace ? { place: channel, thread } : undefined;
    },
    render: (_trigger, message) => workspaceCalls(message),
    mentions: 'rendered',
    limits: (trigger) => ({
      ...workspaceLimits,
      ...directory.pacing.inForce(directory.accountOf(trigger), { channel: CHANNEL_LIMIT }),
    }),
    sendsTo: ({ config }) => config.api_root,
    senderOf: directory.senderOf,
    send: (trigger, call, context) =>
      new WorkspaceSending({ ...directory, unsent, posted }, trigger, context).send(call),
    editsEveryMs: () => EDITS_EVERY_MS,
  };
}

/** Into the thread of what it answers, which a message in a channel begins. */
function targetOf(_trigger: ChatWorkspaceTrigger, { payload }: InboundEvent): OutboundTarget | undefined {
  const said = saidOf(payload);
  return said === undefined ? undefined : { place: said.channel, thread: said.answerThread };
}

interface SendingOptions extends WorkspaceDirectory {
  readonly unsent: UnsentRows;
  readonly posted: PostedBefore;
}

class WorkspaceSending {
  readonly #directory: SendingOptions;
  readonly #trigger: ChatWorkspaceTrigger;
  readonly #context: SendContext;

  constructor(directory: SendingOptions, trigger: ChatWorkspaceTrigger, context: SendContext) {
    this.#directory = directory;
    this.#trigger = trigger;
    this.#context = context;
  }

  async send({ parameters, of }: WorkspaceCall): Promise<Receipt> {
    const before = of === undefined ? undefined : await this.#context.receiptOf(of);
    const { channel } = parameters;
    return before === undefined
      ? this.#directory.unsent.heed(this.#context, (isInDoubt) =>
          this.#paced(channel, () => this.#posted(parameters, isInDoubt)),
        )
      : this.#paced(channel, () => this.#changed(before, parameters));
  }

  async #posted(parameters: WorkspaceCall['parameters'], isInDoubt: boolean): Promise<Receipt> {
    const { channel } = parameters;
    const api = this.#directory.apiOf(this.#trigger);
    const { posted } = this.#directory;
    const before = isInDoubt ? await posted.find(api, parameters, this.#context) : undefined;
    if (before !== undefined) return before;
    const whole = {
      ...parameters,
      unfurl_links: false,
      unfurl_media: false,
      metadata: rowMetadata(this.#context.rowId),
    };
    const receipt = await this.#called('chat.postMessage', whole, channel);
    return { ...receipt, note: posted.takeDoubt(this.#context.rowId) };
  }

  async #changed({ id }: Receipt, parameters: WorkspaceCall['parameters']): Promise<Receipt> {
    const { channel, text, blocks = [] } = parameters;
    try {
      return await this.#called('chat.update', { channel, ts: id, text, blocks }, channel);
    } catch (error) {
      if (!(error instanceof DeliveryError) || !goneWords.includes(String(error.platformCode))) throw error;
      throw error.with({ isFinal: true, isTooSoon: false, isTargetGone: true });
    }
  }

  /** Rejects with a DeliveryError. */
  async #called(
    method: string,
    parameters: Readonly<Record<string, unknown>>,
    channel: string,
  ): Promise<Receipt> {
    try {
      const api = this.#directory.apiOf(this.#trigger);
      const said = await api.call(method, parameters, { signal: this.#context.signal });
      return { id: textMember(said, 'ts') ?? '' };
    } catch (error) {
      throw deliveryErrorOf(error, `a message to ${channel}`);
    }
  }

  #paced<T>(place: string, request: () => Promise<T>): Promise<T> {
    const { accountOf, pacing } = this.#directory;
    const turn = { account: accountOf(this.#trigger), place, isOfPlace: () => true };
    return pacing.run(turn, request);
  }
}
