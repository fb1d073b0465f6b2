// Resolves a channel name from a file to a message target: a channel id in the trigger's account,
// or the complete conversation name of a channel in any account.

import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import { type Adapter, accountOf } from '../../platforms/adapter.ts';
import { HandlerError } from '../handlers/handler.ts';
import type { ApprovalTriggers } from './approvals.ts';
import type { MessagePlace } from './outbox-rows.ts';

/** The trigger that sends the message, and its adapter. */
interface Sender {
  readonly adapter: Adapter;
  readonly trigger: Trigger;
}

/**
 * Resolves a channel. Returns undefined if the platform cannot send messages. Rejects with a HandlerError for
 * unreachable channels.
 */
export async function resolveChannel(
  { adapter, trigger }: Sender,
  channel: string,
  triggerLookup: ApprovalTriggers,
  label = 'the channel',
): Promise<MessagePlace | undefined> {
  const otherSender = senderOf(trigger, channel, triggerLookup);
  if (otherSender === undefined && adapter.outbound === undefined) return undefined;
  const target = await (otherSender === undefined
    ? targetInAccount({ adapter, trigger }, channel)
    : otherSender.adapter.outbound?.destination?.(otherSender.trigger, channel));
  if (target !== undefined) return { ...(otherSender ?? { adapter, trigger }), target };
  throw new HandlerError(
    `cannot reach ${label} ${JSON.stringify(channel.slice(0, 200))} by ${trigger.type}; use the id of a channel of the trigger's account, or the complete conversation name that agents receive`,
    { isFinal: true },
  );
}

/** Resolves a channel id within the account of the trigger. */
function targetInAccount({ adapter, trigger }: Sender, channel: string) {
  const { platform, account } = accountOf(adapter, trigger);
  return adapter.outbound?.destination?.(trigger, `${platform}/${account}/${channel.replace(/^#/, '')}`);
}

/** Returns the sender for a complete conversation name; undefined for other channel names. */
function senderOf(trigger: Trigger, channel: string, triggerLookup: ApprovalTriggers): Sender | undefined {
  const adapter = triggerLookup.adapterOf(channel.split('/')[0] ?? '');
  if (adapter?.outbound?.destination === undefined) return undefined;
  const isOfAccount = (each: Trigger) => {
    if (each.type !== adapter.type) return false;
    const { platform, account } = accountOf(adapter, each);
    return channel.startsWith(`${platform}/${account}/`);
  };
  const owner = [trigger, ...triggerLookup.triggers()].find(isOfAccount);
  return owner && { adapter, trigger: owner };
}
